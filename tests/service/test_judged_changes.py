"""Staged text is judged by language servers before anyone is asked: the model mends it, and people see what is left."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.changes import Changeset
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.problems import Judged, NewProblem
from planloom.domain.text.positions import Position, Range
from planloom.domain.values import Uri
from planloom.models.offline.scripted import ScriptedModel, makes, says
from planloom.models.port import ModelRequest
from planloom.workspace.editor import Diagnostic, FileDiagnostics
from planloom.workspace.language import Texts
from planloom.workspace.paths.uris import to_path
from tests.service.test_execution_rules import tool_step, with_steps, work_step
from tests.support.fake_language import FakeLanguage
from tests.support.studio import Studio, studio

ALLOWED = {"approvals.write": "allow", "approvals.execute": "allow"}
DONE = ("task_completed", {"summary": "Did it."})
STAYS = ("task_completed", {"summary": "Did it.", "unchecked": "b.py is for later."})


def write(text: str, path: str = "a.py") -> tuple[str, dict[str, Any]]:
    return ("write_file", {"path": path, "content": text})


class Words(FakeLanguage):
    """Finds a problem in each line that says `bad`, and a warning in one that says `odd`, unless it stood before.

    Nothing is answered before `free`.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "workspace")
        self.free = asyncio.Event()
        self.free.set()
        self.message = "Unknown name"
        self.judged: list[tuple[Changeset, Texts]] = []
        self.judgement = self._judge

    async def judge(self, changes: Changeset, under: Texts, seconds: float) -> Judged | None:
        await self.free.wait()
        return await super().judge(changes, under, seconds)

    def _judge(self, changes: Changeset, under: Texts) -> Judged:
        self.judged.append((changes, under))
        found = []
        for uri, text in changes.texts(under).items():
            old = under[uri] if uri in under else self._on_disk(uri)
            before = _count(old or "")
            for line, word in _found(text or ""):
                if before.get(word, 0) > 0:
                    before[word] -= 1
                    continue
                severity: Any = "error" if word.startswith("bad") else "warning"
                problem = NewProblem(
                    uri=uri, line=line, severity=severity, message=f"{self.message} {word}", source="words"
                )
                found.append(problem)
        found.sort(key=lambda each: each.severity)
        return Judged(by="words", problems=tuple(found), total=len(found))

    async def diagnostics(self, uris: tuple[Uri, ...], texts: Texts) -> tuple[FileDiagnostics, ...]:
        here = Range(start=Position(line=0, character=0), end=Position(line=0, character=0))
        return tuple(
            FileDiagnostics(
                uri,
                tuple(
                    Diagnostic(range=here, severity="error", message=f"{self.message} {word}")
                    for _, word in _found(self._text(uri, texts))
                ),
            )
            for uri in uris
        )

    def _on_disk(self, uri: Uri) -> str:
        path = to_path(uri)
        return path.read_text() if path is not None and path.exists() else ""


def _found(text: str) -> list[tuple[int, str]]:
    return [
        (number, word)
        for number, line in enumerate(text.splitlines())
        for word in re.findall(r"\b(?:bad|odd)\d*", line)
    ]


def _count(text: str) -> dict[str, int]:
    words = [word for _, word in _found(text)]
    return {word: words.count(word) for word in words}


def told(request: ModelRequest) -> str:
    return request.messages[-1].text


def shown(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


def judgement(plan: Plan) -> Judged | None:
    (approval,) = plan.pending.approvals
    return approval.judged


async def worked(at: Studio, model: ScriptedModel, *descriptions: str, **more: Any) -> Plan:
    """A plan of model steps once it waits for a person again, or has ended."""
    steps = [
        work_step(each, depends_on=[f"s{number}"] if number else [])
        for number, each in enumerate(descriptions)
    ]
    written = await with_steps(at, *steps)
    at.model.model = model
    return await at.approve(written, **more)


async def test_the_result_of_an_edit_tells_its_model_what_is_wrong_and_the_model_mends_it(
    tmp_path: Path,
) -> None:
    """A person is asked once, about the mended text."""
    turns = [makes(write("x\nodd\nbad\n")), makes(write("x\n"), DONE)]
    model, language = ScriptedModel(turns), Words(tmp_path)
    async with studio(tmp_path, language=language) as at:
        plan = await worked(at, model, "Write a.py")
        assert (
            "2 new problems:\na.py:3: error: Unknown name bad [words]\na.py:2: warning: Unknown name odd [words]"
            in told(model.requests[1])
        )
        found = judgement(plan)
        assert found is not None and found.is_clean and found.by == "words"
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("a.py") == "x\n"
        assert at.types().count("approval_request") == 1


async def test_what_was_told_before_and_is_still_there_is_a_number(tmp_path: Path) -> None:
    again = ("edit_file", {"path": "a.py", "old_text": "x\n", "new_text": "y\ny\n"})
    more = ("edit_file", {"path": "a.py", "old_text": "y\ny\n", "new_text": "bad2\n"})
    mended = makes(write("z\n"), DONE)
    model = ScriptedModel([makes(write("x\nbad\n")), makes(again), makes(more), mended])
    async with studio(tmp_path, settings=ALLOWED, language=Words(tmp_path)) as at:
        plan = await worked(at, model, "Write a.py")
        assert plan.status == "completed"
        assert "Still 1 new problem." in told(model.requests[2])
        assert "Unknown name" not in told(model.requests[2])
        assert "1 new problem:\na.py:1: error: Unknown name bad2" in told(model.requests[3])
        assert "1 that you know is still there." in told(model.requests[3])


async def test_only_the_last_of_several_edits_in_one_answer_is_judged(tmp_path: Path) -> None:
    model, language = ScriptedModel([makes(write("bad\n"), write("x\n"), DONE)]), Words(tmp_path)
    async with studio(tmp_path, settings=ALLOWED, language=language) as at:
        plan = await worked(at, model, "Write a.py")
        assert plan.status == "completed" and "new problem" not in shown(model.requests[0])
        assert len(language.judged) == 1


async def test_words_of_a_server_are_cleaned_and_bounded(tmp_path: Path) -> None:
    """They come out of files of the folder."""
    language = Words(tmp_path)
    language.message = "a\x1b[31m\n\u202e" + "m" * 2_000
    lines = "".join(f"bad{number}\n" for number in range(12))
    model = ScriptedModel([makes(write(lines)), makes(write("x\n"), DONE)])
    async with studio(tmp_path, settings=ALLOWED, language=language) as at:
        await worked(at, model, "Write a.py")
        said = told(model.requests[1])
        assert "12 new problems:" in said and "and 2 more" in said
        assert "\x1b" not in said and "\u202e" not in said and "<U+202E>" in said
        assert said.count("a.py:") == 10 and len(said) < 5_000


async def test_without_servers_nothing_is_said_and_nothing_is_recorded(tmp_path: Path) -> None:
    model, language = ScriptedModel([makes(write("bad\n", "a.txt"), DONE)]), Words(tmp_path)
    async with studio(tmp_path, language=language) as at:
        plan = await worked(at, model, "Write a.txt")
        assert judgement(plan) is None
        plan = await at.respond(plan)
        assert plan.status == "completed" and plan.steps[0].judged is None
        assert not {"check_completed", "approval_judged"} & {*at.types()} and language.asked == []


async def test_new_errors_hold_a_task_up_once(tmp_path: Path) -> None:
    """The same errors again end it with a caveat, which the plan's end says; nothing fails."""
    model = ScriptedModel([makes(write("bad\n"), DONE), makes(DONE)])
    async with studio(tmp_path, settings=ALLOWED, language=Words(tmp_path)) as at:
        plan = await worked(at, model, "Write a.py")
        assert "The task is not done yet. New errors:" in told(model.requests[1])
        assert "a.py:1: error: Unknown name bad [words]" in told(model.requests[1])
        assert plan.status == "completed" and at.text("a.py") == "bad\n"
        (step,) = plan.steps
        assert step.result is not None and step.result.caveat == "unchecked" and step.checks == ()
        assert step.judged is not None and step.judged.errors == 1
        assert plan.report is not None and plan.report.caveats == ("1 new error is left",)


async def test_a_task_may_end_with_errors_by_its_reason(tmp_path: Path) -> None:
    model = ScriptedModel([makes(write("bad\n"), DONE), makes(STAYS)])
    async with studio(tmp_path, settings=ALLOWED, language=Words(tmp_path)) as at:
        plan = await worked(at, model, "Write a.py")
        assert plan.status == "completed"
        result = plan.steps[0].result
        assert result is not None and (result.summary or "").startswith("Errors are left: b.py is for later.")


async def test_errors_that_change_hold_a_task_up_a_few_times_and_not_for_ever(tmp_path: Path) -> None:
    turns = [makes(write(f"bad{number}\n"), DONE) for number in range(10)]
    model = ScriptedModel(turns)
    async with studio(tmp_path, settings=ALLOWED, language=Words(tmp_path)) as at:
        plan = await worked(at, model, "Write a.py")
        assert plan.status == "completed" and len(model.requests) == 4


async def test_an_answer_in_words_ends_a_task_with_errors_too(tmp_path: Path) -> None:
    model = ScriptedModel([makes(write("bad\n")), says("It is written."), says("It is written.")])
    async with studio(tmp_path, settings=ALLOWED, language=Words(tmp_path)) as at:
        plan = await worked(at, model, "Write a.py")
        assert plan.status == "completed" and plan.steps[0].judged is not None


async def test_warnings_hold_nothing_up(tmp_path: Path) -> None:
    model = ScriptedModel([makes(write("odd\n"), DONE)])
    async with studio(tmp_path, settings=ALLOWED, language=Words(tmp_path)) as at:
        plan = await worked(at, model, "Write a.py")
        assert plan.status == "completed" and plan.report is not None and not plan.report.caveats
        assert plan.steps[0].judged is not None and plan.steps[0].judged.total == 1


class Callers(Words):
    """The name in b.py is wrong once a.py says `renamed`, and so the other way round. Buffers are seen, too."""

    at: Studio | None = None

    def _text(self, uri: str, texts: Texts) -> str:
        path, staged = to_path(uri), texts.get(Uri(uri))
        assert self.at is not None and path is not None
        return staged if staged is not None else self.at.editor.text(path)

    def _judge(self, changes: Changeset, under: Texts) -> Judged:
        self.judged.append((changes, under))
        now = self._errors(changes.texts(under))
        new = tuple(each for each in now if each not in self._errors(under))
        return Judged(by="words", problems=new, total=len(new))

    async def diagnostics(self, uris: tuple[Uri, ...], texts: Texts) -> tuple[FileDiagnostics, ...]:
        here = Range(start=Position(line=0, character=0), end=Position(line=0, character=0))
        items = tuple(
            Diagnostic(range=here, severity="error", message=each.message) for each in self._errors(texts)
        )
        return tuple(FileDiagnostics(uri, items) for uri in uris)

    def _errors(self, texts: Texts) -> tuple[NewProblem, ...]:
        a, b = (next(uri for uri in self._uris(texts) if uri.endswith(name)) for name in ("a.py", "b.py"))
        if ("renamed" in self._text(a, texts)) == ("renamed" in self._text(b, texts)):
            return ()
        return (NewProblem(uri=b, line=0, severity="error", message="No such function"),)


RENAMES = [
    ("edit_file", {"path": path, "old_text": "named", "new_text": "renamed"}) for path in ("a.py", "b.py")
]
CALLED = {"a.py": "named\n", "b.py": "named\n"}


@pytest.mark.parametrize("review", ["auto", "end"])
@pytest.mark.parametrize("ahead", [True, False])
async def test_a_step_that_a_later_one_mends_is_not_obstructed_and_has_no_caveat_in_the_end(
    tmp_path: Path, review: str, ahead: bool
) -> None:
    """Written in one answer, the two tasks cost no turn more; else the first is told once."""
    one, two = RENAMES
    turns = [makes(one, DONE, two, DONE)] if ahead else [makes(one, DONE), makes(STAYS), makes(two, DONE)]
    model = ScriptedModel(turns)
    language = Callers(tmp_path)
    async with studio(tmp_path, CALLED, settings=ALLOWED, language=language) as at:
        language.at = at
        plan = await worked(at, model, "Rename it in a.py", "Rename it in b.py", review=review)
        while plan.pending.approvals:
            found = judgement(plan)
            assert found is not None and found.is_clean
            plan = await at.respond(plan)
        assert plan.status == "completed" and len(model.requests) == len(turns), plan.steps
        assert [step.judged is not None and step.judged.is_clean for step in plan.steps] == [True, True]
        assert [step.result is not None and step.result.caveat for step in plan.steps] == [None, None]
        assert plan.report is not None and plan.report.caveats == ()


async def test_the_last_step_hears_of_what_earlier_ones_have_left(tmp_path: Path) -> None:
    one, two = RENAMES
    note = write("x\n", "c.py")
    model = ScriptedModel([makes(one, DONE), makes(STAYS), makes(note, DONE), makes(two, DONE)])
    language = Callers(tmp_path)
    async with studio(tmp_path, CALLED, settings=ALLOWED, language=language) as at:
        language.at = at
        plan = await worked(at, model, "Rename it in a.py", "Rename it in b.py", review="auto")
        assert "b.py:1: error: No such function" in told(model.requests[3])
        assert plan.status == "completed" and plan.report is not None and plan.report.caveats == ()


@pytest.mark.parametrize(
    ("name", "settings"), [(".env.py", {}), ("a.py", {"approvals.read": "deny"})], ids=["secret", "denied"]
)
async def test_what_a_model_must_not_read_is_not_told_to_it(
    tmp_path: Path, name: str, settings: dict[str, Any]
) -> None:
    """The person is told."""
    language = Words(tmp_path)
    uri = ""

    def elsewhere(changes: Changeset, under: Texts) -> Judged:
        problem = NewProblem(uri=Uri(uri), line=0, severity="error", message="TOKEN is not 123")
        return Judged(by="words", problems=(problem,), total=1)

    language.judgement = elsewhere
    model = ScriptedModel([makes(write("x\n")), makes(DONE)])
    async with studio(tmp_path, {name: "y\n"}, settings=settings, language=language) as at:
        uri = at.uri(name.replace(".py", "") if name.startswith(".env") else name)
        plan = await worked(at, model, "Write a.py")
        found = judgement(plan)
        assert found is not None and found.errors == 1
        assert (await at.respond(plan)).status == "completed"
        assert all("TOKEN" not in shown(each) for each in model.requests)


async def test_what_a_command_has_committed_counts_as_the_steps_change(tmp_path: Path) -> None:
    """The errors of what was made before a command are still those of the step."""
    command = ("run_command", {"command": "true"})
    model = ScriptedModel([makes(write("bad\n")), makes(command), makes(DONE), makes(write("x\n"), DONE)])
    async with studio(tmp_path, settings=ALLOWED, language=Words(tmp_path)) as at:
        plan = await worked(at, model, "Write a.py")
        assert "a.py:1: error: Unknown name bad" in told(model.requests[3])
        assert plan.status == "completed" and at.text("a.py") == "x\n"
        assert plan.report is not None and plan.report.caveats == ()


async def test_the_check_for_new_errors_is_made_before_the_changes(tmp_path: Path) -> None:
    """Where a server judges the files, the editor's diagnostics are not waited for, and nobody is asked."""
    model = ScriptedModel([makes(write("bad\n"), DONE), makes(write("x\n"), DONE)])
    async with studio(tmp_path, language=Words(tmp_path)) as at:
        step = work_step("Write a.py", checks=[{"kind": "no_new_errors"}])
        written = await with_steps(at, step)
        at.model.model = model
        plan = await at.approve(written)
        assert "New errors (1)\na.py:1: error: Unknown name bad [words]" in told(model.requests[1])
        assert at.types().count("approval_request") == 1
        plan = await at.respond(plan)
        assert plan.status == "completed"
        assert [check.outcome for check in plan.steps[0].checks] == ["passed"]


@pytest.mark.parametrize("kind", [[], [{"kind": "no_new_errors"}]])
async def test_what_is_not_known_fails_nothing(tmp_path: Path, kind: list[Any]) -> None:
    model, language = ScriptedModel([makes(write("bad\n"), DONE)]), FakeLanguage(tmp_path)
    language.judgement = lambda changes, under: Judged(by="slow", unknown="It was still starting.")
    async with studio(tmp_path, settings=ALLOWED, language=language) as at:
        written = await with_steps(at, work_step("Write a.py", checks=kind))
        at.model.model = model
        plan = await at.approve(written)
        assert plan.status == "completed" and len(model.requests) == 1
        completed = [each.event for each in at.events if isinstance(each.event, ev.CheckCompleted)]
        assert [(each.check.outcome, each.check.detail, each.implied) for each in completed] == [
            ("unknown", "It was still starting.", not kind)
        ]


async def test_a_literal_step_is_judged_and_never_fails_by_it(tmp_path: Path) -> None:
    async with studio(tmp_path, settings=ALLOWED, language=Words(tmp_path)) as at:
        plan = await at.approve(await with_steps(at, tool_step(*write("bad\n"))))
        assert plan.status == "completed"
        (step,) = plan.steps
        assert step.judged is not None and step.judged.errors == 1
        assert step.result is not None and step.result.caveat is None and step.checks == ()


async def test_the_whole_of_a_plan_is_judged_where_it_is_asked_for_at_the_end(tmp_path: Path) -> None:
    language = Words(tmp_path)
    async with studio(tmp_path, language=language) as at:
        steps = tool_step(*write("bad\n")), tool_step(*write("odd\n", "b.py"))
        plan = await at.approve(await with_steps(at, *steps), review="end")
        found = judgement(plan)
        assert found is not None and [each.uri for each in found.problems] == [at.uri("a.py"), at.uri("b.py")]
        assert language.judged[-1][1] == {}
        assert (await at.respond(plan)).status == "completed"


def _raises(changes: Changeset, under: Texts) -> Judged:
    raise RuntimeError("a bug in a server")


async def test_a_judge_that_fails_costs_nothing_but_the_judgement(tmp_path: Path) -> None:
    model, language = ScriptedModel([makes(write("bad\n"), DONE)]), FakeLanguage(tmp_path)
    language.judgement = _raises
    async with studio(tmp_path, language=language) as at:
        plan = await worked(at, model, "Write a.py")
        found = judgement(plan)
        assert found is not None and found.unknown == "The language server could not be asked."
        assert (await at.respond(plan)).status == "completed"


async def asked_before_judged(at: Studio, language: Words) -> Plan:
    """A plan that asks for a change while its judgement still hangs."""
    written = await with_steps(at, tool_step(*write("bad\n")))
    language.free.clear()
    plan = await at.approve(written)
    found = judgement(plan)
    assert found is not None and not found.is_clean and found.unknown is not None
    return plan


async def test_a_judgement_that_is_late_comes_after_the_question(tmp_path: Path) -> None:
    language = Words(tmp_path)
    async with studio(tmp_path, language=language) as at:
        plan = await asked_before_judged(at, language)
        hash_before = plan.pending.approvals[0].proposal
        language.free.set()
        plan = await at.until(plan, lambda now: bool((found := judgement(now)) and found.total))
        assert plan.pending.approvals[0].proposal == hash_before
        pending = at.app.approvals.pending(plan.pending.approvals[0].approval_id)
        assert pending == plan.pending.approvals[0]
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.types().count("approval_judged") == 1


async def test_an_answer_waits_for_no_judgement_and_a_late_one_is_dropped(tmp_path: Path) -> None:
    language = Words(tmp_path)
    async with studio(tmp_path, language=language) as at:
        plan = await asked_before_judged(at, language)
        plan = await at.respond(plan, "deny")
        language.free.set()
        await at.run("List files", mode="plan")
        assert "approval_judged" not in at.types() and not at.path("a.py").exists()


@pytest.mark.slow
async def test_a_judge_that_never_answers_costs_no_more_than_its_bounds(tmp_path: Path) -> None:
    """The question is asked within the first bound, and says at the second that nothing is known."""
    model, language = ScriptedModel([makes(write("bad\n"), DONE)]), Words(tmp_path)
    language.free.clear()
    async with studio(tmp_path, language=language, patience=30) as at:
        loop = asyncio.get_running_loop()
        written = await with_steps(at, work_step("Write a.py"))
        at.model.model, began = model, loop.time()
        plan = await at.approve(written)
        assert loop.time() - began < 15
        plan = await at.until(plan, lambda now: "s." in (((f := judgement(now)) and f.unknown) or ""))
        assert loop.time() - began < 20
        assert (await at.respond(plan)).status == "completed"


async def test_an_edited_proposal_does_not_keep_the_judgement_of_another_text(tmp_path: Path) -> None:
    from planloom.execution.effects.edited_proposals import ProposalEdit

    model = ScriptedModel([makes(write("x\n"), DONE), makes(DONE)])
    async with studio(tmp_path, language=Words(tmp_path)) as at:
        plan = await worked(at, model, "Write a.py")
        edits = (ProposalEdit(Uri(at.uri("a.py")), "bad\n", None),)
        plan = await at.respond(plan, edits=edits)
        assert plan.status == "completed" and at.text("a.py") == "bad\n"
        found = plan.steps[0].judged
        assert found is None or not found.is_clean
