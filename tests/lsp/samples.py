"""One of everything that stands on the wire, in the words of the domain, for the golden files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

from planloom.domain import changes as ch
from planloom.domain.errors import ModelProblem
from planloom.domain.events import catalog as ev
from planloom.domain.memory.entries import MemoryEntry
from planloom.domain.plans import editing as ed
from planloom.domain.plans.agents import ChapoPerspective, DevoPerspective, KodaPerspective
from planloom.domain.plans.attachments import Attachment, ResolvedAttachment, Unresolved
from planloom.domain.plans.outcome import DayStats, Spent, Stats
from planloom.domain.plans.plan import (
    Check,
    CommandOutcome,
    Detection,
    ExecutedTool,
    ExpectedTool,
    ModelUse,
    Pending,
    Plan,
    PlanError,
    Qualification,
    Question,
    Recovery,
    RecoveryProposal,
    Step,
    StepResult,
    Usage,
    UserMessage,
    summary,
)
from planloom.domain.plans.report import LeftStep, Report, ReportedCommand, ReportedFile, ReportedStep
from planloom.domain.problems import Judged, NewProblem
from planloom.domain.safety.approvals import Approval, ApprovalFile, ListPlace
from planloom.domain.safety.confinement import Abilities, Confinement
from planloom.domain.safety.confinement_choices import confinement_request
from planloom.domain.text.positions import Position, Range
from planloom.domain.values import CallId, PlanId, StepId, Uri
from planloom.intake.reference_sources import Resolution
from planloom.service.actions.rules import FolderRule
from planloom.service.requests import (
    ConflictTexts,
    CreateResult,
    FileDiff,
    FilePreview,
    MessageResult,
    UndoResult,
)
from tests.support.fake_application import FakeApplication

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)
ELSEWHERE = datetime(2026, 1, 2, 14, 0, 0, 250_000, tzinfo=timezone(timedelta(hours=2)))
"""A moment told in another zone: the wire has it in UTC."""
HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
URI = "file:///work/src/main.py"


def _value(kind: type[Any], /, **fields: Any) -> Any:
    return kind(**fields)


RANGE = Range(start=Position(line=1, character=0), end=Position(line=2, character=4))
DETECTION = Detection(planned=True, rule="numbered_list", score=60, ambiguous=False)
QUALIFICATION = Qualification(
    task_type="mixed", complexity="complex", risk_level="high", reasons=("It deploys.",), by="rules"
)
ATTACHMENT = _value(
    Attachment,
    attachment_id="a1",
    kind="file",
    reference="@src/main.py:2-3",
    uri=URI,
    label="main.py",
    range=RANGE,
    language_id="python",
    bytes=120,
    truncated=True,
    note="The first 100 bytes.",
    secret=False,
    version=7,
    sha256=HASH,
)
UNRESOLVED = Unresolved(
    reference="@util.py",
    code="ambiguous",
    message="Two files are named util.py.",
    candidates=("a/util.py", "b/util.py"),
)
USAGE = Usage(requests=2, prompt_tokens=900, completion_tokens=120)
RESULT = StepResult(
    ok=True,
    value={"lines": [1, None], "nested": {"empty": None}},
    summary="Read 12 lines.",
    duration_ms=14,
    timestamp=ELSEWHERE,
)
CHECK = Check(kind="file_contains", path="src/main.py", text="def main", outcome="passed", detail="line 3")
STEPS: tuple[Step, ...] = (
    _value(
        Step,
        step_id="step_1",
        description="Read main.py",
        instruction="Read src/main.py",
        active_form="Reading main.py",
        kind="tool_call",
        agent="koda",
        tool="read_file",
        args={"path": "src/main.py", "range": None},
        priority="critical",
        critical=True,
        status="completed",
        progress=100,
        attempts=1,
        result=RESULT,
        tools_executed=(
            ExecutedTool(
                call_id=CallId("call-0"),
                tool="read_file",
                args={"path": "src/main.py"},
                ok=True,
                deduplicated=False,
                summary="12 lines",
                duration_ms=3,
            ),
        ),
        created_at=NOON,
        started_at=NOON,
        completed_at=ELSEWHERE,
    ),
    _value(
        Step,
        step_id="step_2",
        description="Change main.py",
        instruction="Add a main function",
        active_form="Changing main.py",
        kind="processing",
        agent="devo",
        depends_on=("step_1",),
        requires_approval=True,
        status="failed",
        attempts=2,
        checks=(CHECK,),
        expected_files=("src/main.py",),
        attachments=("a1",),
        tools_to_execute=(
            ExpectedTool(tool="edit_file", args={"path": "src/main.py"}),
            ExpectedTool(tool="run_command"),
        ),
        reverted="part",
        when="exists(src/main.py)",
        for_each="$step_1.files",
        created_at=NOON,
    ),
    _value(
        Step,
        step_id="step_3",
        description="Ask for the port",
        instruction="Which port?",
        kind="clarification",
        agent="chapo",
        priority="low",
        status="needs_clarification",
        question="Which port?",
        options=("80", "8080"),
    ),
    _value(Step, step_id="step_4", description="Done", instruction="Say so", depends_on=("step_2",)),
)
JUDGED = Judged(
    by="ty",
    problems=(
        NewProblem(
            uri=Uri(URI),
            line=11,
            severity="error",
            message="Unknown name `foo`",
            source="ty",
            code="unresolved",
        ),
        NewProblem(uri=Uri(URI), line=0, severity="warning", message="Unused import"),
    ),
    total=3,
    unknown="The server was still starting.",
)
APPROVAL = _value(
    Approval,
    approval_id="ap1",
    plan_id="p1",
    step_id="step_2",
    tool="edit_file",
    proposal=HASH,
    effect="write",
    title="Change 2 files",
    warning="Makefile runs on the next build.",
    protected=True,
    files=(
        ApprovalFile.model_validate(
            {"uri": URI, "change": "edit", "added": 3, "removed": 1, "resolved_path": "/work/src/main.py"}
        ),
        ApprovalFile.model_validate(
            {
                "uri": "file:///work/a",
                "change": "rename",
                "new_uri": "file:///work/b",
                "added": 0,
                "removed": 0,
                "resolved_path": "/work/a",
                "new_resolved_path": "/work/b",
            }
        ),
    ),
    judged=JUDGED,
)
HELD = Abilities(files=True, network=True, processes=True, how="namespaces")
COMMAND = _value(
    Approval,
    approval_id="ap2",
    plan_id="p1",
    proposal=HASH,
    effect="execute",
    title="Run the tests",
    command="make test",
    cwd="/work",
    confinement=confinement_request(Confinement(), Confinement(network="all"), HELD),
    rules=("make test …",),
    listed=ListPlace(list_id="ap2", position=1, size=2),
)
CONFLICT = _value(
    ch.Conflict,
    edit_id="e1",
    step_id="step_2",
    files=(
        ch.ConflictFile.model_validate(
            {
                "uri": URI,
                "hunks": ({"range": RANGE, "base": "a\n", "mine": "b\n", "theirs": "c\n"},),
                "sha256": HASH,
            }
        ),
    ),
)
FILES = (
    ch.EditedFile.model_validate(
        {"uri": URI, "change": "edit", "before_sha256": HASH, "after_sha256": HASH[::-1]}
    ),
    ch.EditedFile.model_validate({"uri": "file:///work/new", "change": "createFolder"}),
)
PROPOSAL = RecoveryProposal(
    action="insert", args={"path": "x"}, steps=(STEPS[3],), why="The file is missing."
)
RECOVERY = _value(
    Recovery,
    step_id="step_2",
    error="No such file",
    code="path_denied",
    options=("retry", "skip", "abort"),
    proposal=PROPOSAL,
)
CHAPO = ChapoPerspective(
    analysis="It is small.",
    concerns=("None",),
    recommendations=("Go",),
    estimated_effort="small",
    dependencies=("step_1",),
    timestamp=NOON,
    strategic_analysis="Local",
    risk_assessment="Low",
    impact_areas=("src",),
    coordination_needs=("none",),
)
KODA = KodaPerspective(
    analysis="One file.",
    timestamp=NOON,
    affected_files=("src/main.py",),
    code_patterns=("script",),
    potential_breaking_changes=("none",),
    testing_requirements=("run it",),
)
DEVO = DevoPerspective(
    analysis="Nothing to deploy.",
    timestamp=NOON,
    deployment_impact=("none",),
    rollback_strategy="Undo",
    services_affected=("none",),
    infrastructure_changes=("none",),
)
REPORT: Report = _value(
    Report,
    done=(ReportedStep(step_id=StepId("step_1"), description="Read it", summary="It has 12 lines."),),
    files=(
        ReportedFile(uri=URI, change="edit", added=2, removed=1),
        ReportedFile(uri=Uri("file:///work/new.py"), change="rename", old_uri=Uri("file:///work/old.py")),
    ),
    commands=(
        ReportedCommand(
            command="pytest -q",
            exit_code=0,
            outcome="81 passed in 2.10s",
            runs=2,
            confinement="Confined: writes only in the workspace, no network.",
        ),
        ReportedCommand(command="serve", outcome="it was ended after 120 seconds"),
    ),
    left=(
        LeftStep(
            step_id=StepId("step_2"), description="Change it", status="skipped", reason="skipped, as chosen"
        ),
    ),
    not_allowed=(Uri("file:///work/.env"),),
    closing="The tests pass.",
    answered=False,
)
PROBLEM = ModelProblem(
    cause="busy",
    provider="openai",
    address="https://api.openai.com",
    model="small",
    said="Slow down.",
    wait_seconds=300,
)
PLAN: Plan = _value(
    Plan,
    plan_id="p1",
    session_id="s1",
    version=3,
    seq=42,
    status="paused",
    workspace_folders=("file:///work",),
    request="Add a main function to @src/main.py",
    attachments=(ATTACHMENT,),
    detection=DETECTION,
    qualification=QUALIFICATION,
    perspectives=(CHAPO, KODA, DEVO),
    summary="Add a main function",
    steps=STEPS,
    sequential=True,
    estimated_duration=90,
    overall_risk="medium",
    route="perspectives",
    review="each",
    author="model",
    template_id="t1",
    execution_summary="1 of 4 steps done",
    context_summary="main.py has 12 lines.",
    usage=USAGE,
    error=PlanError(
        code="model_unavailable", message="No model.", hint="Start one.", raw_text="?", model_problem=PROBLEM
    ),
    pending=Pending(
        approvals=(APPROVAL, COMMAND),
        questions=(
            Question.model_validate(
                {"step_id": "step_3", "question": "Which port?", "options": ("80", "8080")}
            ),
        ),
        recoveries=(RECOVERY,),
        conflicts=(CONFLICT,),
    ),
    created_at=NOON,
    approved_at=NOON,
    rejected_at=NOON,
    rejection_reason="Too much",
    completed_at=ELSEWHERE,
    updated_at=ELSEWHERE,
    pause_reason="clarification",
    pause_detail="Which port?",
)
EDITS: tuple[ed.StepEdit, ...] = (
    _value(
        ed.UpdateStep,
        step_id="step_2",
        set=ed.StepChanges(
            description="Change it", depends_on=(), critical=True, checks=(CHECK,), cleared=("args", "tool")
        ),
    ),
    _value(ed.AddStep, place="first", step_id="step_5", step=ed.StepChanges(description="Look")),
    _value(ed.AddStep, place="after", after="step_1", step=ed.StepChanges(description="Look again")),
    _value(ed.AddStep, place="last", step=ed.StepChanges(description="Look last")),
    _value(ed.RemoveStep, step_id="step_4"),
    _value(ed.MoveStep, step_id="step_3", after=None),
    _value(ed.MoveStep, step_id="step_3", after="step_2"),
    _value(ed.SkipStep, step_id="step_3"),
    _value(ed.UnskipStep, step_id="step_3"),
)
EVENTS: dict[str, Any] = {
    "plan_start": _value(
        ev.PlanStart,
        request=PLAN.request,
        route="plan",
        detection=DETECTION,
        qualification=QUALIFICATION,
        attachments=(ATTACHMENT,),
        unresolved=(UNRESOLVED,),
        workspace_folders=("file:///work",),
        template_id="t1",
    ),
    "plan_routed": ev.PlanRouted(detection=DETECTION, qualification=QUALIFICATION, route="perspectives"),
    "plan_drafting": ev.PlanDrafting(version=2, feedback="Shorter"),
    "plan_message": ev.PlanMessage(text="Use pytest instead", outcome="queued", attachments=(ATTACHMENT,)),
    "messages_read": _value(ev.MessagesRead, step_id="step_2", count=1),
    "plan_direct": ev.PlanDirect(steps=STEPS, sequential=True, author="rules"),
    "perspective_start": ev.PerspectiveStart(agent="chapo"),
    "perspective_complete": ev.PerspectiveComplete(agent="koda", perspective=KODA),
    "task_created": ev.StepCreated(step=STEPS[1]),
    "plan_ready": ev.PlanReady(
        version=3, steps=STEPS, summary="Add a main function", sequential=True, author="model", usage=USAGE
    ),
    "plan_approval_request": ev.PlanApprovalRequest(),
    "plan_edited": ev.PlanEdited(version=3, edits=EDITS, steps=STEPS),
    "plan_approved": ev.PlanApproved(version=3, review="each"),
    "plan_rejected": ev.PlanRejected(reason="Too much"),
    "plan_executing": ev.PlanExecuting(),
    "task_started": _value(ev.StepStarted, step_id="step_1", agent="koda"),
    "task_update": _value(
        ev.StepUpdate,
        step_id="step_1",
        status="running",
        progress=50,
        active_form="Reading",
        attempt=2,
        usage=USAGE,
    ),
    "model_used": ev.ModelUsed(usage=USAGE, model="ollama/qwen3"),
    "task_completed": _value(ev.StepCompleted, step_id="step_1", result=RESULT, usage=USAGE),
    "task_failed": _value(
        ev.StepFailed, step_id="step_2", error="No such file", code="path_denied", will_retry=True
    ),
    "task_skipped": _value(ev.StepSkipped, step_id="step_4", reason="dependency_failed"),
    "condition_evaluated": _value(ev.ConditionEvaluated, step_id="step_4", holds=False),
    "steps_unrolled": _value(ev.StepsUnrolled, step_id="step_1", steps=(STEPS[1],)),
    "tool_started": _value(
        ev.ToolStarted,
        step_id="step_1",
        call_id="c1",
        tool="read_file",
        args={"path": "a", "x": None},
        effect="read",
    ),
    "tool_completed": _value(
        ev.ToolCompleted, step_id="step_1", call_id="c1", ok=True, summary="12 lines", duration_ms=3
    ),
    "background_started": _value(
        ev.BackgroundStarted,
        step_id="step_1",
        command_id="c1",
        command="npm run dev",
        pid=4711,
        process="b:9",
    ),
    "background_ended": _value(
        ev.BackgroundEnded, step_id="step_1", command_id="c1", reason="exit", exit_code=1, line="port in use"
    ),
    "approval_request": ev.ApprovalRequested(approval=APPROVAL),
    "approval_resolved": _value(
        ev.ApprovalResolved,
        approval_id="ap1",
        decision="allow",
        by="user",
        reason="Fine",
        files=(URI,),
        confinement=Confinement(network="all"),
    ),
    "approval_judged": _value(ev.ApprovalJudged, approval_id="ap1", judged=JUDGED),
    "edit_started": _value(ev.EditStarted, step_id="step_2", edit_id="e1", files=FILES),
    "edit_applied": _value(
        ev.EditApplied, step_id="step_2", edit_id="e1", files=FILES, merged=True, outcome="verified"
    ),
    "edit_rejected": _value(ev.EditRejected, step_id="step_2", edit_id="e1", files=FILES, reason="read-only"),
    "edit_reverted": _value(ev.EditReverted, step_id=None, edit_id="e1", files=FILES),
    "command_changed": _value(
        ev.CommandChanged,
        step_id="step_2",
        edit_id="e2",
        command="`make format`",
        files=FILES,
        unknown=FILES[:1],
        notes=("`make format` changed 3 more files.",),
    ),
    "files_renamed": _value(ev.FilesRenamed, edit_id="e3", files=FILES),
    "edit_conflict": _value(ev.EditConflict, step_id="step_2", conflict=CONFLICT),
    "conflict_resolved": _value(
        ev.ConflictResolved,
        step_id="step_2",
        edit_id="e1",
        files=(ev.ConflictChoice.model_validate({"uri": URI, "choice": "text", "text": "secret text"}),),
    ),
    "check_completed": _value(ev.CheckCompleted, step_id="step_2", check=CHECK),
    "clarification_request": _value(
        ev.ClarificationRequest, step_id="step_3", question="Which port?", options=("80", "8080")
    ),
    "clarification_provided": _value(ev.ClarificationProvided, step_id="step_3", answer="80"),
    "recovery_request": _value(
        ev.RecoveryRequest,
        step_id="step_2",
        error="No such file",
        code="path_denied",
        options=("retry", "skip"),
        proposal=PROPOSAL,
    ),
    "recovery_chosen": _value(
        ev.RecoveryChosen, step_id="step_2", action="retry", args={"path": "b"}, version=4
    ),
    "context_compacted": ev.ContextCompacted(
        before_tokens=9000, after_tokens=800, by="rules", summary="Not told"
    ),
    "tasks_list": ev.StepsList(),
    "plan_paused": ev.PlanPaused(reason="clarification", detail="Which port?", model_problem=PROBLEM),
    "plan_resumed": ev.PlanResumed(),
    "plan_imported": ev.PlanImported(),
    "answer": _value(ev.Answer, step_id="step_1", text="It is 12 lines long.", confidence="high"),
    "plan_completed": ev.PlanCompleted(summary="4 of 4 steps done", report=REPORT),
    "plan_failed": ev.PlanFailed(
        summary="1 of 4 steps done", error=PlanError(code="internal", message="No step can run.")
    ),
    "plan_cancelled": ev.PlanCancelled(summary="1 of 4 steps done"),
    "log": _value(ev.Log, level="warning", message="Slow", step_id="step_1"),
}


def recorded(event: ev.Event) -> ev.Recorded:
    """The event in its place, which is that of the sample plan."""
    return _value(ev.Recorded, seq=42, plan_id="p1", session_id="s1", at=ELSEWHERE, event=event)


def application() -> FakeApplication:
    """An application that answers everything with the samples."""
    template = SimpleNamespace(
        template_id="t1",
        name="Main",
        description="Adds a main function",
        parameters=(
            SimpleNamespace(name="file", description="Where", default="main.py", type="path", options=()),
            SimpleNamespace(name="kind", description=None, default=None, type="choice", options=("a", "b")),
        ),
        steps=STEPS[3:],
        builtin=False,
    )
    model = SimpleNamespace(
        provider="ollama",
        name="qwen",
        context_tokens=32768,
        reachable=False,
        reason="not running",
        cause="unreachable",
        address="http://127.0.0.1:11434",
    )
    active = SimpleNamespace(provider="embedded", name="rules", reason="nothing else answers")
    item = SimpleNamespace(
        label="src/main.py", insert_text="@src/main.py", detail="src", kind="file", replace=(4, 9)
    )
    said = (UserMessage(text="Use pytest instead", at=NOON, state="read"),)
    follows = PLAN.model_copy(update={"follows": PlanId("p0"), "messages": said})
    app = FakeApplication(
        messages__send=MessageResult(
            outcome="queued", plan=follows, waits_for="The plan is paused.", unresolved=(UNRESOLVED,)
        ),
        plans__create=CreateResult(plan=PLAN, detection=DETECTION, unresolved=(UNRESOLVED,)),
        plans__get=PLAN,
        plans__list=(summary(PLAN),),
        plans__spent=Spent(usage=USAGE, models=(ModelUse(model="ollama/qwen3", usage=USAGE),)),
        plans__stats=Stats(
            plans=4,
            statuses={"completed": 3, "failed": 1},
            authors={"model": 4},
            steps=9,
            success=75,
            undone=25,
            usage=Usage(requests=12, prompt_tokens=30_000, completion_tokens=4_000),
            models=(
                ModelUse(
                    model="ollama/qwen3",
                    usage=Usage(requests=12, prompt_tokens=30_000, completion_tokens=4_000),
                    seconds=91.5,
                ),
            ),
            costs={"ollama/qwen3": 0.25},
            days=(
                DayStats(day="2030-01-31", plans=4, completed=3, usage=USAGE, costs={"ollama/qwen3": 0.25}),
            ),
        ),
        memory__search=(
            MemoryEntry(
                plan_id=PlanId("p0"),
                at=NOON,
                status="completed",
                request="Cache the exchange rates",
                outcome="1 of 1 step done. 1 file changed.",
                files=("src/rates.py",),
                findings=("A failed fetch serves the stale rate.",),
                decisions=("The user said: An old rate is better than none.",),
            ),
        ),
        memory__forget=1,
        rules__list_rules=(
            FolderRule(Uri(URI), "make test …", "Confined: writes only in the workspace, no network."),
        ),
        rules__revoke=1,
        plans__tasks=(PLAN, PLAN.steps[:2]),
        plans__commands_of=(
            ExecutedTool(
                call_id=CallId("call-1"),
                tool="run_command",
                args={"command": "pytest"},
                ok=True,
                deduplicated=False,
                summary="`pytest` ended with exit code 0",
                duration_ms=900,
                command="ended",
                outcome=CommandOutcome(exit_code=0, line="1 passed"),
                output="The command ended with exit code 0.\n1 passed\n",
            ),
        ),
        plans__events=((recorded(EVENTS["plan_paused"]), PLAN),),
        plans__wait=(PLAN, True),
        plans__undo=UndoResult(plan=PLAN, reverted=(URI,), conflicts=("file:///work/b",)),
        plans__diff=_value(FileDiff, uri=URI, before="x\n", after=None, language_id="python"),
        approvals__conflict_texts=_value(
            ConflictTexts,
            uri=URI,
            base="a\n",
            mine="b\n",
            theirs="c\n",
            both="<<<<<<< yours\nb\n=======\nc\n>>>>>>> Planloom's\n",
        ),
        approvals__preview=_value(FilePreview, uri=URI, now="a\n", proposed="x\n"),
        approvals__diff=_value(FileDiff, uri=URI, before=None, after="x\n", language_id="python"),
        references__resolve=Resolution(
            attachments=(ResolvedAttachment(attachment=ATTACHMENT, text="x"),), unresolved=(UNRESOLVED,)
        ),
        references__complete=SimpleNamespace(items=(item,), is_incomplete=True),
        references__keep_image="file:///work/.planloom/image-0a1b.png",
        templates__offered=(template,),
        templates__save=template,
        templates__preview=SimpleNamespace(steps=STEPS[3:], problems=(("kind", "it is required"),)),
        models__list=SimpleNamespace(models=(model,), active=active),
        models__test=SimpleNamespace(model=active, answer="Ready.", took_ms=420),
    )
    for name in (
        "edit",
        "regenerate",
        "restore",
        "rewrite",
        "approve",
        "reject",
        "direct",
        "pause",
        "review",
        "resume",
        "cancel",
        "import_plan",
        "adopt_document",
    ):
        app.script[f"plans.{name}"] = PLAN
    for name in ("approvals.resolve_conflict", "steps.answer", "steps.recover"):
        app.script[name] = PLAN
    return app
