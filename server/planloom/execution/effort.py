"""Whether a step has visibly done what it is for: facts about its calls, set against what its words ask."""

from __future__ import annotations

import re

from planloom.agent.loop import Standing
from planloom.domain.agents import may_use
from planloom.domain.plan import Step
from planloom.tools.registry import Registry

_WRITING = re.compile(
    r"\b(?:write|create|add|implement|fix|change|update|edit|modify|refactor|rename|delete|remove|replace|append|"
    r"insert|generate|save|scaffold|set up|configure|convert|move|extract|rewrite|develop|introduce|migrate)\b",
    re.IGNORECASE,
)
_LOOKED_AT = 2_000


def is_to_write(step: Step, tools: Registry) -> bool:
    """Whether the step is to change files: by what its author expects, else by its words."""
    if not may_use(step.agent, "write"):
        return False
    if step.expected_files:
        return True
    expected = [tools.get(each.tool) for each in step.tools_to_execute]
    if any(tool is not None and tool.writes for tool in expected):
        return True
    return _WRITING.search(f"{step.description}\n{step.instruction[:_LOOKED_AT]}") is not None


def standing(*, to_write: bool, good_calls: int, effects: int) -> Standing:
    """How the work stands; a step that is to write and has only read may have found nothing to change."""
    if effects > 0 or (good_calls > 0 and not to_write):
        return "worked"
    return "idle" if to_write and good_calls == 0 else "doubtful"
