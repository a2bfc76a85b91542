"""The route of a request: by rules, or by a model if the rules are undecided and the settings allow it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.intake.detection import detect
from planloom.models.offline.scripted import ScriptedModel, fails, says
from tests.support.studio import studio

AMBIGUOUS = "Räum bitte die Küche auf"


def verdict(planned: bool) -> str:
    return json.dumps(
        {
            "planned": planned,
            "task_type": "code",
            "complexity": "moderate",
            "risk_level": "low",
            "reason": "It takes several steps.",
        }
    )


PLAN = json.dumps({"steps": [{"id": "a", "description": "Tidy", "instruction": "Tidy up", "dependsOn": []}]})


@pytest.mark.parametrize("text", [AMBIGUOUS, "Can you make the tabs wider?"])
@pytest.mark.parametrize(("planned", "route"), [(True, "plan"), (False, "direct")])
async def test_a_model_is_asked_about_an_ambiguous_request(
    tmp_path: Path, text: str, planned: bool, route: str
) -> None:
    assert detect(text).ambiguous
    rest = says(PLAN) if planned else says("It is tidy.")
    model = ScriptedModel([says(verdict(planned)), rest])
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(text)
        assert (plan.route, plan.detection is not None and plan.detection.rule) == (route, "model")
        assert at.types()[:2] == ["plan_start", "plan_routed"]
        assert at.events[0].event.route == "undecided"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({"planning.classifyWithModel": "never"}, ScriptedModel([says(PLAN, repeat=True)])),
        ({}, None),
    ],
    ids=["not wanted", "no model"],
)
async def test_the_rules_decide_alone(tmp_path: Path, settings: Any, model: Any) -> None:
    async with studio(tmp_path, model=model, settings=settings) as at:
        plan = await at.ask(AMBIGUOUS)
        assert plan.route == "plan" and "plan_routed" not in at.types()


async def test_what_the_rules_are_unsure_of_runs_directly_by_setting(tmp_path: Path) -> None:
    model = ScriptedModel([says("It is tidy.", repeat=True)])
    settings = {"planning.classifyWithModel": "never", "planning.whenUnsure": "direct"}
    async with studio(tmp_path, model=model, settings=settings) as at:
        assert (await at.ask(AMBIGUOUS)).route == "direct"


async def test_a_model_that_gives_no_verdict_leaves_it_to_the_rules(tmp_path: Path) -> None:
    model = ScriptedModel([fails("unavailable"), says(PLAN, repeat=True)])
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(AMBIGUOUS)
        assert plan.route == "plan" and plan.detection is not None and plan.detection.rule == "unsure"
