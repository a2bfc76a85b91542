"""Prepares the process of a command so that it runs as confined as it was allowed to, by the means of this machine."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.safety.confinement import Confinement
from planloom.tools.confinement.abilities import means
from planloom.tools.confinement.git_folder import GitFolder, Reserved, git_folder, reserved
from planloom.tools.confinement.linux_command import (
    follow_servers,
    launcher_argv,
    loopback_network,
    own_network,
    policy_file,
)
from planloom.tools.confinement.macos import SANDBOX_EXEC, profile
from planloom.tools.confinement.places import CACHE_VARIABLES, Places, Reach, places
from planloom.tools.confinement.policy import Means, Policy

MOST_PROCESSES: Final = 4096
"""The most processes and threads of one command."""
MOST_FILE_BYTES: Final = 10 << 30
_PART_OF_MEMORY: Final = 0.75
_LEAST_MEMORY_BYTES: Final = 2 << 30


class Confined(NamedTuple):
    """How a command is confined: what it was allowed, what its session may reach, and by what means.

    `plan_folder` holds the home and the temporary folder that all commands of its plan have. Without `has` it is
    confined by all means that this machine has. `memory_bytes` is the most that all of its processes may use together,
    None for three quarters of the machine's. With `reads_only` it changes nothing of what it reaches.
    """

    confinement: Confinement
    reach: Reach
    plan_folder: Path
    has: Means | None = None
    memory_bytes: int | None = None
    processes: int = MOST_PROCESSES
    file_bytes: int = MOST_FILE_BYTES
    reads_only: bool = False


class Prepared(NamedTuple):
    """A process that can be started. It inherits the open files `inherited`; `policy` is closed after the start, and
    `reserved` released at the end.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    inherited: tuple[int, ...] = ()
    policy: int | None = None
    reserved: Reserved | None = None

    def started(self) -> None:
        """The process runs, or could not be started."""
        if self.policy is not None:
            os.close(self.policy)

    def ended(self) -> None:
        """The process has ended with everything that it has started. Blocks on file I/O."""
        if self.reserved is not None:
            self.reserved.release()


def prepared(argv: Sequence[str], cwd: Path, environment: Mapping[str, str], confined: Confined) -> Prepared:
    """Prepare a process in the folder `cwd`. Blocks on file I/O for some milliseconds.

    Raises OSError, as the start of the program would, if there is no such program.
    """
    has = means() if confined.has is None else confined.has
    _require_program(argv[0], cwd, environment)
    found, own = Places(), dict(environment)
    git = _allowed_git(cwd, confined)
    if confined.confinement.confined:
        reach = _with_more(confined, git)
        found = places(reach, environment) if has.supervisor or has.sandbox_exec else Places()
        if confined.reads_only:
            found = found._replace(shown=(*found.shown, *found.writable), writable=(), read_only=())
        _make_plan_folder(confined.plan_folder, Places() if has.namespaces else found)
        own = _environment(environment, confined.plan_folder, found, has)
    if has.supervisor:
        taken = None if git is None else reserved(git)
        try:
            return _by_launcher(argv, cwd, own, confined._replace(has=has), found)._replace(reserved=taken)
        except BaseException:
            if taken is not None:
                taken.release()
            raise
    if has.sandbox_exec and confined.confinement.confined:
        rules = profile(found, str(confined.plan_folder), confined.confinement.network)
        return Prepared((str(SANDBOX_EXEC), "-p", rules, *argv), own)
    return Prepared(tuple(argv), own)


def changeable_git(folder: Path, roots: Sequence[Path]) -> str | None:
    """The name of the git folder that a command in `folder` may be allowed to change; None if its hooks and
    settings cannot be protected meanwhile.

    By Landlock alone nothing in the workspace is kept from commands anyway. Blocks on file I/O.
    """
    has = means()
    git = git_folder(folder, roots) if has.namespaces or has.sandbox_exec else None
    return None if git is None else git.name


def _allowed_git(cwd: Path, confined: Confined) -> GitFolder | None:
    """The git folder that a command was allowed to change. Raises OSError if it is another one now."""
    if not confined.confinement.confined or confined.confinement.git is None:
        return None
    git = git_folder(cwd, confined.reach.roots)
    if git is None or git.name != confined.confinement.git:
        raise OSError(0, "git's folder has changed since it was allowed")
    return git


def _with_more(confined: Confined, git: GitFolder | None) -> Reach:
    """The places that a command reaches by permissions beyond the settings."""
    reach, given = confined.reach, confined.confinement
    with suppress(RuntimeError):
        return reach._replace(
            writable=(*reach.writable, *(Path(each).expanduser() for each in given.writes)),
            readable=(*reach.readable, *(Path(each).expanduser() for each in given.reads)),
            git=git,
        )
    return reach._replace(git=git)


def remove_plan_folder(folder: Path) -> None:
    """Remove the folder of a plan that has ended, with what commands have made unreadable in it. Blocks on file I/O."""
    for above, names, _ in os.walk(folder):
        for name in names:
            with suppress(OSError):
                if not Path(above, name).is_symlink():
                    Path(above, name).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _make_plan_folder(folder: Path, found: Places) -> None:
    """Make the folder of a plan before its first command: later ones could have put links in it.

    Where nothing can be mounted, links in its home lead to what is seen of the user's.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("tmp", "caches"):
        (folder / name).mkdir(exist_ok=True)
    if (folder / "home").exists():
        return
    home = Path(tempfile.mkdtemp(dir=folder))
    for path in map(Path, sorted(found.shown)):
        if found.home and path.is_relative_to(found.home):
            link = home / path.relative_to(found.home)
            with suppress(OSError):
                if not any((home / above).is_symlink() for above in link.relative_to(home).parents):
                    link.parent.mkdir(parents=True, exist_ok=True)
                    link.symlink_to(path)
    try:
        home.rename(folder / "home")
    except OSError:
        shutil.rmtree(home)


def _environment(environment: Mapping[str, str], folder: Path, found: Places, has: Means) -> dict[str, str]:
    """The environment in which a command finds its own temporary folder and home."""
    own = dict(environment)
    # The folder of the desktop's sockets.
    own.pop("XDG_RUNTIME_DIR", None)
    is_view = has.namespaces
    own.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), "/tmp" if is_view else str(folder / "tmp")))
    if not found.home or not (is_view or has.landlock or has.sandbox_exec):
        return own
    own["HOME"] = found.home
    if not is_view:
        # Without a mount namespace no copy can stand at the path of a cache.
        for name in [name for name in own if name in CACHE_VARIABLES or name.startswith("XDG_")]:
            del own[name]
        own["HOME"] = str(folder / "home")
        # Java asks the system for the home.
        own["JAVA_TOOL_OPTIONS"] = f"-Duser.home={own['HOME']}"
    return own


def most_memory() -> int:
    """The most memory of a command, in bytes: three quarters of what the machine has."""
    if sys.platform == "win32":
        return 2 * _LEAST_MEMORY_BYTES
    with suppress(OSError, ValueError):
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return max(_LEAST_MEMORY_BYTES, int(whole * _PART_OF_MEMORY))
    return 2 * _LEAST_MEMORY_BYTES


def _by_launcher(
    argv: Sequence[str], cwd: Path, environment: dict[str, str], confined: Confined, found: Places
) -> Prepared:
    has, wanted = confined.has or Means(), confined.confinement
    is_confined = wanted.confined
    joined: tuple[int, ...] = ()
    if is_confined and has.namespaces and wanted.network != "all":
        joined = own_network() if wanted.network == "none" else loopback_network()
        follow_servers("commands" if wanted.network == "none" else "loopback")
    throwaway = wanted.workspace == "throwaway"
    policy: Policy = {
        "arguments": list(argv),
        "folder": str(cwd),
        "server": os.getpid(),
        "plan_folder": str(confined.plan_folder.resolve()),
        "home": found.home,
        "writable": list(found.writable),
        "throwaway": throwaway,
        "read_only": [] if throwaway else list(found.read_only),
        "hidden": list(found.hidden),
        "shown": list(found.shown),
        "cached": list(found.cached),
        "pinned": list(found.pinned),
        "network": wanted.network,
        "joined": list(joined),
        "confined": is_confined,
        "namespaces": is_confined and has.namespaces,
        "landlock": has.landlock if is_confined else 0,
        "system_calls": is_confined and has.system_calls,
        "memory_bytes": confined.memory_bytes or most_memory(),
        "processes": confined.processes,
        "file_bytes": confined.file_bytes,
    }
    number = policy_file(policy)
    return Prepared(launcher_argv(number), environment, (number, *joined), number)


def _require_program(program: str, cwd: Path, environment: Mapping[str, str]) -> None:
    """Find out that a program is missing before the launcher does, since the caller answers to that."""
    if sys.platform == "win32":
        return
    path = environment.get("PATH") or os.defpath
    name = str(cwd / program) if os.sep in program else program
    if shutil.which(name, path=path) is None:
        is_there = os.sep in program and Path(name).exists()
        number = errno.EACCES if is_there else errno.ENOENT
        raise OSError(number, os.strerror(number), program)
