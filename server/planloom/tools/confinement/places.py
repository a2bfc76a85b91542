"""The files and folders that a confined command may change, and what it sees of the user's home.

All of this is found anew for every command, since folders come and go. Blocks on file I/O, for some milliseconds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.safety.protected import is_git, never_written, runs_unasked
from planloom.tools.confinement.git_folder import GitFolder, git_folder

_TOOLS: Final = """
    .local/bin .local/lib .local/pipx .local/share/pipx .local/share/uv/python .local/share/uv/tools .local/share/mise
    .local/share/fnm .local/share/pnpm .local/share/gem/ruby .local/share/hatch .local/share/virtualenvs
    .local/share/swiftly .local/share/coursier/bin .local/state/nix/profiles .nix-profile .pyenv .rye/py .rye/shims
    .rye/tools .rye/uv .rye/self .asdf .proto .nvm .fnm .volta .nodenv .n .rustup .cargo/bin .cargo/env .rbenv .rvm
    .gem/ruby .goenv .gvm .sdkman .jenv .jdks .jabba .ghcup .elan .opam .juliaup .julia/juliaup .julia/packages
    .julia/artifacts .julia/registries .julia/environments .deno .bun .dotnet/dotnet .dotnet/host .dotnet/sdk
    .dotnet/shared .dotnet/packs .dotnet/tools .tfenv .zvm .flutter flutter Android/Sdk .linuxbrew miniconda3
    miniforge3 mambaforge anaconda3 micromamba .conda/envs .pixi/bin .pixi/envs sdk go/bin
"""
"""Programs of development tools in the home folder, and what they need to run. No folder holds keys as well."""
_CONFIGURATION: Final = """
    .gitconfig .config/git/config .config/git/ignore .config/git/attributes .pip/pip.conf .config/pip/pip.conf
    .config/uv/uv.toml .config/pypoetry/config.toml .condarc .npmrc .yarnrc .yarnrc.yml .bunfig.toml
    .cargo/config.toml .cargo/config .m2/settings.xml .gemrc .nuget/NuGet/NuGet.Config
"""
"""Settings of the same tools, which are seen unless they hold a password."""
_PASSWORD: Final = pattern(
    r"(?i)auth(?!or)|token|pass(?:w|ph)|secret|(?:api|access|private)[_-]?key|credentials|https?://[^/\s]*@|/t/"
)
_MOST_BYTES: Final = 100_000
"""Settings that are longer are not looked through, nor seen."""
_TOOL_VARIABLES: Final = """
    VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT PIPX_HOME NVM_DIR VOLTA_HOME FNM_DIR PNPM_HOME BUN_INSTALL RUSTUP_HOME GOROOT
    JAVA_HOME GRADLE_HOME M2_HOME MAVEN_HOME SDKMAN_DIR ANDROID_HOME ANDROID_SDK_ROOT DOTNET_ROOT RBENV_ROOT GEM_HOME
"""
_CACHES: Final = """
    pip uv pypoetry pdm pre-commit yarn pnpm node node-gyp deno bun go-build golangci-lint ccache sccache zig bazel
    bazelisk vcpkg coursier composer rattler ms-playwright ms-playwright-go Cypress puppeteer electron
    electron-builder selenium huggingface/hub huggingface/datasets torch rebar3
"""
"""Caches of development tools in the user's cache folder."""
_HOME_CACHES: Final = """
    .npm .yarn/berry .bun/install/cache .local/share/pnpm/store .local/share/virtualenv .cargo/registry .cargo/git
    go/pkg .gradle/caches .gradle/wrapper .m2/repository .m2/wrapper .ivy2/cache .ivy2/local .sbt/boot .nuget/packages
    .pub-cache/hosted .pub-cache/git .pub-cache/bin .pub-cache/global_packages .mix .hex/packages .stack/programs
    .stack/pantry .stack/snapshots .cabal/packages .cabal/store .conda/pkgs .konan .bundle/cache .node-gyp
"""
"""Caches of development tools elsewhere in the home folder."""
CACHE_VARIABLES: Final = {
    "UV_CACHE_DIR": ("",),
    "GOCACHE": ("",),
    "GOMODCACHE": ("",),
    "GOPATH": ("pkg",),
    "CARGO_HOME": ("registry", "git"),
    "GRADLE_USER_HOME": ("caches", "wrapper"),
    "NUGET_PACKAGES": ("",),
}
"""Variables that name a folder, and the caches in it."""
_HOMES: Final = ("/home", "/root")
_HIDDEN_OF_SYSTEM: Final = """
    /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/ssh /etc/kubernetes /etc/rancher /var/run/secrets
    /run/secrets /var/snap /var/lib/lxd /var/lib/incus
"""
"""Places that root could read, and those with sockets of container engines."""
_OUTPUTS: Final = """
    node_modules .venv venv site-packages __pycache__ target dist build out .tox .nox .cache
"""
"""Folders that builds fill, in which no name is protected."""
_DEEPEST: Final = 4
_MOST_ENTRIES: Final = 10_000
_MOST_PROTECTED: Final = 200


class Reach(NamedTuple):
    """The places of one session: its workspace folders, the private ones of the server, those that the user lets
    commands change or read beside the workspace, and the git folder that they may change.
    """

    roots: tuple[Path, ...]
    private: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    git: GitFolder | None = None


class Places(NamedTuple):
    """Real paths that exist. See `Policy` for what each means."""

    writable: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()
    home: str = ""
    pinned: tuple[str, ...] = ()


def places(reach: Reach, environment: Mapping[str, str]) -> Places:
    """The places for a command with this environment."""
    home = Path(os.path.realpath(environment.get("HOME") or Path.home()))
    chosen = _real((*reach.roots, *reach.writable))
    # Of a home that was named as a whole, or is worked in, all but hidden names is seen.
    readable = _seen(reach.readable, home)
    is_named = any(home.is_relative_to(each) for each in (*chosen, *readable))
    unseen = _hidden_names(home) if is_named else (home, *map(Path, _HOMES))
    hidden = _real((*unseen, *map(Path, _HIDDEN_OF_SYSTEM.split()), *_private(reach)))
    tools = (*_tools(home, environment), *_interpreters(reach.roots))
    shown = _seen((*tools, *_configuration(home), *_around(reach.roots, home)), home)
    # Tools put programs beside themselves.
    changing = (*_caches(home, environment), *(path for path in tools if path.is_relative_to(home)))
    has_own = home.is_dir() and home != Path(os.sep) and not is_named
    git, kept = (reach.git.writable, reach.git.kept) if reach.git is not None else ((), ())
    return Places(
        writable=(*chosen, *_real(git)),
        read_only=(
            *(str(path) for root in chosen for path in protected(Path(root)) if path not in git),
            *map(str, kept),
        ),
        hidden=tuple(path for path in hidden if path not in chosen),
        shown=(*readable, *(path for path in shown if path not in chosen and not home.is_relative_to(path))),
        cached=tuple(
            path for path in _seen(changing, home) if _nearest(path, (*chosen, *hidden)) not in chosen
        ),
        home=str(home) if has_own else "",
        pinned=_real(git),
    )


def _nearest(path: str, folders: Iterable[str]) -> str:
    """The innermost of the folders that the path is or lies in; empty if there is none."""
    return max((each for each in folders if Path(path).is_relative_to(each)), key=len, default="")


def protected(root: Path) -> Iterator[Path]:
    """The paths of a workspace folder that commands may not change: git's folder, and names that are read unasked.

    Looks only so deep and at so many entries that it takes some milliseconds.
    """
    found = entries = 0
    outputs = _OUTPUTS.split()
    level = [root]
    for _ in range(_DEEPEST):
        below: list[Path] = []
        for folder in level:
            try:
                with os.scandir(folder) as listed:
                    rows = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listed]
            except OSError:
                continue
            entries += len(rows)
            for name, is_folder in rows:
                if is_git(name) or never_written(name) or runs_unasked(name):
                    yield folder / name
                    found += 1
                elif is_folder and name not in outputs:
                    below.append(folder / name)
            if entries > _MOST_ENTRIES or found > _MOST_PROTECTED:
                return
        level = below


def lacking_folder(path: Path, roots: Iterable[Path]) -> Path | None:
    """The folder that a command needs so as to write in `path`, outside of the workspace: the next one that exists.

    None if that is the home or holds it, or is in the workspace, where commands write but for protected names. Blocks
    on file I/O.
    """
    found = next((each for each in (path, *path.parents) if each.is_dir()), path).resolve()
    is_wide = Path.home().resolve().is_relative_to(found)
    return None if is_wide or any(found.is_relative_to(root) for root in roots) else found


def _hidden_names(home: Path) -> Iterator[Path]:
    """The hidden files and folders of a home, but for those of a workspace: no command sees them."""
    try:
        names = os.listdir(home)  # noqa: PTH208
    except OSError:
        return
    hidden = (name for name in names if name.startswith(".") or name in ("Library", "snap"))
    yield from (home / name for name in hidden if not is_git(name) and not never_written(name))


def _caches(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    yield from (cache / name for name in _CACHES.split())
    yield from (home / name for name in _HOME_CACHES.split())
    for variable, names in CACHE_VARIABLES.items():
        # Several Go folders may be named.
        for folder in map(Path, environment.get(variable, "").split(os.pathsep)):
            if folder.is_absolute() and folder.is_relative_to(home):
                yield from (folder / name for name in names)
            elif folder.is_absolute():
                # Outside of the home a new cache could not be made in it.
                yield folder


def _private(reach: Reach) -> Iterator[Path]:
    """The server's own files. A folder of them that holds a workspace folder is not hidden whole."""
    for path in reach.private:
        if any(root.is_relative_to(path) for root in reach.roots):
            yield from path.glob("ledger.sqlite3*")
            yield from path.glob("planloom.log*")
        else:
            yield path


def _tools(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Programs, and what they need, wherever in a hidden place they lie."""
    yield from (home / name for name in _TOOLS.split())
    yield from (Path(sys.prefix), Path(sys.base_prefix))
    for variable in _TOOL_VARIABLES.split():
        if Path(environment.get(variable, "")).is_absolute():
            yield Path(environment[variable])
    for folder in map(Path, environment.get("PATH", "").split(os.pathsep)):
        if folder.is_absolute() and folder != home:
            yield folder
            above = folder.parent
            is_own = any((above / name).exists() for name in ("pyvenv.cfg", "conda-meta", "lib", "libexec"))
            # Other programs of `~/.local` and of a project would come with much else.
            if is_own and above != home / ".local" and not (above / ".git").exists():
                yield above


def _configuration(home: Path) -> Iterator[Path]:
    """Settings of tools that can be read and hold no password."""
    return (path for name in _CONFIGURATION.split() if _is_open(path := home / name))


def _is_open(path: Path) -> bool:
    try:
        return path.stat().st_size <= _MOST_BYTES and not _PASSWORD.search(path.read_text("utf-8", "replace"))
    except OSError:
        return False


def _around(roots: Iterable[Path], home: Path) -> Iterator[Path]:
    """The repository that a workspace folder in the home lies in, or is a worktree or a submodule of."""
    for root in roots:
        for folder in (root, *root.parents):
            if home.is_relative_to(folder):
                break
            if (folder / ".git").exists():
                git = git_folder(folder, ())
                yield from (folder, *([] if git is None else [git.repository]))
                break


def _interpreters(roots: Iterable[Path]) -> Iterator[Path]:
    """The interpreters of the virtual environments in workspace folders."""
    for root in roots:
        for name in (".venv", "venv", "env"):
            for interpreter in map(Path, _real((root / name / "bin" / "python",))):
                # The link may have been made to show something else.
                if interpreter.parent.name == "bin" and interpreter.name.startswith("python"):
                    yield interpreter.parent.parent


def _seen(paths: Iterable[Path], home: Path) -> tuple[str, ...]:
    """The real paths of those that exist, and what leads to them in the home, where links are not there."""
    found = dict.fromkeys(
        each
        for path in paths
        for each in (*_real((path,)), *([str(path)] if path.is_relative_to(home) and path.exists() else []))
    )
    return tuple(found)


def _real(paths: Iterable[Path]) -> tuple[str, ...]:
    """The real paths of those that exist, each once."""
    found: dict[str, None] = {}
    for path in paths:
        try:
            if path.is_absolute() and os.path.lexists(path):
                found[str(path.resolve(strict=True))] = None
        except (OSError, RuntimeError, ValueError):
            continue
    # A link may lead to the root, which no list is meant for.
    found.pop(os.sep, None)
    return tuple(found)
