"""The prompts that ask a model for a plan. Parts that stay the same between calls come first, for prompt caches."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from planloom.agent.plan_spec import tool_signature
from planloom.agent.prompt_frame import framed, one_line, section
from planloom.domain.plans.agents import EFFECTS, NAMES
from planloom.domain.plans.plan import Step
from planloom.domain.plans.validation import Problem
from planloom.domain.values import Json, StepId
from planloom.intake.render import Rendered
from planloom.planning.port import PlanningRequest
from planloom.tools.registry import Registry, schema
from planloom.tools.tool import Tool

PlanStyle = Literal["json", "markers"]

_TEXTS = Path(__file__).parent / "texts"
_EXAMPLE_REQUEST = "Add a function that adds two numbers, with a test."
_CALLS_REQUEST = "Make a folder for reports with a page that says that there are none yet."

_TO_REVISE = """THE PLAN SO FAR
Give the whole plan anew, revised as the feedback says. A step that stays keeps its id and its words. Repeat a step that
is marked [edited by the user] unchanged, unless the feedback speaks of it."""

_AGENT_WORK = {
    "koda": "reads and changes files",
    "devo": "builds, configuration, deployment; reads and changes files and runs commands",
    "chapo": "investigates a question; changes no files",
}


def system_prompt(
    tools: Registry, style: PlanStyle, extra: str = "", *, synthesis: bool = False, brief: bool = False
) -> str:
    """The prompt without the request, byte-equal for the same tools, style and settings.

    `synthesis` is for a plan made from the agents' reports; `brief` is for small contexts.
    """
    markers = "format_markers_with_agents" if synthesis else "format_markers"
    return "\n\n".join(
        filter(
            None,
            (
                _text("role"),
                _text("guidelines"),
                _text("synthesis") if synthesis else "",
                _agents(),
                _tools(tools, brief=brief or style == "markers"),
                _text("format_json" if style == "json" else markers),
                _examples(tools, style, synthesis=synthesis, brief=brief),
                extra.strip(),
            ),
        )
    )


def investigation_prompt(extra: str = "", *, synthesis: bool = False) -> str:
    """The prompt of a model that investigates before it plans; the tools are listed only in the request."""
    return "\n\n".join(
        filter(None, (_text("investigation"), _text("synthesis") if synthesis else "", extra.strip()))
    )


def planning_rules(extra: str = "") -> str:
    """The rules of planning for a model whose conversation goes on with the steps of the plan."""
    return "\n\n".join(filter(None, (_text("planning"), extra.strip())))


def _examples(tools: Registry, style: PlanStyle, *, synthesis: bool, brief: bool) -> str:
    """Few and harmless examples; weak models copy them, so nothing in them is destructive."""
    if style == "markers":
        plan = _text("example_markers_with_agents" if synthesis else "example_markers")
        return f"EXAMPLE\nRequest: {_EXAMPLE_REQUEST}\n{plan}"
    examples = f"EXAMPLE\nRequest: {_EXAMPLE_REQUEST}\n{_json_text('example_steps')}"
    if not brief and {"create_folder", "write_file"} <= set(tools.names()):
        examples += f"\n\nEXAMPLE\nRequest: {_CALLS_REQUEST}\n{_json_text('example_calls')}"
    return examples


@cache
def _text(name: str) -> str:
    """A text of the prompt, from the folder `texts`, without the newline at its end."""
    return (_TEXTS / f"{name}.md").read_text("utf-8").removesuffix("\n")


@cache
def _json_text(name: str) -> str:
    """An example plan, from the folder `texts`, on one line: indentation would cost tokens in every prompt."""
    return json.dumps(json.loads((_TEXTS / f"{name}.json").read_text("utf-8")))


def _agents() -> str:
    lines = [f"- {agent} ({NAMES[agent]}): {_AGENT_WORK[agent]}" for agent in ("koda", "devo", "chapo")]
    return "AGENTS\n" + "\n".join(lines)


def _tools(tools: Registry, *, brief: bool) -> str:
    """The tools with the schemas of their arguments, or if `brief` only with the names of their arguments."""
    if not tools.names():
        return ""
    lines = []
    for tool in tools:
        parameters = schema(tool.arguments)
        if brief:
            lines.append(f"- {tool_signature(tool)} ({_who(tool)}): {tool.description}")
            continue
        shown = json.dumps(_brief(parameters), ensure_ascii=False, separators=(",", ":"))
        lines.append(f"- {tool.name} ({_who(tool)}): {tool.description}\n  {shown}")
    return "TOOLS\n" + "\n".join(lines)


def _brief(parameters: Mapping[str, Json]) -> Json:
    """The schema of the arguments without bounds and titles, which would cost tokens in every request."""
    left_out = ("additionalProperties", "description", "type", "maxLength", "minLength", "title")
    properties = parameters.get("properties")
    if not isinstance(properties, dict):
        return dict(parameters)
    brief: dict[str, Json] = {key: value for key, value in parameters.items() if key not in left_out}
    brief["properties"] = {
        name: {key: value for key, value in each.items() if key not in ("maxLength", "minLength", "title")}
        if isinstance(each, dict)
        else each
        for name, each in properties.items()
    }
    return brief


def _who(tool: Tool) -> str:
    who = [agent for agent in ("koda", "devo", "chapo") if tool.effect in EFFECTS[agent]]
    return "any agent" if len(who) == 3 else ", ".join(who)


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
        if step.tool is not None:
            lines.append(f"  {step.tool} {json.dumps(step.args or {}, ensure_ascii=False)}")
        elif (work := step.question or step.instruction) != step.description:
            lines.append("  " + work.strip().replace("\n", "\n  "))
        if step.depends_on:
            lines.append(f"  depends on: {', '.join(step.depends_on)}")
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
