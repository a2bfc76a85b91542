"""Validates and bounds the bytes of an answer from a possibly hostile server."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

import httpx

from planloom.shielded import interrupted_once, uninterrupted
from planloom.web.transfer import AnswerBroken, AnswerUnusable, decompressed

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Most bytes of one answer, after decompression."""
MAX_LINE_BYTES = 8 * 1024 * 1024
"""Most bytes of one line, which may contain a whole file."""
BLANK = b"\xef\xbb\xbf \t\r\n"
SNIFFED_BYTES = 4096
"""Most bytes of leading blanks before the content type is given up."""
SSE_STARTS = (b"data:", b"event:", b":", b"id:", b"retry:")


class BoundedStream(httpx.AsyncByteStream):
    """The bytes of an answer, decompressed, checked to be UTF-8, and bounded; ends with a blank line, which closes
    the last event."""

    def __init__(self, inner: httpx.AsyncByteStream, encoding: str) -> None:
        self._inner = inner
        self._chunks = _checked(decompressed(_read(inner), encoding.strip().lower()))
        self._first: bytes | None = None

    async def sniff(self) -> str | None:
        """The content type that the first bytes suggest, or None."""
        first = b""
        try:
            async for chunk in self._chunks:
                first += chunk
                if len(first) > SNIFFED_BYTES or first.lstrip(BLANK):
                    break
        except BaseException:
            await self.aclose()
            raise
        self._first = first
        start = first.lstrip(BLANK)
        if start.startswith(SSE_STARTS):
            return "text/event-stream"
        return "application/json" if start.startswith(b"{") else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._first:
            yield self._first
        async for chunk in self._chunks:
            yield chunk
        yield b"\n\n"

    async def aclose(self) -> None:
        # A cancellation in the middle of it would leave the connection open for as long as the server lives.
        await uninterrupted(self._close())

    async def _close(self) -> None:
        try:
            await self._chunks.aclose()
        finally:
            await self._inner.aclose()


async def _read(inner: httpx.AsyncByteStream) -> AsyncGenerator[bytes]:
    """The chunks of a stream that a second cancellation does not reach while it cleans up after the first."""
    chunks = aiter(inner)

    async def following() -> bytes | None:
        return await anext(chunks, None)

    while (chunk := await interrupted_once(following())) is not None:
        yield chunk


async def _checked(chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    total = line = 0
    async with contextlib.aclosing(chunks):
        async for chunk in chunks:
            if not total:
                chunk = chunk.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901
            total += len(chunk)
            cut = chunk.rfind(b"\n")
            line = line + len(chunk) if cut < 0 else len(chunk) - cut - 1
            if total > MAX_ANSWER_BYTES:
                raise AnswerUnusable(f"it is longer than {MAX_ANSWER_BYTES // 2**20} MB")
            if line > MAX_LINE_BYTES:
                raise AnswerUnusable(f"one of its lines is longer than {MAX_LINE_BYTES // 2**20} MB")
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                raise AnswerBroken("it is not valid UTF-8") from None
            if chunk:
                yield chunk
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise AnswerBroken("it ends in the middle of a character") from None
