"""The report on an ended plan: what was done and changed, which commands ran, what is left, the model's last words."""

from typing import Literal

from planloom.domain.changes import ChangeKind
from planloom.domain.values import StepId, Uri, Value

StepCaveat = Literal["unchanged", "unchecked", "command_failed"]
"""How a step ended that is not simply done: there was nothing to change, its checks could not be passed, or the last
of its commands failed.
"""
LeftStatus = Literal["failed", "skipped", "not_made", "not_run"]
"""Why a step is left. `not_made`: it is done, but its changes were never applied. `not_run`: the plan ended first."""


class ReportedStep(Value):
    """A completed step. `summary` is None if `closing` of the report says the same."""

    step_id: StepId
    description: str
    summary: str | None = None
    caveat: StepCaveat | None = None


class ReportedFile(Value):
    """A file before the plan's first change and after its last one.

    `uri` is the file's present name, or the last one if it is deleted; `old_uri` its name before, if it was renamed.
    The counts of lines are None for folders, and where a text is no longer known. `by_command`: a command has changed
    it; with `lasting` the text from before is not known, so that it cannot be taken back.
    """

    uri: Uri
    change: ChangeKind
    old_uri: Uri | None = None
    added: int | None = None
    removed: int | None = None
    by_command: bool = False
    lasting: bool = False


class ReportedCommand(Value):
    """A command and the outcome of its last run.

    `exit_code` is None if it did not end by itself. `outcome` is the line of its output that tells the most, or why
    it has none. `failed`: whatever the exit code, it did not succeed; `denied`: it was not allowed. `failed_before`
    counts the earlier runs that failed. `confinement` says what that run could reach; None if it did not start, or
    older ledgers lack it.
    """

    command: str
    exit_code: int | None = None
    outcome: str = ""
    runs: int = 1
    failed_before: int = 0
    failed: bool = False
    denied: bool = False
    confinement: str | None = None


class LeftStep(Value):
    """A step that is not done, and the reason."""

    step_id: StepId
    description: str
    status: LeftStatus
    reason: str = ""


class Report(Value):
    """The outcome of an ended plan.

    `not_allowed` are files whose changes the user did not allow. `closing` is the model's final answer, or else the
    summary of the last step that it worked on. `answered`: `closing` is a final answer, which the event `answer` has
    brought before. `caveats` say what keeps the done steps from being simply done, each in a few words: a change or a
    command that was not allowed, a change that no file shows, a step that was not checked, or whose last command
    failed. `notes` are sentences on what commands have changed.
    """

    done: tuple[ReportedStep, ...] = ()
    files: tuple[ReportedFile, ...] = ()
    commands: tuple[ReportedCommand, ...] = ()
    left: tuple[LeftStep, ...] = ()
    not_allowed: tuple[Uri, ...] = ()
    closing: str | None = None
    answered: bool = False
    caveats: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
