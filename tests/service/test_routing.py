"""The route of a request: by rules, or by a model if the rules are undecided and the settings allow it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.intake.routing.detection import detect
from planloom.models.offline.scripted import ScriptedModel, fails, makes, says
from planloom.models.port import Capabilities
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


NO_TOOLS = Capabilities(json_schema=True, context_tokens=100_000)
LEAN = Capabilities(tools=True, context_tokens=100_000, lean=True)
STRONG = Capabilities(tools=True, context_tokens=100_000)
STEPS = [
    {"id": "a", "description": "Sweep", "instruction": "Sweep the floor in a.txt"},
    {"id": "b", "description": "Wipe", "instruction": "Wipe the table in a.txt", "dependsOn": ["a"]},
]
SUBMIT = makes(("submit_plan", {"summary": "Tidy.", "steps": STEPS}))
READ = makes(("read_file", {"path": "a.txt"}))


@pytest.mark.parametrize("text", [AMBIGUOUS, "Can you make the tabs wider?"])
async def test_a_model_that_takes_tools_works_on_an_ambiguous_request_at_once(
    tmp_path: Path, text: str
) -> None:
    write = makes(("write_file", {"path": "b.txt", "content": "b"}), ("task_completed", {"summary": "Done."}))
    model = ScriptedModel([write], capabilities=STRONG)
    async with studio(tmp_path, model=model) as at:
        plan = await at.respond(await at.ask(text))
        assert (plan.status, plan.route, at.text("b.txt")) == ("completed", "direct", "b")
        assert plan.detection is not None and plan.detection.rule == "model"
        assert len(model.requests) == 1


@pytest.mark.parametrize("text", [AMBIGUOUS, "What is in a.txt?"])
async def test_a_plan_that_is_submitted_is_reviewed_and_goes_on_in_the_same_conversation(
    tmp_path: Path, text: str
) -> None:
    """A question, too, can turn out to be work: nothing that was read is lost, and nothing is changed unasked."""
    model = ScriptedModel(
        [
            READ,
            SUBMIT,
            makes(
                ("write_file", {"path": "a.txt", "content": "swept"}), ("task_completed", {"summary": "1."})
            ),
            makes(("final_answer", {"text": "Wiped."})),
            makes(("final_answer", {"text": "Wiped."})),
        ],
        capabilities=STRONG,
    )
    async with studio(tmp_path, {"a.txt": "dusty"}, model=model) as at:
        plan = await at.ask(text)
        assert (plan.status, plan.route, at.text("a.txt")) == ("pending_approval", "plan", "dusty")
        assert [(step.description, tuple(step.depends_on)) for step in plan.steps] == [
            ("Sweep", ()),
            ("Wipe", ("a",)),
        ]
        await at.respond(await at.approve(plan))
        first, *later = model.requests
        assert at.text("a.txt") == "swept"
        assert all(request.messages[: len(first.messages)] == first.messages for request in later)
        if text == AMBIGUOUS:
            assert all(request.tools == first.tools for request in later)
        assert "The user has approved the plan." in str(model.requests[2].messages)


async def test_a_question_is_answered_without_changing_anything(tmp_path: Path) -> None:
    edit = makes(("edit_file", {"path": "a.txt", "old_text": "dusty", "new_text": "clean"}))
    answer = makes(("final_answer", {"text": "It is dusty."}))
    model = ScriptedModel([edit, answer], capabilities=STRONG)
    async with studio(tmp_path, {"a.txt": "dusty"}, model=model) as at:
        plan = await at.ask("What is in a.txt?")
        assert (plan.status, plan.route, at.text("a.txt")) == ("completed", "direct", "dusty")
        assert "call submit_plan with its steps" in str(model.requests[1].messages)


async def test_what_decides_by_its_weight_is_planned_without_asking_the_model(tmp_path: Path) -> None:
    model = ScriptedModel([SUBMIT], capabilities=STRONG)
    settings = {"planning.perspectives": "never"}
    async with studio(tmp_path, model=model, settings=settings) as at:
        plan = await at.ask("Lösche alle Benutzer aus der Kundendatenbank")
        assert (plan.route, plan.status, len(model.requests)) == ("plan", "pending_approval", 1)


@pytest.mark.parametrize("text", [AMBIGUOUS, "Can you make the tabs wider?"])
@pytest.mark.parametrize(("planned", "route"), [(True, "plan"), (False, "direct")])
@pytest.mark.parametrize("can", [NO_TOOLS, LEAN], ids=["no tools", "lean"])
async def test_another_model_is_asked_about_an_ambiguous_request(
    tmp_path: Path, text: str, planned: bool, route: str, can: Capabilities
) -> None:
    assert detect(text).ambiguous
    rest = says(PLAN) if planned else says("It is tidy.")
    model = ScriptedModel([says(verdict(planned)), rest], capabilities=can)
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
    model = ScriptedModel([fails("unavailable"), says(PLAN, repeat=True)], capabilities=NO_TOOLS)
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(AMBIGUOUS)
        assert plan.route == "plan" and plan.detection is not None and plan.detection.rule == "unsure"
