"""Reads the JSON objects of an answer from server-sent events, JSON lines or one document."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

import httpx
from httpx_sse import EventSource

from planloom.domain.values import Json
from planloom.models.http.json_text import Unreadable, read_object
from planloom.web.transfer import AnswerBroken, AnswerUnusable

DONE = "[DONE]"
"""The end marker of OpenAI's streams."""
DRAIN_SECONDS = 0.05
"""How long to wait for the end of a stream after its end marker."""
MAX_ERROR_BYTES = 64 * 1024
"""Most bytes of an error's body that are read, of which only the start is shown."""


async def payloads(response: httpx.Response) -> AsyncGenerator[dict[str, Json]]:
    """The JSON objects of an answer; the end marker is yielded as `{DONE: True}`, and ends the stream.

    Raises `AnswerBroken` for invalid JSON.
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
            value = read_object(line, keep_surrogates=True) if not whole else Unreadable("")
            if not isinstance(value, Unreadable):
                read_any = True
                yield value
            elif read_any:
                raise AnswerBroken(f"a line is not JSON: {value.problem}")
            else:
                # A document that spans several lines is parsed when it is complete.
                whole.append(line)
        if whole:
            yield _object("\n".join(whole))


async def bounded_text(response: httpx.Response, limit: int = MAX_ERROR_BYTES) -> str:
    """The first `limit` characters of a body, for errors and small documents; ends silently at damage."""
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
    """Read the last few bytes of a stream, so that the connection can be reused."""
    with contextlib.suppress(TimeoutError, AnswerBroken, AnswerUnusable, httpx.TransportError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in events:
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


async def _lines(response: httpx.Response) -> AsyncGenerator[str]:
    """The non-empty lines, split at line feeds only, since JSON may contain other line separators."""
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
