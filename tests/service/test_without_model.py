"""Without a model that can be used: what a plan says of that before it runs, and where it stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.domain.plans.plan import Plan
from planloom.view import problems
from planloom.view.words import Words
from tests.support.studio import studio

EN = Words("en")
DOWN = ModelProblem(cause="unreachable", provider="openai", address="https://api.example")
FAILURE = ModelFailed("model_unavailable", "Nothing answers at https://api.example.", problem=DOWN)
LITERAL = '1. Create folder q3\n2. Create file q3/a.txt with content "a"'
IN_WORDS = "1. Create folder q3\n2. Write a haiku about autumn to q3/haiku.md"
DOCUMENT = "# Plan: haiku\n\n## Steps\n\n1. Write a haiku about autumn\n"


def says(plan: Plan) -> str:
    found = problems.of_plan(plan, EN)
    return found.words if found is not None else ""


@pytest.mark.parametrize(
    ("text", "failure", "words"),
    [
        (LITERAL, None, ""),
        (
            IN_WORDS,
            None,
            "1 step needs a language model, and the plan will pause there. None is set up.",
        ),
        (
            LITERAL,
            FAILURE,
            "It was planned without a language model. Nothing answers at https://api.example.",
        ),
        (
            IN_WORDS,
            FAILURE,
            "1 step needs a language model, and the plan will pause there. Nothing answers at https://api.example.",
        ),
    ],
)
async def test_a_review_says_what_no_model_can_do(
    tmp_path: Path, text: str, failure: ModelFailed | None, words: str
) -> None:
    async with studio(tmp_path) as at:
        at.model.failure = failure
        assert says(await at.ask(text, mode="plan")) == words


async def test_a_plan_document_with_a_step_in_words_says_it_too(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        assert "None is set up." in says(await at.app.plans.adopt_document(DOCUMENT))


async def test_the_plan_pauses_for_the_model_that_was_tried(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        at.model.failure = FAILURE
        plan = await at.ask(IN_WORDS, mode="plan")
        paused = await at.approve(plan, review="auto")
        assert (paused.pause_reason, paused.model_problem) == ("model_unavailable", DOWN)
        assert says(paused) == "Nothing answers at https://api.example."


async def test_a_new_draft_that_fails_leaves_what_the_review_said(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await at.ask(IN_WORDS, mode="plan")
        at.app.plans._drafts._drafting._planners = None  # type: ignore[assignment]
        await at.app.plans.regenerate(plan.plan_id, plan.version, "shorter")
        assert says(await at.reach(plan, "ready")) == says(plan)
