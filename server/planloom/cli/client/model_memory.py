"""Remembers by which model a plan was written, so that `resume` needs no options."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planloom.cli.arguments import MODEL_SETTINGS
from planloom.cli.client.messages import Json
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
    """Have the server use the model that a command line has named for a plan, else the one that was asked last for it.

    A sentence on it, None if there is none. A variable of the environment that names another model is stronger.
    Raises as `Session.request` does.
    """
    settings = decisions().model_of(plan_id)
    if not settings:
        got = await session.request("planloom/plan/get", {"planId": plan_id})
        used: Sequence[Json] = (got.get("spent") or {}).get("models") or ()
        listed = await session.request("planloom/model/list", {"select": True}) if used else {"models": ()}
        settings = next(
            (
                {"model.provider": each["provider"], "model.name": each["name"]}
                for each in listed["models"]
                if each["reachable"] and f"{each['provider']}/{each['name']}" == used[-1]["model"]
            ),
            {},
        )
    if not settings:
        return None
    await session.request("planloom/settings/user", {"values": settings})
    return f"The model is the one of the plan: {', '.join(map(str, settings.values()))}"


def decisions() -> Decisions:
    """The user's decisions, for every client."""
    from planloom.storage.decisions import FILE, Decisions

    return Decisions(state_folder() / FILE)
