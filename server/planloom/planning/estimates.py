"""How long a plan will take and what is at stake, said before it is approved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planloom.domain.plans.graph import dependency_graph
from planloom.domain.plans.plan import Qualification, Risk, Step
from planloom.domain.plans.validation import ToolRules
from planloom.domain.safety.destructive_intent import destructive_command, names_destruction
from planloom.domain.values import Value

TOOL_SECONDS = {"read": 1, "write": 1, "destroy": 1, "execute": 20}
"""What a call of each effect takes, a person's answer not counted."""

TURNS = 3
"""Requests to the model that a processing step takes on the average."""

TOKENS_A_TURN = 400
"""Tokens that a model writes in one turn of a step."""

_UNKNOWN_STEP = 30
_RANK: Mapping[Risk, int] = {"low": 0, "medium": 1, "high": 2}


class ModelSpeed(Value):
    """What was measured of a model: seconds until the first token of an answer, tokens a second after it."""

    first_token_seconds: float
    tokens_per_second: float

    def turn_seconds(self) -> float:
        """One turn of a step."""
        return self.first_token_seconds + TOKENS_A_TURN / max(self.tokens_per_second, 0.1)


def step_seconds(step: Step, tools: Mapping[str, ToolRules], speed: ModelSpeed | None) -> float:
    """How long one step takes by itself."""
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
    """Seconds that a plan takes, people's answers not counted.

    At least the longest chain of steps that wait for each other, at least the work divided by what runs at
    once; model steps share one model and so add up.
    """
    seconds = [step_seconds(step, tools, speed) for step in steps]
    if sequential:
        return round(sum(seconds))
    chain = 0.0
    ends: dict[int, float] = {}
    links = dependency_graph(steps)
    # Steps stand behind what they wait for, but for broken plans, where this is an estimate all the same.
    for index, own in enumerate(seconds):
        ends[index] = own + max((ends.get(need, 0.0) for need in links.dependencies[index]), default=0.0)
        chain = max(chain, ends[index])
    by_model = sum(own for step, own in zip(steps, seconds, strict=True) if step.kind == "processing")
    return round(max(chain, by_model, sum(seconds) / max(parallel, 1)))


def overall_risk(
    steps: Sequence[Step], tools: Mapping[str, ToolRules], qualification: Qualification | None = None
) -> Risk:
    """What is at stake: high if something is destroyed or the request says so, medium for commands."""
    risks: list[Risk] = [_risk(step, tools) for step in steps]
    if qualification is not None:
        risks.append(qualification.risk_level)
    return max(risks, key=_RANK.__getitem__, default="low")


def _risk(step: Step, tools: Mapping[str, ToolRules]) -> Risk:
    rules = tools.get(step.tool or "") if step.kind == "tool_call" else None
    if rules is None:
        return "medium" if step.agent == "devo" or names_destruction(step.description) else "low"
    if rules.effect == "destroy" or destructive_command((step.args or {}).get("command")):
        return "high"
    return "medium" if rules.effect == "execute" or rules.removes else "low"
