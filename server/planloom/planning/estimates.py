"""Estimates the duration and the risk of a plan before it is approved."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planloom.domain.plans.graph import dependency_graph
from planloom.domain.plans.plan import Qualification, Risk, Step
from planloom.domain.plans.validation import ToolRules
from planloom.domain.safety.destructive_intent import destructive_command, names_destruction

TOOL_SECONDS = {"read": 1, "write": 1, "destroy": 1, "execute": 20, "fetch": 3}
"""The time of a call by its effect, without the time of approvals."""

TURNS = 3
"""The average number of requests to the model in a processing step."""

TOKENS_A_TURN = 400
"""The average number of tokens that a model writes in one request of a step."""

_UNKNOWN_STEP = 30
_RANK: Mapping[Risk, int] = {"low": 0, "medium": 1, "high": 2}
_WORDS: Mapping[Risk, str] = {
    "low": r"low|minor|minimal|negligible|niedrig|gering|faible|bajo|baixo|basso",
    "medium": r"medium|moderate|mittel|mäßig|moyen|modéré|medio|médio|moderado|moderato",
    "high": r"high|critical|severe|hoch|kritisch|élevé|critique|alto|elevado|crítico|critico",
}
_NAMED = re.compile(
    r"\W*(?:(?:(?:the|das|le|el|o|il)\s+)?(?:overall\s+|gesamt)?(?:risk|risiko|risque|riesgo|risco|rischio)(?:\s+level)?"
    r"(?:\s+(?:is|ist|est|es|é|è))?\W+)?(?:(?:very|rather|quite|sehr|eher|très|muy|muito|molto)\s+)?(?:"
    + "|".join(f"(?P<{risk}>{words})" for risk, words in _WORDS.items())
    + r")(?:e|es|er|[ao])?\b(?![\w-])",
    re.IGNORECASE,
)
"""A text that begins with the risk, in the words of a model."""


class ModelSpeed(NamedTuple):
    """The measured speed of a model: seconds until the first token of an answer, then tokens per second."""

    first_token_seconds: float
    tokens_per_second: float

    def turn_seconds(self) -> float:
        """The estimated time of one request of a step."""
        return self.first_token_seconds + TOKENS_A_TURN / max(self.tokens_per_second, 0.1)


def step_seconds(step: Step, tools: Mapping[str, ToolRules], speed: ModelSpeed | None) -> float:
    """The estimated time of one step."""
    if step.kind == "clarification":
        return 0
    rules = tools.get(step.tool or "")
    if step.kind == "tool_call" and rules is not None:
        return TOOL_SECONDS[rules.effect]
    return _UNKNOWN_STEP if speed is None else TURNS * speed.turn_seconds()


def estimated_duration(
    steps: Sequence[Step],
    tools: Mapping[str, ToolRules],
    *,
    sequential: bool,
    speed: ModelSpeed | None = None,
    parallel: int = 4,
) -> int:
    """The estimated seconds that a plan takes, without the time of the user's answers.

    The maximum of the longest chain of dependent steps, the sum of the model steps, which share one model, and the
    sum of all steps divided by `parallel`.
    """
    seconds = [step_seconds(step, tools, speed) for step in steps]
    if sequential:
        return round(sum(seconds))
    chain = 0.0
    ends: dict[int, float] = {}
    links = dependency_graph(steps)
    # Valid plans are in topological order; for others this is still an estimate.
    for index, duration in enumerate(seconds):
        ends[index] = duration + max(
            (ends.get(dependency, 0.0) for dependency in links.dependencies[index]), default=0.0
        )
        chain = max(chain, ends[index])
    model_seconds = sum(
        duration for step, duration in zip(steps, seconds, strict=True) if step.kind == "processing"
    )
    return round(max(chain, model_seconds, sum(seconds) / max(parallel, 1)))


def named_risk(words: str) -> Risk | None:
    """The risk that a text begins with, in the words of a model; None if it says it in other words."""
    found = _NAMED.match(words)
    return None if found is None else next(risk for risk in _WORDS if found[risk])


def overall_risk(
    steps: Sequence[Step],
    tools: Mapping[str, ToolRules],
    qualification: Qualification | None = None,
    *,
    stated: Sequence[Risk | None] = (),
) -> Risk:
    """The greatest risk of a step, or of the request: high for destruction, medium for commands and fetches.

    What its authors have `stated` raises it, and never lowers it.
    """
    risks: list[Risk] = [_risk(step, tools) for step in steps]
    risks.extend(risk for risk in stated if risk is not None)
    if qualification is not None:
        risks.append(qualification.risk_level)
    return max(risks, key=_RANK.__getitem__, default="low")


def _risk(step: Step, tools: Mapping[str, ToolRules]) -> Risk:
    rules = tools.get(step.tool or "") if step.kind == "tool_call" else None
    if rules is None:
        return "medium" if step.agent == "devo" or names_destruction(step.description) else "low"
    if rules.effect == "destroy" or destructive_command((step.args or {}).get("command")):
        return "high"
    return "medium" if rules.effect in ("execute", "fetch") or rules.removes else "low"
