"""Prepares the launcher of a command on Linux, and tries what the kernel allows."""

from __future__ import annotations

import marshal
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

import planloom
from planloom.tools.confinement.policy import Means, Policy

_PACKAGES: Final = str(Path(planloom.__file__).resolve().parent.parent)
_START: Final = (
    "import sys; sys.path.append({!r}); "
    "from planloom.tools.confinement.linux import {} as module; module.{}()"
)
_TRIAL_SECONDS: Final = 10


def launcher_argv(policy: int) -> tuple[str, ...]:
    """The arguments of the launcher, isolated from folders and variables; `policy` is the number of its open file."""
    return (sys.executable, "-I", "-S", "-c", _START.format(_PACKAGES, "launcher", "main"), str(policy))


def policy_file(policy: Policy) -> int:
    """A file in memory that holds the policy, to be inherited by the launcher. Raises OSError."""
    if sys.platform != "linux":
        raise AssertionError("tried on Linux alone")
    number = os.memfd_create("policy")
    with open(number, "wb", closefd=False) as file:
        file.write(marshal.dumps(dict(policy)))
    os.lseek(number, 0, os.SEEK_SET)
    return number


@cache
def own_network() -> tuple[int, ...]:
    """Open files of a user and a network namespace, in which the commands of this server reach only each other.

    They stay as long as this process. Empty if there can be none, so that each command has a network for itself.
    Blocks for about 20 ms the first time.
    """
    if sys.platform != "linux":
        raise AssertionError("tried on Linux alone")
    with suppress(OSError, ValueError), _started("network") as maker:
        assert maker.stdout is not None
        lines = [maker.stdout.readline(), maker.stdout.readline()]
        (pid,) = (int(line) for line in lines if line != b"up\n")
        return tuple(
            os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in ("user", "net")
        )
    return ()


@cache
def loopback_network() -> tuple[int, ...]:
    """Like `own_network`, for commands that may reach the loopback of this machine, which relays join to theirs.

    The relays run as long as this process. Empty if there can be none. Blocks for about 0.3 s the first time.
    """
    if sys.platform != "linux":
        raise AssertionError("tried on Linux alone")
    shared = own_network()
    if not shared:
        return ()
    folder = tempfile.mkdtemp(prefix=f"planloom-{os.getpid()}-")
    argv = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        _START.format(_PACKAGES, "relay", "main"),
        *map(str, shared),
        folder,
    ]
    with suppress(OSError, ValueError):
        relays = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=shared,
            start_new_session=True,
        )
        _RELAYS[folder] = relays
        assert relays.stdout is not None
        pid = int(relays.stdout.readline())
        return (shared[0], os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC))
    return ()


def follow_servers(network: str) -> None:
    """Have the relay of a network, `commands` or `loopback`, see the servers that have started a moment ago.

    Blocks for some milliseconds if there are relays.
    """
    if sys.platform == "win32":
        return
    for folder in _RELAYS:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as relay:
            relay.settimeout(_LOOK_SECONDS)
            relay.connect(f"{folder}/{network}")
            relay.sendall(b"look\n")
            relay.recv(1)


_LOOK_SECONDS: Final = 1
_RELAYS: Final[dict[str, subprocess.Popen[bytes]]] = {}
"""By the folder of their sockets. They end when their input does, with this process."""


@contextmanager
def _started(entry: str) -> Iterator[subprocess.Popen[bytes]]:
    """A helper that runs until the block ends. Raises OSError."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _START.format(_PACKAGES, "launcher", entry)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def tried_means() -> Means:
    """By what a command can be confined here: what has worked in a child process just now."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _START.format(_PACKAGES, "launcher", "trial")],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRIAL_SECONDS,
            check=False,
        )
        namespaces, overlays, landlock, system_calls = map(int, done.stdout.split())
    except (OSError, ValueError, subprocess.SubprocessError):
        return Means()
    return Means(
        namespaces=bool(namespaces),
        overlays=bool(overlays),
        landlock=landlock,
        system_calls=bool(system_calls),
        supervisor=True,
    )
