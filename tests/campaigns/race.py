"""The user types, saves, closes and undoes in the files that a plan edits at the same time; no typed word is lost.

Conflicts are answered late, while typing goes on, in every way that the server takes. A word may only be gone by
the user's own undo, or by the user's choice of `theirs` for a hunk that showed it.

The protocol cannot promise anything to an editor without versioned edits whose user types while an edit is on its
way, so such editors are left out. An editor without `workspace/applyEdit` is taken in: the server writes its files
on disk, and leaves those alone that are being typed in. It cannot leave alone what the user begins to type in while
it writes: if that user saves, over the newer file on disk, what was written there is gone by the user's own act.

Nobody but the user doubles a word of the plan: by an answer that keeps both versions of a line in which it stood.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from planloom.lsp.wire.methods.decisions import ResolveConflictParams
from tests.campaigns.circumstances import draw
from tests.campaigns.desk import Desk, desk
from tests.campaigns.person import Person
from tests.campaigns.reports import Report
from tests.campaigns.typist import Typist, words_of
from tests.campaigns.verdicts import all_events, asked_before, ledger_true, not_doubled, troubles_blamed
from tests.campaigns.worlds import LINES, Shape, make_world
from tests.support.warm_server import WarmServers

NAME = "race"

_FILE = get_args(ResolveConflictParams.model_fields["files"].annotation)[0]
CHOICES: tuple[str, ...] = get_args(_FILE.model_fields["choice"].annotation)
"""What the server takes as an answer to a conflict."""
TAKES_SHA = "sha256" in _FILE.model_fields


async def run(warm: WarmServers, folder: Path, seed: int, *, fixed: dict[str, Any] | None = None) -> Report:
    """One run of the campaign."""
    rng = random.Random(f"race {seed}")
    able = rng.choices(("full", "no_resource_operations", "no_apply_edit"), (6, 1, 1))[0]
    circumstances = draw(rng, **{"able": able, **(fixed or {})})
    world = make_world(rng, f"r{seed}", Shape(steps=(3, 6), commands=False, moves=False, nodes=True))
    report = Report(NAME, seed, str(circumstances), folder=str(folder))
    async with desk(warm, folder, world, circumstances, rng) as at:
        typist = Typist(at, rng, seed)
        answers = Answers(at, typist)
        person = Person(at, on_conflict=answers.give, hesitate=lambda: rng.choice((0.0, rng.random() * 0.4)))
        with troubles_blamed(at, report):
            for name in rng.sample(list(world.files), rng.randint(1, len(world.files))):
                at.editor.open(at.uri(name))
            await at.boot()
            typing = asyncio.ensure_future(_use(at, typist))
            try:
                plan = await person.see_through()
            finally:
                typing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await typing
            await _judge(at, report, plan, typist, answers)
        report.drawn += f" conflicts answered: {answers.count}"
    return report


async def _use(at: Desk, typist: Typist) -> None:
    """What the user does in the meantime, until there was enough of it."""
    rng = typist.rng
    for _ in range(rng.randint(15, 60)):
        await asyncio.sleep(rng.choice((0.002, 0.01, 0.03, 0.06)))
        uri = at.uri(rng.choice(list(at.world.files)))
        act = rng.choices(("type", "line", "meet", "save", "close", "undo"), (25, 20, 30, 8, 4, 8))[0]
        if uri not in at.editor.buffers:
            at.editor.open(uri)
        match act:
            case "save":
                at.editor.refresh()
                at.editor.save(uri)
            case "close":
                at.editor.refresh()
                at.editor.save(uri)
                at.editor.close(uri)
            case "undo":
                typist.undo(uri)
            case "meet":
                _type_where_the_plan_edits(at, typist)
            case _:
                typist.insert(uri, rng.randrange(2 * LINES), whole_line=act == "line")


def _type_where_the_plan_edits(at: Desk, typist: Typist) -> None:
    """Change a line that an edit of the plan needs."""
    edits = [effect for effect in at.world.effects if effect.kind == "edit"]
    if not edits:
        return
    effect = typist.rng.choice(edits)
    uri = at.uri(effect.source)
    if uri not in at.editor.buffers:
        at.editor.open(uri)
    lines = at.editor.buffers[uri].text.split("\n")
    place = next(
        (number for number, line in enumerate(lines) if effect.old in line or effect.token in line), 0
    )
    typist.insert(uri, place, whole_line=False)


class Answers:
    """Answers conflicts some time after they were shown.

    `kept` counts by the plan's words how many more of each a line may hold that was kept in two versions.
    """

    def __init__(self, at: Desk, typist: Typist) -> None:
        self.at = at
        self.typist = typist
        self.count = 0
        self.kept: Counter[str] = Counter()

    async def give(self, conflict: dict[str, Any]) -> None:
        """Answer from what was to be seen when the conflict was shown."""
        rng = self.typist.rng
        self.count += 1
        files = [self.to_file(file, rng.choice(CHOICES)) for file in conflict["files"]]
        await asyncio.sleep(rng.random() * 0.4)
        params = {"planId": self.at.plan_id, "editId": conflict["editId"], "files": files}
        await self.at.client.request("planloom/conflict/resolve", params)

    def to_file(self, file: dict[str, Any], choice: str) -> dict[str, Any]:
        """The answer for one file, from what is to be seen now."""
        seen = self.at.editor.text(file["uri"]) or ""
        answer: dict[str, Any] = {"uri": file["uri"], "choice": choice}
        if TAKES_SHA:
            answer["sha256"] = hashlib.sha256(seen.encode()).hexdigest()
        if choice == "text":
            theirs = [line for hunk in file["hunks"] for line in hunk["theirs"].split("\n")]
            lines = seen.split("\n")
            answer["text"] = "\n".join([*lines, *(line for line in theirs if line not in lines), ""])
        if choice in ("both", "text"):
            for effect in self.at.world.effects:
                # Only where both sides found the word: one that the user's side alone has was made without being noted.
                found = [hunk["theirs"] for hunk in file["hunks"] if effect.token in hunk["base"]]
                self.kept[effect.token] += sum(text.count(effect.token) for text in found)
        if choice == "theirs":
            self.typist.forgive({word for hunk in file["hunks"] for word in words_of(hunk["mine"])})
        return answer


async def _judge(at: Desk, report: Report, plan: dict[str, Any], typist: Typist, answers: Answers) -> None:
    events = await all_events(at)
    typist.check(report)
    steps = {step["stepId"]: step["status"] for step in plan["steps"]}
    judge_effects(at, report, steps, answers)
    asked_before(at, report, events)
    ledger_true(at, report, events)
    await _sees_the_same(at, report)


def judge_effects(at: Desk, report: Report, steps: Mapping[str, str], answers: Answers) -> None:
    """No effect is doubled, and none is missing from a completed step, but by the user's own act."""
    # An editor that has not seen yet what was written on disk shows nothing of it, and writes over it.
    at.save_all()
    state = at.state()
    disturbed = bool(answers.typist.undone or answers.count)
    for effect in at.world.effects:
        count = effect.made(state, "")
        not_doubled(at, report, effect, count - answers.kept[effect.token])
        gone = disturbed or any(effect.token in text for text in at.editor.overwritten)
        if count == 0 and steps.get(effect.step) == "completed" and not gone:
            report.blame("wrong_status", f"{effect.step} is completed without {effect.kind} {effect.token}")


async def _sees_the_same(at: Desk, report: Report) -> None:
    """The server's copy of every open file is the editor's."""
    names = {uri.rpartition("/")[2]: buffer for uri, buffer in at.editor.buffers.items()}
    text = " ".join(f"@{name}" for name in names if name in at.world.files)
    found = await at.client.request("planloom/reference/resolve", {"text": text})
    for attachment in found["attachments"]:
        buffer = names[attachment["uri"].rpartition("/")[2]]
        if attachment.get("sha256") != hashlib.sha256(buffer.text.encode()).hexdigest():
            report.blame("server", f"its copy of {attachment['uri'].rpartition('/')[2]} is not the editor's")
