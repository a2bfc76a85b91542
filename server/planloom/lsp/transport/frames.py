"""Splits a byte stream into messages by the headers of LSP's base protocol."""

from __future__ import annotations

from collections.abc import Callable

MAX_MESSAGE = 64 * 1024 * 1024
"""The most bytes of one message; a longer one is skipped and answered with an error."""
MAX_HEADER = 8 * 1024
"""The most bytes of one message's headers."""


class FrameReader:
    """Calls `on_message` with the body of each message, and `on_problem` with a sentence on each malformed one."""

    def __init__(self, on_message: Callable[[bytes], None], on_problem: Callable[[str], None]) -> None:
        self._on_message = on_message
        self._on_problem = on_problem
        self._buffer = bytearray()
        self._length: int | None = None
        self._skip = 0

    def feed(self, data: bytes) -> None:
        """Add the next bytes of the stream, in pieces of any size."""
        if self._skip:
            dropped = min(self._skip, len(data))
            self._skip -= dropped
            data = data[dropped:]
        self._buffer += data
        while self._buffer and (self._read_body() if self._length is not None else self._read_headers()):
            pass

    def _read_body(self) -> bool:
        length = self._length
        if length is None or len(self._buffer) < length:
            return False
        body = bytes(memoryview(self._buffer)[:length])
        del self._buffer[:length]
        self._length = None
        self._on_message(body)
        return True

    def _read_headers(self) -> bool:
        end, gap = self._buffer.find(b"\r\n\r\n"), 4
        lone_newlines = self._buffer.find(b"\n\n", 0, end if end >= 0 else len(self._buffer))
        if lone_newlines >= 0:
            end, gap = lone_newlines, 2
        if end < 0 or end > MAX_HEADER:
            if len(self._buffer) <= MAX_HEADER:
                return False
            self._buffer.clear()
            self._on_problem("The headers of a message are too long.")
            return False
        headers = bytes(self._buffer[:end])
        del self._buffer[: end + gap]
        length = _content_length(headers)
        if length is None:
            self._on_problem("A message must begin with a Content-Length header.")
        elif length > MAX_MESSAGE:
            self._on_problem(f"A message has {length} bytes; the limit is {MAX_MESSAGE}.")
            dropped = min(length, len(self._buffer))
            del self._buffer[:dropped]
            self._skip = length - dropped
        elif length:
            self._length = length
        else:
            self._on_message(b"")
        return True


def _content_length(headers: bytes) -> int | None:
    for line in headers.splitlines():
        name, colon, value = line.partition(b":")
        value = value.strip()
        if colon and name.strip().lower() == b"content-length" and value.isdigit() and len(value) < 16:
            return int(value)
    return None
