"""Turns a plan as it was read from a model's answer into the finished plan, or the list of what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.errors import ModelFailed
from planloom.domain.plans.agents import ChapoPerspective
from planloom.domain.plans.plan import Risk, Step
from planloom.domain.plans.unrolling import TemplateOf
from planloom.domain.plans.validation import Problem, errors, problems
from planloom.domain.text.counted import counted
from planloom.planning.estimates import ModelSpeed, estimated_duration, named_risk, overall_risk
from planloom.planning.formats.draft import PlanText
from planloom.planning.model.assemble import StepBuilder
from planloom.planning.model.deployments import deployments_in_turn
from planloom.planning.port import PlanDrafted, PlanningRequest
from planloom.tools.registry import Registry


class PlanAssembler:
    """Builds and validates plans. `parallel` steps may run at once, by which the duration is estimated.

    Without `template_of` the templates of sub-plans are not looked at.
    """

    def __init__(self, tools: Registry, parallel: int, template_of: TemplateOf | None = None) -> None:
        self._rules = tools.rules()
        self._parallel = parallel
        self._template_of = template_of

    def assembled(
        self,
        plan: PlanText,
        request: PlanningRequest,
        *,
        cut: bool = False,
        last: bool = False,
        speed: ModelSpeed | None = None,
    ) -> PlanDrafted | tuple[Problem, ...]:
        """The finished plan, or its errors. `cut`: the answer was cut off; `speed` is that of the model.

        `last`: the model is not asked again; if only dependencies are wrong, the steps run in the order written.
        """
        steps, sequential = self._steps(plan, request)
        found = self._problems(steps, request, sequential=sequential)
        found_errors = list(errors(found))
        if last and found_errors and all(each.field == "dependsOn" for each in found_errors):
            steps, sequential = _in_order(steps, request.finished), True
            found = [_as_warning(found_errors[0]), *self._problems(steps, request, sequential=True)]
            found_errors = list(errors(found))
        if plan.cut or cut:
            text = "The plan was cut; its end is missing."
            found_errors.insert(0, Problem(step_id=None, field="", problem=text))
        if found_errors:
            return tuple(found_errors)
        if not sequential:
            steps, deployment_warnings = deployments_in_turn(steps)
            found += deployment_warnings
        return PlanDrafted(
            steps=steps,
            summary=plan.summary or f"{counted(len(steps), 'step')}.",
            sequential=sequential,
            author="model",
            estimated_duration=estimated_duration(
                steps, self._rules, sequential=sequential, speed=speed, parallel=self._parallel
            ),
            overall_risk=overall_risk(
                steps, self._rules, request.qualification, stated=(plan.stated_risk, _reported_risk(request))
            ),
            stated_duration=plan.stated_seconds
            or sum(step.stated_seconds or 0 for step in plan.steps)
            or None,
            warnings=tuple(found),
        )

    def _problems(
        self, steps: Sequence[Step], request: PlanningRequest, *, sequential: bool
    ) -> list[Problem]:
        fresh = {step.step_id for step in steps}
        return [
            problem
            for problem in problems(
                (*request.finished, *steps),
                self._rules,
                sequential=sequential,
                request=_user_text(request),
                template_of=self._template_of,
            )
            if problem.step_id is None or problem.step_id in fresh
        ]

    def _steps(self, plan: PlanText, request: PlanningRequest) -> tuple[tuple[Step, ...], bool]:
        builder = StepBuilder(self._rules, [step.step_id for step in request.finished])
        for drafted in plan.steps:
            builder.add(drafted)
        return builder.steps(), builder.sequential


def _in_order(steps: Sequence[Step], finished: Sequence[Step]) -> tuple[Step, ...]:
    """The steps without the dependencies on steps that do not come before them."""
    before = {step.step_id for step in finished}
    result: list[Step] = []
    for step in steps:
        kept = tuple(each for each in step.depends_on if each in before)
        result.append(step.model_copy(update={"depends_on": kept}))
        before.add(step.step_id)
    return tuple(result)


def _as_warning(problem: Problem) -> Problem:
    """The warning for the reader of a plan that runs in order because of this error."""
    text = f"{problem.problem} So the steps run one after the other, in this order."
    return problem.model_copy(update={"problem": text, "severity": "warning"})


def _reported_risk(request: PlanningRequest) -> Risk | None:
    """The risk that the strategist's report begins with; None if it says it in other words."""
    for each in request.perspectives:
        if isinstance(each, ChapoPerspective):
            return named_risk(each.risk_assessment)
    return None


def no_usable_plan(reason: str, raw_text: str | None) -> ModelFailed:
    """The failure of a draft whose model wrote no plan that can be used, although it was asked again."""
    return ModelFailed(
        "model_output_invalid",
        f"The model wrote no usable plan. {reason}",
        hint="Regenerate the plan, make the request more precise, or choose a stronger model (model.name).",
        raw_text=raw_text,
    )


def _user_text(request: PlanningRequest) -> str:
    """The user's text, by which unrequested destructive steps are recognised."""
    return "\n".join(filter(None, (request.text, request.feedback)))
