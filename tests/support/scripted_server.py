"""A scripted server for the journeys of the panel: every card at once, and a steady storm of events.

The real one cannot show these on demand. Its protocol, its fold of events and its views are the product's; only what
happens is written here. `storm N` as a request sends N events at 100 a second; `Add language` asks the editor what is
in `asked.json` of the folder, requests of LSP, and writes its answers beside it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from planloom.domain.changes import Conflict, ConflictFile, ConflictHunk
from planloom.domain.events import catalog as ev
from planloom.domain.events.lifecycle import apply
from planloom.domain.plans.agents import Agent, ChapoPerspective, KodaPerspective
from planloom.domain.plans.attachments import Attachment
from planloom.domain.plans.outcome import Spent
from planloom.domain.plans.plan import Check, Detection, Plan, Step, StepResult, Usage
from planloom.domain.safety.approvals import Approval, ApprovalFile
from planloom.domain.text.positions import Position, Range
from planloom.domain.values import (
    ApprovalId,
    AttachmentId,
    CallId,
    EditId,
    PlanId,
    SessionId,
    Sha256,
    StepId,
    Uri,
)
from planloom.lsp.server import serve
from planloom.service.requests import CreateRequest, CreateResult, FileDiff, FilePreview, Status, StreamDelta
from planloom.serving.opening import ApplicationContext
from planloom.workspace.editor import Editor, EditorSilent
from planloom.workspace.paths.uris import to_path
from tests.support.fake_application import FakeApplication

DETECTED = Detection(planned=True, rule="verb_and_scope", score=45, ambiguous=False)
READ, ADD, ASK, TESTS, README = (StepId(f"step_{number}") for number in range(1, 6))
USAGE = Usage(requests=1, prompt_tokens=2100, completion_tokens=380)
MODEL = "openai/qwen3-coder"
GREETING = 'def greet(name):\n    return f"Hello, {name}!"\n'
FAREWELL = f'{GREETING}\n\ndef farewell(name):\n    return f"Goodbye, {{name}}!"\n'
SUMMARY = (
    "Adds a farewell beside the greeting, asks which languages it must know, and proves it with the tests."
)
STEPS = (
    Step(
        step_id=READ,
        description="Read the greeting module and its tests",
        instruction="Read the greeting module and its tests",
        tool="read_file",
        kind="tool_call",
        args={"path": "src/greeting.py"},
        active_form="Reading the greeting module",
    ),
    Step(
        step_id=ADD,
        description="Add a farewell beside the greeting",
        instruction="Add a function `farewell(name)` with the same manners as `greet`.",
        active_form="Writing the farewell",
        depends_on=(READ,),
        requires_approval=True,
        checks=(Check(kind="file_contains", path="src/greeting.py", text="def farewell"),),
    ),
    Step(
        step_id=ASK,
        description="Ask which languages the farewell must know",
        instruction="Ask which languages the farewell must know",
        kind="clarification",
        question="Which languages must the farewell know?",
        depends_on=(ADD,),
    ),
    Step(
        step_id=TESTS,
        description="Run the tests",
        instruction="Run the tests",
        tool="run_command",
        kind="tool_call",
        args={"command": "python -m pytest -q"},
        agent="devo",
        depends_on=(ADD, ASK),
        requires_approval=True,
        critical=True,
    ),
    Step(
        step_id=README,
        description="Describe the new function in the README",
        instruction="Describe the new function in the README",
        tool="edit_file",
        kind="tool_call",
        args={"path": "README.md", "old_text": "# Greeting", "new_text": "# Greeting and farewell"},
        depends_on=(ADD,),
    ),
)
CHAPO = ChapoPerspective(
    analysis="A farewell is small, but it is the second public function: its manners decide how the third will look.",
    concerns=("Names of several words are capitalised in one place only.",),
    recommendations=("Share the capitalising before the second use.",),
    estimated_effort="small",
    strategic_analysis="Code first, deployment only after the tests.",
    risk_assessment="Low: nothing that exists changes its behaviour.",
    impact_areas=("src/greeting.py", "README"),
    timestamp=datetime.now(UTC),
)
KODA = KodaPerspective(
    analysis="One function beside greet, one test module.",
    recommendations=("Write the test first.",),
    estimated_effort="small",
    affected_files=("src/greeting.py", "tests/test_farewell.py"),
    code_patterns=("f-strings",),
    testing_requirements=("An empty name",),
    timestamp=datetime.now(UTC),
)


class Scripted(FakeApplication):
    """An application whose plans go as they are written here."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[PlanId, Plan] = {}
        self.folder = Uri("file:///")
        self.running: set[asyncio.Task[None]] = set()
        self.script |= {
            "plans.create": self.create,
            "plans.approve": self.approve,
            "plans.get": lambda plan_id, _session: self.known[plan_id],
            "plans.list": (),
            "plans.spent": lambda plan: Spent(
                usage=plan.usage, models=plan.models, costs={MODEL: 0.0123} if plan.models else {}
            ),
            "approvals.diff": lambda _approval, uri: FileDiff(uri, GREETING, FAREWELL),
            "approvals.preview": lambda _approval, uri, *_: FilePreview(uri, GREETING, FAREWELL, False),
            "models.list": (),
        }

    async def make(self, opening: ApplicationContext) -> Scripted:
        """What `make_server` takes."""
        self.editor: Editor = opening.editor
        self.folder = Uri(next(iter(folder.uri for folder in opening.view.roots.folders), "file:///"))
        await super().make(opening)
        return self

    def status(self, log_path: str = "") -> Status:
        """How the server is."""
        return (
            super()
            .status(log_path)
            ._replace(
                model_provider="openai",
                model_name="qwen3-coder",
                trusted=True,
                workspace_folders=(self.folder,),
            )
        )

    def detect(self, text: str) -> Detection:
        """Whether a text wants a plan."""
        wants = any(word in text.lower() for word in ("add", "create", "storm"))
        return DETECTED if wants else DETECTED.model_copy(update={"planned": False, "rule": "none"})

    def happen(self, plan_id: PlanId, *events: ev.Event) -> Plan:
        """Let events happen to a plan."""
        for event in events:
            before = self.known.get(plan_id)
            seq = 1 if before is None else before.seq + 1
            at = datetime.now(UTC)
            recorded = ev.Recorded(seq=seq, plan_id=plan_id, session_id=SessionId("s1"), at=at, event=event)
            self.known[plan_id] = apply(before, recorded)
            self.feed.happen(event, self.known[plan_id])
        return self.known[plan_id]

    def begin(self, work: Any) -> None:
        """Let something go on after the answer."""
        task = asyncio.get_running_loop().create_task(work)
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def create(self, request: CreateRequest) -> CreateResult:
        """Begin a plan."""
        plan_id = PlanId(f"plan_{len(self.known) + 1}")
        attached = Attachment(
            attachment_id=AttachmentId("a1"),
            kind="file",
            reference="@src/greeting.py",
            label="src/greeting.py",
            bytes=512,
        )
        start = ev.PlanStart(
            request=request.text,
            route="perspectives" if request.mode == "perspectives" else "plan",
            detection=DETECTED,
            attachments=(attached,),
            workspace_folders=(self.folder,),
        )
        plan = self.happen(plan_id, start)
        self.begin(self.ask_editor() if request.text == "Add language" else self.draft(plan))
        return CreateResult(plan=plan, detection=DETECTED)

    async def ask_editor(self) -> None:
        """Ask what the folder says, in its order."""
        folder = Path(str(to_path(self.folder)))
        answers = []
        for method, params in json.loads((folder / "asked.json").read_text()):
            try:
                answers.append(await self.editor.language(method, params))
            except EditorSilent as silent:
                answers.append({"problem": str(silent)})
        (folder / "answered.part").write_text(json.dumps(answers, indent=1))
        (folder / "answered.part").rename(folder / "answered.json")

    async def draft(self, plan: Plan) -> None:
        """Write the steps one by one."""
        plan_id = plan.plan_id
        self.happen(plan_id, ev.PlanDrafting(version=1))
        if plan.route == "perspectives":
            await self.perspectives(plan_id)
        for step in STEPS:
            await asyncio.sleep(0.005 if plan.request.startswith("storm") else 0.25)
            self.happen(plan_id, ev.StepCreated(step=step))
        ready = ev.PlanReady(
            version=1,
            steps=STEPS,
            summary=SUMMARY,
            sequential=False,
            author="model",
            estimated_duration=90,
            overall_risk="medium",
        )
        self.happen(plan_id, ready, ev.ModelUsed(usage=USAGE, model=MODEL))

    async def perspectives(self, plan_id: PlanId) -> None:
        """Strategy first, then code and operations side by side; operations fails.

        Each goes on once a file says that it was looked at.
        """

        def is_seen(name: str) -> bool:
            return Path(str(to_path(self.folder)), name).exists()

        async def seen(name: str) -> None:
            while not is_seen(name):
                await asyncio.sleep(0.05)

        def thinks(agent: Agent) -> ev.PerspectiveStart:
            return ev.PerspectiveStart(agent=agent)

        self.happen(plan_id, thinks("chapo"))
        await seen("strategy-seen")
        self.happen(plan_id, ev.PerspectiveComplete(agent="chapo", perspective=CHAPO))
        self.happen(plan_id, thinks("koda"), thinks("devo"))
        await seen("others-seen")
        error = "The model gave no answer that can be read, twice."
        self.happen(plan_id, ev.PerspectiveComplete(agent="devo", error=error))
        self.happen(plan_id, ev.PerspectiveComplete(agent="koda", perspective=KODA))

    async def approve(self, plan_id: PlanId, version: int, _review: Any) -> Plan:
        """Start a plan."""
        plan = self.happen(plan_id, ev.PlanApproved(version=version, review="each"), ev.PlanExecuting())
        self.begin(self.storm(plan) if plan.request.startswith("storm") else self.run(plan_id))
        return plan

    async def run(self, plan_id: PlanId) -> None:
        """Every card at once, on a plan that is half done."""
        uri = Uri(f"{self.folder}/src/greeting.py")
        call = CallId("c1")
        args = {"path": "src/greeting.py"}
        self.happen(
            plan_id,
            ev.StepStarted(step_id=READ, agent="koda"),
            ev.ToolStarted(step_id=READ, call_id=call, tool="read_file", args=args, effect="read"),
        )
        await asyncio.sleep(0.4)
        read = ev.ToolCompleted(step_id=READ, call_id=call, ok=True, summary="Read 12 lines.", duration_ms=8)
        result = _done("Read 12 lines of src/greeting.py.", 420)
        self.happen(plan_id, read, ev.StepCompleted(step_id=READ, result=result))
        self.happen(plan_id, ev.StepStarted(step_id=ADD, agent="koda"))
        words = "The greeting capitalises names, so the farewell should do the same…"
        self.feed.speak(StreamDelta(plan_id=plan_id, step_id=ADD, kind="text", delta=words))
        error = 'README.md has no text "# Greeting".'
        self.happen(
            plan_id,
            ev.StepStarted(step_id=README, agent="koda"),
            ev.ApprovalRequested(approval=_change(plan_id, uri, self.folder)),
            ev.ApprovalRequested(approval=_command(plan_id)),
            ev.ClarificationRequest(
                step_id=ASK,
                question="Which languages must the farewell know?",
                options=("English only", "English and German"),
            ),
            ev.StepFailed(step_id=README, error=error),
            ev.RecoveryRequest(step_id=README, error=error, options=("retry", "skip", "model", "abort")),
            ev.EditConflict(step_id=ADD, conflict=_conflict(uri)),
        )

    async def storm(self, plan: Plan) -> None:
        """Events that come alone tell what the way costs on this machine now; the storm is measured against them."""
        plan_id, count = plan.plan_id, int(([*plan.request.split(), "500"])[1])
        self.happen(plan_id, ev.StepStarted(step_id=READ, agent="koda"))
        for name, events, every in (("Lone", 40, 0.1), ("Storm", count, 0.01)):
            began = time.monotonic()
            for index in range(events):
                await asyncio.sleep(max(0.0, began + index * every - time.monotonic()))
                words = f"{name} {index} {time.time_ns() // 1_000_000}"
                update = ev.StepUpdate(
                    step_id=READ, status="running", progress=index % 100, active_form=words
                )
                self.happen(plan_id, update)
            await asyncio.sleep(0.5)
        self.happen(plan_id, ev.StepCompleted(step_id=READ, result=_done("Storm over", 1)))


def _done(summary: str, duration_ms: int) -> StepResult:
    return StepResult(ok=True, summary=summary, duration_ms=duration_ms, timestamp=datetime.now(UTC))


def _change(plan_id: PlanId, uri: Uri, folder: Uri) -> Approval:
    tests = Uri(f"{folder}/tests/test_farewell.py")
    files = (
        ApprovalFile(uri=uri, change="edit", added=4, removed=1, resolved_path=str(to_path(uri))),
        ApprovalFile(uri=tests, change="create", added=12, removed=0, resolved_path=str(to_path(tests))),
    )
    return Approval(
        approval_id=ApprovalId("ap1"),
        plan_id=plan_id,
        step_id=ADD,
        proposal=Sha256("x"),
        effect="write",
        title="Add a farewell beside the greeting",
        files=files,
    )


def _command(plan_id: PlanId) -> Approval:
    return Approval(
        approval_id=ApprovalId("ap2"),
        plan_id=plan_id,
        step_id=TESTS,
        proposal=Sha256("y"),
        effect="execute",
        title="Run the tests",
        warning="The command contains hidden characters.",
        command="python -m pytest -q \u202ecod.exe\u202c",
        cwd=".",
    )


def _conflict(uri: Uri) -> Conflict:
    hunk = ConflictHunk(
        range=Range(start=Position(line=3, character=0), end=Position(line=4, character=0)),
        base="return 1\n",
        mine="return greeting(name)\n",
        theirs='return f"Goodbye, {name}!"\n',
    )
    return Conflict(edit_id=EditId("e9"), step_id=ADD, files=(ConflictFile(uri=uri, hunks=(hunk,)),))


if __name__ == "__main__":
    sys.exit(serve(["--stdio"], Scripted().make))
