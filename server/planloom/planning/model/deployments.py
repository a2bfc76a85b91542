"""A deployment goes out with all that was to go out: it waits for the work that stands before it in the plan."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planloom.domain.plans.graph import ancestors, dependency_graph
from planloom.domain.plans.plan import Step
from planloom.domain.plans.validation import Problem
from planloom.domain.values import StepId

_SAYS = re.compile(
    r"(?:re-?)?(?:deploy|release|publish|ship|roll\s+out|go\s+live)(?:s|ing|ment)?\b|(?:trigger|start|run|perform|do)\s+"
    r"(?:a\s+|the\s+)?(?:\w+\s+)?(?:deploy|release|publish|rollout)",
    re.IGNORECASE,
)
_RUNS = re.compile(
    r"\b(?:deploy|kubectl\s+(?:apply|rollout|set)|terraform\s+apply|helm\s+(?:upgrade|install)|(?:npm|yarn|pnpm|cargo|poetry)\s+publish"
    r"|twine\s+upload|docker\s+push|serverless\s+deploy|fly\s+deploy|vercel|netlify)\b",
    re.IGNORECASE,
)


def deployments_in_turn(steps: Sequence[Step]) -> tuple[tuple[Step, ...], tuple[Problem, ...]]:
    """The steps with deployments waiting for all work before them, and a warning for each that did not.

    Models forget it, and side by side with the work a deployment would carry half of it. No step may stand
    before one that it waits for.
    """
    made = list(steps)
    told: list[Problem] = []
    for index, step in enumerate(steps):
        if not _deploys(step):
            continue
        missing = _missing(made, index)
        if missing:
            made[index] = step.model_copy(update={"depends_on": (*step.depends_on, *missing)})
            names = ", ".join(f"“{each.description}”" for each in made if each.step_id in missing)
            text = f"It deploys, so it waits for {names}, which the model had left open."
            told.append(Problem(step_id=step.step_id, field="dependsOn", problem=text, severity="warning"))
    return tuple(made), tuple(told)


def _deploys(step: Step) -> bool:
    if step.kind == "clarification":
        return False
    if step.tool is not None:
        command = (step.args or {}).get("command")
        return (
            step.tool == "run_command"
            and isinstance(command, str)
            and _RUNS.search(command[:2_000]) is not None
        )
    return step.agent == "devo" and _SAYS.match(step.description) is not None


def _missing(steps: Sequence[Step], index: int) -> list[StepId]:
    """The last steps of the work before this one that it is in no order with; one that only looks is no work."""
    links = dependency_graph(steps)
    waited = ancestors(steps, steps[index].step_id)
    unordered = {place for place in range(index) if steps[place].step_id not in waited}
    ends = [place for place in sorted(unordered) if not unordered.intersection(links.dependents[place])]
    return [steps[place].step_id for place in ends if _is_work(steps[place]) or links.dependencies[place]]


def _is_work(step: Step) -> bool:
    return step.kind != "clarification" and step.agent != "chapo"
