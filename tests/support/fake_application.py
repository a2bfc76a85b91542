"""An application that notes what it is asked and answers from a script, for tests of the protocol alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from planloom.domain.events import catalog as ev
from planloom.domain.plans.outcome import Spent
from planloom.domain.plans.plan import Detection, Plan, Step, summary
from planloom.domain.values import PlanId, SessionId, StepId
from planloom.execution.model_waits import ModelWaits
from planloom.execution.resources import StepWaits
from planloom.models.port import ModelIdentity
from planloom.service.requests import CreateResult, Health, MessageResult, Status, StreamDelta, UndoResult
from planloom.serving.opening import ApplicationContext
from planloom.settings import ModelSettings

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)


def a_plan(plan_id: str = "p1", **changes: Any) -> Plan:
    """A plan of two steps, pending approval."""
    steps = (
        Step(step_id=StepId("step_1"), description="Read", instruction="Read it"),
        Step(
            step_id=StepId("step_2"),
            description="Write",
            instruction="Write it",
            depends_on=(StepId("step_1"),),
        ),
    )
    fields: dict[str, Any] = {
        "plan_id": PlanId(plan_id),
        "session_id": SessionId("s1"),
        "version": 1,
        "seq": 3,
        "status": "pending_approval",
        "request": "Read, then write",
        "steps": steps,
        "created_at": NOON,
        **changes,
    }
    return Plan(**fields)


class FakeFeed:
    """Lets a test say what happens."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[ev.Recorded, Plan], None]] = []
        self._streams: list[Callable[[StreamDelta], None]] = []
        self.waits = StepWaits()
        self.model_waits = ModelWaits()

    def subscribe(self, listener: Callable[[ev.Recorded, Plan], None]) -> Callable[[], None]:
        """Hear every event."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def subscribe_stream(self, listener: Callable[[StreamDelta], None]) -> Callable[[], None]:
        """Hear the text of what runs."""
        self._streams.append(listener)
        return lambda: self._streams.remove(listener)

    def subscribe_health(self, listener: Callable[[Health], None]) -> None:
        """Hear what is wrong; nothing ever is."""

    def subscribe_notices(self, listener: Callable[[str, str], None]) -> None:
        """Hear what belongs to no plan; nothing is ever said."""

    def happen(self, event: ev.Event, after: Plan) -> None:
        """Let an event have happened."""
        recorded = ev.Recorded(
            seq=after.seq, plan_id=after.plan_id, session_id=after.session_id, at=NOON, event=event
        )
        for listener in self._listeners:
            listener(recorded, after)

    def speak(self, delta: StreamDelta) -> None:
        """Let something that runs say more."""
        for listener in self._streams:
            listener(delta)


class Room:
    """Notes calls, and answers what the script says: a value, an exception to raise, or a function."""

    def __init__(self, name: str, calls: list[tuple[Any, ...]], script: dict[str, Any]) -> None:
        self._name = name
        self._calls = calls
        self._script = script

    def among(self, *, all_workspaces: bool) -> Room:
        """The plans of one workspace and of all are the same here."""
        return self

    def __getattr__(self, name: str) -> Callable[..., Any]:
        full = f"{self._name}.{name}"

        def call(*args: Any) -> Any:
            self._calls.append((full, *args))
            answer = self._script[full]
            if isinstance(answer, Exception):
                raise answer
            return answer(*args) if callable(answer) else answer

        async def call_async(*args: Any, **_named: Any) -> Any:
            answer = call(*args)
            return await answer if asyncio.iscoroutine(answer) else answer

        return call if full in _SYNC else call_async


_SYNC = frozenset(
    {
        "plans.get",
        "plans.list",
        "plans.stats",
        "plans.spent",
        "plans.tasks",
        "plans.commands_of",
        "plans.events",
        "plans.diff",
        "plans.run_elsewhere",
        "approvals.conflict_texts",
        "memory.search",
        "memory.forget",
        "plans.markdown",
    }
)


class FakeApplication:
    """`calls` are those made, each its name and arguments; `script` says what each answers."""

    def __init__(self, **script: Any) -> None:
        plan = a_plan()
        self.calls: list[tuple[Any, ...]] = []
        self.script: dict[str, Any] = {
            "plans.create": CreateResult(plan=plan, detection=DETECTED),
            "plans.get": plan,
            "plans.list": (summary(plan),),
            "plans.spent": Spent(),
            "plans.tasks": (plan, plan.steps),
            "plans.events": (),
            "plans.wait": (plan, True),
            "plans.undo": UndoResult(plan=plan, reverted=("file:///a",), conflicts=()),
            "messages.send": MessageResult(outcome="queued", plan=plan),
            "plans.delete": None,
            "plans.markdown": "# Plan",
            "approvals.respond": None,
            "templates.offered": (),
            "index.update": None,
            "templates.delete": None,
        }
        for name in (
            "edit",
            "regenerate",
            "approve",
            "reject",
            "direct",
            "pause",
            "resume",
            "review",
            "cancel",
        ):
            self.script[f"plans.{name}"] = plan
        for name in ("approvals.resolve_conflict", "steps.answer", "steps.recover"):
            self.script[name] = plan
        self.script.update({name.replace("__", "."): value for name, value in script.items()})
        for name in (
            "plans",
            "steps",
            "approvals",
            "references",
            "index",
            "templates",
            "models",
            "messages",
            "memory",
            "rules",
        ):
            setattr(self, name, Room(name, self.calls, self.script))
        models: Any = self.models  # type: ignore[attr-defined]
        models.identity, models.chosen = ModelIdentity("auto", "", "not asked"), ModelSettings()
        self.feed = FakeFeed()
        self.opening: ApplicationContext | None = None
        self.settings: Any = None
        self.trusted: bool | None = None
        self.secrets: dict[str, str | None] = {}
        self.closed = False

    async def make(self, opening: ApplicationContext) -> FakeApplication:
        """What `make_server` takes."""
        self.opening = opening
        self.settings = opening.settings
        return self

    def detect(self, text: str) -> Detection:
        """Whether a text wants a plan."""
        self.calls.append(("detect", text))
        return DETECTED

    def start(self, listen: Callable[[Any], None]) -> None:
        """Let whoever wants to hear of it subscribe."""
        listen(self)

    def configure(self, settings: Any) -> None:
        """Take settings."""
        self.settings = settings

    def set_trusted(self, trusted: bool, _ask: Any = None) -> None:
        """Take trust."""
        self.trusted = trusted

    async def set_secret(self, provider: str, value: str | None) -> None:
        """Take a key."""
        self.secrets[provider] = value

    def extensions(self) -> tuple[()]:
        """No package is enabled."""
        return ()

    def status(self, log_path: str = "") -> Status:
        """How the server is."""
        return Status(
            version="0.1.0",
            session_id=SessionId("s1"),
            model_provider="embedded",
            model_name="rules",
            model_reason="nothing else answers",
            workspace_folders=(),
            trusted=bool(self.trusted),
            active=(),
            resumable=(),
            health="ok",
            problems=(),
            log_path=log_path,
            storage_path="",
        )

    async def close(self) -> None:
        """End."""
        self.closed = True


DETECTED = Detection(planned=True, rule="numbered_list", score=60, ambiguous=False)
