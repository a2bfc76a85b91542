"""Reads the JSON objects of an answer from server-sent events, JSON lines or one document."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncGenerator, AsyncIterator

import httpx

from planloom.domain.values import Json
from planloom.models.http.json_text import Unreadable, read_object
from planloom.models.http.transport import Answer
from planloom.web.transfer import AnswerBroken, AnswerUnusable

DONE = "[DONE]"
"""The end marker of OpenAI's streams."""
DRAIN_SECONDS = 0.05
"""How long to wait for the end of a stream after its end marker."""
MAX_ERROR_BYTES = 64 * 1024
"""Most bytes of an error's body that are read, of which only the start is shown."""


async def payloads(answer: Answer) -> AsyncGenerator[dict[str, Json]]:
    """The JSON objects of an answer; the end marker is yielded as `{DONE: True}`, and ends the stream.

    Raises `AnswerBroken` for invalid JSON.
    """
    if answer.form != "text/event-stream":
        async with contextlib.aclosing(_lines_of_json(answer.texts)) as objects:
            async for each in objects:
                yield each
        return
    async with contextlib.aclosing(_events(answer.texts)) as events:
        async for data in events:
            for text in _documents(data):
                if text == DONE:
                    yield {DONE: True}
                    if answer.stays_open:
                        await _drain(answer.texts)
                    return
                yield _object(text)


async def bounded_text(answer: Answer, limit: int = MAX_ERROR_BYTES) -> str:
    """The first `limit` characters of a body, for errors and small documents; ends silently at damage."""
    parts: list[str] = []
    size = 0
    with contextlib.suppress(AnswerUnusable, AnswerBroken, httpx.TransportError):
        async for part in answer.texts:
            parts.append(part)
            size += len(part)
            if size >= limit:
                break
    return "".join(parts)[:limit]


async def _drain(texts: AsyncIterator[str]) -> None:
    """Read the last few bytes of a stream, so that the connection can be reused."""
    with contextlib.suppress(TimeoutError, AnswerBroken, AnswerUnusable, httpx.TransportError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in texts:
                pass


def _documents(data: str) -> list[str]:
    """The JSON texts of one event; servers that omit the blank line put several into one."""
    text = data.strip()
    if "\n" not in text or not isinstance(read_object(text), Unreadable):
        return [text] if text else []
    return [line for part in text.split("\n") if (line := part.strip())]


def _object(text: str) -> dict[str, Json]:
    value = read_object(text, keep_surrogates=True)
    if isinstance(value, Unreadable):
        raise AnswerBroken(f"a part of it is not JSON ({value.problem})")
    return value


async def _events(texts: AsyncIterator[str]) -> AsyncGenerator[str]:
    """The data of server-sent events; the end of the stream ends the last one, too.

    What an event has beside its data is for browsers
    (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation).
    """
    data: list[str] = []
    async with contextlib.aclosing(_lines(texts, at_returns=True)) as pieces:
        async for lines in pieces:
            for line in lines:
                if line.startswith("data:"):
                    data.append(line[5:].removeprefix(" "))
                elif not line and data:
                    yield "\n".join(data)
                    data = []
    if data:
        yield "\n".join(data)


async def _lines_of_json(texts: AsyncIterator[str]) -> AsyncGenerator[dict[str, Json]]:
    """The objects of JSON lines, or of one document that spans several lines."""
    whole: list[str] = []
    read_any = False
    async with contextlib.aclosing(_lines(texts)) as pieces:
        async for lines in pieces:
            for line in filter(None, map(str.strip, lines)):
                value = read_object(line, keep_surrogates=True) if not whole else Unreadable("")
                if not isinstance(value, Unreadable):
                    read_any = True
                    yield value
                elif read_any:
                    raise AnswerBroken(f"a line is not JSON: {value.problem}")
                else:
                    # A document is parsed when it is complete.
                    whole.append(line)
    if whole:
        yield _object("\n".join(whole))


async def _lines(texts: AsyncIterator[str], *, at_returns: bool = False) -> AsyncGenerator[list[str]]:
    """The lines that each piece of a text completes, split at line feeds, and with `at_returns` at carriage returns.

    JSON may contain all other line separators.
    """
    line_feeds = io.IncrementalNewlineDecoder(None, translate=at_returns)
    held: list[str] = []
    async for text in texts:
        *complete, rest = line_feeds.decode(text).split("\n")
        if complete and held:
            complete[0] = "".join([*held, complete[0]])
            held = []
        if rest:
            held.append(rest)
        if complete:
            yield complete
    yield ["".join(held)]
