"""The templates that ship make valid plans, and what they write is right."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import pytest

from planloom.domain.plans.plan import Step
from planloom.domain.plans.templates import (
    Template,
    TemplateParameter,
    TemplateRefused,
    applied,
    preview,
)
from planloom.domain.plans.validation import problems
from planloom.domain.values import StepId, TemplateId
from planloom.planning import templates
from planloom.planning.port import PlanDrafted, PlanningRequest, StepDrafted
from planloom.planning.templates.builtin import builtin_templates
from planloom.planning.templates.planner import TemplatePlanner
from planloom.tools.registry import Registry, builtin
from tests.support.small_tools import small_tools

VALUES = {"name": "teapot", "file": "@src/app.py", "old": "brew", "new": "steep", "folder": "@src/"}


def filled(template: Template) -> tuple[Step, ...]:
    wanted = {parameter.name for parameter in template.parameters}
    steps = applied(template, {name: value for name, value in VALUES.items() if name in wanted})
    assert isinstance(steps, tuple)
    return steps


@pytest.mark.parametrize("template", builtin_templates(), ids=lambda template: template.template_id)
def test_a_bundled_template_makes_a_valid_plan(template: Template) -> None:
    steps = filled(template)
    assert problems(steps, builtin().rules(), sequential=template.sequential) == ()
    assert template.builtin
    assert template.description
    assert all(parameter.description for parameter in template.parameters)
    assert "{{" not in json.dumps([step.model_dump(mode="json") for step in steps])


def test_every_template_file_is_listed_under_its_own_name() -> None:
    files = {path.stem for path in Path(templates.__file__).parent.glob("*.json")}
    assert files == {template.template_id for template in builtin_templates()}


def test_there_are_five_templates() -> None:
    assert [template.name for template in builtin_templates()] == [
        "New Python package",
        "New TypeScript package",
        "Add tests for a file",
        "Rename across files",
        "Write docs for a folder",
    ]


def contents(template: Template) -> dict[str, str]:
    return {str(step.args["path"]): str(step.args["content"]) for step in filled(template) if step.args}


def test_the_python_package_is_python() -> None:
    files = contents(builtin_templates()[0])
    assert tomllib.loads(files["pyproject.toml"])["project"]["name"] == "teapot"
    for path in ("src/teapot/__init__.py", "tests/test_teapot.py"):
        ast.parse(files[path])
    assert "from teapot import greet" in files["tests/test_teapot.py"]


def test_the_typescript_package_has_a_manifest() -> None:
    files = contents(builtin_templates()[1])
    assert json.loads(files["package.json"])["name"] == "teapot"
    assert json.loads(files["tsconfig.json"])["compilerOptions"]["strict"] is True
    assert "`Hello, ${whom}!`" in files["src/index.ts"]


async def drafted(planner: TemplatePlanner, request: PlanningRequest) -> list[object]:
    return [event async for event in planner.draft(request)]


async def test_the_template_planner_says_its_steps() -> None:
    steps = filled(builtin_templates()[2])
    planner = TemplatePlanner("Tests", steps, small_tools(), sequential=True)
    *announced, plan = await drafted(planner, PlanningRequest(text="x"))
    assert [event.step for event in announced if isinstance(event, StepDrafted)] == list(steps)
    assert isinstance(plan, PlanDrafted)
    assert (plan.author, plan.steps) == ("template", steps)


async def test_a_call_without_its_tool_becomes_an_instruction() -> None:
    planner = TemplatePlanner("Tests", filled(builtin_templates()[2]), Registry(()), sequential=True)
    events = await drafted(planner, PlanningRequest(text="x"))
    plan = events[-1]
    assert isinstance(plan, PlanDrafted)
    assert {step.kind for step in plan.steps} == {"processing"}
    assert plan.steps[0].instruction == "Read @src/app.py."


TYPED = Template(
    template_id=TemplateId("t"),
    name="Typed",
    parameters=(
        TemplateParameter(name="where", type="path"),
        TemplateParameter(name="count", type="number", default="3"),
        TemplateParameter(name="kind", type="choice", options=("small", "large")),
    ),
    steps=(
        Step(step_id=StepId("a"), description="Write {{count}} {{kind}} files to {{where}}", instruction=""),
    ),
)


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({"where": "src", "kind": "small"}, {}),
        ({"where": "@src/a b.py", "kind": "large", "count": "-1.5"}, {}),
        ({"where": "/etc/passwd", "kind": "small"}, {"where": "it must be a path in the workspace"}),
        ({"where": "a/../../b", "kind": "small"}, {"where": "it must be a path in the workspace"}),
        ({"where": "C:\\x", "kind": "small"}, {"where": "it must be a path in the workspace"}),
        (
            {"where": " ", "kind": "huge", "count": "three"},
            {
                "where": "it is required",
                "count": "it must be a number",
                "kind": "it must be one of small, large",
            },
        ),
        ({"where": "src", "kind": "small", "who": "me"}, {"who": "the template has no such parameter"}),
    ],
)
def test_a_value_must_be_of_its_parameters_type(values: dict[str, str], problems: dict[str, str]) -> None:
    found = applied(TYPED, values)
    assert dict(found.problems if isinstance(found, TemplateRefused) else ()) == problems


def test_a_preview_shows_what_is_known_so_far() -> None:
    shown = preview(TYPED, {"kind": "small"})
    assert shown.steps[0].description == "Write 3 small files to {{where}}"
    assert shown.problems == (("where", "it is required"),)
