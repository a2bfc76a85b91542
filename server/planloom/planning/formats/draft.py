"""The result of the readers of plans: steps whose ids, agents and tools are not checked yet."""

from __future__ import annotations

import re
from typing import Any, Literal

from planloom.domain.plans.plan import ExpectedTool, Risk
from planloom.domain.values import Args, Json, Value

_BOX = re.compile(r"\[[ xX>~!*✓✔-]?\]\s{1,20}(?=\S)")
PlanFormat = Literal["markers", "json", "legacy", "numbered"]


class DraftStep(Value):
    """One step as the model wrote it: ids may be illegal, doubled or missing, names may be unknown.

    `depends_on` is None where the text has no dependencies; its entries, and those of `blocks`, are ids or numbers
    from 1. `expected_tools` are those that the step will probably use. `stated_seconds` is how long it takes.
    """

    description: str
    instruction: str
    raw_id: str | None = None
    tool: str | None = None
    args: Args | None = None
    active_form: str = ""
    depends_on: tuple[str, ...] | None = None
    blocks: tuple[str, ...] = ()
    agent: str | None = None
    kind: str | None = None
    question: str | None = None
    priority: str | None = None
    critical: bool = False
    checks: tuple[Json, ...] = ()
    expected_files: tuple[str, ...] = ()
    expected_tools: tuple[ExpectedTool, ...] = ()
    stated_seconds: int | None = None
    when: str | None = None
    for_each: str | None = None
    repeat_until: str | None = None
    repeat_most: int | None = None
    template: str | None = None


class PlanText(Value):
    """The steps of a plan in the order they appear.

    `cut`: the text ends before the plan does. `summary`: the author's own description of the plan, as are the risk
    and the seconds that it states.
    """

    steps: tuple[DraftStep, ...]
    format: PlanFormat
    cut: bool = False
    summary: str = ""
    stated_risk: Risk | None = None
    stated_seconds: int | None = None


class NoPlan(Value):
    """The text holds no plan."""


def without_box(text: str) -> str:
    """An item of a task list without the box that shows whether it is done."""
    box = _BOX.match(text)
    return text if box is None else text[box.end() :]


def draft(description: str, instruction: str, **fields: Any) -> DraftStep | None:
    """A step with two texts and other fields; a text that is missing is replaced by the other (docs/model-text.md, P6).

    None if both are missing.
    """
    description, instruction = " ".join(description.split()), instruction.strip()
    if not description and not instruction:
        return None
    if not description:
        description = " ".join(instruction.split("\n", 1)[0].split())
    return DraftStep(description=description, instruction=instruction or description, **fields)
