"""Files are read again where they may have changed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from planloom.domain.values import Args
from planloom.models.offline.scripted import ScriptedModel, makes, says
from planloom.models.port import ModelEvent, ModelRequest
from tests.support.studio import studio

ALLOWED = {"approvals.write": "allow", "execution.review": "auto"}
OLD = {f"{name}.txt": f"This is {name}.\nIt has two lines.\n" for name in "abc"}


Call = tuple[str, Args]


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
