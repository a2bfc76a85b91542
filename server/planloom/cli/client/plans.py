"""Finds the plan that a person names by the beginning of its id, and the shortest such beginnings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import cast

from planloom.cli.client.connection import Connection, ServerError
from planloom.cli.client.messages import Json, Plan, PlanSummary
from planloom.cli.client.session import Session
from planloom.cli.plain import one_line
from planloom.workspace.paths.uris import to_path

MOST = 1000
"""How many plans the server lists at most; an older one is found by its whole id."""
EVERYWHERE: Json = {"allWorkspaces": True}
"""The parameter by which a plan of other folders is read."""
_SHORT = 8
_SHOWN = 5


async def named(
    session: Session, start: str | None, statuses: Collection[str] = (), kind: str = "plan"
) -> Plan:
    """The plan whose id begins with `start`, or without it the newest in these folders that has one of the statuses.

    Raises ServerError if there is none, or if several ids begin so; `kind` names what is missing.
    """
    return cast(Plan, (await answer_for(session, start, statuses, kind))["plan"])


async def answer_for(
    session: Session, start: str | None, statuses: Collection[str] = (), kind: str = "plan"
) -> Json:
    """The answer of `planloom/plan/get` for the plan that `named` finds. Raises ServerError as it does."""
    if start is None:
        params: Json = {"limit": 1} | ({"status": sorted(statuses)} if statuses else {})
        found = await _listed(session.connection, params)
        if not found:
            raise ServerError(f"There is no {kind} in this folder.", code="unknown_plan", hint=_ELSEWHERE)
        return await _got(session.connection, found[0]["planId"])
    everything = await _listed(session.connection, {"limit": MOST} | EVERYWHERE)
    ids = [plan["planId"] for plan in everything if plan["planId"].startswith(start)] if start else []
    if len(ids) > 1 and start not in ids:
        short = short_ids(ids, (plan["planId"] for plan in everything))
        names = ", ".join(short[each] for each in ids[:_SHOWN])
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        raise ServerError(f"Several plans begin with {start!r}: {names}{more}.", code="unknown_plan")
    if ids:
        return await _got(session.connection, start if start in ids else ids[0])
    if len(everything) < MOST:
        raise ServerError(
            f"There is no plan whose id begins with {start!r}.", code="unknown_plan", hint=_ELSEWHERE
        )
    return await _got(session.connection, start)


async def left(session: Session, statuses: Collection[str]) -> tuple[str, int]:
    """The id of the plan that was left last of those in these statuses, and how many others there are.

    Raises ServerError if there is none, or if another plan was begun since then and has ended: then somebody who names
    no plan may mean that one.
    """
    listed = await _listed(session.connection, {"limit": MOST})
    if not (waiting := [plan for plan in listed if plan["status"] in statuses]):
        raise ServerError(
            "There is no plan that could be resumed in this folder.", code="unknown_plan", hint=_ELSEWHERE
        )
    found = max(waiting, key=lambda plan: plan["updatedAt"])
    newest = max(listed, key=lambda plan: plan["createdAt"])
    if newest["status"] not in statuses and newest["createdAt"] > found["updatedAt"]:
        raise ServerError(
            f"The newest plan has ended, “{one_line(newest['request'], 60)}” ({newest['state']}).",
            code="unknown_plan",
            hint=f"`planloom resume {found['planId'][:_SHORT]}` takes up the plan that was left before it, "
            f"“{one_line(found['request'], 60)}”.",
        )
    return found["planId"], len(waiting) - 1


def roots(plan: Plan) -> list[Path]:
    """The folders of a plan that are on this machine."""
    return [path for uri in plan.get("workspaceFolders") or [] if (path := to_path(uri)) is not None]


_ELSEWHERE = "`planloom plans --all` lists the plans of all folders."


def short_ids(ids: Iterable[str], among: Iterable[str]) -> dict[str, str]:
    """The beginning of each id that no other of `among` has, of at least eight characters."""
    ordered = sorted({*among, *(ids := list(ids))})
    places = {plan_id: place for place, plan_id in enumerate(ordered)}
    return {plan_id: plan_id[: _unique(ordered, places[plan_id])] for plan_id in ids}


def _unique(ordered: Sequence[str], place: int) -> int:
    own = ordered[place]
    neighbours = (ordered[each] for each in (place - 1, place + 1) if 0 <= each < len(ordered))
    return max(_SHORT, *(_common(own, other) + 1 for other in neighbours), 0)


def _common(one: str, other: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


async def _listed(connection: Connection, params: Json) -> list[PlanSummary]:
    return cast(list[PlanSummary], (await connection.request("planloom/plan/list", params))["plans"])


async def _got(connection: Connection, plan_id: str) -> Json:
    return cast(Json, await connection.request("planloom/plan/get", {"planId": plan_id} | EVERYWHERE))
