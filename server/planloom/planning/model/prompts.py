"""The prompts that ask a model for a plan. Parts that stay the same between calls come first, for prompt caches."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from planloom.agent.prompt_frame import framed, one_line, section
from planloom.domain.plans.outputs import shape_of
from planloom.domain.plans.plan import Step
from planloom.domain.plans.templates import Template
from planloom.domain.plans.validation import Problem
from planloom.domain.values import StepId
from planloom.intake.render import Rendered
from planloom.models.tool_lines import short_line
from planloom.planning.port import PlanningRequest
from planloom.tools.registry import Registry

PlanStyle = Literal["json", "markers"]

_TEXTS = Path(__file__).parent / "texts"
_EXAMPLE_REQUEST = "Add a function that adds two numbers, with a test."
_CALLS_REQUEST = "Make an empty page for reports, and link to it."

_TO_REVISE = """THE PLAN SO FAR
Give the whole plan anew, revised as the feedback says. A step that stays keeps its id and its words. Repeat a step that
is marked [edited by the user] unchanged, unless the feedback speaks of it."""

_PARALLEL = "Steps that do not depend on each other can run in parallel."
_RUNS_NOTHING = "calls that change or run anything are refused."
_MAY_RUN = (
    "nothing is changed, and only these run, with any arguments, without a shell, on a copy of the files: {named}. If "
    "something fails, run it, and name the cause with path:line in the plan. Plan no step for a run that you have made."
)
_MOST_OF_TEMPLATES = 600
_SUB_PLANS = """- A step with template, a name, and args, its parameters (those with ? can be left out), stands for the
  steps of a template of the user:"""


def system_prompt(
    tools: Registry,
    style: PlanStyle,
    extra: str = "",
    *,
    synthesis: bool = False,
    brief: bool = False,
    templates: Sequence[Template] = (),
) -> str:
    """The prompt without the request, byte-equal for the same tools, style, settings and templates.

    `synthesis` is for a plan made from the agents' reports; `brief` is for small contexts. `templates` are those that
    can be sub-plans.
    """
    markers = "format_markers_with_agents" if synthesis else "format_markers"
    return "\n\n".join(
        filter(
            None,
            (
                _text("role"),
                _text("guidelines"),
                _text("synthesis") if synthesis else "",
                _tools(tools),
                _format(tools, templates, brief=brief) if style == "json" else _text(markers),
                _example(tools, style, synthesis=synthesis),
                extra.strip(),
            ),
        )
    )


def investigation_prompt(
    tools: Registry, extra: str = "", *, synthesis: bool = False, templates: Sequence[Template] = ()
) -> str:
    """The prompt of a model that investigates before it plans; the tools are listed only in the request."""
    rules = _with_results("investigation", tools).replace("{conditions}", _conditions(templates))
    return "\n\n".join(filter(None, (rules, _text("synthesis") if synthesis else "", extra.strip())))


def planning_rules(
    tools: Registry, extra: str = "", templates: Sequence[Template] = (), runs: Sequence[str] = ()
) -> str:
    """The rules of planning for a model whose conversation goes on with the steps of the plan.

    `runs` are the commands that it may run meanwhile.
    """
    named = ", ".join(f"`{one_line(each)}`" for each in runs)
    may_run = _MAY_RUN.format(named=named) if runs else _RUNS_NOTHING
    rules = "\n".join((_with_results("planning", tools).replace("{runs}", may_run), _conditions(templates)))
    return "\n\n".join(filter(None, (rules, extra.strip())))


def _format(tools: Registry, templates: Sequence[Template], *, brief: bool) -> str:
    """The form of a plan in JSON; in small contexts without conditions, loops, checks, approvals and sub-plans."""
    form = _with_results("format_json", tools)
    return form if brief else "\n".join((form, _conditions(templates)))


def _with_results(name: str, tools: Registry) -> str:
    """A text that says what the results of these tools are, for steps that use them."""
    named: dict[str, list[str]] = {}
    for tool in tools.before_commands().shown():
        named.setdefault(shape_of(json.loads(tool.result)), []).append(tool.name)
    named.pop("a text", None)
    shapes = "; of ".join(f"{_all_of(names)} {shape}" for shape, names in named.items())
    return _text(name).replace("{results}", _text("results").replace("{shapes}", shapes))


def _all_of(names: Sequence[str]) -> str:
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def _conditions(templates: Sequence[Template]) -> str:
    return "\n".join(
        (_text("conditions"), *([_SUB_PLANS] if templates else []), *map(_template_line, templates))
    )


def told_templates(templates: Sequence[Template]) -> tuple[Template, ...]:
    """The templates that a model is told of as sub-plans: those that can be one and can be told by their names.

    At most `_MOST_OF_TEMPLATES` bytes are spent on them.
    """
    told: dict[str, Template] = {}
    left = _MOST_OF_TEMPLATES - len(_SUB_PLANS)
    for template in templates:
        size = len(_template_line(template).encode()) + 1
        holds_one = any(step.kind == "sub_plan" for step in template.steps)
        if holds_one or template.name.casefold() in told or template.name != one_line(template.name):
            continue
        if size <= left:
            left -= size
            told[template.name.casefold()] = template
    return tuple(told.values())


def _template_line(template: Template) -> str:
    names = (each.name + ("" if each.default is None else "?") for each in template.parameters)
    return f"  {json.dumps(one_line(template.name), ensure_ascii=False)}: {', '.join(names) or 'none'}"


def _example(tools: Registry, style: PlanStyle, *, synthesis: bool) -> str:
    """One harmless example: weak models copy it, so nothing in it is destructive."""
    if style == "markers":
        plan = _text("example_markers_with_agents" if synthesis else "example_markers")
        return f"EXAMPLE\nRequest: {_EXAMPLE_REQUEST}\n{plan}"
    if "write_file" in tools.names():
        return f"EXAMPLE\nRequest: {_CALLS_REQUEST}\n{_json_text('example_calls')}"
    return f"EXAMPLE\nRequest: {_EXAMPLE_REQUEST}\n{_json_text('example_steps')}"


@cache
def _text(name: str) -> str:
    """A text of the prompt, from the folder `texts`; an indented line continues the one before."""
    text = (_TEXTS / f"{name}.md").read_text("utf-8").removesuffix("\n").replace("\n  ", " ")
    return text.replace("{parallel}", _PARALLEL)


@cache
def _json_text(name: str) -> str:
    """An example plan, from the folder `texts`, without white space, which would cost tokens in every prompt."""
    return json.dumps(json.loads((_TEXTS / f"{name}.json").read_text("utf-8")), separators=(",", ":"))


def _tools(tools: Registry) -> str:
    if not tools.names():
        return ""
    return "\n".join(["TOOLS", *map(short_line, tools.specs())])


def request_prompt(request: PlanningRequest, attached: Rendered, surroundings: str, reports: str = "") -> str:
    """The user prompt; parts that change least between plans come first. `reports` are the agents' reports."""
    sections = [surroundings] if surroundings else []
    if attached.text:
        sections.append(section("ATTACHMENTS", attached.text))
    sections.append(section("REQUEST", request.text.strip()))
    sections += (section(heading, text) for heading, text in request_details(request, reports))
    return "\n\n".join(sections)


def request_details(request: PlanningRequest, reports: str = "") -> Iterator[tuple[str, str]]:
    """Heading and text of each section that only the planner is shown; `reports` are the agents' reports."""
    if reports:
        yield "PERSPECTIVES (data)", reports
    if request.finished:
        heading = "ALREADY DONE (leave these steps out; others may depend on their ids)"
        yield heading, _listed(request.finished)
    if request.previous:
        left = tuple(step for step in request.previous if step not in request.finished)
        if request.feedback:
            yield _TO_REVISE, _in_full(left, request.edited)
        else:
            yield "THE PLAN SO FAR (to be replaced)", _listed(left)
    if request.feedback:
        yield "FEEDBACK OF THE USER", request.feedback.strip()


def _listed(steps: Sequence[Step]) -> str:
    return "\n".join(f"- {step.step_id}: {one_line(step.description)}" for step in steps)


def _in_full(steps: Sequence[Step], edited: Collection[StepId]) -> str:
    """The steps with all that a planner can say of them, so that it can repeat those that stay."""
    lines = []
    for step in steps:
        mark = " [edited by the user]" if step.step_id in edited else ""
        lines.append(f"- {step.step_id}: {one_line(step.description)}{mark}")
        if step.tool is not None or step.template_id is not None:
            called = step.tool or f"template {step.template_id}"
            lines.append(f"  {called} {json.dumps(step.args or {}, ensure_ascii=False)}")
        elif (work := step.question or step.instruction) != step.description:
            lines.append("  " + work.strip().replace("\n", "\n  "))
        outcome = {"outcome", "detail"}
        checks = [each.command or each.model_dump(exclude_none=True, exclude=outcome) for each in step.checks]
        fields = (
            ("kind", step.kind if step.kind in ("check", "approval") else None),
            ("agent", step.agent if step.agent != "koda" else None),
            ("dependsOn", ", ".join(step.depends_on)),
            ("expectedFiles", ", ".join(step.expected_files)),
            ("when", step.when),
            ("forEach", step.for_each),
            ("repeatUntil", step.repeat_until),
            ("repeatMost", step.repeat_most),
            ("checks", json.dumps(checks, ensure_ascii=False) if checks else None),
        )
        lines += (f"  {name}: {value}" for name, value in fields if value)
    return "\n".join(lines)


_MOST_PROBLEMS = 12


def listed_problems(problems: Sequence[Problem]) -> list[str]:
    """The first problems with step and field, and how many more there are."""
    lines = []
    for problem in problems[:_MOST_PROBLEMS]:
        where = ", ".join(filter(None, (problem.step_id, problem.field)))
        lines.append(f"{where}: {problem.problem}" if where else problem.problem)
    if len(problems) > _MOST_PROBLEMS:
        lines.append(f"and {len(problems) - _MOST_PROBLEMS} more of this kind")
    return lines


def repair_prompt(problems: Sequence[Problem], style: PlanStyle) -> str:
    """The prompt that sends an unusable plan back, with its problems."""
    lines = [f"- {line}" for line in listed_problems(problems)]
    form = "as one JSON object" if style == "json" else "between ---PLAN-START--- and ---PLAN-END---"
    return (
        "This plan cannot be used:\n"
        + framed("\n".join(lines))
        + f"\n\nWrite the whole plan again, corrected, {form}, and nothing else. Keep it short enough to be complete."
    )
