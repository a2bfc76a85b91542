"""What a person at a terminal can do about an error: one sentence for each thing that mends it.

The server says what is wrong and names what mends it (`view/problems.py`); each client has its own way to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from planloom.providers import KEY_PROVIDERS, LOCAL_MODEL, OPENAI, PROVIDERS

Problem = Mapping[str, Any]
"""Why a model cannot be used, as `ModelProblem` of the protocol; empty if it is not about a model."""


def advice(explained: Mapping[str, Any], problem: Problem, hint: str | None = None) -> str:
    """What to do, the most likely first, a line for each, at last the page about it; empty if there is nothing to say.

    `hint` is the server's own advice, where nothing mends the error.
    """
    mends: Sequence[str] = explained.get("mends") or ()
    if problem.get("cause") == "none":
        lines = [WAYS_TO_A_MODEL]
    else:
        lines = [_WAYS[each](problem) for each in mends if each in _WAYS]
    if until := explained.get("until"):
        lines.insert(0, f"It can be asked again at {datetime.fromisoformat(until).astimezone():%H:%M:%S}.")
    return "\n".join(filter(None, (*(lines or (hint,)), explained.get("help"))))


def _key(problem: Problem) -> str:
    row = PROVIDERS.get(problem.get("provider") or "", OPENAI)
    address = problem.get("address") or row.url
    there = "" if address == row.url else f" --base-url {address}"
    return f"`planloom key set {row.form_of or row.name}{there}` keeps a key for it."


def _ollama_model(problem: Problem) -> str:
    return f"`ollama pull {problem.get('model') or LOCAL_MODEL}` gets it."


_WAYS: Final[Mapping[str, Callable[[Problem], str]]] = {
    "key": _key,
    "address": lambda _: (
        "--base-url URL names another server, for one command; `planloom config set model.baseUrl "
        "URL` for all."
    ),
    "models": lambda _: "`planloom models` lists the models that can be used; --model NAME chooses one.",
    "startOllama": lambda _: "`ollama serve` starts it.",
    "getOllamaModel": _ollama_model,
    "folder": lambda _: "--workspace DIR names a folder.",
    "trust": lambda _: "`planloom trust` trusts the folder, --trust for one command.",
    "settings": lambda _: (
        "`planloom config` shows the limits that you have set; --set NAME=VALUE sets one for one command."
    ),
    "log": lambda _: "`planloom doctor` names the log.",
}


def _ways_to_a_model() -> Iterable[str]:
    for row in PROVIDERS.values():
        if row.local is not None:
            yield f"install {row.local.title} and run `{row.local.add_model}`"
    names = " or ".join(f"`planloom key set {row.name}`" for row in KEY_PROVIDERS)
    yield f"keep the key of a service by {names}"
    yield "name any OpenAI-compatible server by --base-url URL, as http://localhost:8080/v1 for `llama-server`"


WAYS_TO_A_MODEL: Final = f"To get a model: {'; or '.join(_ways_to_a_model())}."
"""The advice wherever a model is needed and none is set up."""
