"""The ports that are listened on are found in both ways that the kernel has to tell them."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable

import pytest

if sys.platform != "linux":
    pytest.skip("the ports are those of Linux", allow_module_level=True)

from planloom.tools.confinement.linux import listening


def _tells() -> bool:
    try:
        listening.by_sock_diag()
    except OSError:
        return False
    return True


tells = pytest.mark.skipif(not _tells(), reason="this kernel has no sock_diag")
WAYS = [
    pytest.param(listening.by_sock_diag, marks=tells, id="sock_diag"),
    pytest.param(listening.by_list, id="list"),
]


@pytest.mark.parametrize("ports", WAYS)
@pytest.mark.parametrize(
    ("address", "is_found"),
    [("127.0.0.1", True), ("0.0.0.0", True), ("::1", True), ("::", True), ("127.0.0.2", False)],
)
def test_a_port_on_the_loopback_is_found(
    ports: Callable[[], set[int]], address: str, *, is_found: bool
) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError as error:
        pytest.skip(f"this machine has no address {address}: {error}")
    with server:
        port = server.getsockname()[1]
        assert (port in ports()) == is_found
    assert port not in ports()


@pytest.mark.parametrize("ports", WAYS)
def test_a_connection_is_no_server(ports: Callable[[], set[int]]) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as one,
    ):
        assert one.getsockname()[1] not in ports()


def test_the_list_serves_where_the_kernel_has_no_sock_diag(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> set[int]:
        raise OSError(2, "no sock_diag")

    monkeypatch.setattr(listening, "by_sock_diag", refused)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert server.getsockname()[1] in listening.ports()
