"""The JSON objects of an answer, in whatever form a server sends them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

import httpx
from httpx_sse import EventSource

from planloom.domain.values import Json
from planloom.models.http.bounded import AnswerBroken, AnswerUnusable
from planloom.models.http.json_text import Unreadable, read_object

DONE = "[DONE]"
"""How OpenAI's streams end."""
DRAIN_SECONDS = 0.05
"""How long the end of a stream is waited for once it has said that it is done."""
MAX_ERROR_BYTES = 64 * 1024
"""Bytes of an error's body that are read; its first words are all that is shown."""


async def payloads(response: httpx.Response) -> AsyncGenerator[dict[str, Json]]:
    """The JSON objects of an answer in whatever form they come: events, lines, or one whole document.

    Ends after `{DONE: True}`, where the server says so, or at the end. Raises `AnswerBroken` for no JSON.
    """
    if response.headers["content-type"] == "text/event-stream":
        async with contextlib.aclosing(EventSource(response).aiter_sse()) as events:
            async for event in events:
                for text in _documents(event.data):
                    if text == DONE:
                        yield {DONE: True}
                        await _drain(events)
                        return
                    yield _object(text)
        return
    async with contextlib.aclosing(_lines(response)) as lines:
        whole: list[str] = []
        read_any = False
        async for line in lines:
            value = read_object(line, halves=True) if not whole else Unreadable("")
            if not isinstance(value, Unreadable):
                read_any = True
                yield value
            elif read_any:
                raise AnswerBroken(f"a line is no JSON: {value.problem}")
            else:
                # A document that is spread over several lines is read when all of it is there.
                whole.append(line)
        if whole:
            yield _object("\n".join(whole))


async def bounded_text(response: httpx.Response, limit: int = MAX_ERROR_BYTES) -> str:
    """The first `limit` characters of a body, for errors and small documents; damage ends it, silently."""
    parts: list[str] = []
    size = 0
    with contextlib.suppress(AnswerUnusable, AnswerBroken, httpx.TransportError):
        async for part in response.aiter_text():
            parts.append(part)
            size += len(part)
            if size >= limit:
                break
    return "".join(parts)[:limit]


async def _drain(events: AsyncIterator[object]) -> None:
    """Read a stream's few last bytes, so that the connection can be used again."""
    with contextlib.suppress(TimeoutError, AnswerBroken, AnswerUnusable, httpx.TransportError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in events:
                pass


def _documents(data: str) -> list[str]:
    """The JSON texts of one event: servers that forget the blank line put several into one."""
    text = data.strip()
    if "\n" not in text or not isinstance(read_object(text), Unreadable):
        return [text] if text else []
    return [line for part in text.split("\n") if (line := part.strip())]


def _object(text: str) -> dict[str, Json]:
    value = read_object(text, halves=True)
    if isinstance(value, Unreadable):
        raise AnswerBroken(f"a part of it is no JSON ({value.problem})")
    return value


async def _lines(response: httpx.Response) -> AsyncGenerator[str]:
    """The lines that hold something, split at line feeds alone: JSON may hold other separators."""
    held: list[str] = []
    async for text in response.aiter_text():
        *complete, rest = text.split("\n")
        for part in complete:
            line = "".join([*held, part]).strip()
            held = []
            if line:
                yield line
        if rest:
            held.append(rest)
    line = "".join(held).strip()
    if line:
        yield line
