"""The field in which a message to a plan is written, by the status of the plan."""

from __future__ import annotations

from typing import NamedTuple

from planloom.domain.plans.plan import PlanStatus
from planloom.view.words import Words


class MessageField(NamedTuple):
    """The question of the field in which a message is written, the word on its button, and what becomes of it."""

    placeholder: str
    button: str
    hint: str


def message_field(status: PlanStatus, t: Words) -> MessageField:
    """The field for messages to a plan of this status."""
    match status:
        case "draft" | "pending_approval" | "rejected":
            return MessageField(
                t("What should change in this plan?"),
                t("Revise"),
                t(
                    "Gives a new version of the plan; steps that you have edited stay, unless you speak of them."
                ),
            )
        case "paused":
            return MessageField(
                t("Say something to this plan."), t("Send"), t("The plan reads it when it is resumed.")
            )
        case "approved" | "executing":
            hint = t("The running step reads it before its next request to the model.")
            return MessageField(t("Say something to this plan."), t("Send"), hint)
        case "completed" | "failed" | "cancelled":
            return MessageField(
                t("What next?"), t("Continue"), t("A new plan goes on with the conversation of this one.")
            )
