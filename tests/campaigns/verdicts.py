"""Compares what a run left behind with what it promised: effects, questions, statuses, and the ledger."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from tests.campaigns.desk import Desk
from tests.campaigns.person import Stuck
from tests.campaigns.reports import Report
from tests.campaigns.worlds import Effect, State, World
from tests.support.process_client import Failed, ServerGone

CUT_OFF = "started before"
"""Words of the warning on the question for a command that a crash may have cut off."""
SECOND_TIME = "the same change a second time"
"""Words of the warning on the question for a change of a file that may have been made already."""


@contextmanager
def troubles_blamed(at: Desk, report: Report, doing: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Stand around a run: blame what ends it early, look at its servers, and keep its story if there is trouble.

    `doing` says what was asked of the server when it refused.
    """
    try:
        yield
    except Stuck as stuck:
        report.blame("stuck", str(stuck))
    except Failed as error:
        report.blame("refused", f"{doing()}{error}")
    except ServerGone:
        report.blame("server", "the server died by itself")
    except Exception as error:
        report.blame("rig", repr(error))
    server_sound(at, report)
    if report.troubles:
        at.write_story()


async def all_events(at: Desk) -> list[dict[str, Any]]:
    """Every event that the ledger has of the plan; `at.allowed` keeps the answers that the ledger has taken."""
    found = await at.client.request("planloom/plan/events", {"planId": at.plan_id})
    events: list[dict[str, Any]] = found["events"]
    taken = {
        event["approvalId"]
        for event in events
        if event["type"] == "approval_resolved" and event["decision"] == "allow" and event["by"] == "user"
    }
    at.allowed = {name: approval for name, approval in at.allowed.items() if name in taken}
    return events


def effects_once(at: Desk, report: Report, *, optional: Collection[str] = ()) -> None:
    """Every effect was made exactly once; those of the words in `optional` at most once.

    What a later step has deleted or renamed away is not to be seen any more.
    """
    state, counter, expected = at.state(), at.counter(), at.world.expected()
    for effect in at.world.effects:
        count = effect.made(state, counter)
        if count < _lasting(effect, expected) and effect.token not in at.perished | set(optional):
            report.blame("lost", f"{_named(effect)} was never made")
        not_doubled(at, report, effect, count)


def not_doubled(at: Desk, report: Report, effect: Effect, count: int) -> None:
    """An effect was made once, or again where a person allowed it who was told that it may be a second time."""
    if count > 1 + _warned(at, effect):
        report.blame("doubled", f"{_named(effect)} was made {count} times")


def _lasting(effect: Effect, expected: State) -> bool:
    """Whether the effect is to be seen at the end."""
    return effect.kind == "command" or effect.made(expected, "") > 0


def _named(effect: Effect) -> str:
    return f"{effect.kind} {effect.token} of {effect.step}"


def _warned(at: Desk, effect: Effect) -> int:
    """How often the effect was allowed again by a person who was told that it may have happened already."""
    words = CUT_OFF if effect.kind == "command" else SECOND_TIME
    return sum(
        words in (approval.get("warning") or "")
        for approval in at.allowed.values()
        if _asks_for(approval, effect)
    )


def _asks_for(approval: dict[str, Any], effect: Effect) -> bool:
    if effect.kind == "command":
        return approval["effect"] == "execute" and effect.token in str(approval.get("command"))
    return approval["effect"] == "write" and approval.get("stepId") in (None, effect.step)


def differences(state: State, world: World, without: Collection[str] = ()) -> list[str]:
    """How the workspace differs from the plan's result, but for the steps in `without`, a line each.

    A folder that only held what was moved or deleted again need not be there: a review at the end makes none.
    """
    expected = world.expected(without)
    wanted = [effect.token for effect in world.effects if effect.kind == "folder"]
    found = []
    for name in sorted(state.keys() | expected.keys()):
        if state.get(name, "missing") == expected.get(name, "missing"):
            continue
        needed = name in expected and (
            expected[name] is not None
            or any(f"{each}/".startswith(f"{name}/") for each in wanted)
            or any(each.startswith(f"{name}/") for each in expected)
        )
        if name not in expected:
            found.append(f"{name} should not be there: {state[name]!r:.80}")
        elif name in state:
            found.append(f"{name} is {state[name]!r:.300} instead of {expected[name]!r:.300}")
        elif needed:
            found.append(f"{name} is missing")
    return found


def asked_before(at: Desk, report: Report, events: Collection[dict[str, Any]]) -> None:
    """Nothing was changed or run that the policy asks about, without the person's word before it."""
    review = at.circumstances.review
    asked: list[dict[str, Any]] = []
    for event in events:
        if event["type"] == "approval_resolved" and event["approvalId"] in at.allowed:
            asked.append(at.allowed[event["approvalId"]])
        if event["type"] != "edit_started":
            continue
        for file in event["files"]:
            if review == "auto" and file["change"] != "delete":
                continue
            # An edit of the whole plan names no step.
            step = event.get("taskId") if review == "each" else None
            if event.get("coveredBy") is not None and file["change"] in ("create", "createFolder"):
                continue
            if not any(_covers(approval, file["uri"], step) for approval in asked):
                report.blame(
                    "unasked",
                    f"{file['change']} of {file['uri'].rpartition('/')[2]} in {event.get('taskId')}",
                )
    _gates_held(at, report, events)
    counter = at.counter()
    for effect in at.world.effects:
        if effect.kind == "command":
            ran = counter.split().count(effect.token)
            allowed = sum(_asks_for(approval, effect) for approval in at.allowed.values())
            allowed += sum(
                event["type"] == "task_update"
                and event.get("coveredBy") is not None
                and event["taskId"] == effect.step
                for event in events
            )
            if ran > allowed + at.circumstances.commands_allowed:
                report.blame("unasked", f"{_named(effect)} ran {ran} times, and was allowed {allowed} times")


def _gates_held(at: Desk, report: Report, events: Collection[dict[str, Any]]) -> None:
    """No step behind a gate began before the person's yes, and none that is not needed began its work."""
    passed: set[str] = set()
    for event in events:
        if event["type"] == "approval_resolved" and event["approvalId"] in at.allowed:
            approval = at.allowed[event["approvalId"]]
            passed |= {approval["stepId"]} if approval.get("goesOn") else set()
        if event["type"] == "task_started":
            for gate, behind in at.world.gates.items():
                if behind == event["taskId"] and gate not in passed:
                    report.blame("unasked", f"{behind} began before the yes at {gate}")
        if event["type"] == "tool_started" and event["taskId"] in at.world.not_needed:
            report.blame("unasked", f"{event['taskId']} ran, and its condition does not hold")


def _covers(approval: dict[str, Any], uri: str, step: str | None) -> bool:
    names = {name for file in approval["files"] for name in (file["uri"], file.get("newUri"))}
    # A folder of a new file is made with it, and shown by the file's own path.
    below = any(name is not None and name.startswith(f"{uri}/") for name in names)
    return (uri in names or below) and (step is None or approval.get("stepId") == step)


def statuses_true(at: Desk, report: Report, plan: dict[str, Any], *, all_done: bool) -> None:
    """`completed` only where the effect is there; with `all_done` every step, and the summary says so."""
    state, counter = at.state(), at.counter()
    steps = {step["stepId"]: step["status"] for step in plan["steps"]}
    if all_done:
        if plan["status"] != "completed":
            error = (plan.get("error") or {}).get("message", "")
            report.blame("wrong_status", f"the plan is {plan['status']} {error} with {_failures(plan)}")
        elif {name for name, status in steps.items() if status != "completed"} != at.world.not_needed:
            report.blame("wrong_status", f"the plan is completed with {_failures(plan)}")
        elif not at.world.not_needed and not (plan.get("executionSummary") or "").startswith(
            f"{len(steps)} of {len(steps)} step"
        ):
            report.blame(
                "wrong_status", f"all is done, and the summary says {plan.get('executionSummary')!r}"
            )
    expected = at.world.expected()
    for effect in at.world.effects:
        if effect.token in at.perished or effect.made(state, counter) or not _lasting(effect, expected):
            continue
        if steps.get(effect.step) == "completed":
            report.blame("wrong_status", f"{effect.step} is completed without {_named(effect)}")


def _failures(plan: dict[str, Any]) -> str:
    listed = [
        f"{step['stepId']} {step['status']} ({(step.get('result') or {}).get('error', '')})"
        for step in plan["steps"]
        if step["status"] != "completed"
    ]
    return "; ".join(listed)


def ledger_true(at: Desk, report: Report, events: list[dict[str, Any]]) -> None:
    """`seq` has no gap, and every event that was told is in the ledger as it was told."""
    if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
        report.blame("untold", f"gaps in seq: {[event['seq'] for event in events]}")
    known = {event["seq"]: event for event in events}
    for event in at.told:
        if event["planId"] == at.plan_id and known.get(event["seq"]) != event:
            report.blame("untold", f"told and not in the ledger: {event['seq']} {event['type']}")
            return


def server_sound(at: Desk, report: Report) -> None:
    """No internal error, no answer that nobody asked for, no traceback, no file left half written."""
    for client in at.clients:
        for fault in client.faults():
            report.blame("rig" if "answer of ours" in fault else "server", fault)
        for message in client.sent:
            if (message.get("error") or {}).get("code") == -32603:
                report.blame("server", f"internal error: {message['error'].get('message')}")
    for name in at.left_empty():
        report.blame("state", f"{name} was left empty on disk")
    for name in at.half_written():
        report.blame("state", f"{name} was left behind half written")
    stderr = at.folder / "stderr.log"
    if stderr.exists() and "Traceback" in stderr.read_text(errors="replace"):
        report.blame("server", f"a traceback on stderr: {stderr.read_text(errors='replace')[-300:]}")


def told_truly(at: Desk, report: Report, plan: dict[str, Any], events: list[dict[str, Any]]) -> None:
    """What holds for any editor: nothing doubled or unasked, no line gone, and nothing told as done that is not.

    A step may be completed without its effect only where its edit was told as `unverified`, or where the person has
    kept the user's own text in a conflict.
    """
    state, counter, expected = at.state(), at.counter(), at.world.expected()
    steps = {step["stepId"]: step for step in plan["steps"]}
    # An edit of the whole plan names no step.
    unverified = {
        event.get("taskId", "")
        for event in events
        if (event["type"] == "edit_applied" and event["outcome"] == "unverified")
        or event["type"] == "conflict_resolved"
    }
    failed = {event["taskId"] for event in events if event["type"] == "task_failed" and event["error"]}
    for effect in at.world.effects:
        count = effect.made(state, counter)
        not_doubled(at, report, effect, count)
        told = bool({effect.step, ""} & unverified) or effect.token in at.perished
        if (
            not count
            and _lasting(effect, expected)
            and not told
            and steps.get(effect.step, {}).get("status") == "completed"
        ):
            report.blame("wrong_status", f"{effect.step} is completed without {_named(effect)}")
    for step_id, step in steps.items():
        if step["status"] == "failed" and step_id not in failed:
            report.blame("untold", f"{step_id} failed, and no event says why")
    if not at.threw_away:
        _lines_kept(at, report)
    asked_before(at, report, events)
    ledger_true(at, report, events)


def _lines_kept(at: Desk, report: Report) -> None:
    """Every line that the workspace had is still somewhere, but for those that the plan replaces or deletes."""
    replaced = {effect.old for effect in at.world.effects if effect.kind == "edit"}
    deleted = {effect.source for effect in at.world.effects if effect.kind == "delete"}
    there = "\n".join(text for text in at.state().values() if text is not None)
    for name, text in at.world.files.items():
        if name in deleted:
            continue
        for line in text.split("\n"):
            if line not in replaced and line not in there:
                report.blame("words", f"the line {line!r} of {name} is gone")
                return
