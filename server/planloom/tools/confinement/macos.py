"""The profile by which `sandbox-exec` of macOS confines a command. Not run here: the text alone is tested."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from planloom.domain.safety.confinement import Network
from planloom.tools.confinement.places import Places

SANDBOX_EXEC: Final = Path("/usr/bin/sandbox-exec")
_BASE: Final = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup)
(deny mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.securityd.xpc"))
(allow ipc-posix-sem)
(allow ipc-posix-shm)
(allow pseudo-tty)
(allow file-read*)
(allow file-ioctl (literal "/dev/null") (regex #"^/dev/tty"))
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (regex #"^/dev/fd/"))
(allow file-write-data (literal "/dev/ptmx") (regex #"^/dev/ttys"))
(allow system-socket)
"""
_NETWORKS: Final[dict[Network, str]] = {
    "none": "(allow network* (local unix-socket) (remote unix-socket))\n",
    "loopback": (
        '(allow network-bind network-inbound (local ip "localhost:*"))\n'
        '(allow network-outbound (remote ip "localhost:*"))\n'
        "(allow network* (local unix-socket) (remote unix-socket))\n"
    ),
    "all": "(allow network*)\n",
}


def profile(places: Places, plan_folder: str, network: Network) -> str:
    """The profile; of several rules for one file the last one holds."""
    hidden = "".join(_rule("deny file-read* file-write*", path) for path in places.hidden)
    # The way to what is shown in it.
    hidden += "".join(_rule("allow file-read-metadata", path) for path in places.hidden)
    shown = "".join(_rule("allow file-read*", path) for path in places.shown)
    own = (*places.writable, f"{plan_folder}/tmp", f"{plan_folder}/home")
    writable = "".join(_rule("allow file-read* file-write*", path) for path in own)
    read_only = "".join(_rule("deny file-write*", path) for path in places.read_only)
    # The folder of a submodule lies in git's folder of another working tree.
    read_only += "".join(_rule("allow file-write*", path) for path in places.pinned)
    kept = (path for path in places.read_only if any(map(Path(path).is_relative_to, places.pinned)))
    read_only += "".join(_rule("deny file-write*", path) for path in kept)
    pinned = "".join(_rule("deny file-write-unlink", path, "literal") for path in places.pinned)
    return f"{_BASE}{_NETWORKS[network]}{hidden}{shown}{writable}{read_only}{pinned}"


def _rule(action: str, path: str, form: str = "subpath") -> str:
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'({action} ({form} "{quoted}"))\n'
