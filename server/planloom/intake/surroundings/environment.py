"""Writes the ENVIRONMENT section: system, folders, git, how tests are run, manifests, opened files and their errors."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.text.counted import counted
from planloom.tools.processes.child_process import HEAD_BYTES, TAIL_BYTES, shell_argv
from planloom.tools.terminal_text import one_line
from planloom.workspace.editor import FileDiagnostics
from planloom.workspace.index.git_state import GitState
from planloom.workspace.paths.names import listed, visible

_CHANGED: Final = 8
"""The most changed files that are named."""
_MANIFESTS: Final = 4
"""The most manifests with a line of their own."""
_COMMANDS: Final = 5
_RECENT: Final = 6
_ERRORS: Final = 5
"""The most files whose errors are shown, and the most errors in all; each of these files shows at least one."""
_MOST_LINE: Final = 320
"""The most characters of a line; what varies in length stands at its end."""
_MOST_MESSAGE: Final = 120


_OUTPUTS: Final = f"Output beyond {(HEAD_BYTES + TAIL_BYTES) // 1000} kB: read_output."


class WorkspaceFolder(NamedTuple):
    """A workspace folder, with the state of git where it is known. `place` is how people know it.

    `installed` are folders in it that hold installed dependencies, which ignore files usually hide.
    """

    name: str
    place: str
    git: GitState | None = None
    installed: Sequence[str] = ()
    is_virtual: bool = False


class ReadManifest(NamedTuple):
    """A manifest by its path, with the facts in it; no facts if it was not read."""

    path: str
    facts: str = ""


class SuiteCommand(NamedTuple):
    """A command that runs tests, when started in `folder` ("" is the workspace folder); `source` says so."""

    command: str
    folder: str
    source: str


class Findings(NamedTuple):
    """All that the section is written from. `commands` says what they may reach. `errors` are the editor's, by path."""

    today: date | None = None
    commands: str = ""
    folders: Sequence[WorkspaceFolder] = ()
    suites: Sequence[SuiteCommand] = ()
    manifests: Sequence[ReadManifest] = ()
    recent: Sequence[str] = ()
    errors: Sequence[tuple[str, FileDiagnostics]] = ()


def environment_text(found: Findings) -> str:
    """The body of the section, a line for each fact."""
    is_virtual = any(folder.is_virtual for folder in found.folders)
    lines = (
        _system(found.today, commands=not is_virtual),
        "" if is_virtual or not found.commands else f"{found.commands} {_OUTPUTS}",
        *_folders(found.folders),
        _suites(found.suites),
        *_manifests(found.manifests),
        _listed("Recently opened", found.recent, _RECENT),
        *_errors(found.errors),
    )
    return "\n".join(_short(line) for line in lines if line)


def _system(today: date | None, *, commands: bool) -> str:
    system = {"Darwin": "macOS"}.get(platform.system(), platform.system())
    argv = shell_argv("")
    of_commands = Path(argv[0]).name if sys.platform == "win32" else argv[0]
    of_commands += " with pipefail" if "pipefail" in argv else ""
    runs = (
        f"Commands run in {of_commands}."
        if commands
        else "There are no commands and no git: only the editor reaches the files."
    )
    return f"System: {system} ({platform.machine()}). {runs}" + (
        f" Today is {today.isoformat()}." if today else ""
    )


def _folders(folders: Sequence[WorkspaceFolder]) -> Iterator[str]:
    for folder in folders:
        label = "Workspace folder" if len(folders) == 1 else f"Workspace folder {visible(folder.name)}"
        yield f"{label}: {visible(folder.place)}"
        if folder.git is not None:
            yield _git(folder.git)
        yield _listed("Dependencies are installed in", folder.installed, _RECENT)


def _git(state: GitState) -> str:
    where = f"branch {visible(state.branch)}" if state.branch else "no branch (a commit is checked out)"
    if not state.changed:
        return f"Git when the plan began: {where}, nothing changed"
    count = "1 changed file" if len(state.changed) == 1 else f"{len(state.changed)} changed files"
    return f"Git when the plan began: {where}, {_listed(count, state.changed, _CHANGED)}"


def _suites(suites: Sequence[SuiteCommand]) -> str:
    found: dict[tuple[str, str], str] = {}
    for suite in suites:
        found.setdefault((suite.command, suite.folder), suite.source)
    shown = [
        f"`{command}`" + (f" in {visible(folder)}/" if folder else "") + f" ({visible(source)})"
        for (command, folder), source in list(found.items())[:_COMMANDS]
    ]
    return f"Tests are run with: {', '.join(shown)}" if shown else ""


def _manifests(manifests: Sequence[ReadManifest]) -> Iterator[str]:
    excerpts = [manifest for manifest in manifests if manifest.facts][:_MANIFESTS]
    for manifest in excerpts:
        yield f"{visible(manifest.path)}: {manifest.facts}"
    others = [manifest.path for manifest in manifests if manifest not in excerpts]
    yield _listed("Other manifests" if excerpts else "Manifests", others, 10)


def _errors(errors: Sequence[tuple[str, FileDiagnostics]]) -> Iterator[str]:
    left = _ERRORS
    by_file = [(path, [item for item in file.items if item.severity == "error"]) for path, file in errors]
    for path, found in [each for each in by_file if each[1]][:_ERRORS]:
        count = counted(len(found), "error")
        first = [
            f"line {item.range.start.line + 1}: {one_line(item.message[:500])[:_MOST_MESSAGE]}"
            for item in found[: max(1, left)]
        ]
        left -= len(first)
        yield f"The editor shows {count} in {visible(path)}: {'; '.join(first)}"


def _listed(label: str, names: Sequence[str], most: int) -> str:
    if not names:
        return ""
    return f"{label}: {listed([visible(name) for name in names], most)}"


def _short(line: str) -> str:
    return line if len(line) <= _MOST_LINE else line[: _MOST_LINE - 1].rstrip() + "…"
