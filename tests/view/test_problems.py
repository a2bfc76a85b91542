"""Every error has a sentence for people, which is none for terminals, and what mends it."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest

from planloom.domain import errors
from planloom.domain.errors import ModelCause, ModelProblem
from planloom.domain.plans.plan import PauseReason, PlanError
from planloom.serving.errors import CODES
from planloom.version import DOCUMENTATION
from planloom.view.plan_view import view
from planloom.view.problems import of_failure, of_model, of_plan
from planloom.view.questions import asked, ended
from planloom.view.states import Around, causes
from planloom.view.words import Words
from tests.view.test_plan_view import NOON, plan, step

PROJECT = Path(__file__).parents[2]
EN = Words()
FOR_TERMINALS = re.compile(r"--base-url|planloom/|`|PLANLOOM_")
TERMINAL = "Set `planloom.model.baseUrl`, or PLANLOOM_API_KEY in the environment."
SECTIONS = set(re.findall(r'<a id="(.+?)">', (PROJECT / "docs/troubleshooting.md").read_text("utf-8")))
PROVIDERS = ("openai", "ollama", "editor", "")
ADDRESS = "https://api.example.com"


def is_a_section(page: str | None) -> bool:
    before, _, section = (page or "").partition("#")
    return before == f"{DOCUMENTATION}/troubleshooting.md" and section in SECTIONS


@pytest.mark.parametrize("cause", get_args(ModelCause))
@pytest.mark.parametrize("address", [ADDRESS, ""])
def test_why_a_model_cannot_be_used_is_a_sentence_with_what_mends_it(cause: ModelCause, address: str) -> None:
    for provider in PROVIDERS:
        problem = ModelProblem(cause=cause, provider=provider, address=address, model="small")
        words, mends, _, page = of_model(problem, NOON, EN)
        assert re.match(r"[A-Z].*\.$" if not address else r".*\.$", words)
        assert not FOR_TERMINALS.search(words.replace(ADDRESS, ""))
        assert not re.search(r" The model's server| {2}", words)
        assert mends and is_a_section(page)


def failures() -> list[errors.PlanloomError]:
    """One of each kind, whose message is for a terminal."""
    special: dict[type, errors.PlanloomError] = {
        errors.PlanElsewhere: errors.PlanElsewhere(errors.PlanId("p"), ()),
        errors.WrongState: errors.WrongState("It runs.", status="draft"),
        errors.StaleVersion: errors.StaleVersion(3),
        errors.InvalidPlan: errors.InvalidPlan("It has a cycle.", ()),
        errors.PlanUnreadable: errors.PlanUnreadable(errors.PlanId("p"), "broken"),
    }
    unknown = [errors.UnknownThing(kind, "x") for kind in ("plan", "step", "approval", "template", "edit")]
    model = [
        errors.ModelFailed(code, TERMINAL)
        for code in ("model_unavailable", "model_refused", "model_output_invalid")
    ]
    others = [
        special.get(kind) or kind("What it is.")
        for kind in CODES
        if kind not in (errors.UnknownThing, errors.ModelFailed, errors.FilesRefused)
    ]
    return [*unknown, *model, *others]


@pytest.mark.parametrize("error", failures(), ids=lambda each: each.code)
def test_every_error_has_a_sentence_of_its_own(error: errors.PlanloomError) -> None:
    german, english = (of_failure(error, NOON, Words(each)).words for each in ("de", "en"))
    assert english and english != error.message
    assert german != english
    assert is_a_section(of_failure(error, NOON, EN).help)


def test_a_reason_of_the_editor_stands_alone() -> None:
    error = errors.FilesRefused("The editor refused the edit.", status="completed")
    assert (of_failure(error, NOON, EN).words, error.code) == ("The editor refused the edit.", "wrong_state")


def test_a_defect_offers_the_log() -> None:
    assert of_failure(ValueError("secret"), NOON, EN).mends == ("log", "restart")
    assert "secret" not in of_failure(ValueError("secret"), NOON, EN).words


def test_what_the_server_said_and_when_it_can_be_asked_again() -> None:
    busy = ModelProblem(cause="busy", address=ADDRESS, said="Slow down.", wait_seconds=90)
    found = of_model(busy, NOON, EN)
    assert found.words == f"{ADDRESS} takes no more requests now. It said: Slow down."
    assert (found.mends[0], found.until) == ("again", NOON + timedelta(seconds=90))


@pytest.mark.parametrize(
    ("provider", "cause", "mend"),
    [
        ("openai", "key_refused", "key"),
        ("ollama", "unreachable", "startOllama"),
        ("ollama", "no_models", "getOllamaModel"),
    ],
)
def test_the_most_likely_mend_comes_first(provider: str, cause: ModelCause, mend: str) -> None:
    assert of_model(ModelProblem(cause=cause, provider=provider), NOON, EN).mends[0] == mend


def test_problems_name_the_step_or_the_field_and_are_not_told_twice() -> None:
    problems = [
        {"stepId": "b", "field": "args.path", "problem": "Step 2, write_file: `path` is missing."},
        {"field": "version", "problem": "no number"},
        {"problem": "odd"},
    ]
    found = of_failure(errors.InvalidPlan("Step 2 has no path.", problems), NOON, EN)
    assert found.words.splitlines() == [
        "That is not a valid plan:",
        "Step 2, write_file: `path` is missing.",
        "version: no number",
        "odd",
    ]
    alone = of_failure(errors.InvalidPlan("Step 2 has no path.", ()), NOON, EN)
    assert alone.words == "That is not a valid plan: Step 2 has no path."


def test_a_long_list_of_problems_is_cut_and_says_so() -> None:
    many: list[Any] = [{"field": "x", "problem": "bad"}] * 9
    lines = of_failure(errors.InvalidParams("Off.", details=many), NOON, EN).words.splitlines()
    assert (len(lines), lines[-1]) == (8, "and 3 more")


@pytest.mark.parametrize("code", ["model_refused", "budget_exhausted", "context_overflow", "internal"])
def test_a_plan_that_failed_for_its_model_says_so_in_the_users_words(code: str) -> None:
    found = of_plan(plan(status="failed", error=PlanError(code=code, message=TERMINAL)), EN)
    assert found is not None and found.mends and not FOR_TERMINALS.search(found.words)


def test_the_error_of_a_plan_that_is_about_the_plan_is_shown_as_it_is() -> None:
    failed = plan(status="failed", error=PlanError(code="invalid_plan", message="Step 1 waits for itself."))
    found = of_plan(failed, EN)
    assert (
        found is not None and found[:3] == ("Step 1 waits for itself.", (), None) and is_a_section(found.help)
    )
    assert of_plan(plan(), EN) is None


def test_a_plan_that_is_paused_for_its_model_says_why() -> None:
    problem = ModelProblem(cause="unreachable", provider="ollama")
    paused = plan(status="paused", pause_reason="model_unavailable", model_problem=problem, paused_at=NOON)
    found = of_plan(paused, EN)
    assert found is not None
    assert found[:3] == ("Ollama does not answer.", ("startOllama", "again", "models"), None)
    unknown = plan(status="paused", pause_reason="model_unavailable")
    found = of_plan(unknown, EN)
    assert found is not None and found[:3] == ("The model cannot be used now.", ("again", "models"), None)


@pytest.mark.parametrize("reason", get_args(PauseReason))
def test_a_pause_leads_to_its_section_unless_the_user_has_made_it(reason: PauseReason) -> None:
    paused = plan(step("a"), status="paused", pause_reason=reason, model_problem=ModelProblem(cause="slow"))
    shown = view(paused, Around(EN))
    page = shown.problem.help if shown.problem is not None else shown.pause_help
    assert is_a_section(page) or (reason == "user" and page is None)
    for cause in causes(paused):
        assert str(page) in asked(shown, cause, EN).text


def test_a_plan_that_failed_leads_to_its_section_in_a_message() -> None:
    failed = plan(step("a"), status="failed", error=PlanError(code="storage_failed", message="No room."))
    _, said = ended(view(failed, Around(EN)), EN)
    assert is_a_section(said.splitlines()[-1])
