"""Remembers by which model a plan was written, where the command line named it, so that `resume` needs no options."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planloom.cli.arguments import MODEL_SETTINGS
from planloom.cli.client.session import Session
from planloom.user_folders import state_folder

if TYPE_CHECKING:
    from planloom.storage.decisions import Decisions

_PREFIX = "model."


def named(args: Namespace) -> dict[str, Any]:
    """The settings of the model that a command line names, by their dotted names."""
    from planloom.settings import from_text

    set_here = ((name.removeprefix("planloom."), from_text(value)) for name, value in args.set)
    options = ((name, getattr(args, option)) for name, option in MODEL_SETTINGS)
    return {
        name: value for name, value in (*set_here, *options) if name.startswith(_PREFIX) and value is not None
    }


def keep(plan_id: str, settings: Mapping[str, Any]) -> None:
    """Keep the settings for a plan, unless there are none. That they cannot be kept changes nothing else."""
    from planloom.domain.errors import StorageFailed

    if settings:
        try:
            decisions().keep_model(plan_id, settings)
        except StorageFailed:
            return


async def take_up(session: Session, plan_id: str) -> str | None:
    """Have the server use the model that was kept for a plan; a sentence on it, None if there is none.

    A variable of the environment that names another model is stronger. Raises as `Session.request` does.
    """
    settings = decisions().model_of(plan_id)
    if not settings:
        return None
    await session.request("planloom/settings/user", {"values": settings})
    return f"The model is the one of the plan: {', '.join(map(str, settings.values()))}"


def decisions() -> Decisions:
    """The user's decisions, for every client."""
    from planloom.storage.decisions import FILE, Decisions

    return Decisions(state_folder() / FILE)
