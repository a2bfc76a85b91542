"""Describes the earlier runs of a step for its prompts, and finds the files that they failed to change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from planloom.agent.prompts import ToolNote
from planloom.domain.plans.plan import UNMADE, ExecutedTool, Fate, Step
from planloom.workspace.paths.uris import display_name

_READS_TOLD: Final = 10
_ARGS_SHOWN: Final = 200
_ABOUT: Final[dict[Fate, str]] = {
    "same": "already as wanted",
    "held": "not made yet",
    "staged": "kept, and made once the user allows it: do not do it again",
    "made": "made: do not do it again",
    "undone": "made, then taken back by the user: leave it so",
    "denied": "not made, since the user did not allow it",
    "refused": "not made",
    "doubtful": "it cannot be told whether it was made: read the file, and do only what is missing",
    "lost": "not made, since the run was cut off before: do it again if it is still wanted",
}


def earlier_results(step: Step) -> tuple[ToolNote, ...]:
    """The calls of earlier runs of a step for the prompts of this one: every effect, and the last reads.

    What a read has found is not kept, so that the model has to read again.
    """
    reads = [place for place, call in enumerate(step.tools_executed) if not _matters(call)]
    left_out = {*reads[:-_READS_TOLD]}
    return tuple(_note(call) for place, call in enumerate(step.tools_executed) if place not in left_out)


def latest(calls: Iterable[ExecutedTool]) -> dict[str, tuple[Fate, ExecutedTool]]:
    """The latest fate of each file that the calls were meant to change, with the call."""
    found: dict[str, tuple[Fate, ExecutedTool]] = {}
    for call in calls:
        found.update((uri, (fate, call)) for uri, fate in call.files.items())
    return found


def not_made(step: Step) -> dict[str, str]:
    """The files whose changes were lost or refused, by display name, each with the reason."""
    return {
        display_name(uri): call.why or "the run that was to change it was cut off."
        for uri, (fate, call) in latest(step.tools_executed).items()
        if fate in ("lost", "refused")
    }


def _matters(call: ExecutedTool) -> bool:
    return bool(call.files) or call.command is not None


def _note(call: ExecutedTool) -> ToolNote:
    args = json.dumps(call.args, sort_keys=True, ensure_ascii=False)
    shown = args if len(args) <= _ARGS_SHOWN else args[:_ARGS_SHOWN] + "…"
    text = f"Earlier run of this task: {call.summary.rstrip('.')}. {_became(call)}".rstrip()
    return ToolNote(name=call.tool, args=shown, ok=call.stands, text=text)


def _became(call: ExecutedTool) -> str:
    match call.command:
        case "ended":
            return "It ran to its end: do not run it again unless the task needs that."
        case "cut_off":
            return (
                "It was started and cut off, so that it may have run. The user is asked before it runs again."
            )
        case "denied":
            return "The user did not allow it."
        case "not_run":
            return "It was not run."
        case None:
            pass
    if not call.files:
        return "" if not call.ok else "What it found is not kept: call it again if you need it."
    told: dict[Fate, list[str]] = {}
    for uri, fate in call.files.items():
        told.setdefault(fate, []).append(display_name(uri))
    why = f" ({call.why.rstrip('.')})" if call.why and call.fates & {"refused", "denied"} else ""
    return (
        "; ".join(
            f"{', '.join(names)}: {_ABOUT[fate]}{why if fate in UNMADE else ''}"
            for fate, names in told.items()
        )
        + "."
    )
