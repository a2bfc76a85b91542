"""Templates: filled in, and made from plans."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.plans.plan import Check, ExpectedTool, Step
from planloom.domain.plans.templates import Template, TemplateParameter, TemplateRefused, applied, template_of
from planloom.domain.values import StepId, TemplateId


def step(**fields: Any) -> Step:
    return Step(**({"step_id": StepId("a"), "description": "d", "instruction": "i"} | fields))


def template(*steps: Step, **defaults: str | None) -> Template:
    parameters = tuple(TemplateParameter(name=name, default=value) for name, value in defaults.items())
    return Template(template_id=TemplateId("t"), name="T", steps=steps, parameters=parameters)


def test_every_text_of_a_step_is_filled_in() -> None:
    made = step(
        description="Read {{file}}",
        instruction="{{ file }} and {{other}}",
        kind="tool_call",
        tool="read_file",
        args={"path": "{{file}}", "deep": [{"x": "{{file}}"}], "n": 1},
        checks=(Check(kind="file_exists", path="{{file}}"),),
        expected_files=("{{file}}",),
        tools_to_execute=(ExpectedTool(tool="t", args={"path": "{{file}}"}),),
    )
    (result,) = applied(template(made, file=None), {"file": "@a.py"})  # type: ignore[misc]
    assert result.description == "Read @a.py"
    assert result.instruction == "@a.py and {{other}}"
    assert result.args == {"path": "a.py", "deep": [{"x": "@a.py"}], "n": 1}
    assert result.checks[0].path == "@a.py"
    assert result.expected_files == ("a.py",)
    assert result.tools_to_execute[0].args == {"path": "@a.py"}


def test_a_value_is_never_looked_into() -> None:
    made = step(description="{{a}} {{b}}", args={"text": "{{a}}", "more": "x{{a}}"})
    (result,) = applied(template(made, a=None, b="B"), {"a": "{{b}} $x"})  # type: ignore[misc]
    assert result.description == "{{b}} $x B"
    (result,) = applied(template(made, a=None, b="B"), {"a": "$x"})  # type: ignore[misc]
    assert result.args == {"text": "$$x", "more": "x$x"}


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({}, (("a", "it is required"),)),
        ({"a": " "}, (("a", "it is required"),)),
        ({"a": "x", "z": "y"}, (("z", "the template has no such parameter"),)),
    ],
)
def test_missing_and_unknown_parameters_are_named(values: dict[str, str], problems: Any) -> None:
    assert applied(template(step(), a=None, b="d"), values) == TemplateRefused(problems=problems)


def test_a_plan_becomes_a_template() -> None:
    done = step(description="Write src/shop.py", args={"path": "src/shop.py"}, status="completed", attempts=2)
    made = template_of(
        [done],
        template_id=TemplateId("t"),
        name=" Shop ",
        parameters=[("short", "shop"), ("file", "src/shop.py")],
    )
    assert isinstance(made, Template)
    assert made.steps[0].description == "Write {{file}}"
    assert made.steps[0].args == {"path": "{{file}}"}
    assert (made.steps[0].status, made.steps[0].attempts) == ("pending", 0)
    assert [(each.name, each.default) for each in made.parameters] == [
        ("short", "shop"),
        ("file", "src/shop.py"),
    ]
    assert made.name == "Shop"


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ([("1a", "x")], "1a"),
        ([("a b", "x")], "a b"),
        ([("a", "")], "a"),
        ([("a", "x"), ("a", "y")], "a"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: Any, name: str) -> None:
    refused = template_of([step()], template_id=TemplateId("t"), name="T", parameters=parameters)
    assert isinstance(refused, TemplateRefused)
    assert refused.problems[0][0] == name


@given(st.text(max_size=60), st.text(min_size=1, max_size=5).filter(str.strip))
def test_saving_and_applying_gives_the_same_plan(text: str, value: str) -> None:
    text = text.replace("{{", "").replace("}}", "")
    plan = step(description=f"{text}{value}", instruction=text, args={"text": f"x{text}{value}"})
    made = template_of([plan], template_id=TemplateId("t"), name="T", parameters=[("v", value)])
    assert isinstance(made, Template)
    if "{{" not in plan.description and "{" not in value and "}" not in value:
        assert applied(made, {}) == (plan,)
