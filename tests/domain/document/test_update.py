"""A document that is brought up to date keeps what the user has written in it."""

from __future__ import annotations

import pytest

from planloom.domain.document.render import render
from planloom.domain.document.update import up_to_date
from planloom.domain.plans.plan import Step
from planloom.domain.values import StepId
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
