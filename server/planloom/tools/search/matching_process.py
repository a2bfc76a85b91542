"""Matches a model's regular expression in a process of its own, limited in time and memory."""

from __future__ import annotations

import json
import struct
import sys
import threading
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from planloom.tools.search.matching_child import COUNT, HEAD
from planloom.workspace.index.programs import own_python

_CODE: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; from planloom.tools.search.matching_child import main; main()"
)
_START_SECONDS: Final = 15.0
"""How long the start of the process and the compilation of the pattern may take."""
_GRACE_SECONDS: Final = 1.0
"""How much longer than its limit the process may take; the engine looks at the time only now and then."""


class TooSlow(Exception):
    """The pattern exceeds its limit of time or memory."""


class CannotCompile(Exception):
    """The pattern is not valid, or needs too much to be compiled; the text says which."""


class MatchingProcess:
    """One compiled pattern. Its methods block, and belong in a thread; `close` may be called from another."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        """Start the process and compile the pattern there. Raises CannotCompile."""
        paths = [path for path in sys.path if Path(path).is_absolute()]
        self._process = own_python(_CODE, *paths)
        asked = json.dumps({"pattern": pattern, "ignoreCase": ignore_case})
        try:
            with self._within(_START_SECONDS):
                self._send(asked.encode() + b"\n")
                answer = self._out.readline()
            problem = json.loads(answer)
        except (OSError, ValueError):
            problem = "it takes too long or too much memory"
        if problem is not None:
            self.close()
            raise CannotCompile(problem)

    def starts(self, text: str, seconds: float) -> Iterator[int]:
        """The offsets at which matches begin, in order. Raises TooSlow, after those that were found in time."""
        data = text.encode("utf-8", "surrogatepass")
        found = array("Q")
        try:
            with self._within(seconds + _GRACE_SECONDS):
                self._send(HEAD.pack(seconds, len(data)) + data)
                complete, count = COUNT.unpack(self._out.read(COUNT.size))
                found.frombytes(self._out.read(count * found.itemsize))
        except (OSError, ValueError, struct.error) as error:
            raise TooSlow from error
        yield from found
        if not complete:
            raise TooSlow

    def close(self) -> None:
        """End the process."""
        with suppress(OSError):
            self._process.kill()
        with suppress(OSError, ValueError):
            # What was not sent yet is lost.
            self._in.close()
        self._process.wait()
        with suppress(OSError, ValueError):
            self._out.close()

    @property
    def _in(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _out(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _send(self, data: bytes) -> None:
        self._in.write(data)
        self._in.flush()

    @contextmanager
    def _within(self, seconds: float) -> Iterator[None]:
        """Kill the process if the block takes longer, which ends every wait for it."""
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
