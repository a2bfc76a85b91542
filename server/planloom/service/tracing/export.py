"""Brings traces to the file or the collector that the user has set. No plan waits for it, and none fails by it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from tenacity import AsyncRetrying, retry_if_result, wait_exponential

from planloom.domain.text.counted import counted
from planloom.execution.jobs import Jobs, only_logged
from planloom.models.http.endpoint import shown_url
from planloom.service.tracing.spans import Span, document

CLOSE_SECONDS = 2.0
"""How long the last traces may take when the server ends."""
_GATHER_SECONDS = 1.0
"""How long a trace waits for others to be sent along with it."""
_MOST_WAITING = 20_000
"""The most spans that wait; then the traces of the oldest plans are dropped."""
_MOST_SENT = 2_000
"""The spans of one request to a collector, unless a single plan has more."""
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
"""Seconds until a failed request is sent again: they double with each failure."""
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
Trace = tuple[Span, ...]
log = logging.getLogger(__name__)


class _WaitingTraces:
    """Traces in the order of their plans, and how many spans they have; the oldest are dropped for the newest."""

    def __init__(self) -> None:
        self._traces: deque[Trace] = deque()
        self._spans = 0

    def __len__(self) -> int:
        return len(self._traces)

    def put(self, trace: Trace) -> int:
        """Add a trace; returns how many were dropped for it."""
        self._traces.append(trace)
        self._spans += len(trace)
        dropped = 0
        while len(self._traces) > 1 and self._spans > _MOST_WAITING:
            self._popped()
            dropped += 1
        return dropped

    def put_back(self, traces: Sequence[Trace]) -> None:
        """Put traces that were taken before the others again."""
        self._traces.extendleft(reversed(traces))
        self._spans += sum(map(len, traces))

    def taken(self, most_spans: int | None = None) -> list[Trace]:
        """Take the first trace and those after it that have so many spans together at most, or all for None."""
        traces: list[Trace] = []
        count = 0
        while self._traces:
            count += len(self._traces[0])
            if traces and most_spans is not None and count > most_spans:
                break
            traces.append(self._popped())
        return traces

    def _popped(self) -> Trace:
        trace = self._traces.popleft()
        self._spans -= len(trace)
        return trace


class TraceExporter:
    """Traces that wait, and the job that takes them away.

    `target` is the setting, empty for none. `headers` are those for a collector. `notice` tells the user, once until
    it works again.
    """

    def __init__(
        self,
        target: Callable[[], str],
        headers: Callable[[], Mapping[str, str]],
        notice: Callable[[str], None],
        *,
        gather: float = _GATHER_SECONDS,
        pause: float = _FIRST_PAUSE,
    ) -> None:
        """`gather` is how many seconds a trace waits for others, `pause` how many pass before a second attempt."""
        self._target = target
        self._headers = headers
        self._notice = notice
        self._gather = gather
        self._pause = pause
        self._jobs = Jobs(only_logged)
        self._waiting = _WaitingTraces()
        self._closing = asyncio.Event()
        self._reported = ""

    def put(self, trace: Trace) -> None:
        """Have a trace exported soon."""
        if dropped := self._waiting.put(trace):
            log.warning("%s dropped, since too many wait", counted(dropped, "trace"))
        self._jobs.start("traces", self._export())

    @property
    def waiting(self) -> int:
        """How many traces wait."""
        return len(self._waiting)

    async def close(self) -> None:
        """Export what waits in a bounded time; what is left then is lost."""
        self._closing.set()
        if self._waiting or self._jobs.names():
            await asyncio.wait({self._jobs.start("traces", self._export())}, timeout=CLOSE_SECONDS)
            await self._jobs.stop("")

    async def _export(self) -> None:
        retrying = AsyncRetrying(
            retry=retry_if_result(bool),
            stop=lambda _: self._closing.is_set(),
            wait=wait_exponential(multiplier=self._pause, max=_LONGEST_PAUSE),
            sleep=self._wait,
            retry_error_callback=lambda _: True,
        )
        await self._wait(self._gather)
        while self._waiting and self._target():
            is_left: bool = await retrying(self._export_some)
            if is_left:
                return
        # Without a target, what waits has no place to go.
        self._waiting.taken()

    async def _export_some(self) -> bool:
        """Send the first traces or write all of them. Returns whether they wait to be sent again."""
        target, again = self._target(), False
        if _is_address(target):
            problem, again = await self._send(target)
        else:
            problem = await self._write(target) if target else ""
        self._report(target, problem)
        return again

    async def _send(self, target: str) -> tuple[str, bool]:
        """Send the first traces; returns what is wrong, empty for nothing, and whether they wait to be sent again."""
        traces = self._waiting.taken(_MOST_SENT)
        body = _encoded([span for trace in traces for span in trace])
        # httpx is imported when something is sent: it takes as long as a third of the start.
        from planloom.web.collector import send_json

        problem = await send_json(target, body, self._headers(), default_path="/v1/traces")
        if problem is None:
            return "", False
        if problem.passes:
            self._waiting.put_back(traces)
        return problem.reason, problem.passes

    async def _write(self, target: str) -> str:
        """Append every trace that waits to the file, a line each; returns what is wrong, empty for nothing."""
        traces = self._waiting.taken()
        try:
            await asyncio.to_thread(_append, target, traces)
        except (OSError, RuntimeError) as error:
            # `~` of a user who has no home is a RuntimeError.
            return f"it cannot be written: {getattr(error, 'strerror', None) or error}."
        return ""

    def _report(self, target: str, problem: str) -> None:
        if not problem:
            self._reported = ""
        elif self._reported != target:
            self._reported = target
            place = shown_url(target) if _is_address(target) else target
            words = f"Traces of plans do not reach {place} (storage.traces): {problem} Plans go on without."
            log.warning("%s", words)
            self._notice(words)

    async def _wait(self, seconds: float) -> None:
        """Wait, unless the server ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()


def headers_of(text: str) -> dict[str, str]:
    """Headers in the form `name=value,name=value`, with values percent-encoded; what is none is left out."""
    pairs = (each.partition("=") for each in text.split(","))
    found = {name.strip(): unquote(value).strip() for name, _, value in pairs}
    return {
        name: value
        for name, value in found.items()
        if _HEADER_NAME.fullmatch(name) and value and value.isascii() and value.isprintable()
    }


def _is_address(target: str) -> bool:
    return target.lower().startswith(("http://", "https://"))


def _append(target: str, traces: Sequence[Trace]) -> None:
    path = Path(target).expanduser()
    lines = b"".join(_encoded(trace) + b"\n" for trace in traces)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    with path.open("ab") as file:
        file.write(lines)


def _encoded(spans: Trace | list[Span]) -> bytes:
    return json.dumps(document(spans), separators=(",", ":")).encode()
