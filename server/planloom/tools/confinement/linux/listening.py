"""The ports on which something listens on the loopback of this process's network."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from typing import Final

_LOOPBACK: Final = {
    address.rjust(size, b"\0")
    for size, addresses in ((4, (b"\x7f\0\0\1", b"")), (16, (b"\1", b"")))
    for address in addresses
}
"""The loopback and every address, of both versions, in the order of the network."""
_SOCK_DIAG, _BY_FAMILY, _REQUEST_DUMP = 4, 20, 0x301
_ERROR, _DONE = 2, 3
_LISTEN: Final = 10
"""The state of a socket, `TCP_LISTEN` of the kernel."""
_HEADER: Final = struct.Struct("=IHHII")
_MESSAGE: Final = struct.Struct("=BBBB H2x 16s")
"""The beginning of `inet_diag_msg`: family, state, timer, retransmits, port, and the address."""


def ports() -> set[int]:
    """The ports by sock_diag(7); by `/proc/net/tcp` where the kernel has no sock_diag."""
    try:
        return by_sock_diag()
    except OSError:
        return by_list()


def by_sock_diag() -> set[int]:
    """The ports by sock_diag, which goes through listening sockets only. Raises OSError where there is none."""
    found = set()
    for family, size in ((socket.AF_INET, 4), (socket.AF_INET6, 16)):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            asked = struct.pack("=BBBBI48x", family, socket.IPPROTO_TCP, 0, 0, 1 << _LISTEN)
            kernel.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + asked)
            for body in _messages(kernel):
                _, _, _, _, port, address = _MESSAGE.unpack_from(body)
                if address[:size] in _LOOPBACK:
                    found.add(socket.ntohs(port))
    return found


def _messages(kernel: socket.socket) -> list[bytes]:
    """The bodies of an answer in parts. Raises OSError."""
    found = list[bytes]()
    while True:
        part = kernel.recv(1 << 16)
        while part:
            length, kind, _, _, _ = _HEADER.unpack_from(part)
            if kind == _DONE:
                return found
            if kind == _ERROR:
                (number,) = struct.unpack_from("=i", part, _HEADER.size)
                raise OSError(-number, "the kernel has no sock_diag")
            found.append(part[_HEADER.size : length])
            part = part[(length + 3) & ~3 :]


def by_list() -> set[int]:
    """The ports by the list of all TCP sockets, which takes the kernel some milliseconds, and more with each."""
    found = set()
    for name in ("tcp", "tcp6"):
        with suppress(OSError), open(f"/proc/self/net/{name}", encoding="ascii") as file:
            next(file, None)
            for line in file:
                fields = line.split()
                address, _, port = fields[1].rpartition(":")
                if int(fields[3], 16) == _LISTEN and _in_network_order(address) in _LOOPBACK:
                    found.add(int(port, 16))
    return found


def _in_network_order(address: str) -> bytes:
    """An address of the list, which writes each four bytes as a number of this machine."""
    words = (int(address[start : start + 8], 16) for start in range(0, len(address), 8))
    return b"".join(struct.pack("=I", word) for word in words)
