"""Which planner writes a plan: the requested template, else the model, else the rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planloom.domain.errors import InvalidParams, UnknownThing
from planloom.domain.values import TemplateId
from planloom.models.offline.scripted import ScriptedModel, fails, says
from planloom.service.requests import CreateRequest
from tests.support.studio import a_session, studio

STEPS = {
    "summary": "Two steps.",
    "steps": [
        {
            "id": "make",
            "description": "Create the folder",
            "tool": "create_folder",
            "args": {"path": "src"},
            "dependsOn": [],
        },
        {
            "id": "think",
            "description": "Write the code",
            "instruction": "Write src/a.py",
            "dependsOn": ["make"],
        },
    ],
}
REQUEST = "Create a small program and add a page"


async def test_a_model_writes_the_plan_and_steps_are_told_while_it_writes(tmp_path: Path) -> None:
    model = ScriptedModel([says(json.dumps(STEPS), prompt_tokens=900, completion_tokens=80)])
    files = {"src/old.py": "x\n", "AGENTS.md": "Use tabs.\n"}
    async with studio(tmp_path, files, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        assert (plan.status, plan.author, plan.sequential) == ("pending_approval", "model", False)
        assert [(step.step_id, step.kind, step.depends_on) for step in plan.steps] == [
            ("make", "tool_call", ()),
            ("think", "processing", ("make",)),
        ]
        assert (plan.usage.requests, plan.usage.prompt_tokens) == (1, 900)
        assert at.types().index("task_created") < at.types().index("plan_ready")
        prompt = "\n".join(message.text for message in model.requests[0].messages)
        assert "old.py" in prompt and "Use tabs." in prompt


async def test_an_invalid_plan_is_sent_back_once_with_its_problems(tmp_path: Path) -> None:
    bad = {
        "steps": [{"id": "a", "description": "x", "tool": "no_such_tool", "args": {}, "dependsOn": ["ghost"]}]
    }
    model = ScriptedModel([says(json.dumps(bad)), says(json.dumps(STEPS))])
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        assert plan.status == "pending_approval" and len(plan.steps) == 2
        again = "\n".join(message.text for message in model.requests[1].messages)
        assert "no_such_tool" in again and "ghost" in again


async def test_a_plan_that_stays_invalid_fails_with_the_text_kept(tmp_path: Path) -> None:
    model = ScriptedModel([says("I would rather not."), says("Really, no.")])
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        assert plan.status == "failed" and plan.error is not None
        assert plan.error.code == "model_output_invalid"
        assert plan.error.raw_text is not None and "Really, no." in plan.error.raw_text
        assert plan.usage.requests == 2


async def test_a_model_that_is_gone_fails_the_draft_which_can_be_tried_again(tmp_path: Path) -> None:
    model = ScriptedModel([fails("unavailable", text=""), says(json.dumps(STEPS))])
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        assert plan.status == "failed" and plan.error is not None
        assert plan.error.code == "model_unavailable"
        await at.app.plans.regenerate(plan.plan_id, plan.version, None)
        plan = await at.until(plan, lambda now: now.status == "pending_approval")
        assert plan.version == 1 and len(plan.steps) == 2


async def test_a_regeneration_hears_the_feedback_and_a_failed_one_puts_back_the_plan(tmp_path: Path) -> None:
    model = ScriptedModel([says(json.dumps(STEPS)), fails("unavailable"), says(json.dumps(STEPS))])
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        await at.app.plans.regenerate(plan.plan_id, plan.version, "use one file only")
        back = await at.until(plan, lambda now: now.status == "pending_approval")
        assert (back.version, back.steps) == (plan.version, plan.steps)
        assert any(
            r.event.type == "log" and "previous plan is restored" in r.event.message for r in at.events
        )  # type: ignore[union-attr]
        await at.app.plans.regenerate(plan.plan_id, plan.version, "use one file only")
        again = await at.until(plan, lambda now: now.version == plan.version + 1)
        assert again.status == "pending_approval"
        assert "use one file only" in "\n".join(m.text for m in model.requests[-1].messages)


async def test_a_cancelled_regeneration_puts_back_the_plan(tmp_path: Path) -> None:
    model = ScriptedModel([says(json.dumps(STEPS)), fails("hang")])
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        await at.app.plans.regenerate(plan.plan_id, plan.version, "slower")
        await at.app.plans.cancel(plan.plan_id)
        back = await at.until(plan, lambda now: now.status == "pending_approval")
        assert (back.version, back.steps) == (plan.version, plan.steps)


async def test_a_template_is_saved_listed_applied_and_deleted(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await at.ask('1. Create folder shop\n2. Create file shop/a.txt with content "shop"')
        saved = await at.app.templates.save(plan.plan_id, "Shop", None, [("name", "shop")])
        assert saved in at.app.templates.list()
        made = await at.run(
            "Shop again", mode="plan", template_id=saved.template_id, parameters={"name": "store"}
        )
        assert (made.status, made.author) == ("completed", "template")
        assert at.text("store/a.txt") == "store"
        await at.app.templates.delete(saved.template_id)
        with pytest.raises(UnknownThing):
            await at.app.templates.get(saved.template_id)


async def test_a_template_with_a_missing_value_makes_no_plan(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        with pytest.raises(InvalidParams, match="name: it is required"):
            await at.app.plans.create(
                CreateRequest(text="New package", template_id=TemplateId("python_package"), parameters={})
            )
        with pytest.raises(UnknownThing):
            await at.app.plans.create(
                CreateRequest(text="New", template_id=TemplateId("nobody"), parameters={})
            )
        assert at.app.plans.list(None, (), None, False) == ()


async def test_bundled_templates_are_five_and_stay(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        bundled = [template for template in at.app.templates.list() if template.builtin]
        assert len(bundled) == 5
        with pytest.raises(InvalidParams):
            await at.app.templates.delete(bundled[0].template_id)
        with pytest.raises(UnknownThing):
            await at.app.templates.delete(TemplateId("nobody"))


@pytest.mark.parametrize("users", [True, False])
def test_a_key_of_the_environment_goes_to_a_base_url_that_the_user_has_set(users: bool) -> None:
    from planloom.models.http.endpoint import origin_of
    from planloom.service.models import Models

    url = "http://127.0.0.1:9/v1"
    models = Models(
        a_session({"model.baseUrl": url}),
        {"PLANLOOM_API_KEY": "canary-key-1234"},
        base_url_is_users=lambda: users,
    )
    found = models._keyring().find("openai", origin_of(url))
    assert (found is not None) == users


async def test_no_key_leaves_through_the_log() -> None:
    import io
    import logging

    from planloom.service.models import Models

    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(message)s"))
    models = Models(a_session(), {"OPENAI_API_KEY": "canary-key-1234"})
    models.redact([handler])
    await models.set_secret("anthropic", "canary-key-5678")
    for text in ("sent canary-key-1234", "sent canary-key-5678"):
        handler.handle(logging.LogRecord("x", logging.INFO, "", 1, text, None, None))
    assert "canary" not in written.getvalue() and written.getvalue().count("[key]") == 2


async def test_an_answer_that_breaks_off_and_begins_anew_is_read_once(tmp_path: Path) -> None:
    from planloom.models.offline.scripted import Turn
    from planloom.models.port import Finished, Restarted, TextDelta

    text = json.dumps(STEPS)
    half = text[: text.index('"dependsOn": ["make"]')]
    broken = Restarted(problem="the stream broke", attempt=1, wait_seconds=0)
    events = (TextDelta(text=half), broken, TextDelta(text=text), Finished(reason="stop"))
    model = ScriptedModel([Turn(events=events)])
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        assert [step.step_id for step in plan.steps] == ["make", "think"]
        assert at.types().count("task_created") == 2 and len(model.requests) == 1
