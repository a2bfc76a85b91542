"""The bytes of an answer from a server that may be hostile: decompressed, valid, finite."""

from __future__ import annotations

import codecs
import contextlib
import zlib
from collections.abc import AsyncGenerator, AsyncIterator

import httpx

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Bytes of one answer, after any compression is undone."""
MAX_LINE_BYTES = 8 * 1024 * 1024
"""Bytes of one line: a whole file may be written in one."""
BLANK = b"\xef\xbb\xbf \t\r\n"
SNIFFED_BYTES = 4096
"""How far into an answer its first word is looked for."""
SSE_STARTS = (b"data:", b"event:", b":", b"id:", b"retry:")


class AnswerUnusable(Exception):
    """The answer breaks a limit; asking again would not help."""


class AnswerBroken(Exception):
    """The answer is damaged in a way that another attempt may not be."""


class BoundedStream(httpx.AsyncByteStream):
    """The bytes of an answer: decompressed, valid UTF-8, finite; a last blank line closes a last event."""

    def __init__(self, inner: httpx.AsyncByteStream, encoding: str) -> None:
        self._inner = inner
        self._chunks = _checked(_decompressed(inner, encoding.strip().lower()))
        self._first: bytes | None = None

    async def sniff(self) -> str | None:
        """The content type that the first bytes speak for, or None where they do not tell."""
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
        await self._chunks.aclose()
        await self._inner.aclose()


async def _decompressed(inner: httpx.AsyncByteStream, encoding: str) -> AsyncGenerator[bytes]:
    """The bytes without gzip or deflate, a piece at a time: a small answer can hold a vast one."""
    if encoding in {"", "identity"}:
        async for chunk in inner:
            yield chunk
        return
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise AnswerUnusable(f"it is compressed as {encoding[:20]!r}, which was not asked for")
    unpacker = zlib.decompressobj(wbits=47 if "gzip" in encoding else 15)
    try:
        async for chunk in inner:
            packed = chunk
            while packed:
                yield unpacker.decompress(packed, 65536)
                packed = unpacker.unconsumed_tail
    except zlib.error:
        raise AnswerBroken("it is not compressed as it says") from None


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
                raise AnswerBroken("it is no valid UTF-8") from None
            if chunk:
                yield chunk
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise AnswerBroken("it ends in the middle of a character") from None
