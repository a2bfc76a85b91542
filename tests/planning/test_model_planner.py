"""Planning with a model: its prompts, announced steps, and plans that are sent back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planloom.agent.prompts import current_task
from planloom.domain.errors import ContextOverflow, ModelFailed
from planloom.domain.plans.agents import KodaPerspective
from planloom.domain.plans.attachments import Attachment, ResolvedAttachment
from planloom.domain.plans.plan import Qualification, Step, Usage
from planloom.domain.plans.templates import Template
from planloom.domain.values import AttachmentId, StepId, TemplateId
from planloom.intake.surroundings.project_instructions import InstructionFile, ProjectInstructions
from planloom.intake.surroundings.sections import Surroundings
from planloom.models.offline.scripted import ScriptedModel, Turn, fails, makes, says
from planloom.models.port import Capabilities
from planloom.models.tokens import TokenCounter
from planloom.planning.investigations.draft_investigations import DraftInvestigations
from planloom.planning.investigations.planner import InvestigatingPlanner
from planloom.planning.model.planner import DraftOptions, ModelPlanner
from planloom.planning.model.prompts import (
    investigation_prompt,
    planning_rules,
    repair_prompt,
    system_prompt,
    told_templates,
)
from planloom.planning.port import DraftText, PlanDrafted, PlanningRequest, RequestUsage, StepDrafted
from planloom.tools.registry import builtin
from tests.support.golden import check_golden
from tests.support.small_tools import small_tools

GOLDEN = Path(__file__).parents[1] / "golden" / "prompts"
CONSTRAINED = Capabilities(json_schema=True, context_tokens=32_000)
PLAIN = Capabilities(context_tokens=32_000)
TAKES_TOOLS = Capabilities(tools=True, context_tokens=32_000)
GOOD = json.dumps(
    {
        "summary": "Two steps.",
        "steps": [
            {
                "id": "a",
                "description": "Read it",
                "tool": "read_file",
                "args": {"path": "a.txt"},
                "agent": "koda",
                "dependsOn": [],
            },
            {"id": "b", "description": "Change it", "instruction": "Change a.txt.", "dependsOn": ["a"]},
        ],
    }
)
MARKED = "---PLAN-START---\nSTEP 1: A\nDO: x\nSTEP 2: B\nDO: y\n---PLAN-END---"


def asking(text: str = "Change a.txt", **more: Any) -> PlanningRequest:
    return PlanningRequest(text=text, **more)


async def drafted(
    turns: Sequence[Turn],
    request: PlanningRequest | None = None,
    capabilities: Capabilities = CONSTRAINED,
    **options: Any,
) -> tuple[ScriptedModel, list[Any]]:
    model = ScriptedModel(turns, capabilities=capabilities)
    planner = ModelPlanner(model, small_tools(), **options)
    return model, [event async for event in planner.draft(request or asking())]


def plan_in(events: Sequence[Any]) -> PlanDrafted:
    (plan,) = [event for event in events if isinstance(event, PlanDrafted)]
    return plan


async def test_a_constrained_plan() -> None:
    model, events = await drafted([says(GOOD, prompt_tokens=100, completion_tokens=20)])
    plan = plan_in(events)
    assert [(step.step_id, step.kind, step.depends_on) for step in plan.steps] == [
        ("a", "tool_call", ()),
        ("b", "processing", ("a",)),
    ]
    assert (plan.summary, plan.sequential, plan.author, plan.warnings) == ("Two steps.", False, "model", ())
    assert model.requests[0].response_schema is not None
    assert "".join(event.text for event in events if isinstance(event, DraftText)) == GOOD
    (usage,) = [event.usage for event in events if isinstance(event, RequestUsage)]
    assert usage == Usage(requests=1, prompt_tokens=100, completion_tokens=20)


async def test_steps_are_announced_while_the_model_writes() -> None:
    _, events = await drafted([says(GOOD)])
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("StepDrafted") < len(kinds) - 1 - kinds[::-1].index("DraftText")
    announced = [event.step for event in events if isinstance(event, StepDrafted)]
    assert [step.step_id for step in announced] == ["a", "b"]
    assert tuple(announced) == plan_in(events).steps


async def test_markers_if_the_provider_cannot_enforce_a_schema() -> None:
    model, events = await drafted([says(MARKED)], capabilities=PLAIN)
    plan = plan_in(events)
    assert model.requests[0].response_schema is None
    assert "---PLAN-START---" in model.requests[0].messages[0].text
    assert [(step.step_id, step.instruction) for step in plan.steps] == [("step_1", "x"), ("step_2", "y")]
    assert plan.sequential


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD.replace("read_file", "fly"), "There is no tool 'fly'"),
        (GOOD.replace('"a.txt"', '"../a.txt"'), "outside the workspace"),
        (GOOD.replace('{"path": "a.txt"}', "{}"), "args.path"),
        (GOOD.replace('["a"]', '["zz"]'), "There is no step 'zz'"),
        (GOOD.replace('"dependsOn": []', '"dependsOn": ["b"]'), "circle"),
        (GOOD[:-80], "cut"),
        ("I would rather talk about the weather.", "There is no plan"),
        ("", "There is no plan"),
        ('{"summary": "", "steps": []}', "The plan has no steps."),
    ],
)
async def test_an_unusable_plan_is_sent_back_once(text: str, told: str) -> None:
    model, events = await drafted([says(text), says(GOOD)])
    assert [step.step_id for step in plan_in(events).steps] == ["a", "b"]
    first, second = model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert told in second.messages[-1].text
    assert sum(isinstance(event, RequestUsage) for event in events) == 2


@pytest.mark.parametrize(
    ("text", "order", "warned"),
    [
        (
            GOOD.replace('["a"]', '["zz", "a"]'),
            [("a", ()), ("b", ("a",))],
            "There is no step 'zz' to depend on.",
        ),
        (
            GOOD.replace('"dependsOn": []', '"dependsOn": ["b"]'),
            [("a", ()), ("b", ("a",))],
            "These steps wait for each other in a circle: a → b → a.",
        ),
        (
            GOOD.replace('["a"]', '["b"]'),
            [("a", ()), ("b", ())],
            "These steps wait for each other in a circle: b → b.",
        ),
    ],
)
async def test_a_model_that_orders_its_steps_wrongly_twice_has_them_run_as_it_wrote_them(
    text: str, order: list[tuple[str, tuple[str, ...]]], warned: str
) -> None:
    model, events = await drafted([says(text), says(text)])
    plan = plan_in(events)
    assert len(model.requests) == 2
    assert plan.sequential and [(step.step_id, step.depends_on) for step in plan.steps] == order
    (warning,) = plan.warnings
    assert warning.severity == "warning"
    assert warning.problem == f"{warned} So the steps run one after the other, in this order."


async def test_an_order_that_is_wrong_does_not_excuse_another_error() -> None:
    text = GOOD.replace('["a"]', '["zz"]').replace("read_file", "fly")
    with pytest.raises(ModelFailed, match="There is no tool 'fly'"):
        await drafted([says(text), says(text)])


@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize(("words", "messages"), [(10, 4), (500, 2)])
async def test_a_context_of_4096_tokens_is_enough_for_all_tools_and_a_repair(
    schema: bool, words: int, messages: int
) -> None:
    small = Capabilities(json_schema=schema, context_tokens=4_096)
    good = GOOD if schema else MARKED
    model = ScriptedModel([says("I would rather talk. " * words), says(good)], capabilities=small)
    planner = ModelPlanner(model, builtin())
    events = [event async for event in planner.draft(full())]
    assert plan_in(events).steps
    for request in model.requests:
        written = sum(TokenCounter().text(message.text) for message in request.messages)
        assert request.max_tokens is not None and written + request.max_tokens <= 4_096
    assert "There is no plan in the answer" in model.requests[1].messages[-1].text
    assert len(model.requests[1].messages) == messages
    assert "REQUEST\nMake @src/a.py greet" in model.requests[1].messages[1].text


async def test_a_second_failure_keeps_the_text() -> None:
    with pytest.raises(ModelFailed) as failure:
        await drafted([says("No."), says("Never.")])
    assert failure.value.code == "model_output_invalid"
    assert failure.value.raw_text == "Never."
    assert "There is no plan in the answer" in failure.value.message


async def test_an_answer_that_was_cut_is_never_a_plan() -> None:
    model, events = await drafted([says(GOOD, finish="length"), says(GOOD)])
    assert len(model.requests) == 2
    assert plan_in(events).steps


async def test_a_marked_plan_without_its_end_marker_counts_unless_the_answer_was_cut() -> None:
    unended = MARKED.removesuffix("---PLAN-END---")
    model, events = await drafted([says(unended)], capabilities=PLAIN)
    assert [step.instruction for step in plan_in(events).steps] == ["x", "y"]
    assert len(model.requests) == 1
    model, events = await drafted([says(unended, finish="length"), says(MARKED)], capabilities=PLAIN)
    assert len(model.requests) == 2
    assert "The plan was cut" in model.requests[1].messages[-1].text


async def test_expected_calls_keep_their_arguments_and_the_step_is_shown_them() -> None:
    calls = [
        {"tool": "write_file", "args": {"path": "a", "content": "$one"}},
        {"name": "write_file", "arguments": {"path": "b", "content": "y"}},
        "read_file",
        "read_file",
        "fly",
    ]
    steps = [
        {"id": "one", "description": "Look", "instruction": "Look."},
        {"id": "2", "description": "Write", "instruction": "Write it.", "toolsToExecute": calls},
    ]
    _, events = await drafted([says(json.dumps(steps))])
    shown = current_task(plan_in(events).steps[1])
    assert (
        'Expected tools: write_file {"path": "a", "content": "$one"}; '
        'write_file {"path": "b", "content": "y"}; read_file' in shown.split("\n")
    )


def test_every_planner_is_told_that_steps_can_run_in_parallel() -> None:
    tools = builtin()
    for synthesis in (False, True):
        prompts = [system_prompt(tools, style, synthesis=synthesis) for style in ("json", "markers")]
        for prompt in (*prompts, investigation_prompt(tools, synthesis=synthesis), planning_rules(tools)):
            assert "Steps that do not depend on each other can run in parallel." in prompt


async def test_endless_white_space_ends_the_read() -> None:
    model, events = await drafted([says(GOOD + " " * 20_000)])
    assert plan_in(events).steps
    assert len(model.requests) == 1
    assert sum(len(event.text) for event in events if isinstance(event, DraftText)) < 3_000


async def test_a_refusal_and_a_broken_server_are_different_failures() -> None:
    with pytest.raises(ModelFailed) as refused:
        await drafted([says("I must not.", finish="refused")])
    assert (refused.value.code, refused.value.raw_text) == ("model_refused", "I must not.")
    with pytest.raises(ModelFailed) as broken:
        await drafted([fails("unavailable")])
    assert broken.value.code == "model_unavailable"


async def test_a_deletion_nobody_asked_for_is_a_warning() -> None:
    text = json.dumps([{"description": "Clean", "tool": "delete_path", "args": {"path": "src/a.py"}}])
    _, events = await drafted([says(text)], asking("Write docs"))
    plan = plan_in(events)
    assert [warning.field for warning in plan.warnings] == ["args.path"]
    assert plan.overall_risk == "high"
    _, events = await drafted([says(text)], asking("Delete src/a.py"))
    assert plan_in(events).warnings == ()


async def test_regeneration_keeps_finished_steps_out_and_their_ids_taken() -> None:
    done = Step(step_id=StepId("a"), description="Did it", instruction="x", status="completed")
    request = asking(finished=(done,), previous=(done,), feedback="Shorter, please")
    model, events = await drafted([says(GOOD.replace('"dependsOn": []', '"dependsOn": ["a"]'))], request)
    told = model.requests[0].messages[1].text
    assert "Shorter, please" in told
    assert "a: Did it" in told
    steps = plan_in(events).steps
    assert steps[0].step_id != "a"
    assert steps[0].depends_on == ("a",)


async def test_a_plan_to_revise_is_shown_with_all_that_a_planner_can_say() -> None:
    said = {
        "id": "fix",
        "description": "Fix it",
        "agent": "devo",
        "expectedFiles": ["a.py"],
        "forEach": "glob('*.py')",
        "when": "exists('b.py')",
        "checks": ["make a; make b", {"kind": "file_exists", "path": "out"}],
    }
    gate = {"id": "ask", "description": "Ask", "kind": "approval", "question": "On?", "dependsOn": ["fix"]}
    _, events = await drafted([says(json.dumps({"steps": [said, gate]}))])
    template = Step(
        step_id=StepId("all"),
        description="Release",
        instruction="Release",
        kind="sub_plan",
        template_id=TemplateId("release"),
        args={"version": "2"},
    )
    previous = (*plan_in(events).steps, template)
    model, _ = await drafted([says(GOOD)], asking(previous=previous, feedback="Go on"))
    shown = model.requests[0].messages[1].text
    for line in (
        *(
            "- fix: Fix it",
            "agent: devo",
            "expectedFiles: a.py",
            "when: exists('b.py')",
            "forEach: glob('*.py')",
        ),
        'checks: ["make a; make b", {"kind": "file_exists", "path": "out"}]',
        *("- ask: Ask", "On?", "kind: approval", "dependsOn: fix", 'template release {"version": "2"}'),
    ):
        assert f"{line}\n" in shown, shown


async def test_a_request_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ContextOverflow):
        await drafted([says(GOOD)], asking("x" * 100_000))


async def test_attachments_and_the_surroundings_share_what_is_left() -> None:
    attachment = ResolvedAttachment(
        attachment=Attachment(
            attachment_id=AttachmentId("1"), kind="file", reference="@big.txt", bytes=10**6
        ),
        text="line\n" * 200_000,
    )
    request = asking(attachments=(attachment,), surroundings=Surroundings(tree="file.py\n" * 50_000))
    model, _ = await drafted([says(GOOD)], request)
    size = sum(len(message.text) for message in model.requests[0].messages)
    assert size < 32_000 * 3
    assert "more lines)" in model.requests[0].messages[1].text


def full() -> PlanningRequest:
    return PlanningRequest(
        text="Make @src/a.py greet politely",
        surroundings=Surroundings(
            environment="System: Linux.\nTests are run with: `pytest` (pyproject.toml)",
            tree="src/\n  a.py\nREADME.md",
            instructions=ProjectInstructions(
                files=(InstructionFile(path="AGENTS.md", text="Use tabs.\n"),), others=("web/AGENTS.md",)
            ),
        ),
        qualification=Qualification(
            task_type="code", complexity="simple", risk_level="low", reasons=(), by="rules"
        ),
        attachments=(
            ResolvedAttachment(
                attachment=Attachment(
                    attachment_id=AttachmentId("1"), kind="file", reference="@src/a.py", bytes=12
                ),
                text="print('hi')\n",
            ),
        ),
    )


@pytest.mark.parametrize(("name", "capabilities"), [("json", CONSTRAINED), ("markers", PLAIN)])
async def test_golden_prompts(name: str, capabilities: Capabilities) -> None:
    turn = says(GOOD if name == "json" else MARKED)
    model, _ = await drafted(
        [turn], full(), capabilities, options=DraftOptions(extra="Prefer small functions.")
    )
    system, user = model.requests[0].messages
    text = f"[system]\n{system.text}\n\n[user]\n{user.text}\n"
    check_golden(GOLDEN / f"{name}.txt", text)


@pytest.mark.parametrize(
    "words",
    ["<think>Not so.</think> Say it.", "<think>", "---PLAN-START---\nSTEP 1: A\nDO: x\n---PLAN-END---"],
)
async def test_a_submitted_plan_keeps_texts_that_would_be_marks_in_an_answer(words: str) -> None:
    step = {"id": "a", "description": "Write it", "instruction": f"Write this into a.txt: {words}"}
    model = ScriptedModel([makes(("submit_plan", {"steps": [step]}))], capabilities=TAKES_TOOLS)
    investigations = DraftInvestigations(
        model,
        small_tools(),
        lambda: None,  # type: ignore[arg-type, return-value]
    )
    planner = InvestigatingPlanner(investigations, small_tools(), DraftOptions())
    (drafted_step,) = plan_in([event async for event in planner.draft(asking())]).steps
    assert drafted_step.instruction == step["instruction"]


async def test_the_risk_and_the_duration_beside_steps_given_as_a_string_are_kept() -> None:
    args = {"overallRisk": "high", "estimatedDuration": "2 min", "steps": "1. Boil - boil water\n2. Pour"}
    model = ScriptedModel([makes(("submit_plan", args))], capabilities=TAKES_TOOLS)
    investigations = DraftInvestigations(
        model,
        small_tools(),
        lambda: None,  # type: ignore[arg-type, return-value]
    )
    planner = InvestigatingPlanner(investigations, small_tools(), DraftOptions())
    plan = plan_in([event async for event in planner.draft(asking())])
    assert [step.description for step in plan.steps] == ["Boil", "Pour"]
    assert (plan.overall_risk, plan.stated_duration) == ("high", 120)


async def test_golden_prompt_of_an_investigation() -> None:
    model = ScriptedModel([makes(("submit_plan", json.loads(GOOD)))], capabilities=TAKES_TOOLS)
    investigations = DraftInvestigations(
        model,
        small_tools(),
        lambda: None,  # type: ignore[arg-type, return-value]
    )
    planner = InvestigatingPlanner(
        investigations, small_tools(), DraftOptions(extra="Prefer small functions.")
    )
    events = [event async for event in planner.draft(full())]
    assert [step.step_id for step in plan_in(events).steps] == ["a", "b"]
    (request,) = model.requests
    system, user = request.messages
    tools = "\n".join(tool.model_dump_json(indent=1) for tool in request.tools if tool.name == "submit_plan")
    text = f"[system]\n{system.text}\n\n[user]\n{user.text}\n\n[submit_plan]\n{tools}\n"
    check_golden(GOLDEN / "investigation.txt", text)


@pytest.mark.parametrize(("name", "capabilities"), [("json", CONSTRAINED), ("markers", PLAIN)])
async def test_golden_prompts_of_a_synthesis(name: str, capabilities: Capabilities) -> None:
    turn = says(GOOD if name == "json" else MARKED)
    views = (
        KodaPerspective(
            analysis="One file.",
            concerns=("No tests.",),
            affected_files=("a.txt",),
            timestamp=datetime.now(UTC),
        ),
    )
    request = asking("Change a.txt and deploy it", perspectives=views)
    model, _ = await drafted([turn], request, capabilities, synthesis=True)
    system, user = model.requests[0].messages
    text = f"[system]\n{system.text}\n\n[user]\n{user.text}\n"
    check_golden(GOLDEN / f"synthesis_{name}.txt", text)


async def test_the_prompt_begins_with_the_same_bytes_whatever_is_asked() -> None:
    one, _ = await drafted([says(GOOD)], asking("Fix a"))
    two, _ = await drafted([says(GOOD)], full())
    first, second = one.requests[0].messages[0].text, two.requests[0].messages[0].text
    assert first == second == system_prompt(small_tools(), "json")
    assert one.requests[0].response_schema == two.requests[0].response_schema


@pytest.mark.parametrize(
    ("ticks", "seconds"),
    [
        # Asked at 0, the first words after 10 s, the last 40 s later: 400 tokens in 40 s.
        ((0, 10, *(50,) * 50), 3 * (10 + 400 / 10)),
        # All at once after 8 s: 400 tokens in 8 s.
        ((0, *(8,) * 60), 3 * (400 / 50)),
    ],
)
async def test_an_estimate_rests_on_how_fast_the_plan_was_written(
    ticks: tuple[int, ...], seconds: float
) -> None:
    clock = iter(map(float, ticks))
    _, events = await drafted([says(GOOD, prompt_tokens=9, completion_tokens=400)], clock=lambda: next(clock))
    # One step reads a file, the other takes three turns of the model.
    assert plan_in(events).estimated_duration == round(1 + seconds)


def test_the_prompts_examples_destroy_nothing() -> None:
    for style in ("json", "markers"):
        text = system_prompt(small_tools(), style)
        shown = text[text.index("EXAMPLE") :]
        assert not any(word in shown for word in ("delete_path", "rename", "run_command"))


def test_a_long_list_of_problems_is_shortened() -> None:
    from planloom.domain.plans.validation import Problem

    wrong = [Problem(step_id=StepId(f"s{n}"), field="tool", problem="no") for n in range(40)]
    text = repair_prompt(wrong, "json")
    assert "and 28 more of this kind" in text


def test_a_model_is_told_of_templates_that_can_be_named_and_be_a_sub_plan() -> None:
    work = Step(step_id=StepId("a"), description="A", instruction="A")
    nested = work.model_copy(update={"kind": "sub_plan"})
    named = {"Tidy": work, "tidy": work, "two\nlines": work, "x" * 600: work, "Outer": nested, "Last": work}
    templates = [
        Template(template_id=TemplateId(str(number)), name=name, steps=(step,))
        for number, (name, step) in enumerate(named.items())
    ]
    assert [each.name for each in told_templates(templates)] == ["Tidy", "Last"]
