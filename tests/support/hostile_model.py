"""A model that knows how to do its task, and misbehaves by a seed; and two ways of working with it."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from planloom.domain.errors import ModelFailed
from planloom.domain.plans.editing import AddStep, RemoveStep, StepChanges
from planloom.domain.plans.plan import Plan
from planloom.domain.values import Args, CallId, StepId
from planloom.models.port import (
    CallMade,
    Capabilities,
    Finished,
    Message,
    ModelEvent,
    ModelIdentity,
    ModelRequest,
    Restarted,
    TextDelta,
    ToolCall,
)
from tests.support.studio import Studio, studio

Call = tuple[str, Args]
FAULTS = (
    "wrong format",
    "prose",
    "early answer",
    "calls as text",
    "truncated",
    "repeated call",
    "unknown tool",
    "429",
    "500",
    "broken stream",
    "slow",
)
TRANSPORT = ("429", "500", "broken stream")
RETRIES = 2


class Task(NamedTuple):
    """A task of a plan: its description, and the files that are to be written."""

    description: str
    files: Mapping[str, str]


End = Literal["right", "stopped", "false success", "repeated effect", "endless", "crashed"]
ENDS: Final[tuple[End, ...]] = get_args(End)
EXPECTED: Final[tuple[End, ...]] = ("right", "stopped")
"""The others must not be."""


class Fate(NamedTuple):
    """How a plan ended: `right` byte for byte, `stopped` with a reason, or in a way that must not be."""

    kind: End
    detail: str = ""


def tasks_of(seed: int) -> tuple[Task, ...]:
    """Two to five tasks that write one or two files each."""
    chance = random.Random(f"tasks {seed}")
    tasks = []
    for number in range(chance.randrange(2, 6)):
        files = {
            f"part{number}/file{index}.txt": f"task {number}, file {index}\n{chance.random()}\n“quoted” \\ {{}}\n"
            for index in range(chance.randrange(1, 3))
        }
        tasks.append(Task(f"Write part {number}", files))
    return tuple(tasks)


class HostileModel:
    """Answers what the prompt's current task needs; each answer is off with probability `chance`.

    `retries` says that the transport's failures are tried again, as the adapters do; without, they are raised.
    """

    identity = ModelIdentity(provider="replay", name="hostile", reason="a test wants it so")

    def __init__(self, tasks: Sequence[Task], seed: int, chance: float, *, retries: bool = True) -> None:
        self._tasks = {task.description: task for task in tasks}
        self._random = random.Random(f"faults {seed}")
        self._chance = chance
        self._retries = retries
        self._last: tuple[Call, ...] = ()
        self.requests = 0

    async def capabilities(self) -> Capabilities:
        return Capabilities(tools=True, context_tokens=32_000, parallelism=1)

    async def close(self) -> None:
        """Nothing is open."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.requests += 1
        await asyncio.sleep(0)
        calls = self._right("\n".join(message.text for message in request.messages))
        fault = self._random.choice(FAULTS) if self._random.random() < self._chance else None
        attempt = 0
        while fault in TRANSPORT:
            if fault == "broken stream":
                for event in _native(calls[:1]):
                    yield event
            attempt += 1
            if not self._retries or attempt > RETRIES:
                raise ModelFailed("model_unavailable", f"The server of the model failed ({fault}).")
            yield Restarted(problem=fault, attempt=attempt, wait_seconds=0.0)
            fault = self._random.choice(FAULTS) if self._random.random() < self._chance else None
        for event in self._answer(fault, calls):
            await asyncio.sleep(0)
            yield event

    def _right(self, prompt: str) -> tuple[Call, ...]:
        """What a good model does: write what is not written yet, then say that the task is done."""
        _, heading, now = prompt.rpartition("CURRENT TASK\n")
        if not heading:
            return (("final_answer", {"text": "All is done."}),)
        task = self._tasks[now.partition("\n")[0]]
        done = set(re.findall(r"(?:Created|Replaced) (\S+?\.txt)|(\S+\.txt) already has", now))
        written = {name for pair in done for name in pair if name}
        left = [path for path in task.files if path not in written]
        calls: list[Call] = [("write_file", {"path": path, "content": task.files[path]}) for path in left]
        if len(left) <= 1:
            calls.append(("task_completed", {"summary": f"{task.description}: done."}))
        return tuple(calls)

    def _answer(self, fault: str | None, calls: tuple[Call, ...]) -> Sequence[ModelEvent]:
        before, self._last = self._last, calls
        match fault:
            case "wrong format":
                text = "---PLAN-START---\nSTEP 1: Write it\nDO: write the file\n---PLAN-END---"
                return (TextDelta(text=text), Finished(reason="stop"))
            case "prose":
                return (TextDelta(text="Sure! I will take care of that now."), Finished(reason="stop"))
            case "early answer":
                return _native((("final_answer", {"text": "Everything is done!"}),))
            case "calls as text":
                text = "\n".join(json.dumps({"name": name, "arguments": args}) for name, args in calls)
                return (TextDelta(text=f"```json\n{text}\n```"), Finished(reason="stop"))
            case "truncated":
                name, args = calls[0]
                text = json.dumps({"name": name, "arguments": args})
                return (TextDelta(text=text[: len(text) * 2 // 3]), Finished(reason="length"))
            case "repeated call":
                return _native(before or calls)
            case "unknown tool":
                return _native((("make_file", {"name": "x"}),))
            case _:
                return _native(calls)


def _native(calls: Sequence[Call]) -> tuple[ModelEvent, ...]:
    made = tuple(
        CallMade(call=ToolCall(call_id=CallId(f"c{number}"), name=name, arguments=args))
        for number, (name, args) in enumerate(calls)
    )
    return (*made, Finished(reason="tool_calls"))


async def planloom_fate(folder: Path, seed: int, chance: float) -> Fate:
    """The plan under the application, everything approved beforehand."""
    tasks = tasks_of(seed)
    async with studio(folder) as at:
        plan = await _planned(at, tasks)
        model = HostileModel(tasks, seed, chance)
        at.model.model = model  # type: ignore[assignment]
        await at.app.plans.approve(plan.plan_id, plan.version, "auto")
        while True:
            plan = await at.until(
                plan, lambda now: now.status in ("completed", "failed", "cancelled", "paused")
            )
            if plan.status != "paused" or plan.pause_reason != "model_unavailable":
                break
            await at.app.plans.resume(plan.plan_id)
        return _judged(at, plan, tasks, model)


def _judged(at: Studio, plan: Plan, tasks: Sequence[Task], model: HostileModel) -> Fate:
    wanted = {path: content for task in tasks for path, content in task.files.items()}
    found = {path: at.text(path) if at.path(path).exists() else None for path in wanted}
    applied = Counter(
        (file.uri, file.after_sha256) for edit in plan.edits if edit.state == "applied" for file in edit.files
    )
    if any(count > 1 for (_, digest), count in applied.items() if digest is not None):
        return Fate("repeated effect")
    if model.requests > 150:
        return Fate("endless")
    if plan.status == "completed":
        return Fate("right") if found == wanted else Fate("false success", str(found))
    reason = plan.pending.recoveries[0].error if plan.pending.recoveries else plan.pause_detail or ""
    ended = {
        task.description for task in tasks if all(found[path] == task.files[path] for path in task.files)
    }
    claimed = {step.description for step in plan.steps if step.status == "completed"}
    if not reason or not claimed <= ended:
        return Fate("false success", f"{claimed} {ended} {reason}")
    return Fate("stopped", reason)


async def _planned(at: Studio, tasks: Sequence[Task]) -> Plan:
    plan = await at.ask("1. first thing\n2. second thing", mode="plan")
    edits = [
        AddStep(
            place="last",
            step_id=StepId(f"task_{number}"),
            step=StepChanges(
                description=task.description,
                instruction="Write " + ", ".join(task.files),
                kind="processing",
                expected_files=tuple(task.files),
            ),
        )
        for number, task in enumerate(tasks)
    ]
    gone = [RemoveStep(step_id=step.step_id) for step in plan.steps]
    return await at.app.plans.edit(plan.plan_id, plan.version, [*edits, *gone])


async def naive_fate(folder: Path, seed: int, chance: float) -> Fate:
    """The plan under a loop that believes its model: early answers count, printed calls do not, nothing is retried."""
    tasks = tasks_of(seed)
    model = HostileModel(tasks, seed, chance, retries=False)
    writes: Counter[str] = Counter()
    try:
        for task in tasks:
            if await _naive_task(folder, task, model, writes):
                break
    except ModelFailed as error:
        return Fate("stopped", error.message)
    wanted = {path: content for task in tasks for path, content in task.files.items()}
    found = {path: (folder / path).read_text() if (folder / path).exists() else None for path in wanted}
    if found != wanted:
        return Fate("false success")
    return Fate("repeated effect") if any(count > 1 for count in writes.values()) else Fate("right")


async def _naive_task(folder: Path, task: Task, model: HostileModel, writes: Counter[str]) -> bool:
    """Work on one task. True if the model said that everything is done."""
    results: list[str] = []
    for _ in range(25):
        prompt = f"CURRENT TASK\n{task.description}\nTOOL RESULTS\n" + "\n".join(results)
        request = ModelRequest(messages=(Message(role="user", text=prompt),))
        calls = [event.call async for event in model.stream(request) if isinstance(event, CallMade)]
        if not calls:
            return False
        for call in calls:
            if call.name == "final_answer":
                return True
            if call.name == "task_completed":
                return False
            if call.name == "write_file":
                path = str(call.arguments["path"])
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(str(call.arguments["content"]))
                writes[path] += 1
                results.append(f"Created {path}")
            else:
                results.append(f"{call.name} [FAILED]")
    return False
