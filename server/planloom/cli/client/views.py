"""Keeps the views of plans as the server sends them: the first whole, then patches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from planloom.cli.client.connection import Connection
from planloom.cli.client.messages import ChangedFile, Json, PlanView, Step, StepView


class Views:
    """The views of the plans of one connection. One that comes `late_seconds` after its event is asked for."""

    def __init__(self, late_seconds: float = 2.0) -> None:
        self._late_seconds = late_seconds
        self._views: dict[str, tuple[int, PlanView]] = {}
        self._early: dict[str, dict[int, Json]] = {}
        self._news = asyncio.Event()

    def take(self, message: Json) -> None:
        """Take a message of `planloom/plan/view`; a patch waits for those before it, or for the whole view."""
        plan_id, number, early = message["planId"], message["number"], self._early.get(message["planId"], {})
        if "view" in message:
            self._views[plan_id] = number, _complete(message["view"])
        else:
            self._early[plan_id] = early = {**early, number: message["patch"]}
        while (known := self._views.get(plan_id)) is not None and known[0] + 1 in early:
            self._views[plan_id] = known[0] + 1, _patched(known[1], early.pop(known[0] + 1))
        self._news.set()

    async def after(self, connection: Connection, plan_id: str, seq: int) -> PlanView:
        """The view of a plan that shows the event `seq`. Raises as `Connection.request` does."""
        while (known := self._views.get(plan_id)) is None or known[1]["plan"]["seq"] < seq:
            self._news.clear()
            try:
                async with asyncio.timeout(self._late_seconds):
                    await self._news.wait()
            except TimeoutError:
                await self.whole(connection, plan_id)
        return known[1]

    async def whole(self, connection: Connection, plan_id: str) -> PlanView:
        """The view of a plan in any folder, asked for. Raises as `Connection.request` does."""
        params = {"planId": plan_id, "allWorkspaces": True}
        self.take({"planId": plan_id, **await connection.request("planloom/plan/view", params)})
        return self._views[plan_id][1]


def step_of(view: PlanView, step_id: str | None) -> StepView | None:
    """The view of a step; None if the plan has none with this id."""
    return next((each for each in view["steps"] if each["step"]["stepId"] == step_id), None)


def offers(of: PlanView | StepView, command: str) -> bool:
    """Whether the server offers a command for a plan or a step as it stands."""
    return any(each["command"] == command for each in of.get("actions") or ())


def first_to_skip(view: PlanView) -> StepView | None:
    """The first step that can be skipped; None if none can."""
    return next((each for each in view["steps"] if offers(each, "planloom.skipStep")), None)


def applied(view: PlanView) -> list[ChangedFile]:
    """The changed files whose change stands."""
    return [file for file in view["files"] if file["state"] == "applied"]


def present_uri(file: ChangedFile) -> str:
    """The name that a changed file has now."""
    return file.get("newUri") or file["uri"]


def _patched(view: PlanView, patch: Json) -> PlanView:
    steps = {each["step"]["stepId"]: each for each in (*view["steps"], *(patch.get("steps") or ()))}
    order = patch.get("order") or [each["step"]["stepId"] for each in view["steps"]]
    plan = _merged(view["plan"], patch.get("plan") or {})
    return _complete(
        {**_merged(view, patch.get("head") or {}), "plan": plan, "steps": [steps[each] for each in order]}
    )


def _merged(old: Mapping[str, Any], new: Json) -> Json:
    """The fields of an object with some replaced; null leaves one out."""
    return {name: value for name, value in {**old, **new}.items() if value is not None}


def _complete(view: Json) -> PlanView:
    """The view with the steps in its plan, too."""
    steps: list[Step] = [each["step"] for each in view["steps"]]
    return cast(PlanView, {**view, "plan": {**view["plan"], "steps": steps}})
