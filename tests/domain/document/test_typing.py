"""Someone types anywhere in a document while its plan goes on: nothing typed is lost, and both come to say the same."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.document.difference import difference, signs_of
from planloom.domain.document.reader import authored, read_document
from planloom.domain.document.render import render
from planloom.domain.document.update import taken, up_to_date
from planloom.domain.events.folding import updated
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.editing import EditRefused, edit_plan
from planloom.domain.plans.plan import Check, Pending, Plan, Question, Step, StepResult
from planloom.domain.values import StepId
from tests.domain.document.test_round_trip import plan_of

STEPS = [
    Step(step_id=StepId("step_1"), description="Look", instruction="Look around.\n\n- here\n- there"),
    Step(
        step_id=StepId("step_2"),
        description="Write it",
        instruction="Write it",
        kind="tool_call",
        tool="write_file",
        args={"path": "a.py", "content": "x = 1\n\ny = 2", "mode": 7},
        depends_on=(StepId("step_1"),),
        priority="high",
        critical=True,
        checks=(Check(kind="file_exists", path="a.py"), Check(kind="no_new_errors")),
        expected_files=("a.py", "b.py"),
    ),
    Step(step_id=StepId("step_3"), description="Run", instruction="Run", when="it is there"),
]
NEXT = {"pending": "running", "running": "completed", "needs_clarification": "running"}


@dataclass
class Desk:
    """A document in an editor, and its plan. `typed` are the signs that were typed, each of them once."""

    plan: Plan
    shown: Plan
    text: str
    earlier: frozenset[str]
    typed: list[str] = field(default_factory=list)
    count: int = 0

    def type(self, place: float, before: str, after: str) -> None:
        """Type a new word, with what is around it."""
        self.count += 1
        word = chr(0x4E00 + self.count)
        at = round(place * len(self.text))
        self.text = f"{self.text[:at]}{before}{word}{after}{self.text[at:]}"
        self.typed.append(word)

    def go_on(self, number: int) -> None:
        """A step goes on."""
        steps = [*self.plan.steps]
        step = steps[number % len(steps)]
        result = StepResult(
            ok=True, summary="Done so.", duration_ms=1, timestamp=datetime(2026, 1, 1, tzinfo=UTC)
        )
        status = NEXT.get(step.status, step.status)
        done = {"status": status, "result": result if status == "completed" else None}
        self._changes(steps, step, **done, plan_status="executing")

    def ask(self, number: int) -> None:
        """A step asks."""
        steps = [*self.plan.steps]
        step = steps[number % len(steps)]
        if step.status == "pending":
            question = Question(step_id=step.step_id, question="Which?")
            self._changes(steps, step, status="needs_clarification", questions=(question,))

    def revise(self, number: int) -> None:
        """Somebody else changes a step of the plan, in which nothing was typed, and adds one."""
        steps = [*self.plan.steps]
        step = steps[number % len(steps)]
        if not any(word in repr(authored(step)) for word in self.typed):
            self.count += 1
            new = Step(step_id=StepId(f"new_{self.count}"), description="More", instruction="More")
            steps.insert(number % len(steps), new)
            self._changes(steps, step, for_each=f"other {self.count}")

    def _changes(
        self,
        steps: list[Step],
        step: Step,
        *,
        plan_status: str = "paused",
        questions: tuple[Question, ...] = (),
        **changes: Any,
    ) -> None:
        steps[steps.index(step)] = step.model_copy(update=changes)
        self.plan = updated(
            self.plan,
            status=plan_status,
            version=self.plan.version + 1,
            steps=IndexedTuple(steps),
            pending=Pending(questions=questions),
        )

    def update(self) -> None:
        """The server brings the document up to date."""
        new = up_to_date(self.text, self.shown, self.plan, self.earlier)
        self._write(new.text, new.shows)

    def save(self) -> None:
        """The plan becomes what the document says, if it can."""
        written = read_document(self.text)
        reserved = [step.step_id for step in self.plan.steps]
        found = difference(self.shown, written, self.earlier, reserved)
        if written.troubles or found.troubles or not found.changes:
            return
        steps = edit_plan(self.plan.steps, found.edits)
        if isinstance(steps, EditRefused):
            return
        words = {name: value for name, value in found.words if value is not None}
        state = {"version": self.plan.version + 1, "status": "pending_approval", "pending": Pending()}
        self.plan = updated(self.plan, steps=IndexedTuple(steps), **state, **words)
        self._write(taken(self.text, found.ids, self.plan, self.earlier), self.plan)

    def erase(self, number: int) -> None:
        """Take a word back."""
        if self.typed:
            word = self.typed.pop(number % len(self.typed))
            self.text = self.text.replace(word, "", 1)

    def _write(self, text: str, shows: Plan) -> None:
        self.text, self.shown = text, shows
        self.earlier |= signs_of(shows)


AROUND = st.sampled_from(
    [
        "",
        " ",
        "\n",
        "\n\n",
        "\n- ",
        "\n- [ ] ",
        "\n  - ",
        "\n  → ",
        "\n# ",
        "\n> ",
        "\n---\n",
        "\n  - when: ",
        "^",
        "[",
        ": ",
    ]
)
TYPE = st.tuples(st.just("type"), st.floats(0, 1), AROUND, AROUND)
NUMBER = st.integers(0, 9)
DO = st.tuples(st.sampled_from(["go_on", "ask", "revise", "erase"]), NUMBER)
ALONE = st.tuples(st.sampled_from(["update", "save"]))
PLAN = plan_of(
    STEPS, status="pending_approval", request="Do it\nin two lines", summary="All of it.\n\nAnd more."
)


@given(st.lists(TYPE | DO | ALONE, max_size=25), st.sampled_from(["\n", "\r\n"]))
def test_nothing_typed_is_lost(does: list[tuple[Any, ...]], eol: str) -> None:
    desk = Desk(PLAN, PLAN, render(PLAN).replace("\n", eol), signs_of(PLAN))
    for name, *args in does:
        getattr(desk, name)(*args)
        # A text that an editor would trim is written as JSON.
        lost = [
            each for each in desk.typed if each not in desk.text and json.dumps(each)[1:-1] not in desk.text
        ]
        assert not lost, f"{lost} after {name}:\n{desk.text}"


@given(st.lists(TYPE | DO | ALONE, max_size=15))
def test_a_document_comes_to_rest(does: list[tuple[Any, ...]]) -> None:
    """An update of a document that was updated changes nothing, whatever was typed into it."""
    desk = Desk(PLAN, PLAN, render(PLAN), signs_of(PLAN))
    for name, *args in does:
        getattr(desk, name)(*args)
    desk.save()
    desk.update()
    text, shown = desk.text, desk.shown
    desk.update()
    assert desk.text == text and desk.shown == shown
    written = read_document(text)
    found = difference(desk.shown, written, desk.earlier)
    if not (found.changes or found.troubles or written.troubles):
        assert [authored(step) for step in desk.shown.steps] == [authored(step) for step in desk.plan.steps]
        assert [each.step_id for each in written.steps] == [step.step_id for step in desk.plan.steps]
        assert written.head["version"] == str(desk.plan.version) and desk.shown.status == desk.plan.status
