"""Reads the plan that a model submits by `submit_plan` or prints, by which its investigation ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from planloom.agent.investigation import Report
from planloom.agent.plan_spec import plan_spec
from planloom.domain.plans.validation import Problem
from planloom.domain.values import Args
from planloom.planning.estimates import ModelSpeed
from planloom.planning.formats.draft import DraftStep, NoPlan, PlanText
from planloom.planning.formats.json_reader import fields_of_plan, plan_of
from planloom.planning.formats.reader import has_no_steps, read_plan
from planloom.planning.model.finished_plan import PlanAssembler
from planloom.planning.model.prompts import listed_problems
from planloom.planning.port import PlanDrafted, PlanningRequest
from planloom.planning.wording import description_of
from planloom.tools.registry import Registry

_CORRECTIONS = 2
_NO_STEPS = "the plan has no steps"


def plan_report(
    tools: Registry,
    assembler: PlanAssembler,
    request: PlanningRequest,
    speed: Callable[[], ModelSpeed | None],
) -> Report[PlanDrafted]:
    """How the investigation for a plan ends: by the tool, by a plan printed in any form, or by a question to the user.

    `speed` is that of the model when it has submitted the plan, by which its duration is estimated.
    """

    def finished(plan: PlanText) -> PlanDrafted | str:
        drafted = assembler.assembled(plan, request, speed=speed())
        return drafted if isinstance(drafted, PlanDrafted) else _phrase(drafted)

    def find(text: str) -> PlanDrafted | str | None:
        plan = read_plan(text, tools.names())
        if isinstance(plan, NoPlan):
            return _NO_STEPS if has_no_steps(text) else None
        return finished(plan)

    def read(args: Args) -> PlanDrafted | str:
        plan = plan_of(args, tools.names())
        if plan is None:
            steps = args.get("steps")
            text = steps if isinstance(steps, str) else json.dumps(args, ensure_ascii=False)
            printed = read_plan(text, tools.names())
            if isinstance(printed, NoPlan):
                return _NO_STEPS
            beside = {name: each for name, each in fields_of_plan(args).items() if not getattr(printed, name)}
            plan = printed.model_copy(update=beside)
        return finished(plan)

    def ask(question: str, options: tuple[str, ...]) -> PlanDrafted:
        drafted = assembler.assembled(_question_first(request, question), request)
        assert isinstance(drafted, PlanDrafted), "a question and the request are a plan"
        first, *others = drafted.steps
        return drafted._replace(
            steps=(first.model_copy(update={"options": options}), *others), summary=question
        )

    return Report(
        plan_spec(tools),
        read=read,
        find=find,
        from_words=lambda _: None,
        from_question=ask,
        corrections=_CORRECTIONS,
    )


def _question_first(request: PlanningRequest, question: str) -> PlanText:
    """A question to the user, then the whole request as one step that knows the answer."""
    return PlanText(
        format="json",
        steps=(
            DraftStep(
                raw_id="question",
                description="Answer a question first",
                instruction=question,
                kind="clarification",
                question=question,
                depends_on=(),
            ),
            DraftStep(
                raw_id="work",
                # A request of nothing but marks, such as ".", leaves no text for a description.
                description=request.text if description_of(request.text) else "Do what the request asks",
                instruction="Do what the request asks, as the user has answered the question.",
                depends_on=("question",),
            ),
        ),
    )


def _phrase(problems: Sequence[Problem]) -> str:
    """The problems as a phrase without a full stop."""
    listed = listed_problems(problems)
    return (listed[0] if len(listed) == 1 else "\n- " + "\n- ".join(listed)).removesuffix(".")
