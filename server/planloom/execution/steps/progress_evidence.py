"""Whether a step has visibly done what it is for: facts about its calls, set against what its words ask."""

from __future__ import annotations

import re

from planloom.agent.task import Evidence
from planloom.domain.plans.agents import may_use
from planloom.domain.plans.plan import Step
from planloom.execution.prompting.compaction import paths_in
from planloom.tools.registry import Registry

_WRITING = re.compile(
    r"\b(?:write|create|add|implement|fix|change|update|edit|modify|refactor|rename|delete|remove|replace|append|"
    r"insert|generate|save|scaffold|set up|configure|convert|move|extract|rewrite|develop|introduce|migrate)\b",
    re.IGNORECASE,
)
_TAKING_AWAY = re.compile(
    r"\b(?:delete|remove|rename|move|drop|merge|instead|no longer|without|not|don['’]t)\b", re.IGNORECASE
)
_LOOKED_AT = 2_000
_MOST_FILES = 10


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


def files_to_write(step: Step) -> tuple[str, ...]:
    """The files that the words of a step name and that should be there after it."""
    words = f"{step.description}\n{step.instruction[:_LOOKED_AT]}"
    if _TAKING_AWAY.search(words) is not None:
        return ()
    return tuple(path for path in paths_in(words) if "/" in path and not path.endswith("/"))[:_MOST_FILES]


def standing(*, to_write: bool, good_calls: int, effects: int, there: bool) -> Evidence:
    """How the work stands; a step that is to write and has only read may have found nothing to change.

    `there` tells that the files which its words name exist.
    """
    if not to_write:
        return "worked" if good_calls > 0 else "doubtful"
    if effects > 0:
        return "worked" if there else "doubtful"
    return "doubtful" if good_calls > 0 and there else "idle"
