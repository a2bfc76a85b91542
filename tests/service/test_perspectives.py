"""Requests that three agents analyse before they are planned: their reports, failures, and the resulting plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.plans.agents import ChapoPerspective, DevoPerspective, KodaPerspective
from planloom.models.offline.scripted import ScriptedModel, Turn, When, fails, makes, says
from planloom.models.port import Capabilities
from planloom.tools.registry import builtin
from tests.support.studio import Studio, studio

REQUEST = "Refactor the auth system and deploy to staging"
FILES = {"src/auth.py": "def login():\n    pass\n", "deploy/staging.sh": "echo deploy\n"}
CHAPO = {
    "analysis": "Two kinds of work, one after the other.",
    "concerns": ["Users could be locked out."],
    "recommendations": ["Refactor and test before anything is deployed."],
    "estimatedEffort": "medium",
    "strategicAnalysis": "Code first, then operations.",
    "riskAssessment": "High: it is about login.",
    "impactAreas": ["auth", "deployment"],
    "coordinationNeeds": ["The deployment waits for the tests."],
}
KODA = {
    "analysis": "One module holds all of it.",
    "concerns": ["There are no tests."],
    "recommendations": ["Write tests first."],
    "estimatedEffort": "small",
    "affectedFiles": ["src/auth.py"],
    "codePatterns": ["plain functions"],
    "potentialBreakingChanges": [],
    "testingRequirements": ["login, logout"],
}
DEVO = {
    "analysis": "A script deploys to staging.",
    "concerns": [],
    "recommendations": ["Keep the last release."],
    "estimatedEffort": "small",
    "deploymentImpact": ["deploy/staging.sh"],
    "rollbackStrategy": "Deploy the release before.",
    "servicesAffected": ["staging"],
    "infrastructureChanges": [],
}
PLAN = {
    "summary": "Refactor, test, deploy.",
    "steps": [
        {
            "id": "refactor",
            "description": "Refactor src/auth.py",
            "instruction": "Refactor it.",
            "agent": "koda",
            "dependsOn": [],
        },
        {
            "id": "check",
            "description": "Run the tests",
            "instruction": "Run them.",
            "agent": "devo",
            "dependsOn": ["refactor"],
        },
        {
            "id": "deploy",
            "description": "Deploy to staging",
            "instruction": "Run deploy/staging.sh.",
            "agent": "devo",
            "dependsOn": ["check"],
        },
    ],
}
MARKED = """---PLAN-START---
STEP 1: Refactor src/auth.py
AGENT: koda
AFTER: none
DO: Refactor it.
STEP 2: Deploy to staging
AGENT: devo
AFTER: 1
DO: Run deploy/staging.sh.
---PLAN-END---"""
OF = {agent: (f"You are {agent},",) for agent in ("Chapo", "Koda", "Devo")}
SYNTHESIS = ("You are Chapo, and bring three perspectives",)


def report(agent: str, args: Any) -> Turn:
    """An agent's report as a native call."""
    return makes(("report", args), when=When(contains=OF[agent], lacks=SYNTHESIS))


def plan(text: str | None = None) -> Turn:
    return says(text or json.dumps(PLAN), when=When(contains=SYNTHESIS))


def looks(agent: str, name: str, args: Any) -> Turn:
    """An agent reads something first."""
    return makes((name, args), when=When(contains=OF[agent], lacks=("TOOL RESULTS",)))


def told(at: Studio) -> list[str]:
    """Which agents began and ended, in order."""
    return [
        f"{each.event.type.removeprefix('perspective_')} {each.event.agent}"
        for each in at.events
        if isinstance(each.event, ev.PerspectiveStart | ev.PerspectiveComplete)
    ]


def prompt(request: Any) -> str:
    return "\n".join(message.text for message in request.messages)


async def test_chapo_first_then_the_others_then_a_plan_for_both(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            looks("Koda", "read_file", {"path": "src/auth.py"}),
            report("Chapo", CHAPO),
            report("Koda", KODA),
            report("Devo", DEVO),
            plan(),
        ]
    )
    async with studio(tmp_path, FILES, model=model) as at:
        made = await at.ask(REQUEST)
        assert (made.status, made.route, made.author) == ("pending_approval", "perspectives", "model")
        events = told(at)
        assert events[:2] == ["start chapo", "complete chapo"]
        assert sorted(events[2:4]) == ["start devo", "start koda"]
        assert sorted(events[4:]) == ["complete devo", "complete koda"]
        types = at.types()
        assert types.index("task_created") > max(
            n for n, name in enumerate(types) if name == "perspective_complete"
        )
        assert [(step.agent, step.depends_on) for step in made.steps] == [
            ("koda", ()),
            ("devo", ("refactor",)),
            ("devo", ("check",)),
        ]
        chapo, koda, devo = sorted(
            made.perspectives, key=lambda each: ["chapo", "koda", "devo"].index(each.agent)
        )
        assert isinstance(chapo, ChapoPerspective) and chapo.risk_assessment == "High: it is about login."
        assert made.overall_risk == "high"
        assert isinstance(koda, KodaPerspective) and koda.affected_files == ("src/auth.py",)
        assert isinstance(devo, DevoPerspective) and devo.rollback_strategy == "Deploy the release before."
        assert made.usage.requests == 5
        synthesis = prompt(model.requests[-1])
        assert "There are no tests." in synthesis and "Keep the last release." in synthesis
        assert any(isinstance(each.event, ev.Log) and ": Read " in each.event.message for each in at.events)


async def test_koda_and_devo_read_chapos_report_but_not_each_others(tmp_path: Path) -> None:
    model = ScriptedModel([report("Chapo", CHAPO), report("Koda", KODA), report("Devo", DEVO), plan()])
    async with studio(tmp_path, FILES, model=model) as at:
        await at.ask(REQUEST)
        others = [
            prompt(each)
            for each in model.requests
            if "You are Koda," in prompt(each) or "You are Devo," in prompt(each)
        ]
        assert len(others) == 2
        assert all("Code first, then operations." in text for text in others)
        assert not any("One module holds all of it." in text for text in others)


async def test_the_others_and_the_synthesis_are_shown_what_chapo_has_read(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(
                ("read_file", {"path": "src/auth.py", "start_line": 1, "end_line": 1}),
                when=When(contains=OF["Chapo"], lacks=("def login",)),
            ),
            report("Chapo", CHAPO),
            report("Koda", KODA),
            report("Devo", DEVO),
            plan(),
        ]
    )
    async with studio(tmp_path, FILES, model=model) as at:
        made = await at.ask(REQUEST)
        for text in map(prompt, model.requests[-3:]):
            shown = text.partition("READ WHILE PLANNING (data): src/auth.py\n")[2]
            assert "def login():" in shown and "    pass" not in shown
        assert [(read.path, read.lines) for read in made.files_read] == [("src/auth.py", ((1, 1),))]


async def test_long_findings_reach_the_synthesis_and_the_steps_whole(tmp_path: Path) -> None:
    finding = "The tests treat warnings as errors. " + " ".join(f"Fact {n} matters." for n in range(80))
    concern = " ".join(f"Caller {n} breaks." for n in range(60))
    told = {**CHAPO, "analysis": finding, "concerns": [concern]}
    done = makes(("task_completed", {"summary": "Done."}), repeat=True, when=When(contains=("CURRENT TASK",)))
    model = ScriptedModel([report("Chapo", told), report("Koda", KODA), report("Devo", DEVO), plan(), done])
    async with studio(tmp_path, FILES, model=model) as at:
        await at.approve(await at.ask(REQUEST))
        synthesis, step = prompt(model.requests[3]), prompt(model.requests[4])
        for text in (synthesis, step):
            assert finding in text and concern in text
            assert "There are no tests." in text and "Deploy the release before." in text


async def test_no_tool_that_changes_anything_is_within_reach(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(
                ("write_file", {"path": "src/auth.py", "content": "gone"}),
                ("run_command", {"command": "rm -rf src"}),
                ("delete_path", {"path": "src/auth.py"}),
                when=When(contains=OF["Chapo"], lacks=("TOOL RESULTS",)),
            ),
            report("Chapo", CHAPO),
            report("Koda", KODA),
            report("Devo", DEVO),
            plan(),
        ]
    )
    async with studio(tmp_path, FILES, model=model) as at:
        await at.ask(REQUEST)
        assert at.text("src/auth.py") == FILES["src/auth.py"]
        assert at.path("src/auth.py").exists() and "edit_started" not in at.types()
        offered = {tool.name for each in model.requests for tool in each.tools}
        reading = {tool.name for tool in builtin() if tool.effect == "read"}
        assert {"read_file", "search_text"} < offered - {"report", "submit_plan", "ask_user"} <= reading
        assert "There is no tool 'write_file'" in prompt(model.requests[1])


@pytest.mark.parametrize("agent", ["Chapo", "Koda", "Devo"])
@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (fails("unavailable"), "The script says"),
        (fails("refused"), "The script says"),
        (says(""), "The model gave no report."),
        (makes(("report", {"concerns": []})), "could not be used, twice"),
        (makes(("fly", {})), "The model gave no report."),
    ],
)
async def test_one_that_fails_is_recorded_and_the_others_go_on(
    tmp_path: Path, agent: str, turn: Turn, why: str
) -> None:
    bad = turn.model_copy(update={"when": When(contains=OF[agent], lacks=SYNTHESIS), "repeat": True})
    good = {"Chapo": CHAPO, "Koda": KODA, "Devo": DEVO}
    model = ScriptedModel([bad, *(report(name, good[name]) for name in good if name != agent), plan()])
    async with studio(tmp_path, FILES, model=model) as at:
        made = await at.ask(REQUEST)
        assert made.status == "pending_approval" and len(made.steps) == 3
        assert {view.agent for view in made.perspectives} == {name.lower() for name in good if name != agent}
        (failed,) = [
            each.event
            for each in at.events
            if isinstance(each.event, ev.PerspectiveComplete) and each.event.perspective is None
        ]
        assert failed.agent == agent.lower() and failed.error is not None and why in failed.error


async def test_a_regeneration_asks_only_those_who_have_no_report_yet(tmp_path: Path) -> None:
    lame = fails("unavailable", when=When(contains=OF["Devo"]))
    first = [report("Chapo", CHAPO), report("Koda", KODA), lame, plan()]
    model = ScriptedModel([*first, report("Devo", DEVO), plan()])
    async with studio(tmp_path, FILES, model=model) as at:
        made = await at.ask(REQUEST)
        at.events.clear()
        await at.app.plans.regenerate(made.plan_id, made.version, "Keep the function names.")
        again = await at.until(made, lambda now: now.version == made.version + 1)
        assert told(at) == ["start devo", "complete devo"]
        assert len(again.perspectives) == 3
        assert "Keep the function names." in prompt(model.requests[-1])


@pytest.mark.parametrize(
    "can",
    [
        Capabilities(json_schema=True, context_tokens=16_000),
        Capabilities(context_tokens=16_000),
        Capabilities(context_tokens=8_000),
    ],
)
@pytest.mark.parametrize("form", ["bare", "fenced", "called", "titled"])
async def test_reports_of_weak_models_are_read_however_they_are_written(
    tmp_path: Path, can: Capabilities, form: str
) -> None:
    def written(name: str, args: dict[str, Any]) -> Turn:
        bare = json.dumps(args)
        text = {
            "bare": json.dumps({"report": args}) if can.json_schema else bare,
            "fenced": f"Here is my report:\n\n```json\n{bare}\n```\n",
            "called": json.dumps({"name": "report", "arguments": args}),
            "titled": "\n".join(f"**{key}:** {value}" for key, value in args.items()),
        }[form]
        return says(text, when=When(contains=OF[name], lacks=SYNTHESIS), repeat=True)

    model = ScriptedModel(
        [
            written("Chapo", CHAPO),
            written("Koda", KODA),
            written("Devo", DEVO),
            plan(None if can.json_schema else MARKED),
        ],
        capabilities=can,
    )
    async with studio(tmp_path, FILES, model=model) as at:
        made = await at.ask(REQUEST)
        assert made.status == "pending_approval", made.error
        assert len(made.perspectives) == 3
        assert {step.agent for step in made.steps} == {"koda", "devo"}
        assert any(step.depends_on for step in made.steps)
        assert not made.sequential


async def test_an_engine_that_takes_one_request_at_a_time_is_asked_one_by_one(tmp_path: Path) -> None:
    one = Capabilities(tools=True, json_schema=True, context_tokens=16_000, parallelism=1)
    model = ScriptedModel(
        [report("Chapo", CHAPO), report("Koda", KODA), report("Devo", DEVO), plan()], capabilities=one
    )
    async with studio(tmp_path, FILES, model=model) as at:
        await at.ask(REQUEST)
        assert told(at) == [
            f"{what} {agent}" for agent in ("chapo", "koda", "devo") for what in ("start", "complete")
        ]


async def test_without_a_model_the_rules_plan_alone_and_say_so(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        made = await at.ask(REQUEST, mode="perspectives")
        assert (made.status, made.author) == ("pending_approval", "rules")
        assert [step.agent for step in made.steps] == ["koda", "devo"]
        assert any(
            isinstance(each.event, ev.Log) and "need a language model" in each.event.message
            for each in at.events
        )


async def test_a_cancel_ends_every_look_at_once(tmp_path: Path) -> None:
    hang = fails("hang", when=When(contains=OF["Koda"])), fails("hang", when=When(contains=OF["Devo"]))
    model = ScriptedModel([report("Chapo", CHAPO), *hang])
    async with studio(tmp_path, FILES, model=model) as at:
        from planloom.service.requests import CreateRequest

        made = (await at.app.plans.create(CreateRequest(text=REQUEST))).plan
        await at.until(made, lambda _: len(model.requests) == 3)
        await at.app.plans.cancel(made.plan_id)
        assert (await at.reach(made, "ended")).status == "cancelled"
