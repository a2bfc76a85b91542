"""Changes the rest of a running plan as the model of one of its steps wants it: asks the user about what widens it."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from planloom.agent.plan_spec import SUBMIT_PLAN
from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import EditRefused, MoveStep, StepEdit, edit_plan
from planloom.domain.plans.plan import Plan, Step, StepResult
from planloom.domain.plans.revision import Revision, WantedStep, plan_changes, revision, widening
from planloom.domain.plans.validation import Problem
from planloom.domain.safety.approvals import Approval, PlanChange
from planloom.domain.values import WHEN_USED, ApprovalId, Args, Sha256, StepId
from planloom.execution.commands.running import CancelledByUser
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.proposals import Denied
from planloom.execution.step_rules import StepRules
from planloom.execution.step_run import StepRun
from planloom.execution.steps.checks import StepChecks
from planloom.tools.context import ToolContext
from planloom.tools.tool import shortened

_STEPS = TypeAdapter(tuple[WantedStep, ...], config=WHEN_USED)
_GO_ON = "Do the CURRENT TASK, then call task_completed."
_SAME = "The rest of the plan is as you wrote it already."
_RECORDED = "The rest of the plan is now as you wrote it."
_ALLOWED = "The user has allowed it: the rest of the plan is now as you wrote it."
_STAYS = "The plan stays as it is."
_MOVED = (
    "The user has allowed it, but other steps have gone on meanwhile. Submit the steps still to come again."
)
_KINDS = {"added": "new", "changed": "changed", "dropped": "dropped", "moved": "moved"}


class _Proposal(NamedTuple):
    """The steps of the plan as a revision leaves them, with what it changes, widens, and names as done."""

    plan: Plan
    edits: tuple[StepEdit, ...]
    steps: tuple[Step, ...]
    changes: tuple[PlanChange, ...]
    widens: tuple[str, ...]
    done: tuple[tuple[StepId, str], ...]

    @property
    def digest(self) -> Sha256:
        """The hash of everything that an approval covers."""
        rows = [[each.model_dump(mode="json") for each in self.changes], self.done]
        return Sha256(hashlib.sha256(json.dumps(rows).encode()).hexdigest())


class Work(NamedTuple):
    """The work of a step's run so far: its tools' context, and what makes its staged changes.

    `commit` returns, for the model, what was not made and why; `checks_of` has the checks of another step of the plan.
    """

    context: ToolContext
    commit: Callable[[], Awaitable[str | None]]
    checks_of: Callable[[Step], StepChecks]


class PlanRevisions:
    """Changes the steps still to come for the model of one running step."""

    def __init__(self, run: StepRun, gate: Gate, rules: StepRules, work: Work) -> None:
        self._run = run
        self._gate = gate
        self._rules = rules
        self._work = work

    async def revise(self, wanted: Args) -> str:
        """Make the rest of the plan as wanted, asking the user first if that widens it.

        Returns what became of it, for the model. Raises CancelledByUser.
        """
        return f"{await self._revise(wanted)} {_GO_ON}"

    async def _revise(self, wanted: Args) -> str:
        proposal = await self._proposal(wanted)
        if isinstance(proposal, str):
            return f"{_STAYS} {proposal}"
        if not proposal.widens:
            return self._recorded(proposal, None)
        approval = self._approval(proposal, str(wanted.get("summary") or ""))
        verdict = await self._gate.permit_revision(approval)
        if isinstance(verdict, Denied):
            if verdict.cancelled:
                raise CancelledByUser
            return f"{_STAYS} The user did not allow it: {verdict.reason}"
        now = await self._proposal(wanted)
        if isinstance(now, str) or now.digest != proposal.digest:
            return f"{_STAYS} {_MOVED}"
        return self._recorded(now, approval.approval_id)

    async def _proposal(self, wanted: Args) -> _Proposal | str:
        """The plan as the model wants it, or why it cannot be."""
        try:
            steps = _STEPS.validate_python(wanted.get("steps"))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(str(part) for part in ("steps", *first["loc"]))
            return f"{where}: {first['msg']}"
        plan = self._run.plan
        found = revision(plan.steps, steps, self._run.step_id)
        if not isinstance(found, Revision):
            return _listed(found)
        edited = edit_plan(plan.steps, found.edits, self._run.step_id)
        if isinstance(edited, EditRefused):
            return _listed(edited.problems)
        earlier = {*self._rules.errors(plan, plan.steps)}
        problems = tuple(each for each in self._rules.errors(plan, edited) if each not in earlier)
        if problems:
            return _listed(problems)
        unproven = await self._unproven(found.done)
        if unproven:
            return unproven
        after = self._with_approvals(plan, edited)
        moved = {edit.step_id for edit in found.edits if isinstance(edit, MoveStep)}
        changes = plan_changes(plan.steps, after, moved)
        widens = widening(plan.steps, after, sequential=plan.sequential)
        return _Proposal(plan, found.edits, after, changes, widens, found.done)

    def _with_approvals(self, plan: Plan, edited: Sequence[Step]) -> tuple[Step, ...]:
        """The steps, those that have changed with whether the policy asks before their tool's effect."""
        marked = self._rules.with_approvals(edited, reviewed=False)
        return tuple(
            old if old.step_id == self._run.step_id or plan.step(old.step_id) == old else new
            for old, new in zip(edited, marked, strict=True)
        )

    def _approval(self, proposal: _Proposal, summary: str) -> Approval:
        counts = Counter(_KINDS[change.kind] for change in proposal.changes)
        counted = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        why = f": {shortened(summary)}" if summary.strip() else ""
        of_own = all(change.step_id == self._run.step_id for change in proposal.changes)
        what = "what checks this step" if of_own else f"the rest of the plan ({counted})"
        return Approval(
            approval_id=ApprovalId(uuid.uuid4().hex),
            plan_id=self._run.plan_id,
            step_id=self._run.step_id,
            tool=SUBMIT_PLAN,
            proposal=proposal.digest,
            effect="write",
            title=f"Change {what}{why}",
            plan_changes=proposal.changes,
        )

    def _recorded(self, proposal: _Proposal, approval_id: ApprovalId | None) -> str:
        """Record the revision, and the steps that are done."""
        run, plan = self._run, proposal.plan
        happened: list[ev.Event] = []
        if proposal.edits:
            edited = ev.PlanEdited(
                version=plan.version + 1,
                edits=proposal.edits,
                steps=proposal.steps,
                by="model",
                step_id=run.step_id,
                approval_id=approval_id,
            )
            happened += (edited, ev.StepsList())
        time = run.plan_store.clock()
        for step_id, why in proposal.done:
            result = StepResult(ok=True, value=why, summary=shortened(why), duration_ms=0, timestamp=time)
            happened.append(ev.StepCompleted(step_id=step_id, result=result))
        if not happened:
            return _SAME
        run.record(*happened)
        if proposal.edits and not proposal.widens:
            self._gate.keep_grants(plan.plan_id, plan.version, plan.version + 1)
        return _RECORDED if approval_id is None else _ALLOWED

    async def _unproven(self, done: Sequence[tuple[StepId, str]]) -> str:
        """Why the work so far does not show that these steps are done; empty if it does."""
        if not done:
            return ""
        not_made = await self._work.commit()
        if not_made is not None:
            return not_made
        named = {step_id for step_id, _ in done}
        problems = []
        for step_id in named:
            step = self._run.plan.step(step_id)
            lacks = await self._lacks(step, named) if step is not None else ""
            if lacks:
                problems.append(f"{step_id} is not shown to be done: {lacks}")
        return " ".join(sorted(problems))

    async def _lacks(self, step: Step, done: set[StepId]) -> str:
        """The reason why a step does not count as done; empty if it does."""
        plan = self._run.plan
        if step.kind != "processing":
            return "its own call or question has to be made."
        settled = {*done, self._run.step_id}
        before = [plan.step(step_id) for step_id in step.references if step_id not in settled]
        waits = [each.step_id for each in before if each is not None and not each.frees_dependents]
        if waits:
            return f"it waits for {', '.join(waits)}."
        paths = (*step.expected_files, *_checked_files(step))
        if not paths and not step.checks:
            return "it names no file and has no check. Drop it instead, or leave it to its turn."
        made = {
            uri
            for each in plan.steps
            for call in each.tools_executed
            for uri, fate in call.files.items()
            if fate == "made"
        }
        for path in dict.fromkeys(paths):
            resolved = await self._work.context.resolve(path, "read")
            if resolved.kind == "refused" or resolved.uri not in made:
                return f"no call of this plan has changed {path}."
        checks = self._work.checks_of(step)
        failed = [*await checks.staged(), *await checks.made()]
        if failed:
            return " ".join(failed)
        now = self._run.plan.step(step.step_id) or step
        unknown = [check.detail or check.kind for check in now.checks if check.outcome != "passed"]
        return f"a check is open: {' '.join(unknown)}" if unknown else ""


def _checked_files(step: Step) -> tuple[str, ...]:
    return tuple(check.path for check in step.checks if check.path and check.kind.startswith("file_"))


def _listed(problems: Sequence[Problem]) -> str:
    return " ".join(f"{each.step_id or each.field}: {each.problem}" for each in problems)
