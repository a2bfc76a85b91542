"""One session: a folder with its application, the plan that is talked about, and one prompt at a time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from acp import schema

from planloom.acp import commands, shown
from planloom.acp.attachments import Prompt, prompt_of
from planloom.acp.client import CannotAsk, Client
from planloom.acp.editor import AcpEditor, LiveView
from planloom.acp.questions import Other, Put, question
from planloom.acp.trust import Trust
from planloom.acp.updates import Updates
from planloom.domain.document.render import render
from planloom.domain.errors import InvalidParams, PlanloomError, WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import ENDED, Plan
from planloom.domain.values import PlanId, SessionId, Uri
from planloom.execution.jobs import Jobs, only_logged
from planloom.mcp_servers.entries import of_json
from planloom.models.kept_keys import keys_file
from planloom.service.requests import Attached, CreateRequest, StreamDelta
from planloom.serving import process
from planloom.serving.configuration import of_connection
from planloom.serving.opening import ApplicationContext, MakeApplication, open_application
from planloom.user_folders import state_folder
from planloom.user_settings import user_file
from planloom.view import problems
from planloom.view.actions import Button
from planloom.view.pressing import current, press
from planloom.view.questions import one_by_one
from planloom.view.states import Cause, causes
from planloom.view.words import Words
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.paths.uris import child
from planloom.workspace.scratch_files import FOLDER, write_scratch_file

if TYPE_CHECKING:
    from planloom.service.application import Application
    from planloom.serving.process import CommandLine

logger = logging.getLogger(__name__)
T = TypeVar("T")

Mode = Literal["plan", "direct", "perspectives"]
StopReason = Literal["end_turn", "cancelled"]
MOST_ASKED: Final = 3
"""How often one prompt asks the very same: a client that allows all by itself would be asked without end."""
QUIET_SECONDS: Final = 0.3
"""Seconds without an event after which a paused plan is not going on by itself."""
_REPLAYED: Final = 20
"""How many plans of a session are told again when it is loaded."""


class Opened(NamedTuple):
    """What a client opens a session with. `mcp_servers` are those that it names."""

    session_id: SessionId
    folders: tuple[Path, ...]
    mcp_servers: tuple[Any, ...] = ()


class AcpSession:
    """One session. `app` exists once `open` has been awaited."""

    def __init__(self, client: Client, opened: Opened) -> None:
        self.session_id = opened.session_id
        self.mcp_servers = opened.mcp_servers
        self.words = Words()
        self.mode: Mode = "plan"
        self.app: Application
        self._client = client
        self._folders = opened.folders
        own = (state_folder(), user_file(), keys_file())
        self._private = tuple(path for path in own if path is not None)
        self.view = LiveView(
            Roots(tuple(map(root_at, opened.folders)), self._private), client, self.session_id
        )
        self._jobs = Jobs(only_logged)
        self._trust = Trust(client, self.session_id, opened.folders, self.words)
        self._updates: Updates
        self._plan_id: PlanId | None = None
        self._plans: set[PlanId] = set()
        self._left: set[str] = set()
        self._asked: Counter[str] = Counter()
        self._apart: set[str] = set()
        self._changed = asyncio.Event()
        self._turn = False
        self._cancelled = False
        self._numbers = itertools.count(1)

    async def open(
        self,
        options: CommandLine,
        log_path: Path | None,
        environment: Mapping[str, str],
        make: MakeApplication | None,
    ) -> None:
        """Open the application. Raises StorageFailed."""
        configuration = of_connection(options.settings, environment, None)
        settings, troubles = configuration.resolve()
        private = (*self._private, *(path for path in (options.storage, log_path) if path is not None))
        self.view.roots = self.view.roots._replace(private=private)
        context = ApplicationContext(
            settings=settings,
            editor=AcpEditor(self._client, self.view, self.session_id),
            view=self.view,
            trusted=False,
            log_path=log_path,
            storage=options.storage,
            record=options.record,
            source_of=configuration.source_of,
            session_id=self.session_id,
            environment=environment,
            ask_proposal=self._trust.ask_server,
            mcp_servers=tuple(of_json(dict(map(_stated, self.mcp_servers)), self.view.roots.folders[0].path)),
        )
        self.app = await (make or open_application)(context)
        self._updates = Updates(self.app, self.send, self.words)
        await self._trust.settle(self.app)
        self.app.start(self._listen)
        for trouble in troubles:
            self._soon(partial(self.say, f"{trouble}. The setting keeps its default."))
        self._soon(partial(self.send, commands.offered()))

    def _listen(self, app: Application) -> None:
        app.feed.subscribe(self._on_event)
        app.feed.subscribe_stream(self._on_text)
        app.feed.subscribe_notices(lambda level, text: self.say(text) if level != "info" else None)

    def _on_event(self, recorded: ev.Recorded, after: Plan) -> None:
        event = recorded.event
        if isinstance(event, ev.PlanStart) and self._plan_id is not None and event.follows == self._plan_id:
            # What no step had read when its plan ended goes on as a plan of its own.
            self.follow(after.plan_id)
        if after.plan_id not in self._plans:
            return
        try:
            self._updates.on_event(recorded, after)
        except Exception:
            # A defect here must not stop the plan.
            logger.exception("Event %s of plan %s could not be sent", recorded.seq, recorded.plan_id)
        self._changed.set()

    def _on_text(self, delta: StreamDelta) -> None:
        if delta.plan_id in self._plans and not self._client.congested:
            self._updates.on_text(delta)

    def send(self, update: Any) -> None:
        """Send an update of this session."""
        self._client.update(self.session_id, update)

    def say(self, text: str) -> None:
        """Say something to the person."""
        self.send(shown.message(text))

    def follow(self, plan_id: PlanId) -> None:
        """Talk about this plan from now on."""
        self._plan_id = plan_id
        self._plans.add(plan_id)
        self._changed.set()

    def newest(self, fits: Callable[[Plan], bool] = lambda _: True) -> Plan:
        """The plan that is talked about, or the newest of the session that fits. Raises InvalidParams without one."""
        known = [] if self._plan_id is None else [self._plan_id]
        known += [each.plan_id for each in self.app.plans.list(self.session_id, (), None, False)]
        for plan_id in dict.fromkeys(known):
            plan = current(self.app, plan_id)
            if fits(plan):
                return plan
        raise InvalidParams("There is no such plan in this session.")

    async def close(self) -> None:
        """End all work in bounded time. Running plans can be resumed."""
        await self._jobs.stop("")
        if "app" in vars(self):
            self._updates.forget()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(process.CLOSE_SECONDS):
                    await vars(self).pop("app").close()

    # A prompt, from its blocks to the moment when it is the person's turn.

    async def prompt(self, blocks: Sequence[Any]) -> StopReason:
        """Do what a prompt says, and return when the plan has ended or it is the person's turn.

        Raises WrongState during another prompt, and what the service raises.
        """
        if self._turn:
            raise WrongState(
                "A prompt of this session is still being worked on: cancel it first.", status="prompt"
            )
        self._turn, self._cancelled = True, False
        self._left.clear()
        self._asked.clear()
        work = self._jobs.start("prompt", self._prompt(blocks))
        try:
            return await asyncio.shield(work)
        finally:
            self._turn = False

    async def cancel(self) -> None:
        """Pause what the prompt has begun; the prompt then answers that it was cancelled."""
        if not self._turn:
            return
        self._cancelled = True
        self._changed.set()
        if self._plan_id is not None:
            with contextlib.suppress(PlanloomError):
                await self.app.plans.pause(self._plan_id)
        self._changed.set()

    async def _prompt(self, blocks: Sequence[Any]) -> StopReason:
        if any(getattr(each, "type", "") == "image" for each in blocks):
            # An image has no file yet; it is kept in the folder.
            await self._trust.ask()
        said = await prompt_of(self.app, blocks)
        found = await commands.command_of(self, said.text)
        if found is not None:
            before = self._plan_id
            command, rest = found
            self._plan_id = None
            try:
                await command.run(self, rest)
            finally:
                followed, self._plan_id = self._plan_id, self._plan_id or before
            if followed is None:
                self._updates.flush()
                return "end_turn"
        else:
            await self._say_to_plan(said)
        return await self._follow()

    async def _say_to_plan(self, said: Prompt) -> None:
        """Begin a plan, or say something to the one that is talked about. Raises PlanloomError."""
        plan = None if self._plan_id is None else current(self.app, self._plan_id)
        attached = Attached(attachments=said.attachments)
        if plan is None or plan.status in ENDED:
            request = CreateRequest(
                text=said.text,
                mode=self.mode,
                session_id=self.session_id,
                follows=None if plan is None else plan.plan_id,
                attachments=said.attachments,
            )
            created = await self.app.plans.create(request)
            unresolved = created.unresolved
            self.follow(created.plan.plan_id)
        elif plan.pending.questions:
            await self.app.steps.answer(plan.plan_id, plan.pending.questions[0].step_id, said.text)
            return
        else:
            sent = await self.app.messages.send(plan.plan_id, said.text, attached)
            unresolved = sent.unresolved
            self.follow(sent.plan.plan_id)
            if sent.plan.status == "paused":
                # Who speaks to a paused plan wants it to go on.
                await self.app.plans.resume(sent.plan.plan_id)
        for each in unresolved:
            self.say(self.words("Not attached: {0} ({1}).", each.reference, each.code))

    async def _follow(self) -> StopReason:
        """Ask what the plan calls for, until it has ended, rests, or waits for words of the person."""
        while not self._cancelled:
            assert self._plan_id is not None
            self._changed.clear()
            try:
                plan = current(self.app, self._plan_id)
                cause = next((each for each in self._causes(plan) if each.key not in self._left), None)
                if cause is not None:
                    if cause.kind != "pause" or await self._is_quiet():
                        await self._ask(plan, cause)
                    continue
                plan, _ = await self._until(self.app.plans.wait(plan.plan_id, "attention", None))
            except _Interrupted:
                continue
            if plan.plan_id == self._plan_id and not any(c.key not in self._left for c in self._causes(plan)):
                break
        self._updates.flush()
        return "cancelled" if self._cancelled else "end_turn"

    async def _is_quiet(self) -> bool:
        """Whether nothing happens for a moment: a plan that has just been answered goes on by itself."""
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            return True
        return False

    def _causes(self, plan: Plan) -> list[Cause]:
        found = causes(plan)
        return [one for each in found for one in (one_by_one(each) if each.key in self._apart else (each,))]

    async def _until(self, work: Awaitable[T], is_gone: Callable[[], bool] = lambda: False) -> T:
        """What the work results in. Raises _Interrupted when the prompt is cancelled before, or it `is_gone`."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                if self._cancelled or is_gone():
                    raise _Interrupted
                self._changed.clear()
                changed = asyncio.ensure_future(self._changed.wait())
                await asyncio.wait({task, changed}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
            return task.result()
        finally:
            task.cancel()

    async def _ask(self, plan: Plan, cause: Cause) -> None:
        """Put a question, and do what the person chooses. It is taken back when it is answered elsewhere."""
        self._updates.flush()
        ident = f"ask-{next(self._numbers)}"
        put = await question(self.app, self._updates.view(plan), cause, ident, self.words)
        self._asked[cause.key] += 1
        if self._asked[cause.key] > MOST_ASKED or all(choice == "written" for choice in put.choices.values()):
            self.say(put.text)
            self._left.add(cause.key)
            return
        chosen = await self._chosen(plan, cause, put)
        try:
            if chosen == "gone":
                return
            if chosen is None:
                self._left.add(cause.key)
                self.say(
                    self.words("It waits for your answer: say something, or ask for it again by /resume.")
                )
            elif not isinstance(chosen, Button):
                await self._other(plan, cause, chosen)
            else:
                await press(self.app, chosen)
        except PlanloomError as error:
            self.say(problems.of_failure(error, datetime.now(UTC), self.words).words)
            if cause.key in [each.key for each in self._causes(current(self.app, plan.plan_id))]:
                self._left.add(cause.key)
        finally:
            is_answered = chosen not in (None, "gone")
            self.send(shown.settled(ident, "completed" if is_answered else "failed"))

    async def _chosen(self, plan: Plan, cause: Cause, put: Put) -> Button | Other | Literal["gone"] | None:
        """What the person chooses; None if they dismiss the question, "gone" if it needs no answer any more."""
        asking = self._jobs.start(
            put.about.tool_call_id, self._client.ask(self.session_id, put.about, put.options)
        )
        try:
            chosen = await self._until(
                asking,
                lambda: cause.key not in [each.key for each in self._causes(current(self.app, plan.plan_id))],
            )
        except CannotAsk as error:
            logger.info("The client does not show a question: %s", error)
            return None
        except ConnectionError:
            self._cancelled = True
            return "gone"
        except _Interrupted:
            return "gone"
        return put.choices.get(chosen or "")

    async def _other(self, plan: Plan, cause: Cause, chosen: Other) -> None:
        """Do what is no action of the plan."""
        t = self.words
        if chosen == "apart":
            self._apart.add(cause.key)
            return
        self._left.add(cause.key)
        if chosen == "written":
            self.say(t("Write your answer as the next message."))
        elif chosen == "feedback":
            self.say(t("Say what should change: the next message revises the plan."))
        else:
            folder = self.view.roots.folders[0]
            name = commands.as_document(plan)
            written = await asyncio.to_thread(write_scratch_file, folder, name, render(plan))
            if written is None:
                self.say(t("The document could not be written: send it changed behind /document."))
                self.say(f"```markdown\n{render(plan)}\n```")
            else:
                self.say(
                    t("The plan is in {0}. Change it, save it, then send /document.", f"{FOLDER}/{name}")
                )

    def document_of(self, plan: Plan) -> Uri:
        """The file in which a plan is changed as a document."""
        return child(self.view.roots.folders[0].uri, f"{FOLDER}/{commands.as_document(plan)}")

    # A session that the ledger knows.

    def load(self) -> bool:
        """Tell the session again from the ledger, the oldest plan first; False if the ledger does not know it."""
        listed = self.app.plans.list(self.session_id, (), _REPLAYED, False)
        for found in reversed(listed):
            self._replay(found.plan_id)
        self._updates.flush()
        if self._plan_id is not None:
            plan = current(self.app, self._plan_id)
            self.mode = "direct" if plan.route == "direct" else self.mode
            if plan.route == "perspectives":
                self.mode = "perspectives"
            if plan.status not in ENDED:
                state = self._updates.view(plan)
                self.say(f"{state.state}. {state.waits or ''}".strip())
                if plan.status == "paused":
                    self.say(self.words("/resume goes on with it."))
        return bool(listed)

    def _replay(self, plan_id: PlanId) -> None:
        for recorded, after in self.app.plans.events(plan_id, 0, None):
            match recorded.event:
                case ev.PlanStart():
                    self.send(shown.said(recorded.event.request))
                case ev.PlanMessage():
                    self.send(shown.said(recorded.event.text))
                case _:
                    pass
            self._updates.on_event(recorded, after)
        self.follow(plan_id)
        self._updates.flush()

    def _soon(self, work: Callable[[], None]) -> None:
        """Do this once the answer to the request that opens the session is on its way."""
        asyncio.get_running_loop().call_soon(work)


class _Interrupted(Exception):
    """The prompt was cancelled."""


def _stated(server: Any) -> tuple[str, dict[str, Any]]:
    """A server that a client names, as files of folders write it; one that speaks the old SSE has no form."""
    if isinstance(server, schema.McpServerStdio):
        given = {each.name: each.value for each in server.env}
        return server.name, {"command": server.command, "args": server.args, "env": given}
    if isinstance(server, schema.HttpMcpServer):
        return server.name, {"url": server.url, "headers": {each.name: each.value for each in server.headers}}
    return server.name, {}
