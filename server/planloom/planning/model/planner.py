"""The planner that asks a language model; an answer that cannot be used is sent back once."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from planloom.domain.errors import ModelFailed
from planloom.domain.plans.templates import Template
from planloom.domain.plans.unrolling import TemplateOf
from planloom.domain.plans.validation import Problem
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
from planloom.planning.formats.draft import DraftStep, NoPlan
from planloom.planning.formats.reader import has_no_steps
from planloom.planning.formats.stream import PlanStream
from planloom.planning.model.assemble import StepBuilder
from planloom.planning.model.finished_plan import PlanAssembler, no_usable_plan
from planloom.planning.model.prompt_budget import CHARACTERS_PER_TOKEN, SMALL_CONTEXT, fitting_prompt
from planloom.planning.model.prompts import PlanStyle, repair_prompt, system_prompt
from planloom.planning.model.schema import plan_schema
from planloom.planning.model.stopwatch import Stopwatch
from planloom.planning.port import (
    DraftText,
    PlanDrafted,
    PlannerEvent,
    PlanningRequest,
    RequestUsage,
    StepDrafted,
)
from planloom.tools.registry import Registry

ANSWER_TOKENS = 4_096
"""The most tokens of a plan, or a quarter of a small context; a longer answer is cut off."""

_LONGEST_BLANK = 1_000
"""Characters of white space in a row after which the answer counts as ended."""


@dataclass(slots=True)
class _Answer:
    """One answer while it is received. `steps` is the number of steps read, `announced` the number announced."""

    stream: PlanStream
    watch: Stopwatch
    text: list[str] = field(default_factory=list)
    blank: int = 0
    steps: int = 0
    announced: int = 0
    cut: bool = False
    refused: bool = False
    cost: Cost = field(default_factory=Cost)

    def restart(self, tools: tuple[str, ...]) -> None:
        """Discard everything: the model starts its answer again."""
        self.stream = PlanStream(tools)
        self.watch.restart()
        self.text.clear()
        self.blank = 0
        self.steps = 0

    def feed(self, text: str) -> Iterator[DraftStep]:
        """The steps that are complete with more text, each once, even if the answer is restarted."""
        for drafted in self.stream.feed(text):
            self.steps += 1
            if self.steps > self.announced:
                self.announced = self.steps
                yield drafted

    def rest(self) -> Sequence[DraftStep]:
        """The steps that only the end of the answer has completed; none if it was cut."""
        plan = self.stream.close()
        return () if isinstance(plan, NoPlan) or plan.cut or self.cut else plan.steps[self.announced :]

    def add(self, text: str) -> bool:
        """Add text. Returns False once the model writes only white space."""
        self.text.append(text)
        stripped = text.rstrip()
        self.blank = self.blank + len(text) if not stripped else len(text) - len(stripped)
        return self.blank < _LONGEST_BLANK

    @property
    def whole(self) -> str:
        """All of the text."""
        return "".join(self.text)


class DraftOptions(NamedTuple):
    """How the settings want a plan to be drafted.

    `style` is the format of the answer; "auto" chooses JSON if the provider can constrain it by a schema, else markers.
    `extra` is the user's addition to the prompt. `parallel` is how many steps may run at a time. `template_of` finds
    the templates of sub-plans; of `templates` the model is told.
    """

    style: Literal["auto", "json", "markers"] = "auto"
    extra: str = ""
    temperature: float | None = None
    parallel: int = 4
    template_of: TemplateOf | None = None
    templates: tuple[Template, ...] = ()


DEFAULT_OPTIONS = DraftOptions()
"""The options of the default settings."""


class ModelPlanner:
    """Drafts with a language model.

    `synthesis` makes the plan from the agents' reports in the request.
    `clock` counts seconds; the time that the model takes for the plan is the base of the estimate.
    """

    def __init__(
        self,
        model: Model,
        tools: Registry,
        options: DraftOptions = DEFAULT_OPTIONS,
        *,
        synthesis: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._tools = tools
        self._options = options
        self._clock = clock
        self._synthesis = synthesis
        self._assembler = PlanAssembler(tools, options.parallel, options.template_of)

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Yield steps as they are written, then the plan.

        Raises ModelFailed (`model_output_invalid`, with the raw text, if the second answer is unusable too; or any
        failure of the model) and ContextOverflow if the prompt does not fit.
        """
        capabilities = await self._model.capabilities()
        style = self._plan_style(capabilities)
        model_request = self._request(request, capabilities, style)
        taken = [step.step_id for step in request.finished]
        builder = StepBuilder(self._tools.rules(), taken)
        for repairing in (False, True):
            answer = _Answer(PlanStream(self._tools.names()), Stopwatch(self._clock))
            try:
                async for event in self._received(model_request, answer):
                    if isinstance(event, TextDelta):
                        yield DraftText(text=event.text)
                        for drafted in answer.feed(event.text):
                            # The steps of a repaired plan are those of the first, corrected: they come with the plan.
                            if not repairing:
                                yield StepDrafted(step=builder.add(drafted))
            except ModelFailed:
                yield RequestUsage(usage=answer.cost.usage)
                raise
            yield RequestUsage(usage=answer.cost.usage)
            for drafted in () if repairing else answer.rest():
                yield StepDrafted(step=builder.add(drafted))
            read = self._read(answer, request, last=repairing)
            if isinstance(read, PlanDrafted):
                yield read
                return
            if repairing:
                raise _unusable(read, answer)
            model_request = _repair_request(model_request, answer, read, style, capabilities.context_tokens)

    def _plan_style(self, capabilities: Capabilities) -> PlanStyle:
        if self._options.style == "auto":
            return "json" if capabilities.json_schema else "markers"
        return self._options.style

    def _request(
        self, request: PlanningRequest, capabilities: Capabilities, style: PlanStyle
    ) -> ModelRequest:
        context = capabilities.context_tokens
        answer_tokens = ANSWER_TOKENS if context is None else min(ANSWER_TOKENS, context // 4)
        brief = context is not None and context < SMALL_CONTEXT
        templates = self._options.templates
        system = system_prompt(
            self._tools,
            style,
            self._options.extra,
            synthesis=self._synthesis,
            brief=brief,
            templates=templates,
        )
        prompt = fitting_prompt(request, len(system), capabilities, kept_tokens=answer_tokens)
        return ModelRequest(
            messages=(
                Message(role="system", text=system),
                Message(role="user", text=prompt.text, images=prompt.images),
            ),
            response_schema=plan_schema(self._tools, brief=brief, templates=templates)
            if style == "json" and capabilities.json_schema
            else None,
            max_tokens=answer_tokens,
            temperature=self._options.temperature,
        )

    async def _received(self, model_request: ModelRequest, answer: _Answer) -> AsyncGenerator[ModelEvent]:
        """Receive the answer into `answer`; stop early once the model writes only white space."""
        async with aclosing(answer.cost.stream(self._model, model_request)) as events:
            async for event in events:
                if isinstance(event, TextDelta | ReasoningDelta):
                    answer.watch.received()
                match event:
                    case TextDelta():
                        if not answer.add(event.text):
                            answer.cut = isinstance(answer.stream.close(), NoPlan)
                            return
                    case Restarted():
                        answer.restart(self._tools.names())
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

    def _read(
        self, answer: _Answer, request: PlanningRequest, *, last: bool
    ) -> PlanDrafted | tuple[Problem, ...]:
        """The plan in an answer, or the problems with it; after the `last` one the model is not asked again."""
        plan = answer.stream.close()
        if isinstance(plan, NoPlan):
            text = (
                "The answer was cut before its first step was complete."
                if answer.cut
                else "The plan has no steps."
                if has_no_steps(answer.whole)
                else "There is no plan in the answer."
            )
            return (Problem(step_id=None, field="", problem=text),)
        speed = answer.watch.speed(answer.whole, answer.cost.completion_tokens)
        return self._assembler.assembled(plan, request, cut=answer.cut, last=last, speed=speed)


def _repair_request(
    model_request: ModelRequest,
    answer: _Answer,
    found_errors: Sequence[Problem],
    style: PlanStyle,
    context: int | None,
) -> ModelRequest:
    """The second request, with the problems. In a small context the unusable plan is left out."""
    previous = (answer.whole.strip() or "(nothing)")[: ANSWER_TOKENS * CHARACTERS_PER_TOKEN]
    back = Message(role="user", text=repair_prompt(found_errors, style))
    messages = (*model_request.messages, Message(role="assistant", text=previous), back)
    answer_tokens = model_request.max_tokens or 0
    if (
        context is not None
        and sum(len(each.text) for each in messages) > (context - answer_tokens) * CHARACTERS_PER_TOKEN
    ):
        *before, question = model_request.messages
        messages = (*before, question.model_copy(update={"text": f"{question.text}\n\n{back.text}"}))
    return model_request.model_copy(update={"messages": messages})


def _unusable(found_errors: Sequence[Problem], answer: _Answer) -> ModelFailed:
    first = found_errors[0]
    more = f" (and {len(found_errors) - 1} more)" if len(found_errors) > 1 else ""
    return no_usable_plan(f"It was asked twice. {first.sentence}{more}", answer.whole)
