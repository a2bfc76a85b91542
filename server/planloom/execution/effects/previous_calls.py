"""Describes the calls of a step's earlier runs for its prompts, and finds the changes that were not made."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from planloom.agent.prompts import CallFate, ToolNote
from planloom.domain.plans.plan import UNMADE, ExecutedTool, Fate, Plan, Step
from planloom.domain.values import CallId, Uri
from planloom.execution.summary import name_now
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.uris import shown_in

_MOST_READS: Final = 10
_NOT_MADE: Final = ("lost", "refused")
_LISTED: Final = 20
_ARGS_SHOWN: Final = 200
_OUTPUT_LOST: Final = " What it printed is lost, except for this line."
_FATE_TEXTS: Final[dict[Fate, str]] = {
    "same": "already as wanted",
    "held": "not made yet",
    "staged": "staged, and made once the user allows it: do not do it again",
    "made": "made: do not do it again",
    "undone": "made, then undone by the user: leave it so",
    "denied": "not made, since the user did not allow it",
    "refused": "not made",
    "doubtful": "it is unknown whether it was made: read the file, and do only what is missing",
    "lost": "not made, since the run was interrupted: do it again if it is still wanted",
}


def earlier_results(plan: Plan, step: Step, *, with_output: bool = True) -> tuple[ToolNote, ...]:
    """The calls of a step's earlier runs for its prompts: all that have an effect, and the last reads.

    The results of reads are not stored, so the model has to read again. The output of a command is shown if
    `with_output`, except that of the step's own literal call, which has a section of its own.
    """
    reads = [index for index, call in enumerate(step.tools_executed) if not _has_effect(call)]
    left_out = {*reads[:-_MOST_READS]}
    return tuple(
        _note(plan, call, with_output=with_output and (call.tool, call.args) != (step.tool, step.args))
        for index, call in enumerate(step.tools_executed)
        if index not in left_out
    )


def call_fate(plan: Plan, step: Step, call_id: CallId) -> CallFate:
    """The fate of the changes of a call of the running step; nothing is said of changes that were made."""
    call = next((each for each in reversed(step.tools_executed) if each.call_id == call_id), None)
    if call is None or not call.fates - {"made", "same"}:
        return CallFate()
    if not call.fates - {"held", "staged", "same"}:
        return CallFate(said="Staged: ")
    return CallFate(stands=call.stands, said=f"{_outcome(plan, call)} The call's result was: ")


def changed_so_far(plan: Plan, step: Step) -> str:
    """A sentence that names the files that the step has changed, made or staged."""
    fates = latest_fates(step.tools_executed).items()
    names = [shown_in(uri, plan.workspace_folders) for uri, (fate, _) in fates if fate in ("made", "staged")]
    return f"Changed so far: {listed(names, _LISTED)}." if names else "It has changed no file yet."


def latest_fates(calls: Iterable[ExecutedTool]) -> dict[str, tuple[Fate, ExecutedTool]]:
    """By URI, the latest fate of each file that the calls were to change, with the call."""
    found: dict[str, tuple[Fate, ExecutedTool]] = {}
    for call in calls:
        found.update((uri, (fate, call)) for uri, fate in call.files.items())
    return found


def not_made(plan: Plan, step: Step) -> dict[str, str]:
    """The files whose changes were lost or refused, by path, each with the reason.

    The change of a file that the plan has renamed since can only be made under the new name, and counts as made there.
    """
    fates = latest_fates(step.tools_executed)
    found: dict[str, str] = {}
    for uri, (fate, call) in fates.items():
        if fate not in _NOT_MADE:
            continue
        now = name_now(plan, Uri(uri))
        if fates.get(now, (fate, call))[0] in _NOT_MADE:
            found[shown_in(now, plan.workspace_folders)] = (
                call.why or "the run that was to change it was interrupted."
            )
    return found


def _has_effect(call: ExecutedTool) -> bool:
    return bool(call.files) or call.command is not None


def _note(plan: Plan, call: ExecutedTool, *, with_output: bool) -> ToolNote:
    args = json.dumps(call.args, sort_keys=True, ensure_ascii=False)
    shown = args if len(args) <= _ARGS_SHOWN else args[:_ARGS_SHOWN] + "…"
    text = f"Earlier run of this task: {call.summary.rstrip('.')}. {_outcome(plan, call)}".rstrip()
    if with_output and call.command == "ended":
        text += _OUTPUT_LOST if call.output is None else f" What it printed:\n{call.output}"
    return ToolNote(name=call.tool, args=shown, ok=call.stands, text=text)


def _outcome(plan: Plan, call: ExecutedTool) -> str:
    if call.background is not None:
        command = call.background
        if command.end is None:
            return f"It runs in the background as {command.command_id}: do not start it again."
        return f"It ran in the background: {command.state}. Start it again only if the task needs it."
    match call.command:
        case "ended":
            return "It ran to its end: do not run it again unless the task needs that."
        case "cut_off":
            return (
                "It was started and interrupted, so it may have run; what it printed is lost. "
                "The user is asked before it runs again."
            )
        case "denied":
            return "The user did not allow it."
        case "not_run":
            return "It was not run."
        case "background" | None:
            pass
    if not call.files:
        return "" if not call.ok else "Its result is not stored: call it again if you need it."
    names_by_fate: dict[Fate, list[str]] = {}
    for uri, fate in call.files.items():
        names_by_fate.setdefault(fate, []).append(shown_in(uri, plan.workspace_folders))
    why = f" ({call.why.rstrip('.')})" if call.why and call.fates & {"refused", "denied"} else ""
    texts = {fate: f"{_FATE_TEXTS[fate]}{why if fate in UNMADE else ''}" for fate in names_by_fate}
    if len(texts) == 1:
        (text,) = texts.values()
        return f"{text[:1].upper()}{text[1:]}."
    return "; ".join(f"{', '.join(names)}: {texts[fate]}" for fate, names in names_by_fate.items()) + "."
