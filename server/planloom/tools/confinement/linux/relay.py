"""Joins the network of commands that may use this machine's own to the loopback of the machine, and to nothing else.

Such commands have a network of their own. For each port on which a program listens on the machine's loopback, a relay
listens in that network and passes connections on, and the reverse; so do the servers of commands without network.
The relays of the networks speak by sockets that are files: a connection begins with a line that names a port, or asks
which ports are listened on.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress

from planloom.tools.confinement.linux import kernel, listening, namespaces

_SECONDS_BETWEEN_LOOKS = 0.5
_REST = 50
"""The pause after a look is at least this many times as long as the look, which is slow where the kernel only lists all
connections."""
_ASKS_PORTS = b"ports\n"
_LOOKS = b"look\n"
"""Asks a relay to look at once, before a command starts in its network."""
_CHUNK = 65536
_HOST, _COMMANDS, _LOOPBACK = "machine", "commands", "loopback"


def main() -> None:
    """Make the network, print the id of a process in it, and relay until the input ends.

    The arguments are the open files of the user and the network namespace of the commands without network, and a folder
    for the sockets.
    """
    user, network, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    for own, peers in ((_COMMANDS, (_LOOPBACK,)), (_LOOPBACK, (_HOST, _COMMANDS))):
        if os.fork() == 0:
            kernel.join(user)
            if own == _COMMANDS:
                kernel.join(network)
            else:
                kernel.leave_network()
                namespaces.bring_loopback_up()
            kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            asyncio.run(_Relay(folder, own, peers).run())
    asyncio.run(_Relay(folder, _HOST, (_LOOPBACK,)).run())


class _Relay:
    """The relay of one network, which listens here for the ports of its peers."""

    def __init__(self, folder: str, own: str, peers: tuple[str, ...]) -> None:
        self._folder = folder
        self._own = own
        self._peers = peers
        self._servers: dict[int, tuple[str, asyncio.Server]] = {}

    async def run(self) -> None:
        """Relay until the process ends; that of the machine ends with its input."""
        await asyncio.start_unix_server(self._serve, f"{self._folder}/{self._own}")
        if self._own == _HOST:
            asyncio.get_running_loop().add_reader(0, self._end)
        is_told = self._own != _LOOPBACK
        while True:
            began = time.monotonic()
            answers = [await self._follow(peer) for peer in self._peers]
            if not is_told and all(answers):
                os.write(1, f"{os.getpid()}\n".encode())
                is_told = True
            rest = _REST * (time.monotonic() - began)
            await asyncio.sleep(max(_SECONDS_BETWEEN_LOOKS, rest) if is_told else 0.01)

    def _end(self) -> None:
        for name in os.listdir(self._folder):
            os.unlink(f"{self._folder}/{name}")
        os.rmdir(self._folder)
        os._exit(0)

    async def _follow(self, peer: str) -> bool:
        """Listen for the ports of a peer that are free here. Returns whether it has answered."""
        try:
            reader, writer = await asyncio.open_unix_connection(f"{self._folder}/{peer}")
            writer.write(_ASKS_PORTS)
            theirs = set(map(int, (await reader.read()).split()))
            writer.close()
        except OSError:
            return False
        for port in [each for each, (of, _) in self._servers.items() if of == peer and each not in theirs]:
            self._servers.pop(port)[1].close()
        for port in theirs - self._servers.keys() - listening.ports():

            async def relay(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int = port
            ) -> None:
                await self._pass_on(peer, port, reader, writer)

            with suppress(OSError):
                self._servers[port] = (peer, await asyncio.start_server(relay, "127.0.0.1", port))
        return True

    async def _pass_on(
        self, peer: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            theirs, to_them = await asyncio.open_unix_connection(f"{self._folder}/{peer}")
        except OSError:
            writer.close()
            return
        to_them.write(f"{port}\n".encode())
        await _pump_both((reader, writer), (theirs, to_them))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wanted = await reader.readline()
        if wanted == _ASKS_PORTS:
            writer.write(" ".join(map(str, listening.ports() - self._servers.keys())).encode())
            writer.close()
            return
        if wanted == _LOOKS:
            for peer in self._peers:
                await self._follow(peer)
            writer.close()
            return
        for address in ("127.0.0.1", "::1"):
            with suppress(OSError):
                there = await asyncio.open_connection(address, int(wanted))
                await _pump_both((reader, writer), there)
                return
        writer.close()


async def _pump_both(
    one: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    other: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    try:
        await asyncio.gather(_pump(one[0], other[1]), _pump(other[0], one[1]))
    finally:
        one[1].close()
        other[1].close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
