"""The commands for clients without an extension: each starts its action and returns at once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any

from planloom.domain.errors import InvalidParams, PlanloomError
from planloom.domain.plans.plan import Plan, PlanStatus, PlanSummary
from planloom.domain.values import ApprovalId, Json, PlanId, StepId
from planloom.lsp.handlers.status import status
from planloom.lsp.methods import COMMANDS
from planloom.lsp.routing import parsed_params
from planloom.lsp.wire.params import CommandParams, NoParams
from planloom.service.requests import CreateRequest

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection

SOON_SECONDS = 1.0
"""What is over by then is answered; what is not goes on, and tells its failure by a message."""

_OPEN: frozenset[PlanStatus] = frozenset({"draft", "pending_approval", "approved", "executing", "paused"})
_ACTS_ON: dict[str, frozenset[PlanStatus]] = {
    "direct": frozenset({"draft", "pending_approval"}),
    "reject": frozenset({"pending_approval"}),
    "cancel": _OPEN,
    "pause": frozenset({"approved", "executing"}),
    "resume": frozenset({"paused"}),
    "undo": frozenset({"paused", "completed", "failed", "cancelled"}),
    "regenerate": frozenset({"pending_approval", "paused", "rejected", "failed", "cancelled"}),
    "showPlan": _OPEN | {"rejected", "completed", "failed", "cancelled"},
}
"""On which plans a command can act that names none."""

_numbers = itertools.count(1)


async def execute(connection: Connection, given: Any) -> Any:
    """`workspace/executeCommand`. Raises InvalidParams for an unknown command or arguments that do not fit."""
    params = parsed_params("CommandParams", "workspace/executeCommand", given)
    assert isinstance(params, CommandParams)
    act = _ACTIONS.get(params.command)
    if act is None or params.command not in COMMANDS:
        raise _off("command", f"there is no command {params.command!r}")
    work = act(connection, Arguments(params.command, tuple(params.arguments or ())))
    job = connection.jobs.start(f"command:{next(_numbers)}", _outcome(work))
    done, _ = await asyncio.wait({job}, timeout=SOON_SECONDS)
    if not done:
        job.add_done_callback(lambda ended: _tell(connection, ended))
        return None
    result, failure = job.result()
    if failure is not None:
        raise failure
    return result


async def _outcome(work: Awaitable[Any]) -> tuple[Any, PlanloomError | None]:
    """What came of it, an expected failure as a value: nobody may be waiting for it any more."""
    try:
        return await work, None
    except PlanloomError as error:
        return None, error


def _tell(connection: Connection, ended: asyncio.Task[tuple[Any, PlanloomError | None]]) -> None:
    if ended.cancelled() or ended.exception() is not None:
        return
    _, failure = ended.result()
    if failure is not None:
        connection.show("error", f"Planloom: {failure.message}")


class Arguments:
    """The arguments of one command by place; each access says what it needs, and what is off names its place."""

    def __init__(self, command: str, values: tuple[Any, ...]) -> None:
        self.command = command
        self._values = values

    def text(self, place: int, name: str) -> str:
        """A text that must be there."""
        given = self.optional(place, name)
        if given is None:
            raise _off(f"arguments[{place}]", f"{self.command} needs {name}")
        return given

    def optional(self, place: int, name: str) -> str | None:
        """A text that may be left out."""
        given = self._values[place] if place < len(self._values) else None
        if given is not None and not isinstance(given, str):
            raise _off(f"arguments[{place}]", f"{name} is a text")
        return given

    def number(self, place: int, name: str) -> int:
        """A number that must be there."""
        given = self._values[place] if place < len(self._values) else None
        if type(given) is not int:
            raise _off(f"arguments[{place}]", f"{self.command} needs {name}, a number")
        return given

    def one_of(self, place: int, name: str, known: Collection[str]) -> Any:
        """One of some words."""
        given = self.text(place, name)
        if given not in known:
            raise _off(f"arguments[{place}]", f"{name} is one of {', '.join(known)}")
        return given


def _off(field: str, problem: str) -> InvalidParams:
    return InvalidParams(
        f"{problem[:1].upper()}{problem[1:]}.", details=[{"field": field, "problem": problem}]
    )


def _chosen(connection: Connection, args: Arguments, place: int = 0) -> PlanId:
    """The plan that is named, or the only one that the command can act on."""
    named = args.optional(place, "planId")
    if named is not None:
        return PlanId(named)
    action = args.command.removeprefix("planloom.")
    plans: tuple[PlanSummary, ...] = connection.app.plans.list(
        None, tuple(sorted(_ACTS_ON[action])), None, False
    )
    if len(plans) == 1:
        return plans[0].plan_id
    problem = f"several plans fit {args.command}" if plans else f"no plan fits {args.command}"
    details: list[Json] = [{"field": f"arguments[{place}]", "problem": problem}]
    details += [{"field": "planId", "problem": f"{plan.plan_id}: {plan.request[:80]}"} for plan in plans]
    raise InvalidParams(f"{problem[:1].upper()}{problem[1:]}: name one.", details=details)


def _told(plan: Plan) -> dict[str, Any]:
    return {"planId": plan.plan_id, "status": plan.status, "version": plan.version}


async def _plan(connection: Connection, args: Arguments) -> Any:
    created = await connection.app.plans.create(CreateRequest(text=args.text(0, "text")))
    return _told(created.plan)


async def _approve(connection: Connection, args: Arguments) -> Any:
    plan_id, version = PlanId(args.text(0, "planId")), args.number(1, "version")
    return _told(await connection.app.plans.approve(plan_id, version, None))


async def _direct(connection: Connection, args: Arguments) -> Any:
    return _told(await connection.app.plans.direct(_chosen(connection, args)))


async def _respond(connection: Connection, args: Arguments) -> Any:
    approval_id = ApprovalId(args.text(0, "approvalId"))
    decision = args.one_of(1, "decision", ("allow", "allowForPlan", "deny", "cancel"))
    await connection.app.approvals.respond(approval_id, decision, args.optional(2, "reason"), None)
    return None


async def _recover(connection: Connection, args: Arguments) -> Any:
    action = args.one_of(2, "action", ("retry", "skip", "abort", "model", "accept"))
    return await _recovered(connection, args, action)


async def _recovered(connection: Connection, args: Arguments, action: Any) -> Any:
    plan_id, step_id = PlanId(args.text(0, "planId")), StepId(args.text(1, "stepId"))
    return _told(await connection.app.steps.recover(plan_id, step_id, action, None))


async def _skip(connection: Connection, args: Arguments) -> Any:
    return await _recovered(connection, args, "skip")


async def _retry(connection: Connection, args: Arguments) -> Any:
    return await _recovered(connection, args, "retry")


async def _reject(connection: Connection, args: Arguments) -> Any:
    return _told(await connection.app.plans.reject(_chosen(connection, args), args.optional(1, "reason")))


async def _cancel(connection: Connection, args: Arguments) -> Any:
    return _told(await connection.app.plans.cancel(_chosen(connection, args)))


async def _pause(connection: Connection, args: Arguments) -> Any:
    return _told(await connection.app.plans.pause(_chosen(connection, args)))


async def _resume(connection: Connection, args: Arguments) -> Any:
    return _told(await connection.app.plans.resume(_chosen(connection, args)))


async def _undo(connection: Connection, args: Arguments) -> Any:
    step_id = args.optional(1, "stepId")
    undone = await connection.app.plans.undo(
        _chosen(connection, args), None if step_id is None else StepId(step_id), False
    )
    return _told(undone.plan)


async def _answer(connection: Connection, args: Arguments) -> Any:
    plan_id, step_id = PlanId(args.text(0, "planId")), StepId(args.text(1, "stepId"))
    return _told(await connection.app.steps.answer(plan_id, step_id, args.text(2, "answer")))


async def _regenerate(connection: Connection, args: Arguments) -> Any:
    plan_id = _chosen(connection, args)
    plan = connection.app.plans.get(plan_id, None)
    version = 0 if plan is None else plan.version
    return _told(await connection.app.plans.regenerate(plan_id, version, args.optional(1, "feedback")))


async def _show_plan(connection: Connection, args: Arguments) -> Any:
    plan_id = _chosen(connection, args)
    return {"planId": plan_id, "text": connection.app.plans.markdown(plan_id)}


async def _status(connection: Connection, args: Arguments) -> Any:  # noqa: ARG001
    return await status(connection, NoParams())


_ACTIONS: dict[str, Callable[[Any, Arguments], Awaitable[Any]]] = {
    "planloom.plan": _plan,
    "planloom.approve": _approve,
    "planloom.direct": _direct,
    "planloom.respond": _respond,
    "planloom.recover": _recover,
    "planloom.reject": _reject,
    "planloom.cancel": _cancel,
    "planloom.pause": _pause,
    "planloom.resume": _resume,
    "planloom.undo": _undo,
    "planloom.skipStep": _skip,
    "planloom.retryStep": _retry,
    "planloom.answer": _answer,
    "planloom.regenerate": _regenerate,
    "planloom.showPlan": _show_plan,
    "planloom.status": _status,
}
