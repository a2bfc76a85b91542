"""Builds the approval request for a command: its text, folder, warnings, and the scripts that it would run."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.safety.approvals import Approval
from planloom.domain.safety.confinement import Abilities
from planloom.domain.safety.confinement_choices import confinement_request
from planloom.domain.safety.destructive_intent import destructive_command
from planloom.domain.safety.network_commands import needed_network
from planloom.domain.text.hidden_characters import far_text
from planloom.domain.text.look_alikes import look_alike_warning
from planloom.domain.values import ApprovalId, PlanId, Sha256, StepId
from planloom.tools.processes.commands import Command
from planloom.tools.terminal_text import escaped, hides
from planloom.workspace.disk import FolderId
from planloom.workspace.paths.names import listed

_WORDS: Final = re.compile(r"[^\s;&|<>()`'\"$=,]+")
_IMPLIED: Final[Mapping[str, tuple[str, ...]]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "pytest": ("conftest.py",),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "cargo": ("build.rs", "Cargo.toml"),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), ("package.json",)),
}
"""Files that these programs read or run without being named in the command."""
_MOST_WORDS: Final = 2_000
_MOST_BYTES: Final = 50_000_000
_NAMED: Final = 5


class Script(NamedTuple):
    """A file of the workspace that a command runs, and the hash of its content."""

    name: str
    digest: Sha256


def folder_id_of(folder: Path) -> FolderId | None:
    """The identity of a folder; None if there is none at this very path, such as behind a link. Blocks on file I/O."""
    try:
        if folder.resolve(strict=True) != folder:
            return None
        found = folder.stat()
    except (OSError, RuntimeError):
        return None
    return FolderId(found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


class CommandProposal(NamedTuple):
    """A command that a step wants to run.

    `again` says why the user is asked about it once more. `changed` are those of its scripts that the plan has changed.
    `folder_id` is that of the folder in which it runs. `abilities` are what this machine can hold it to.
    """

    plan_id: PlanId
    step_id: StepId | None
    title: str
    command: Command
    abilities: Abilities
    scripts: tuple[Script, ...] = ()
    again: str | None = None
    changed: tuple[str, ...] = ()
    folder_id: FolderId | None = None

    @property
    def digest(self) -> Sha256:
        """The hash of everything that an approval covers: the exact command, its folder, confinement and scripts."""
        command = self.command
        where = [str(command.cwd), self.folder_id, command.confinement.model_dump()]
        row = [command.line, command.argv, *where, *map(list, self.scripts)]
        if command.background:
            row.append("in the background")
        return Sha256(hashlib.sha256(json.dumps(row).encode()).hexdigest())


def command_approval(proposal: CommandProposal, approval_id: ApprovalId) -> Approval:
    """The approval request to show the user."""
    command = proposal.command
    needed = needed_network(command.text, background=command.background)
    return Approval(
        approval_id=approval_id,
        plan_id=proposal.plan_id,
        step_id=proposal.step_id,
        tool="run_command",
        proposal=proposal.digest,
        effect="execute",
        title=proposal.title,
        warning=" ".join(_warnings(proposal)) or None,
        command=escaped(command.text),
        cwd=command.folder or ".",
        confinement=confinement_request(command.confinement, needed, proposal.abilities),
    )


def _warnings(proposal: CommandProposal) -> Iterable[str]:
    text = proposal.command.text
    if proposal.again:
        yield proposal.again
    if proposal.command.background:
        yield "It runs in the background, until it is stopped or the plan ends."
    if destructive_command(text):
        yield "It seems to delete things, which cannot be undone."
    if "\n" in text.strip("\n"):
        yield "It has several lines, and each is run; \\n stands for a line end."
    if hides(text):
        yield "It contains invisible characters, which are shown as <U+…>."
    if (far := far_text(text)) is not None:
        yield f"A part of it stands behind {far.blanks} blanks, which are shown as a number."
    if (warning := look_alike_warning((text, proposal.command.folder))) is not None:
        yield warning
    if proposal.changed:
        yield f"It names or runs what this plan has changed: {listed(proposal.changed, _NAMED)}."


def scripts_of(command: Command, roots: Iterable[Path]) -> tuple[Script, ...]:
    """The files of the workspace that a command names, or that its program is known to run. Blocks on file I/O.

    What a shell makes of a text cannot be known from the text: this binds an approval to the files that are
    named openly, and is not a security boundary.
    """
    folders = tuple(root.resolve() for root in roots)
    words = list(command.argv) if command.line is None else _WORDS.findall(command.line)
    found: dict[str, Script] = {}
    for word in words[:_MOST_WORDS]:
        names = (word, *_IMPLIED.get(word.rpartition("/")[2], ()))
        for path in (command.cwd / name for name in names):
            script = _script(path, folders)
            if script is not None:
                found[script.name] = script
    return tuple(sorted(found.values()))


def _script(path: Path, folders: tuple[Path, ...]) -> Script | None:
    try:
        real = path.resolve()
        folder = next((each for each in folders if real.is_relative_to(each)), None)
        if folder is None or not real.is_file() or real.stat().st_size > _MOST_BYTES:
            return None
        digest = hashlib.sha256(real.read_bytes()).hexdigest()
    except (OSError, ValueError, RuntimeError):
        return None
    return Script(real.relative_to(folder).as_posix(), Sha256(digest))
