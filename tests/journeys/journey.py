"""A journey: a request on a small repository, and the turns that a strong model takes to carry it out.

A journey is a file of data. `play` plays it through the whole application with the real tools, on a copy of the
repository, and returns what was sent to the model.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from planloom.domain.plans.plan import Plan
from planloom.domain.values import Json, Value
from planloom.models.offline.scripted import ALL, ScriptedCall, Turn
from planloom.models.port import ModelRequest
from planloom.models.providers.openai_compatible import OpenAICompatible
from planloom.workspace.index.programs import environment
from tests.support.fake_language import FakeLanguage
from tests.support.studio import InterruptedModel, Studio, studio

JOURNEYS = Path(__file__).parent
REPOSITORIES = JOURNEYS.parent / "data" / "journeys"
_PATIENCE = 60
_SETTINGS = {"edits": {"save": "always"}}
"""So that the files on disk are what the user sees."""
_DATE = "2026-01-05T12:00:00+00:00"
_AUTHOR = {f"GIT_{who}_{what}": value
           for who in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"), ("DATE", _DATE))}  # fmt: skip


class Templated(Value):
    """A part of a journey that stands once for each row of `for_each`; a row's values replace `{name}` in it."""

    for_each: tuple[Mapping[str, str], ...] = ()

    def repeated(self) -> Iterator[Self]:
        """The parts that it stands for."""
        if not self.for_each:
            yield self
        data = self.model_dump(exclude={"for_each"})
        for row in self.for_each:
            yield type(self).model_validate(_replaced(data, row))


class Change(Templated):
    """A change of the repository before the request: new text of a file, or a text of it and what replaces it.

    An `uncommitted` change is made after the repository's commit.
    """

    path: str
    old_text: str = ""
    new_text: str
    uncommitted: bool = False


class JourneyTurn(Templated):
    """One answer of the model.

    `needs` are the facts that it rests on: each must stand in the request. A turn with `plans` answers the planner.
    `says` is what the user says to the plan while the model writes this answer.
    """

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    needs: tuple[str, ...] = ()
    plans: bool = False
    says: str = ""


class Answer(Value):
    """What the user answers to the approval of this number; all others are allowed."""

    approval: int
    deny: str


class FileOutcome(Value):
    """What a file must hold at the end, and what it must not."""

    path: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


class Outcome(Value):
    """How the journey must end. `passes` is a command that must succeed; `unchanged`: no file was changed."""

    status: str = "completed"
    files: tuple[FileOutcome, ...] = ()
    answer: tuple[str, ...] = ()
    passes: str = ""
    unchanged: bool = False


class Goal(Value):
    """The most requests, and kilobytes (1,000 bytes) of all their bodies, that the journey should take; 0 is no goal.

    `kilobytes_now` is the most that it may take until the goal is met.
    """

    requests: int = 0
    kilobytes: int = 0
    kilobytes_now: int = 0


class Journey(Value):
    """A journey as its file describes it. `reviews` are what the user says to the versions before the approved one.
    `language`: a language server knows the code.
    """

    name: str
    request: str
    mode: str = "auto"
    repository: str
    git: bool = False
    language: bool = False
    goal: Goal = Goal()
    before: tuple[Change, ...] = ()
    answers: tuple[Answer, ...] = ()
    reviews: tuple[str, ...] = ()
    turns: tuple[JourneyTurn, ...]
    outcome: Outcome

    def prepare(self, folder: Path) -> None:
        """Copy the repository to a folder that does not exist yet, as it is before the request."""
        shutil.copytree(REPOSITORIES / self.repository, folder)
        changes = [change for each in self.before for change in each.repeated()]
        for change in changes:
            if not change.uncommitted:
                _apply(change, folder)
        if self.git:
            for command in ("init -q -b main", "add -A", "commit -q -m Release"):
                variables = {**environment(os.environ), **_AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull}
                subprocess.run(["git", *command.split()], cwd=folder, check=True, env=variables)
        for change in changes:
            if change.uncommitted:
                _apply(change, folder)


@dataclass(frozen=True)
class Played:
    """What became of a journey: `turns` are its turns, the n-th being the answer to the n-th of `requests`."""

    journey: Journey
    folder: Path
    plan: Plan
    answer: str
    turns: tuple[JourneyTurn, ...]
    requests: tuple[ModelRequest, ...]
    changed: tuple[str, ...]
    passes: bool

    @cached_property
    def bodies(self) -> tuple[dict[str, Json], ...]:
        """The bodies of the requests as the adapter for OpenAI-compatible servers builds them."""
        adapter = OpenAICompatible()
        return tuple(adapter.build_request("strong", request, ALL, 0).body for request in self.requests)

    @property
    def missing_facts(self) -> tuple[tuple[str, ...], ...]:
        """For each request, the facts that its answer rests on and that do not stand in it."""
        texts = ["\n".join(message.text for message in request.messages) for request in self.requests]
        pairs = zip(self.turns, texts, strict=False)
        return tuple(tuple(fact for fact in turn.needs if fact not in text) for turn, text in pairs)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The bytes of each body."""
        return tuple(len(encoded(body)) for body in self.bodies)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """For each request, the bytes at its beginning that are those of the request before, as caches compare it."""
        prompts = [cached_order(body) for body in self.bodies]
        return (0, *(common(*pair) for pair in pairwise(prompts)))

    @property
    def cached_share(self) -> float:
        """The part of all bytes that a prefix cache has already seen."""
        return sum(self.kept) / sum(len(cached_order(body)) for body in self.bodies)

    @property
    def kept_share(self) -> float:
        """Of all bytes that are followed by another request, the part with which the next request begins."""
        return sum(self.kept) / max(1, sum(len(cached_order(body)) for body in self.bodies[:-1]))


def cached_order(body: Mapping[str, Json]) -> bytes:
    """Tools and messages in the order in which providers put them before the model; without the closing brackets."""
    return encoded([body.get("tools", []), body["messages"]])[:-2]


def load(path: Path) -> Journey:
    """A journey from its file."""
    return Journey.model_validate({"name": path.stem, **tomllib.loads(path.read_text(encoding="utf-8"))})


def journeys() -> list[Journey]:
    """All journeys."""
    return [load(path) for path in sorted(JOURNEYS.glob("*.toml"))]


async def play(journey: Journey, folder: Path, settings: Mapping[str, Any] = MappingProxyType({})) -> Played:
    """Play a journey in an empty folder, whose repository is then in its folder `workspace`."""
    journey.prepare(folder / "workspace")
    turns = tuple(turn for each in journey.turns for turn in each.repeated())
    meanwhile: dict[int, Callable[[], Awaitable[Any]]] = {}
    model = InterruptedModel([Turn(text=turn.text, calls=turn.calls) for turn in turns], meanwhile)
    language = FakeLanguage(folder / "workspace") if journey.language else None
    with python_on_path(folder):
        async with studio(
            folder,
            model=model,
            settings={**_SETTINGS, **settings},
            patience=_PATIENCE,
            language=language,
        ) as at:
            meanwhile |= {
                n: partial(_say, at, turn.says) for n, turn in enumerate(turns, start=1) if turn.says
            }
            before = _texts(at.folder)
            plan = await _run(journey, at)
            answers = [recorded.event.text for recorded in at.events if recorded.event.type == "answer"]
            after = _texts(at.folder)
        passes = not journey.outcome.passes or _passes(journey.outcome.passes, folder / "workspace")
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return Played(
        journey,
        folder / "workspace",
        plan,
        "\n".join(answers) or plan.summary,
        turns,
        model.requests,
        tuple(changed),
        passes,
    )


async def _say(at: Studio, text: str) -> None:
    """Say something to the plan of the session."""
    plan = at.app.plans.get(None, None)
    assert plan is not None
    await at.app.messages.send(plan.plan_id, text)


async def _run(journey: Journey, at: Studio) -> Plan:
    """Put the request, approve its plan, and answer its approvals, to the end."""
    denials = {answer.approval: answer.deny for answer in journey.answers}
    plan = await at.ask(journey.request, mode=journey.mode)
    while plan.status == "draft":
        plan = await at.respond(plan)
    for text in journey.reviews:
        await _say(at, text)
        plan = await at.reach(plan, "ready")
    if plan.status == "pending_approval":
        plan = await at.approve(plan)
    count = 0
    while plan.pending.approvals:
        count += 1
        if count in denials:
            plan = await at.respond(plan, "deny", reason=denials[count])
        else:
            plan = await at.respond(plan)
    return plan


@contextmanager
def python_on_path(folder: Path) -> Iterator[None]:
    """Let `python` be the one that runs the tests, but without their pytest plugins."""
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.write_text(
        "#!/bin/sh\nexport PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONDONTWRITEBYTECODE=1\n"
        f'exec "{sys.executable}" "$@"\n'
    )
    python.chmod(0o755)
    path = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = f"{python.parent}{os.pathsep}{path}"
    try:
        yield
    finally:
        os.environ["PATH"] = path


def _passes(command: str, folder: Path) -> bool:
    ended = subprocess.run(
        command, shell=True, cwd=folder, env=environment(os.environ), capture_output=True, check=False
    )
    return ended.returncode == 0


def _texts(folder: Path) -> dict[str, bytes]:
    ignored = {".git", "__pycache__", ".pytest_cache"}
    names = {path: path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for path, name in names.items() if ignored.isdisjoint(name.parts)}


def _apply(change: Change, folder: Path) -> None:
    path = folder / change.path
    if not change.old_text:
        path.write_text(change.new_text, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    assert text.count(change.old_text) == 1, f"{change.path}: {change.old_text!r}"
    path.write_text(text.replace(change.old_text, change.new_text), encoding="utf-8")


def _replaced(data: Any, row: Mapping[str, str]) -> Any:
    if isinstance(data, str):
        for name, value in row.items():
            data = data.replace(f"{{{name}}}", value)
        return data
    if isinstance(data, Mapping):
        return {name: _replaced(value, row) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_replaced(each, row) for each in data]
    return data


def common(one: Sequence[object], other: Sequence[object]) -> int:
    """The number of bytes, or characters, at the beginning that are the same."""
    differs = (index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differs, min(len(one), len(other)))


def encoded(value: Any) -> bytes:
    """The JSON as `models/http/http_model.py` sends it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
