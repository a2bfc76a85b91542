"""Folds the calls of a step and the fates of their changes.

What a crash or a pause left unfinished is read from these records alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from planloom.domain.changes import Cause, EditedFile, EditRecord
from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import IllegalTransition, updated
from planloom.domain.plans.commands import BackgroundCommand, BackgroundEnd, CommandOutcome
from planloom.domain.plans.plan import CommandEnd, ExecutedTool, Fate, OpenCall, Plan, Step
from planloom.domain.safety.approvals import ApprovalFile
from planloom.domain.values import StepId, Uri

_UNSETTLED: frozenset[Fate] = frozenset({"held", "staged", "doubtful"})


def open_call(plan: Plan, event: ev.ToolStarted) -> Plan:
    """The plan with one more open call."""
    call = OpenCall(
        call_id=event.call_id, step_id=event.step_id, tool=event.tool, args=event.args, effect=event.effect
    )
    return updated(plan, open_calls=(*plan.open_calls, call))


def start_command(plan: Plan, event: ev.StepUpdate) -> Plan:
    """The plan after the command of the step's open call has started, and again once its process is known."""
    news: dict[str, object] = {"running": True, "process": event.command_process}
    if event.command_started:
        news["confinement"] = event.command_confinement
    calls = tuple(
        call.model_copy(update=news) if call.step_id == event.step_id and call.effect == "execute" else call
        for call in plan.open_calls
    )
    return updated(plan, open_calls=calls)


def start_background(plan: Plan, event: ev.BackgroundStarted) -> Plan:
    """The plan after the command of the step's open call has begun to run in the background."""
    command = BackgroundCommand(
        command_id=event.command_id, command=event.command, pid=event.pid, process=event.process
    )
    calls = tuple(
        call.model_copy(update={"background": command})
        if call.step_id == event.step_id and call.running
        else call
        for call in plan.open_calls
    )
    return updated(plan, open_calls=calls)


def end_background(plan: Plan, event: ev.BackgroundEnded) -> Plan:
    """The plan after a background command has ended. Nothing changes if its step was removed meanwhile."""
    end = BackgroundEnd(reason=event.reason, exit_code=event.exit_code, line=event.line)

    def ended(command: BackgroundCommand | None) -> BackgroundCommand | None:
        """The command with its end, if it is the one that has ended."""
        is_it = command is not None and command.command_id == event.command_id
        return command.model_copy(update={"end": end}) if command is not None and is_it else None

    opened = tuple(
        call.model_copy(update={"background": now}) if (now := ended(call.background)) else call
        for call in plan.open_calls
    )
    plan = updated(plan, open_calls=opened)
    step = plan.step(event.step_id)
    if step is None:
        return plan
    calls = tuple(
        _in_background(call, now) if (now := ended(call.background)) else call for call in step.tools_executed
    )
    return _with_step(plan, step, _with_calls(step, calls))


def _in_background(call: ExecutedTool, command: BackgroundCommand | None) -> ExecutedTool:
    """The call that has started this command. Once the command has ended, its end is that of the call."""
    call = call.model_copy(update={"background": command})
    if command is None or command.end is None:
        return call
    outcome = CommandOutcome(exit_code=command.end.exit_code, line=command.end.line)
    how: CommandEnd = "cut_off" if command.end.reason == "crash" else "ended"
    return call.model_copy(update={"command": how, "outcome": outcome})


def complete_call(plan: Plan, event: ev.ToolCompleted) -> Plan:
    """The plan after a call has settled. Raises IllegalTransition if it never started."""
    call = next((each for each in plan.open_calls if each.call_id == event.call_id), None)
    if call is None:
        raise IllegalTransition(f"call {event.call_id} settled but never started")
    closed_call = updated(
        plan, open_calls=tuple(each for each in plan.open_calls if each.call_id != event.call_id)
    )
    step = plan.step(call.step_id)
    if step is None:
        return closed_call
    executed = ExecutedTool(
        call_id=call.call_id,
        tool=call.tool,
        args=call.args,
        ok=event.ok,
        deduplicated=event.deduplicated,
        summary=event.summary,
        duration_ms=event.duration_ms,
        files={**dict.fromkeys(event.same, "same"), **dict.fromkeys(event.changes, "held")},
        command=event.command,
        outcome=event.outcome,
        output=event.output,
        confinement=call.confinement,
        why=call.why if event.command == "denied" else None,
    )
    if call.background is not None:
        executed = _in_background(executed, call.background)
    if event.replaces:
        step = _without_replaced(step, event.replaces, event.changes, "held")
    return _with_step(closed_call, step, updated(step, tools_executed=(*step.tools_executed, executed)))


def close_run(plan: Plan, step_id: StepId) -> Plan:
    """The plan after a run of the step has ended: its open calls are closed, and the changes it held are lost.

    Files of an edit without a recorded outcome keep their fate until their texts have been compared.
    """
    step = plan.step(step_id)
    if step is None:
        return plan
    others = tuple(call for call in plan.open_calls if call.step_id != step_id)
    cut_off = [
        executed
        for call in plan.open_calls
        if call.step_id == step_id and (executed := _interrupted(call)) is not None
    ]
    if len(others) != len(plan.open_calls):
        plan = updated(plan, open_calls=others)
    if cut_off:
        step = updated(step, tools_executed=(*step.tools_executed, *cut_off))
    meant = _uris(file for edit in plan.edits_of(step_id) if edit.state == "intended" for file in edit.files)
    return _with_step(
        plan,
        step,
        _with_fates(step, lambda _, uri, fate: "lost" if fate == "held" and uri not in meant else fate),
    )


def settle_held(plan: Plan, event: ev.StepUpdate) -> Plan:
    """The plan after the changes that the running step held got the fate `event.held`.

    What is refused while an earlier change of the step to the same file is in doubt is in doubt with it.
    """
    fate = event.held
    step = plan.step(event.step_id)
    if fate is None or step is None:
        return plan
    in_doubt = step.in_doubt if fate == "refused" else ()

    def settled(uri: str, each: Fate) -> Fate:
        if (each == "held" and not event.files) or (each in ("held", "staged") and uri in event.files):
            return "doubtful" if uri in in_doubt else fate
        return each

    if event.replaces:
        mine = {uri for call in step.tools_executed for uri, each in call.files.items() if each == "held"}
        theirs = tuple(Uri(uri) for uri in mine if uri not in event.replaces)
        for each in tuple(plan.steps):
            plan = _with_step(plan, each, _without_replaced(each, event.replaces, theirs, "staged"))
        step = _without_replaced(plan.step(event.step_id) or step, event.replaces, (), "held")
    return _with_step(
        plan,
        plan.step(event.step_id) or step,
        _with_fates(step, lambda _, uri, each: settled(uri, each), event.reason),
    )


def accept_doubtful(plan: Plan, step_id: StepId) -> Plan:
    """The plan after a step has completed: it has left its doubtful files unchanged, so they count as right."""
    step = plan.step(step_id)
    if step is None or not step.is_doubtful:
        return plan
    last = {uri: fate for call in step.tools_executed for uri, fate in call.files.items()}
    now = _with_fates(
        step, lambda _, uri, fate: "same" if fate == "doubtful" and last[uri] == "doubtful" else fate
    )
    return _with_step(plan, step, now)


def settle_staged(plan: Plan, step_id: StepId, fate: Fate) -> Plan:
    """The plan after the staged changes of a step that no longer runs got their final fate."""
    step = plan.step(step_id)
    if step is None:
        return plan
    return _with_step(
        plan, step, _with_fates(step, lambda _, __, each: fate if each in ("held", "staged") else each)
    )


def fold_applied(plan: Plan, edit: EditRecord, files: Collection[EditedFile]) -> Plan:
    """The plan after an edit changed these files. An undo is skipped: the edits that it reverts are folded instead."""
    if edit.reverts:
        return plan
    is_of = _calls_of(files)
    unmade = _without_new_text(edit, files)
    for step_id in edit.references:
        step = plan.step(step_id)
        if step is None:
            continue
        of_plan = edit.step_id != step_id

        def made(call: ExecutedTool, uri: str, fate: Fate, of_plan: bool = of_plan) -> Fate:
            if fate == "held" and of_plan:
                # The step has changed the file again since it staged the text that was applied now.
                return fate
            if uri in unmade and call.tool != "rename_path":
                return fate
            return "made" if fate in _UNSETTLED and is_of(call, uri, fate) else fate

        plan = _with_step(plan, step, _with_fates(step, made))
    return plan


def _without_new_text(edit: EditRecord, files: Collection[EditedFile]) -> frozenset[str]:
    """In an edit of an older ledger, the files that were not changed, and those that were only renamed and lack their
    new text: of them only the calls that renamed them are made. Each is named by every URI that it has had.
    """
    found = _uris(file for file in edit.files if file not in files and not file.causes)
    renames = [file for file in files if file.change == "rename"]
    while more := {file.uri for file in renames if str(file.new_uri) in found} - found:
        found |= more
    return found


def fold_rejected(plan: Plan, edit: EditRecord, event: ev.EditRejected) -> Plan:
    """The plan after an edit was rejected: its changes stay staged, except in files where the outcome is unknown.

    An edit gets a second outcome when its files are compared again: what is not in doubt any more was refused.
    """
    doubtful = {str(uri) for uri in event.doubtful}
    refused = _uris(event.files) - doubtful if edit.state != "intended" else set()
    is_of = _calls_of(event.files)

    def fate_of(call: ExecutedTool, uri: str, fate: Fate) -> Fate:
        if not is_of(call, uri, fate):
            return fate
        if fate in _UNSETTLED and uri in doubtful:
            return "doubtful"
        return "refused" if fate == "doubtful" and uri in refused else fate

    for step_id in edit.references if (doubtful or refused) and not edit.reverts else ():
        step = plan.step(step_id)
        if step is not None:
            plan = _with_step(plan, step, _with_fates(step, fate_of, event.reason))
    return plan


class Reverted(NamedTuple):
    """The files in which an edit was reverted, or, with `back`, redone."""

    edit: EditRecord
    files: Collection[EditedFile]
    back: bool


def fold_reverted(plan: Plan, reverted: Iterable[Reverted]) -> Plan:
    """The plan after edits were reverted or redone."""
    steps: dict[int, Step] = {}
    for edit, files, back in reverted:
        fate_by = _reverted_fate(files, back=back)
        for step_id in edit.references if files else ():
            if (index := plan.index_of(step_id)) is not None:
                steps[index] = with_staged(_with_fates(steps.get(index, plan.steps[index]), fate_by))
    changed = {index: step for index, step in steps.items() if step is not plan.steps[index]}
    return updated(plan, steps=plan.steps.replaced(changed)) if changed else plan


def _reverted_fate(files: Collection[EditedFile], *, back: bool) -> Callable[[ExecutedTool, str, Fate], Fate]:
    is_of = _calls_of(files)
    before: Fate = "undone" if back else "made"
    after: Fate = "made" if back else "undone"
    return lambda call, uri, fate: after if fate == before and is_of(call, uri, fate) else fate


def fold_approval(plan: Plan, event: ev.ApprovalResolved) -> Plan:
    """The plan after a decision on an approval: changes that are not allowed become denied."""
    approval = next((each for each in plan.pending.approvals if each.approval_id == event.approval_id), None)
    if approval is None or event.decision in ("cancel", "superseded"):
        return plan
    if approval.effect == "execute":
        if event.decision != "deny" or (approval.listed is not None and approval.listed.position > 1):
            return plan
        calls = tuple(
            call.model_copy(update={"denied": True, "why": event.reason})
            if call.step_id == approval.step_id and call.effect == "execute"
            else call
            for call in plan.open_calls
        )
        return updated(plan, open_calls=calls)
    covered = {*event.files} if event.files is not None else {file.uri for file in approval.files}
    allowed = set() if event.decision == "deny" else covered
    uris = _uris(file for file in approval.files if file.uri not in allowed)
    return _deny(plan, approval.step_id, uris, event.reason)


def fold_conflict(plan: Plan, event: ev.ConflictResolved) -> Plan:
    """The plan after a conflict was resolved: where the user kept their own text, the step's change is denied."""
    uris = {str(file.uri) for file in event.files if file.choice == "mine"}
    if not uris:
        return plan
    why = "The user kept their own text where both had changed it."
    return _deny(_deny(plan, event.step_id, uris, why), None, uris, why)


def _deny(plan: Plan, step_id: StepId | None, uris: Collection[str], why: str | None) -> Plan:
    """Mark the changes of these files as denied: those of one step, or without `step_id` those staged by the plan."""
    if not uris:
        return plan
    waits: frozenset[Fate] = frozenset({"staged", "doubtful"} if step_id is None else {"held", "doubtful"})
    steps = tuple(plan.steps) if step_id is None else filter(None, (plan.step(step_id),))
    for step in steps:
        now = _with_fates(step, lambda _, uri, fate: "denied" if fate in waits and uri in uris else fate, why)
        plan = _with_step(plan, step, now)
    return plan


def _interrupted(call: OpenCall) -> ExecutedTool | None:
    """The record of a call that was open when its run ended; None if it cannot have had an effect."""
    if not (call.denied or call.running):
        return None
    if call.background is not None:
        # The command runs on, whatever becomes of the call that has started it.
        begun = ExecutedTool(
            call_id=call.call_id,
            tool=call.tool,
            args=call.args,
            ok=True,
            deduplicated=False,
            summary=f"`{call.background.command}` was started in the background",
            duration_ms=0,
            command="background",
            confinement=call.confinement,
        )
        return _in_background(begun, call.background)
    return ExecutedTool(
        call_id=call.call_id,
        tool=call.tool,
        args=call.args,
        ok=False,
        deduplicated=False,
        summary=(call.why or "Not allowed") if call.denied else "Interrupted",
        duration_ms=0,
        command="denied" if call.denied else "cut_off",
        process=call.process,
        confinement=call.confinement,
        why=call.why,
    )


def _without_replaced(step: Step, replaced_uris: Collection[str], files: Iterable[str], fate: Fate) -> Step:
    """The step after a later change of the same fate replaced those to `replaced_uris` by one to `files`."""
    calls = []
    for call in step.tools_executed:
        lost = [uri for uri, each in call.files.items() if each == fate and uri in replaced_uris]
        covered = {uri: each for uri, each in call.files.items() if uri not in lost}
        new: dict[str, Fate] = {uri: covered.get(uri, fate) for uri in files} if lost else {}
        calls.append(call.model_copy(update={"files": {**covered, **new}}) if lost else call)
    return _with_calls(step, tuple(calls))


def _with_fates(step: Step, by: Callable[[ExecutedTool, str, Fate], Fate], why: str | None = None) -> Step:
    """The step with each fate replaced by `by(call, uri, fate)`; `why` is the reason for those that change."""
    calls = []
    for call in step.tools_executed:
        files = {uri: by(call, uri, fate) for uri, fate in call.files.items()}
        now = call
        if files != call.files:
            now = call.model_copy(update={"files": files, "why": why})
        calls.append(now)
    return _with_calls(step, tuple(calls))


def _with_calls(step: Step, calls: tuple[ExecutedTool, ...]) -> Step:
    if all(now is before for now, before in zip(calls, step.tools_executed, strict=True)):
        return step
    return updated(step, tools_executed=calls)


def with_staged(step: Step) -> Step:
    """The step with `staged` computed from its calls: it is done, but for staged changes."""
    staged = step.status == "completed" and any("staged" in call.fates for call in step.tools_executed)
    return step if staged == step.staged else updated(step, staged=staged)


def _with_step(plan: Plan, before: Step, now: Step) -> Plan:
    """The plan with `now` in place of `before`."""
    now = with_staged(now)
    index = plan.index_of(before.step_id)
    if index is None or plan.steps[index] is now:
        return plan
    return updated(plan, steps=plan.steps.replaced({index: now}))


def _calls_of(files: Iterable[EditedFile]) -> Callable[[ExecutedTool, str, Fate], bool]:
    """Whether one of these files is the change of a call to a URI.

    Files of older ledgers are those of all calls. What is in doubt is the same change, tried again.
    """
    causes: dict[str, set[Cause] | None] = {}
    for file in files:
        for uri in file.uris:
            known = causes.get(uri, set())
            causes[uri] = None if known is None or not file.causes else {*known, *file.causes}

    def is_of(call: ExecutedTool, uri: str, fate: Fate) -> bool:
        found = causes.get(uri, set())
        return found is None or call.call_id in found or (fate == "doubtful" and uri in causes)

    return is_of


def _uris(files: Iterable[EditedFile | ApprovalFile]) -> frozenset[str]:
    return frozenset(str(uri) for file in files for uri in file.uris)
