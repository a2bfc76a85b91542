"""What a plan found and did is kept for later plans of its workspace, and told where a request is about the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.plans.plan import Plan
from planloom.models.offline.scripted import ScriptedModel, Turn, makes
from planloom.models.port import ModelRequest
from planloom.service.memory import entry_of
from planloom.storage.ledger import Ledger
from tests.support.studio import studio

HEADING = "EARLIER PLANS (data)"
REQUEST = "Cache the exchange rates for an hour"
FOUND = "ExchangeRates.fetch is wrapped by a TTL cache; a failed fetch serves the stale rate."
LATER = "Why are the exchange rates stale, is the cache wrong?"
WRITES = makes(("write_file", {"path": "fx/rates.py", "content": "TTL = 3600\n"}))
ALLOWED = {"approvals.write": "allow", "execution.review": "auto"}


def works(*turns: Turn, summary: str = FOUND) -> ScriptedModel:
    """A model that makes these turns, then says that its task is done."""
    return ScriptedModel([*turns, makes(("task_completed", {"summary": summary}))])


def answers() -> ScriptedModel:
    return ScriptedModel([makes(("list_files", {}), ("final_answer", {"text": "Yes."}))])


def text_of(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


async def worked(folder: Path, ledger: Path, request: str = REQUEST, **more: Any) -> Plan:
    """A plan of a session of its own, which has ended."""
    model = more.pop("model", None) or works(WRITES)
    async with studio(folder, model=model, ledger=ledger, settings=ALLOWED, **more) as at:
        plan = await at.run(request, mode="direct")
        assert plan.status == "completed"
        return plan


async def told(folder: Path, ledger: Path, request: str = LATER, **more: Any) -> str:
    """What the first prompt of a new session's request says of earlier plans."""
    model = answers()
    async with studio(folder, model=model, ledger=ledger, **more) as at:
        await at.run(request, mode="direct")
        _, heading, after = text_of(model.requests[0]).partition(HEADING)
        return after.partition("\n\n")[0].strip() if heading else ""


async def test_another_project_at_the_same_path_is_told_nothing(tmp_path: Path, ledger: Path) -> None:
    await worked(tmp_path, ledger)
    assert await told(tmp_path, ledger)
    (tmp_path / "workspace").rename(tmp_path / "before")
    assert not await told(tmp_path, ledger)
    async with studio(tmp_path, ledger=ledger) as at:
        assert not at.app.memory.search("", 10) and not at.app.memory.search(REQUEST, 10)
    (tmp_path / "workspace").rename(tmp_path / "other")
    (tmp_path / "before").rename(tmp_path / "workspace")
    assert await told(tmp_path, ledger)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "l.db"


async def test_a_later_session_is_told_what_a_plan_on_the_same_subject_found(
    tmp_path: Path, ledger: Path
) -> None:
    await worked(tmp_path, ledger)
    line = await told(tmp_path, ledger)
    assert "completed: “Cache the exchange rates for an hour” | " in line
    assert FOUND.partition(";")[0] in line and line.endswith("| Files: fx/rates.py")
    assert "Cache the exchange" in await told(tmp_path, ledger, "Tidy up @fx/rates.py")


@pytest.mark.parametrize(
    "request_",
    ["Create a tic-tac-toe game", "Write tests for fx/pairs.py", "How many lines do the files have?"],
)
async def test_a_request_on_another_subject_is_told_nothing(
    tmp_path: Path, ledger: Path, request_: str
) -> None:
    await worked(tmp_path, ledger)
    assert await told(tmp_path, ledger, request_) == ""


@pytest.mark.parametrize(
    "more",
    [{"settings": {"context.memory": False}}, {"settings": {"approvals.read": "deny"}}, {"trusted": False}],
    ids=["off", "no reading", "no trust"],
)
async def test_models_are_told_only_where_that_is_wanted(
    tmp_path: Path, ledger: Path, more: Mapping[str, Any]
) -> None:
    await worked(tmp_path, ledger)
    assert await told(tmp_path, ledger, **more) == ""


async def test_nothing_is_kept_while_it_is_off(tmp_path: Path, ledger: Path) -> None:
    async with studio(
        tmp_path, model=works(WRITES), ledger=ledger, settings={**ALLOWED, "context.memory": False}
    ) as at:
        await at.run(REQUEST, mode="direct")
        assert at.app.memory.search("", 10) == ()


async def test_another_workspace_is_told_nothing(tmp_path: Path, ledger: Path) -> None:
    await worked(tmp_path, ledger)
    other = tmp_path / "other"
    other.mkdir()
    assert await told(other, ledger) == ""


async def test_the_previous_plan_of_the_session_is_not_told_twice(tmp_path: Path) -> None:
    async with studio(tmp_path, model=works(WRITES), settings=ALLOWED) as at:
        await at.run(REQUEST, mode="direct")
        at.model.model = model = answers()
        await at.run(LATER, mode="direct")
        prompt = text_of(model.requests[0])
        assert "EARLIER IN THIS SESSION" in prompt and HEADING not in prompt


async def test_the_same_request_again_is_told_only_what_the_user_decided(
    tmp_path: Path, ledger: Path
) -> None:
    plan = await worked(tmp_path, ledger)
    assert await told(tmp_path, ledger, REQUEST) == ""
    async with studio(tmp_path, ledger=ledger) as at:
        await at.app.plans.undo(plan.plan_id, None, redo=False)
        at.model.model = model = answers()
        await at.run(REQUEST, mode="direct")
        assert "The user has undone it." in text_of(model.requests[0])


async def test_what_the_user_decided_is_kept(tmp_path: Path, ledger: Path) -> None:
    async with studio(tmp_path, model=works(WRITES), ledger=ledger, settings=ALLOWED) as at:
        plan = await at.run(REQUEST, mode="direct")
        (kept,) = at.app.memory.search("exchange", 10)
        assert (kept.plan_id, kept.files, kept.findings) == (plan.plan_id, ("fx/rates.py",), (FOUND,))
        await at.app.plans.undo(plan.plan_id, None, redo=False)
        (kept,) = at.app.memory.search("exchange", 10)
        assert kept.decisions == ("The user has undone it.",) and kept.files == ()
        at.model.model = None
        rejected = await at.ask("1. Create file a.txt\n2. Create file b.txt", mode="plan")
        await at.app.plans.reject(rejected.plan_id, "No text files, please.")
        (kept,) = at.app.memory.search("a.txt", 10)
        assert kept.decisions == ("The user rejected it: No text files, please.",)


async def test_keys_are_masked_in_what_is_kept(tmp_path: Path) -> None:
    key = "ghp_" + "a1" * 18
    async with studio(tmp_path, model=works(WRITES, summary=f"It uses {key}."), settings=ALLOWED) as at:
        await at.run(f"{REQUEST}, the key is {key}", mode="direct")
        (kept,) = at.app.memory.search("", 10)
        assert key not in kept.model_dump_json() and kept.findings == ("It uses [key].",)


@pytest.mark.slow
async def test_a_request_that_names_very_many_files_is_kept_and_searched(
    tmp_path: Path, ledger: Path
) -> None:
    odd = f"{REQUEST} " + " ".join(f"src/f{n}.py" for n in range(40_000))
    await worked(tmp_path, ledger, odd)
    async with studio(tmp_path, ledger=ledger) as at:
        (kept,) = at.app.memory.search(odd, 10)
        assert kept.request.startswith(REQUEST) and len(kept.request) <= 500
        assert at.app._ledger.problem is None


async def test_what_is_kept_goes_with_its_plan_or_is_forgotten(tmp_path: Path, ledger: Path) -> None:
    first = await worked(tmp_path, ledger)
    second = await worked(tmp_path, ledger, "Explain the cache of the rates")
    async with studio(tmp_path, ledger=ledger) as at:
        assert [each.plan_id for each in at.app.memory.search("", 10)] == [second.plan_id, first.plan_id]
        await at.app.plans.delete(second.plan_id)
        assert [each.plan_id for each in at.app.memory.search("rates", 10)] == [first.plan_id]
        assert at.app.memory.forget(first.plan_id) == 1 and at.app.memory.search("", 10) == ()
        assert at.now(first).status == "completed"
        assert at.app.memory.forget(None) == 0
    assert await told(tmp_path, ledger) == ""
    with Ledger(ledger)._transaction(durable=False) as connection:
        for table in ("memory", "memory_terms"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.parametrize("tool", ["fetch_url", "box__look"])
async def test_what_a_step_says_that_has_fetched_a_page_is_not_kept(tmp_path: Path, tool: str) -> None:
    """Nor what a step says that has called a tool of a server."""
    async with studio(tmp_path, model=works(WRITES), settings=ALLOWED) as at:
        plan = await at.run(REQUEST, mode="direct")
        assert entry_of(plan).findings == (FOUND,)
        (step,) = plan.steps
        fetched = step.tools_executed[0].model_copy(update={"tool": tool})
        steps = plan.steps.replaced({0: step.model_copy(update={"tools_executed": (fetched,)})})
        assert entry_of(plan.model_copy(update={"steps": steps, "answer": FOUND})).findings == ()


async def test_a_damaged_entry_is_left_out(tmp_path: Path) -> None:
    async with studio(tmp_path, model=works(WRITES), settings=ALLOWED) as at:
        await at.run(REQUEST, mode="direct")
        with at.app._ledger._transaction(durable=False) as connection:
            connection.execute("UPDATE memory SET body = 'x'")
        assert at.app.memory.search("", 10) == ()


async def test_an_entry_that_cannot_be_read_is_forgotten_too(tmp_path: Path, ledger: Path) -> None:
    plans = [await worked(tmp_path, ledger) for _ in range(3)]
    with Ledger(ledger)._transaction(durable=False) as connection:
        connection.execute("UPDATE memory SET body = '{'")
    async with studio(tmp_path, ledger=ledger) as at:
        assert at.app.memory.search("", 10) == ()
        assert at.app.memory.forget(plans[0].plan_id) == 1
        assert at.app.memory.forget(None) == 2
