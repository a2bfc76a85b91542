"""Validates and bounds the bytes of an answer from a possibly hostile server."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable

from planloom.web.transfer import AnswerBroken, AnswerUnusable, decompressed

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Most bytes of one answer, after decompression."""
MAX_LINE_BYTES = 8 * 1024 * 1024
"""Most bytes of one line, which may contain a whole file."""
BLANK = " \t\r\n"
SNIFFED_CHARACTERS = 4096
"""Most leading blanks before the content type is given up."""
SSE_STARTS = ("data:", "event:", ":", "id:", "retry:")
_LONGEST_START = max(map(len, SSE_STARTS))


async def bounded(stream: AsyncIterable[bytes], encoding: str) -> AsyncGenerator[str]:
    """The text of an answer in pieces, decompressed and without a byte order mark.

    Raises AnswerBroken where it is damaged, AnswerUnusable where it exceeds a limit.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")("strict")
    total = line = 0
    async with contextlib.aclosing(decompressed(stream, encoding.strip().lower())) as chunks:
        async for chunk in chunks:
            total += len(chunk)
            cut = chunk.rfind(b"\n")
            line = line + len(chunk) if cut < 0 else len(chunk) - cut - 1
            if total > MAX_ANSWER_BYTES:
                raise AnswerUnusable(f"it is longer than {MAX_ANSWER_BYTES // 2**20} MB")
            if line > MAX_LINE_BYTES:
                raise AnswerUnusable(f"one of its lines is longer than {MAX_LINE_BYTES // 2**20} MB")
            try:
                text = decoder.decode(chunk)
            except UnicodeDecodeError:
                raise AnswerBroken("it is not valid UTF-8") from None
            if text:
                yield text
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise AnswerBroken("it ends in the middle of a character") from None


async def sniffed(texts: AsyncGenerator[str]) -> tuple[str | None, AsyncGenerator[str]]:
    """The content type that the first characters suggest, or None; and the texts, these among them."""
    first = start = ""
    async for text in texts:
        first += text
        start = first.lstrip(BLANK)
        if len(first) > SNIFFED_CHARACTERS or len(start) >= _LONGEST_START or start.startswith("{"):
            break
    form = None
    if start.startswith(SSE_STARTS):
        form = "text/event-stream"
    elif start.startswith("{"):
        form = "application/json"
    return form, _with(first, texts)


async def _with(first: str, texts: AsyncGenerator[str]) -> AsyncGenerator[str]:
    yield first
    async for text in texts:
        yield text
