"""The commands of `workspace/executeCommand`, for clients without an extension: `COMMANDS` has one row for each."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from planloom.domain.document.answers import answers_in, quoted
from planloom.domain.document.feedback import as_request, feedback_in, taken
from planloom.domain.document.reader import read_document
from planloom.domain.errors import InvalidParams, PlanloomError
from planloom.domain.events.catalog import ConflictChoice
from planloom.domain.plans.editing import SkipStep, StepEdit, UnskipStep
from planloom.domain.plans.plan import Plan, RecoveryAction
from planloom.domain.safety.approvals import UserDecision
from planloom.domain.values import Json, PlanId
from planloom.lsp.editor.capabilities import can_serve
from planloom.lsp.editor.change_lenses import KEEP, UNDO
from planloom.lsp.editor.served_texts import plan_address, show_changes, shown_changes
from planloom.lsp.editor.side_files import place_of
from planloom.lsp.handlers.server import status
from planloom.lsp.handlers.templates import list_templates
from planloom.lsp.routing import parsed_params
from planloom.lsp.wire.base import NoParams
from planloom.lsp.wire.methods.server import CommandParams, StatusParams
from planloom.service.requests import CreateRequest, CreateResult, UndoResult
from planloom.service.running.states import ALLOWED, Action
from planloom.view.actions import ConflictSide, Kept
from planloom.view.pressing import ACTIONS

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection

SOON_SECONDS = 1.0
"""A command that ends within this time answers with its result or failure; a longer one goes on after the answer
(null), and only its failure is shown, as a message."""

Arguments = dict[str, Any]
"""The arguments of one command by name; one that was left out is None."""


class Command(NamedTuple):
    """One command: its name, its arguments in their order, and the function that runs it.

    `?` marks an argument that may be left out. A `planId` that is left out means the only plan in a status that allows
    `action`, or in any status without `action`.
    """

    name: str
    arguments: str
    run: Callable[[Connection, Arguments], Awaitable[Any]]
    action: Action | None = None

    def names(self) -> list[str]:
        """The names of the arguments, with their `?`."""
        return self.arguments.split(", ") if self.arguments else []


async def _regenerate(connection: Connection, args: Arguments) -> Any:
    """Have the plan drafted again, with the feedback that is written in its document if none is given."""
    plan = connection.app.plans.get(args["planId"], None)
    version = 0 if plan is None else plan.version
    if plan is None or args["feedback"] is not None:
        return await connection.app.plans.regenerate(args["planId"], version, args["feedback"])
    text = await connection.plan_documents.text(plan.plan_id)
    feedback = None if text is None else as_request(plan, feedback_in(read_document(text)))
    begun = await connection.app.plans.regenerate(plan.plan_id, version, feedback)
    if feedback is not None:
        await connection.plan_documents.rewrite(plan.plan_id, taken)
    return begun


async def _answer(connection: Connection, args: Arguments) -> Any:
    """Answer a step; an answer that is written in the plan's document is a quotation then."""
    documents = connection.plan_documents
    text = await documents.text(args["planId"])
    answered = await connection.app.steps.answer(args["planId"], args["stepId"], args["answer"])
    if text is not None and answers_in(read_document(text)).get(args["stepId"]) == args["answer"]:
        await documents.rewrite(args["planId"], partial(quoted, step_id=args["stepId"]))
    return answered


async def _skip_step(connection: Connection, args: Arguments) -> Any:
    """Skip a step that has failed, or one of a plan under review by an edit."""
    plan = connection.app.plans.get(args["planId"], None)
    asked = {recovery.step_id for recovery in plan.pending.recoveries} if plan is not None else set()
    if plan is not None and "edit" in ALLOWED[plan.status] and args["stepId"] not in asked:
        return await _edit(connection, plan, SkipStep(step_id=args["stepId"]))
    return await connection.app.steps.recover(args["planId"], args["stepId"], "skip", None)


async def _unskip_step(connection: Connection, args: Arguments) -> Any:
    plan = connection.app.plans.get(args["planId"], None)
    assert plan is not None, "get() with an id returns a plan or raises"
    return await _edit(connection, plan, UnskipStep(step_id=args["stepId"]))


async def _edit(connection: Connection, plan: Plan, edit: StepEdit) -> Plan:
    """Edit a plan after what has been typed into its document."""
    version = await connection.plan_documents.take(plan.plan_id, plan.version)
    return await connection.app.plans.edit(plan.plan_id, version, (edit,))


async def _resolve(connection: Connection, args: Arguments) -> Any:
    """Resolve a conflict of an edit by one choice for all its files, or by the documents with both versions of each."""
    plan = connection.app.plans.get(args["planId"], None)
    assert plan is not None, "get() with an id returns a plan or raises"
    conflict = next((each for each in plan.pending.conflicts if each.edit_id == args["editId"]), None)
    files = () if conflict is None else conflict.files
    choices = tuple(
        ConflictChoice(uri=file.uri, choice=args["choice"]) for file in files if args["choice"] != "merged"
    )
    if conflict is not None and args["choice"] == "merged":
        choices = await connection.merged.choices(plan, conflict)
    return await connection.app.approvals.resolve_conflict(args["planId"], args["editId"], choices)


async def _keep_change(connection: Connection, args: Arguments) -> Any:
    """Keep what a plan has changed at a place of a file, or all in it: its lenses go."""
    connection.app.made_changes.keep(args["planId"], args["uri"], args["change"])
    connection.lenses.soon()


async def _message(connection: Connection, args: Arguments) -> Any:
    said = await connection.app.messages.send(args["planId"], args["text"])
    more = {} if said.waits_for is None else {"waitsFor": said.waits_for}
    return {"planId": said.plan.plan_id, "status": said.plan.status, "outcome": said.outcome, **more}


async def _show_changes(connection: Connection, args: Arguments) -> Any:
    """Show what a pending approval would change; a client that shows no documents is told of the file with it."""
    approval, t = connection.app.approvals.pending(args["approvalId"]), connection.words
    shown, uri = await show_changes(connection.app, connection.side_files, approval, t)
    if not shown and uri is not None:
        connection.protocol.show_message("info", f"Planloom: {t('The changes are in {0}.', place_of(uri))}")
    return {"shown": shown, "text": await shown_changes(connection.app, approval, t)}


async def _show_plan(connection: Connection, args: Arguments) -> Any:
    """Show a plan and what became of it, where the client asks for such texts; others show the answer."""
    text = connection.app.plans.markdown(args["planId"])
    if can_serve(connection.client.capabilities):
        await connection.side_files.show(plan_address(args["planId"]))
    return {"planId": args["planId"], "text": text}


async def _templates(connection: Connection, _: Arguments) -> Any:
    """The templates, each with its parameters."""
    listed = await list_templates(connection, NoParams())
    return {"templates": [each.model_dump(exclude={"steps"}) for each in listed.templates]}


async def _template(connection: Connection, args: Arguments) -> Any:
    """A plan for review by the template of this name, with its values."""
    template = await connection.app.templates.named(args["name"])
    values = args["parameters"] or {}
    request = CreateRequest(text=template.name, template_id=template.template_id, parameters=values)
    return await connection.app.plans.create(request)


def _button(name: str, arguments: str, action: Action | None = None) -> Command:
    """A command that does what the button of this name does for every client."""
    press_it = ACTIONS[f"planloom.{name}"]
    return Command(f"planloom.{name}", arguments, lambda c, a: press_it(c.app, *a.values()), action)


COMMANDS: tuple[Command, ...] = (
    Command("planloom.plan", "text", lambda c, a: c.app.plans.create(CreateRequest(text=a["text"]))),
    Command("planloom.templates", "", _templates),
    Command("planloom.template", "name, parameters?", _template),
    _button("approve", "planId, version", "approve"),
    _button("direct", "planId?", "direct"),
    _button("respond", "approvalId, decision, reason?, rights?"),
    _button("respondAll", "planId, listId, decision"),
    _button("recover", "planId, stepId, action"),
    _button("reject", "planId?, reason?", "reject"),
    _button("cancel", "planId?", "cancel"),
    _button("pause", "planId?", "pause"),
    _button("resume", "planId?", "resume"),
    _button("restore", "planId, version"),
    _button("saveFiles", "planId"),
    _button("review", "planId?", "review"),
    _button("undo", "planId?, stepId?", "undo"),
    _button("redo", "planId?, stepId?", "undo"),
    Command("planloom.skipStep", "planId, stepId", _skip_step),
    Command("planloom.unskipStep", "planId, stepId", _unskip_step),
    Command(
        "planloom.retryStep",
        "planId, stepId",
        lambda c, a: c.app.steps.recover(a["planId"], a["stepId"], "retry", None),
    ),
    Command(
        "planloom.answer",
        "planId, stepId, answer",
        _answer,
    ),
    Command("planloom.resolve", "planId, editId, choice", _resolve),
    Command("planloom.message", "planId, text", _message),
    Command("planloom.regenerate", "planId?, feedback?", _regenerate, "regenerate"),
    Command("planloom.showChanges", "approvalId", _show_changes),
    Command("planloom.showPlan", "planId?", _show_plan),
    Command("planloom.adopt", "uri", lambda c, a: c.plan_documents.adopt(a["uri"])),
    Command("planloom.keep", "planId, keep", lambda c, a: c.plan_documents.choose(a["planId"], a["keep"])),
    Command(KEEP, "planId, uri, change?", _keep_change),
    Command(
        UNDO, "planId, uri, change?", lambda c, a: c.app.made_changes.undo(a["planId"], a["uri"], a["change"])
    ),
    Command("planloom.trust", "", lambda c, _: c.trust_folders()),
    Command("planloom.status", "", lambda c, _: status(c, StatusParams())),
)

_OF_DOCUMENT: frozenset[Action | None] = frozenset({"approve", "resume", "regenerate"})
"""The actions that are done with a plan as its document says it."""
_INTEGERS = frozenset({"version"})
_OBJECTS = frozenset({"parameters"})
_WORDS = {
    "decision": get_args(UserDecision),
    "action": get_args(RecoveryAction),
    "choice": get_args(ConflictSide),
    "keep": get_args(Kept),
}
"""The arguments that are not any string: integers, objects of strings, and one of a few words."""

_BY_NAME = {command.name: command for command in COMMANDS}
_job_numbers = itertools.count(1)


async def execute(connection: Connection, raw_params: Any) -> Any:
    """`workspace/executeCommand`. Raises InvalidParams for an unknown command or arguments that do not fit."""
    params = parsed_params(CommandParams, "workspace/executeCommand", raw_params)
    command = _BY_NAME.get(params.command)
    if command is None:
        raise _invalid("command", f"there is no command {params.command!r}")
    args = _parsed(command, params.arguments or ())
    if "planId" in args and args["planId"] is None:
        args["planId"] = _only_plan(connection, command)
    job = connection.jobs.start(f"command:{next(_job_numbers)}", _outcome(_run(connection, command, args)))
    done, _ = await asyncio.wait({job}, timeout=SOON_SECONDS)
    if not done:
        job.add_done_callback(lambda ended: _show_failure(connection, ended))
        return None
    result, failure = job.result()
    if failure is not None:
        raise failure
    return result


async def press(connection: Connection, name: str, values: Sequence[Any]) -> Any:
    """Run a command as a button of a message says it. Raises PlanloomError."""
    command = _BY_NAME[name]
    result, failure = await _outcome(_run(connection, command, _parsed(command, values)))
    if failure is not None:
        raise failure
    return result


async def _run(connection: Connection, command: Command, args: Arguments) -> Any:
    """Run a command, after what the user has changed in the document of its plan has become part of the plan."""
    plan = connection.app.plans.get(args["planId"], None) if command.action in _OF_DOCUMENT else None
    if plan is not None and "edit" in ALLOWED[plan.status]:
        version = args.get("version", plan.version)
        taken_version = await connection.plan_documents.take(plan.plan_id, version)
        if "version" in args:
            args["version"] = taken_version
    return await command.run(connection, args)


async def _outcome(work: Awaitable[Any]) -> tuple[Any, PlanloomError | None]:
    """The result for the client, or the failure as a value: the request may have been answered before it."""
    try:
        result = await work
    except PlanloomError as error:
        return None, error
    plan = result.plan if isinstance(result, CreateResult | UndoResult) else result
    if isinstance(plan, Plan):
        return {"planId": plan.plan_id, "status": plan.status, "version": plan.version}, None
    return result, None


def _show_failure(connection: Connection, job: asyncio.Task[tuple[Any, PlanloomError | None]]) -> None:
    if job.cancelled() or job.exception() is not None:
        return
    _, failure = job.result()
    if failure is not None:
        connection.protocol.show_message("error", f"Planloom: {failure.message}")


def _parsed(command: Command, values: Sequence[Any]) -> Arguments:
    """The arguments by name. Raises InvalidParams, which names the first that does not fit by its index."""
    args: Arguments = {}
    for index, label in enumerate(command.names()):
        name, field = label.removesuffix("?"), f"arguments[{index}]"
        value = args[name] = values[index] if index < len(values) else None
        if value is None:
            if not label.endswith("?"):
                raise _invalid(field, f"{command.name} needs {name}")
        elif name in _INTEGERS:
            if type(value) is not int:
                raise _invalid(field, f"{name} must be an integer")
        elif name in _OBJECTS:
            if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
                raise _invalid(field, f"{name} must be an object of strings")
        elif not isinstance(value, str):
            raise _invalid(field, f"{name} must be a string")
        elif name in _WORDS and value not in _WORDS[name]:
            raise _invalid(field, f"{name} must be one of {', '.join(_WORDS[name])}")
    return args


def _only_plan(connection: Connection, command: Command) -> PlanId:
    """The only plan that the command can act on. Raises InvalidParams, which lists the plans if there are several."""
    statuses = [s for s, allowed in ALLOWED.items() if command.action is None or command.action in allowed]
    plans = connection.app.plans.list(None, tuple(sorted(statuses)), None, False)
    if len(plans) == 1:
        return plans[0].plan_id
    problem = f"several plans fit {command.name}" if plans else f"no plan fits {command.name}"
    choices: list[Json] = [
        {"field": "planId", "problem": f"{plan.plan_id}: {plan.request[:80]}"} for plan in plans
    ]
    raise _invalid("arguments[0]", problem, choices)


def _invalid(field: str, problem: str, more: Sequence[Json] = ()) -> InvalidParams:
    message = f"{problem[:1].upper()}{problem[1:]}{': name one.' if more else '.'}"
    return InvalidParams(message, details=[{"field": field, "problem": problem}, *more])
