"""The files and folders that a confined command may change, that it sees empty, and that stay as they are.

All of this is found anew for every command, since folders come and go. Blocks on file I/O, for some milliseconds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.safety.protected import is_git, is_secret, never_written, runs_unasked
from planloom.tools.confinement.git_folder import GitFolder

_CACHES: Final = """
    pip uv npm yarn pnpm node node-gyp deno bun turbo esbuild vite go-build golangci-lint gopls
    ccache sccache zig bazel bazelisk meson vcpkg cmake clangd composer coursier sbt gradle nuget
    NuGetPackages pre-commit mypy ruff pypoetry pdm hatch virtualenv pipenv conda rattler pixi
    ms-playwright ms-playwright-go Cypress puppeteer electron electron-builder selenium
    typescript prettier eslint huggingface torch matplotlib fontconfig hypothesis numba
    JetBrains/Kotlin bundler gem hex rebar3 mix dart-sdk
"""
"""Folders of build tools in the user's cache folder."""
_HOME_CACHES: Final = """
    .npm .cargo/registry .cargo/git .cargo/.package-cache .cargo/.package-cache-mutate
    .cargo/.global-cache .gradle/caches .gradle/daemon .gradle/native .gradle/wrapper .gradle/.tmp
    .m2/repository .m2/wrapper .ivy2/cache .ivy2/local go/pkg .nuget/packages
    .local/share/pnpm/store .local/share/uv .local/share/virtualenv .local/share/NuGet
    .bun/install/cache .yarn/berry .yarn-cache .ccache .cabal/packages .cabal/store .stack
    .pub-cache .composer/cache .bundle/cache .konan .conda/pkgs .hex .mix .node-gyp .cpanm
    .sbt/boot .java/.userPrefs Library/Caches
"""
"""Caches of build tools elsewhere in the home folder."""
_CACHE_VARIABLES: Final = {
    "UV_CACHE_DIR": ("",),
    "GOCACHE": ("",),
    "GOMODCACHE": ("",),
    "GOPATH": ("pkg",),
    "CARGO_HOME": ("registry", "git", ".package-cache", ".package-cache-mutate", ".global-cache"),
    "GRADLE_USER_HOME": ("caches", "daemon", "native", "wrapper", ".tmp"),
    "NUGET_PACKAGES": ("",),
}
"""Variables that name a folder, and the caches in it."""
_HIDDEN: Final = """
    .ssh .gnupg .pki .aws .kube .azure .gcloud .oci .docker .password-store .config/gcloud .config/gh
    .config/hub .config/glab-cli .config/git/credentials .config/op .config/rclone .config/doctl
    .config/sops .config/age .config/helm .config/heroku .config/netlify .config/containers
    .config/Bitwarden .config/keepassxc .config/github-copilot .config/google-chrome .config/chromium
    .config/BraveSoftware .config/microsoft-edge .config/vivaldi .config/Signal .config/Slack
    .config/discord .config/planloom .local/state/planloom .local/share/keyrings .local/share/kwalletd
    .local/share/planloom .mozilla .thunderbird .netrc _netrc .git-credentials .pgpass .my.cnf
    .cargo/credentials .cargo/credentials.toml .gem/credentials
    .m2/settings-security.xml .gradle/gradle.properties .nuget/NuGet/NuGet.Config
    .composer/auth.json .terraform.d/credentials.tfrc.json .vault-token .fly .vercel .heroku
    .claude .claude.json .codex .gemini .cursor .continue .bitcoin .ethereum .electrum
    Library/Keychains Library/Cookies Library/Safari Library/Messages Library/Mail
"""
"""Keys, passwords, cookies and messages in the home folder."""
_HIDDEN_OF_SYSTEM: Final = """
    /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/ssh /etc/kubernetes /etc/rancher
    /var/run/secrets /run/secrets
"""
"""What root could read."""
_OUTPUTS: Final = """
    node_modules .venv venv site-packages __pycache__ target dist build out .tox .nox .cache
"""
"""Folders that builds fill, in which no name is protected."""
_DEEPEST: Final = 4
_MOST_ENTRIES: Final = 10_000
_MOST_PROTECTED: Final = 200


class Reach(NamedTuple):
    """What is special about a session: its workspace folders, what of the server is private, what the user lets
    commands change beside the workspace, what they see of what is hidden, and the git folder that they may change.
    """

    roots: tuple[Path, ...]
    private: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    git: GitFolder | None = None


class Places(NamedTuple):
    """Real paths that exist. See `Policy` for what each list means."""

    writable: tuple[str, ...]
    read_only: tuple[str, ...]
    hidden: tuple[str, ...]
    scratch: tuple[str, ...]
    shown: tuple[str, ...]
    pinned: tuple[str, ...] = ()


def places(reach: Reach, environment: Mapping[str, str]) -> Places:
    """The places for a command with this environment."""
    home = Path(environment.get("HOME") or Path.home())
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    # What the user has named is neither hidden nor changed where programs read it unasked.
    chosen = _real((*reach.roots, *reach.writable))
    git, kept = (reach.git.writable, reach.git.kept) if reach.git is not None else ((), ())
    writable = _real((*map(Path, chosen), *_caches(home, cache, environment), *git))
    seen = _real(reach.shown)
    hidden = [
        path
        for path in _real((*_secrets(home), *map(Path, _HIDDEN_OF_SYSTEM.split()), *_private(reach)))
        if path not in chosen and path not in seen
    ]
    return Places(
        writable=writable,
        read_only=(
            *(str(path) for root in chosen for path in protected(Path(root)) if path not in git),
            *map(str, kept),
        ),
        hidden=tuple(hidden),
        scratch=_real((cache,)),
        shown=_real((home, *_toolchain(environment), *reach.shown)),
        pinned=_real(git),
    )


def protected(root: Path) -> Iterator[Path]:
    """What of a workspace folder commands may not change: git's folder, and names that are read unasked.

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


def _caches(home: Path, cache: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    yield from (cache / name for name in _CACHES.split())
    yield from (home / name for name in _HOME_CACHES.split())
    for variable, names in _CACHE_VARIABLES.items():
        folder = environment.get(variable, "")
        # Several Go folders may be named; only what is in one of them is known to be a cache.
        for each in folder.split(os.pathsep):
            if Path(each).is_absolute():
                yield from (Path(each, name) for name in names)


def _secrets(home: Path) -> Iterator[Path]:
    yield from (home / name for name in _HIDDEN.split())
    yield from (home / "Library" / "Application Support" / name for name in ("Google", "Firefox"))
    for folder in (home, home / ".config"):
        try:
            names = os.listdir(folder)  # noqa: PTH208
        except OSError:
            continue
        yield from (folder / name for name in names if is_secret(name))


def _private(reach: Reach) -> Iterator[Path]:
    """The server's own files. A folder of them that holds a workspace folder is not hidden whole."""
    for path in reach.private:
        if any(root.is_relative_to(path) for root in reach.roots):
            yield from path.glob("ledger.sqlite3*")
            yield from path.glob("planloom.log*")
        else:
            yield path


def _toolchain(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where programs lie, which may be below the temporary folder or what is hidden."""
    yield Path(sys.prefix)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environment.get(name):
            yield Path(environment[name])
    for folder in environment.get("PATH", "").split(os.pathsep):
        if Path(folder).is_absolute():
            yield Path(folder)


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
