"""Models that print each answer as one JSON object finish a plan, and nobody is shown the object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.events import catalog as ev
from planloom.models.offline.scripted import ScriptedModel, says
from planloom.models.port import Capabilities
from tests.service.test_model_work import WEBAPP, allowed, asked, planned
from tests.support.studio import studio


def prints(**fields: Any) -> Any:
    return says(json.dumps(fields, indent=2))


def write(path: str) -> dict[str, Any]:
    return {"name": "write_file", "arguments": {"path": path, "content": "<!doctype html>\n"}}


@pytest.mark.parametrize("can", [Capabilities(tools=True), Capabilities()], ids=["native", "text"])
async def test_a_plan_ends_by_printed_answers(tmp_path: Path, can: Capabilities) -> None:
    model = ScriptedModel(
        [
            prints(reasoning="The page first.", tool_calls=[write("index.html")], task_completed=None),
            prints(reasoning="It is there.", tool_calls=[], task_completed="Wrote index.html."),
            prints(tool_calls=[write("about.html")], task_completed="Wrote about.html.", final_answer=None),
            prints(tool_calls=[write("news.html")]),
            prints(tool_calls=[], final_answer="The site has three pages.", confidence="high"),
        ],
        capabilities=can,
    )
    async with studio(tmp_path) as at:
        plan = await planned(
            at,
            WEBAPP,
            ("Write index.html", "a page"),
            ("Write about.html", "a page"),
            ("Write news.html", "a page"),
        )
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed", plan
        assert [step.result.summary for step in plan.steps if step.result] == [
            "Wrote index.html.",
            "Wrote about.html.",
            "The site has three pages.",
        ]
        assert plan.answer == "The site has three pages."
        assert not any('"task_completed":' in asked(request) for request in model.requests)


@pytest.mark.parametrize("can", [Capabilities(tools=True), Capabilities(json_schema=True), Capabilities()])
async def test_a_simple_answer_is_shown_in_words(tmp_path: Path, can: Capabilities) -> None:
    model = ScriptedModel([prints(answer="4", confidence="high")], capabilities=can)
    async with studio(tmp_path, model=model) as at:
        plan = await at.run("What is 2+2?")
        assert plan.answer == "4", plan
        told = [each.event for each in at.events if isinstance(each.event, ev.Answer)]
        assert [(each.text, each.confidence) for each in told] == [("4", "high")]
