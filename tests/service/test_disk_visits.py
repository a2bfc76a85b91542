"""How often a request goes to the disk and to the ledger: what has not changed is not looked up again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.values import Args
from planloom.models.offline.scripted import ScriptedModel, makes, says
from planloom.models.port import ModelEvent, ModelRequest
from planloom.storage.ledger import Ledger
from tests.support.fake_editor import EVERYTHING
from tests.support.studio import studio

ALLOWED = {"approvals.write": "allow", "execution.review": "auto"}
OLD = {f"{name}.txt": f"This is {name}.\nIt has two lines.\n" for name in "abc"}


Call = tuple[str, Args]


class CountingExecutor(ThreadPoolExecutor):
    """Runs what blocks, and counts it."""

    visits = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.visits += 1
        return super().submit(fn, *args, **kwargs)


def written(folder: str) -> list[Call]:
    text = "One line.\nAnother one.\n"
    return [("write_file", {"path": f"{folder}{name}.txt", "content": text}) for name in "xyz"]


def edited() -> list[Call]:
    return [("edit_file", {"path": name, "old_text": "two", "new_text": "2"}) for name in sorted(OLD)]


def read() -> list[Call]:
    return [("read_file", {"path": name}) for name in sorted(OLD)]


@pytest.mark.parametrize(
    ("calls", "most"),
    [(written("new/"), 14), (written(""), 13), (edited(), 10), (read(), 6)],
    ids=["new files in a new folder", "new files beside others", "edits", "reads"],
)
async def test_three_files_of_one_answer_cost_few_visits_to_the_disk(
    tmp_path: Path, calls: list[Call], most: int
) -> None:
    executor = CountingExecutor()
    asyncio.get_running_loop().set_default_executor(executor)
    model = ScriptedModel([makes(*calls), says("Done.")])
    able = EVERYTHING._replace(create_contents=True, create_folders=True)
    async with studio(tmp_path, OLD, model=model, settings=ALLOWED, capabilities=able) as at:
        assert await at.app.index.current().wait_until_listed(10)
        executor.visits = 0
        plan = await at.ask("Do it in the three files", mode="direct")
        assert plan.status == "completed", plan.error
        assert [edit.state for edit in plan.edits] == ([] if calls == read() else ["applied"])
        assert executor.visits <= most, executor.visits


async def test_three_files_of_one_answer_cost_few_looks_at_the_ledger(tmp_path: Path) -> None:
    statements: list[str] = []

    def watched(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = sqlite3.connect(*args, **options)
        connection.set_trace_callback(statements.append)
        return connection

    model = ScriptedModel([makes(*written("")), says("Done.")])
    ledger = Ledger(tmp_path / "ledger.sqlite3", connect=watched)
    async with studio(tmp_path, model=model, settings=ALLOWED, ledger=ledger) as at:
        assert await at.app.index.current().wait_until_listed(10)
        statements.clear()
        plan = await at.ask("Do it in the three files", mode="direct")
        assert plan.status == "completed", plan.error
    # A transaction for each event, for the texts of the edit and for what is remembered of the plan; and looks for
    # another program's lock, which are rolled back.
    assert statements.count("COMMIT") <= 19, statements
    assert statements.count("ROLLBACK") <= 12, statements


async def test_calls_behind_a_command_see_what_it_has_changed(tmp_path: Path) -> None:
    calls: list[Call] = [
        ("read_file", {"path": "a.txt"}),
        ("run_command", {"command": "echo changed > b.txt"}),
        ("read_file", {"path": "b.txt"}),
        ("read_file", {"path": "a.txt"}),
    ]
    model = ScriptedModel([makes(*calls), says("Done.")])
    settings = {**ALLOWED, "approvals.execute": "allow"}
    async with studio(tmp_path, OLD, model=model, settings=settings) as at:
        plan = await at.ask("Change b.txt by a command, and read it", mode="direct")
        assert plan.status == "completed", plan.error
    results = [message.text for message in model.requests[1].messages if message.role == "tool"]
    assert ["changed" in result for result in results] == [False, False, True, False]


async def test_a_file_that_changes_between_two_answers_is_read_anew(tmp_path: Path) -> None:
    class Changing(ScriptedModel):
        """A model beside which somebody changes a file before its second answer."""

        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
            if self.requests:
                (tmp_path / "workspace/a.txt").write_text("New.\n")
            async with aclosing(super().stream(request)) as events:
                async for event in events:
                    yield event

    reads: list[Call] = [("read_file", {"path": name}) for name in ("a.txt", "b.txt")]
    model = Changing([makes(*reads), makes(*reads), says("Done.")])
    async with studio(tmp_path, OLD, model=model, settings=ALLOWED) as at:
        plan = await at.ask("Read a.txt twice", mode="direct")
        assert plan.status == "completed", plan.error
    results = [message.text for message in model.requests[2].messages if message.role == "tool"]
    assert ["New." in result for result in results] == [False, False, True, False]
