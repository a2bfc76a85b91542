"""Records every exchange with a model to a file of JSON lines that `replay` plays back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from planloom.domain.errors import ModelFailed, StorageFailed
from planloom.domain.safety.known_keys import KnownKeys
from planloom.domain.values import Json
from planloom.models.offline.scripted import Fault, FaultKind
from planloom.models.port import (
    CallWritten,
    Capabilities,
    Model,
    ModelEvent,
    ModelIdentity,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)

FAULTS: Mapping[str, FaultKind] = {
    "model_unavailable": "unavailable",
    "model_refused": "refused",
    "model_output_invalid": "output_invalid",
    "context_overflow": "overflow",
}
"""Maps each failure code of a model to the fault that plays it back."""


class Recording:
    """A file with one line per exchange, readable only by its owner.

    Keys are masked in each line, and in texts that came in pieces. Raises `StorageFailed` if the file cannot be
    written.
    """

    def __init__(self, path: Path, keys: KnownKeys) -> None:
        self._path = path
        self._keys = keys
        self._lock = asyncio.Lock()
        self._append("")

    async def add(self, request: ModelRequest, events: Sequence[ModelEvent], fault: Fault | None) -> None:
        """Append one exchange: the request, the events, and the fault if it failed."""
        # Events keep default values, since `kind` is one of them.
        exchange: dict[str, Json] = {
            "request": request.model_dump(mode="json", exclude_defaults=True),
            "events": [event.model_dump(mode="json") for event in self._masked(events)],
        }
        if fault is not None:
            exchange["fault"] = fault.model_dump(mode="json")
        line = self._keys.masked_log(json.dumps(exchange, ensure_ascii=False, separators=(",", ":")))
        async with self._lock:
            await asyncio.to_thread(self._append, line + "\n")

    def _masked(self, events: Sequence[ModelEvent]) -> Iterator[ModelEvent]:
        """The events; pieces that together contain a key are joined, and the key is masked."""
        for _, same in groupby(events, type):
            run = tuple(same)
            whole = "".join(
                each.text for each in run if isinstance(each, TextDelta | ReasoningDelta | CallWritten)
            )
            masked = self._keys.masked_log(whole)
            yield from run if masked == whole else (run[0].model_copy(update={"text": masked}),)

    def _append(self, text: str) -> None:
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise StorageFailed(f"The recording {self._path} cannot be written: {error.strerror}.") from error


class RecordingModel:
    """A model that records all its exchanges, including failed and abandoned ones."""

    def __init__(self, model: Model, recording: Recording) -> None:
        self._model = model
        self._recording = recording

    @property
    def identity(self) -> ModelIdentity:
        return self._model.identity

    @property
    def inner(self) -> Model:
        """The model that is recorded."""
        return self._model

    async def capabilities(self) -> Capabilities:
        return await self._model.capabilities()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        events: list[ModelEvent] = []
        fault: Fault | None = None
        try:
            # When a consumer stops reading, the connection must close at once, not at garbage collection.
            async with contextlib.aclosing(self._model.stream(request)) as stream:
                async for event in stream:
                    events.append(event)
                    yield event
        except ModelFailed as failure:
            fault = Fault(kind=FAULTS[failure.code], message=failure.message, hint=failure.hint)
            raise
        except (GeneratorExit, asyncio.CancelledError):
            fault = None if events and events[-1].kind == "finished" else Fault(kind="hang")
            raise
        finally:
            await self._recording.add(request, events, fault)

    async def close(self) -> None:
        await self._model.close()
