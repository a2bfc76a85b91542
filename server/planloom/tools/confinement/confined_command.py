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
from planloom.tools.confinement.places import Places, Reach, places
from planloom.tools.confinement.policy import Means, Policy

MOST_PROCESSES: Final = 4096
"""The most processes and threads of one command."""
MOST_FILE_BYTES: Final = 10 << 30
_PART_OF_MEMORY: Final = 0.75
_LEAST_MEMORY_BYTES: Final = 2 << 30


class Confined(NamedTuple):
    """How a command is confined: what it was allowed, what its session may reach, and by what means.

    Without `has` it is confined by all means that this machine has. `memory_bytes` is the most that all of its
    processes may use together, None for three quarters of the machine's.
    """

    confinement: Confinement
    reach: Reach
    has: Means | None = None
    memory_bytes: int | None = None
    processes: int = MOST_PROCESSES
    file_bytes: int = MOST_FILE_BYTES


class Prepared(NamedTuple):
    """A process that can be started. It inherits the open files `inherited`; `policy` is closed after the start.
    `temporary` is its folder for temporary files, removed when it has ended; `reserved` is released then.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    inherited: tuple[int, ...] = ()
    policy: int | None = None
    temporary: str | None = None
    reserved: Reserved | None = None

    def started(self) -> None:
        """The process runs, or could not be started."""
        if self.policy is not None:
            os.close(self.policy)

    def ended(self) -> None:
        """The process has ended with everything that it has started. Blocks on file I/O."""
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)
        if self.reserved is not None:
            self.reserved.release()


def prepared(argv: Sequence[str], cwd: Path, environment: Mapping[str, str], confined: Confined) -> Prepared:
    """Prepare a process in the folder `cwd`. Blocks on file I/O for some milliseconds.

    Raises OSError, as the start of the program would, if there is no such program.
    """
    has = means() if confined.has is None else confined.has
    _require_program(argv[0], cwd, environment)
    if not has.supervisor and not has.sandbox_exec:
        return Prepared(tuple(argv), dict(environment))
    if has.sandbox_exec and not confined.confinement.confined:
        return Prepared(tuple(argv), dict(environment))
    git = _allowed_git(cwd, confined)
    confinement = confined.confinement
    reach = confined.reach._replace(
        writable=(*confined.reach.writable, *_expanded(confinement.writes)),
        shown=_expanded(confinement.reads),
        git=git,
    )
    confined = confined._replace(reach=reach, has=has)
    # Links on the way to it would lead out of what the command may change.
    temporary = str(Path(tempfile.mkdtemp(prefix=f"planloom-{os.getpid()}-")).resolve())
    taken: Reserved | None = None
    try:
        taken = None if git is None else reserved(git)
        if has.sandbox_exec:
            return _by_sandbox_exec(argv, environment, confined, temporary)
        return _by_launcher(argv, cwd, environment, confined, temporary)._replace(reserved=taken)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        if taken is not None:
            taken.release()
        raise


def changeable_git(folder: Path, roots: Sequence[Path]) -> str | None:
    """The name of the git folder that a command in `folder` may be allowed to change; None if it cannot be held to it.

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


def _expanded(places: Sequence[str]) -> tuple[Path, ...]:
    with suppress(RuntimeError):
        return tuple(Path(each).expanduser() for each in places)
    return ()


def most_memory() -> int:
    """The most memory of a command, in bytes: three quarters of what the machine has."""
    with suppress(OSError, ValueError, AttributeError):
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return max(_LEAST_MEMORY_BYTES, int(whole * _PART_OF_MEMORY))
    return 2 * _LEAST_MEMORY_BYTES


def _by_launcher(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], confined: Confined, temporary: str
) -> Prepared:
    from planloom.tools.confinement.linux_command import (
        follow_servers,
        launcher_argv,
        loopback_network,
        own_network,
        policy_file,
    )

    has, wanted = confined.has or Means(), confined.confinement
    is_confined = wanted.confined
    found = places(confined.reach, environment) if is_confined else Places((), (), (), (), ())
    joined: tuple[int, ...] = ()
    if is_confined and has.namespaces and wanted.network != "all":
        joined = own_network() if wanted.network == "none" else loopback_network()
        follow_servers("commands" if wanted.network == "none" else "loopback")
    throwaway = wanted.workspace == "throwaway"
    policy: Policy = {
        "arguments": list(argv),
        "folder": str(cwd),
        "server": os.getpid(),
        "temporary": temporary,
        "writable": list(found.writable),
        "throwaway": throwaway,
        "read_only": [] if throwaway else list(found.read_only),
        "hidden": list(found.hidden),
        "scratch": list(found.scratch),
        "shown": list(found.shown),
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
    return Prepared(launcher_argv(number), dict(environment), (number, *joined), number, temporary)


def _by_sandbox_exec(
    argv: Sequence[str], environment: Mapping[str, str], confined: Confined, temporary: str
) -> Prepared:
    from planloom.tools.confinement.macos import SANDBOX_EXEC, profile

    rules = profile(places(confined.reach, environment), temporary, confined.confinement.network)
    own = {**environment, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), temporary)}
    return Prepared((str(SANDBOX_EXEC), "-p", rules, *argv), own, temporary=temporary)


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
