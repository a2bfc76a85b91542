"""Makes every deployment step depend on the work before it in the plan."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.plans.graph import ancestors, dependency_graph
from planloom.domain.plans.plan import Step
from planloom.domain.plans.validation import Problem
from planloom.domain.values import StepId
from planloom.intake.routing.operations import DEPLOYING_COMMAND, DEPLOYMENT


def deployments_in_turn(steps: Sequence[Step]) -> tuple[tuple[Step, ...], tuple[Problem, ...]]:
    """The steps with each deployment depending on all work before it, and a warning for each added dependency.

    Models forget these dependencies, and a deployment that runs in parallel with the work would deploy half of it.
    The steps must be in topological order.
    """
    result = list(steps)
    warnings: list[Problem] = []
    for index, step in enumerate(steps):
        if not _deploys(step):
            continue
        missing = _missing_dependencies(result, index)
        if missing:
            result[index] = step.model_copy(update={"depends_on": (*step.depends_on, *missing)})
            names = ", ".join(f"“{each.description}”" for each in result if each.step_id in missing)
            text = f"It deploys, so it now waits for {names}; the model had left this out."
            warnings.append(
                Problem(step_id=step.step_id, field="dependsOn", problem=text, severity="warning")
            )
    return tuple(result), tuple(warnings)


def _deploys(step: Step) -> bool:
    if step.kind == "clarification":
        return False
    if step.tool is not None:
        command = (step.args or {}).get("command")
        return (
            step.tool == "run_command"
            and isinstance(command, str)
            and DEPLOYING_COMMAND.search(command[:2_000]) is not None
        )
    return step.agent == "devo" and DEPLOYMENT.match(step.description) is not None


def _missing_dependencies(steps: Sequence[Step], index: int) -> list[StepId]:
    """The last steps before this one that it does not depend on; steps that only read are left out."""
    links = dependency_graph(steps)
    awaited = ancestors(steps, steps[index].step_id)
    unordered = {each for each in range(index) if steps[each].step_id not in awaited}
    ends = [each for each in sorted(unordered) if not unordered.intersection(links.dependents[each])]
    return [steps[each].step_id for each in ends if _is_work(steps[each]) or links.dependencies[each]]


def _is_work(step: Step) -> bool:
    return step.kind != "clarification" and step.agent != "chapo"
