"""The author that asks a language model: streamed, checked, sent back once where it cannot be used."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal

from planloom.domain.errors import ModelFailed
from planloom.domain.plans.plan import Step
from planloom.domain.plans.validation import Problem, errors, problems
from planloom.models.one_question import Cost
from planloom.models.port import (
    Capabilities,
    Finished,
    Message,
    Model,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    Restarted,
    TextDelta,
)
from planloom.planning.estimates import estimated_duration, overall_risk
from planloom.planning.formats.draft import DraftStep, NoPlan, PlanText
from planloom.planning.formats.stream import PlanStream
from planloom.planning.model.assemble import StepBuilder
from planloom.planning.model.deployments import deployments_in_turn
from planloom.planning.model.prompt_budget import CHARACTERS_PER_TOKEN, SMALL_CONTEXT, fitting_prompt
from planloom.planning.model.prompts import PlanStyle, repair_prompt, system_prompt
from planloom.planning.model.schema import plan_schema
from planloom.planning.model.stopwatch import Stopwatch
from planloom.planning.port import (
    PlanDrafted,
    PlannerEvent,
    PlanningRequest,
    StepDrafted,
    TextSeen,
    UsageSeen,
)
from planloom.tools.registry import Registry

ANSWER_TOKENS = 4_096
"""Tokens kept for a plan, or a quarter of a small context; more is refused by the request, and read as cut."""

_LONGEST_BLANK = 1_000
"""White space in a row after which a model is taken to have run dry."""


@dataclass(slots=True)
class _Answer:
    """One answer while it comes in. `steps` have been read of it, `told` are the most that were told of."""

    stream: PlanStream
    watch: Stopwatch
    text: list[str] = field(default_factory=list)
    blank: int = 0
    steps: int = 0
    told: int = 0
    cut: bool = False
    refused: bool = False
    cost: Cost = field(default_factory=Cost)

    def begin_anew(self, tools: tuple[str, ...]) -> None:
        """Everything so far is void: the model is asked once more."""
        self.stream = PlanStream(tools)
        self.watch.begin_anew()
        self.text.clear()
        self.blank = 0
        self.steps = 0

    def feed(self, text: str) -> Iterator[DraftStep]:
        """The steps that more text makes whole, each once, however often the answer begins anew."""
        for drafted in self.stream.feed(text):
            self.steps += 1
            if self.steps > self.told:
                self.told = self.steps
                yield drafted

    def add(self, text: str) -> bool:
        """Take more text; False once nothing but white space comes."""
        self.text.append(text)
        stripped = text.rstrip()
        self.blank = self.blank + len(text) if not stripped else len(text) - len(stripped)
        return self.blank < _LONGEST_BLANK

    @property
    def whole(self) -> str:
        """All of the text."""
        return "".join(self.text)


class ModelPlanner:
    """Drafts with a language model.

    `style` says how the plan is asked for: "auto" constrains it by a schema where the engine can, else asks
    for markers. `extra` is the user's own addition to the prompt. `clock` counts seconds: how fast the model
    writes the plan tells how long its steps will take.
    `synthesis` makes the plan from the reports of the agents that the request comes with.
    """

    def __init__(
        self,
        model: Model,
        tools: Registry,
        *,
        style: Literal["auto", "json", "markers"] = "auto",
        extra: str = "",
        temperature: float | None = None,
        parallel: int = 4,
        synthesis: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._tools = tools
        self._style = style
        self._extra = extra
        self._temperature = temperature
        self._clock = clock
        self._parallel = parallel
        self._synthesis = synthesis

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Say steps as they are written, then the plan.

        Raises ModelFailed: `model_output_invalid` with the raw text if the second answer is no better than
        the first; what the model itself raises; ContextOverflow if the prompt does not fit.
        """
        capabilities = await self._model.capabilities()
        style = self._chosen(capabilities)
        asked = self._asked(request, capabilities, style)
        taken = [step.step_id for step in request.finished]
        first = _Answer(PlanStream(self._tools.names()), Stopwatch(self._clock))
        glimpsed = StepBuilder(self._tools.rules(), taken)
        try:
            async for event in self._heard(asked, first):
                if isinstance(event, TextDelta):
                    yield TextSeen(text=event.text)
                    for drafted in first.feed(event.text):
                        yield StepDrafted(step=glimpsed.add(drafted))
        except ModelFailed:
            yield UsageSeen(usage=first.cost.usage)
            raise
        yield UsageSeen(usage=first.cost.usage)
        read = self._read(first, request)
        if isinstance(read, PlanDrafted):
            yield read
            return
        again = _sent_back(asked, first, read, style, capabilities.context_tokens)
        second = _Answer(PlanStream(self._tools.names()), Stopwatch(self._clock))
        try:
            async for event in self._heard(again, second):
                if isinstance(event, TextDelta):
                    yield TextSeen(text=event.text)
                    second.stream.feed(event.text)
        except ModelFailed:
            yield UsageSeen(usage=second.cost.usage)
            raise
        yield UsageSeen(usage=second.cost.usage)
        read = self._read(second, request)
        if isinstance(read, PlanDrafted):
            yield read
            return
        raise _unusable(read, second)

    def _chosen(self, capabilities: Capabilities) -> PlanStyle:
        if self._style == "auto":
            return "json" if capabilities.json_schema else "markers"
        return self._style

    def _asked(self, request: PlanningRequest, capabilities: Capabilities, style: PlanStyle) -> ModelRequest:
        context = capabilities.context_tokens
        kept = ANSWER_TOKENS if context is None else min(ANSWER_TOKENS, context // 4)
        system = system_prompt(
            self._tools,
            style,
            self._extra,
            synthesis=self._synthesis,
            brief=context is not None and context < SMALL_CONTEXT,
        )
        told = fitting_prompt(request, len(system), capabilities, kept_tokens=kept)
        return ModelRequest(
            messages=(
                Message(role="system", text=system),
                Message(role="user", text=told.text, images=told.images),
            ),
            response_schema=plan_schema(self._tools)
            if style == "json" and capabilities.json_schema
            else None,
            max_tokens=kept,
            temperature=self._temperature,
        )

    async def _heard(self, asked: ModelRequest, answer: _Answer) -> AsyncIterator[ModelEvent]:
        """The model's answer, noted down; it is left early once the model only writes white space."""
        async with aclosing(answer.cost.of(self._model, asked)) as events:
            async for event in events:
                if isinstance(event, TextDelta | ReasoningDelta):
                    answer.watch.heard()
                match event:
                    case TextDelta():
                        if not answer.add(event.text):
                            answer.cut = isinstance(answer.stream.close(), NoPlan)
                            return
                    case Restarted():
                        answer.begin_anew(self._tools.names())
                    case Finished():
                        answer.cut = event.reason == "length"
                        answer.refused = event.reason == "refused"
                    case _:
                        pass
                yield event
        if answer.refused:
            raise ModelFailed(
                "model_refused", "The model refused to write this plan.", raw_text=answer.whole or None
            )

    def _read(self, answer: _Answer, request: PlanningRequest) -> PlanDrafted | tuple[Problem, ...]:
        """The plan of an answer, or what is wrong with it."""
        plan = answer.stream.close()
        if isinstance(plan, NoPlan):
            text = (
                "The answer was cut before the first step was complete."
                if answer.cut
                else "There is no plan in the answer."
            )
            return (Problem(step_id=None, field="", problem=text),)
        steps, sequential = self._steps(plan, request)
        fresh = {step.step_id for step in steps}
        found = [
            problem
            for problem in problems(
                (*request.finished, *steps),
                self._tools.rules(),
                sequential=sequential,
                request=_words(request),
            )
            if problem.step_id is None or problem.step_id in fresh
        ]
        wrong = list(errors(found))
        if plan.cut or answer.cut:
            text = "The plan was cut: its end is missing."
            wrong.insert(0, Problem(step_id=None, field="", problem=text))
        if wrong:
            return tuple(wrong)
        if not sequential:
            steps, in_turn = deployments_in_turn(steps)
            found += in_turn
        rules = self._tools.rules()
        speed = answer.watch.speed(answer.whole, answer.cost.completion_tokens)
        return PlanDrafted(
            steps=steps,
            summary=plan.summary or f"{len(steps)} {'step' if len(steps) == 1 else 'steps'}.",
            sequential=sequential,
            author="model",
            estimated_duration=estimated_duration(
                steps, rules, sequential=sequential, speed=speed, parallel=self._parallel
            ),
            overall_risk=overall_risk(steps, rules, request.qualification),
            warnings=tuple(found),
        )

    def _steps(self, plan: PlanText, request: PlanningRequest) -> tuple[tuple[Step, ...], bool]:
        assembly = StepBuilder(self._tools.rules(), [step.step_id for step in request.finished])
        for drafted in plan.steps:
            assembly.add(drafted)
        return assembly.steps(), assembly.sequential


def _sent_back(
    asked: ModelRequest, answer: _Answer, wrong: Sequence[Problem], style: PlanStyle, context: int | None
) -> ModelRequest:
    """Ask once more, with what is wrong. In a small context the plan that cannot be used is left out."""
    said = (answer.whole.strip() or "(nothing)")[: ANSWER_TOKENS * CHARACTERS_PER_TOKEN]
    back = Message(role="user", text=repair_prompt(wrong, style))
    messages = (*asked.messages, Message(role="assistant", text=said), back)
    kept = asked.max_tokens or 0
    if (
        context is not None
        and sum(len(each.text) for each in messages) > (context - kept) * CHARACTERS_PER_TOKEN
    ):
        *before, question = asked.messages
        messages = (*before, question.model_copy(update={"text": f"{question.text}\n\n{back.text}"}))
    return asked.model_copy(update={"messages": messages})


def _words(request: PlanningRequest) -> str:
    """All that the user has said, without which a destructive step counts as unrequested."""
    return "\n".join(filter(None, (request.text, request.feedback)))


def _unusable(wrong: Sequence[Problem], answer: _Answer) -> ModelFailed:
    first = wrong[0]
    where = f"{first.step_id}: " if first.step_id else ""
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return ModelFailed(
        "model_output_invalid",
        f"The model wrote no usable plan, twice. {where}{first.problem}{more}",
        hint="Regenerate, say more precisely what you want, or choose a stronger model (model.name).",
        raw_text=answer.whole,
    )
