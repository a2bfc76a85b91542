"""The command line at a real terminal: every question it asks, and what becomes of each answer."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import AtTerminal, editor
from tests.support.scripts import CANCELLED, COMPLETED, approval, events, plan, script, step

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals"),
]

Start = Callable[..., AtTerminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a run in a workspace of its own."""
    started: list[AtTerminal] = []
    (tmp_path / "work").mkdir()

    def run(turns: dict[str, Any], *arguments: str, text: str = "1. a 2. b", **more: str) -> AtTerminal:
        words = ["run", text, "-w", str(tmp_path / "work"), *arguments]
        started.append(AtTerminal(tmp_path, words, turns, **more))
        return started[-1]

    yield run
    for terminal in started:
        terminal.close()


def asks(number: int, name: str, **more: Any) -> dict[str, Any]:
    return events(
        {"type": "approval_request", "taskId": f"s{number}", "approval": approval(number, name, **more)}
    )


STEPS = [step(1, "Create file one"), step(2, "Create file two"), step(3, "Create file three")]
RESPONDED = [[{"reply": {}}, events(COMPLETED)]]
ONE = script(STEPS, [asks(1, "one")], approval_respond=RESPONDED)


def test_execute_and_allow(start: Start) -> None:
    terminal = start(ONE)
    terminal.wait_for("Create file three")
    terminal.wait_for("Execute this plan?")
    terminal.type("y")
    terminal.wait_for("1 + text")
    terminal.wait_for("Allow?")
    terminal.type("allow")
    ended = terminal.finish()
    assert ended.code == 0
    assert ended.params("planloom/approval/respond") == [{"approvalId": "a1", "decision": "allow"}]


def test_nonsense_is_asked_again_and_enter_decides_nothing(start: Start) -> None:
    terminal = start(ONE)
    for typed in ("", "what", "yes please"):
        terminal.wait_for("Execute this plan?")
        terminal.type(typed)
    terminal.wait_for("Execute this plan?")
    terminal.type("c")
    ended = terminal.finish()
    assert ended.code == 1
    assert ended.params("planloom/plan/approve") == []
    assert ended.params("planloom/plan/cancel") == [{"planId": "p"}]


def test_without_a_terminal_or_yes_no_proposal_is_accepted(start: Start) -> None:
    asked = {
        "type": "recovery_request",
        "taskId": "s1",
        "error": "",
        "options": ["accept", "retry", "abort"],
        "proposal": {"action": "retry", "why": "It may pass."},
    }
    turns = script(STEPS)
    created = plan(STEPS, status="executing", route="direct")
    turns["planloom/plan/create"] = [[{"reply": {"plan": created}}, events(asked)]]
    terminal = start(turns, "--mode", "direct", text="-")
    terminal.type("Do it.", after="")
    terminal.end_input(after="")
    ended = terminal.finish()
    assert (ended.code, ended.params("planloom/step/recover")) == (4, [])
    assert "The proposal is not accepted: there is no terminal to ask at." in ended.out
    assert "--yes" not in ended.out


ASKED = script(STEPS, [events({"type": "clarification_request", "taskId": "s1", "question": "Which port?"})])
FAILED = {"type": "recovery_request", "taskId": "s1", "error": "", "options": ["retry", "abort"]}
CONFLICT = {"editId": "e", "stepId": "s1", "files": [{"uri": "$ROOT/x", "hunks": []}]}
QUESTIONS = {
    "review": (ONE, [], "Execute this plan?"),
    "revision": (ONE, ["r"], "What should change?"),
    "approval": (ONE, ["y"], "Allow?"),
    "reason": (ONE, ["y", "n"], "Why?"),
    "question": (ASKED, ["y"], "Which port?"),
    "recovery": (script(STEPS, [events(FAILED)]), ["y"], "What now?"),
    "conflict": (
        script(STEPS, [events({"type": "edit_conflict", "taskId": "s1", "conflict": CONFLICT})]),
        ["y"],
        "Keep which?",
    ),
}
"""Each question, as the turns of the server and the answers that lead to it."""
LATER = [key for key in QUESTIONS if key not in ("revision", "reason", "question")]
"""The questions that have choices."""


def brought_to(start: Start, question: str) -> AtTerminal:
    turns, keys, words = QUESTIONS[question]
    terminal = start(turns)
    for key in keys:
        terminal.type(key)
    terminal.wait_for(words)
    return terminal


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_closed_input_leaves_the_plan_for_later(start: Start, question: str) -> None:
    terminal = brought_to(start, question)
    terminal.end_input(after="" if question in ("revision", "reason") else " ")
    ended = terminal.finish()
    assert (ended.code, ended.params("planloom/plan/pause")) == (4, [{"planId": "p"}])
    assert ended.params("planloom/plan/cancel") == []
    assert "`planloom resume p` takes the plan up again" in ended.out


@pytest.mark.parametrize("question", LATER)
def test_a_question_offers_to_leave_the_plan_for_later(start: Start, question: str) -> None:
    terminal = brought_to(start, question)
    terminal.type("l")
    ended = terminal.finish()
    assert (ended.code, ended.params("planloom/plan/pause")) == (4, [{"planId": "p"}])


@pytest.mark.parametrize("question", QUESTIONS)
def test_ctrl_c_pauses_and_again_cancels(start: Start, question: str) -> None:
    terminal = brought_to(start, question)
    terminal.interrupt()
    terminal.wait_for("The plan is paused.")
    terminal.wait_for("> ")
    terminal.interrupt()
    ended = terminal.finish()
    assert (ended.code, ended.params("planloom/plan/pause")) == (130, [{"planId": "p"}])
    assert ended.params("planloom/plan/cancel") == [{"planId": "p"}]
    assert "Traceback" not in ended.out


@pytest.mark.parametrize(("key", "code"), [("l", 4), ("c", 130)])
def test_a_plan_that_was_interrupted_is_left_or_cancelled(start: Start, key: str, code: int) -> None:
    terminal = start(script(STEPS, [events({"type": "task_started", "taskId": "s1"})]))
    terminal.type("y")
    terminal.wait_for("A line that you type")
    terminal.interrupt()
    terminal.wait_for("The plan is paused.")
    terminal.type(key)
    assert terminal.finish().code == code


def test_a_plan_that_was_interrupted_goes_on(start: Start) -> None:
    resumed = [events({"type": "plan_resumed"}), {"reply": {}}, events(COMPLETED)]
    started = events({"type": "task_started", "taskId": "s1"})
    terminal = start(script(STEPS, [started], plan_resume=[resumed]))
    terminal.type("y")
    terminal.wait_for("A line that you type")
    terminal.interrupt()
    terminal.wait_for("The plan is paused.")
    terminal.type("r")
    assert terminal.finish().code == 0


def test_escape_pauses_a_plan_that_runs_and_an_arrow_does_not(start: Start) -> None:
    started = events({"type": "task_started", "taskId": "s1"})
    queued = {"reply": {"outcome": "queued"}}
    terminal = start(script(STEPS, [started], plan_message=[[queued]]))
    terminal.type("y")
    terminal.wait_for("A line that you type")
    terminal.press("\x1b[A\x1b[1;5C")
    terminal.type("use tabs", after="")
    terminal.wait_for("use tabs”")
    terminal.press("\x1b")
    terminal.wait_for("The plan is paused.")
    terminal.type("l")
    ended = terminal.finish()
    assert (ended.code, ended.params("planloom/plan/pause")) == (4, [{"planId": "p"}])
    (said,) = ended.params("planloom/plan/message")
    assert said["text"] == "use tabs"


def test_ctrl_c_before_there_is_a_plan_starts_nothing(start: Start) -> None:
    terminal = start({"planloom/plan/create": [[{"hang": True}]]})
    terminal.wait_for("Log: ")
    terminal.interrupt()
    ended = terminal.finish()
    assert ended.code == 130
    assert "Nothing was started." in ended.out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("question", ["review", "approval"])
def test_a_process_that_is_to_end_pauses_its_plan(
    start: Start, question: str, number: signal.Signals
) -> None:
    terminal = brought_to(start, question)
    terminal.interrupt(number)
    ended = terminal.finish()
    assert (ended.code, ended.params("planloom/plan/pause")) == (4, [{"planId": "p"}])


def test_a_closed_terminal_pauses_the_plan(start: Start) -> None:
    terminal = brought_to(start, "review")
    terminal.hang_up()
    ended = terminal.finish()
    assert (ended.code, ended.params("planloom/plan/pause")) == (4, [{"planId": "p"}])


def test_directly(start: Start) -> None:
    turns = script(STEPS, plan_direct=[[{"reply": {}}, events({"type": "plan_direct"}, COMPLETED)]])
    terminal = start(turns)
    terminal.type("d")
    ended = terminal.finish()
    assert ended.code == 0
    assert ended.params("planloom/plan/direct") == [{"planId": "p"}]


def test_a_denial_carries_its_reason(start: Start) -> None:
    terminal = start(ONE)
    terminal.type("y")
    terminal.type("n")
    terminal.type("use tabs", after="Why? (may be empty) ")
    (params,) = terminal.finish().params("planloom/approval/respond")
    assert params == {"approvalId": "a1", "decision": "deny", "reason": "use tabs"}


def test_files_are_allowed_one_by_one(start: Start) -> None:
    files = [
        {"uri": f"$ROOT/{name}", "change": "create", "added": 1, "removed": 0, "resolvedPath": ""}
        for name in ("one", "two")
    ]
    terminal = start(script(STEPS, [asks(1, "one", files=files)], approval_respond=RESPONDED))
    terminal.type("y")
    terminal.type("f")
    terminal.type("n")
    terminal.type("y")
    (params,) = terminal.finish().params("planloom/approval/respond")
    assert params["decision"] == "allow"
    assert [uri.rpartition("/")[2] for uri in params["files"]] == ["two"]


def test_a_file_that_was_not_allowed_is_shown_when_it_changes_unasked(start: Start) -> None:
    files = [
        {"uri": f"$ROOT/{name}", "change": "create", "added": 1, "removed": 0, "resolvedPath": ""}
        for name in ("one", "two")
    ]
    responded = [[{"reply": {}}, edited("two"), edited("one"), events(COMPLETED)]]
    asked = [asks(1, "one", files=files)]
    terminal = start(script(STEPS, asked, approval_respond=responded, plan_diff=UNASKED))
    for typed in ("y", "f", "n", "y"):
        terminal.type(typed)
    ended = terminal.finish()
    assert [params["editId"] for params in ended.params("planloom/plan/diff")] == ["e-one"]
    assert "1 + unasked" in ended.out


def test_allow_for_the_plan_is_offered_where_it_holds(start: Start) -> None:
    turns = script(
        STEPS,
        [
            asks(1, "one"),
            asks(1, "one", effect="execute", command="make"),
            asks(1, "one", effect="fetch", url="https://docs.example/a?b", host="docs.example", files=[]),
            asks(1, "one", effect="destroy"),
            asks(1, "one", protected=True),
        ],
        approval_respond=[
            [{"reply": {}}],
            [{"reply": {}}],
            [{"reply": {}}],
            [{"reply": {}}],
            [{"reply": {}}, events(COMPLETED)],
        ],
    )
    terminal = start(turns)
    terminal.type("y")
    for typed in ("p", "p", "p", "y", "y"):
        terminal.wait_for("Allow?")
        terminal.type(typed)
    ended = terminal.finish()
    questions = [rest.partition("> ")[0] for rest in ended.out.split("Allow?")[1:]]
    assert ["[p]" in question for question in questions] == [True, True, True, False, False]
    decisions = [params["decision"] for params in ended.params("planloom/approval/respond")]
    assert decisions == ["allowForPlan", "allowForPlan", "allowForPlan", "allow", "allow"]
    assert "allow for this plan: docs.example" in questions[2]
    assert "GET https://docs.example/a?b" in ended.out


def edited(name: str) -> dict[str, Any]:
    file = {"uri": f"$ROOT/{name}", "change": "create"}
    return events({"type": "edit_applied", "taskId": "s1", "editId": f"e-{name}", "files": [file]})


UNASKED = [[{"reply": {"uri": "", "before": None, "after": "unasked\n"}}]]


def test_what_is_allowed_for_the_plan_is_shown_as_it_is_made(start: Start) -> None:
    responded = [[{"reply": {}}, edited("one"), edited("two"), events(COMPLETED)]]
    terminal = start(script(STEPS, [asks(1, "one")], approval_respond=responded, plan_diff=UNASKED))
    terminal.type("y")
    terminal.type("p")
    ended = terminal.finish()
    assert [params["editId"] for params in ended.params("planloom/plan/diff")] == ["e-two"]
    assert "new two" in ended.out and "1 + unasked" in ended.out


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_change_of_a_model_is_called_made_when_it_is_made(start: Start, answer: str) -> None:
    proposed = {
        "type": "tool_completed",
        "taskId": "s1",
        "ok": True,
        "summary": "Created one",
        "changes": ["$ROOT/one"],
    }
    steps = [step(1, "Create it", kind="processing"), *STEPS[1:]]
    after = [edited("one")] if answer == "y" else []
    turns = script(
        steps,
        [events(proposed), asks(1, "one")],
        approval_respond=[[{"reply": {}}, *after, events(COMPLETED)]],
    )
    terminal = start(turns)
    terminal.type("y")
    terminal.wait_for("Allow?")
    assert "Created one" not in terminal.seen
    terminal.type(answer)
    if answer == "n":
        terminal.type("", after="Why? (may be empty) ")
    ended = terminal.finish()
    assert "Created one" not in ended.out
    assert ("· one  new file" in ended.out) == (answer == "y")


def command(number: int, **more: Any) -> dict[str, Any]:
    place = {"listId": "a1", "position": number, "size": 3}
    own = {"effect": "execute", "files": [], "command": f"run {number}", "cwd": "."}
    return approval(number, "", **own, listed=place, **more)


@pytest.mark.parametrize(
    ("keys", "decisions"),
    [
        (["y"], ["allow", "allow", "allow"]),
        (["o", "y", "n", "", "p"], ["allow", "deny", "allowForPlan"]),
        (["n", "not today"], ["deny", "deny", "deny"]),
        (["c"], ["cancel"]),
    ],
)
def test_the_commands_of_one_answer_are_asked_as_a_list(
    start: Start, keys: list[str], decisions: list[str]
) -> None:
    requests = [
        {"type": "approval_request", "taskId": "s1", "approval": command(number)} for number in (1, 2, 3)
    ]
    end = CANCELLED if decisions == ["cancel"] else COMPLETED
    answered = [[{"reply": {}}] for _ in decisions[1:]] + [[{"reply": {}}, events(end)]]
    terminal = start(script(STEPS, [events(*requests)], approval_respond=answered))
    terminal.type("y")
    terminal.wait_for("3 commands of this step:")
    terminal.wait_for("$ run 3")
    for key, before in zip(keys, ["", *keys], strict=False):
        terminal.type(key, after="Why? (may be empty) " if before == "n" else "> ")
    answers = terminal.finish().params("planloom/approval/respond")
    assert [(each["approvalId"], each["decision"]) for each in answers] == [
        (f"a{number}", decision) for number, decision in enumerate(decisions, 1)
    ]


OFFERS = [
    {"confined": True, "network": "none", "label": "without network", "line": "Confined: no network."},
    {"confined": False, "network": "none", "label": "without confinement", "line": "Not confined."},
]
ASKS = {"confined": True, "network": "all", "line": "It asks for the network.", "asksNetwork": True}


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        (["y"], {}),
        (["o", "1"], {"confinement": {"confined": True, "network": "none"}}),
        (["o", "b", "o", "2"], {"confinement": {"confined": False, "network": "none"}}),
    ],
)
def test_a_command_shows_what_it_gets_and_may_get_something_else(
    start: Start, tmp_path: Path, keys: list[str], sent: dict[str, Any]
) -> None:
    asked = asks(
        1,
        "one",
        effect="execute",
        files=[],
        command="npm install",
        cwd=".",
        confinement=ASKS | {"offers": OFFERS},
    )
    terminal = start(script(STEPS, [asked], approval_respond=RESPONDED))
    terminal.type("y")
    terminal.wait_for(f"in {tmp_path / 'work'}")
    terminal.wait_for("It asks for the network.")
    for key in keys:
        terminal.type(key)
        if key == "o":
            terminal.wait_for("without confinement: Not confined.")
    (params,) = terminal.finish().params("planloom/approval/respond")
    assert params == {"approvalId": "a1", "decision": "allow"} | sent


LONG = "".join(f"line {number}\n" for number in range(100))


@pytest.mark.parametrize(
    ("keys", "decision", "seen"),
    [
        (["v", "v", "y"], "allow", True),
        (["v", "unseen"], "allow", False),
        (["unseen"], "allow", False),
        (["v", "n"], "deny", False),
    ],
)
def test_what_is_longer_than_the_screen_is_paged_or_allowed_by_a_word(
    start: Start, keys: list[str], decision: str, seen: bool
) -> None:
    """The screen has 50 lines, of which 44 show the approval: 103 lines with its title and border."""
    diff = [[{"reply": {"uri": "", "before": None, "after": LONG}}]]
    turns = script(STEPS, [asks(1, "one")], approval_respond=RESPONDED)
    terminal = start(turns | {"planloom/approval/diff": diff})
    terminal.type("y")
    terminal.wait_for("line 41")
    terminal.wait_for("[v] view 59 more lines   [unseen] the rest unseen")
    terminal.type("y")
    terminal.wait_for("Answer with one of: v, unseen, e, n, c")
    for key in keys:
        terminal.type(key)
    if decision == "deny":
        terminal.type("", after="Why? (may be empty) ")
    ended = terminal.finish()
    assert ended.params("planloom/approval/respond") == [{"approvalId": "a1", "decision": decision}]
    assert ("line 99" in ended.out) == seen


def test_a_command_that_is_longer_than_the_screen_shows_its_beginning(start: Start) -> None:
    asked = asks(1, "one", effect="execute", files=[], command="BEGIN " + "word " * 2400 + "END", cwd=".")
    terminal = start(script(STEPS, [asked], approval_respond=RESPONDED))
    terminal.type("y")
    terminal.wait_for("Allow?")
    assert "BEGIN" in terminal.seen and "END" not in terminal.seen
    terminal.type("v")
    terminal.type("v")
    terminal.wait_for("END")
    terminal.type("y")
    assert terminal.finish().params("planloom/approval/respond") == [
        {"approvalId": "a1", "decision": "allow"}
    ]


def test_a_diff_too_long_to_look_through_needs_the_word(start: Start) -> None:
    diff = [[{"reply": {"uri": "", "before": None, "after": "x\n" * 4010}}]]
    turns = script(STEPS, [asks(1, "one")], approval_respond=RESPONDED)
    terminal = start(turns | {"planloom/approval/diff": diff}, LINES="5000")
    terminal.type("y")
    terminal.wait_for("10 more lines are not shown")
    terminal.wait_for("[unseen] the rest unseen: allow it without 10 lines")
    terminal.type("unseen")
    assert terminal.finish().code == 0


FILES = [
    {"uri": f"$ROOT/{name}", "change": "create", "added": 1, "removed": 0, "resolvedPath": ""}
    for name in ("one", "two")
]


def test_what_was_typed_before_a_question_is_no_answer_to_it(start: Start) -> None:
    second = [{"reply": {}}, asks(2, "two")]
    third = [{"reply": {}}, asks(3, "three", files=FILES)]
    turns = script(STEPS, [asks(1, "one")], approval_respond=[second, third, *RESPONDED])
    terminal = start(turns)
    terminal.type("y")
    terminal.type("y\ny", after="Allow?")
    terminal.wait_for("step 2")
    terminal.type("n\ntyped ahead", after="cancel the plan")
    terminal.type("seen and denied", after="Why? (may be empty) ")
    terminal.wait_for("step 3")
    terminal.type("f\ny\ny", after="cancel the plan")
    terminal.type("n", after="deny   \n> ")
    terminal.type("n", after="deny   \n> ")
    answers = terminal.finish().params("planloom/approval/respond")
    assert [(each["decision"], each.get("reason")) for each in answers] == [
        ("allow", None),
        ("deny", "seen and denied"),
        ("deny", None),
    ]


def test_a_question_is_answered_by_words_or_by_number(start: Start) -> None:
    asked = {"type": "clarification_request", "taskId": "s1", "question": "Which port?"}
    turns = script(
        STEPS,
        [events(asked, asked | {"options": ["80", "443"]})],
        step_answer=[[{"reply": {}}], [{"reply": {}}, events(COMPLETED)]],
    )
    terminal = start(turns, "--yes")
    terminal.wait_for("Which port?")
    terminal.type("8080 or so", after="later): ")
    terminal.wait_for("2  443")
    terminal.type("2", after="later): ")
    ended = terminal.finish()
    assert [params["answer"] for params in ended.params("planloom/step/answer")] == ["8080 or so", "443"]


def test_a_failed_step_is_decided_by_the_person(start: Start) -> None:
    failed = {"type": "task_failed", "taskId": "s1", "error": "No such text.", "willRetry": False}
    request = {
        "type": "recovery_request",
        "taskId": "s1",
        "error": "",
        "options": ["retry", "skip", "go_on", "abort"],
    }
    again = [{"reply": {}}, events(failed, request)]
    turns = script(STEPS, again[1:], step_recover=[again, again, again, [{"reply": {}}, events(CANCELLED)]])
    terminal = start(turns, "--yes")
    for typed in ("r", "skip", "g", "c"):
        terminal.wait_for("No such text.")
        terminal.wait_for("What now?")
        terminal.type(typed)
    sent = terminal.finish().params("planloom/step/recover")
    assert [params["action"] for params in sent] == ["retry", "skip", "go_on", "abort"]


def test_arguments_of_a_failed_step_are_changed_and_bad_json_is_asked_again(
    start: Start, tmp_path: Path
) -> None:
    request = {"type": "recovery_request", "taskId": "s1", "error": "", "options": ["retry", "skip", "abort"]}
    turns = script(STEPS, [events(request)], step_recover=[[{"reply": {}}, events(COMPLETED)]])
    chosen = editor(tmp_path, "text = '{broken'", """text = '{"path": "new"}'""")
    terminal = start(turns, "--yes", EDITOR=chosen, VISUAL="")
    terminal.type("a")
    terminal.wait_for("That is not JSON")
    terminal.type("a")
    (params,) = terminal.finish().params("planloom/step/recover")
    assert (params["action"], params["args"]) == ("retry", {"path": "new"})


def test_a_paused_plan_goes_on_or_not(start: Start) -> None:
    paused = {"type": "plan_paused", "reason": "model_unavailable", "detail": "No model answers."}
    turns = script(STEPS, [events(paused)], plan_resume=[[{"reply": {}}, events(COMPLETED)]])
    terminal = start(turns, "--yes")
    terminal.wait_for("No model answers.")
    terminal.wait_for("[l] leave it for later")
    terminal.type("r")
    ended = terminal.finish()
    assert ended.params("planloom/plan/resume") == [{"planId": "p"}]


def test_a_plan_at_a_limit_goes_on(start: Start) -> None:
    paused = {"type": "plan_paused", "reason": "budget", "detail": "The step made 200 tool calls."}
    turns = script(STEPS, [events(paused)], plan_resume=[[{"reply": {}}, events(COMPLETED)]])
    terminal = start(turns, "--yes")
    terminal.wait_for("[r] resume")
    terminal.type("r")
    assert terminal.finish().params("planloom/plan/resume") == [{"planId": "p"}]


def test_a_conflict_is_shown_with_both_sides(start: Start) -> None:
    hunk = {"range": {}, "base": "a", "mine": "my line", "theirs": "its line"}
    files = [{"uri": f"$ROOT/{name}", "hunks": [hunk]} for name in ("one", "two", "three")]
    conflict = {"editId": "e", "stepId": "s1", "files": files}
    turns = script(
        STEPS,
        [events({"type": "edit_conflict", "taskId": "s1", "conflict": conflict})],
        conflict_resolve=[[{"reply": {}}, events(COMPLETED)]],
    )
    terminal = start(turns, "--yes")
    terminal.wait_for("on disk:  my line")
    terminal.wait_for("the step: its line")
    terminal.type("m")
    terminal.type("t")
    terminal.type("b")
    (params,) = terminal.finish().params("planloom/conflict/resolve")
    assert [file["choice"] for file in params["files"]] == ["mine", "theirs", "both"]


def test_a_secret_is_attached_only_if_it_is_confirmed(start: Start) -> None:
    first, second = (
        {"reference": name, "code": "secret", "message": f"{name} holds secrets."}
        for name in ("@.env", "@key.pem")
    )
    resolved = {"attachments": [], "unresolved": [first, second, {"reference": "@x", "code": "not_found"}]}
    terminal = start(
        script(STEPS, reference_resolve=[[{"reply": resolved}]]), text="look at @.env @key.pem @x"
    )
    terminal.wait_for("Attach @.env?")
    terminal.type("y")
    terminal.wait_for("Attach @key.pem?")
    terminal.type("n")
    terminal.type("c")
    (params,) = terminal.finish().params("planloom/plan/create")
    assert params["confirmed"] == ["@.env"]


def test_a_sentence_at_the_review_revises_the_plan(start: Start) -> None:
    new = [step(1, "Create file one with pytest")]
    said = {"outcome": "revising", "planId": "p", "plan": plan(STEPS, status="draft")}
    revised = events(
        {"type": "plan_drafting", "version": 1}, {"type": "plan_ready", "plan": plan(new, version=2)}
    )
    turns = script(STEPS, [events(COMPLETED)], plan_message=[[{"reply": said}, revised]])
    terminal = start(turns)
    terminal.type("r")
    terminal.type("use pytest instead", after="What should change? (empty for nothing) ")
    terminal.wait_for("The plan is revised.")
    terminal.wait_for("Create file one with pytest")
    terminal.type("y")
    ended = terminal.finish()
    assert ended.code == 0
    assert ended.params("planloom/plan/message") == [{"planId": "p", "text": "use pytest instead"}]
    assert ended.params("planloom/plan/approve") == [{"planId": "p", "version": 2}]


def test_a_sentence_in_place_of_a_choice_revises_the_plan(start: Start) -> None:
    said = {"outcome": "revising", "planId": "p", "plan": plan(STEPS, status="draft")}
    revised = events({"type": "plan_ready", "plan": plan(STEPS, version=2)})
    terminal = start(script(STEPS, [events(COMPLETED)], plan_message=[[{"reply": said}, revised]]))
    terminal.type("Call it One, please")
    terminal.wait_for("The plan is revised.")
    terminal.type("execute")
    ended = terminal.finish()
    assert ended.params("planloom/plan/message") == [{"planId": "p", "text": "Call it One, please"}]
    assert ended.params("planloom/plan/approve") == [{"planId": "p", "version": 2}]


def test_a_refused_revision_shows_why_and_asks_again(start: Start) -> None:
    why = {
        "code": -32001,
        "message": "No model.",
        "data": {"code": "model_unavailable", "hint": "Edit by hand."},
    }
    terminal = start(script(STEPS, plan_message=[[{"error": why}]]))
    terminal.type("r")
    terminal.type("use pytest instead", after="What should change? (empty for nothing) ")
    terminal.wait_for("Edit by hand.")
    terminal.type("c")
    assert terminal.finish().code == 1


def test_a_line_typed_while_the_plan_runs_goes_to_it(start: Start) -> None:
    said = {"outcome": "delivered", "planId": "p", "plan": plan(STEPS, status="executing")}
    done = events({"type": "plan_message", "text": "", "outcome": "delivered"},
                  {"type": "messages_read", "taskId": "s1", "count": 1}, COMPLETED)  # fmt: skip
    running = events({"type": "task_started", "taskId": "s1"}, {"type": "log", "message": "Working."})
    terminal = start(script(STEPS, [running], plan_message=[[{"reply": said}, done]]))
    terminal.type("y")
    terminal.wait_for("Working.")
    terminal.type("use tabs", after="")
    terminal.wait_for("“use tabs”: The running step reads it before its next request to the model.")
    ended = terminal.finish()
    assert ended.code == 0
    assert ended.params("planloom/plan/message") == [{"planId": "p", "text": "use tabs"}]


def test_a_key_that_is_typed_when_nothing_is_asked_does_not_go_to_the_model(start: Start) -> None:
    """It is an answer that came too late, or was typed twice."""
    said = {"outcome": "delivered", "planId": "p", "plan": plan(STEPS, status="executing")}
    running = events({"type": "task_started", "taskId": "s1"}, {"type": "log", "message": "Working."})
    terminal = start(script(STEPS, [running], plan_message=[[{"reply": said}, events(COMPLETED)]]))
    terminal.type("y")
    terminal.wait_for("Working.")
    terminal.type("y", after="")
    terminal.wait_for("Nothing is asked at the moment, so “y” is not sent.")
    terminal.type("use tabs", after="")
    ended = terminal.finish()
    assert ended.params("planloom/plan/message") == [{"planId": "p", "text": "use tabs"}]


def test_what_no_step_has_read_is_followed_into_the_next_plan(start: Start) -> None:
    said = {"outcome": "queued", "planId": "p", "plan": plan(STEPS, status="executing")}
    unread = plan(STEPS, status="executing", messages=[{"text": "count them", "state": "open"}])
    follow = plan([step(1, "Count them")], planId="q", status="executing", route="direct")
    done = events(
        {"type": "plan_message", "text": "count them", "outcome": "queued", "plan": unread},
        COMPLETED,
        {"type": "plan_start", "planId": "q", "follows": "p", "plan": follow},
        {"type": "log", "planId": "q", "message": "There are three."},
        {**COMPLETED, "planId": "q"},
    )
    running = events({"type": "task_started", "taskId": "s1"}, {"type": "log", "message": "Working."})
    turns = script(STEPS, [running], plan_message=[[{"reply": said}, done]])
    terminal = start(turns)
    terminal.type("y")
    terminal.wait_for("Working.")
    terminal.type("count them", after="")
    terminal.wait_for("There are three.")
    assert terminal.finish().code == 0


def test_continue_speaks_to_the_latest_ended_plan(start: Start) -> None:
    follow = plan(STEPS, status="executing", route="direct", follows="o")
    turns = script(STEPS)
    turns["planloom/plan/list"] = [[{"reply": {"plans": [{"planId": "o", "request": "Say hello\nto all"}]}}]]
    turns["planloom/plan/message"] = [
        [{"reply": {"outcome": "continued", "planId": "p", "plan": follow}}, events(COMPLETED)]
    ]
    terminal = start(turns, "--continue", text="and now in French")
    terminal.wait_for("Continues: Say hello to all")
    ended = terminal.finish()
    assert ended.code == 0
    assert ended.params("planloom/plan/message") == [{"planId": "o", "text": "and now in French"}]
    assert ended.params("planloom/plan/create") == []
