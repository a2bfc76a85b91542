"""Gathers what prompts say of the place of the work, from the disk, git and the editor, as it is now."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.changes import sha256
from planloom.domain.safety.protected import is_secret
from planloom.domain.values import Uri
from planloom.intake.surroundings.environment import (
    Findings,
    ReadManifest,
    SuiteCommand,
    WorkspaceFolder,
    environment_text,
)
from planloom.intake.surroundings.manifests import rank, read_manifest
from planloom.intake.surroundings.project_instructions import (
    NAMES,
    InstructionFile,
    ProjectInstructions,
    choices,
)
from planloom.intake.surroundings.runners import by_presence, same_runner, stated_command
from planloom.intake.surroundings.sections import Surroundings
from planloom.intake.surroundings.tree import tree
from planloom.workspace.editor import Editor, EditorSilent, FileDiagnostics
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.git_state import git_state
from planloom.workspace.index.programs import Programs
from planloom.workspace.paths.resolver import ResolvedPath, resolve
from planloom.workspace.paths.uris import normalized
from planloom.workspace.view import WorkspaceView

MOST_PATHS: Final = 20_000
"""The most paths of the workspace that are looked at."""
_FEW_PATHS: Final = 200
"""Up to so many paths, the tree takes less time to draw than a thread to start."""
_INDEX_SECONDS: Final = 2.0
_EDITOR_SECONDS: Final = 1.0
_MANIFESTS_READ: Final = 8
_DEEPEST_MANIFEST: Final = 2
_OPEN_FILES: Final = 30
_INSTRUCTION_FILES: Final = 50
_INSTALLED: Final = (".venv", "venv", "node_modules", "vendor/bundle")
_GIT_FOLDERS: Final = 3
"""The most workspace folders of which git is asked."""


class Subject(NamedTuple):
    """The subject of the work: the day of the request, and the files that it names."""

    today: date | None = None
    attached: tuple[Uri, ...] = ()


class Place(NamedTuple):
    """Where the facts are gathered from.

    `recent` are the files that the user has opened, the latest first. `trusted`: whether files may be read;
    `instructions`: whether the project's instructions are wanted, `confirmed` the hashes of those texts that are
    followed, None for all. Unless `shown`, a model is told the folders alone.
    `commands` says what they may reach.
    """

    view: WorkspaceView
    editor: Editor
    files: FileIndex
    programs: Programs
    recent: tuple[str, ...] = ()
    trusted: bool = True
    instructions: bool = True
    confirmed: frozenset[str] | None = None
    shown: bool = True
    commands: str = ""


async def gathered(place: Place, subject: Subject, tree_characters: int) -> Surroundings:
    """The surroundings of a request. Before the workspace is trusted, no file is read and no program is started."""
    if not place.shown:
        folders_alone = await _folders(place._replace(trusted=False))
        nothing = Findings(today=subject.today, commands=place.commands, folders=folders_alone)
        return Surroundings(
            environment=environment_text(nothing), tree="", instructions=ProjectInstructions()
        )
    async with asyncio.TaskGroup() as group:
        # Git and the editor answer while the index is still being built.
        folders = group.create_task(_folders(place))
        errors = group.create_task(_errors(place))
        await place.files.wait_until_listed(_INDEX_SECONDS)
        paths = await place.files.below("", MOST_PATHS + 1)
        whole = place.files.complete and len(paths) <= MOST_PATHS
        manifests, suites = await _manifests(place, paths, read=place.trusted)
        instructions = (
            await _instructions(place, subject)
            if place.trusted and place.instructions
            else ProjectInstructions()
        )
        draw = partial(tree, paths[:MOST_PATHS], tree_characters, whole=whole)
        drawn = draw() if len(paths) <= _FEW_PATHS else await asyncio.to_thread(draw)
    findings = Findings(
        today=subject.today,
        commands=place.commands,
        folders=folders.result(),
        suites=() if place.view.roots.any_virtual else _stated_first(instructions, suites),
        manifests=manifests,
        recent=place.recent,
        errors=errors.result(),
    )
    return Surroundings(
        environment=environment_text(findings),
        tree=drawn,
        instructions=instructions,
        tests=tuple(suite.command for suite in findings.suites),
    )


async def _manifests(
    place: Place, paths: Sequence[str], *, read: bool
) -> tuple[tuple[ReadManifest, ...], tuple[SuiteCommand, ...]]:
    """The manifests of the upper folders, and how tests are run; without `read`, only their names."""
    deepest = _DEEPEST_MANIFEST + (len(place.files.folders) > 1)
    names: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        if path.count("/") <= deepest:
            folder, _, name = path.rpartition("/")
            names[folder].add(name)
    upper = sorted(names, key=lambda folder: (folder != "", folder.count("/"), folder))
    listed = [
        f"{folder}/{name}" if folder else name
        for folder in upper
        for name in sorted(filter(None, names[folder]), key=lambda each: (rank(each) or 0, each))
        if rank(name) is not None
    ]
    if not read:
        return tuple(map(ReadManifest, listed)), ()
    texts = await _texts(place, listed[:_MANIFESTS_READ])
    manifests: list[ReadManifest] = []
    suites: list[SuiteCommand] = []
    for path in listed:
        folder, _, name = path.rpartition("/")
        found = read_manifest(name, texts[path], names[folder]) if path in texts else None
        manifests.append(ReadManifest(path, found.facts if found is not None else ""))
        suites += (
            SuiteCommand(command, folder, path) for command in (found.tests if found is not None else ())
        )
    for folder in upper:
        for name, command in by_presence(names[folder]):
            suites.append(SuiteCommand(command, folder, f"{folder}/{name}" if folder else name))
    return tuple(manifests), tuple(_outermost(suites) or _python_tests(paths))


def _stated_first(
    instructions: ProjectInstructions, suites: Sequence[SuiteCommand]
) -> tuple[SuiteCommand, ...]:
    """The commands that the project's instructions state, then what else its files tell."""
    commands = ((file.path, stated_command(file.text)) for file in instructions.files)
    stated = [
        # What .github holds is about the folder that it is in.
        SuiteCommand(command, path.rpartition("/")[0].removesuffix(".github").rstrip("/"), path)
        for path, command in commands
        if command is not None
    ]
    others = [
        suite
        for suite in suites
        if not any(
            each.folder == suite.folder and same_runner(each.command, suite.command) for each in stated
        )
    ]
    return (*stated, *others)


def _outermost(suites: Sequence[SuiteCommand]) -> list[SuiteCommand]:
    """The commands, without those that an enclosing folder has too: its command runs both."""
    known = {(suite.command, suite.folder) for suite in suites}
    return [
        suite
        for suite in suites
        if not any((suite.command, above) in known for above in _around(suite.folder))
    ]


def _around(folder: str) -> Iterable[str]:
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


def _python_tests(paths: Iterable[str]) -> list[SuiteCommand]:
    """The command that probably runs the tests of a Python project that says nothing about them."""
    files = (path for path in paths if path.endswith(".py"))
    for path in files:
        name = path.rpartition("/")[2]
        if name == "conftest.py" or name.startswith("test_"):
            return [SuiteCommand("python -m pytest", "", f"probably: there is {path}")]
    return []


async def _texts(place: Place, paths: Sequence[str]) -> Mapping[str, str]:
    """The texts of these files as the user sees them, without those that cannot be read or may hold secrets."""
    if not paths:
        return {}
    roots = place.view.roots
    places = await asyncio.to_thread(lambda: [resolve(roots, path, for_="read") for path in paths])
    found = {
        path: each.uri
        for path, each in zip(paths, places, strict=True)
        if isinstance(each, ResolvedPath) and each.exists and not each.secret
    }
    snapshots = await place.view.resolve_all(tuple(found.values()))
    return {
        path: each.snapshot.text
        for path, each in zip(found, snapshots, strict=True)
        if each.snapshot.text is not None
    }


async def _folders(place: Place) -> tuple[WorkspaceFolder, ...]:
    roots = place.view.roots.folders
    if not place.trusted:
        return tuple(WorkspaceFolder(root.name, root.shown, is_virtual=root.is_virtual) for root in roots)
    paths = tuple(root.path for root in roots)
    states = [await git_state(path, place.programs, paths) for path in paths[:_GIT_FOLDERS]]
    states += [None] * (len(roots) - len(states))
    installed = await asyncio.to_thread(lambda: list(map(_installed, paths)))
    return tuple(
        WorkspaceFolder(root.name, root.shown, state, found, root.is_virtual)
        for root, state, found in zip(roots, states, installed, strict=True)
    )


def _installed(folder: Path) -> tuple[str, ...]:
    return tuple(f"{name}/" for name in _INSTALLED if (folder / name).is_dir())


async def _errors(place: Place) -> tuple[tuple[str, FileDiagnostics], ...]:
    """The diagnostics that the editor reports of the open files; none if it cannot, or does not answer soon."""
    if not place.editor.capabilities.diagnostics:
        return ()
    names = {
        document.uri: path
        for document in place.view.documents.all()[-_OPEN_FILES:]
        if (path := place.files.path_of(document.uri)) and not is_secret(path)
    }
    if not names:
        return ()
    try:
        async with asyncio.timeout(_EDITOR_SECONDS):
            reported = await place.editor.diagnostics(tuple(names))
    except (EditorSilent, TimeoutError):
        return ()
    return tuple((names[key], file) for file in reported if (key := normalized(file.uri)) in names)


async def _instructions(place: Place, subject: Subject) -> ProjectInstructions:
    """The instruction files that apply to the attached files, and the names of those that apply elsewhere."""
    listed = [
        path
        for path in await place.files.ending_with_any(NAMES, _INSTRUCTION_FILES)
        if path.rpartition("/")[2] in NAMES
    ]
    subjects = [path for uri in subject.attached if (path := place.files.path_of(uri))]
    tops = [f"{root.name}/" for root in place.files.folders] if len(place.files.folders) > 1 else [""]
    chosen = choices(frozenset(listed), subjects, tops)
    texts = await _texts(place, [path for each in chosen for path in each])
    confirmed = place.confirmed
    unconfirmed = [
        path for path, text in texts.items() if confirmed is not None and sha256(text) not in confirmed
    ]
    texts = {path: text for path, text in texts.items() if path not in unconfirmed}
    used: dict[str, str] = {}
    for each in chosen:
        path = next((path for path in each if texts.get(path, "").strip()), None)
        if path is not None and texts[path] not in used.values():
            used[path] = texts[path]
    known = {path.rpartition("/")[0] for each in chosen for path in each if path in texts}
    others = {folder: path for path in reversed(listed) if (folder := path.rpartition("/")[0]) not in known}
    return ProjectInstructions(
        files=tuple(InstructionFile(path=path, text=text) for path, text in used.items()),
        others=tuple(sorted(others.values())) if confirmed is None else (),
        unconfirmed=tuple(unconfirmed),
    )
