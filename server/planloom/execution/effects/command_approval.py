"""Builds the approval request for a command: its text, its folder and warnings."""

from __future__ import annotations

import hashlib
import json
import posixpath
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.plans.covered_calls import covered_args, is_covered_check
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Approval
from planloom.domain.safety.command_needs import CREDENTIALS, Lack, LackKind, needs_of
from planloom.domain.safety.command_rules import CommandRule, Words, offered_words, parts_of
from planloom.domain.safety.confinement import Abilities, Confinement
from planloom.domain.safety.confinement_choices import confinement_request
from planloom.domain.safety.destructive_intent import destructive_command
from planloom.domain.text.hidden_characters import far_text
from planloom.domain.text.look_alikes import look_alike_warning
from planloom.domain.values import ApprovalId, PlanId, Sha256, StepId
from planloom.execution.effects.command_scripts import ESCAPE, CommandScripts
from planloom.tools.processes.commands import Command
from planloom.tools.terminal_text import escaped, hides
from planloom.workspace.disk import FolderId
from planloom.workspace.paths.names import listed

_NAMED: Final = 5
_LACKED: Final[Mapping[LackKind, str]] = {
    "network": "the network",
    "git": "git's folder",
    "folder": "leave to write in {}",
    "credentials": "the credentials of {}",
    "socket": "the socket of a service, which it reaches without confinement alone",
    "protected": "leave to change a protected name, which it gets without confinement alone",
}


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

    `again` says why the user is asked about it once more: if it `may_have_run`, it was cut off before. `changed` are
    those of its scripts that the plan has changed. `folder_id` is that of the folder in which it runs. `abilities` are
    what this machine can hold it to. `git` is the git folder that it can be allowed to change. It has failed in this
    step before for want of what it `lacked`, as it seems.
    """

    plan_id: PlanId
    step_id: StepId | None
    title: str
    command: Command
    abilities: Abilities
    scripts: CommandScripts = CommandScripts(())
    again: str | None = None
    may_have_run: bool = False
    changed: tuple[str, ...] = ()
    folder_id: FolderId | None = None
    git: str | None = None
    lacked: Lack | None = None

    @property
    def needed(self) -> Confinement:
        """The rights that it is known to need, or seems to have lacked."""
        command = self.command
        needs = needs_of(command.text, background=command.background, escape=ESCAPE)
        found = Confinement(network=needs.network, git=self.git if needs.git else None)
        match self.lacked:
            case Lack(kind="network"):
                return found.with_more(Confinement(network="all"))
            case Lack(kind="git"):
                return found.with_more(Confinement(git=self.git))
            case Lack(kind="folder", place=place):
                return found.with_more(Confinement(writes=(place,)))
            case Lack(kind="credentials", place=program):
                return found.with_more(Confinement(network="all", reads=CREDENTIALS.get(program, ())))
        return found

    @property
    def unasked(self) -> Confinement:
        """Its rights where commands are allowed without asking: what the settings give, and the workspace's git."""
        git = self.needed.git
        inside = git if git is not None and not git.startswith("/") else None
        return self.command.confinement.with_more(Confinement(git=inside))

    @property
    def asks_more(self) -> bool:
        """Whether it needs more than it gets unasked."""
        network = self.needed.network if self.abilities.network else "none"
        needed = self.needed.model_copy(update={"network": network})
        return not self.unasked.includes(needed)

    @property
    def parts(self) -> tuple[Words, ...] | None:
        """The parts of its line that rules can cover; None if it does more, or something warns of it."""
        plain = self._replace(changed=(), scripts=CommandScripts(()), lacked=None, again=None)
        return None if any(_warnings(plain)) else parts_of(self.command.text, ESCAPE)

    @property
    def digest(self) -> Sha256:
        """The hash of everything that an approval covers: the exact command, its folder, what it may write,
        its confinement and scripts.
        """
        command = self.command
        where = [str(command.cwd), self.folder_id, command.confinement.model_dump()]
        row = [command.line, command.argv, *where, *map(list, self.scripts.files)]
        if command.background:
            row.append("in the background")
        if self.abilities.writable:
            row.append(["writes in", *self.abilities.writable])
        return Sha256(hashlib.sha256(json.dumps(row).encode()).hexdigest())


def command_approval(proposal: CommandProposal, approval_id: ApprovalId) -> Approval:
    """The approval request to show the user."""
    command = proposal.command
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
        confinement=confinement_request(command.confinement, proposal.needed, proposal.abilities),
        rules=tuple(CommandRule(words).text for words in offered_words(proposal.parts)),
        may_have_run=proposal.may_have_run or None,
    )


def is_covered_command(plan: Plan, proposal: CommandProposal) -> bool:
    """Whether the approval of the plan covers a command: it stood whole in it, and is harmless.

    Its folder has to be the one that stood there, not one to which a link leads.
    """
    if is_covered_check(plan, proposal.step_id):
        return is_harmless(proposal)
    args, command = covered_args(plan, proposal.step_id), proposal.command
    if args is None or args.get("command") != (command.line if command.line is not None else [*command.argv]):
        return False
    named = posixpath.normpath(str(args.get("cwd") or ".").replace("\\", "/"))
    return named in (".", command.folder) and is_harmless(proposal)


def is_harmless(proposal: CommandProposal) -> bool:
    """Whether nothing warns of a command, and it runs confined, without network, writing in the workspace alone.

    That it runs what its plan has changed is no warning here, since that has been approved, too.
    """
    has = proposal.abilities
    is_narrow = has.files and has.network and not has.writable
    is_narrow = is_narrow and proposal.command.confinement == proposal.needed == Confinement()
    return is_narrow and not any(_warnings(proposal._replace(changed=())))


def _warnings(proposal: CommandProposal) -> Iterable[str]:
    text = proposal.command.text
    if proposal.again:
        yield proposal.again
    if proposal.lacked is not None:
        lack = _LACKED[proposal.lacked.kind].format(proposal.lacked.place)
        yield f"It seems to have failed before for want of {lack}."
    if proposal.command.background:
        yield "It runs in the background, until it is stopped or the plan ends."
    if proposal.command.confinement.workspace == "throwaway":
        yield "While the plan is made, it may be run with other arguments too, without another question."
    elif destructive_command(text):
        yield "It seems to delete things, which cannot be undone."
    if "\n" in text.strip("\n"):
        yield "It has several lines, and each is run; \\n stands for a line end."
    if hides(text):
        yield "It contains invisible characters, which are shown as <U+…>."
    if (far := far_text(text)) is not None:
        yield f"A part of it stands behind {far.blanks} blanks, which are shown as a number."
    if (warning := look_alike_warning((text, proposal.command.folder))) is not None:
        yield warning
    if not proposal.scripts.is_whole:
        yield "Which scripts it runs cannot be told from its text, so a change of them is not noticed."
    if proposal.changed:
        yield f"It names or runs what this plan has changed: {listed(proposal.changed, _NAMED)}."
