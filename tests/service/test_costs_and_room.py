"""Every model request is counted however it ends, and fits the context; the index is updated after commands."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from planloom.domain.plans.editing import StepChanges
from planloom.domain.values import ApprovalId, Uri
from planloom.models.offline.scripted import ScriptedModel, Turn, fails, makes, says
from planloom.models.port import Capabilities, Finished, Restarted, TextDelta, UsageReported
from planloom.models.tokens import TokenCounter
from planloom.service.requests import CreateRequest
from tests.service.test_execution_rules import tool_step, with_steps, work_step
from tests.support.studio import studio

GIT = shutil.which("git")
DONE = ("task_completed", {"summary": "Done."})


@pytest.mark.parametrize("code", ["unavailable", "output_invalid", "refused"])
async def test_a_request_that_fails_half_way_is_counted(tmp_path: Path, code: str) -> None:
    broken = fails(code, text="I would", prompt_tokens=50, completion_tokens=7)  # type: ignore[arg-type]
    async with studio(tmp_path) as at:
        plan = await with_steps(at, work_step("Look"))
        at.model.model = ScriptedModel([broken])
        plan = await at.approve(plan)
        assert plan.status == "paused"
        assert (plan.usage.requests, plan.usage.prompt_tokens, plan.usage.completion_tokens) == (1, 50, 7)


async def test_a_model_that_always_fails_is_held_by_the_budget(tmp_path: Path) -> None:
    settings = {"budget.maxRequests": 3, "execution.onFailure": "retry"}
    async with studio(tmp_path, settings=settings) as at:
        plan = await with_steps(at, work_step("Look"))
        at.model.model = ScriptedModel([fails("unavailable", repeat=True)])
        plan = await at.approve(plan)
        reasons = [plan.pause_reason]
        while plan.pause_reason == "model_unavailable":
            await at.app.plans.resume(plan.plan_id)
            plan = await at.reach(plan, "attention")
            reasons.append(plan.pause_reason)
        assert reasons == ["model_unavailable"] * 3 + ["budget"]


async def test_every_time_that_a_request_is_sent_counts(tmp_path: Path) -> None:
    turn = Turn(
        events=(
            TextDelta(text="I"),
            UsageReported(prompt_tokens=40, completion_tokens=1),
            Restarted(problem="It broke off.", attempt=2, wait_seconds=0),
            Restarted(problem="It broke off.", attempt=3, wait_seconds=0),
            UsageReported(prompt_tokens=40, completion_tokens=5),
            Finished(reason="stop"),
        )
    )
    async with studio(tmp_path) as at:
        plan = await with_steps(at, work_step("Look"))
        at.model.model = ScriptedModel([turn, makes(("list_files", {}), DONE)])
        plan = await at.approve(plan)
        assert plan.status == "completed"
        assert (plan.usage.requests, plan.usage.prompt_tokens, plan.usage.completion_tokens) == (4, 80, 6)


async def test_a_prompt_that_was_never_sent_costs_nothing(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await with_steps(at, work_step("Look"))
        at.model.model = ScriptedModel([fails("overflow")])
        plan = await at.approve(plan)
        assert plan.usage.requests == 0


async def test_a_draft_that_fails_is_counted(tmp_path: Path) -> None:
    broken = fails("unavailable", text="{", prompt_tokens=50, completion_tokens=7)
    async with studio(tmp_path, model=ScriptedModel([broken])) as at:
        created = await at.app.plans.create(CreateRequest(text="Build a form and its tests", mode="plan"))
        plan = await at.reach(created.plan, "ended")
        assert (plan.usage.requests, plan.usage.prompt_tokens) == (1, 50)


async def test_a_proposal_that_fails_is_counted(tmp_path: Path) -> None:
    async with studio(tmp_path, settings={"execution.onFailure": "model"}) as at:
        plan = await with_steps(at, tool_step("read_file", {"path": "missing.txt"}))
        at.model.model = ScriptedModel([fails("refused", prompt_tokens=50, completion_tokens=7)])
        plan = await at.until(await at.approve(plan), lambda now: bool(now.pending.recoveries))
        assert (plan.usage.requests, plan.usage.prompt_tokens) == (1, 50)


@pytest.mark.parametrize("context_tokens", [2_000, 8_000])
async def test_the_question_what_to_do_about_a_failed_step_fits_the_context(
    tmp_path: Path, context_tokens: int
) -> None:
    model = ScriptedModel(
        [says('{"action": "skip", "why": "Not needed."}')],
        capabilities=Capabilities(context_tokens=context_tokens),
    )
    async with studio(tmp_path, settings={"execution.onFailure": "model"}) as at:
        many = [
            StepChanges(description=f"Step {n} of many that say much", instruction="x") for n in range(100)
        ]
        step = tool_step("read_file", {"path": "missing.txt"}, instruction="Read what is missing. " * 2_000)
        plan = await with_steps(at, step, *many, more="The request says a lot of things. " * 2_000)
        at.model.model = model
        plan = await at.until(await at.approve(plan), lambda now: bool(now.pending.recoveries))
        (asked,) = model.requests
        room = context_tokens - (asked.max_tokens or 0)
        assert TokenCounter().request(asked) <= room
        text = asked.messages[-1].text
        for heading in ("USER REQUEST", "TASK LIST", "FAILED TASK", "ERROR (DATA)", "TOOLS"):
            assert heading in text
        assert "missing.txt" in text and "read_file" in text
        assert plan.pending.recoveries[0].proposal is not None


@pytest.mark.skipif(GIT is None or os.name == "nt", reason="git is stood in for by a shell script")
@pytest.mark.slow
async def test_a_listing_that_takes_long_after_a_command_is_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.02; done\nexec {GIT} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("planloom.execution.workspace_index.RESCAN_SECONDS", 0.05)
    settings = {"approvals.execute": "allow"}
    files = {
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/objects/x": "",
        ".git/refs/x": "",
        "a.txt": "a\n",
    }
    async with studio(tmp_path, files, settings=settings) as at:
        index = at.app.index.current()
        assert await index.wait_until_listed(at.patience)
        await index.update(())
        gate.unlink()
        plan = await with_steps(at, tool_step("run_command", {"command": "touch made.txt"}, agent="devo"))
        plan = await at.approve(plan)
        assert plan.status == "completed"
        gate.touch()
        async with asyncio.timeout(at.patience):
            await index.update(())
        assert await index.ending_with("made.txt") == ("made.txt",)


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.c", "c"),
        ("a.h", "c"),
        ("a.txt", "plaintext"),
        ("a.go", "go"),
        ("a.cpp", "cpp"),
        ("Dockerfile", "dockerfile"),
    ],
)
async def test_a_difference_names_the_language_as_editors_do(
    tmp_path: Path, name: str, language: str
) -> None:
    async with studio(tmp_path) as at:
        plan = await with_steps(at, tool_step("write_file", {"path": name, "content": "x\n"}))
        plan = await at.approve(plan)
        (asked,) = plan.pending.approvals
        shown = await at.app.approvals.diff(ApprovalId(asked.approval_id), Uri(asked.files[0].uri))
        assert shown.language_id == language
