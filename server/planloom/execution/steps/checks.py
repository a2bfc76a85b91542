"""Runs the checks of a step: files exist or contain a text, no new errors, a command succeeds.

New errors are found before the step's changes are made where a language server judges such files, else in the
editor's diagnostics after that.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from planloom.domain.changes import Changeset
from planloom.domain.events import catalog as ev
from planloom.domain.expressions import Malformed, Unanswerable, holds, read
from planloom.domain.plans.plan import SETTLED, Check, Step
from planloom.domain.problems import Judged
from planloom.domain.values import Args, Uri
from planloom.execution.commands.running import CallDenied
from planloom.execution.judging import JUDGE_SECONDS, left_files, still_there
from planloom.execution.nodes.conditions import facts
from planloom.execution.step_run import StepRun
from planloom.execution.steps.call_records import recorded_call
from planloom.execution.steps.step_judging import StepJudging, lines
from planloom.tools.context import ToolContext
from planloom.tools.registry import Registry, not_carried_out
from planloom.tools.tool import Tool, ToolResult, refused
from planloom.workspace.editor import FileDiagnostics

DIAGNOSTICS_SECONDS = 5.0
"""How long a check waits for the editor's diagnostics of a new text, before its outcome is `unknown`."""
_POLLS = 12
_LISTED = 5
CheckOutcome = Literal["passed", "failed", "unknown"]
_AFTER = ("no_new_errors", "command")
"""Checks that run after the step's changes are committed, the first only if nobody judges what is staged."""


class _Error(NamedTuple):
    """An error without its position, which changes when text is inserted above it."""

    uri: Uri
    message: str
    source: str | None
    code: str | None


class _FileErrors(NamedTuple):
    """The errors of a file, and the version of the text that they are for; None if the editor names none."""

    version: int | None
    errors: Counter[_Error]


class _Answer(NamedTuple):
    """The outcome of a check; `output` is more of it for whoever mends the cause."""

    outcome: CheckOutcome
    detail: str | None = None
    output: str = ""
    judged: Judged | None = None


class StepChecks:
    """The checks of one run of a step. `before` must be called with all changes before they are made.

    With `of` they are those of another step, whose work the run may have done too.
    """

    def __init__(
        self,
        run: StepRun,
        context: ToolContext,
        tools: Registry,
        seconds: float = DIAGNOSTICS_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        of: Step | None = None,
    ) -> None:
        self._run = run
        self._of = of
        self._context = context
        self._tools = tools
        self._seconds = seconds
        self._sleep = sleep
        self.judging = StepJudging(run, context)
        self._judged = False
        self._is_edited = False
        self._errors_before: dict[Uri, _FileErrors] = {}
        self._versions: dict[Uri, int | None] = {}

    @property
    def _step(self) -> Step:
        """The step with the checks that it has now: its model may have changed them."""
        return self._of or self._run.now

    async def before(self, changes: Changeset) -> None:
        """Record the texts and the errors of the files that are about to change."""
        self.judging.committing(changes)
        if not any(check.kind == "no_new_errors" for check in self._step.checks):
            return
        fresh = tuple(uri for uri in left_files(changes) if uri not in self._versions)
        self._versions.update((uri, self._version(uri)) for uri in fresh)
        self._errors_before.update(await self._errors(fresh) or {})

    async def staged(self) -> tuple[str, ...]:
        """Run the checks that see staged changes. Returns a sentence for each that fails."""
        self._judged = self._of is None and await self.judging.is_judged()
        return await self._checked(check for check in self._step.checks if not self._is_after(check))

    async def made(self) -> tuple[str, ...]:
        """Run the other checks, after the step's changes were made. Returns a sentence for each that fails."""
        return await self._checked(check for check in self._step.checks if self._is_after(check))

    async def new_errors(self, seconds: float = JUDGE_SECONDS) -> str:
        """The errors that a step without checks of its own brings, a line each; empty if none is known.

        The last step of a plan has those that earlier ones have left, too. What is judged is recorded, and so is what
        the step has mended of earlier ones.
        """
        if self._of is not None or self._step.checks or self._is_edited:
            return ""
        found = await self.judging.now(seconds)
        if found is None:
            return ""
        self._keep(self._step, found)
        errors = lines([each for each in found.problems if each.severity == "error"], found, self._run.shown)
        steps = self._run.plan.steps
        is_last = all(step.status in SETTLED or step.step_id == self._step.step_id for step in steps)
        for step in steps:
            if step.step_id != self._step.step_id and step.judged is not None and step.judged.errors:
                left = await self._look_again(step, step.judged)
                errors += lines(left.problems, left, self._run.shown) if is_last and left.errors else []
        return "\n".join(errors)

    def changed_by_user(self) -> None:
        """Record that the judgement is not one of the text that was made. What the user writes is not judged."""
        self._is_edited = True
        found = self._step.judged
        if found is not None:
            self._keep(self._step, Judged(by=found.by, unknown="You have changed what was judged."))

    async def _look_again(self, step: Step, judged: Judged) -> Judged:
        """Record which of the problems that an earlier step has brought are still there."""
        left = await still_there(self._context.language, judged.problems, self._context.files.texts())
        if left is None:
            return judged
        now = judged.model_copy(
            update={"problems": left, "total": judged.total - (len(judged.problems) - len(left))}
        )
        self._keep(step, now)
        return now

    def _keep(self, step: Step, found: Judged) -> None:
        if found == step.judged:
            return
        outcome: CheckOutcome = "failed" if found.errors else "passed" if found.unknown is None else "unknown"
        check = Check(kind="no_new_errors", outcome=outcome, detail=found.unknown or found.headline)
        self._run.record(ev.CheckCompleted(step_id=step.step_id, check=check, judged=found, implied=True))

    def _is_after(self, check: Check) -> bool:
        return check.kind in _AFTER and not (check.kind == "no_new_errors" and self._judged)

    async def exists(self, path: str) -> bool:
        """Whether a file or folder exists, staged or not."""
        resolved = await self._context.resolve(path, "read")
        return resolved.kind != "refused" and (await self._context.files.peek(resolved.uri)).exists

    async def _checked(self, checks: Iterable[Check]) -> tuple[str, ...]:
        missing: list[str] = []
        for check in checks:
            answer = await self._answer(check)
            done = check.model_copy(update={"outcome": answer.outcome, "detail": answer.detail})
            completed = ev.CheckCompleted(step_id=self._step.step_id, check=done, judged=answer.judged)
            self._run.record(completed)
            if answer.outcome == "failed":
                sentence = answer.detail or f"The check {check.kind} does not hold."
                missing.append(f"{sentence}\n{answer.output}" if answer.output else sentence)
        return tuple(missing)

    async def _answer(self, check: Check) -> _Answer:
        match check.kind:
            case "file_exists":
                if check.path is None:
                    return _Answer("unknown", "The check names no file.")
                exists = await self.exists(check.path)
                return _Answer("passed") if exists else _Answer("failed", f"{check.path} does not exist yet.")
            case "file_contains":
                return await self._contains(check)
            case "no_new_errors":
                return await self._no_new_errors(check)
            case "condition":
                return await self._condition(check)
            case "command":
                return await self._command(check)

    async def _contains(self, check: Check) -> _Answer:
        if check.path is None or check.text is None:
            return _Answer("unknown", "The check names no file, or no text.")
        resolved = await self._context.resolve(check.path, "read")
        if resolved.kind == "refused":
            return _Answer("failed", resolved.reason)
        if resolved.secret:
            return _Answer("unknown", f"{check.path} may hold secrets, so what it contains is not checked.")
        file = await self._context.files.peek(resolved.uri)
        if not file.exists:
            return _Answer("failed", f"{check.path} does not exist yet.")
        if file.text is None:
            return _Answer("unknown", f"{check.path} cannot be read as text.")
        if check.text in file.text or check.text.replace("\n", "\r\n") in file.text:
            return _Answer("passed")
        return _Answer("failed", f"{check.path} does not contain the text that it should: {check.text[:200]}")

    async def _condition(self, check: Check) -> _Answer:
        try:
            expression = read(check.text or "")
            held = holds(expression, await facts(self._run.plan, expression, self._context, self._tools))
        except (Malformed, Unanswerable) as error:
            return _Answer("failed", f"The condition cannot be evaluated: {error}")
        return _Answer("passed") if held else _Answer("failed", f"This does not hold: {check.text}")

    async def _command(self, check: Check) -> _Answer:
        tool = self._tools.get("run_command")
        if tool is None or not check.command or self._context.commands is None:
            return _Answer("unknown", "No command can be run here.")
        args: Args = {"command": check.command}
        async with recorded_call(self._run, tool, args) as call:
            result = await _ran(tool, args, self._context)
            call.result = result
        await self._context.commands.settle()
        if result.ok:
            return _Answer("passed", result.summary)
        if result.refused:
            return _Answer("unknown", result.summary)
        output = result.text.partition("\n")[2] if result.ended else ""
        return _Answer("failed", f"The check {result.summary}", output)

    async def _no_new_errors(self, check: Check) -> _Answer:
        """Whether the step has caused new errors; `unknown` if the diagnostics may be stale."""
        if self._judged:
            return await self._judged_new_errors(check)
        uris = await self._files_of(check)
        changed = tuple(uri for uri in uris if uri in self._versions)
        if not changed:
            return await self._no_errors_left(check, self._changed_before(uris))
        if self._context.diagnostics is None:
            return _Answer("unknown", "The editor provides no diagnostics.")
        not_in_editor = [uri for uri in changed if self._has_old_version(uri)]
        if not_in_editor:
            return _Answer("unknown", f"{self._shown(not_in_editor)}: the change is not in the editor yet.")
        waiting = set(changed)
        new: Counter[_Error] = Counter()
        last: dict[Uri, _FileErrors] = {}
        for wait in _waits(self._seconds):
            current = await self._errors(tuple(waiting))
            if current is None:
                break
            for uri, now in current.items():
                if self._is_fresh(uri, now, last.get(uri)):
                    waiting.discard(uri)
                    before = self._errors_before.get(uri)
                    new += now.errors - (before.errors if before is not None else Counter())
            last = current
            if not waiting:
                break
            await self._sleep(wait)
        if new:
            messages = [f"{self._run.shown(each.uri)}: {each.message}" for each in list(new)[:_LISTED]]
            return _Answer("failed", f"New errors ({new.total()}): " + "; ".join(messages))
        if waiting:
            return _Answer(
                "unknown", f"No diagnostics came for the new text of {self._shown(sorted(waiting))}."
            )
        return _Answer("passed")

    async def _judged_new_errors(self, check: Check) -> _Answer:
        found = await self.judging.now()
        if found is None:
            return _Answer("unknown", "Nobody has judged the changes.")
        file = await self._context.resolve(check.path, "read") if check.path is not None else None
        uri = file.uri if file is not None and file.kind != "refused" else None
        errors = [
            each for each in found.problems if each.severity == "error" and (uri is None or each.uri == uri)
        ]
        if errors:
            listed = "\n".join(lines(errors, found, self._run.shown))
            return _Answer("failed", f"New errors ({len(errors)})", listed, judged=found)
        if found.unknown is not None:
            return _Answer("unknown", found.unknown, judged=found)
        return _Answer("passed", judged=found)

    def _changed_before(self, uris: Sequence[Uri]) -> tuple[Uri, ...]:
        """Those of the files that an earlier run of the step has changed; all changed files if `uris` is empty."""
        plan = self._run.plan_store.load(self._run.plan_id)
        edits = plan.edits if plan is not None else ()
        files = (
            file.new_uri or file.uri
            for edit in edits
            if (self._of is not None or edit.step_id == self._step.step_id) and edit.state == "applied"
            for file in edit.files
            if file.change in ("edit", "create", "rename")
        )
        return tuple(uri for uri in dict.fromkeys(files) if not uris or uri in uris)

    async def _no_errors_left(self, check: Check, uris: Sequence[Uri]) -> _Answer:
        """Errors that existed before an earlier run are unknown, so pass only if the files have no errors at all."""
        if not uris:
            return _Answer("passed", "The step changed none of the files.")
        current = await self._errors(uris) or {}
        if all(
            uri in current and self._is_up_to_date(uri, current[uri]) and not current[uri].errors
            for uri in uris
        ):
            return _Answer("passed")
        if check.outcome == "failed":
            return _Answer("failed", check.detail)
        return _Answer("unknown", f"The errors of {self._shown(uris)} before the change are no longer known.")

    def _shown(self, uris: Iterable[Uri]) -> str:
        return ", ".join(map(self._run.shown, uris))

    def _is_fresh(self, uri: Uri, now: _FileErrors, last: _FileErrors | None) -> bool:
        """Whether errors are for the current text.

        Errors without a version count as fresh if they differ from those before the change and are the same in
        two polls; unchanged ones may be stale.
        """
        if now.version is not None:
            return self._is_up_to_date(uri, now)
        before = self._errors_before.get(uri)
        return before is not None and now.errors != before.errors and last == now

    def _is_up_to_date(self, uri: Uri, errors: _FileErrors) -> bool:
        version = self._version(uri)
        return errors.version is None or (version is not None and errors.version >= version)

    def _has_old_version(self, uri: Uri) -> bool:
        before, now = self._versions.get(uri), self._version(uri)
        return before is not None and now == before

    def _version(self, uri: Uri) -> int | None:
        document = self._run.session.view.documents.get(uri)
        return document.version if document is not None else None

    async def _files_of(self, check: Check) -> tuple[Uri, ...]:
        if check.path is None:
            return tuple(self._versions)
        resolved = await self._context.resolve(check.path, "read")
        return () if resolved.kind == "refused" else (resolved.uri,)

    async def _errors(self, uris: Sequence[Uri]) -> dict[Uri, _FileErrors] | None:
        """The errors of each file; None if the editor provides no diagnostics."""
        if self._context.diagnostics is None or not uris:
            return None
        answer = await self._context.diagnostics(tuple(uris))
        if answer is None:
            return None
        return {file.uri: _FileErrors(file.version, _errors_in(file)) for file in answer if file.uri in uris}


def _waits(seconds: float) -> list[float]:
    """Waits that double from a short one, `seconds` in total."""
    shares = [2.0**number for number in range(_POLLS)]
    return [seconds * share / sum(shares) for share in shares]


def _errors_in(file: FileDiagnostics) -> Counter[_Error]:
    return Counter(
        _Error(file.uri, item.message, item.source, item.code)
        for item in file.items
        if item.severity == "error"
    )


async def _ran(tool: Tool, args: Args, context: ToolContext) -> ToolResult:
    try:
        return await tool.run(tool.arguments.model_validate(args), context)
    except CallDenied as denied:
        return refused(f"{denied.consequence}: {denied.reason}")
    except OSError as error:
        return not_carried_out(tool, error)
