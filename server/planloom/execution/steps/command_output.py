"""Shows the output of a step's command: as a block for people, and as a section for the model that takes over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from planloom.agent.prompts import Section
from planloom.agent.result_budget import head_and_tail
from planloom.domain.plans.plan import Plan, Step

_LINES: Final = 40
_CHARACTERS: Final = 4_000
"""The most of an output's end that people are shown."""
_WHAT_NOW: Final = (
    "The CURRENT TASK's own tool call has run, and this is its result: do not repeat it just to see it. If the task "
    "was only to see this, call task_completed, say what it shows and what later tasks must know. Else mend the "
    "cause and run it again."
)


def readable(summary: str, output: str) -> str:
    """The summary and, below it, the last lines of the output, which say most about a failure."""
    whole = output.strip("\n").rstrip()
    end = "\n".join(whole.splitlines()[-_LINES:])[-_CHARACTERS:]
    if not end or end in summary:
        return summary
    left_out = len(whole) - len(end)
    before = f"[… {left_out} characters before this …]\n" if left_out else ""
    return f"{summary}\n{before}{end}"


def command_section(plan: Plan, step: Step, output: str, most: int, count: Callable[[str], int]) -> Section:
    """The result of the step's own call within `most` tokens, and what the model is to make of it."""
    number = (plan.index_of(step.step_id) or 0) + 1
    shown = head_and_tail(output, most, count)
    text = f"Task {number}, {step.tool}:\n{shown}\n{_WHAT_NOW}"
    return Section("RESULT OF THE STEP'S COMMAND", text, of_run=True)
