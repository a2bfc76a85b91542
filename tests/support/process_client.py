"""A client of a server that is a process of its own and may be killed at any moment."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import Any

from tests.support.lsp_client import Answer, Failed, LspClient, NeverAnswered
from tests.support.warm_server import Started

__all__ = ["Answer", "Failed", "NeverAnswered", "ProcessClient", "ServerGone"]

PATIENCE = 60.0
"""Seconds that one request may take on a busy machine."""


class ServerGone(Exception):
    """The server's process ended while it was asked something."""


class _Pipes(asyncio.Protocol):
    """Stands where the in-process server's messages stand: frames to and from the pipes of a process."""

    def __init__(self, started: Started) -> None:
        self._started = started
        self._client: Any = None
        self._data = bytearray()
        self._transports: list[asyncio.BaseTransport] = []
        self._out: asyncio.WriteTransport | None = None
        self.on_exit: Any = None
        self.gone = False

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        reading, _ = await loop.connect_read_pipe(lambda: self, self._started.from_server)
        out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._started.to_server)
        self._out = out
        self._transports = [reading, out]

    def set_writer(self, client: Any, *, include_headers: bool) -> None:
        assert not include_headers
        self._client = client

    def receive(self, body: bytes) -> None:
        """Send a message to the process, if it lives."""
        if self._out is not None and not self.gone:
            self._out.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def reading(self, reads: bool) -> None:
        """Read what comes, or leave it in the pipe."""
        transport = self._transports[0]
        assert isinstance(transport, asyncio.ReadTransport)
        transport.resume_reading() if reads else transport.pause_reading()

    def hang_up(self) -> None:
        """Send nothing more."""
        if self._out is not None:
            self._out.close()

    def disconnect(self) -> None:
        for transport in self._transports:
            with contextlib.suppress(OSError):
                transport.close()  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (split := self._data.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._data[:split]).lower()
            length = next(
                int(line.partition(b":")[2])
                for line in head.split(b"\r\n")
                if line.startswith(b"content-length:")
            )
            if len(self._data) < split + 4 + length:
                return
            body = bytes(self._data[split + 4 : split + 4 + length])
            del self._data[: split + 4 + length]
            self._client.write(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        if self.on_exit is not None:
            self.on_exit(-1)


class _Process:
    """What `LspClient` needs of a server."""

    def __init__(self, messages: _Pipes) -> None:
        self.messages = messages


class ProcessClient(LspClient):
    """One client of one process. After its death requests raise ServerGone and notifications go nowhere."""

    def __init__(self, started: Started, capabilities: dict[str, Any], **editor: Any) -> None:
        self._pipes = _Pipes(started)
        self.pid = started.pid
        self.crashes: list[BaseException] = []
        self.again: Any = None
        """A result that is sent a second time for the request that is being answered."""
        super().__init__(_Process(self._pipes), capabilities, **editor)  # type: ignore[arg-type]

    async def connect(self) -> None:
        """Open the pipes."""
        await self._pipes.open()

    @property
    def alive(self) -> bool:
        """Whether the server's end of the pipes is open."""
        return not self._pipes.gone

    async def request(self, method: str, params: Any = None, *, timeout: float = PATIENCE) -> Any:
        """Ask and wait. Raises Failed, ServerGone."""
        if not self.alive:
            raise ServerGone
        return await super().request(method, params, timeout=timeout)

    async def news(self, seconds: float) -> None:
        """Wait for the next message of the server or its end, at most so long."""
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    def stop_reading(self) -> None:
        """Leave what the server says in the pipe, which takes no more once it is full."""
        self._pipes.reading(False)

    def read_again(self) -> None:
        """Read what has been left, and go on."""
        self._pipes.reading(True)

    def hang_up(self) -> None:
        """Close the pipe to the server; what it still says is heard."""
        self._pipes.hang_up()

    def kill(self) -> None:
        """End the process as a power cut would."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    async def dead(self) -> None:
        """Wait until the process is gone, and let go of its pipes."""
        async with asyncio.timeout(PATIENCE):
            while self.alive or _lives(self.pid):
                await asyncio.sleep(0.003)
        self.let_go()

    async def killed(self) -> None:
        """Kill it and wait for its end."""
        self.kill()
        await self.dead()

    async def shut_down(self) -> None:
        """Say `shutdown` and `exit`, and wait for the end."""
        with contextlib.suppress(ServerGone, Failed):
            await self.request("shutdown")
            self.notify("exit")
        await self.dead()

    def let_go(self) -> None:
        """Close the pipes, and stop answering."""
        self._pipes.disconnect()
        for task in tuple(self._answering):
            task.cancel()

    def faults(self) -> list[str]:
        """What went wrong between client and server in a way that no test has asked for."""
        return [*self._faults, *(f"in an answer of ours: {crash!r}" for crash in self.crashes)]

    async def _reply(self, message: dict[str, Any]) -> None:
        try:
            await super()._reply(message)
        except Exception as error:
            self.crashes.append(error)
        if self.again is not None:
            again, self.again = self.again, None
            self.raw({"jsonrpc": "2.0", "id": message["id"], "result": again})

    def _exited(self, code: int) -> None:
        super()._exited(code)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ServerGone())
                # Nobody may wait for it any more, which is no fault of the client.
                waiting.exception()
        self._waiting.clear()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
