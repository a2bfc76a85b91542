"""Finds and runs git and ripgrep, never a copy inside an opened folder, and with a restricted environment.

Planloom starts every program here, except commands that a person approves (`tools/processes/child_process.py`).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

_ALLOWED_NAMES: Final = """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP PWD HOSTNAME
    XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR
    VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYENV_VERSION UV_CACHE_DIR PIPX_HOME
    JAVA_HOME JDK_HOME GRADLE_HOME GRADLE_USER_HOME M2_HOME MAVEN_HOME ANDROID_HOME ANDROID_SDK_ROOT
    GOPATH GOROOT GOCACHE GOMODCACHE GOBIN CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN
    NVM_DIR NVM_BIN NODE_PATH NODE_VERSION PYTHONPATH PNPM_HOME VOLTA_HOME FNM_DIR BUN_INSTALL DENO_DIR
    RBENV_ROOT GEM_HOME GEM_PATH DOTNET_ROOT NUGET_PACKAGES SDKMAN_DIR COMPOSER_HOME
    CC CXX CFLAGS CXXFLAGS LDFLAGS PKG_CONFIG_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH MAKEFLAGS
    PYTHONIOENCODING PYTHONUTF8 SOURCE_DATE_EPOCH SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS
    SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE USERNAME HOMEDRIVE HOMEPATH APPDATA
    LOCALAPPDATA PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) COMMONPROGRAMFILES NUMBER_OF_PROCESSORS
    PROCESSOR_ARCHITECTURE OS
"""
_ALLOWED: Final = frozenset(_ALLOWED_NAMES.split())
"""Environment variables that are passed on; any other may hold a secret, whatever its name."""
_PROXIES: Final = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"})
_FIXED: Final = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PYTHONUNBUFFERED": "1",
}
"""Keeps programs from waiting for input and from buffering output."""
_GIT: Final = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"),
    # A bare repository inside a clone may have been committed there to run code; git ignores it.
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "core.quotePath=false", "--no-pager", "--no-optional-locks", "--literal-pathspecs"),
)
"""Keeps git from running commands that a repository configures."""
_GIT_FIXED: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""Keeps git from fetching missing objects, which can run a command that the repository names."""


class Programs(NamedTuple):
    """Finds programs on the search path; finds none until the opened folders are trusted."""

    trusted: Callable[[], bool] = lambda: True

    def find(self, name: str, roots: Sequence[Path]) -> Path | None:
        """`find_program` if the folders are trusted, else None."""
        return find_program(name, roots) if self.trusted() else None


TRUSTED: Final = Programs()
"""Treats every folder as trusted."""


def find_program(name: str, roots: Sequence[Path]) -> Path | None:
    """The absolute path of a program that lies, with and without links resolved, outside all `roots`; else None."""
    inside = [root.resolve() for root in roots]
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not Path(folder).is_absolute():
            continue
        program = Path(folder, f"{name}.exe" if os.name == "nt" else name)
        real = program.resolve()
        if any(real.is_relative_to(root) or program.is_relative_to(root) for root in inside):
            continue
        if real.is_file() and os.access(real, os.X_OK):
            return program
    return None


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment for a command: allow-listed variables, and a PATH without relative folders."""
    kept = {
        name: value
        for name, value in variables.items()
        if name.upper() in _ALLOWED
        or name.startswith("LC_")
        # A proxy URL may contain a user and password before the @.
        or (name.upper() in _PROXIES and "@" not in value)
    }
    if "PATH" in kept:
        folders = kept["PATH"].split(os.pathsep)
        kept["PATH"] = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    return kept | _FIXED


@asynccontextmanager
async def running_git(
    git: Path, *arguments: str, cwd: Path, limit: int, feed: bytes | None = None
) -> AsyncGenerator[Process, None]:
    """Run git, and kill it when the block ends; `limit` is the buffer size of its output in bytes.

    `feed` is what it reads from its standard input. Raises OSError.
    """
    process = await asyncio.create_subprocess_exec(
        *(str(git), *_GIT, *arguments),
        cwd=cwd,
        env=_own_environment(),
        stdin=asyncio.subprocess.DEVNULL if feed is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=limit,
    )
    try:
        if process.stdin is not None:
            # Written as fast as git reads it, while its output is read.
            process.stdin.write(feed or b"")
            process.stdin.close()
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def finished(
    program: Path, arguments: Sequence[str], *, cwd: Path, seconds: float
) -> subprocess.CompletedProcess[bytes] | None:
    """Run a program to its end; None if it cannot be started or takes longer than `seconds`. Call it from a thread."""
    try:
        return subprocess.run(
            [str(program), *arguments],
            cwd=cwd,
            env=_own_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def own_python(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a Python of our own, isolated, outside of the workspace, with pipes for its input and output.

    The code is Planloom's, so it may run before a folder is trusted. Raises OSError.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code, *arguments],
        cwd=Path(sys.executable).anchor or os.sep,
        env=_own_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _own_environment() -> dict[str, str]:
    """The environment of programs that Planloom runs by itself; without proxies, since they need no network."""
    variables = {name: value for name, value in os.environ.items() if name.upper() not in _PROXIES}
    return environment(variables) | _GIT_FIXED
