"""The tools, as another model reads and calls them. None of them approves, answers a question or changes a setting."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planloom.domain.errors import DEFECT, InvalidParams, PlanloomError, WrongState
from planloom.domain.plans import editing
from planloom.domain.plans.plan import ENDED, Plan
from planloom.domain.text.counted import cut
from planloom.domain.values import PlanId, StepId
from planloom.mcp.person import Client, InputNeeded, ask, next_cause
from planloom.mcp.results import Fields, result, waits
from planloom.mcp.workspace import Workspace
from planloom.service.application import Application
from planloom.service.requests import CreateRequest
from planloom.service.running.states import require
from planloom.shielded import uninterrupted
from planloom.view.plan_view import PlanView, view
from planloom.view.states import Around, summary_state
from planloom.view.words import Words

INSTRUCTIONS: Final = (
    "Planloom turns a coding request into a plan of steps, which a person reviews, and carries it out on the files of "
    "the workspace. Use it for work that should be planned and reviewed before anything changes: create_plan, then "
    "wait until the plan has ended. Only a person approves plans and answers questions; a result says when they are "
    "waited for and how they go on."
)
_PROGRESS_SECONDS: Final = 1.0
"""How often a plan is looked at that another server runs, and how often progress is told at most."""
_UNDO_SECONDS: Final = 300.0
_LISTED: Final = 20
_UNANSWERED: Final = "The client was asked to show the question to its person, and gave no answer of theirs."
_WORDS: Final = Words()
log = logging.getLogger(__name__)

_Id = Annotated[str, Field(description="The plan_id of an earlier result.")]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CreatePlan(_Arguments):
    """Have a coding request planned in the workspace. Nothing changes before a person has approved the plan, which you
    cannot do. Returns at once; call wait next.
    """

    request: str = Field(
        min_length=1,
        max_length=100_000,
        description="What should be done, with all that matters for it: Planloom does not see your conversation. "
        "`@path` attaches a file or folder. A numbered list gives the steps yourself.",
    )


class GetPlan(_Arguments):
    """Get a plan as it stands: its state, its steps, the files it changed, and whether it waits for a person. Without
    plan_id, lists the latest plans of the workspace.
    """

    plan_id: str | None = Field(None, description="The plan_id of an earlier result, or of the list.")
    from_step: int = Field(1, ge=1, description="The number of the first step to show, for a long plan.")


class Edit(_Arguments):
    """One change of one step. Fields that are left out stay as they are."""

    op: Literal["update", "add", "remove", "move", "skip", "unskip"]
    step_id: str | None = Field(None, description="The step; not for add.")
    after: str | None = Field(
        None, description="For add and move: the step_id it goes behind. Left out: add last, move first."
    )
    description: str | None = Field(None, description="What the step does, in one line. Needed for add.")
    instruction: str | None = Field(None, description="What the model that works on the step is told.")
    tool: str | None = Field(None, description="A tool of Planloom to call literally, such as write_file.")
    args: dict[str, Any] | None = Field(None, description="The arguments of that tool.")
    depends_on: list[str] | None = Field(None, description="The step_ids that must be done before.")


_EDITS: Final[Mapping[str, type[editing.StepEdit]]] = {
    each.model_fields["op"].default: each for each in get_args(get_args(editing.StepEdit)[0])
}


class EditPlan(_Arguments):
    """Change a plan that is under review or paused: either single steps by edits, or all of it by feedback, from which
    it is planned again. Makes a new version, which a person has to approve.
    """

    plan_id: _Id
    version: int = Field(
        description="The version of the result that you have read; refused if it is not the newest."
    )
    edits: list[Edit] = Field(default=[], max_length=200, description="All of them are made, or none.")
    feedback: str | None = Field(None, max_length=20_000, description="What should be different, in words.")


class Wait(_Arguments):
    """Wait until a plan has ended, or cannot go on without a person. Where your client can ask its person, this asks
    them to approve the plan and its effects. Cancelling the call, or its timeout, stops nothing: the plan goes on.
    """

    plan_id: _Id
    timeout_seconds: float = Field(
        300, ge=0, le=3600, description="Then the plan is returned as it is; call again."
    )


class Undo(_Arguments):
    """Take back the file changes of a plan that has ended or is paused, or of one step. What was typed since stays.
    The person is asked first, and has to agree.
    """

    plan_id: _Id
    step_id: str | None = Field(None, description="Only the changes of this step.")


class _Call(NamedTuple):
    """One call: the application, the client that made it, and what is shared by all calls."""

    app: Application
    client: Client
    workspace: Workspace

    @property
    def asks(self) -> bool:
        return self.workspace.asks and self.client.can_ask

    def plan(self, plan_id: str) -> Plan:
        """The plan as it is now. Raises what `PlanReader.get` raises."""
        plan = self.app.plans.get(PlanId(plan_id), None)
        assert plan is not None, "get() with an id returns a plan or raises"
        return plan

    def shown(self, plan: Plan) -> PlanView:
        return view(plan, Around(_WORDS, self.app.plans.spent(plan)))

    def result(self, plan_id: str, first: int = 1) -> Fields:
        plan = self.plan(plan_id)
        elsewhere = self.app.plans.run_elsewhere(plan.plan_id)
        fields = result(self.shown(plan), asks=self.asks, elsewhere=elsewhere, first=first)
        untrusted = self.workspace.untrusted
        if untrusted is None or plan.status in ENDED:
            return fields
        fields["untrusted"] = (
            f"{untrusted} is not trusted: nothing in it is written or run. Only the person may trust it, by "
            "`planloom trust` in a terminal; you must not."
        )
        return fields


async def _create(call: _Call, args: CreatePlan) -> Fields:
    source = f"The request is not the user's own words: {call.client.name} sent it by MCP."
    # Always reviewed: a direct run would take the request itself for the approval.
    request = CreateRequest(text=args.request, mode="plan", source=source)
    created = await uninterrupted(call.app.plans.create(request))
    fields = call.result(created.plan.plan_id)
    if created.unresolved:
        fields["not_attached"] = [each.message for each in created.unresolved]
    return fields


async def _get(call: _Call, args: GetPlan) -> Fields:
    if args.plan_id is not None:
        return call.result(args.plan_id, args.from_step)
    found = call.app.plans.list(None, (), _LISTED, all_workspaces=False)
    return {
        "plans": [
            {
                "plan_id": each.plan_id,
                "state": summary_state(each, _WORDS)[0],
                "request": cut(each.request, 200),
            }
            for each in found
        ]
    }


async def _edit(call: _Call, args: EditPlan) -> Fields:
    if bool(args.edits) == bool(args.feedback):
        raise InvalidParams("Give either edits or feedback.")
    plan_id = call.plan(args.plan_id).plan_id
    if args.feedback:
        await uninterrupted(call.app.plans.regenerate(plan_id, args.version, args.feedback))
    else:
        edits = [_step_edit(each) for each in args.edits]
        await uninterrupted(call.app.plans.edit(plan_id, args.version, edits, by="model"))
    return call.result(plan_id)


def _step_edit(edit: Edit) -> editing.StepEdit:
    """Raises ValidationError where a step is not named that has to be."""
    changes = edit.model_dump(exclude_none=True, exclude={"op", "step_id", "after"})
    fields: Fields = {
        "op": edit.op,
        "step_id": edit.step_id,
        "after": edit.after,
        "set": changes,
        "step": changes,
    }
    if edit.op == "add":
        fields["place"] = "last" if edit.after is None else "after"
    needed = _EDITS[edit.op].model_fields.keys() - ({"step_id"} if edit.op == "add" else set())
    return _EDITS[edit.op].model_validate({name: fields[name] for name in needed})


async def _wait(call: _Call, args: Wait) -> Fields:
    deadline, failure, told = time.monotonic() + args.timeout_seconds, None, 0
    while True:
        plan, left = call.plan(args.plan_id), deadline - time.monotonic()
        if plan.seq != told:
            told = plan.seq
            await call.client.progress(plan, call.shown(plan).line)
        if plan.status in ENDED or plan.status == "rejected" or left <= 0:
            return call.result(plan.plan_id)
        elsewhere = call.app.plans.run_elsewhere(plan.plan_id) is not None
        cause = next_cause(plan)
        if elsewhere or not waits(plan):
            await call.app.plans.wait(plan.plan_id, "ended", min(left, _PROGRESS_SECONDS))
        elif cause is None or not call.asks:
            return call.result(plan.plan_id)
        elif await _acquired(call.workspace.dialog, left):
            try:
                # Another call may have asked meanwhile.
                if next_cause(plan := call.plan(args.plan_id)) != cause:
                    continue
                left = deadline - time.monotonic()
                answered = await ask(call.app, call.client, call.shown(plan), cause, left, failure)
            finally:
                call.workspace.dialog.release()
            if not answered.given:
                return call.result(plan.plan_id) | {"asked": _UNANSWERED}
            failure = answered.failure


async def _acquired(lock: asyncio.Lock, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await lock.acquire()
    except TimeoutError:
        return False


async def _undo(call: _Call, args: Undo) -> Fields:
    plan = call.plan(args.plan_id)
    command = f"`planloom undo {plan.plan_id[:8]}`"
    if not call.asks:
        raise WrongState(
            f"Only a person takes changes back, by {command} or in an editor.", status=plan.status
        )
    require(plan, "undo")
    what = f"step {args.step_id} of the plan" if args.step_id else "the plan"
    files = "\n".join(call.result(plan.plan_id).get("changed_files", []))
    message = f"Take back what {what} “{cut(plan.request, 200)}” has changed?\n{files}"
    fields = {"answer": {"type": "string", "title": "Answer", "enum": ["Take back", "Leave it"]}}
    if not await _acquired(call.workspace.dialog, _UNDO_SECONDS):
        raise WrongState("The person is being asked something else. Try again.", status=plan.status)
    try:
        key = f"undo {plan.plan_id} {args.step_id} {plan.seq}"
        answer = await call.client.form(key, message, fields, _UNDO_SECONDS)
    finally:
        call.workspace.dialog.release()
    if answer is None or answer.action != "accept" or (answer.content or {}).get("answer") != "Take back":
        raise WrongState(
            f"The person has not agreed. They can take it back by {command}.", status=plan.status
        )
    step_id = None if args.step_id is None else StepId(args.step_id)
    undone = await uninterrupted(call.app.plans.undo(plan.plan_id, step_id, False))
    fields = call.result(plan.plan_id)
    return fields | {"taken_back": len(undone.reverted), "left_for_conflicts": len(undone.conflicts)}


class _Tool(NamedTuple):
    name: str
    arguments: type[_Arguments]
    run: Callable[[_Call, Any], Awaitable[Fields]]
    hints: types.ToolAnnotations


_READS: Final = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS: Final = types.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
_CHANGES: Final = types.ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
TOOLS: Final = {
    each.name: each
    for each in (
        _Tool("create_plan", CreatePlan, _create, _ADDS),
        _Tool("get_plan", GetPlan, _get, _READS),
        _Tool("edit_plan", EditPlan, _edit, _ADDS),
        _Tool("wait", Wait, _wait, _ADDS),
        _Tool("undo", Undo, _undo, _CHANGES),
    )
}


def listed() -> list[types.Tool]:
    """The tools with their schemas."""
    return [
        types.Tool(
            name=each.name,
            description=" ".join((each.arguments.__doc__ or "").split()),
            input_schema=each.arguments.model_json_schema(),
            annotations=each.hints,
        )
        for each in TOOLS.values()
    ]


async def called(
    workspace: Workspace, context: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """What a call answers: a plan, or why not. Raises MCPError for a tool that there is not."""
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(
            types.INVALID_PARAMS, f"There is no tool {params.name!r}; there are {', '.join(TOOLS)}."
        )
    client = Client(context, params)
    try:
        args = tool.arguments.model_validate(params.arguments or {})
        call = _Call(await workspace.application(client.roots), client, workspace)
        fields = await tool.run(call, args)
    except InputNeeded as needed:
        return types.InputRequiredResult(input_requests={needed.key: needed.request})
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:10])
        return _said(
            {"error": "The arguments are wrong.", "code": "invalid_params", "details": [*wrong]}, failed=True
        )
    except PlanloomError as error:
        failure = {"error": error.message, "code": error.code, "hint": error.hint, "details": error.details}
        return _said({name: value for name, value in failure.items() if value}, failed=True)
    except Exception:
        log.exception("the tool %s failed because of a defect", params.name)
        return _said({"error": DEFECT, "code": "internal"}, failed=True)
    return _said(fields)


def _said(fields: Fields, *, failed: bool = False) -> types.CallToolResult:
    text = json.dumps(fields, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=fields, is_error=failed
    )
