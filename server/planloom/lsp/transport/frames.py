"""Cuts a stream of bytes into messages, as LSP frames them."""

from __future__ import annotations

from collections.abc import Callable

MAX_MESSAGE = 64 * 1024 * 1024
"""Bytes one message may have; a longer one is passed over and answered with an error."""
MAX_HEADER = 8 * 1024
"""Bytes the headers of a message may have; past them the stream is no longer LSP."""


class FrameReader:
    """Cuts a stream of bytes into messages. `on_problem` is told of what cannot be a message, in words."""

    def __init__(self, on_message: Callable[[bytes], None], on_problem: Callable[[str], None]) -> None:
        self._on_message = on_message
        self._on_problem = on_problem
        self._buffer = bytearray()
        self._length: int | None = None
        self._skip = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes, however they were cut."""
        if self._skip:
            dropped = min(self._skip, len(data))
            self._skip -= dropped
            data = data[dropped:]
        self._buffer += data
        while self._buffer and (self._take_body() if self._length is not None else self._take_headers()):
            pass

    def _take_body(self) -> bool:
        length = self._length
        if length is None or len(self._buffer) < length:
            return False
        body = bytes(memoryview(self._buffer)[:length])
        del self._buffer[:length]
        self._length = None
        self._on_message(body)
        return True

    def _take_headers(self) -> bool:
        end, gap = self._buffer.find(b"\r\n\r\n"), 4
        bare = self._buffer.find(b"\n\n", 0, end if end >= 0 else len(self._buffer))
        if bare >= 0:
            end, gap = bare, 2
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
            self._on_problem("A message begins with a Content-Length header.")
        elif length > MAX_MESSAGE:
            self._on_problem(f"A message has {length} bytes; {MAX_MESSAGE} is the most that is taken.")
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
