"""The report on an ended plan, on the wire."""

from typing import Literal

from planloom.lsp.wire.base import Bool, Int, Maybe, Wire

StepCaveat = Literal["unchanged", "unchecked", "command_failed"]


class ReportedStep(Wire):
    """A completed step; `summary` is left out if `closing` of the report says the same."""

    step_id: str
    description: str
    summary: Maybe[str] = None
    caveat: Maybe[StepCaveat] = None


class ReportedFile(Wire):
    """A file that has changed; `oldUri`: its name before. `lasting`: by a command, and cannot be taken back."""

    uri: str
    change: Literal["create", "edit", "delete", "rename", "createFolder"]
    old_uri: Maybe[str] = None
    added: Maybe[Int] = None
    removed: Maybe[Int] = None
    by_command: Bool = False
    lasting: Bool = False


class ReportedCommand(Wire):
    """A command and its last run in words; `failed` whatever its `exitCode`, if it ended by itself."""

    command: str
    exit_code: Maybe[Int] = None
    outcome: str
    runs: Int
    failed_before: Int = 0
    failed: Bool = False
    denied: Bool = False
    confinement: Maybe[str] = None


class LeftStep(Wire):
    """A step that is not done, and the reason."""

    step_id: str
    description: str
    status: Literal["failed", "skipped", "not_made", "not_run"]
    reason: str


class Report(Wire):
    """What an ended plan has done. `closing`: its answer if `answered`, else a summary; `notes`: what commands did."""

    done: tuple[ReportedStep, ...]
    files: tuple[ReportedFile, ...]
    commands: tuple[ReportedCommand, ...]
    left: tuple[LeftStep, ...]
    not_allowed: tuple[str, ...]
    closing: Maybe[str] = None
    answered: Bool
    caveats: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
