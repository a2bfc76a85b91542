"""Qualification and routing: by rules, settings and modes, and by a model."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.plans.attachments import Attachment
from planloom.domain.values import AttachmentId, Uri
from planloom.intake.routing.detection import detect
from planloom.intake.routing.qualification import Classification, Mode, Routing, qualify, refine, route
from planloom.settings import PlanningSettings

AUTO = PlanningSettings()
WEBAPP = (
    "Create a TypeScript project called webapp, write src/index.ts with a main function, write public/index.html, "
    "ingest all files"
)
VERDICTS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "risk_verdicts.jsonl").read_text("utf-8").splitlines()
]


def attached(uri: str, *, secret: bool = False) -> Attachment:
    return Attachment(
        attachment_id=AttachmentId("a1"),
        kind="file",
        reference="@x",
        uri=Uri(uri),
        secret=secret or None,
    )


def routed(text: str, mode: Mode = "auto", settings: PlanningSettings = AUTO, *, model: bool = False) -> str:
    detection = detect(text)
    found = route(mode, detection, qualify(text, (), detection), settings, model_at_hand=model)
    return f"{found.route} {found.detection.rule}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What is an app?", "question trivial low"),
        ("Create folder TestFolder", "code trivial low"),
        ("Review my uncommitted change: is anything missing? Change nothing.", "question trivial low"),
        ("Please review the parser", "question trivial low"),
        ("Check the tests without changing anything", "question trivial low"),
        ("Check the tests and change nothing else", "code simple low"),
        ("Review the parser and fix what is wrong", "code simple low"),
        ("Create a recipe app", "code simple low"),
        ("Add a Dockerfile", "devops trivial low"),
        ("Deploy the service with docker", "devops trivial medium"),
        ("Deploy the app to production and add a health endpoint", "mixed simple high"),
        ("Refactor the auth system and deploy to staging", "mixed complex medium"),
        ("Rename the function", "code trivial medium"),
        ("Delete notes.txt", "code trivial medium"),
        ("Delete all users", "code trivial high"),
        ("Drop the\ntable of guests", "code trivial high"),
        ("Migrate the whole codebase to Rust", "code complex medium"),
        ("1. soup\n2. bread\n3. salad\n4. cake\n5. tea", "code moderate low"),
        ("Add the platform page to src/production/deploy.py", "code simple low"),
    ],
)
def test_the_rules_judge(text: str, wanted: str) -> None:
    found = qualify(text, (), detect(text))
    assert f"{found.task_type} {found.complexity} {found.risk_level}" == wanted
    assert found.by == "rules"


@pytest.mark.parametrize("case", VERDICTS, ids=lambda case: case["text"][:40])
def test_risk_follows_from_what_a_request_does(case: dict[str, Any]) -> None:
    assert qualify(case["text"], (), detect(case["text"])).risk_level in case["risk"]


def test_verdicts_above_the_plainest_have_reasons() -> None:
    text = "Delete all users and update the docker pipeline and fix the login page of the entire app"
    found = qualify(text, (), detect(text))
    assert len(found.reasons) >= 4 and all(reason.endswith(".") for reason in found.reasons)


def test_attachments_count() -> None:
    text = "Tidy this up"
    assert qualify(text, (attached("file:///w/.env", secret=True),), detect(text)).risk_level == "medium"
    assert qualify(text, (attached("file:///w/.github/workflows/a.yml"),), detect(text)).task_type == "devops"
    assert qualify(text, (attached("file:///w/a.py"),) * 5, detect(text)).complexity == "moderate"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What is an app?", "direct question"),
        ("Create folder TestFolder", "direct none"),
        ("Create a recipe app", "plan verb_and_scope"),
        ("Delete all users", "perspectives qualification"),
        ("Delete all users?", "perspectives qualification"),
        ("query all functions", "direct none"),
        (WEBAPP, "plan verb_and_scope"),
        ("Deploy the app to production and add a health endpoint", "perspectives multiple_tasks"),
    ],
)
def test_the_route_follows_from_the_verdicts(text: str, wanted: str) -> None:
    assert routed(text) == wanted


def test_settings_ask_for_or_refuse_perspectives() -> None:
    never, always = (PlanningSettings(perspectives=choice) for choice in ("never", "always"))
    assert routed("Delete all users", settings=never) == "plan qualification"
    assert routed("Create a recipe app", settings=always) == "perspectives verb_and_scope"
    assert routed("Create folder Soup", settings=always) == "direct none"


@pytest.mark.parametrize("mode", ["plan", "direct", "perspectives"])
def test_an_explicit_mode_wins(mode: Mode) -> None:
    for text in ("What is an app?", "Delete all users", "Erstelle eine Webseite"):
        assert routed(text, mode, model=True).split()[0] == mode
    off = detect("Create an app", enabled=False)
    assert route(mode, off, qualify("Create an app", (), off), AUTO).route == mode


def test_disabled_planning_plans_nothing_by_itself() -> None:
    off = detect("Delete all users", enabled=False)
    found = route("auto", off, qualify("Delete all users", (), off), AUTO, model_at_hand=True)
    assert (found.route, found.detection.rule) == ("direct", "disabled")


def test_only_an_ambiguous_request_waits_for_a_model() -> None:
    never = PlanningSettings(classify_with_model="never")
    assert routed("Erstelle eine Webseite", model=True) == "undecided none"
    assert routed("Erstelle eine Webseite", model=True, settings=never) == "plan unsure"
    assert routed("Erstelle eine Webseite") == "plan unsure"
    assert routed("Create a recipe app", model=True) == "plan verb_and_scope"


def test_the_setting_decides_where_nobody_else_is_sure() -> None:
    direct = PlanningSettings(when_unsure="direct")
    for text in ("Port the frontend to Vue 3", "Make the tests pass", "Can you add tests?"):
        assert (routed(text), routed(text, settings=direct).split()[0]) == ("plan unsure", "direct")
    assert routed("Summarize the notes. Change nothing.") == "direct none"
    assert routed("Run the tests") == "direct none"


def refined(answer: Classification | None) -> Routing:
    text = "Erstelle eine Webseite"
    detection = detect(text)
    undecided = route("auto", detection, qualify(text, (), detection), AUTO, model_at_hand=True)
    return refine(undecided, AUTO, answer)


def test_a_model_refines_both_verdicts() -> None:
    found = refined(
        Classification(planned=True, task_type="code", complexity="moderate", risk_level="low", reason="Big.")
    )
    assert (found.route, found.detection.rule, found.qualification.by) == ("plan", "model", "model")
    assert found.qualification.reasons == ("Big.",)
    assert found.qualification.risk_level == "low"
    heavy = refined(Classification(planned=True, task_type="mixed", complexity="complex", risk_level="low"))
    assert heavy.route == "perspectives"


def test_a_models_word_raises_the_risk_alone() -> None:
    text = "Migrate the settings to the new format"
    detection = detect(text)
    undecided = route("auto", detection, qualify(text, (), detection), AUTO, model_at_hand=True)
    low = Classification(planned=False, task_type="devops", complexity="simple", risk_level="low")
    assert undecided.route == "undecided"
    assert refine(undecided, AUTO, low).qualification.risk_level == "medium"
    assert refined(low).qualification.risk_level == "low"


def test_without_an_answer_the_rules_hold() -> None:
    found = refined(None)
    assert (found.route, found.detection.rule, found.qualification.by) == ("plan", "unsure", "rules")


@given(st.text(max_size=300))
def test_any_text_is_judged_and_routed(text: str) -> None:
    detection = detect(text)
    assert route("auto", detection, qualify(text, (), detection), AUTO).route != "undecided"


@pytest.mark.parametrize("unit", ["delete all ", "and add ", "rm -", "1. ", "in ", "drop  "])
def test_time_is_linear_on_adversarial_text(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    started = time.process_time()
    qualify(text, (), detect(text))
    assert time.process_time() - started < 10
