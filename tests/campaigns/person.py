"""A person who sees a plan to its end: approves, allows, saves when asked to, resumes, and never changes a thing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.campaigns.desk import Desk
from tests.campaigns.manners import WELL_BEHAVED
from tests.support.process_client import Failed, ServerGone

ENDED = ("completed", "failed", "cancelled", "rejected")
REQUEST = "Please improve the files as the list says"
MOST_PAUSES = 30
"""Pauses of one plan after which it counts as going round in circles."""
PATIENT_PAUSES = 4
"""Pauses after which the user of an editor that makes no edit as it says gives the plan up."""
LIFE_SECONDS = 45.0
"""What one life of a server may take on a busy machine."""
_OPEN = "open the file"
_PAUSED_AGAIN = 0.02


class Stuck(Exception):
    """The plan comes to no end."""


class Person:
    """Acts for the user on one plan. `on_conflict` answers a conflict; without it `mine` is chosen.

    `hesitate` is how many seconds pass before an approval is answered.
    """

    def __init__(
        self,
        at: Desk,
        *,
        on_conflict: Callable[[dict[str, Any]], Awaitable[None]] | None = None,
        on_recovery: str = "retry",
        hesitate: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.at = at
        self.on_conflict = on_conflict
        self.on_recovery = on_recovery
        self.hesitate = hesitate
        self.pauses = 0
        self.recoveries = 0

    async def see_through(self) -> dict[str, Any]:
        """Go on with the plan until it has ended. Raises ServerGone, Stuck."""
        try:
            # Where the editor does not do as it says, each edit is looked at until the server's patience ends.
            patience = 1 if self.at.circumstances.manner in WELL_BEHAVED else 3
            async with asyncio.timeout(patience * LIFE_SECONDS):
                return await self._see_through()
        except TimeoutError:
            raise Stuck(f"no end after {LIFE_SECONDS:g} seconds: {await self._where()}") from None

    async def _see_through(self) -> dict[str, Any]:
        if self.at.plan_id is None:
            await self._begin()
        while True:
            params = {"planId": self.at.plan_id, "until": "attention", "timeoutSeconds": 5}
            plan = (await self.at.client.request("planloom/plan/wait", params))["plan"]
            if plan["status"] in ENDED and not _interrupted(plan):
                self.at.editor.refresh()
                return dict(plan)
            await self._act(plan)

    async def _begin(self) -> None:
        """Ask for the plan, unless a server that died has it already."""
        listed = (await self.at.client.request("planloom/plan/list", {}))["plans"]
        if listed:
            self.at.plan_id = listed[0]["planId"]
            return
        params = {"text": REQUEST, "mode": "plan"}
        self.at.plan_id = (await self.at.client.request("planloom/plan/create", params))["plan"]["planId"]

    async def _act(self, plan: dict[str, Any]) -> None:
        try:
            await self._answer(plan)
        except Failed as error:
            # What was asked has been settled meanwhile; the next look at the plan shows it.
            if error.word not in ("wrong_state", "stale_version", "unknown_approval", "unknown_edit"):
                raise
            await asyncio.sleep(_PAUSED_AGAIN)

    async def _answer(self, plan: dict[str, Any]) -> None:
        named = {"planId": plan["planId"]}
        request = self.at.client.request
        pending = plan["pending"]
        if _interrupted(plan):
            await request("planloom/plan/regenerate", {**named, "version": plan["version"]})
        elif plan["status"] == "pending_approval":
            review = self.at.circumstances.review
            await request("planloom/plan/approve", {**named, "version": plan["version"], "review": review})
        elif pending["conflicts"]:
            await self._settle(pending["conflicts"][0])
        elif pending["recoveries"]:
            await self._recover(plan, pending["recoveries"][0])
        elif pending["approvals"]:
            for approval in pending["approvals"]:
                await asyncio.sleep(self.hesitate())
                # A question that a kill leaves unanswered may be read again from the ledger as answered.
                self.at.allowed[approval["approvalId"]] = approval
                answer = {"approvalId": approval["approvalId"], "decision": "allow"}
                await request("planloom/approval/respond", answer)
        elif pending["questions"]:
            question = pending["questions"][0]
            await request("planloom/step/answer", {**named, "stepId": question["stepId"], "answer": "yes"})
        elif plan["status"] == "paused":
            await self._resume(plan)
        else:
            await asyncio.sleep(_PAUSED_AGAIN)

    async def _settle(self, conflict: dict[str, Any]) -> None:
        if self.on_conflict is not None:
            await self.on_conflict(conflict)
            return
        files = [{"uri": file["uri"], "choice": "mine"} for file in conflict["files"]]
        params = {"planId": self.at.plan_id, "editId": conflict["editId"], "files": files}
        await self.at.client.request("planloom/conflict/resolve", params)

    async def _recover(self, plan: dict[str, Any], recovery: dict[str, Any]) -> None:
        self.recoveries += 1
        if "unsaved" in recovery["error"]:
            # The failure says to save it and to try again.
            self.at.save_all()
            await asyncio.sleep(_PAUSED_AGAIN)
        elif _OPEN in recovery["error"]:
            self.at.open_all()
        most = 3 if self.at.circumstances.manner in WELL_BEHAVED else 0
        action = self.on_recovery if self.recoveries <= most else "skip"
        params = {"planId": plan["planId"], "stepId": recovery["stepId"], "action": action}
        await self.at.client.request("planloom/step/recover", params)

    async def _resume(self, plan: dict[str, Any]) -> None:
        self.pauses += 1
        if self.pauses > MOST_PAUSES:
            raise Stuck(f"paused {MOST_PAUSES} times, at last for {plan.get('pauseReason')}")
        lets_down = self.at.circumstances.manner not in WELL_BEHAVED
        if lets_down and plan.get("pauseReason") == "error" and self.pauses > PATIENT_PAUSES:
            if not plan.get("pauseDetail"):
                raise Stuck("paused for an error that nobody tells")
            await self.at.client.request("planloom/plan/cancel", {"planId": plan["planId"]})
            return
        if "unsaved" in f"{plan.get('pauseReason')} {plan.get('pauseDetail')}":
            self.at.save_all()
            await asyncio.sleep(_PAUSED_AGAIN)
        elif _OPEN in (plan.get("pauseDetail") or ""):
            self.at.open_all()
        await self.at.client.request("planloom/plan/resume", {"planId": plan["planId"]})

    async def _where(self) -> str:
        try:
            async with asyncio.timeout(5):
                plan = (await self.at.client.request("planloom/plan/get", {"planId": self.at.plan_id}))[
                    "plan"
                ]
        except (TimeoutError, ServerGone, Failed) as error:
            return f"the server does not say ({error!r})"
        steps = {step["stepId"]: step["status"] for step in plan["steps"]}
        waiting = {name: len(listed) for name, listed in plan["pending"].items() if listed}
        return f"{plan['status']}, steps {steps}, pending {waiting}"


def _interrupted(plan: dict[str, Any]) -> bool:
    """Whether it is a draft that a crash cut short."""
    return plan["status"] == "failed" and (plan.get("error") or {}).get("code") == "interrupted"
