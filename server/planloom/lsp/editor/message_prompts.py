"""Asks the user of a client without an extension, by messages with buttons and documents that it opens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from planloom.domain.errors import PlanloomError
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Approval
from planloom.lsp.transport.outgoing import ClientGone, ClientRefused
from planloom.view import problems
from planloom.view.actions import SHOW_CHANGES, Button
from planloom.view.plan_view import view
from planloom.view.questions import Asked, Level, asked, one_by_one
from planloom.view.states import Around, Cause, causes

if TYPE_CHECKING:
    from planloom.domain.values import PlanId
    from planloom.execution.jobs import Jobs
    from planloom.lsp.client_options import ClientExtensions
    from planloom.lsp.editor.question_documents import QuestionDocuments
    from planloom.lsp.transport.codec import PlanloomProtocol
    from planloom.view.words import Words

logger = logging.getLogger(__name__)

_Choice = Button | list[Button] | Literal["again", "apart"]
"""What a button of a message does: an action, a menu of more, the same question again, or one question for each."""


class _Look(NamedTuple):
    """A plan when it was looked at last, and the keys of its causes that have been asked."""

    plan: Plan
    asked: frozenset[str]


@dataclass(eq=False)
class _Waiting:
    """A question that is shown, or waits until others are answered."""

    plan_id: PlanId
    cause: Cause


class MessagePrompts:
    """Shows what calls for the user as messages, except the kinds that the client has declared to show itself.

    A cause that a plan has now and had not before is asked; one that it has no more is taken back. When a paused plan
    goes on, what still waits is asked again. One message is open at a time, since some editors stand still meanwhile.
    A dismissed message is no answer: the question stays pending, and the plan's document can answer it.
    """

    def __init__(
        self,
        protocol: PlanloomProtocol,
        jobs: Jobs,
        declared: ClientExtensions,
        documents: QuestionDocuments,
        press: Callable[[Button], Coroutine[Any, Any, Any]],
        words: Words,
    ) -> None:
        """`declared` is what the client shows itself; `press` does what a button says, `words` are the user's."""
        self._protocol = protocol
        self._jobs = jobs
        self._kinds = declared.left_questions
        self._changes_first = declared.changes_first
        self._documents = documents
        self._press = press
        self._words = words
        self._looks: dict[PlanId, _Look] = {}
        self._apart: set[str] = set()
        self._queue: list[_Waiting] = []
        self._open: tuple[_Waiting, asyncio.Task[str | None]] | None = None

    def on_event(self, recorded: ev.Recorded, after: Plan) -> None:
        """Ask and take back what an event has changed."""
        if after.plan_id in self._looks or causes(after):
            event = recorded.event
            self.look(after, is_at_it=isinstance(event, ev.PlanEdited) and event.by == "user")

    def look(self, plan: Plan, *, is_at_it: bool = False) -> None:
        """Compare a plan with how it was looked at last. What is new is shown soon: approvals that are asked together
        come by an event each. A user who `is_at_it` edits the plan, and is not asked whether to start it.
        """
        now = {each.key: each for each in self._causes(plan)}
        before = self._looks.get(plan.plan_id)
        known = frozenset[str]() if before is None else before.asked & now.keys()
        if before is not None and before.plan.status == "paused" and plan.status != "paused":
            known = frozenset()
        is_edited = before is not None and before.plan.version != plan.version
        for waiting in [each for each in self._queue if each.plan_id == plan.plan_id]:
            cause = now.get(waiting.cause.key)
            is_same = cause is not None and _unjudged(cause) == _unjudged(waiting.cause)
            if cause is None:
                self._queue.remove(waiting)
            else:
                waiting.cause = cause
            if is_same and not (waiting.cause.kind == "review" and is_edited):
                continue
            if self._open is not None and self._open[0] is waiting:
                self._open[1].cancel()
        known |= {each.cause.key for each in self._queue}
        known |= {key for key, cause in now.items() if is_at_it and cause.kind == "review"}
        self._queue += (_Waiting(plan.plan_id, cause) for key, cause in now.items() if key not in known)
        self._looks[plan.plan_id] = _Look(plan, frozenset(now))
        if not now:
            del self._looks[plan.plan_id]
        if self._queue:
            self._jobs.start("ask", self._ask_all())

    def _causes(self, plan: Plan) -> Sequence[Cause]:
        found = [each for each in causes(plan) if each.kind in self._kinds]
        return [one for each in found for one in (one_by_one(each) if each.key in self._apart else (each,))]

    async def _ask_all(self) -> None:
        """Show the questions that wait, one after the other."""
        while self._queue:
            waiting = self._queue[0]
            try:
                await self._ask(waiting)
            except (PlanloomError, ClientGone) as error:
                logger.info("A question of plan %s is not shown: %s", waiting.plan_id, error)
            finally:
                if waiting in self._queue:
                    self._queue.remove(waiting)

    async def _ask(self, waiting: _Waiting) -> None:
        """Show a question until it is answered, dismissed or taken back."""
        seen = False
        while waiting in self._queue:
            plan, cause = self._looks[waiting.plan_id].plan, waiting.cause
            question = asked(view(plan, Around(self._words)), cause, self._words)
            lines = [question.text, *await self._documents.show(plan, cause)]
            if not question.choices:
                self._protocol.show_message("warning", "\n".join(lines))
                return
            shows = next((each for each in question.choices if each.command == SHOW_CHANGES), None)
            if self._changes_first and shows is not None and not seen:
                seen = (await self._pressed(shows) or {}).get("shown") is True
            choices, more = self._choices(cause, question, seen=seen)
            chosen = await self._chosen(waiting, question.level, [*lines, *more], choices)
            if isinstance(chosen, list):
                titles: dict[str, _Choice] = {each.title: each for each in chosen}
                lines = [question.text.partition("\n")[0], *map(_meaning, chosen)]
                back = self._words("Back")
                chosen = await self._chosen(waiting, question.level, lines, titles, back) or "again"
            if chosen == "again":
                continue
            if isinstance(chosen, Button) and chosen.command == SHOW_CHANGES:
                seen = (await self._pressed(chosen) or {}).get("shown") is True
                continue
            if waiting in self._queue:
                self._queue.remove(waiting)
            if chosen == "apart":
                self._apart.add(cause.key)
                self.look(plan)
            elif isinstance(chosen, Button):
                await self._pressed(chosen)

    async def _pressed(self, button: Button) -> Any:
        """Do what a button says. A failure is told; what then still waits can be answered in the plan's document."""
        try:
            return await self._press(button)
        except PlanloomError as error:
            failure = problems.of_failure(error, datetime.now(UTC), self._words)
            self._protocol.show_message("info", f"Planloom: {failure.words}")
            return None

    def _choices(self, cause: Cause, question: Asked, *, seen: bool) -> tuple[dict[str, _Choice], list[str]]:
        """The buttons by their titles, and lines on what they mean. What is long and not seen is allowed by another
        word, and not together with others.
        """
        t, found = self._words, dict[str, _Choice]()
        is_unseen, is_list = question.unseen is not None and not seen, len(cause.about) > 1
        for button in question.choices:
            if button.command == SHOW_CHANGES and not self._documents.can_show:
                continue
            if is_unseen and _allows(button):
                if not is_list:
                    found.setdefault(t("Allow unseen"), button)
            elif button.menu is None:
                found[button.title] = button
            else:
                menu = found.setdefault(button.menu, [])
                assert isinstance(menu, list), "no action has the words of a menu"
                menu.append(button)
        if cause.kind == "review" and self._documents.can_show:
            found[t("Show")] = "again"
        if is_list:
            found[t("One by one")] = "apart"
        lines = [_meaning(each) for each in found.values() if isinstance(each, Button) and each.hint]
        return found, [*lines, *([t("Not seen yet: {0}", question.unseen or "")] if is_unseen else [])]

    async def _chosen(
        self,
        waiting: _Waiting,
        level: Level,
        lines: Sequence[str],
        choices: dict[str, _Choice],
        later: str | None = None,
    ) -> _Choice | None:
        """What the user chooses; "again" if the question has changed meanwhile, None without an answer."""
        text = "\n".join(lines)
        if waiting not in self._queue:
            return None
        message = asyncio.ensure_future(self._message(waiting.plan_id, level, text, [*choices], later))
        self._open = waiting, message
        try:
            await asyncio.wait({message})
        finally:
            self._open = None
            message.cancel()
        if message.cancelled():
            return "again"
        return choices.get(message.result() or "")

    async def _message(
        self, plan_id: PlanId, level: Level, text: str, titles: Sequence[str], later: str | None
    ) -> str | None:
        """The button that the user presses; None if there is no answer, which can then be given in the document."""
        try:
            chosen = await self._protocol.ask_by_message(level, text, titles, later)
        except ClientGone:
            logger.info("The client disconnected before it answered")
            return None
        except ClientRefused as error:
            logger.info("The client did not show a message with buttons: %s", error)
            await self._documents.show_plan(plan_id)
            # Some editors show only warnings by themselves, and this wants an answer.
            told: Level = "warning" if level == "info" else level
            self._protocol.show_message(told, f"{text}\n{self._documents.place(plan_id)}")
            return None
        if (
            chosen is None
            and later is None
            and await self._documents.show_plan(plan_id)
            and not self._documents.can_show
        ):
            self._protocol.show_message("info", f"Planloom: {self._documents.place(plan_id)}")
        return chosen


def _unjudged(cause: Cause) -> Cause:
    """A question without what is judged, which may come late: a message that is open is not taken back for it."""
    about = (
        each.model_copy(update={"judged": None}) if isinstance(each, Approval) else each
        for each in cause.about
    )
    return cause._replace(about=tuple(about))


def _allows(button: Button) -> bool:
    return any(str(each).startswith("allow") for each in button.arguments[1:])


def _meaning(button: Button) -> str:
    return f"{button.title}: {button.hint}"
