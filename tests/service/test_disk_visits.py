"""How often a request goes to the disk and to the ledger: what has not changed is not looked up again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.values import Args
from planloom.models.offline.scripted import ScriptedModel, makes, says
from planloom.storage.ledger import Ledger
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
    [(written("new/"), 17), (written(""), 16), (edited(), 15), (read(), 11)],
    ids=["new files in a new folder", "new files beside others", "edits", "reads"],
)
async def test_three_files_of_one_answer_cost_few_visits_to_the_disk(
    tmp_path: Path, calls: list[Call], most: int
) -> None:
    executor = CountingExecutor()
    asyncio.get_running_loop().set_default_executor(executor)
    model = ScriptedModel([makes(*calls), says("Done.")])
    async with studio(tmp_path, OLD, model=model, settings=ALLOWED) as at:
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
