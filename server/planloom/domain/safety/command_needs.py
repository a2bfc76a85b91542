"""Which commands are known to need the network or git's folder, and what a failed one seems to have lacked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.safety.confinement import Network
from planloom.domain.safety.shell_words import ShellWord
from planloom.domain.safety.started_programs import last_name, programs
from planloom.domain.values import Value

_TABLE: Final = """
curl wget http ssh scp sftp gh npx pipx uvx aws kubectl helm mvn mvnw gradle gradlew:
git: fetch pull push clone ls-remote submodule
npm pnpm yarn bun: install i ci add update upgrade outdated audit publish view dlx exec create init
pip pip3: install download wheel index
uv: sync add lock pip tool
poetry pipenv: install add update lock publish sync upgrade
conda: install create update
cargo: fetch install update add publish search
go: get install mod
apt apt-get brew dnf apk: update install upgrade add
gem bundle: install update add
composer: install update require
dotnet: restore add tool build test run publish pack
docker podman: pull push login build run compose buildx
terraform: init plan apply
pre-commit: autoupdate install-hooks try-repo
"""
"""Programs, and those of their sub commands that need the network; without any it is the program itself."""
_FETCHES: Final = {
    program: frozenset(subs.split())
    for names, _, subs in (line.partition(":") for line in _TABLE.strip().splitlines())
    for program in names.split()
}
_OFFLINE: Final = frozenset(("--offline", "--no-restore"))
_ABOUT_ITSELF: Final = (["--version"], ["--help"], ["-h"])
_GIT_CHANGES: Final = """
add am apply checkout cherry-pick commit commit-tree fetch gc lfs merge mv pack-refs prune pull push read-tree rebase
repack reset restore revert rm sparse-checkout switch symbolic-ref update-index update-ref write-tree
"""
_GIT: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(_GIT_CHANGES.split(), frozenset[str]()),
    "bisect": frozenset(("log", "view", "visualize")),
    "branch": frozenset(
        ("", "-a", "-r", "-v", "-vv", "-l", "--all", "--remotes", "--list", "--show-current", "--contains")
    ),
    "notes": frozenset(("", "list", "show")),
    "reflog": frozenset(("", "show", "exists")),
    "stash": frozenset(("list", "show")),
    "submodule": frozenset(("", "status", "summary")),
    "tag": frozenset(("", "-l", "--list", "-n", "-v", "--verify", "--contains")),
    "worktree": frozenset(("", "list")),
}
"""Sub commands of git that change its folder, with the words behind them with which they only read. Those that change
its settings are none, since no confined command does.
"""
_ALL_FILES: Final = frozenset(("-a", "--all-files", "--files"))
"""With these `pre-commit run` reads no index, of which it else writes a tree."""
_WITH_A_VALUE: Final = frozenset(
    ("-C", "-c", "--prefix", "--git-dir", "--work-tree", "--cwd", "--directory", "--dir", "--filter")
)
_ADDRESS: Final = pattern(r"(?:\w+://)?(?:[^/@\s]*@)?(\[[0-9a-fA-F:]+\]|[^/:\s]+)(?::\d+)?(?:/.*)?")
_LOOPBACK: Final = pattern(r"localhost|127(?:\.\d{1,3}){3}|\[::1\]", re.IGNORECASE)
_CLIENTS: Final = frozenset(("curl", "wget", "http"))
_LONGEST: Final = 20_000

LackKind = Literal["network", "git", "folder", "credentials", "socket", "protected"]


class Lack(Value):
    """The permissions without which a confined command seems to have failed.

    `place` is the folder, or the program that has not found its credentials. A `socket`, and what is `protected` in the
    workspace, no confined command gets.
    """

    kind: LackKind
    place: str = ""

    @property
    def can_be_given(self) -> bool:
        """Whether a command can get it and stay confined."""
        return self.kind not in ("socket", "protected")


class Needs(NamedTuple):
    """The known needs of a command beyond the files of the workspace. `git`: to change git's folder."""

    network: Network = "none"
    git: bool = False


CREDENTIALS: Final[Mapping[str, tuple[str, ...]]] = {
    "gh": ("~/.config/gh",),
    "glab": ("~/.config/glab-cli",),
    "aws": ("~/.aws",),
    "az": ("~/.azure",),
    "gcloud": ("~/.config/gcloud",),
    "gsutil": ("~/.config/gcloud",),
    "kubectl": ("~/.kube",),
    "helm": ("~/.kube", "~/.config/helm"),
    "doctl": ("~/.config/doctl",),
    "npm": ("~/.npmrc",),
    "git": ("~/.ssh", "~/.git-credentials"),
    "ssh": ("~/.ssh",),
    "scp": ("~/.ssh",),
    "sftp": ("~/.ssh",),
}
"""Where programs have the credentials without which they fail; a confined command sees these places empty."""
_NO_CREDENTIALS: Final = pattern(
    r"gh auth login|GH_TOKEN environment variable|glab auth login|unable to locate credentials|aws configure"
    r"|az login|gcloud auth login|no active account|active account selected|ENEEDAUTH|permission denied \(publickey"
    r"|host key verification failed|could not read username|the server localhost:8080 was refused"
    r"|no configuration has been provided|kubernetes cluster unreachable|doctl auth init",
    re.IGNORECASE,
)
_NO_SOCKET: Final = pattern(
    r"(?:cannot connect to the docker daemon|docker daemon socket|dial unix|cannot connect to podman"
    r"|could not open a connection to your authentication agent|failed to connect to (?:session )?bus)"
    r"(?:[^\n/]*?(?:unix://)?(/[\w./-]*\w))?",
    re.IGNORECASE,
)
_NO_NETWORK: Final = pattern(
    r"(?i:could not resolve (?:host|proxy)|(?:temporary failure in name|name or service not) (?:resolution|known)"
    r"|network is unreachable|nodename nor servname|no such host is known|getaddrinfo"
    r"|failed to resolve|dial tcp: lookup|couldn't resolve|unable to resolve|failed to lookup address"
    r"|check your internet connection|could not connect to the endpoint url)"
    r"|\b(?:EAI_AGAIN|ENETUNREACH|ENOTFOUND)\b"
)
"""The messages of usual programs and resolvers without a network."""
_READ_ONLY: Final = pattern(
    r"read-only file system|\bEROFS\b|(?<=config file )\S*: device or resource busy", re.IGNORECASE
)
_PROGRAMS_OF_GIT: Final = pattern(r"/(?:config(?:\.lock)?$|hooks\b|info/|modules/?$)")
_PATH: Final = pattern(
    r"['\"‘`]((?:~|\.{0,2})/[^'\"’`\n]+)['\"’`]|(?<![\w.~])((?:~|\.{1,2})?/[^\s:'\"]+|\.git/[^\s:'\"]+)"
)


def needs_of(command: str, *, background: bool = False, escape: str = "\\") -> Needs:
    """The known needs of a command.

    A command in the `background` is a server or a watcher, which others on this machine shall reach.
    """
    started = [_called(words) for words in programs(command[:_LONGEST], escape)]
    networks = {_network(program, arguments) for program, arguments in started}
    network: Network = "loopback" if background or "loopback" in networks else "none"
    changes_git = any(_changes_git(program, arguments) for program, arguments in started)
    return Needs("all" if "all" in networks else network, changes_git)


def lack_of(output: str, command: str, escape: str = "\\") -> Lack | None:
    """The permissions that a failed confined command seems to have lacked, by its output."""
    if _NO_NETWORK.search(output):
        return Lack(kind="network")
    if (found := _READ_ONLY.search(output)) is not None:
        return _read_only(output, found.start())
    if (found := _NO_SOCKET.search(output)) is not None:
        return Lack(kind="socket", place=found[1] or "")
    if _NO_CREDENTIALS.search(output):
        started = (last_name(words[0].text) for words in programs(command[:_LONGEST], escape))
        return next((Lack(kind="credentials", place=name) for name in started if name in CREDENTIALS), None)
    return None


def _read_only(output: str, at: int) -> Lack | None:
    """The place that an error's line names last before `at`, else behind it: git's folder, or a file in another one."""
    before, behind = output[output.rfind("\n", 0, at) + 1 : at], output[at:].partition("\n")[0]
    paths = [[found[1] or found[2] for found in _PATH.finditer(part)] for part in (before, behind)]
    named = [*reversed(paths[0]), *paths[1]]
    if not named:
        return None
    path = named[0]
    before, is_git, rest = path.partition(".git/")
    if is_git and _PROGRAMS_OF_GIT.search(f"/{rest}"):
        return Lack(kind="protected")
    if is_git or path.endswith("/.git"):
        return Lack(kind="git", place=before)
    return Lack(kind="folder", place=path.rstrip("/").rpartition("/")[0] or "/")


def _called(words: Sequence[ShellWord]) -> tuple[str, list[str]]:
    """The name of the program that is started, which is the module of `python -m`, and its arguments."""
    program, arguments = last_name(words[0].text), [word.text for word in words[1:]]
    if re.fullmatch(r"python[\d.]*", program) and arguments[:1] == ["-m"] and len(arguments) > 1:
        program, arguments = arguments[1], arguments[2:]
    return program, arguments


def _network(program: str, arguments: Sequence[str]) -> Network:
    found = _FETCHES.get(program)
    if found is None or not _OFFLINE.isdisjoint(arguments) or arguments in _ABOUT_ITSELF:
        return "none"
    if program in _CLIENTS:
        return "loopback" if _only_loopback(arguments) else "all"
    sub = next(iter(_words_after_options(arguments)), "install" if program == "yarn" else "")
    return "all" if not found or sub in found else "none"


def _changes_git(program: str, arguments: Sequence[str]) -> bool:
    sub, *following = [*_words_after_options(arguments), ""]
    if program == "pre-commit":
        return sub in ("", "run") and _ALL_FILES.isdisjoint(arguments) and arguments not in _ABOUT_ITSELF
    reading = _GIT.get(sub) if program == "git" else None
    return reading is not None and not (reading and following[0] in reading)


def _words_after_options(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments from the first on that is no option of the program itself."""
    skips = False
    for number, word in enumerate(arguments):
        if skips or word.startswith("-"):
            skips = not skips and word in _WITH_A_VALUE
        else:
            return arguments[number:]
    return ()


def _only_loopback(arguments: Iterable[str]) -> bool:
    """Whether the addresses among the arguments of a client are all of this machine."""
    named = [word for word in arguments if "://" in word or _is_loopback(word)]
    return bool(named) and all(map(_is_loopback, named))


def _is_loopback(word: str) -> bool:
    address = _ADDRESS.fullmatch(word)
    return address is not None and _LOOPBACK.fullmatch(address[1]) is not None
