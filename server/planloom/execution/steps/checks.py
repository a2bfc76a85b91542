"""Proves a step by facts: files that are there, findings of the editor that are not new, commands that succeed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from planloom.domain.changes import Changeset
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Check, Step
from planloom.domain.values import Args, PlanId, Uri
from planloom.execution.plan_store import PlanStore
from planloom.execution.steps.call_records import recorded_call
from planloom.execution.steps.commands import CommandDenied
from planloom.tools.context import ToolContext
from planloom.tools.registry import Registry
from planloom.tools.tool import Tool, ToolResult, failed, refused
from planloom.workspace.documents import DocumentStore
from planloom.workspace.editor import FileDiagnostics
from planloom.workspace.paths.uris import display_name

DIAGNOSTICS_SECONDS = 5.0
"""How long findings for a new text are waited for; without them a check is unknown."""
_POLLS = 12
_LISTED = 5
Outcome = Literal["passed", "failed", "unknown"]
_AFTER = ("no_new_errors", "command")
"""Checks that need the step's changes to be made; the others see what is staged."""


class _Finding(NamedTuple):
    """An error without its place: lines move when text is put before them."""

    uri: Uri
    message: str
    source: str | None
    code: str | None


class _Told(NamedTuple):
    """The errors of a file, and for which version of its text."""

    version: int | None
    errors: Counter[_Finding]


class _Answer(NamedTuple):
    outcome: Outcome
    detail: str | None = None


class StepChecks:
    """The checks of one run of a step. `before` is told of every change before it is made."""

    def __init__(
        self,
        plan_store: PlanStore,
        plan_id: PlanId,
        step: Step,
        context: ToolContext,
        tools: Registry,
        documents: DocumentStore,
        seconds: float = DIAGNOSTICS_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._plan_store = plan_store
        self._plan_id = plan_id
        self._step = step
        self._context = context
        self._tools = tools
        self._documents = documents
        self._seconds = seconds
        self._sleep = sleep
        self._known: dict[Uri, _Told] = {}
        self._versions: dict[Uri, int | None] = {}

    async def before(self, changes: Changeset) -> None:
        """Note what the editor says of the files that are about to change."""
        if not any(check.kind == "no_new_errors" for check in self._step.checks):
            return
        fresh = tuple(uri for uri in _files(changes) if uri not in self._versions)
        self._versions.update((uri, self._version(uri)) for uri in fresh)
        for uri, told in (await self._told(fresh) or {}).items():
            self._known[uri] = told

    async def staged(self) -> tuple[str, ...]:
        """What is missing of the checks that need no change to be made; a sentence each."""
        return await self._run(check for check in self._step.checks if check.kind not in _AFTER)

    async def made(self) -> tuple[str, ...]:
        """What is missing of the other checks, once the step's changes are made."""
        return await self._run(check for check in self._step.checks if check.kind in _AFTER)

    async def exists(self, path: str) -> bool:
        """Whether a file or folder is there, staged or not."""
        place = await self._context.resolve(path, "read")
        return place.kind != "refused" and (await self._context.files.peek(place.uri)).exists

    async def _run(self, checks: Iterable[Check]) -> tuple[str, ...]:
        missing: list[str] = []
        for check in checks:
            answer = await self._look(check)
            done = check.model_copy(update={"outcome": answer.outcome, "detail": answer.detail})
            self._plan_store.record(self._plan_id, ev.CheckCompleted(task_id=self._step.step_id, check=done))
            if answer.outcome == "failed":
                missing.append(answer.detail or f"The check {check.kind} does not hold.")
        return tuple(missing)

    async def _look(self, check: Check) -> _Answer:
        match check.kind:
            case "file_exists":
                if check.path is None:
                    return _Answer("unknown", "The check names no file.")
                there = await self.exists(check.path)
                return _Answer("passed") if there else _Answer("failed", f"{check.path} does not exist yet.")
            case "file_contains":
                return await self._contains(check)
            case "no_new_errors":
                return await self._no_new_errors(check)
            case "command":
                return await self._command(check)

    async def _contains(self, check: Check) -> _Answer:
        if check.path is None or check.text is None:
            return _Answer("unknown", "The check names no file, or no text.")
        place = await self._context.resolve(check.path, "read")
        if place.kind == "refused":
            return _Answer("failed", place.reason)
        seen = await self._context.files.peek(place.uri)
        if not seen.exists:
            return _Answer("failed", f"{check.path} does not exist yet.")
        if seen.text is None:
            return _Answer("unknown", f"{check.path} cannot be read as text.")
        if check.text in seen.text or check.text.replace("\n", "\r\n") in seen.text:
            return _Answer("passed")
        return _Answer("failed", f"{check.path} does not contain the text that it should: {check.text[:200]}")

    async def _command(self, check: Check) -> _Answer:
        tool = self._tools.get("run_command")
        if tool is None or not check.command or self._context.commands is None:
            return _Answer("unknown", "No command can be run here.")
        args: Args = {"command": check.command}
        async with recorded_call(self._plan_store, self._plan_id, self._step.step_id, tool, args) as call:
            result = await _ran(tool, args, self._context)
            call.came_to(result)
        if result.ok:
            return _Answer("passed", result.summary)
        if result.refused:
            return _Answer("unknown", result.summary)
        return _Answer("failed", f"The check {result.summary}")

    async def _no_new_errors(self, check: Check) -> _Answer:
        """The errors after the step that were not there before; unknown rather than stale."""
        uris = await self._files_of(check)
        changed = tuple(uri for uri in uris if uri in self._versions)
        if not changed:
            return await self._no_errors_left(check, self._changed_before(uris))
        if self._context.diagnostics is None:
            return _Answer("unknown", "The editor does not tell its findings.")
        unmoved = [uri for uri in changed if self._unmoved(uri)]
        if unmoved:
            return _Answer("unknown", f"{_names(unmoved)}: the change is not in the editor yet.")
        waiting = set(changed)
        new: Counter[_Finding] = Counter()
        last: dict[Uri, _Told] = {}
        for wait in _waits(self._seconds):
            told = await self._told(tuple(waiting))
            if told is None:
                break
            for uri, now in told.items():
                if self._fresh(uri, now, last.get(uri)):
                    waiting.discard(uri)
                    before = self._known.get(uri)
                    new += now.errors - (before.errors if before is not None else Counter())
            last = told
            if not waiting:
                break
            await self._sleep(wait)
        if new:
            told_errors = [f"{_names([each.uri])}: {each.message}" for each in list(new)[:_LISTED]]
            return _Answer("failed", f"New errors ({new.total()}): " + "; ".join(told_errors))
        if waiting:
            return _Answer("unknown", f"No findings came for the new text of {_names(sorted(waiting))}.")
        return _Answer("passed")

    def _changed_before(self, uris: Sequence[Uri]) -> tuple[Uri, ...]:
        """Which of the files, all if none is named, an earlier run of the step has changed."""
        plan = self._plan_store.load(self._plan_id)
        edits = plan.edits if plan is not None else ()
        files = (
            file.new_uri or file.uri
            for edit in edits
            if edit.step_id == self._step.step_id and edit.state == "applied"
            for file in edit.files
            if file.change in ("edit", "create", "rename")
        )
        return tuple(uri for uri in dict.fromkeys(files) if not uris or uri in uris)

    async def _no_errors_left(self, check: Check, uris: Sequence[Uri]) -> _Answer:
        """What was there before an earlier run is not known any more; that there is no error at all can be."""
        if not uris:
            return _Answer("passed", "The step changed none of the files.")
        told = await self._told(uris) or {}
        if all(uri in told and self._up_to_date(uri, told[uri]) and not told[uri].errors for uri in uris):
            return _Answer("passed")
        if check.outcome == "failed":
            return _Answer("failed", check.detail)
        return _Answer(
            "unknown", f"What was wrong with {_names(uris)} before the change is not known any more."
        )

    def _fresh(self, uri: Uri, now: _Told, last: _Told | None) -> bool:
        """Whether findings are about the text that is there now.

        An editor that names no version is believed once its findings are others than before the change and
        stay so for two looks: those that are as before may be from before.
        """
        if now.version is not None:
            return self._up_to_date(uri, now)
        before = self._known.get(uri)
        return before is not None and now.errors != before.errors and last == now

    def _up_to_date(self, uri: Uri, told: _Told) -> bool:
        version = self._version(uri)
        return told.version is None or (version is not None and told.version >= version)

    def _unmoved(self, uri: Uri) -> bool:
        before, now = self._versions.get(uri), self._version(uri)
        return before is not None and now == before

    def _version(self, uri: Uri) -> int | None:
        document = self._documents.get(uri)
        return document.version if document is not None else None

    async def _files_of(self, check: Check) -> tuple[Uri, ...]:
        if check.path is None:
            return tuple(self._versions)
        place = await self._context.resolve(check.path, "read")
        return () if place.kind == "refused" else (place.uri,)

    async def _told(self, uris: Sequence[Uri]) -> dict[Uri, _Told] | None:
        """The errors of each file; None where the editor says nothing at all."""
        if self._context.diagnostics is None or not uris:
            return None
        answer = await self._context.diagnostics(tuple(uris))
        if answer is None:
            return None
        return {file.uri: _Told(file.version, _errors(file)) for file in answer if file.uri in uris}


def _waits(seconds: float) -> list[float]:
    """Waits that begin short and double, `seconds` together."""
    shares = [2.0**number for number in range(_POLLS)]
    return [seconds * share / sum(shares) for share in shares]


def _files(changes: Changeset) -> tuple[Uri, ...]:
    found: dict[Uri, None] = {}
    for change in changes.changes:
        match change.kind:
            case "create" | "edit":
                found[change.uri] = None
            case "rename":
                found[change.new_uri] = None
            case _:
                continue
    return tuple(found)


def _errors(file: FileDiagnostics) -> Counter[_Finding]:
    return Counter(
        _Finding(file.uri, item.message, item.source, item.code)
        for item in file.items
        if item.severity == "error"
    )


def _names(uris: Iterable[Uri]) -> str:
    return ", ".join(display_name(uri) for uri in uris)


async def _ran(tool: Tool, args: Args, context: ToolContext) -> ToolResult:
    try:
        return await tool.run(tool.arguments.model_validate(args), context)
    except CommandDenied as denied:
        return refused(f"The command was not run: {denied.reason}")
    except OSError as error:
        return failed(f"{tool.name} could not be carried out: {error.strerror or error}.")
