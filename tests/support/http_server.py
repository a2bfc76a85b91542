"""A small HTTP/1.1 server on loopback, for tests that must decide every byte of an answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; header names are in lower case. `arrived` is when its first line was there."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    arrived: float = 0.0

    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


@dataclass
class Wire:
    """The way back to the client: whatever is written is sent as it is."""

    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader

    async def send(self, data: bytes) -> None:
        """Write and wait until the client takes it; a client that has gone raises `ConnectionError`."""
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int = 200, **headers: str) -> None:
        """Status and headers; `content_type` stands for `Content-Type`. The body ends with the connection."""
        lines = [f"HTTP/1.1 {status} Whatever", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def reply(self, status: int, body: bytes, **headers: str) -> None:
        """A whole answer of known length."""
        await self.head(status, content_length=str(len(body)), **headers)
        await self.send(body)

    async def json(self, status: int, value: object, **headers: str) -> None:
        """A whole answer of JSON."""
        await self.reply(status, json.dumps(value).encode(), content_type="application/json", **headers)

    async def events(self, *data: object) -> None:
        """Server-sent events, each a text as it stands or a value as JSON."""
        for item in data:
            text = item if isinstance(item, str) else _written(item)
            await self.send(f"data: {text}\n\n".encode())

    async def until_left(self) -> None:
        """Wait until the client closes its side."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass


Answer = Callable[[Asked, Wire], Awaitable[None]]


@dataclass
class Running:
    """A server that runs, with what it was asked; `open` counts the connections at work now."""

    origin: str
    asked: list[Asked] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    open: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def all_left(self) -> None:
        """Wait until no connection is at work any more."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.open == 0)

    def posts(self) -> list[Asked]:
        """The questions to a model, without those about the server."""
        return [asked for asked in self.asked if asked.method == "POST"]


@contextlib.asynccontextmanager
async def serving(
    answer: Answer, *, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Running]:
    """A server whose every request is answered by `answer`; it ends, with its connections, with the block."""
    tasks: set[asyncio.Task[None]] = set()
    running = Running("")
    ending = False

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        running.open += 1
        try:
            asked = await _read(reader)
            if asked is not None:
                running.asked.append(asked)
                await answer(asked, Wire(writer, reader))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            # The end of the block cancels who is still at work; anyone else's cancellation goes on.
            if not ending:
                raise
        except Exception as error:
            running.errors.append(error)
            raise
        finally:
            tasks.discard(task)
            writer.close()
            async with running.changed:
                running.open -= 1
                running.changed.notify_all()

    server = await asyncio.start_server(connected, "127.0.0.1", port, ssl=tls)
    running.origin = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield running
    finally:
        ending = True
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not running.errors, running.errors


def _written(value: object) -> str:
    """JSON with its characters as they are, escaped only where half surrogate pairs make that impossible."""
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if any("\ud800" <= ch <= "\udfff" for ch in text) else text


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n")
    arrived = time.perf_counter()
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body, arrived)
