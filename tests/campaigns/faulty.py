"""Editors that refuse, lie, do half of an edit, answer twice, with an error, late or never.

Nothing is doubled, nothing of the user's text is lost, the server answers to the end, and a step is only told as
completed where its effect is there, or its edit was told as `unverified`.

Left out, since the protocol does not promise it: an editor that applies an edit after the server has given up
waiting for it, silence about an edit that asks for a person's confirmation (a preview may stay open for a day), and
typing while an unversioned edit is on its way (this user types between the edits).
"""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

from tests.campaigns.circumstances import draw
from tests.campaigns.desk import Desk, desk, first_half
from tests.campaigns.person import Person
from tests.campaigns.reports import Report
from tests.campaigns.typist import Typist
from tests.campaigns.verdicts import all_events, asked_before, ledger_true, not_doubled, troubles_blamed
from tests.campaigns.worlds import LINES, Shape, make_world
from tests.support.process_client import Failed, NeverAnswered, ProcessClient
from tests.support.warm_server import WarmServers

NAME = "faulty"
MANNERS = (
    "honest",
    "refuse",
    "refuse_with_reason",
    "error",
    "done_says_no",
    "idle_says_yes",
    "half_says_no",
    "half_says_yes",
    "half_names_change",
    "twice",
    "slow",
    "silent",
    "silent_done",
)
WEIGHTS = (14, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2, 1, 1)
PATIENCE = 1.0
"""Seconds that the forked server waits for an answer to an edit."""


async def run(warm: WarmServers, folder: Path, seed: int, *, fixed: dict[str, Any] | None = None) -> Report:
    """One run of the campaign."""
    rng = random.Random(f"faulty {seed}")
    circumstances = draw(rng, **(fixed or {}))
    world = make_world(rng, f"e{seed}", Shape(steps=(3, 7)))
    report = Report(NAME, seed, str(circumstances), folder=str(folder))
    async with desk(warm, folder, world, circumstances, rng) as at:
        manners = _Manners(at, Typist(at, rng, seed))
        with troubles_blamed(at, report):
            for name in rng.sample(list(world.files), rng.randint(0, len(world.files))):
                at.editor.open(at.uri(name))
            at.apply = manners.apply
            await at.boot(apply_seconds=PATIENCE)
            plan = await Person(at).see_through()
            await _judge(at, report, plan, manners)
        report.drawn += f" manners: {' '.join(manners.seen)}"
    return report


class _Manners:
    """How this editor answers; between the edits its user types."""

    def __init__(self, at: Desk, typist: Typist) -> None:
        self.at = at
        self.typist = typist
        self.seen: list[str] = []

    async def apply(self, client: ProcessClient, params: dict[str, Any]) -> Any:
        """Answer one edit in a random way."""
        rng = self.typist.rng
        manner = rng.choices(MANNERS, WEIGHTS)[0]
        if manner.startswith("silent") and "needsConfirmation" in json.dumps(params):
            manner = "refuse"
        self.seen.append(manner)
        answer: dict[str, Any] = {"applied": True}
        match manner:
            case "refuse":
                return {"applied": False}
            case "refuse_with_reason":
                return {"applied": False, "failureReason": "The editor would rather not."}
            case "error":
                raise Failed({"code": -32603, "message": "The editor is confused."})
            case "done_says_no":
                self.at.editor.apply(params)
                return {"applied": False}
            case "idle_says_yes":
                return answer
            case "half_says_no" | "half_says_yes" | "half_names_change":
                half, count = first_half(params)
                done = self.at.editor.apply(half)
                if manner == "half_says_yes":
                    return answer
                return {"applied": False} | (
                    {"failedChange": count} if manner == "half_names_change" and done["applied"] else {}
                )
            case "silent":
                raise NeverAnswered
            case "silent_done":
                self.at.editor.apply(params)
                raise NeverAnswered
            case "slow":
                answer = self.at.editor.apply(params)
                await asyncio.sleep(rng.random() * PATIENCE / 3)
                return answer
            case "twice":
                client.again = answer = self.at.editor.apply(params)
                return answer
            case _:
                answer = self.at.editor.apply(params)
        if rng.random() < 0.5 and self.at.editor.buffers:
            # The answer goes out before the keys, so that no edit is on its way meanwhile.
            asyncio.get_running_loop().call_later(0.01, self._type)
        return answer

    def _type(self) -> None:
        if self.at.circumstances.able == "full" and self.at.editor.buffers:
            uri = self.typist.rng.choice(sorted(self.at.editor.buffers))
            name = uri.rpartition("/")[2]
            if name in self.at.world.files and not self._deleted(name):
                self.typist.insert(uri, self.typist.rng.randrange(2 * LINES), whole_line=True)

    def _deleted(self, name: str) -> bool:
        return any(effect.source == name for effect in self.at.world.effects if effect.kind == "delete")


async def _judge(at: Desk, report: Report, plan: dict[str, Any], manners: _Manners) -> None:
    events = await all_events(at)
    state, counter, expected = at.state(), at.counter(), at.world.expected()
    steps = {step["stepId"]: step for step in plan["steps"]}
    # An edit of the whole plan names no step.
    unverified = {
        event.get("taskId", "")
        for event in events
        if event["type"] == "edit_applied" and event["outcome"] == "unverified"
    }
    failed = {event["taskId"] for event in events if event["type"] == "task_failed" and event["error"]}
    for effect in at.world.effects:
        count = effect.made(state, counter)
        named = f"{effect.kind} {effect.token} of {effect.step}"
        not_doubled(at, report, effect, count)
        lasting = effect.kind == "command" or effect.made(expected, "") > 0
        told = bool({effect.step, ""} & unverified)
        if count == 0 and lasting and steps[effect.step]["status"] == "completed" and not told:
            report.blame("wrong_status", f"{effect.step} is completed without {named}")
    for step_id, step in steps.items():
        if step["status"] == "failed" and step_id not in failed:
            report.blame("untold", f"{step_id} failed, and no event says why")
    _lines_kept(at, report)
    manners.typist.check(report)
    asked_before(at, report, events)
    ledger_true(at, report, events)
    await at.client.request("planloom/status", {})


def _lines_kept(at: Desk, report: Report) -> None:
    """Every line that the workspace had is still somewhere, but for those that the plan replaces or deletes."""
    replaced = {effect.old for effect in at.world.effects if effect.kind == "edit"}
    deleted = {effect.source for effect in at.world.effects if effect.kind == "delete"}
    there = "\n".join(text for text in at.state().values() if text is not None)
    for name, text in at.world.files.items():
        if name in deleted:
            continue
        for line in text.split("\n"):
            if line not in replaced and line not in there:
                report.blame("words", f"the line {line!r} of {name} is gone")
                return
