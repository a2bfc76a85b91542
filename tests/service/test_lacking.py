"""Tools that cannot work in a workspace or an editor are not shown to models."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from planloom.domain.events import catalog as ev
from planloom.models.offline.scripted import ALL, ScriptedModel, Turn, makes, says
from planloom.models.port import Capabilities, ModelRequest
from planloom.tools.registry import builtin
from tests.support.fake_editor import EVERYTHING
from tests.support.fake_language import FakeLanguage
from tests.support.studio import studio

OF_GIT = {"git_status", "git_diff", "git_log"}
OF_EDITOR = {"read_diagnostics"}
OF_LANGUAGE = {"find_symbol", "find_references", "rename_symbol", "code_action"}
NEEDY = OF_GIT | OF_EDITOR | OF_LANGUAGE
OF_BACKGROUND = {"read_output", "stop_command"}
STEP = {"id": "note", "description": "Write a note"}
CONSTRAINED = ALL._replace(tools=False)
WRITE = ("write_file", {"path": "note.txt", "content": "x\n"})
DONE = ("task_completed", {"summary": "It is written."})
WAYS = {
    "native direct": ("direct", ALL, makes(WRITE, DONE)),
    "native planned": (
        "plan",
        ALL,
        makes(("submit_plan", {"steps": [{**STEP, "instruction": "Write it."}]})),
    ),
    "JSON direct": (
        "direct",
        CONSTRAINED,
        says(json.dumps({"tool_calls": [{"name": WRITE[0], **WRITE[1]}], "task_completed": "Done."})),
    ),
    "JSON planned": (
        "plan",
        CONSTRAINED,
        says(json.dumps({"steps": [{**STEP, "call": {"name": WRITE[0], **WRITE[1]}}]})),
    ),
}


class Engine(ScriptedModel):
    def __init__(self, turns: Collection[Turn], can: Capabilities) -> None:
        super().__init__(tuple(turns))
        self._can = can

    async def capabilities(self) -> Capabilities:
        return self._can


def told(request: ModelRequest) -> set[str]:
    """The needy tools of which any part of the request tells."""
    whole = request.model_dump_json()
    return {name for name in NEEDY if name in whole}


def offered(request: ModelRequest) -> set[str]:
    """Of the tools that follow a command, those that the model can call."""
    takes = json.dumps([[tool.name for tool in request.tools], request.response_schema])
    return {name for name in OF_BACKGROUND if name in takes}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("repository", "diagnostics", "expected"),
    [
        ("", False, set[str]()),
        ("", True, OF_EDITOR),
        ("workspace/.git", False, OF_GIT),
        (".git", True, OF_GIT | OF_EDITOR),
    ],
    ids=["nothing", "an editor's diagnostics", "a repository", "a repository above, and diagnostics"],
)
async def test_a_model_is_told_of_the_tools_that_can_work(
    tmp_path: Path, way: str, repository: str, diagnostics: bool, expected: Collection[str]
) -> None:
    mode, can, answer = WAYS[way]
    if repository:
        (tmp_path / repository).mkdir(parents=True)
    model = Engine([answer], can)
    capabilities = EVERYTHING._replace(diagnostics=diagnostics)
    async with studio(tmp_path, model=model, capabilities=capabilities) as at:
        await at.ask("Write a note", mode=mode)
        assert [told(request) for request in model.requests[:1]] == [expected]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"src/a.py": ""}, OF_LANGUAGE | OF_EDITOR),
        ({"a.md": ""}, set[str]()),
        ({}, set[str]()),
    ],
    ids=["a file that is served", "no such file", "no file"],
)
async def test_symbols_are_offered_where_somebody_knows_a_file(
    tmp_path: Path, way: str, files: dict[str, str], expected: Collection[str]
) -> None:
    mode, can, answer = WAYS[way]
    model = Engine([answer], can)
    language = FakeLanguage(tmp_path / "workspace")
    capabilities = EVERYTHING._replace(diagnostics=False)
    async with studio(tmp_path, files, model=model, capabilities=capabilities, language=language) as at:
        await at.ask("Write a note", mode=mode)
        assert [told(request) for request in model.requests[:1]] == [expected]
        assert not language.asked


async def test_a_plan_keeps_its_tools_while_a_repository_comes_to_be(tmp_path: Path) -> None:
    model = ScriptedModel([WAYS["native planned"][2], makes(WRITE, DONE), WAYS["native planned"][2]])
    async with studio(tmp_path, model=model, settings={"approvals.review": "auto"}) as at:
        plan = await at.ask("Write a note", mode="plan")
        at.path(".git").mkdir()
        await at.approve(plan)
        first, second = (request.tools for request in model.requests)
        assert first == second and not OF_GIT & {tool.name for tool in first}
        await at.ask("Write another note", mode="plan")
        assert {tool.name for tool in model.requests[2].tools} >= OF_GIT


@pytest.mark.skipif(sys.platform == "win32", reason="this is a shell command")
@pytest.mark.parametrize("can", [ALL, CONSTRAINED], ids=["native", "JSON"])
@pytest.mark.slow
async def test_what_follows_a_command_is_shown_from_the_first_request(
    tmp_path: Path, can: Capabilities
) -> None:
    work: list[tuple[str, dict[str, object]]] = [
        ("run_command", {"command": "true"}),
        ("run_command", {"command": "exec sleep 60", "background": True}),
        ("stop_command", {"command_id": "c1"}),
    ]
    answers = [
        makes(call) if can.tools else says(json.dumps({"tool_calls": [{"name": call[0], **call[1]}]}))
        for call in work
    ]
    model = Engine([*answers, says("All done.") if can.tools else says('{"final_answer": "All done."}')], can)
    async with studio(tmp_path, model=model, settings={"approvals.execute": "allow"}) as at:
        plan = await at.run("Look after the server.", mode="direct")
        assert plan.status == "completed"
        ends = [record.event.reason for record in at.events if isinstance(record.event, ev.BackgroundEnded)]
        assert ends == ["stopped"]
    assert list(map(offered, model.requests)) == [OF_BACKGROUND] * 4


@pytest.mark.parametrize("can", [ALL, CONSTRAINED], ids=["native", "JSON"])
async def test_only_a_model_that_can_change_the_rest_of_its_plan_is_told_how(
    tmp_path: Path, can: Capabilities
) -> None:
    plan = {"steps": [{**STEP, "instruction": "Write it."}]}
    answers = (
        [makes(("submit_plan", plan)), makes(WRITE, DONE)]
        if can.tools
        else [says(json.dumps(plan)), WAYS["JSON direct"][2]]
    )
    model = Engine(answers, can)
    async with studio(tmp_path, model=model, settings={"approvals.review": "auto"}) as at:
        assert (await at.run("Write a note", mode="plan")).status == "completed"
    _, work = model.requests
    told = "\n".join(message.text for message in work.messages)
    assert ("call submit_plan with all of them anew" in told) == can.tools
    assert any(tool.name == "submit_plan" for tool in work.tools) == can.tools


def test_a_tool_that_is_not_shown_can_still_be_called() -> None:
    tools = builtin().where({"repository", "language"}).before_commands().only({"read"})
    assert not OF_GIT & {spec.name for spec in tools.specs()}
    assert set(tools.names()) >= OF_GIT and set(tools.rules()) >= OF_GIT
