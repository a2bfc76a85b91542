"""The rules of what the user says to a plan, and of who has read it."""

from __future__ import annotations

from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import ALIVE, OPEN, folds, updated
from planloom.domain.plans.plan import Plan, UserMessage
from planloom.domain.values import Instant


@folds(ev.PlanMessage, when=OPEN)
def plan_message(plan: Plan, event: ev.PlanMessage, at: Instant) -> Plan:
    """The plan with one more message, which nobody has read yet, and what it attaches."""
    said = (*plan.messages, UserMessage(text=event.text, at=at))
    return updated(plan, messages=said, attachments=(*plan.attachments, *event.attachments))


@folds(ev.MessagesRead, when=ALIVE)
def messages_read(plan: Plan, event: ev.MessagesRead, _at: Instant) -> Plan:
    """The plan with its first messages read by a step."""
    return with_read(plan, event.count)


def with_read(plan: Plan, count: int | None = None) -> Plan:
    """The plan with its first `count` messages read; None means all."""
    first, rest = plan.messages[:count], () if count is None else plan.messages[count:]
    return updated(plan, messages=(*map(_read, first), *rest))


def with_dropped(plan: Plan, draft: Plan) -> Plan:
    """The plan before a draft that came to nothing, with the messages that came for the draft, which are dropped."""
    later = draft.messages[len(plan.messages) :]
    return updated(plan, messages=(*plan.messages, *(updated(each, state="dropped") for each in later)))


def _read(message: UserMessage) -> UserMessage:
    return updated(message, state="read") if message.state == "open" else message
