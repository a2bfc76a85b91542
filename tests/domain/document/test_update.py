"""A document that is brought up to date keeps what the user has written in it."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import pytest

from planloom.domain.changes import Conflict, EditedFile, EditRecord
from planloom.domain.document.answers import answers_in, quoted
from planloom.domain.document.difference import written_signs
from planloom.domain.document.reader import read_document
from planloom.domain.document.render import render, result_lines
from planloom.domain.document.update import up_to_date
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.plan import AskedQuestion, Pending, Question, Recovery, Step, StepResult
from planloom.domain.safety.approvals import Approval
from planloom.domain.values import EditId, StepId, Uri
from tests.domain.document.test_round_trip import plan_of

PLAN = plan_of([Step(step_id=StepId("step_1"), description="Look", instruction="Look")])
OTHER = PLAN.model_copy(update={"version": PLAN.version + 1, "summary": "Another summary."})
NOTE = "What I think of it.\n\n"


@pytest.mark.parametrize("at", ["# ", "## Steps\n", "- [ ] Look", ""])
def test_what_is_written_anywhere_stays(at: str) -> None:
    text = render(PLAN)
    place = text.index(at) if at else len(text)
    text = text[:place] + NOTE + text[place:]
    new = up_to_date(text, PLAN, OTHER).text
    assert NOTE.strip() in new and f"version: {OTHER.version}\n" in new


def test_a_summary_that_the_user_and_the_plan_have_changed_is_the_users() -> None:
    old = PLAN.model_copy(update={"summary": "A summary."})
    text = render(old).replace("A summary.", "My summary.")
    new = up_to_date(text, old, OTHER).text
    assert "My summary." in new and f"version: {OTHER.version}\n" in new
    assert up_to_date(render(old), old, OTHER).text == render(OTHER)


def test_a_sign_that_the_user_has_set_stays_until_it_is_taken() -> None:
    steps = [
        Step(step_id=StepId(f"step_{number}"), description="Look", instruction="Look") for number in (1, 2)
    ]
    shown = plan_of(steps)
    done = plan_of([steps[0].model_copy(update={"status": "completed"}), steps[1]])
    text = render(shown)
    place = text.rindex("- [ ] ")
    text = f"{text[:place]}- [-] {text[place + 6 :]}"
    new = up_to_date(text, shown, done).text
    assert [line[:5] for line in new.splitlines() if "^step_" in line] == ["- [x]", "- [-]"]


def with_result(step: Step, summary: str) -> Step:
    result = StepResult(ok=True, summary=summary, duration_ms=1, timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    return step.model_copy(update={"status": "completed", "result": result})


LOOK = PLAN.steps[0]
OTHER_STEP = StepId("step_2")
SAID = with_result(LOOK, "All is well.")


@pytest.mark.parametrize("after", [LOOK, SAID, with_result(LOOK, "It is not.")])
@pytest.mark.parametrize("before", [LOOK, SAID])
@pytest.mark.parametrize("typed", ["  → Mine.\n", "  - question:\n  ```\n  → Mine.\n  ```\n"])
def test_a_typed_line_of_a_result_stays(before: Step, after: Step, typed: str) -> None:
    shown, plan = plan_of([before]), plan_of([after])
    text = render(shown).rstrip("\n") + "\n" + typed
    new = up_to_date(text, shown, plan).text
    assert typed in new
    others = [line for line in new.splitlines() if line.startswith("  → ") and line != "  → Mine."]
    assert others == [*result_lines(after)]


def test_a_result_is_written_on_a_line_of_its_own_below_a_last_line_without_end() -> None:
    text = render(PLAN) + "  - question: Which"
    new = up_to_date(text, PLAN, plan_of([SAID])).text
    assert new.endswith("  - question: Which\n  → All is well.\n")


def test_a_result_of_an_earlier_run_in_a_document_found_is_the_servers() -> None:
    plan = plan_of([with_result(LOOK, "It is not.")])
    text = render(plan_of([SAID]))
    assert up_to_date(text, plan, plan, written_signs(read_document(text))).text == render(plan)


ASKS = PLAN.model_copy(
    update={
        "pending": Pending(questions=(Question(step_id=LOOK.step_id, question="Which?"),)),
        "steps": IndexedTuple([LOOK.model_copy(update={"status": "needs_clarification"})]),
    }
)


@pytest.mark.parametrize("note", ["", "\nMine.\n"])
def test_a_step_that_asks_has_a_line_for_the_answer_while_it_asks(note: str) -> None:
    text = render(PLAN) + note
    asks = up_to_date(text, PLAN, ASKS).text
    assert asks == render(ASKS) + note
    assert up_to_date(asks, ASKS, ASKS).text == asks
    assert up_to_date(asks, ASKS, PLAN).text == text
    typed = asks.replace("Answer:\n", "Answer: this\none\n\nNot this.\n")
    assert answers_in(read_document(typed)) == {"step_1": "this\none"}
    assert "Answer: this\none\n\nNot this.\n" in up_to_date(typed, ASKS, PLAN).text
    given = quoted(typed, LOOK.step_id)
    assert "> Answer: this\n> one\n\nNot this.\n" in given and not answers_in(read_document(given))
    # An answer of the author's own, where nothing was asked, is theirs.
    own = text + "\nAnswer:\n"
    assert up_to_date(own, PLAN, OTHER).text.endswith("\nAnswer:\n")


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("typed", ["", "- [ ] Not taken yet\n"])
def test_a_document_keeps_its_line_ends(eol: str, typed: str) -> None:
    """Also what is written above the steps stays, and results get the line ends of the others."""
    text = render(PLAN).replace("## Steps\n", "Mine.\n\n## Steps\n") + typed
    new = up_to_date(text.replace("\n", eol), PLAN, plan_of([SAID])).text
    assert new == up_to_date(text, PLAN, plan_of([SAID])).text.replace("\n", eol)
    assert "Mine." in new and "→ All is well." in new


def test_signs_typed_in_two_lines_and_taken_back_leave_the_step_whole() -> None:
    """A line in which something is typed may end its step, and the result comes while it does."""
    step = Step(
        step_id=StepId("step_1"),
        description="Write it",
        instruction="Write it well.",
        kind="tool_call",
        tool="write_file",
        args={"path": "a.py", "content": "1"},
        expected_files=("a.py",),
    )
    shown, plan = plan_of([step]), plan_of([with_result(step, "Created a.py")])
    text = render(shown)
    steps = text.index("- [ ]")
    starts = [at + 1 for at, sign in enumerate(text) if sign == "\n" and at > steps]
    places = {min(start + column, len(text)) for start in starts for column in range(4)}
    for first, second in itertools.combinations(sorted(places), 2):
        typed = f"{text[:first]}壹{text[first:second]}貳{text[second:]}"
        found = up_to_date(typed, shown, plan)
        rest = found.text.replace("壹", "").replace("貳", "")
        assert up_to_date(rest, found.shows, plan).text == render(plan), (first, second)


def head(text: str) -> str:
    """The status in the values at the top."""
    return read_document(text).head["status"]


def test_a_step_that_waits_for_the_user_has_their_sign_and_the_status_says_so() -> None:
    steps = [LOOK.model_copy(update={"status": "running"}), LOOK.model_copy(update={"step_id": OTHER_STEP})]
    runs = plan_of(steps, status="executing")
    approval = Approval.model_construct(approval_id="a", plan_id=runs.plan_id, step_id=LOOK.step_id)
    conflict = Conflict(edit_id=EditId("e"), step_id=LOOK.step_id, files=())
    recovery = Recovery(step_id=LOOK.step_id, error="no", options=("retry",))
    text = render(runs)
    assert "- [>] Look ^step_1" in text and head(text) == "executing"
    for pending, sign, status in (
        (Pending(approvals=(approval,)), "?", "executing, waits for your approval"),
        (Pending(conflicts=(conflict,)), "?", "executing, waits for your choice"),
        (Pending(conflicts=(conflict,), approvals=(approval,)), "?", "executing, waits for you"),
        (Pending(recoveries=(recovery,)), ">", "executing, waits for your decision"),
    ):
        waits = runs.model_copy(update={"pending": pending})
        new = up_to_date(text, runs, waits).text
        assert f"- [{sign}] Look ^step_1" in new and head(new) == status
        assert new == render(waits) and up_to_date(new, waits, runs).text == text


def test_an_answer_stands_once_below_its_step_wherever_it_was_given() -> None:
    asked = (AskedQuestion(step_id=LOOK.step_id, question="Which?", answer="80\nand 81"),)
    given = PLAN.model_copy(update={"asked": asked})
    new = up_to_date(render(ASKS), ASKS, given).text
    assert new == render(given) and new.endswith("\n\n> Answer: 80\n> and 81\n")
    assert up_to_date(new, given, given).text == new
    # Also the step that is nothing but the question, whose result the answer is.
    only = with_result(LOOK.model_copy(update={"kind": "clarification"}), "Answered: 80")
    assert render(plan_of([only])).count("80") == 0
    assert render(plan_of([only]).model_copy(update={"asked": asked})).count("> Answer: 80") == 1


def test_what_was_undone_says_so() -> None:
    done = with_result(LOOK, "It is done.")
    edit = EditRecord(
        edit_id=EditId("e"),
        step_id=LOOK.step_id,
        files=(EditedFile(uri=Uri("file:///a"), change="edit"),),
        state="applied",
    )
    shown = plan_of([done], status="completed").model_copy(update={"edits": IndexedTuple([edit])})
    text = render(shown)
    for share, status, result in (
        ("whole", "completed, undone", "→ Undone. It is done."),
        ("part", "completed, undone in part", "→ Undone in part. It is done."),
    ):
        undone = shown.model_copy(
            update={"steps": IndexedTuple([done.model_copy(update={"reverted": share})])}
        )
        new = up_to_date(text, shown, undone).text
        assert head(new) == status and result in new and new == render(undone)
        assert up_to_date(new, undone, shown).text == text
