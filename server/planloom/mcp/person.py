"""Asks the person at the agent's client, by the elicitation of MCP, for what only a person decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from planloom.domain.errors import PlanloomError
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Approval
from planloom.domain.text.counted import cut
from planloom.domain.text.diff import unified
from planloom.domain.text.hidden_characters import visible
from planloom.service.application import Application
from planloom.shielded import uninterrupted
from planloom.view.actions import Button
from planloom.view.plan_view import PlanView
from planloom.view.pressing import press
from planloom.view.questions import asked, one_by_one
from planloom.view.states import Cause, causes
from planloom.view.words import Words
from planloom.workspace.paths.uris import shown_in, to_path

MOST_ASKED: Final = 12_000
"""Characters of a question. What does not fit has not been seen, which its button says."""
_ROOTS_SECONDS: Final = 5.0
_ARGS: Final = 400
R = TypeVar("R", bound=BaseModel)


class InputNeeded(Exception):
    """The client has to send a call again with the answer to `request`, as MCP has it since 2026-07-28."""

    def __init__(self, key: str, request: types.InputRequest) -> None:
        super().__init__(key)
        self.key = key
        self.request = request


class Client:
    """The client of one call, and the answers that it has sent with it."""

    def __init__(self, context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> None:
        self._context = context
        self._answers = dict(params.input_responses or {})
        self._can = context.session.client_capabilities

    @property
    def name(self) -> str:
        """The name that the client gives itself."""
        known = self._context.session.client_params
        return visible(cut(known.client_info.name, 80)) if known is not None else "an unnamed client"

    @property
    def can_ask(self) -> bool:
        """Whether it shows forms to its person."""
        can = None if self._can is None else self._can.elicitation
        return can is not None and (can.form is not None or can.url is None)

    async def progress(self, plan: Plan, line: str) -> None:
        """Say how far a plan is, if the client wants to know; the number is that of its last event."""
        await self._context.session.report_progress(plan.seq, None, visible(line))

    async def roots(self) -> Sequence[Path]:
        """Its folders on this machine; none if it does not say."""
        if self._can is None or self._can.roots is None:
            return ()
        found = await self._answer("roots", types.ListRootsRequest(), types.ListRootsResult, _ROOTS_SECONDS)
        paths = [to_path(str(each.uri)) for each in found.roots] if found is not None else []
        return [path for path in paths if path is not None and path.is_dir()]

    async def form(
        self, key: str, message: str, fields: Mapping[str, Any], seconds: float
    ) -> types.ElicitResult | None:
        """What the person has filled in, or that they declined; None if they have not answered in this time."""
        schema = {"type": "object", "properties": dict(fields), "required": ["answer"]}
        params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
        return await self._answer(key, types.ElicitRequest(params=params), types.ElicitResult, seconds)

    async def _answer(
        self, key: str, request: types.ElicitRequest | types.ListRootsRequest, answer: type[R], seconds: float
    ) -> R | None:
        given = self._answers.pop(key, None)
        if given is not None:
            return given if isinstance(given, answer) else None
        session = self._context.session
        if session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            raise InputNeeded(key, request)
        of_call = ServerMessageMetadata(related_request_id=self._context.request_id)
        try:
            return await session.send_request(request, answer, max(seconds, 0.001), of_call)
        except (MCPError, ValidationError):
            # It refused, gave no answer in time, or one that is none.
            return None


class Answered(NamedTuple):
    """Whether a question was answered; `failure` is why the answer could not be carried out."""

    given: bool
    failure: str | None = None


_OFFERED: Final = frozenset(
    f"planloom.{name}"
    for name in ("approve", "reject", "resume", "respond", "answer", "recover", "cancel", "resolve")
)
"""The commands of the buttons that a form offers."""
_FEEDBACK: Final = {"planloom.reject": 1, "planloom.respond": 2}
"""Where the arguments of a button have the person's reason."""


def next_cause(plan: Plan) -> Cause | None:
    """What a person is asked first; approvals are asked each for itself."""
    found = next(iter(causes(plan)), None)
    return found if found is None or len(found.about) < 2 else one_by_one(found)[0]


async def ask(
    app: Application, client: Client, shown: PlanView, cause: Cause, seconds: float, failure: str | None
) -> Answered:
    """Ask the person about a plan, and carry out their answer. `failure` is why the last one could not be.

    The answer is bound to the version of the plan, or to the approval, that was shown. Raises InputNeeded.
    """
    question = asked(shown, cause, Words())
    more = await _more(app, shown, cause)
    lines = f"{question.text}\n{more}".split("\n")
    text = "\n".join(visible(line, "\t") for line in (*filter(None, [failure]), *lines))
    is_cut = len(text) > MOST_ASKED
    offered = {
        _title(each, is_cut=is_cut): each for each in question.choices if _is_offered(each, is_cut=is_cut)
    }
    fields: dict[str, Any] = {"answer": {"type": "string", "title": "Answer"}}
    if offered:
        fields["answer"]["enum"] = [*offered]
    if cause.kind in ("review", "approval"):
        fields["feedback"] = {"type": "string", "title": "If not: why, or what should change"}
    left_out = "\n… The rest does not fit here, and has not been shown." if is_cut else ""
    key = f"{cause.key} v{shown.plan.version}"
    answer = await client.form(key, text[:MOST_ASKED] + left_out, fields, seconds)
    # Some clients decline by themselves, without showing anything, so that is no person's answer either.
    content = (answer.content or {}) if answer is not None and answer.action == "accept" else {}
    said, feedback = str(content.get("answer") or ""), str(content.get("feedback") or "").strip() or None
    button = offered.get(said)
    if not offered and said:
        step_id = getattr(cause.about[0], "step_id", None)
        button = Button(said, "planloom.answer", [shown.plan.plan_id, step_id, said])
    if button is None:
        return Answered(False)
    try:
        await uninterrupted(press(app, _with(button, feedback)))
    except PlanloomError as error:
        return Answered(True, error.message)
    return Answered(True)


def _is_offered(button: Button, *, is_cut: bool) -> bool:
    """Whether an answer is offered here: nothing that lasts beyond the plan, or needs a document; of what was not all
    shown nothing ahead.
    """
    beyond = {"allowInFolder", "merged", *(["allowForPlan"] if is_cut else [])}
    return (
        button.command in _OFFERED
        and button.menu is None
        and not any(each in beyond for each in button.arguments)
    )


def _with(button: Button, feedback: str | None) -> Button:
    """The button, with what the person has written beside it."""
    place = _FEEDBACK.get(button.command)
    if place is None or feedback is None:
        return button
    return button._replace(arguments=[*button.arguments[:place], feedback, *button.arguments[place + 1 :]])


def _title(button: Button, *, is_cut: bool) -> str:
    is_yes = button.command == "planloom.approve" or "allow" in button.arguments
    return f"{button.title} (not all of it was shown)" if is_cut and is_yes else button.title


async def _more(app: Application, shown: PlanView, cause: Cause) -> str:
    """The steps of a plan under review, or the changes of an approval."""
    if cause.kind == "review":
        return "\n".join(
            f"{each.number}. {each.step.title}"
            + (f"\n   {each.step.tool} {cut(str(each.step.args or ''), _ARGS)}" if each.step.tool else "")
            for each in shown.steps
        )
    lines = []
    for approval in (each for each in cause.about if isinstance(each, Approval)):
        for file in approval.files:
            if file.change in ("create", "edit", "delete"):
                diff = await app.approvals.diff(approval.approval_id, file.uri)
                name = shown_in(file.uri, shown.plan.workspace_folders)
                lines.append(unified(diff.before, diff.after, name, name))
    return "\n".join(lines)
