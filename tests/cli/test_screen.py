"""One line for each thing that happens, and nothing for what a person need not know."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from planloom.cli.terminal.screen import Screen
from planloom.cli.terminal.show import problems
from tests.support.fake_server import view_of
from tests.support.scripts import plan, step

STEPS = [step(1, "Create x"), step(2, "Think", kind="processing")]
TOLD: list[tuple[dict[str, Any], str]] = [
    (
        {"type": "task_completed", "taskId": "s1", "result": {"summary": "Created x.", "durationMs": 5}},
        "✔ 1 Create x 7 ms",
    ),
    (
        {"type": "task_completed", "taskId": "s1", "result": {"summary": "Found 3 of them", "durationMs": 5}},
        "✔ 1 Create x 7 ms Found 3 of them",
    ),
    (
        {"type": "task_failed", "taskId": "s1", "error": "No.", "willRetry": True},
        "✘ 1 Create x 7 ms No. It is tried again.",
    ),
    (
        {"type": "task_failed", "taskId": "s1", "error": "No.", "willRetry": False},
        "✘ 1 Create x failed 7 ms No.",
    ),
    (
        {"type": "task_skipped", "taskId": "s1", "reason": "dependency_failed"},
        "– 1 Create x skipped 7 ms a step it depends on did not finish",
    ),
    ({"type": "tool_completed", "taskId": "s2", "ok": True, "summary": "Read a.py"}, "· Read a.py"),
    ({"type": "tool_completed", "taskId": "s1", "ok": True, "summary": "Read a.py"}, ""),
    ({"type": "tool_completed", "taskId": "s2", "ok": False, "summary": "No such file"}, "✘ No such file"),
    (
        {"type": "edit_applied", "taskId": "s1", "merged": True, "files": []},
        "merged with what changed meanwhile",
    ),
    ({"type": "edit_applied", "taskId": "s1", "merged": False, "files": []}, ""),
    ({"type": "edit_rejected", "taskId": "s1", "reason": "The client said no."}, "! The client said no."),
    (
        {"type": "check_completed", "taskId": "s1", "check": {"outcome": "failed", "detail": "no such file"}},
        "✘ check: no such file",
    ),
    ({"type": "check_completed", "taskId": "s1", "check": {"outcome": "passed"}}, ""),
    ({"type": "answer", "taskId": "s2", "text": "It is **bold**."}, "It is **bold**."),
    (
        {"type": "approval_resolved", "approvalId": "a", "decision": "superseded", "by": "server"},
        "superseded: by the server",
    ),
    ({"type": "approval_resolved", "approvalId": "a", "decision": "allow", "by": "user"}, ""),
    (
        {"type": "perspective_complete", "agent": "devo", "perspective": {"analysis": "Fine."}},
        "Operations: Fine.",
    ),
    ({"type": "perspective_complete", "agent": "devo", "error": "It broke."}, "Operations: It broke."),
    (
        {"type": "plan_routed", "route": "direct", "detection": {"rule": "model"}},
        "It goes ahead, unless the model submits a plan.",
    ),
    (
        {"type": "plan_routed", "route": "plan", "detection": {"rule": "unsure"}},
        "No model has decided, so it is planned: maybe more than one small task.",
    ),
    ({"type": "plan_paused", "reason": "user"}, "Paused by you."),
    ({"type": "plan_edited", "plan": {"status": "pending_approval"}}, ""),
    (
        {"type": "plan_edited", "plan": {"status": "executing"}},
        "A step changed the rest of the plan: it has 2 steps now.",
    ),
    (
        {"type": "steps_unrolled", "taskId": "s1", "tasks": [*STEPS, {**step(3, "One"), "parent": "s1"}]},
        "1 Create x: 1 step",
    ),
    (
        {"type": "log", "level": "warning", "message": "Disk\x1b[2J nearly full"},
        "Disk<U+001B>[2J nearly full",
    ),
    ({"type": "context_compacted", "beforeTokens": 1}, ""),
    ({"type": "from_the_future", "taskId": "s1", "anything": {}}, ""),
    ({"type": "task_completed", "taskId": "unknown"}, ""),
]


SIGNS = {"task_completed": "completed", "task_failed": "failed", "task_skipped": "skipped"}
DRAFTED = {
    "perspectives": [{"agent": "devo", "name": "Operations"}],
    "pause": "Paused by you.",
}


def of(now: dict[str, Any]) -> Any:
    """The view of a plan."""
    return view_of(now)


def after(event: dict[str, Any]) -> Any:
    """The view of a plan of two steps after an event."""
    now: Any = of(plan(STEPS)) | DRAFTED
    sign = "ready" if event.get("willRetry") else SIGNS.get(event["type"], "ready")
    more = {"workedMs": 7, "skipped": "a step it depends on did not finish"}
    now["steps"] = [each | more | {"sign": sign, "words": sign} for each in now["steps"]]
    return now


def screen(*, terminal: bool = False) -> tuple[Screen, StringIO]:
    out = StringIO()
    console = Console(file=out, width=100, force_terminal=terminal, no_color=True, markup=False, emoji=False)
    return Screen(console, [Path("/w")]), out


@pytest.mark.parametrize(("event", "told"), TOLD)
def test_what_an_event_prints(event: dict[str, Any], told: str) -> None:
    at, out = screen()
    at.event(event, after(event))
    assert " ".join(out.getvalue().split()) == told


def test_an_answer_in_markdown_is_rendered_at_a_terminal_alone_with_the_targets_of_its_links() -> None:
    event = {"type": "answer", "taskId": "s2", "text": "It is **bold**: [here](https://a.example)."}
    told = {}
    for terminal in (True, False):
        at, out = screen(terminal=terminal)
        at.event(event, of(plan(STEPS)))
        told[terminal] = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).strip()
    assert told == {True: "It is bold: here (https://a.example).", False: event["text"]}


def test_running_text_is_shown_beside_its_step_and_goes_with_it() -> None:
    at, out = screen(terminal=True)
    now = of(plan(STEPS))
    at.stream({"stepId": "s2", "kind": "text", "delta": "too early"})
    at.event({"type": "task_started", "taskId": "s2"}, now)
    at.event({"type": "task_update", "taskId": "s2", "status": "running", "progress": 50, "attempt": 2}, now)
    at.stream({"stepId": "s2", "kind": "text", "delta": "the sea"})
    ended = {"type": "task_completed", "taskId": "s2", "result": {}}
    at.event(ended, after(ended))
    at.pause()
    assert "too early" not in out.getvalue()
    assert "Think · 50 % · attempt 2" in out.getvalue()
    assert "✔" in out.getvalue()


def test_the_words_of_a_model_between_its_calls_stay_on_the_screen() -> None:
    at, out = screen()
    now = of(plan(STEPS))

    def says(text: str, event: dict[str, Any]) -> None:
        at.stream({"stepId": "s2", "kind": "text", "delta": text[:9]})
        at.stream({"stepId": "s2", "kind": "text", "delta": text[9:]})
        at.event({"taskId": "s2", **event}, now)

    says("The sum is cut:\nit skips the last.", {"type": "tool_started", "tool": "edit_file"})
    at.stream({"stepId": "s2", "kind": "stdout", "delta": "3 passed"})
    says("", {"type": "tool_completed", "ok": True, "summary": "Edited a.py"})
    says("All is done.", {"type": "answer", "text": "All is done.\n"})
    said = " ".join(out.getvalue().split())
    assert said == "The sum is cut: it skips the last. · Edited a.py All is done."


def test_the_route_that_the_user_has_chosen_needs_no_reason() -> None:
    at, out = screen()
    created: Any = {
        "plan": {"route": "direct", "planId": "p"},
        "detection": {"planned": False, "rule": "none"},
    }
    at.request_created(created, asked=True)
    assert out.getvalue().strip() == "Goes ahead without a plan."


def test_a_plan_under_review_names_its_model_and_what_it_has_used() -> None:
    at, out = screen()
    used = {"used": "m1 · 1.2k tokens · 2 requests", "usedLines": ["Tokens", "1.2k tokens read, 30 written"]}
    at.plan(of(plan(STEPS)) | used)
    told = " ".join(out.getvalue().split())
    assert "Used: m1 · 1.2k tokens · 2 requests 1.2k tokens read, 30 written" in told


def test_what_a_call_has_printed_does_not_stay_when_it_has_ended() -> None:
    at, out = screen(terminal=True)
    now = of(plan(STEPS))
    at.event({"type": "task_started", "taskId": "s2"}, now)
    at.event({"type": "tool_started", "taskId": "s2", "tool": "run_command"}, now)
    at.stream({"stepId": "s2", "kind": "output", "delta": "906 passed"})
    before = len(out.getvalue())
    at.event({"type": "tool_completed", "taskId": "s2", "ok": True, "summary": "It ended."}, now)
    at.stream({"stepId": "s2", "kind": "text", "delta": "I look at it."})
    at.pause()
    since = out.getvalue()[before:]
    assert "I look at it." in since and "906 passed" not in since and "run_command" not in since


def test_nothing_moves_without_a_terminal() -> None:
    at, out = screen()
    at.event({"type": "task_started", "taskId": "s2"}, of(plan(STEPS)))
    at.stream({"stepId": "s2", "delta": "x"})
    assert out.getvalue() == ""


def test_the_end_tells_why_and_what_is_different() -> None:
    at, out = screen()
    error = {"code": "x", "message": "It broke.", "hint": "Mend it."}
    ended = of(plan(STEPS, status="failed", error=error, executionSummary="1 of 3 steps done."))
    ended |= {"progress": {"total": 3, "completed": 1}, "files": [changed("a")]}
    at.ended(ended)
    told = " ".join(out.getvalue().split())
    assert told == ("✘ Failed. 1 of 3 steps done. 1 of 3 steps done. It broke. Mend it. Changed └── a edited")


def changed(name: str, change: str = "edit", kind: str = "edited") -> dict[str, Any]:
    uri = f"file:///w/{name}"
    more = {"state": "applied", "words": "", "byCommand": False, "lasting": False}
    return {"uri": uri, "change": change, "kind": kind, **more}


REPORT: dict[str, Any] = {
    "done": [
        {"stepId": "s1", "description": "Create x", "summary": "Created x."},
        {"stepId": "s2", "description": "Think", "summary": "It must be 3."},
    ],
    "files": [
        {"uri": "file:///w/a.py", "change": "edit", "added": 3, "removed": 1},
        {"uri": "file:///w/new.py", "change": "create", "added": 9, "removed": 0},
    ],
    "commands": [
        {"command": "pytest -q", "exitCode": 0, "outcome": "81 passed in 2.10s", "runs": 2},
        {"command": "ruff check", "exitCode": 1, "outcome": "Found 2 errors.", "runs": 1},
        {"command": "serve", "outcome": "it was ended after 120 seconds", "runs": 1},
    ],
    "left": [],
    "notAllowed": [],
    "closing": "All **tests** pass.",
    "answered": False,
}
LEFT = [{"stepId": "s2", "number": 2, "description": "Think", "why": "skipped by you"}]
FIRST = REPORT["done"][0]
FILES = {"files": [changed("a.py"), changed("new.py", "create", "new file")]}
REPORTS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (
        "completed",
        {},
        FILES | {"progress": {"total": 2, "completed": 2}},
        "✔ Done. 2 of 2 steps done. All **tests** pass. ✔ 1 Create x ✔ 2 Think It must be 3. "
        "Changed ├── a.py edited +3 −1 └── new.py new file +9 "
        "Commands ✔ pytest -q 81 passed in 2.10s run 2 times ✘ ruff check exit code 1: Found 2 errors. "
        "– serve it was ended after 120 seconds All changes: planloom diff p",
    ),
    (
        "completed",
        {"done": [FIRST], "files": [], "commands": [], "closing": None},
        {"sign": "partly", "partly": True, "state": "Partly done, 1 of 2", "left": LEFT},
        "! Partly done, 1 of 2. Not done ✔ 2 Think skipped by you",
    ),
    (
        "cancelled",
        {"done": [FIRST], "files": [], "commands": [], "notAllowed": ["file:///w/.env"], "closing": None},
        {"progress": {"total": 2, "completed": 1}},
        "– Cancelled. 1 of 2 steps done. – .env not allowed",
    ),
    ("completed", {"done": [FIRST], "files": [], "commands": [], "answered": True}, {}, ""),
]


@pytest.mark.parametrize(("ending", "more", "shown", "told"), REPORTS)
def test_the_report_is_shown_once_and_an_answer_alone_is_not_followed_by_noise(
    ending: str, more: dict[str, Any], shown: dict[str, Any], told: str
) -> None:
    at, out = screen()
    done = [each | {"status": "completed"} for each in STEPS]
    at.ended(of(plan(done, status=ending, report=REPORT | more)) | shown)
    assert " ".join(out.getvalue().split()) == told


def test_a_request_that_is_one_step_is_no_list() -> None:
    at, out = screen()
    now = of(plan(STEPS[:1], route="direct"))
    at.event({"type": "task_completed", "taskId": "s1", "result": {"summary": "It is 3."}}, now)
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("details", "lines"),
    [
        ([{"stepId": "s1", "field": "args", "problem": "is off"}], ["s1 args: is off"]),
        ([{"reference": "@a", "candidates": ["x/a", "y/a"]}], ["@a may be x/a, y/a"]),
        ([{"reference": "@a", "message": "none"}], []),
        ({"status": "draft"}, []),
        (None, []),
        ("text", []),
    ],
)
def test_problems_that_an_error_lists(details: Any, lines: list[str]) -> None:
    assert problems(details) == lines
    assert problems(details, "The plan is off: step s1 is off.") == [
        line for line in lines if "is off" not in line
    ]


@pytest.mark.parametrize(
    ("most", "line"), [(None, "1 Try it: round 2"), (4, "1 Try it: round 2 of at most 4")]
)
def test_a_round_says_which_it_is(most: int | None, line: str) -> None:
    loop = {**step(1, "Try it"), "repeatUntil": "last.ok", "repeatMost": most}
    tasks: Any = [loop, *({**step(number, "Try it"), "parent": "s1"} for number in (2, 3))]
    at, out = screen()
    at.event({"type": "steps_unrolled", "taskId": "s1", "tasks": tasks}, of(plan(tasks)))
    assert out.getvalue().strip() == line
