"""Fits the prompts of a step into the model's context: recent results in full, older ones in a rolling summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planloom.agent.prompts import Section, ToolNote
from planloom.agent.result_budget import fitted, in_one_line
from planloom.domain.errors import PlanloomError
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import StepId
from planloom.execution.prompting.compaction import Summary, accepted, compaction_prompt, merge_by_rules
from planloom.execution.step_run import StepRun
from planloom.intake.render import Rendered
from planloom.intake.surroundings.sections import Surroundings
from planloom.models.one_question import Answer, Cost, answer_to
from planloom.models.port import Capabilities, Message, Model, ModelRequest
from planloom.models.tokens import TokenCounter
from planloom.settings import Settings

_CHARACTERS_A_TOKEN = 4
_SHARED_ROOM = 24_000
"""Tokens of the smallest room in which steps share a conversation."""
_ANSWER = 16_000
"""Tokens that a conversation leaves for an answer, or a fifth of a smaller context."""


class TokenBudget:
    """The tokens of a prompt, divided into shares for its sections."""

    def __init__(self, whole: int, frame: int = 0) -> None:
        """`whole` is what the sections have, beside a constant `frame` of system prompt and tools."""
        self.whole = whole
        self.room = frame + whole - min(_ANSWER, whole // 5)
        self.summary = max(120, min(2_000, whole // 12))
        self.results = max(400, whole * 2 // 5)
        self.tasks = max(200, min(4_000, whole // 8))
        self.attached_characters = whole // 2 * _CHARACTERS_A_TOKEN
        self.surroundings_characters = whole // 2 * _CHARACTERS_A_TOKEN
        self.planning_characters = whole // 4 * _CHARACTERS_A_TOKEN


class StepContextWindow:
    """Keeps the prompts of one step within their shares. The token counter learns from the server's counts."""

    def __init__(self, run: StepRun, model: Model, shares: TokenBudget, counter: TokenCounter) -> None:
        self._run = run
        self._model = model
        self._shares = shares
        self._counter = counter
        self._room = shares.room

    async def fit(self, results: Sequence[ToolNote]) -> tuple[ToolNote, ...]:
        """The results to show in full. The others, and older steps, are moved into the plan's context summary."""
        plan = self._run.plan
        older = _older_steps(plan, self._shares.tasks, self._counter.text)
        kept, gone = fitted(results, self._shares.results, self._counter.text)
        notes = [f"{number}. {_result(step)}" for number, step in older]
        notes += [f"{in_one_line(note)}\n" for note in gone]
        if notes:
            await self._compact(plan, notes, tuple(step.step_id for _, step in older))
        return kept

    @property
    def shared_characters(self) -> int:
        """The longest conversation of the planner and earlier steps, in characters, that a step continues."""
        return shared_characters(self._room)

    @property
    def room(self) -> int:
        return self._room

    def size(self, request: ModelRequest) -> int:
        return self._counter.request(request)

    def text(self, text: str) -> int:
        return self._counter.text(text)

    def overflowed(self, request: ModelRequest, limit: int | None) -> None:
        room = TokenBudget(limit).room if limit else self._room
        self._room = min(self._room, room, self.size(request) * 2 // 3)

    async def summarize(self, notes: Sequence[str]) -> None:
        """Merge the notes into the plan's context summary."""
        await self._compact(self._run.plan, notes, ())

    def learn(self, request: ModelRequest, prompt_tokens: int) -> None:
        """Correct the token estimates by the server's count for a request."""
        self._counter.learn(request, prompt_tokens)

    async def _compact(self, plan: Plan, notes: Sequence[str], steps: tuple[StepId, ...]) -> None:
        before = plan.context_summary or ""
        tokens = self._counter.text("\n".join(filter(None, (before, *notes))))
        merged = await self._merged(before, notes, tokens)
        compacted = ev.ContextCompacted(
            before_tokens=tokens,
            after_tokens=self._counter.text(merged.text),
            by=merged.by,
            summary=merged.text,
            steps=steps,
        )
        self._run.record(compacted)

    async def _merged(self, before: str, notes: Sequence[str], tokens: int) -> Summary:
        budget, count = self._shares.summary, self._counter.text
        if tokens > budget:
            written = await self._written(compaction_prompt(before, notes, budget))
            text = accepted(written, before, notes, budget, count)
            if text:
                return Summary(text, "model")
        return Summary(merge_by_rules(before, notes, budget, count), "rules")

    async def _written(self, prompt: str) -> str:
        """The model's answer; empty if it is cut off or the request fails, since the rules can always do it."""
        if self._counter.text(prompt) > self._shares.whole // 2:
            return ""
        request = ModelRequest(
            messages=(Message(role="user", text=prompt),), max_tokens=self._shares.summary * 2
        )
        self._run.require_budget()
        cost = Cost()
        try:
            with self._run.waiting():
                answer = await answer_to(self._model, request, cost)
        except PlanloomError:
            answer = Answer("", None)
        self._run.spend(cost.usage)
        return answer.text if answer.ended == "stop" else ""


def shared_characters(room: int) -> int:
    """The longest conversation, in characters, that a step continues in a room of so many tokens; 0 if it is small."""
    return room // 3 * _CHARACTERS_A_TOKEN if room >= _SHARED_ROOM else 0


def opening_sections(
    plan: Plan, surroundings: Surroundings, shares: TokenBudget, attachments: Rendered
) -> tuple[Section, ...]:
    """The first sections of a prompt, with the same bytes for the planner and for every step."""
    return (
        *(Section(*each) for each in surroundings.sections(shares.surroundings_characters)),
        Section("USER REQUEST", plan.request.strip()),
        Section("ATTACHMENTS", attachments.text, attachments.images),
    )


def shares_of(capabilities: Capabilities, settings: Settings, frame_tokens: int = 0) -> TokenBudget:
    """The shares of a prompt, by the settings or else the model's context, beside a constant frame."""
    whole = settings.context.budget_tokens or settings.model.context_tokens or capabilities.usable_context
    whole = min(whole, capabilities.context_tokens or whole)
    return TokenBudget(max(whole // 4, whole - frame_tokens), frame_tokens)


def _older_steps(plan: Plan, most: int, count: Callable[[str], int]) -> list[tuple[int, Step]]:
    """The older half of the completed steps with their numbers, if the results of all no longer fit."""
    listed = [
        (number, step)
        for number, step in enumerate(plan.steps, start=1)
        if step.status == "completed" and step.result is not None and step.step_id not in plan.summarized
    ]
    if sum(count(_result(step)) for _, step in listed) <= most:
        return []
    return listed[: max(1, len(listed) // 2)]


def _result(step: Step) -> str:
    summary = step.result.summary if step.result is not None else None
    return summary or step.description
