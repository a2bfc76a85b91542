"""Commands in the background: a model starts one, goes on, reads its output, and stops it; none outlives its plan."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.plans.commands import running_in_background
from planloom.domain.plans.editing import StepChanges, UpdateStep
from planloom.domain.plans.plan import Plan
from planloom.execution.commands import background
from planloom.models.offline.scripted import ScriptedModel, Turn, makes
from planloom.models.port import ModelEvent, ModelRequest
from tests.support.crash import Crash, DyingLedger, Job, restarted
from tests.support.studio import Studio
from tests.support.studio import studio as any_studio
from tests.tools.test_processes import alive, gone

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these are shell commands")

studio = partial(any_studio, patience=60)
PYTHON = sys.executable
SERVER = """
import http.server
class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")
server = http.server.HTTPServer(("127.0.0.1", 0), Hello)
print("listening on", server.server_port)
server.serve_forever()
"""
ALLOWED = {"approvals.execute": "allow", "approvals.write": "allow"}
SLEEPS = ("run_command", {"command": "echo pid $$; exec sleep 60", "background": True})
DONE = makes(("task_completed", {"summary": "done"}))
ANSWER = makes(("final_answer", {"text": "All done."}))
Answers = Sequence[Turn | Callable[[str], Turn]]


@pytest.fixture(autouse=True)
def _answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to a start comes without the moment in which a command may end or print."""
    monkeypatch.setattr(background, "FIRST_SECONDS", 0.0)


@pytest.fixture
def watched(_answered_at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to a start comes after a moment, as in the product."""
    monkeypatch.setattr(background, "FIRST_SECONDS", 2.0)


class Player(ScriptedModel):
    """Plays turns; a function among them makes its turn of the last result."""

    def __init__(self, answers: Answers) -> None:
        super().__init__([])
        self.answers = list(answers)
        self.sent: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.sent.append(request)
        answer = self.answers.pop(0)
        turn = answer if isinstance(answer, Turn) else answer(self.last)
        for event in turn.played(len(self.sent)):
            yield event

    @property
    def results(self) -> list[str]:
        """The results of all calls that the model has seen."""
        return [message.text for message in self.sent[-1].messages if message.role == "tool"]

    @property
    def last(self) -> str:
        return self.results[-1]


def started(room: Studio) -> list[int]:
    """The ids of the processes that run in the background, or did."""
    return [each.event.pid for each in room.events if isinstance(each.event, ev.BackgroundStarted)]


def ends(room: Studio) -> list[ev.BackgroundEnded]:
    return [each.event for each in room.events if isinstance(each.event, ev.BackgroundEnded)]


def read(**args: object) -> Turn:
    return makes(("read_output", {"command_id": "c1", **args}))


async def direct(room: Studio) -> Plan:
    """A direct run of the model, to its end."""
    return await room.run("Look after the server.", mode="direct")


@pytest.mark.slow
async def test_a_model_starts_a_server_uses_it_and_stops_it(tmp_path: Path) -> None:
    def fetch(result: str) -> Turn:
        found = re.search(r"listening on (\d+)", result)
        if found is None:
            # A busy machine takes its time to start the server.
            model.answers.insert(0, fetch)
            return read(wait_seconds=30)
        code = f"from urllib.request import urlopen; print(urlopen('http://127.0.0.1:{found[1]}').read())"
        return makes(("run_command", {"command": [PYTHON, "-c", code]}))

    model = Player(
        [
            makes(("run_command", {"command": [PYTHON, "server.py"], "background": True})),
            fetch,
            read(),
            makes(("stop_command", {"command_id": "c1"})),
            ANSWER,
        ]
    )
    async with studio(tmp_path, {"server.py": SERVER}, model=model) as room:
        plan = await direct(room)
        assert plan.status == "completed"
        begun, *_, fetched, log, stopped = model.results
        assert "runs in the background as c1" in begun and "what it serves" in begun
        assert "exit code 0" in fetched and "hello" in fetched
        assert log.startswith("c1 is running.") and "GET / HTTP" in log and "listening" not in log
        assert stopped.startswith("c1 was stopped.")
        (pid,) = started(room)
        assert not alive(pid)
        warnings = [
            e.event.approval.warning for e in room.events if isinstance(e.event, ev.ApprovalRequested)
        ]
        assert warnings == ["It runs in the background, until it is stopped or the plan ends.", None]
        assert [(end.reason, end.line) for end in ends(room)] == [("stopped", "it was stopped")]


@pytest.mark.usefixtures("watched")
async def test_a_command_that_ends_at_once_is_answered_like_any_other(tmp_path: Path) -> None:
    broken = makes(("run_command", {"command": "echo port in use; exit 3", "background": True}))
    model = Player([broken, read(), ANSWER])
    async with studio(tmp_path, model=model, settings=ALLOWED) as room:
        plan = await direct(room)
        first, again = model.results
        assert first == "The command ended with exit code 3.\nport in use\n"
        assert again == "c1 ended with exit code 3.\n(no new output)"
        assert plan.report is not None
        assert [(each.exit_code, each.outcome) for each in plan.report.commands] == [(3, "port in use")]


async def test_what_runs_at_the_end_of_the_plan_is_stopped_and_reported(tmp_path: Path) -> None:
    async with studio(tmp_path, model=Player([makes(SLEEPS), ANSWER]), settings=ALLOWED) as room:
        plan = await direct(room)
        (pid,) = started(room)
        assert plan.status == "completed" and not alive(pid)
        assert plan.report is not None
        (command,) = plan.report.commands
        assert command.outcome == "it was still running when the plan ended, and was stopped"


async def test_cancelling_the_plan_stops_it(tmp_path: Path) -> None:
    asks = makes(("ask_user", {"question": "Go on?"}))
    async with studio(tmp_path, model=Player([makes(SLEEPS), asks]), settings=ALLOWED) as room:
        plan = await direct(room)
        (pid,) = started(room)
        assert plan.status == "paused" and alive(pid)
        await room.app.plans.cancel(plan.plan_id)
        plan = await room.until(plan, lambda now: now.status == "cancelled")
        assert not alive(pid) and plan.report is not None
        assert "when the plan ended" in plan.report.commands[0].outcome


@pytest.mark.usefixtures("watched")
@pytest.mark.slow
async def test_later_steps_are_told_of_it_and_read_it(tmp_path: Path) -> None:
    model = Player([makes(SLEEPS), DONE, read(wait_seconds=0), DONE])
    async with studio(tmp_path, settings=ALLOWED) as room:
        plan = await room.ask("1. start it\n2. look at it", mode="plan")
        room.model.model = model
        plan = await room.approve(plan)
        assert plan.status == "completed"
        told = "\n".join(message.text for message in model.sent[2].messages)
        assert "BACKGROUND COMMANDS\nc1 (`echo pid $$; exec sleep 60`): running" in told
        assert model.last == "c1 is running.\n(no new output)"


@pytest.mark.usefixtures("watched")
@pytest.mark.slow
async def test_only_new_output_is_read_and_waited_for(tmp_path: Path) -> None:
    command = "echo one; until test -e go; do sleep 0.05; done; echo two; exit 4"
    model = Player(
        [
            makes(("run_command", {"command": command, "background": True})),
            makes(("run_command", {"command": "touch go"})),
            read(wait_seconds=30),
            read(wait_seconds=30),
            ANSWER,
        ]
    )
    async with studio(tmp_path, model=model, settings=ALLOWED) as room:
        heard: list[str] = []
        room.app.feed.subscribe_stream(lambda delta: heard.append(delta.delta))
        await direct(room)
        one, _, two, rest = model.results
        assert one.endswith("\none\n") and "\ntwo" not in one
        assert two == "c1 ended with exit code 4.\ntwo\n" and rest.endswith("(no new output)")
        assert "".join(heard).count("two") >= 1
        assert [(end.reason, end.exit_code, end.line) for end in ends(room)] == [("exit", 4, "two")]


async def test_reading_again_and_again_is_no_lack_of_progress(tmp_path: Path) -> None:
    model = Player([makes(SLEEPS), *[read(wait_seconds=0)] * 20, ANSWER])
    async with studio(tmp_path, model=model, settings=ALLOWED) as room:
        plan = await direct(room)
        assert plan.status == "completed" and len(model.results) == 21
        assert all("changes nothing" not in result for result in model.results)


async def test_what_the_model_has_changed_is_made_before_it_reads(tmp_path: Path) -> None:
    """A watcher prints what it makes of a change, which must be on disk for that."""
    watch = "until grep -q new watched.txt; do sleep 0.05; done; echo seen; sleep 60"
    model = Player(
        [
            makes(("run_command", {"command": watch, "background": True})),
            makes(("write_file", {"path": "watched.txt", "content": "new\n"})),
            read(wait_seconds=10),
            ANSWER,
        ]
    )
    async with studio(tmp_path, {"watched.txt": "old\n"}, model=model, settings=ALLOWED) as room:
        await direct(room)
        assert model.last.endswith("seen\n")


@pytest.mark.slow
@pytest.mark.usefixtures("watched")
async def test_the_number_and_the_time_are_limited(tmp_path: Path) -> None:
    other = makes(("run_command", {"command": "sleep 61", "background": True}))
    limited = makes(("run_command", {"command": "sleep 62", "background": True, "timeout_seconds": 0.1}))
    model = Player([limited, makes(SLEEPS), ANSWER])
    async with studio(tmp_path, model=model, settings=ALLOWED) as room:
        await direct(room)
        assert model.results[0].startswith("The command was stopped after 0.1 seconds")
        assert ends(room)[0].reason == "time_limit"
    model = Player([makes(SLEEPS), makes(SLEEPS), other, ANSWER])
    async with studio(
        tmp_path, model=model, settings={**ALLOWED, "execution.maxBackgroundCommands": 1}
    ) as room:
        await direct(room)
        _, same, more = model.results
        assert "runs already, as c1" in same and "which is the most" in more
        assert len(started(room)) == 1


async def test_a_denied_command_does_not_start(tmp_path: Path) -> None:
    async with studio(tmp_path, model=Player([makes(SLEEPS), ANSWER])) as room:
        plan = await room.ask("Look after the server.", mode="direct")
        await room.respond(plan, "deny")
        assert started(room) == []


async def test_an_unknown_command_is_answered_with_those_that_run(tmp_path: Path) -> None:
    wrong = makes(("stop_command", {"command_id": "c7"}))
    async with studio(
        tmp_path, model=Player([wrong, makes(SLEEPS), wrong, ANSWER]), settings=ALLOWED
    ) as room:
        await direct(room)
        model = room.model.model
        assert isinstance(model, Player)
        first, _, second = model.results
        assert first == "[FAILED] There is no background command c7. None runs."
        assert second == "[FAILED] There is no background command c7. These run: c1."


async def test_a_pause_leaves_it_running_and_the_server_ends_it(tmp_path: Path) -> None:
    asks = makes(("ask_user", {"question": "Go on?"}))
    ledger = tmp_path / "ledger.sqlite"
    async with studio(tmp_path, model=Player([makes(SLEEPS), asks]), settings=ALLOWED, ledger=ledger) as room:
        plan = await direct(room)
        (pid,) = started(room)
    assert not alive(pid)
    model = Player([read(), ANSWER])
    async with studio(tmp_path, model=model, settings=ALLOWED, ledger=ledger) as after:
        plan = after.now(plan)
        assert running_in_background(plan) == ()
        await after.app.steps.answer(plan.plan_id, plan.pending.questions[0].step_id, "yes")
        await after.app.plans.resume(plan.plan_id) if after.now(plan).status == "paused" else None
        plan = await after.reach(plan, "ended")
        assert (
            "It ran in the background: it was stopped when the server ended"
            in model.sent[0].messages[-1].text
        )
        assert "c1 does not run any more (it was stopped when the server ended)" in model.last


async def test_what_a_dead_server_left_is_stopped_and_told_before_it_runs_again(tmp_path: Path) -> None:
    ledger = DyingLedger(tmp_path / "ledger.sqlite")
    model = Player([makes(SLEEPS), DONE, read()])
    before = Studio(tmp_path, settings=ALLOWED, ledger=ledger)
    plan = await before.ask("1. start it\n2. look at it", mode="plan")
    before.model.model = model
    ledger.at = lambda event: isinstance(event, ev.ToolStarted) and event.tool == "read_output"
    with pytest.raises(Crash):
        await asyncio.gather(before.app.plans.approve(plan.plan_id, plan.version, None), died(ledger))
    (name,) = before.app._jobs.names("background:")
    # The process outlives its server, whose tasks end with it.
    left = before.app._jobs._tasks.pop(name)
    await before.app._jobs.stop("")
    ledger.release()
    (pid,) = started(before)
    assert alive(pid)

    again = Player([makes(SLEEPS), DONE])
    after = restarted(before, tmp_path / "ledger.sqlite", ALLOWED, Job(""))
    after.model.model = again
    try:
        assert await gone(pid)
        plan = after.now(plan)
        assert [end.line for end in ends(after)] == [
            "it was still running after the server had ended, and was stopped"
        ]
        await after.app.plans.resume(plan.plan_id)
        plan = await after.until(plan, lambda now: bool(now.pending.approvals))
        assert plan.pending.approvals[0].warning == (
            "It ran in the background before: it was still running after the server had ended, and was stopped. "
            "It runs in the background, until it is stopped or the plan ends."
        )
        told = "\n".join(message.text for message in again.sent[0].messages)
        assert "c1 (`echo pid $$; exec sleep 60`): it was still running after the server had ended" in told
        plan = await after.respond(plan)
        assert plan.status == "completed" and len(started(after)) == 1
    finally:
        await after.app.close()
        await asyncio.wait({left})
        left.exception()


async def died(ledger: DyingLedger) -> None:
    await ledger.died.wait()
    raise Crash


@pytest.mark.usefixtures("watched")
@pytest.mark.slow
async def test_a_literal_step_starts_one_for_the_steps_after_it(tmp_path: Path) -> None:
    model = Player([read(wait_seconds=0), DONE])
    async with studio(tmp_path, settings=ALLOWED) as room:
        plan = await room.ask("run `echo up` then run `echo b`", mode="plan")
        room.model.model = model
        start = StepChanges(args={"command": "echo up; exec sleep 60", "background": True})
        look = StepChanges(description="Look at it", instruction="Look at it.", kind="processing")
        changes = (start, look)
        edits = [
            UpdateStep(step_id=step.step_id, set=each) for step, each in zip(plan.steps, changes, strict=True)
        ]
        plan = await room.app.plans.edit(plan.plan_id, plan.version, edits)
        plan = await room.approve(plan)
        assert plan.status == "completed"
        assert plan.steps[0].result is not None
        assert plan.steps[0].result.summary == "`echo up; exec sleep 60` runs in the background as c1: up"
