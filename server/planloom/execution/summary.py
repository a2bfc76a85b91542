"""Summarizes the outcome of a plan for the user: in a few words, and as the report that every client shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from planloom.domain.changes import ChangeKind, EditedFile, EditRecord
from planloom.domain.errors import StorageFailed
from planloom.domain.events import catalog as ev
from planloom.domain.events.reverts import standing
from planloom.domain.plans.plan import ExecutedTool, Plan, PlanError, SkipReason, Step, failing
from planloom.domain.plans.report import (
    LeftStatus,
    LeftStep,
    Report,
    ReportedCommand,
    ReportedFile,
    ReportedStep,
)
from planloom.domain.text.counted import counted
from planloom.domain.text.diff import changed_lines
from planloom.domain.values import EditId, Sha256, Uri
from planloom.tools.catalog import RUN_COMMAND
from planloom.tools.tool import shortened
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.uris import after_rename, display_name, is_at_or_below

_LISTED = 20
_STEP_SUMMARY = 300
_COMMAND = 100
_REASON = 500
_CREATED: tuple[ChangeKind, ...] = ("create", "createFolder")
_UNKNOWN = "how it ended is not known"
_MOST_COUNTED = 2_000_000
"""Characters of a text beyond which its changed lines are not counted."""
_SKIPPED: dict[SkipReason, str] = {
    "user": "skipped, as chosen",
    "approval_denied": "it was not allowed",
    "policy": "skipped after its failure, as the setting says",
    "dependency_failed": "a step that it needs did not finish",
}
TextOf = Callable[[Sha256], str | None]
"""The text with a hash, as the journal of edits keeps it."""
Seen = Set[Uri]
"""Files with unverified changes that show them now."""


def failed(plan: Plan, error: PlanError, text_of: TextOf, seen: Seen = frozenset()) -> ev.PlanFailed:
    """The event that ends the plan with an error."""
    return ev.PlanFailed(
        summary=execution_summary(plan, seen), report=report(plan, text_of, seen), error=error
    )


def cancelled(plan: Plan, text_of: TextOf, seen: Seen = frozenset()) -> ev.PlanCancelled:
    """The event that cancels the plan."""
    return ev.PlanCancelled(summary=execution_summary(plan, seen), report=report(plan, text_of, seen))


def with_report(recorded: ev.Recorded, plan: Plan, text_of: TextOf) -> ev.Recorded:
    """The event; if it ends a run and older servers wrote no report into it, with what the plan's events tell."""
    event = recorded.event
    if not isinstance(event, ev.PlanCompleted | ev.PlanFailed | ev.PlanCancelled):
        return recorded
    if event.report is not None or plan.status == "draft":
        return recorded
    reported = event.model_copy(update={"report": report(plan, text_of)})
    return recorded._replace(event=reported)


def execution_summary(plan: Plan, seen: Seen = frozenset()) -> str:
    """Begins with "n of m steps done" if there are steps, then names changed files and failed and skipped steps."""
    done = sum(step.is_done for step in plan.steps)
    parts = [f"{done} of {counted(len(plan.steps), 'step')} done" if plan.steps else "There were no steps"]
    not_seen = {each.file.uri for each in unverified(plan)} - seen
    changed = [uri for uri in changed_files(plan) if uri not in not_seen]
    if changed:
        parts.append(f"{counted(len(changed), 'file')} changed")
    left_out = [uri for uri in plan.left_out if uri not in changed]
    if left_out:
        parts.append("not allowed: " + listed([display_name(uri) for uri in left_out], _LISTED, "; "))
    staged = [step.title for step in plan.steps if step.staged]
    if staged:
        parts.append("never made, since the plan ended first: " + listed(staged, _LISTED, "; "))
    undone = [step.title for step in plan.steps if step.status == "completed" and step.reverted == "whole"]
    if undone:
        parts.append("undone: " + listed(undone, _LISTED, "; "))
    parts += _caveats(plan, tuple(_commands(plan)), seen)
    for status in ("failed", "skipped"):
        names = [step.title for step in plan.steps if step.status == status]
        if names:
            parts.append(f"{status}: " + listed(names, _LISTED, "; "))
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts)


def ending_of(plan: Plan, text_of: TextOf, seen: Seen) -> ev.PlanCompleted | ev.PlanFailed | ev.PlanCancelled:
    """How a plan ends whose steps have all ended: completed only if one of them is, or none of them was needed.

    A plan without a completed step has failed if a step has; else nobody wanted its steps, so it is cancelled.
    """
    needed = tuple(step for step in plan.steps if step.skip_reason != "condition")
    if not needed or any(step.status == "completed" for step in needed):
        return ev.PlanCompleted(summary=execution_summary(plan, seen), report=report(plan, text_of, seen))
    for step in plan.steps:
        if step.has_failed and step.result is not None:
            why = (step.result.error or "").strip().partition("\n")[0]
            message = f"No step was completed. The step “{step.title}” failed: {why}"
            return failed(plan, PlanError(code="step_failed", message=message), text_of, seen)
    return cancelled(plan, text_of, seen)


def changed_files(plan: Plan) -> tuple[Uri, ...]:
    """The present URIs of the files whose changes stand, without new folders, in the order of their last change."""
    return tuple(each.file.uri for each in file_changes(plan) if each.file.change != "createFolder")


def name_now(plan: Plan, uri: Uri) -> Uri:
    """The URI of a file or folder after the plan's renames that stand, and the user's."""
    for edit in standing(plan.edits, renames=True):
        for file in edit.files:
            if file.change == "rename" and file.new_uri is not None:
                uri = after_rename(uri, file.uri, file.new_uri)
    return uri


class FileChanges(NamedTuple):
    """A file before the plan's first change and after its last one; a hash is None where there is no text."""

    file: ReportedFile
    before: Sha256 | None
    after: Sha256 | None


def file_changes(plan: Plan) -> tuple[FileChanges, ...]:
    """The changes of the plan that stand, one for each file; a file that is as it was before is not listed."""
    now: dict[Uri, FileChanges] = {}
    for edit in standing(plan.edits, renames=True):
        for file in edit.files:
            earlier = now.pop(file.uri, None) if not edit.by_user else None
            if file.change == "rename" and file.new_uri is not None:
                now = _renamed(now.values(), file.uri, file.new_uri)
            if edit.by_user:
                continue
            changes = _after(earlier, file)
            if changes is not None:
                _put(now, changes, changes.file.old_uri)
    return tuple(now.values())


def _put(now: dict[Uri, FileChanges], changes: FileChanges, origin: Uri | None) -> None:
    """Add the changes of a file that came from `origin`, if that is another name.

    A file that takes the name of a deleted one changes the text under that name, and is gone under its own: as two
    rows each name has its text before and after, and the patch of both can be applied.
    """
    uri = changes.file.uri
    deleted = now.get(uri)
    if deleted is None or deleted.file.change != "delete" or deleted.before is None:
        now[uri] = changes
        return
    del now[uri]
    edited = ReportedFile(uri=uri, change="edit")
    put = _if_changed(FileChanges(file=edited, before=deleted.before, after=changes.after))
    if put is not None:
        now[uri] = put
    if origin is not None and changes.before is not None and changes.file.change not in _CREATED:
        gone = ReportedFile(uri=origin, change="delete")
        now[origin] = FileChanges(file=gone, before=changes.before, after=None)


def unverified(plan: Plan) -> tuple[FileChanges, ...]:
    """The changes of files of which some rest on the editor's answer alone."""
    reported = {
        name_now(plan, file.uri)
        for edit in standing(plan.edits)
        if edit.outcome == "unverified"
        for file in edit.files
        if file.change == "edit"
    }
    return tuple(each for each in file_changes(plan) if each.file.uri in reported) if reported else ()


def changes_of_file(plan: Plan, uri: Uri, edit_id: EditId | None) -> FileChanges | None:
    """The changes of the plan, or of one edit of it, in a file called `uri` now, or after that edit; None if none."""
    if edit_id is None:
        return next((each for each in file_changes(plan) if each.file.uri == uri), None)
    edit = plan.edits.find(edit_id)
    files = edit.files if edit is not None else ()
    found = next((file for file in files if (file.new_uri or file.uri) == uri), None)
    return _after(None, found) if found is not None else None


def report(plan: Plan, text_of: TextOf, seen: Seen = frozenset()) -> Report | None:
    """The report on a plan that ends now; None if it has not run."""
    if plan.approved_version is None or not plan.steps:
        return None
    last = max(
        (step for step in plan.steps if step.is_done),
        key=lambda step: step.completed_at.timestamp() if step.completed_at is not None else 0,
        default=None,
    )
    # What a model has said at the end of an earlier step speaks of that step alone.
    closing = plan.answer or (_words(last) if last is not None and last.kind == "processing" else None)
    done = [
        ReportedStep(
            step_id=step.step_id,
            description=step.title,
            summary=None
            if step is last and _words(step) == closing and not _says_more(step)
            else _summary(step),
            caveat=step.result.caveat if step.result is not None else None,
        )
        for step in plan.steps
        if step.is_done
    ]
    changes = file_changes(plan)
    changed = {changed.file.uri for changed in changes}
    commanded = [edit for edit in plan.edits if edit.command is not None and edit.state == "applied"]
    by_command = {name_now(plan, file.new_uri or file.uri) for edit in commanded for file in edit.files}
    lasting = {file.new_uri or file.uri: file for edit in commanded for file in edit.unknown}
    not_allowed = tuple(uri for uri in plan.left_out if uri not in changed)
    commands = tuple(_commands(plan))
    return Report(
        done=tuple(done),
        files=(
            *(
                _counted(each, text_of).model_copy(update={"by_command": each.file.uri in by_command})
                for each in changes
            ),
            *(
                ReportedFile(uri=uri, change=file.change, by_command=True, lasting=True)
                for uri, file in lasting.items()
                if uri not in changed
            ),
        ),
        commands=commands,
        left=tuple(_left(plan)),
        not_allowed=not_allowed,
        closing=closing,
        answered=plan.answer is not None,
        caveats=(
            *(
                [f"not allowed: {listed(list(map(display_name, not_allowed)), _LISTED)}"]
                if not_allowed
                else []
            ),
            *_caveats(plan, commands, seen),
        ),
        notes=tuple(_notes(plan, commanded)),
    )


def _notes(plan: Plan, commanded: Sequence[EditRecord]) -> Iterator[str]:
    """Sentences on the changes by commands. Later plans do not read them, since commands chose the names in them."""
    for edit in commanded:
        yield from edit.notes
    cut_off = [call for step in plan.steps for call in step.tools_executed if call.command == "cut_off"]
    for name in dict.fromkeys(call.command_key[0] for call in cut_off):
        yield f"What {command_name(name)} changed was not found out, since the server ended meanwhile."


def command_name(text: str) -> str:
    """A command for use in a sentence."""
    return f"`{shortened(' '.join(text.split()), _COMMAND)}`"


def _caveats(plan: Plan, commands: Sequence[ReportedCommand], seen: Seen) -> Iterator[str]:
    """Each change that nothing but the editor's answer shows; each command that was not allowed, or failed at the end
    of a done step; each step that was not checked.
    """
    not_seen = [display_name(each.file.uri) for each in unverified(plan) if each.file.uri not in seen]
    if not_seen:
        yield f"not verified, since the files do not show what the editor reports: {listed(not_seen, _LISTED)}"
    done = [(number, step) for number, step in enumerate(plan.steps, 1) if step.is_done and step.result]
    at_end = failing(plan, commands)
    for each in commands:
        name = command_name(each.command)
        if each.denied:
            yield f"{name} was not allowed"
        elif each in at_end:
            # What it printed is not repeated here, since later plans read this sentence.
            yield f"{name} failed"
    for number, step in done:
        if step.result is not None and step.result.caveat == "unchecked":
            if step.judged is not None and (errors := step.judged.errors):
                of = "" if len(plan.steps) == 1 else f" of step {number}"
                yield f"{counted(errors, 'new error')}{of} {'is' if errors == 1 else 'are'} left"
            else:
                yield "it was not checked" if len(plan.steps) == 1 else f"step {number} was not checked"


def _words(step: Step) -> str | None:
    """All that the model wrote at the end of a step."""
    value = step.result.value if step.result is not None else None
    return value.strip() or None if isinstance(value, str) else None


def _says_more(step: Step) -> bool:
    """Whether the summary says more than the model's words."""
    return step.checks_changed or (step.result is not None and step.result.caveat is not None)


def _summary(step: Step) -> str | None:
    summary = step.result.summary if step.result is not None else None
    return shortened(" ".join(summary.split()), _STEP_SUMMARY) if summary else None


def _after(earlier: FileChanges | None, file: EditedFile) -> FileChanges | None:
    """The changes of a file after one more; None if it is as it was before the plan."""
    before = earlier.before if earlier is not None else file.before_sha256
    change = file.change
    old_uri = earlier.file.old_uri if earlier is not None else None
    if earlier is not None:
        if file.change == "delete" and earlier.file.change in _CREATED:
            return None
        is_restored_folder = file.change == "createFolder" and earlier.before is None
        if earlier.file.change == "delete" and (file.change == "create" or is_restored_folder):
            change = "edit"
        elif file.change in ("edit", "rename") and earlier.file.change in (*_CREATED, "rename"):
            change = earlier.file.change
    if file.new_uri is not None and change == "rename":
        old_uri = old_uri or file.uri
    shown = ReportedFile(uri=file.new_uri or file.uri, change=change, old_uri=old_uri)
    return _if_changed(FileChanges(file=shown, before=before, after=file.after_sha256))


def _renamed(now: Iterable[FileChanges], old: Uri, new: Uri) -> dict[Uri, FileChanges]:
    """The changes by URI after a rename, which gives all at and below `old` a new name, but for deleted files."""
    stay = {
        each.file.uri: each
        for each in now
        if each.file.change == "delete" or not is_at_or_below(each.file.uri, old)
    }
    # A moved file may take the name of a deleted one, so those that stay are put first.
    for each in now:
        if each.file.uri not in stay:
            file = each.file.model_copy(update={"uri": after_rename(each.file.uri, old, new)})
            changes = _if_changed(each._replace(file=file))
            if changes is not None:
                _put(stay, changes, each.file.uri)
    return stay


def _if_changed(changes: FileChanges) -> FileChanges | None:
    """The changes with the old name only where it says something; None if the file is as it was before the plan."""
    file = changes.file
    change, old_uri = file.change, file.old_uri
    if change == "rename" and file.uri == old_uri:
        change = "edit"
    if change == "edit" and changes.before == changes.after:
        return None
    shown = {"change": change, "old_uri": old_uri if change in ("rename", "delete") else None}
    return changes._replace(file=file.model_copy(update=shown))


def _counted(changes: FileChanges, text_of: TextOf) -> ReportedFile:
    """The file with the counts of its lines, where both texts are known and not too long."""
    is_folder = changes.before is None and changes.after is None
    if is_folder:
        return changes.file
    before, after = (_text(digest, text_of) for digest in (changes.before, changes.after))
    if before is None or after is None or max(len(before), len(after)) > _MOST_COUNTED:
        return changes.file
    added, removed = changed_lines(before, after)
    return changes.file.model_copy(update={"added": added, "removed": removed})


def _text(digest: Sha256 | None, text_of: TextOf) -> str | None:
    """The text with a hash, empty where there was no file; None if it cannot be read."""
    if digest is None:
        return ""
    try:
        return text_of(digest)
    except StorageFailed:
        return None


def _commands(plan: Plan) -> Iterator[ReportedCommand]:
    """Each command once, with its last outcome, in the order of the last runs."""
    last: dict[tuple[str, str], ReportedCommand] = {}
    for step in sorted(plan.steps, key=lambda each: each.started_at.timestamp() if each.started_at else 0):
        for call in step.tools_executed:
            # Older servers have not recorded how a command ended.
            is_command = call.command is not None or call.tool == RUN_COMMAND.name
            if not is_command or call.command == "not_run" or call.deduplicated:
                continue
            key = call.command_key
            earlier = last.pop(key, None)
            now = _command(key[0], call)
            last[key] = now if earlier is None else _again(earlier, now)
    yield from last.values()


def _again(earlier: ReportedCommand, now: ReportedCommand) -> ReportedCommand:
    """The last run of a command, with the earlier ones counted."""
    failed = earlier.failed_before + earlier.failed
    return now.model_copy(update={"runs": earlier.runs + 1, "failed_before": failed})


def _command(command: str, call: ExecutedTool) -> ReportedCommand:
    confinement = None if call.confinement is None else call.confinement.line

    def reported(outcome: str, exit_code: int | None = None) -> ReportedCommand:
        return ReportedCommand(
            command=command,
            exit_code=exit_code,
            outcome=outcome,
            failed=call.is_failed_command,
            denied=call.command == "denied",
            confinement=confinement,
        )

    if call.command == "denied":
        return reported(_not_allowed(call.why))
    if call.command == "cut_off" and call.background is None:
        return reported("it was cut off")
    if call.outcome is None:
        return reported(call.summary or _UNKNOWN)
    return reported(call.outcome.line, call.outcome.exit_code)


def _left(plan: Plan) -> Iterator[LeftStep]:
    """The steps that are not done, each with the reason."""
    for step in plan.steps:
        left = None if _made_up_for(plan, step) else _why_left(step)
        if left is not None:
            status, reason = left
            yield LeftStep(step_id=step.step_id, description=step.title, status=status, reason=reason)


def _made_up_for(plan: Plan, step: Step) -> bool:
    """Whether the step belongs to a loop that was done in the end: a later round has made up for it."""
    loop = None if step.parent is None else plan.step(step.parent)
    if loop is None:
        return False
    return (loop.repeat_until is not None and loop.status == "completed") or _made_up_for(plan, loop)


def _why_left(step: Step) -> tuple[LeftStatus, str] | None:
    """None for a step that is done, or whose condition did not hold: nothing is left to do about it."""
    match step.status:
        case "completed":
            if step.reverted == "whole":
                return "not_made", "its changes were undone"
            why = "its changes were never made, since the plan ended first"
            return ("not_made", why) if step.staged else None
        case "skipped":
            return ("skipped", _why_skipped(step)) if step.skip_reason != "condition" else None
        case "failed":
            decided = f" ({_SKIPPED['policy']})" if step.skip_reason is not None else ""
            return "failed", shortened(_error(step), _REASON) + decided
        case _:
            return "not_run", "the plan ended before it was done"


def _error(step: Step) -> str:
    return (step.result.error if step.result is not None else None) or ""


def _why_skipped(step: Step) -> str:
    if step.skip_reason == "approval_denied":
        return _not_allowed(next((call.why for call in reversed(step.tools_executed) if call.why), None))
    return _SKIPPED.get(step.skip_reason or "user", "skipped")


def _not_allowed(why: str | None) -> str:
    return f"it was not allowed: {shortened(why, _REASON)}" if why else "it was not allowed"
