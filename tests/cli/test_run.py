"""The command line as a process without a terminal: what it does to files, says to the server, and ends with."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planloom.cli.terminal.decisions import ASSUME
from tests.support import command_line
from tests.support.command_line import Finished
from tests.support.fake_server import view_of
from tests.support.scripts import CANCELLED, COMPLETED, approval, done, events, plan, script, step

pytestmark = pytest.mark.process


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def run(work: Path, turns: dict[str, Any], *arguments: str, typed: str | None = None) -> Finished:
    return command_line.run(
        work.parent, ["run", "1. a\n2. b", "--workspace", str(work), *arguments], turns, typed
    )


ONE_FILE = script(
    [step(1, "Create file hello.txt")],
    [
        events(
            {"type": "task_started", "taskId": "s1"},
            {"type": "approval_request", "taskId": "s1", "approval": approval(1, "hello.txt")},
        )
    ],
    approval_respond=[
        [
            {"reply": {}},
            events(
                {
                    "type": "edit_applied",
                    "taskId": "s1",
                    "files": [{"uri": "$ROOT/hello.txt", "change": "create"}],
                },
                done(1, "Wrote hello.txt"),
                COMPLETED,
            ),
        ]
    ],
)


def test_yes_approves_the_plan_and_its_writes(work: Path) -> None:
    ended = run(work, ONE_FILE, "--yes")
    assert (ended.code, ended.err) == (0, "")
    assert ended.params("planloom/plan/approve") == [{"planId": "p", "version": 1}]
    assert ended.params("planloom/approval/respond") == [{"approvalId": "a1", "decision": "allow"}]
    lines = ended.out.splitlines()
    assert lines[0] == "Log: /fake/server.log"
    for told in (
        "Create file hello.txt",
        "1 + text",
        "Allowed (--yes).",
        "✔ Done.",
        "All done.",
        "hello.txt  new file",
    ):
        assert told in ended.out
    assert "\x1b" not in ended.out


def test_the_server_is_told_what_is_shown_here_and_that_it_writes_the_files_itself(work: Path) -> None:
    ended = run(
        work,
        ONE_FILE,
        "--yes",
        "--model",
        "7",
        "--base-url",
        "http://x",
        "--set",
        "execution.maxParallelSteps=2",
    )
    (params,) = ended.params("initialize")
    assert params["workspaceFolders"] == [{"uri": work.as_uri(), "name": "work"}]
    assert ended.sent[0]["argv"] == [
        "--setting=execution.maxParallelSteps=2",
        '--setting=model.baseUrl="http://x"',
        '--setting=model.name="7"',
        "--setting=approvals.plan=none",
    ]
    client = params["initializationOptions"]["planloomClient"]
    shown = ("events", "views", "approvals", "clarifications", "recovery", "conflicts", "trusted")
    assert client == dict.fromkeys(shown, True)
    assert "applyEdit" not in params["capabilities"]["workspace"]
    methods = [message.get("method") for message in ended.sent]
    assert methods[-2:] == ["shutdown", "exit"]


def test_json_is_one_event_a_line_and_people_read_the_other_stream(work: Path) -> None:
    ended = run(work, ONE_FILE, "--yes", "--json")
    told = [json.loads(line) for line in ended.out.splitlines()]
    assert told[0] == {"type": "cli_start", "logPath": "/fake/server.log"}
    assert [event["seq"] for event in told[1:-1]] == list(range(1, len(told) - 1))
    assert told[-1] == {
        "type": "cli_result",
        "exitCode": 0,
        "planId": "p",
        "status": "completed",
        "files": [{"uri": f"{work.as_uri()}/hello.txt", "change": "create"}],
    }
    assert "Done." in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "no terminal"),
        (["--yes", "--workspace", "/nowhere/at/all"], "is not a folder"),
        (["--yes", "--set", "nonsense"], "NAME=VALUE"),
        (["--yes", "--set", "foo=1"], "--set foo: there is no such setting."),
        (["--yes", "--setting", "planloom.budget.maxRequests=lots"], "--set budget.maxRequests: "),
        (["--yes", "--mode", "wild"], "wild"),
        (["--yes", "--unknown"], "--unknown"),
    ],
)
def test_wrong_usage_starts_nothing(work: Path, arguments: list[str], told: str) -> None:
    ended = run(work, ONE_FILE, *arguments)
    assert ended.code == 2
    assert told in ended.err
    assert ended.sent == ()


def test_an_empty_request_is_wrong_usage(work: Path) -> None:
    ended = command_line.run(work.parent, ["run", "--yes", "-"], ONE_FILE, "  \n")
    assert (ended.code, ended.sent) == (2, ())
    assert "empty" in ended.err


def test_a_request_can_come_from_standard_input(work: Path) -> None:
    ended = command_line.run(work.parent, ["run", "-", "--yes", "-w", str(work)], ONE_FILE, "1. ä\n2. b\n")
    assert ended.code == 0
    assert ended.params("planloom/plan/create") == [{"text": "1. ä\n2. b\n", "mode": "auto"}]


COMMAND = script(
    [step(1, "Run ls", tool="run_command", args={"command": "ls"})],
    [
        events(
            {
                "type": "approval_request",
                "taskId": "s1",
                "approval": approval(1, "x", effect="execute", command="ls", cwd="/w", files=[]),
            }
        )
    ],
    approval_respond=[[{"reply": {}}, events(COMPLETED)]],
)


@pytest.mark.parametrize(("flags", "decision"), [(["--yes"], "deny"), (["--yes", "--yes-commands"], "allow")])
def test_commands_need_a_flag_of_their_own(work: Path, flags: list[str], decision: str) -> None:
    ended = run(work, COMMAND, *flags)
    (params,) = ended.params("planloom/approval/respond")
    assert params["decision"] == decision
    assert ("--yes-commands" in params.get("reason", "")) == (decision == "deny")
    assert "$ ls" in ended.out


ENDINGS = [
    (
        {
            "type": "plan_failed",
            "summary": "",
            "error": {"code": "x", "message": "It broke.", "hint": "Mend it."},
        },
        "It broke.",
    ),
    ({"type": "plan_cancelled", "summary": "", "progress": {}}, "Cancelled."),
    ({"type": "plan_rejected", "reason": "no"}, "Rejected."),
]


@pytest.mark.parametrize(("event", "told"), ENDINGS)
def test_a_plan_that_does_not_complete_ends_with_one(work: Path, event: Any, told: str) -> None:
    ended = run(work, script([step(1, "a")], [events(event)]), "--yes")
    assert ended.code == 1
    assert told in ended.out


WAITING = {
    "no model": {
        "type": "plan_paused",
        "reason": "model_unavailable",
        "detail": "No model answers: set model.name.",
    },
    "a spent budget": {"type": "plan_paused", "reason": "budget", "detail": "60 (budget.maxRequests)"},
}


@pytest.mark.parametrize("event", WAITING.values(), ids=WAITING)
def test_a_plan_that_needs_a_person_is_left_paused_instead_of_hanging(work: Path, event: Any) -> None:
    ended = run(work, script([step(1, "a")], [events(event)]), "--yes")
    assert ended.code == 4
    assert event["detail"] in ended.out
    assert ended.params("planloom/plan/cancel") == []
    assert "`planloom resume p` takes the plan up again" in ended.out


QUESTION = {"type": "clarification_request", "taskId": "s1", "question": "Which port?"}


def test_a_question_of_the_model_is_answered_by_its_own_assumption(work: Path) -> None:
    answered = [{"reply": {}}, events(done(1, "Assumed port 8080."), COMPLETED)]
    turns = script([step(1, "a", kind="processing")], [events(QUESTION)], step_answer=[answered])
    ended = run(work, turns, "--yes")
    (params,) = ended.params("planloom/step/answer")
    assert (ended.code, params["answer"]) == (0, ASSUME)
    assert "Assumed, since nobody answered “Which port?”: Assumed port 8080." in ended.out


@pytest.mark.parametrize("ended_step", [[done(1)], []], ids=["without a summary", "without an end"])
def test_an_answer_that_nobody_gave_is_told_without_an_assumption_too(work: Path, ended_step: Any) -> None:
    answered = [{"reply": {}}, events(*ended_step, COMPLETED)]
    turns = script([step(1, "a", kind="processing")], [events(QUESTION)], step_answer=[answered])
    ended = run(work, turns, "--yes")
    assert "Nobody answered “Which port?”, and the step reported no assumption." in ended.out
    assert "Assumed" not in ended.out


def test_an_answer_is_no_argument_of_a_call_that_refers_to_another_step(work: Path) -> None:
    steps = [step(1, "a", kind="clarification"), step(10, "b"), step(11, "c", args={"path": "$s10"})]
    answered = [{"reply": {}}, events(done(1, "Assumed port 8080."), COMPLETED)]
    ended = run(work, script(steps, [events(QUESTION)], step_answer=[answered]), "--yes")
    assert (ended.code, ended.params("planloom/plan/cancel")) == (0, [])
    assert [params["answer"] for params in ended.params("planloom/step/answer")] == [ASSUME]


def test_a_question_whose_answer_becomes_an_argument_waits_for_a_person(work: Path) -> None:
    asking, using = step(1, "a", kind="clarification"), step(2, "b", args={"path": "$s1"})
    ended = run(work, script([asking, using], [events(QUESTION)]), "--yes")
    assert (ended.code, ended.params("planloom/plan/pause")) == (4, [{"planId": "p"}])
    assert "Which port?" in ended.out


def test_a_limit_of_a_step_does_not_end_a_plan_that_nobody_watches(work: Path) -> None:
    paused = {"type": "plan_paused", "reason": "budget", "detail": "The step made 200 tool calls."}
    turns = script([step(1, "a")], [events(paused)], plan_resume=[[{"reply": {}}, events(COMPLETED)]])
    ended = run(work, turns, "--yes")
    assert (ended.code, ended.params("planloom/plan/resume")) == (0, [{"planId": "p"}])


PROPOSED = {
    "type": "recovery_request",
    "taskId": "s1",
    "error": "",
    "options": ["accept", "retry", "skip", "abort"],
    "proposal": {"action": "retry", "why": "It may pass."},
}


def test_the_proposal_of_the_model_is_shown_and_taken(work: Path) -> None:
    turns = script(
        [step(1, "a")], [events(PROPOSED)], step_recover=[[{"reply": {}}, events(done(1), COMPLETED)]]
    )
    ended = run(work, turns, "--yes")
    (params,) = ended.params("planloom/step/recover")
    assert (ended.code, params["action"]) == (0, "accept")
    assert "The model proposes to retry: It may pass." in ended.out
    assert "The proposal is accepted (--yes)." in ended.out


def test_a_proposal_that_is_not_accepted_says_why(work: Path) -> None:
    again = [{"reply": {}}, events(PROPOSED)]
    turns = script(
        [step(1, "a")], [events(PROPOSED)], step_recover=[again] * 3 + [[{"reply": {}}, events(CANCELLED)]]
    )
    ended = run(work, turns, "--yes")
    actions = [params["action"] for params in ended.params("planloom/step/recover")]
    assert (ended.code, actions) == (4, ["accept"] * 3)
    assert ended.out.count("The proposal is accepted (--yes).") == 3
    assert "The proposal is not accepted: --yes accepts at most 3 for one step." in ended.out


def test_a_failed_step_waits_for_a_person(work: Path) -> None:
    failed = {"type": "task_failed", "taskId": "s1", "error": "The text is not there.", "willRetry": False}
    asked = {"type": "recovery_request", "taskId": "s1", "error": "", "options": ["retry", "skip", "abort"]}
    ended = run(work, script([step(1, "a")], [events(failed, asked)]), "--yes")
    assert (ended.code, ended.params("planloom/step/recover")) == (4, [])
    assert ended.params("planloom/plan/pause") == [{"planId": "p"}]
    assert "The text is not there." in ended.out


def test_a_conflict_keeps_the_text_of_the_user(work: Path) -> None:
    hunk = {"range": {}, "base": "a", "mine": "b", "theirs": "c"}
    conflict = {"editId": "e", "stepId": "s1", "files": [{"uri": "$ROOT/x", "hunks": [hunk]}]}
    turns = script(
        [step(1, "a")],
        [events({"type": "edit_conflict", "taskId": "s1", "conflict": conflict})],
        conflict_resolve=[[{"reply": {}}, events(COMPLETED)]],
    )
    (params,) = run(work, turns, "--yes").params("planloom/conflict/resolve")
    assert params["files"] == [{"uri": f"{work.as_uri()}/x", "choice": "mine"}]


def test_an_approval_that_cannot_be_shown_is_denied(work: Path) -> None:
    error = {"code": -32603, "message": "x", "data": {"code": "internal", "message": "Lost it."}}
    ended = run(work, ONE_FILE | {"planloom/approval/diff": [[{"error": error}]]}, "--yes")
    (params,) = ended.params("planloom/approval/respond")
    assert params["decision"] == "deny"


def test_a_plan_that_moved_on_is_looked_at_again(work: Path) -> None:
    error = {
        "code": -32803,
        "message": "x",
        "data": {"code": "stale_version", "message": "It is at version 2 now."},
    }
    steps = [step(1, "a")]
    turns = script(steps)
    turns["planloom/plan/approve"] = [[{"error": error}], [{"reply": {}}, events(COMPLETED)]]
    turns["planloom/plan/view"] = [[{"reply": {"number": 9, "view": view_of(plan(steps, version=2))}}]]
    ended = run(work, turns, "--yes")
    assert ended.code == 0
    assert [params["version"] for params in ended.params("planloom/plan/approve")] == [1, 2]


def test_an_approval_that_is_refused_for_good_ends_the_run(work: Path) -> None:
    error = {
        "code": -32803,
        "message": "x",
        "data": {"code": "untrusted_workspace", "message": "Trust it first."},
    }
    turns = script([step(1, "a")]) | {"planloom/plan/approve": [[{"error": error}]]}
    ended = run(work, turns, "--yes")
    assert ended.code == 4
    assert "Trust it first." in ended.out
    assert len(ended.params("planloom/plan/approve")) == 1


def framed(body: str) -> str:
    """A message as it is sent."""
    return f"Content-Length: {len(body)}\r\n\r\n{body}"


BROKEN = {
    "refuses the request": (
        {
            "planloom/plan/create": [
                [
                    {
                        "error": {
                            "code": -32803,
                            "message": "7",
                            "data": {"message": "No folder.", "hint": "Open one."},
                        }
                    }
                ]
            ]
        },
        ["No folder.", "Open one."],
    ),
    "dies at once": ({"initialize": [[{"exit": 3}]]}, ["ended unexpectedly"]),
    "dies in between": ({"planloom/plan/approve": [[{"exit": 0}]]}, ["ended unexpectedly"]),
    "sends what is no JSON-RPC": (
        {"planloom/status": [[{"notify": ["planloom/event", {"jsonrpc": "2.0", "id": 1}]}, {"exit": 0}]]},
        ["ended unexpectedly"],
    ),
    **{
        f"sends {what}": (
            {"planloom/plan/approve": [[{"raw": text}, {"hang": True}]]},
            [f"sent a message that cannot be read: {why}"],
        )
        for what, text, why in (
            ("no JSON", framed("{a}"), "it is not JSON"),
            ("brackets without end", framed("[" * 100_000), "it is not JSON"),
            ("no object", framed("7"), "it is not an object."),
            ("a method that is no text", framed('{"method": []}'), "its method is not a text."),
            ("an answer to nobody", framed('{"id": [], "result": 1}'), "it answers no request."),
            (
                "that it could not read a request",
                framed('{"id": null, "error": {"message": "Broken"}}'),
                "it answers no request (Broken).",
            ),
            ("a length that is no number", "Content-Length: x\r\n\r\n{}", "it has no length."),
            ("a negative length", "Content-Length: -5\r\n\r\n{}", "it has no length."),
            ("no header", "Hello\r\n\r\n", "it has no length."),
            ("a line without end", "x" * 70_000, "a line before it is too long."),
        )
    },
}


@pytest.mark.parametrize(("broken", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_server_is_told_in_a_sentence(work: Path, broken: Any, told: list[str]) -> None:
    ended = run(work, ONE_FILE | broken, "--yes")
    assert ended.code == 1
    for words in told:
        assert words in ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err


REASON = "The plan ledger /l was deleted or replaced while the server ran."
STOPPED = {
    "error": {"code": -32803, "message": REASON, "data": {"code": "storage_failed", "message": REASON}}
}


@pytest.mark.parametrize("method", ["plan_wait", "approval_respond"])
def test_a_plan_that_the_server_cannot_go_on_with_ends_the_run_with_the_reason_once(
    work: Path, method: str
) -> None:
    shown = {"notify": ["window/showMessage", {"type": 1, "message": f"Planloom: {REASON}"}]}
    asks = {"type": "approval_request", "taskId": "s1", "approval": approval(1, "hello.txt")}
    turns = script(
        [step(1, "Create file hello.txt")],
        [events({"type": "task_started", "taskId": "s1"}, asks)],
        **{method: [[shown, STOPPED]]},
    )
    ended = run(work, turns, "--yes", "--json")
    assert ended.code == 1 and ended.err.count(REASON) == 1
    result = json.loads(ended.out.splitlines()[-1])
    assert result == {
        "type": "cli_result",
        "exitCode": 1,
        "error": {"code": "storage_failed", "message": REASON},
    }


def test_a_server_that_cannot_start_shows_its_last_words(work: Path) -> None:
    code = (
        "import sys; from planloom.cli.app import main; "
        "sys.exit(main(sys.argv[1:], server_command=[sys.executable, '-c', 'raise SystemExit(\"no luck\")']))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, "run", "x", "--yes", "-w", str(work)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
        env=command_line.environment(),
    )
    assert done.returncode == 1
    assert "no luck" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_message_of_the_server_is_shown_and_what_is_unknown_is_refused(work: Path) -> None:
    asked = {
        "window/showMessageRequest": {"type": 1, "message": "Read me"},
        "workspace/applyEdit": {"edit": {}},
        "some/unknown": {"jsonrpc": "nested"},
    }
    turns = script(
        [step(1, "a")], [*({"ask": [method, params]} for method, params in asked.items()), events(COMPLETED)]
    )
    ended = run(work, turns, "--yes")
    assert ended.code == 0
    answers = [message for message in ended.sent if "id" in message and "method" not in message]
    assert [answer.get("result", "error") for answer in answers] == [
        None,
        "error",
        "error",
    ]
    assert "Read me" in ended.out


def test_plan_stops_at_the_plan(work: Path) -> None:
    turns = script([step(1, "Create file hello.txt")])
    ended = command_line.run(work.parent, ["plan", "1. a 2. b", "-w", str(work)], turns)
    assert ended.code == 0
    assert "Create file hello.txt" in ended.out
    assert ended.params("planloom/plan/create") == [{"text": "1. a 2. b", "mode": "plan"}]
    assert ended.params("planloom/plan/approve") == []


def test_diff_prints_what_a_plan_has_changed(work: Path) -> None:
    files = [
        {"uri": "$ROOT/a.txt", "change": "edit", "added": 1, "removed": 1},
        {"uri": "$ROOT/folder", "change": "createFolder"},
    ]
    report = {"done": [], "files": files, "commands": [], "left": [], "notAllowed": [], "answered": False}
    turns = {
        "planloom/plan/list": [[{"reply": {"plans": [{"planId": "other"}, {"planId": "p1"}]}}]],
        "planloom/plan/get": [
            [{"reply": {"plan": plan([], planId="p1", workspaceFolders=["$ROOT"], report=report)}}]
        ],
        "planloom/plan/diff": [[{"reply": {"uri": "", "before": "old\n", "after": "new\n"}}]],
    }
    ended = command_line.run(work.parent, ["diff", "p", "-w", str(work)], turns)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"
    assert ended.params("planloom/plan/get") == [{"planId": "p1", "allWorkspaces": True}]
    assert command_line.run(work.parent, ["diff", "zzz", "-w", str(work)], turns).code == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_pauses_a_plan_that_nobody_watches(work: Path, number: signal.Signals) -> None:
    turns = script([step(1, "Wait for long")], [events({"type": "task_started", "taskId": "s1"})])
    arguments = ["run", "x", "--yes", "--json", "-w", str(work)]
    process = subprocess.Popen(
        command_line.command(work.parent, arguments, turns),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=command_line.environment(),
    )
    assert process.stdout is not None
    while '"task_started"' not in (line := process.stdout.readline()):
        assert line
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "Traceback" not in err
    assert json.loads(out.splitlines()[-1])["exitCode"] == 4
    sent = [json.loads(line).get("method") for line in (work.parent / "sent.jsonl").read_text().splitlines()]
    assert sent[-4:] == ["planloom/plan/pause", "planloom/plan/view", "shutdown", "exit"]
