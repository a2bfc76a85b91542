"""The commands that a prompt can begin with, such as `/undo`: one table for the client's list and what each does."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acp import schema

from planloom.domain.errors import InvalidParams
from planloom.domain.events.reverts import standing
from planloom.domain.plans.plan import Plan
from planloom.service.requests import CreateRequest, UndoResult
from planloom.view.pressing import skip
from planloom.workspace.paths.uris import shown_in

if TYPE_CHECKING:
    from planloom.acp.session import AcpSession


class Command(NamedTuple):
    """A command: what it does, a hint on what follows its name, None for nothing, and the function."""

    description: str
    hint: str | None
    run: Callable[[AcpSession, str], Coroutine[Any, Any, None]]


async def _undo(session: AcpSession, _: str) -> None:
    plan = session.newest(lambda plan: bool(standing(plan.edits)))
    _tell(session, "Taken back: {0}.", await session.app.plans.undo(plan.plan_id, None, False))


async def _redo(session: AcpSession, _: str) -> None:
    plan = session.newest()
    _tell(session, "Made again: {0}.", await session.app.plans.undo(plan.plan_id, None, True))


def _tell(session: AcpSession, sentence: str, done: UndoResult) -> None:
    names = [shown_in(uri, done.plan.workspace_folders) for uri in done.reverted]
    conflicts = [shown_in(uri, done.plan.workspace_folders) for uri in done.conflicts]
    t = session.words
    session.say(t(sentence, ", ".join(names) or t("nothing")))
    if conflicts:
        session.say(t("Changed since, and left as they are: {0}.", ", ".join(conflicts)))


async def _regenerate(session: AcpSession, feedback: str) -> None:
    plan = session.newest()
    await session.app.plans.regenerate(plan.plan_id, plan.version, feedback or None)
    session.follow(plan.plan_id)


async def _skip(session: AcpSession, number: str) -> None:
    plan = session.newest()
    step = plan.steps[int(number) - 1] if number.isdecimal() and 0 < int(number) <= len(plan.steps) else None
    if step is None:
        raise InvalidParams(f"Name a step by its number, from 1 to {len(plan.steps)}: /skip 2")
    await skip(session.app, plan.plan_id, step.step_id)
    session.follow(plan.plan_id)


async def _resume(session: AcpSession, _: str) -> None:
    plan = session.newest(lambda plan: plan.status == "paused")
    await session.app.plans.resume(plan.plan_id)
    session.follow(plan.plan_id)


async def _discard(session: AcpSession, _: str) -> None:
    plan = session.newest()
    await session.app.plans.cancel(plan.plan_id)
    session.follow(plan.plan_id)


async def _document(session: AcpSession, text: str) -> None:
    """Make the plan what its document says: the text that is given, or else that of the file."""
    plan = session.newest()
    if not text:
        snapshot = await session.view.snapshot(session.document_of(plan))
        if snapshot.text is None:
            raise InvalidParams(
                "There is no document: choose “Edit as a document” when the plan is reviewed."
            )
        text = snapshot.text
    await session.app.plans.rewrite(plan.plan_id, plan.version, text)
    session.follow(plan.plan_id)


async def _templates(session: AcpSession, _: str) -> None:
    lines = []
    for template in await session.app.templates.offered():
        values = " ".join(f"{each.name}={each.default or '…'}" for each in template.parameters)
        lines.append(f"- **{template.name}** {values}\n  {template.description or ''}".rstrip())
    session.say("\n".join(lines))


async def _template(session: AcpSession, text: str) -> None:
    try:
        name, *values = shlex.split(text)
    except ValueError:
        name = ""
        values = []
    if not name or not all("=" in each for each in values):
        raise InvalidParams('Name a template and its values: /template "Rename a symbol" old=a new=b')
    found = await session.app.templates.named(name)
    request = CreateRequest(
        text=found.name,
        session_id=session.session_id,
        template_id=found.template_id,
        parameters=dict(each.split("=", 1) for each in values),
    )
    session.follow((await session.app.plans.create(request)).plan.plan_id)


COMMANDS: Final[dict[str, Command]] = {
    "undo": Command("Take back all edits of the last plan that has some", None, _undo),
    "redo": Command("Make the edits again that were taken back", None, _redo),
    "regenerate": Command("Plan the request again", "what should change, if anything", _regenerate),
    "skip": Command("Skip a step of the plan", "the number of the step", _skip),
    "resume": Command("Go on with a paused plan", None, _resume),
    "discard": Command("Cancel the plan; what it has changed stays", None, _discard),
    "document": Command("Make the plan what its document says", "the document, if not its file", _document),
    "templates": Command("List the templates of plans", None, _templates),
    "template": Command("Plan by a template", "its name and values: NAME old=a new=b", _template),
}


def offered() -> schema.AvailableCommandsUpdate:
    """The commands as the client lists them."""
    listed = [
        schema.AvailableCommand(
            name=name,
            description=command.description,
            input=None
            if command.hint is None
            else schema.AvailableCommandInput(root=schema.UnstructuredCommandInput(hint=command.hint)),
        )
        for name, command in COMMANDS.items()
    ]
    return schema.AvailableCommandsUpdate(
        session_update="available_commands_update", available_commands=listed
    )


async def command_of(session: AcpSession, text: str) -> tuple[Command, str] | None:
    """The command that a prompt begins with, and what follows it; None if it is a request.

    A template is a command, too, where its name is one word, such as that of a prompt of an MCP server.
    """
    name, _, rest = text.partition(" ")
    if not name.startswith("/"):
        return None
    if (found := COMMANDS.get(name[1:])) is not None:
        return found, rest.strip()
    templates = await session.app.templates.offered()
    if any(name[1:].casefold() == each.name.casefold() for each in templates):
        return COMMANDS["template"], text[1:]
    return None


def as_document(plan: Plan) -> str:
    """The name of the file in which a plan is changed as a document."""
    return f"plan-{plan.plan_id[:8]}.plan.md"
