"""A planner that makes a step of each line of the request: a call of `count_words` where it names a file."""

from collections.abc import AsyncGenerator

from planloom.extending import (
    PlanDrafted,
    PlannerEvent,
    PlannerParts,
    PlanningRequest,
    Step,
    StepDrafted,
    StepId,
)


class LinePlanner:
    """Plans without a model; `parts.model` is there for one that needs it."""

    def __init__(self, parts: PlannerParts) -> None:
        self._counts = parts.tools.get("count_words") is not None

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Show each step as soon as it is known, then give the plan, which Planloom validates and puts to review."""
        lines = [line.strip() for line in request.text.splitlines() if line.strip()]
        steps = tuple(self._step(number, line) for number, line in enumerate(lines, 1))
        for step in steps:
            yield StepDrafted(step)
        yield PlanDrafted(steps, summary="A step for each line.", sequential=True, author="package")

    def _step(self, number: int, line: str) -> Step:
        ident = StepId(f"line_{number}")
        verb, _, path = line.partition(" ")
        if self._counts and verb.lower() == "count" and path:
            return Step(
                step_id=ident,
                description=f"Count the words of {path}",
                instruction=line,
                kind="tool_call",
                tool="count_words",
                args={"path": path},
            )
        return Step(step_id=ident, description=line, instruction=line)
