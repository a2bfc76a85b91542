"""Writes a plan as a document.

    ---
    plan: 8f3c1a…
    version: 2
    status: pending approval
    ---

    # The first line of the request

    > The request, if it has more lines.

    The summary of the plan.

    ## Steps

    - [ ] Write the job ^step_2

      What is to be done, as Markdown, where that is more than the line above.
      - tool: write_file
        - path: jobs/rotate.py
        - content:
          ```
          …
          ```
      - after: step_1

    Whatever else stands between the steps is a note: it belongs to the step above it, and is kept.

The sign in the box is the state: `x` done, `>` running, `?` waits for the user, `!` failed, `-` skipped. A line that
begins with `→` says what came of a step. A step that asks has a line `Answer:` below it, which is a note, and becomes a
quotation with the answer. All other lines of a step are the author's. `reader` reads what this module writes:
`tests/domain/document` holds it to that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from planloom.domain.document.fields import FIELDS, escaped
from planloom.domain.document.scalars import is_written_plainly, written
from planloom.domain.document.top import STEPS, head_lines, top_lines
from planloom.domain.plans.graph import shown_statuses, step_waits
from planloom.domain.plans.plan import Plan, Reverted, Step
from planloom.domain.plans.unrolling import under_way
from planloom.domain.values import Json, StepId

ASKS: Final = "?"
MARKS: Final[Mapping[str, str]] = {
    "completed": "x",
    "running": ">",
    "needs_clarification": ASKS,
    "failed": "!",
    "skipped": "-",
}
"""The sign in the box of a step, by its shown status; a blank for any other."""
_UNDONE: Final[Mapping[Reverted | None, str]] = {None: "", "whole": "Undone. ", "part": "Undone in part. "}
RESULT: Final = "→ "
ANSWER_LINE: Final = "Answer:"
"""Begins the answer below a step that asks."""
_BODY: Final = 2
_ARGUMENTS: Final = 4


def render(plan: Plan, notes: Mapping[str, str] | None = None) -> str:
    """The document of a plan. `notes` are those of an earlier text, by step id; "" for those before the steps."""
    notes = notes or {}
    asks, answers, signs = asking(plan), answers_of(plan), marks(plan)
    lines = [*head_lines(plan), "", *top_lines(plan), "", STEPS]
    lines += _note(notes.get("", ""))
    for step in plan.steps:
        note = notes.get(step.step_id, "")
        lines += ["", *step_lines(step, signs[step.step_id])]
        if step.step_id in asks and ANSWER_LINE not in note:
            lines += ["", ANSWER_LINE]
        elif step.step_id in answers and ANSWER_LINE not in note:
            lines += ["", *quotation(answers[step.step_id])]
        lines += _note(note)
    known = {"", *(step.step_id for step in plan.steps)}
    for step_id, note in notes.items():
        lines += _note(note) if step_id not in known else ()
    return "\n".join(lines) + "\n"


def asking(plan: Plan) -> frozenset[StepId]:
    """The steps that wait for an answer."""
    return frozenset(each.step_id for each in plan.pending.questions)


def answers_of(plan: Plan) -> Mapping[StepId, str]:
    """The last answer that each step was given."""
    return {each.step_id: each.answer for each in plan.asked if each.answer is not None}


def quotation(answer: str) -> Iterator[str]:
    """An answer that was given, as it stands below its step."""
    yield from (f"> {line}".rstrip() for line in f"{ANSWER_LINE} {answer}".split("\n"))


def marks(plan: Plan) -> Mapping[StepId, str]:
    """The sign of each step: a failed one keeps its own while a decision on it is waited for."""
    waits = step_waits(plan)
    return {
        step.step_id: ASKS if waits.get(step.step_id, "recovery") != "recovery" else MARKS.get(status, " ")
        for step, status in zip(plan.steps, shown_statuses(plan), strict=True)
    }


def step_lines(step: Step, mark: str) -> Iterator[str]:
    """The lines of one step."""
    text = step.title if is_written_plainly(step.title) else json.dumps(step.title)
    yield f"- [{mark}] {text} ^{step.step_id}"
    yield from _instruction(step)
    for name, field in FIELDS.items():
        value = field.write(step)
        for each in value if field.repeats and isinstance(value, list) else [value]:
            if each is not None:
                yield from _field(name, each, _BODY)
        holds = name == ("template" if step.tool is None else "tool")
        if holds and FIELDS["arguments"].write(step) is None:
            for argument, given in (step.args or {}).items():
                yield from _field(argument, given, _ARGUMENTS)
    yield from result_lines(step)


def result_lines(step: Step) -> Iterator[str]:
    """The result of a step, as one line, where there is any."""
    if said := result_text(step):
        yield " " * _BODY + said


def result_text(step: Step) -> str | None:
    """The result of a step, or where its loop stands, without indentation; None before there is any."""
    result = (step.result.summary or step.result.error) if step.result else under_way(step)
    if step.kind == "clarification" and step.status == "completed":
        # The answer stands below it.
        return None
    said = " ".join((result or "").split())
    return f"{RESULT}{_UNDONE[step.reverted]}{said}" if said else None


def _instruction(step: Step) -> Iterator[str]:
    text = step.instruction
    if text == step.title or FIELDS["instruction"].write(step) is not None:
        return
    yield ""
    yield from (" " * _BODY + escaped(line) if line else "" for line in text.split("\n"))


def _field(name: str, value: Json, indent: int) -> Iterator[str]:
    text, block = written(value, indent + 2)
    yield f"{' ' * indent}- {name}:{' ' if text else ''}{text}"
    yield from block


def _note(text: str) -> list[str]:
    return ["", *text.split("\n")] if text else []
