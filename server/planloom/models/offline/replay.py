"""Provider `replay`: plays a script or a recording from a file, offline."""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pydantic import ValidationError

from planloom.domain.errors import ModelFailed
from planloom.models.offline.scripted import ALL, ScriptedModel, Turn
from planloom.models.port import Capabilities, ModelIdentity, ModelRequest

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Largest size of a script."""
MAX_DIFF_LINES = 200
"""Most lines shown of the diff of a changed prompt."""
MAX_COMPARED_LINES = 1_000
"""Most lines compared after the first difference, since comparing takes quadratic time."""


class ReplayModel(ScriptedModel):
    """A scripted model that prefers the turn recorded for exactly this request.

    A request without such a turn gets the next remaining turn, and the unified diff of the two requests is logged
    and added to `drifts`. With `strict`, it raises `ModelFailed` with the diff instead.
    """

    def __init__(
        self,
        turns: Sequence[Turn],
        *,
        identity: ModelIdentity,
        strict: bool = False,
        capabilities: Capabilities = ALL,
    ) -> None:
        super().__init__(turns, identity=identity, capabilities=capabilities)
        self._strict = strict
        self._drifts: list[str] = []

    @property
    def drifts(self) -> tuple[str, ...]:
        """The diffs of the requests that differed from the recorded ones."""
        return tuple(self._drifts)

    def _choose(self, request: ModelRequest) -> Turn | None:
        for turn in self.left:
            if turn.request == request:
                return turn
        chosen = super()._choose(request)
        if chosen is not None and chosen.request is not None:
            self._report_drift(chosen.request, request)
        return chosen

    def _report_drift(self, recorded: ModelRequest, actual: ModelRequest) -> None:
        diff = drift(recorded, actual)
        self._drifts.append(diff)
        if self._strict:
            raise ModelFailed(
                "model_unavailable",
                f"Request {len(self.requests)} is not the one that was recorded:\n{diff}",
                hint="Record the run again, or replay without `strict`.",
            )
        log.warning("Request %d is not the one that was recorded:\n%s", len(self.requests), diff)


async def open_replay(location: str, *, strict: bool = False) -> ReplayModel:
    """The model that plays the file at `location`, a path or a `file:` URL.

    Each line is a JSON object with the fields of `scripted.Turn`; empty lines and lines that begin with
    `#` are skipped. Raises `ModelFailed` if the file is missing, too large or malformed.
    """
    path = path_of(location)
    turns = await asyncio.to_thread(read_turns, path)
    identity = ModelIdentity(provider="replay", name=path.name, reason=f"it replays {path}")
    return ReplayModel(turns, identity=identity, strict=strict)


def path_of(location: str) -> Path:
    """The path of a setting that is a path (`~` allowed) or a `file:` URL."""
    if location.startswith("file:"):
        return Path(url2pathname(urlsplit(location).path))
    return Path(location).expanduser()


def read_turns(path: Path) -> tuple[Turn, ...]:
    """The turns of a script file, in order. Raises `ModelFailed` with the number of an invalid line."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise _unreadable(path, f"it is larger than {MAX_FILE_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "it is not UTF-8 text"
        raise _unreadable(path, reason) from error
    turns = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            turns.append(Turn.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise _unreadable(path, f"line {number}: {place + ': ' if place else ''}{first['msg']}") from None
    return tuple(turns)


def drift(recorded: ModelRequest, actual: ModelRequest) -> str:
    """The unified diff of two requests, of at most `MAX_DIFF_LINES` lines."""
    before, after = _lines(recorded), _lines(actual)
    same = next(
        (number for number, (left, right) in enumerate(zip(before, after, strict=False)) if left != right),
        min(len(before), len(after)),
    )
    start = max(0, same - 3)
    window = slice(start, start + MAX_COMPARED_LINES)
    lines = difflib.unified_diff(before[window], after[window], "recorded", "asked", lineterm="")
    shown = list(islice(lines, MAX_DIFF_LINES + 1))
    if len(shown) > MAX_DIFF_LINES:
        shown[-1] = "…"
    return "\n".join(shown)


def _lines(request: ModelRequest) -> list[str]:
    """A request in readable lines: the messages' text line by line, the rest as indented JSON."""
    lines: list[str] = []
    for message in request.messages:
        lines.append(f"[{message.role}]")
        lines.extend(message.text.split("\n"))
        rest = message.model_dump(mode="json", exclude={"role", "text"}, exclude_defaults=True)
        if rest:
            lines.extend(json.dumps(rest, indent=1, ensure_ascii=False).split("\n"))
    others = request.model_dump(mode="json", exclude={"messages"}, exclude_defaults=True)
    lines.extend(json.dumps(others, indent=1, ensure_ascii=False, sort_keys=True).split("\n"))
    return lines


def _unreadable(path: Path, reason: str) -> ModelFailed:
    return ModelFailed(
        "model_unavailable",
        f"The script {path} cannot be replayed: {reason}.",
        hint="Set `planloom.model.baseUrl` to a file of JSON lines, as `--record` writes them.",
    )
