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
    """A file before the plan's first change and after its last; `oldUri` is its name before, if it was renamed."""

    uri: str
    change: Literal["create", "edit", "delete", "rename", "createFolder"]
    old_uri: Maybe[str] = None
    added: Maybe[Int] = None
    removed: Maybe[Int] = None


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
    """What an ended plan has done, and its `caveats`. `closing` is its final answer if `answered`, else a summary."""

    done: tuple[ReportedStep, ...]
    files: tuple[ReportedFile, ...]
    commands: tuple[ReportedCommand, ...]
    left: tuple[LeftStep, ...]
    not_allowed: tuple[str, ...]
    closing: Maybe[str] = None
    answered: Bool
    caveats: tuple[str, ...] = ()
