"""Runs one request from its creation to its end, and asks the flags or the person for every decision."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from planloom.cli import templates
from planloom.cli.client import model_memory
from planloom.cli.client.connection import ServerError, ServerLost
from planloom.cli.client.messages import (
    Approval,
    ApprovalFile,
    Conflict,
    DiffResult,
    Json,
    Plan,
    PlanView,
    Question,
    Recovery,
    Step,
)
from planloom.cli.client.session import Session
from planloom.cli.client.views import first_to_skip, offers, step_of
from planloom.cli.plain import one_line
from planloom.cli.terminal import decisions as ask
from planloom.cli.terminal.decisions import Decider, Flags, Leave
from planloom.cli.terminal.screen import Screen

T = TypeVar("T")


_ALREADY_DECIDED = frozenset({"wrong_state", "unknown_approval", "unknown_step", "unknown_edit"})
"""The codes of errors for an answer that comes too late: nothing waits for it any more."""
_STOPPED = frozenset({"storage_failed", "owned_elsewhere"})
"""The codes of errors after which nothing more happens to the plan here."""
_ENDS = frozenset({"plan_completed", "plan_failed", "plan_cancelled", "plan_rejected"})
"""The events that end a plan."""
_SPOKEN_TO = ("completed", "failed", "cancelled")
_CONTINUED_SECONDS = 10.0
"""How long the plan may take to begin that continues an ended one."""
_OUTCOMES: Mapping[str, str] = {
    "revising": "The plan is revised.",
    "delivered": "The running step reads it before its next request to the model.",
    "queued": "The next step that the model works on reads it.",
    "continued": "A new plan continues with it.",
}
"""The sentence on a message, by its outcome."""


class Request(NamedTuple):
    """A request and its options; `until_ready` stops at the drafted plan, `follows` continues the latest ended one.

    `document` is the text of a plan document, which is reviewed instead of a draft. `template` names the
    template to plan by, `parameters` are its values.
    """

    text: str
    mode: str = "auto"
    review: str | None = None
    until_ready: bool = False
    follows: bool = False
    document: str | None = None
    template: str | None = None
    parameters: Mapping[str, str] = {}


class RequestRun:
    """One plan in one session. `needed_trust`: a step failed because the workspace is not trusted."""

    def __init__(
        self,
        running: Session,
        screen: Screen,
        person: Decider,
        flags: Flags,
        model: Mapping[str, Any] = {},
    ) -> None:
        """`model` are the settings of the model that are kept for the plan."""
        self._model = model
        self._session = running
        self._connection = running.connection
        self._screen = screen
        self._person = person
        self._flags = flags
        self._reviewed = -1
        self._shown_version: int | None = None
        self._review: str | None = None
        self._until_ready = False
        self._shown: set[str] = set()
        self._listed: list[Approval] = []
        self._assumed: dict[str, str] = {}
        self._summaries: dict[str, str] = {}
        self._reads_lines = flags.terminal
        self._seen = 0
        self.view: PlanView = {}
        self._stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.needed_trust = False

    @property
    def _plan(self) -> Plan:
        return self.view["plan"]

    async def carry_out(self, request: Request) -> PlanView:
        """Run the request to its end, or to its review. Raises ServerLost, and ServerError if the server refuses."""
        self._review, self._until_ready = request.review, request.until_ready
        if request.document is not None:
            return await self._adopt(request.document)
        created = await (self._continued(request.text) if request.follows else self._created(request))
        self._screen.request_created(created, asked=request.mode != "auto")
        self._begins(await self._view_after(created["plan"]))
        return await self._to_its_end()

    def _begins(self, view: PlanView) -> None:
        """Carry out this plan from now on."""
        self.view = view
        model_memory.keep(self._plan["planId"], self._model)

    async def _adopt(self, text: str) -> PlanView:
        """Make a plan under review of a plan document, and show it."""
        adopted = await self._connection.request("planloom/plan/adopt", {"text": text})
        self._seen = adopted["plan"]["seq"]
        self._begins(await self._view_after(adopted["plan"]))
        return self.view if await self._review_plan() else await self._to_its_end()

    async def resume(self, view: PlanView, *notes: str) -> PlanView:
        """Take up a plan that was left, and carry it out to its end. Raises as `go_on` does."""
        self._begins(view)
        self._screen.resumed(view)
        for note in notes:
            self._screen.note(note)
        return await self.go_on("resume")

    async def go_on(self, choice: ask.PauseChoice) -> PlanView:
        """Go on with the plan to its end: one in review is shown and asked about, one that is paused is resumed.

        Raises Leave, ServerError if the server refuses it or cannot go on, and ServerLost.
        """
        plan = self._plan
        self._seen, self._reviewed, self._listed = plan["seq"], -1, []
        if plan["status"] == "pending_approval":
            if await self._review_plan():
                return self.view
        elif await self._after_pause(choice):
            # No event asks these again.
            for question in (plan.get("pending") or {}).get("questions") or []:
                await self._answer_question({"taskId": question["stepId"], **question})
            for recovery in (plan.get("pending") or {}).get("recoveries") or []:
                self._screen.failure(recovery["error"], None)
                await self._answer_recovery({"taskId": recovery["stepId"], **recovery})
            for conflict in (plan.get("pending") or {}).get("conflicts") or []:
                await self._answer_conflict(conflict)
        return await self._to_its_end()

    async def _after_pause(self, choice: ask.PauseChoice) -> bool:
        """Do with the paused plan what was chosen; whether it goes on where it was."""
        plan: Json = {"planId": self._plan["planId"]}
        match choice:
            case "resume" | "review":
                await self._connection.request(f"planloom/plan/{choice}", plan)
            case "skip" if (step := first_to_skip(self.view)) is not None:
                edits = [{"op": "skip", "stepId": step["step"]["stepId"]}]
                version = {"version": self._plan["version"], "edits": edits}
                await self._connection.request("planloom/plan/edit", plan | version)
            case _:
                await self._cancel_plan()
        return choice == "resume"

    @property
    def is_open(self) -> bool:
        """Whether there is a plan that has not ended."""
        return bool(self.view) and self.view["live"]

    async def pause(self) -> None:
        """Pause the plan, if it is open: the running step stops, after the edit that is being made."""
        if self.is_open and offers(self.view, "planloom.pause"):
            # It may have paused by itself meanwhile, as for a conflict.
            with contextlib.suppress(ServerError):
                await self._connection.request("planloom/plan/pause", {"planId": self._plan["planId"]})
        if self.view:
            self.view = await self._session.view(self._plan["planId"])

    async def _view_after(self, known: Json) -> PlanView:
        """The view that shows an event, or a plan of an answer."""
        return await self._or_lost(self._session.view(known["planId"], known["seq"]))

    async def _to_its_end(self) -> PlanView:
        while True:
            await self._to_the_end_of_one_plan()
            if self._plan["status"] != "completed" or (then := await self._continued_by()) is None:
                self._show_assumptions()
                return self.view
            self._screen.ended(self.view)
            self._begins(await self._view_after(then))
            self._seen = 0

    async def _to_the_end_of_one_plan(self) -> None:
        watching = asyncio.create_task(self._watch(self._plan["planId"]))
        try:
            while not await self._on_event(await self._next_event()):
                pass
        finally:
            watching.cancel()

    async def _watch(self, plan_id: str) -> None:
        """Wait with the server for the end of a plan. No event says that its ledger fails or that it was deleted."""
        try:
            await self._connection.request("planloom/plan/wait", {"planId": plan_id})
        except ServerError as error:
            if not self._stopped.done():
                self._stopped.set_exception(error)
                self._stopped.exception()
        except ServerLost:
            # `_or_lost` sees that, too.
            return

    async def _created(self, request: Request) -> Json:
        params: Json = {"text": request.text, "mode": request.mode}
        if request.template is not None:
            template = await templates.named(self._connection, request.template)
            params["text"] = request.text or template["name"]
            params |= {"templateId": template["templateId"], "parameters": dict(request.parameters)}
        confirmed = await self._confirmed_secrets(request.text)
        more = {"confirmed": confirmed} if confirmed else {}
        created: Json = await self._connection.request("planloom/plan/create", params | more)
        return created

    async def _continued(self, text: str) -> Json:
        """Say something to the latest ended plan, which a new plan then continues."""
        listed = await self._connection.request(
            "planloom/plan/list", {"status": sorted(_SPOKEN_TO), "limit": 1}
        )
        if not listed["plans"]:
            raise ServerError("There is no ended plan here that could be continued.", code="unknown_plan")
        latest = listed["plans"][0]
        self._screen.note(f"Continues: {one_line(latest.get('request', ''), 100)}")
        params = {"planId": latest["planId"], "text": text}
        plan = (await self._connection.request("planloom/plan/message", params))["plan"]
        return {"plan": plan, "detection": plan.get("detection")}

    async def _continued_by(self) -> Json | None:
        """The start of the plan that carries out what no step has read of what the person typed."""
        if not any(message.get("state") == "open" for message in self._plan.get("messages") or []):
            return None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CONTINUED_SECONDS):
                while True:
                    event = await self._or_lost(self._session.events.get())
                    if event["type"] == "plan_start" and event.get("follows") == self._plan["planId"]:
                        return event
        return None

    async def cancel(self) -> None:
        """Cancel the plan, if there is one that has not ended, and wait until it has ended."""
        if not self.is_open:
            return
        self._seen = self._plan["seq"]
        await self._connection.request("planloom/plan/cancel", {"planId": self._plan["planId"]})
        while not await self._follow(await self._next_event()):
            pass

    async def _next_event(self) -> Json:
        while True:
            # Events that arrived before the server ended are still handled.
            event = (
                await self._event_or_line()
                if self._session.events.empty()
                else self._session.events.get_nowait()
            )
            if event is None:
                continue
            if event.get("planId") == self._plan["planId"] and event.get("seq", 0) > self._seen:
                self._screen.raw(event)
                return event

    async def _event_or_line(self) -> Json | None:
        """The next event; None after a line was typed, which is said to the plan."""
        getting = asyncio.ensure_future(self._session.events.get())
        if not self._reads_lines:
            return await self._or_lost(getting)
        typing = asyncio.ensure_future(self._person.typed())
        try:
            await self._or_lost(asyncio.wait({getting, typing}, return_when=asyncio.FIRST_COMPLETED))
        finally:
            # A cancelled wait leaves its event in the queue, and its line in the terminal.
            for waiting in (getting, typing):
                waiting.cancel()
        if typing.done() and not typing.cancelled():
            line = typing.result()
            if len(line) == 1:
                # The answer to a question that came too late, or was typed twice.
                self._screen.note(f"Nothing is asked at the moment, so “{line}” is not sent.")
            else:
                await self._say(line, again=True)
        return getting.result() if getting.done() and not getting.cancelled() else None

    async def _say(self, text: str, *, again: bool = False) -> bool:
        """Say something to the plan, and show what becomes of it; False if the server refused it.

        `again` shows the text, too: what is typed while the plan runs is drawn over by the status line.
        """
        try:
            said = await self._connection.request(
                "planloom/plan/message", {"planId": self._plan["planId"], "text": text}
            )
        except ServerError as error:
            self._screen.failure(error.words, error.hint, error.details)
            return False
        outcome = said.get("waitsFor") or _OUTCOMES.get(said.get("outcome", ""), "")
        self._screen.note(f"“{one_line(text, 100)}”: {outcome}" if again else outcome)
        return True

    async def _on_event(self, event: Json) -> bool:
        """Show an event and ask what it asks; whether the plan has ended, or is to be run no further."""
        has_ended = await self._follow(event)
        self._screen.event(event, self.view)
        match event["type"]:
            case "plan_ready" | "plan_approval_request" | "plan_edited":
                return await self._review_plan()
            case "plan_drafting":
                # A draft that comes to nothing puts the version before it to review again.
                self._reviewed = -1
            case "plan_executing" | "plan_direct" if self._reads_lines:
                self._screen.note("A line that you type while the plan runs goes to it.")
            case "approval_request":
                await self._answer_request(event["approval"])
            case "clarification_request":
                await self._answer_question(event)
            case "recovery_request":
                await self._answer_recovery(event)
            case "edit_conflict":
                await self._answer_conflict(event["conflict"])
            case "plan_paused":
                await self._answer_pause(event)
            case "edit_applied":
                await self._show_unasked(event)
            case "task_completed" if event["taskId"] in self._assumed:
                self._summaries[event["taskId"]] = (event.get("result") or {}).get("summary") or ""
        return has_ended

    async def _follow(self, event: Json) -> bool:
        """Take the view that shows an event; whether the event has ended the plan."""
        self.needed_trust |= event.get("code") == "untrusted_workspace"
        self.view = await self._view_after(event)
        return event["type"] in _ENDS

    async def _review_plan(self) -> bool:
        """Ask about each version of a plan under review; whether it is to be run no further."""
        while self._plan["status"] == "pending_approval" and self._plan["version"] != self._reviewed:
            self._reviewed = version = self._plan["version"]
            if self._until_ready or self._flags.yes:
                self._screen.plan(self.view)
            if self._until_ready:
                return True
            if self._flags.yes:
                self._screen.note("The plan is approved (--yes).")
                answer = ask.Reviewed("execute")
            else:
                changes = self.view.get("changes") or [] if self._shown_version == version - 1 else []
                self._shown_version = version
                answer = await self._ask(self._person.review(self.view, changes))
            if not await self._decide(answer):
                await self._refetch_plan()
        return False

    async def _decide(self, answer: ask.Reviewed) -> bool:
        """Do what was chosen; False if the plan must be reviewed again."""
        plan: Json = {"planId": self._plan["planId"]}
        match answer.choice:
            case "execute":
                params = plan | {"version": self._plan["version"]}
                return await self._send_answer(
                    "planloom/plan/approve", params | ({"review": self._review} if self._review else {})
                )
            case "direct":
                return await self._send_answer("planloom/plan/direct", plan)
            case "revise":
                text = answer.sentence or await self._ask(self._person.revision())
                return bool(text) and await self._say(text)
            case "edit":
                return await self._edit()
            case "cancel":
                return await self._send_answer("planloom/plan/cancel", plan)

    async def _refetch_plan(self) -> None:
        """Fetch the plan again. If flags decide and it is unchanged, raise Leave: the answer would be refused again."""
        self.view = await self._session.view(self._plan["planId"])
        if self._flags.yes and self._plan["version"] == self._reviewed:
            raise Leave
        self._reviewed = -1

    async def _edit(self) -> bool:
        """Let the person edit the plan as a document; whether it has become another version."""
        plan: Json = {"planId": self._plan["planId"]}
        exported = await self._connection.request("planloom/plan/export", plan | {"format": "document"})
        version = plan | {"version": self._plan["version"]}

        async def send(text: str) -> None:
            await self._connection.request("planloom/plan/rewrite", version | {"text": text})

        return await self._ask(self._person.edited(exported["text"], ".plan.md", send))

    async def _answer_request(self, approval: Approval) -> None:
        """Answer an approval; one of a list once the whole list has come, which it does event by event."""
        place = approval.get("listed")
        if place is None:
            return await self._answer_approval(approval)
        self._listed.append(approval)
        if place["position"] < place["size"]:
            return None
        listed, self._listed = self._listed, []
        by_flags = any(ask.verdict_by_flags(each, self._flags) is not None for each in listed)
        verdicts = None if by_flags else await self._ask(self._person.approvals(listed))
        if verdicts is None:
            for each in listed:
                await self._answer_approval(each)
            return None
        for each, verdict in zip(listed, verdicts, strict=True):
            await self._respond(each, verdict)
            if verdict.decision == "cancel":
                break
        return None

    async def _answer_approval(self, approval: Approval) -> None:
        diffs = await self._diffs(approval)
        if diffs is None:
            verdict = ask.Verdict("deny", "The changes could not be shown.")
        else:
            by_flags = ask.verdict_by_flags(approval, self._flags)
            if by_flags is not None or not self._flags.terminal:
                # Nobody else shows it.
                self._screen.approval(approval, diffs)
            if by_flags is not None:
                self._screen.note(_flags_sentence(approval, by_flags))
                verdict = by_flags
            else:
                verdict = await self._ask(self._person.approval(approval, diffs))
        await self._respond(approval, verdict)

    async def _respond(self, approval: Approval, verdict: ask.Verdict) -> None:
        params: Json = {"approvalId": approval["approvalId"], "decision": verdict.decision}
        if verdict.reason:
            params["reason"] = verdict.reason
        if verdict.files is not None:
            params["files"] = list(verdict.files)
        if verdict.confinement is not None:
            params["confinement"] = verdict.confinement
        if verdict.edits:
            params["edits"] = [{"uri": uri, "text": text} for uri, text in verdict.edits.items()]
        if verdict.decision not in ("deny", "cancel"):
            self._shown.update(
                file.get("newUri") or file["uri"]
                for file in approval.get("files") or []
                if verdict.files is None or file["uri"] in verdict.files
            )
        await self._send_answer("planloom/approval/respond", params)

    async def _show_unasked(self, event: Json) -> None:
        """Show the changes of an edit that nobody was asked about."""
        for file in event.get("files") or []:
            uri = file.get("newUri") or file["uri"]
            if uri in self._shown:
                self._shown.discard(uri)
                if self._step(event.get("taskId") or "").get("kind") != "tool_call":
                    self._screen.made(cast(ApprovalFile, file), self.view)
            elif file.get("change") in ("create", "edit", "delete"):
                params = {"planId": self._plan["planId"], "uri": uri, "editId": event["editId"]}
                with contextlib.suppress(ServerError):
                    diff = await self._connection.request("planloom/plan/diff", params)
                    self._screen.change(cast(ApprovalFile, file), cast(DiffResult, {**diff, "uri": uri}))

    async def _diffs(self, approval: Approval) -> list[DiffResult] | None:
        diffs: list[DiffResult] = []
        for file in approval.get("files") or []:
            if file.get("change") in ("create", "edit", "delete"):
                params = {"approvalId": approval["approvalId"], "uri": file["uri"]}
                try:
                    diff = await self._connection.request("planloom/approval/diff", params)
                    diffs.append(cast(DiffResult, {**diff, "uri": file["uri"]}))
                except ServerError as error:
                    self._screen.failure(error.words, error.hint)
                    return None
        return diffs

    async def _answer_question(self, event: Json) -> None:
        question = cast(Question, {"stepId": event["taskId"], "question": event.get("question", "")})
        question["options"] = list(event.get("options") or [])
        params = {"planId": self._plan["planId"], "stepId": event["taskId"]}
        # The answer becomes an argument of a call unchanged, so only a person may give it.
        answerable = self._flags.terminal or not self._is_an_argument(event["taskId"])
        while True:
            try:
                if not answerable:
                    raise Leave
                answer = await self._ask(self._person.question(question))
            except Leave:
                if not self._flags.terminal:
                    self._screen.failure(
                        f"The plan asks: {question['question']}",
                        "There is no terminal to ask at: answer it in the request, or run this in a terminal.",
                    )
                raise
            if answer == ask.ASSUME:
                self._screen.note(f"The plan asks: {question['question']}")
                self._screen.note("The model takes its own best assumption (--yes).")
                self._assumed[event["taskId"]] = question["question"]
            if await self._send_answer("planloom/step/answer", params | {"answer": answer}):
                return

    async def _answer_recovery(self, event: Json) -> None:
        recovery = cast(Recovery, {"stepId": event["taskId"], **event})
        params: Json = {"planId": self._plan["planId"], "stepId": event["taskId"]}
        proposal = None if self._flags.terminal else recovery.get("proposal")
        if proposal:
            self._screen.note(f"The model proposes to {proposal.get('action')}: {proposal.get('why')}")
        while True:
            try:
                choice = await self._ask(self._person.recovery(self._step(event["taskId"]), recovery))
            except Leave:
                if proposal:
                    self._screen.note(_not_accepted(self._flags))
                raise
            if proposal:
                self._screen.note("The proposal is accepted (--yes).")
            more = {"args": choice.args} if choice.args is not None else {}
            if await self._send_answer("planloom/step/recover", params | {"action": choice.action} | more):
                return
            if not self._flags.terminal:
                raise Leave

    async def _answer_conflict(self, conflict: Conflict) -> None:
        params: Json = {"planId": self._plan["planId"], "editId": conflict["editId"]}
        while True:
            choices = await self._ask(self._person.conflict(conflict))
            if choices is None:
                return await self._cancel_plan()
            files = [{"uri": uri, "choice": choice} for uri, choice in choices.items()]
            if await self._send_answer("planloom/conflict/resolve", params | {"files": files}):
                return None
            if not self._flags.terminal:
                raise Leave

    async def _answer_pause(self, event: Json) -> None:
        # A pause for a question, a recovery or a conflict ends when that is answered.
        if event.get("reason") not in ("budget", "model_unavailable", "unsaved_files", "error"):
            return
        detail = str(event.get("detail") or "")
        if not self._screen.problem(self.view):
            why = self.view.get("pause") or detail or f"The plan paused: {event.get('reason')}."
            self._screen.failure(why, self.view.get("pauseHelp"))
        choice = await self._ask(self._person.pause(self.view))
        if not self._flags.terminal:
            self._screen.note("The plan goes on (--yes).")
        await self._after_pause(choice)

    async def _confirmed_secrets(self, text: str) -> list[str]:
        if "@" not in text:
            return []
        resolved = await self._connection.request("planloom/reference/resolve", {"text": text})
        secret = [item for item in resolved.get("unresolved") or [] if item.get("code") == "secret"]
        return [
            item["reference"]
            for item in secret
            if await self._ask(self._person.attach_secret(item["reference"], item.get("message", "")))
        ]

    async def _cancel_plan(self) -> None:
        await self._send_answer("planloom/plan/cancel", {"planId": self._plan["planId"]})

    async def _send_answer(self, method: str, params: Json) -> bool:
        """Send an answer; False if the server refused it although it still waits for one.

        Raises ServerError if the plan was stopped.
        """
        try:
            await self._connection.request(method, params)
        except ServerError as error:
            if error.code in _STOPPED:
                raise
            self._screen.failure(error.words, error.hint, error.details)
            return error.code in _ALREADY_DECIDED
        return True

    async def _ask(self, asking: Awaitable[T]) -> T:
        self._screen.pause()
        return await self._or_lost(asking)

    async def _or_lost(self, work: Awaitable[T]) -> T:
        """Await `work`, or raise ServerLost as soon as the server is gone, ServerError once the plan is stopped."""
        working = asyncio.ensure_future(work)
        ends: set[asyncio.Future[Any]] = {working, self._connection.lost, self._stopped}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            if self._stopped.done():
                self._stopped.result()
            raise self._connection.loss()
        finally:
            if not working.done():
                working.cancel()

    def _show_assumptions(self) -> None:
        """Print each question that nobody was there to answer, with the assumption that its step reported."""
        for step_id, question in self._assumed.items():
            summary = self._summaries.get(step_id)
            self._screen.note(
                f"Assumed, since nobody answered “{question}”: {summary}"
                if summary
                else f"Nobody answered “{question}”, and the step reported no assumption."
            )

    def _is_an_argument(self, step_id: str) -> bool:
        """Whether the answer to this question step becomes an argument of a later call."""
        if self._step(step_id).get("kind") != "clarification":
            return False
        # Imported here, since few plans ask, and it brings pydantic.
        from planloom.domain.plans.outputs import output_references

        return any(
            reference.step_id == step_id
            for step in self._plan.get("steps") or []
            for _, reference in output_references(step.get("args"))
        )

    def _step(self, step_id: str) -> Step:
        found = step_of(self.view, step_id)
        return cast(Step, {"stepId": step_id}) if found is None else found["step"]


def _flags_sentence(approval: Approval, verdict: ask.Verdict) -> str:
    if verdict.decision == "deny":
        return f"Denied: {verdict.reason}"
    flag = "--yes-commands" if ask.needs_more_than_yes(approval) else "--yes"
    if verdict.confinement is not None and not (approval.get("confinement") or {}).get("asksNetwork"):
        return f"Allowed ({flag}), but nothing outside of the workspace that it asks for: only a person gives it."
    if verdict.confinement is not None:
        return f"Allowed ({flag}), but no network that it asks for: the setting planloom.commands.network gives it."
    return f"Allowed ({flag})."


def _not_accepted(flags: Flags) -> str:
    """Why the model's proposal for a failed step is not accepted where there is no terminal."""
    if flags.yes:
        return f"The proposal is not accepted: --yes accepts at most {ask.MOST_ACCEPTED} for one step."
    return "The proposal is not accepted: there is no terminal to ask at."
