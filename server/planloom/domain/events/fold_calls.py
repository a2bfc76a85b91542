"""Folds the outcome of each call of a step; everything that asks what a crash or a pause left reads it from here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from planloom.domain.changes import EditedFile, EditRecord
from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import IllegalTransition, updated
from planloom.domain.plans.plan import CommandEnd, ExecutedTool, Fate, OpenCall, Plan, Step
from planloom.domain.safety.approvals import ApprovalFile
from planloom.domain.safety.lexical_paths import normal_path
from planloom.domain.values import StepId, Uri

_CUT_OFF: Final = "Interrupted"
_WAITS: frozenset[Fate] = frozenset({"held", "staged", "doubtful"})
_PATHS_BEFORE: Final[Mapping[str, tuple[str, ...]]] = {
    "write_file": ("path",),
    "edit_file": ("path",),
    "create_folder": ("path",),
    "delete_path": ("path",),
    "rename_path": ("path", "new_path"),
}
"""The paths that the tools of older ledgers changed; their calls name no files."""


def started(plan: Plan, event: ev.ToolStarted) -> Plan:
    """The plan with one more open call."""
    call = OpenCall(
        call_id=event.call_id, step_id=event.task_id, tool=event.tool, args=event.args, effect=event.effect
    )
    return updated(plan, open_calls=(*plan.open_calls, call))


def command_started(plan: Plan, step_id: StepId) -> Plan:
    """The plan after the command of the step's open call was started."""
    calls = tuple(
        call.model_copy(update={"running": True}) if call.step_id == step_id and _is_command(call) else call
        for call in plan.open_calls
    )
    return updated(plan, open_calls=calls)


def completed(plan: Plan, event: ev.ToolCompleted) -> Plan:
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
        tool=call.tool,
        args=call.args,
        ok=event.ok,
        deduplicated=event.deduplicated,
        summary=event.summary,
        duration_ms=event.duration_ms,
        files={**dict.fromkeys(event.same, "same"), **dict.fromkeys(event.changes, "held")},
        command=event.command,
        why=call.why if event.command == "denied" else None,
    )
    if call.effect is None:
        executed = _before(closed_call, step, executed)
    if event.replaces:
        step = _replaced(step, event.replaces, event.changes, "held")
    return _put(closed_call, step, updated(step, tools_executed=(*step.tools_executed, executed)))


def closed(plan: Plan, step_id: StepId) -> Plan:
    """The plan after a run of the step: its open calls are closed, and changes that only the run had staged are lost.

    Files of an edit whose outcome is not recorded yet keep their fate until they have been compared.
    """
    step = plan.step(step_id)
    if step is None:
        return plan
    left = tuple(call for call in plan.open_calls if call.step_id != step_id)
    cut_off = [
        executed
        for call in plan.open_calls
        if call.step_id == step_id and (executed := _cut_off(plan, step, call)) is not None
    ]
    if len(left) != len(plan.open_calls):
        plan = updated(plan, open_calls=left)
    if cut_off:
        step = updated(step, tools_executed=(*step.tools_executed, *cut_off))
    meant = _places(
        file for edit in plan.edits_of(step_id) if edit.state == "intended" for file in edit.files
    )
    return _put(
        plan,
        step,
        _refated(step, lambda uri, fate: "lost" if fate == "held" and not _is_one_of(uri, meant) else fate),
    )


def held_became(plan: Plan, event: ev.TaskUpdate) -> Plan:
    """The plan after the fate of the changes that the step had staged became known."""
    fate = event.held
    step = plan.step(event.task_id)
    if fate is None or step is None:
        return plan
    if event.replaces:
        mine = {uri for call in step.tools_executed for uri, each in call.files.items() if each == "held"}
        theirs = tuple(Uri(uri) for uri in mine if uri not in event.replaces)
        for each in tuple(plan.steps):
            plan = _put(plan, each, _replaced(each, event.replaces, theirs, "staged"))
        step = _replaced(plan.step(event.task_id) or step, event.replaces, (), "held")
    return _put(
        plan,
        plan.step(event.task_id) or step,
        _refated(
            step,
            lambda uri, each: (
                fate
                if (each == "held" and not event.files) or (each in ("held", "staged") and uri in event.files)
                else each
            ),
            event.reason,
        ),
    )


def believed(plan: Plan, step_id: StepId) -> Plan:
    """The plan after a step was done: a doubtful file that it has not changed again was looked at and left so."""
    step = plan.step(step_id)
    if step is None or not step.is_doubtful:
        return plan
    last = {uri: fate for call in step.tools_executed for uri, fate in call.files.items()}
    now = _refated(step, lambda uri, fate: "same" if fate == "doubtful" and last[uri] == "doubtful" else fate)
    return _put(plan, step, now)


def staged_became(plan: Plan, step_id: StepId, fate: Fate, why: str | None = None) -> Plan:
    """The plan after what still waited of a step that does not run any more came to its end."""
    step = plan.step(step_id)
    if step is None:
        return plan
    return _put(plan, step, _refated(step, lambda _, each: fate if each in ("held", "staged") else each, why))


def applied(plan: Plan, edit: EditRecord, files: Collection[EditedFile], *, whole: bool) -> Plan:
    """The plan after an edit changed these files. An undo is skipped: the edits that it reverts are folded instead."""
    if edit.reverts:
        return plan
    places = _places(files)
    for step_id in edit.references:
        step = plan.step(step_id)
        if step is None:
            continue
        of_plan = edit.step_id != step_id

        def made(uri: str, fate: Fate, of_plan: bool = of_plan) -> Fate:
            if fate == "held" and of_plan and _names_file(uri):
                # The running step has gone on since it handed over what the plan has made now.
                return fate
            is_made = _is_one_of(uri, places) or (of_plan and whole and not _names_file(uri))
            return "made" if fate in _WAITS and is_made else fate

        plan = _put(plan, step, _refated(step, made))
    return plan


def rejected(plan: Plan, edit: EditRecord, event: ev.EditRejected) -> Plan:
    """The plan after an edit was rejected: its changes stay staged, except in files where the outcome is unknown."""
    doubtful = {str(uri) for uri in event.doubtful}
    for step_id in edit.references if doubtful and not edit.reverts else ():
        step = plan.step(step_id)
        if step is not None:
            now = _refated(
                step,
                lambda uri, fate: "doubtful" if fate in _WAITS and _is_one_of(uri, doubtful) else fate,
                event.reason,
            )
            plan = _put(plan, step, now)
    return plan


def reverted(plan: Plan, edit: EditRecord, files: Collection[EditedFile], *, back: bool) -> Plan:
    """The plan after an edit was reverted in these files, or, with `back`, redone."""
    places = _places(files)
    before: Fate = "undone" if back else "made"
    after: Fate = "made" if back else "undone"
    for step_id in edit.references:
        step = plan.step(step_id)
        if step is not None:
            now = _refated(
                step, lambda uri, fate: after if fate == before and _is_one_of(uri, places) else fate
            )
            plan = _put(plan, step, now)
    return plan


def decided(plan: Plan, event: ev.ApprovalResolved) -> Plan:
    """The plan after a person's word: what was not allowed will not be made."""
    asked = next((each for each in plan.pending.approvals if each.approval_id == event.approval_id), None)
    if asked is None or event.decision in ("cancel", "superseded"):
        return plan
    if asked.effect == "execute":
        if event.decision != "deny":
            return plan
        calls = tuple(
            call.model_copy(update={"denied": True, "why": event.reason})
            if call.step_id == asked.step_id and _is_command(call)
            else call
            for call in plan.open_calls
        )
        return updated(plan, open_calls=calls)
    kept = {*event.files} if event.files is not None else {file.uri for file in asked.files}
    allowed = set() if event.decision == "deny" else kept
    places = _places(file for file in asked.files if file.uri not in allowed)
    return _denied(plan, asked.step_id, places, event.reason)


def chosen(plan: Plan, event: ev.ConflictResolved) -> Plan:
    """The plan after a conflict was settled: a person who keeps their own text does not allow the step's."""
    places = {str(file.uri) for file in event.files if file.choice == "mine"}
    if not places:
        return plan
    why = "You kept your own text where both had changed it."
    return _denied(_denied(plan, event.task_id, places, why), None, places, why)


def _denied(plan: Plan, step_id: StepId | None, places: Collection[str], why: str | None) -> Plan:
    """Marks the changes of these files as denied: those of one step, or without `step_id` those staged by the plan."""
    if not places:
        return plan
    waits: frozenset[Fate] = frozenset({"staged", "doubtful"} if step_id is None else {"held", "doubtful"})
    steps = tuple(plan.steps) if step_id is None else filter(None, (plan.step(step_id),))
    for step in steps:
        now = _refated(
            step, lambda uri, fate: "denied" if fate in waits and _is_one_of(uri, places) else fate, why
        )
        plan = _put(plan, step, now)
    return plan


def _cut_off(plan: Plan, step: Step, call: OpenCall) -> ExecutedTool | None:
    """A call that is open when its run ends. Only what may have happened is worth a record."""
    executed = ExecutedTool(
        tool=call.tool,
        args=call.args,
        ok=False,
        deduplicated=False,
        summary=_CUT_OFF,
        duration_ms=0,
        why=call.why,
    )
    if _is_command(call):
        if call.denied:
            return executed.model_copy(update={"command": "denied", "summary": call.why or "Not allowed"})
        maybe = call.running or call.effect is None
        return executed.model_copy(update={"command": "cut_off"}) if maybe else None
    edit = _literal_edit(plan, step)
    if call.effect is None and edit is not None:
        # A literal call of an older ledger stood around its edit.
        return _before(plan, step, executed.model_copy(update={"ok": True}))
    return None


def _is_command(call: OpenCall) -> bool:
    return call.effect == "execute" or (call.effect is None and call.tool == "run_command")


def _before(plan: Plan, step: Step, executed: ExecutedTool) -> ExecutedTool:
    """Derives the outcome of a call of an older ledger from its name, arguments and summary."""
    if executed.tool == "run_command":
        end: CommandEnd = "ended" if executed.ok or executed.summary.startswith("`") else "not_run"
        end = "cut_off" if executed.summary == _CUT_OFF else end
        return executed.model_copy(update={"command": end})
    values = [executed.args.get(name) for name in _PATHS_BEFORE.get(executed.tool, ())]
    paths = [normal_path(value) for value in values if isinstance(value, str)]
    if not executed.ok or not paths or executed.deduplicated:
        return executed
    fate: Fate = "same" if executed.summary.endswith(("this content", "already so")) else "held"
    edit = _literal_edit(plan, step)
    if edit is not None and edit.state == "applied":
        fate = "made"
    return executed.model_copy(update={"files": dict.fromkeys(paths, fate)})


def _literal_edit(plan: Plan, step: Step) -> EditRecord | None:
    """The edit of a tool step as its arguments say; in an older ledger its call ends after it."""
    if step.kind != "tool_call":
        return None
    edits = [
        edit
        for edit in plan.edits_of(step.step_id)
        if edit.step_id == step.step_id
        and edit.state in ("intended", "applied")
        and edit.whole
        and not edit.reverts
        and edit.args == step.args
    ]
    return edits[-1] if edits else None


def _replaced(step: Step, gone: Collection[str], files: Iterable[str], fate: Fate) -> Step:
    """The step after a later change replaced earlier staged ones, which are applied together with it."""
    calls = []
    for call in step.tools_executed:
        lost = [uri for uri, each in call.files.items() if each == fate and uri in gone]
        kept = {uri: each for uri, each in call.files.items() if uri not in lost}
        new: dict[str, Fate] = {uri: kept.get(uri, fate) for uri in files} if lost else {}
        calls.append(call.model_copy(update={"files": {**kept, **new}}) if lost else call)
    return _with_calls(step, tuple(calls))


def _refated(step: Step, by: Callable[[str, Fate], Fate], why: str | None = None) -> Step:
    """The step with another fate of some changes, and why."""
    calls = []
    for call in step.tools_executed:
        files = {uri: by(uri, fate) for uri, fate in call.files.items()}
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
    """The step, with whether it is done but for changes that wait: that follows from its calls."""
    staged = step.status == "completed" and any("staged" in call.fates for call in step.tools_executed)
    return step if staged == step.staged else updated(step, staged=staged)


def _put(plan: Plan, before: Step, now: Step) -> Plan:
    """The plan with a changed step in it."""
    now = with_staged(now)
    place = plan.index_of(before.step_id)
    if place is None or plan.steps[place] is now:
        return plan
    return updated(plan, steps=plan.steps.replaced({place: now}))


def _places(files: Iterable[EditedFile | ApprovalFile]) -> frozenset[str]:
    return frozenset(str(uri) for file in files for uri in (file.uri, file.new_uri) if uri is not None)


def _names_file(key: str) -> bool:
    """Whether the key is the URI of a file; older ledgers store the path argument of the call."""
    return "://" in key


def _is_one_of(key: str, places: Collection[str]) -> bool:
    if _names_file(key):
        return key in places
    return any(f"{place}/".endswith(f"/{key.lstrip('/')}/") for place in places)
