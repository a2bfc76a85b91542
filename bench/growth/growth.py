"""Measures how costs grow: with the steps of a plan, the size of a buffer or of a request, and the plans that are open.

Processor time, the least of several rounds, since other load on the machine hardly lengthens it. The creation of a
plan is measured in wall time.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from lsprotocol import types

from bench.figures import Figure, Measured, main, processor_milliseconds
from bench.run.execution import chain, conducted
from planloom.domain.document.difference import difference, signs_of
from planloom.domain.document.reader import read_document
from planloom.domain.document.render import render
from planloom.domain.document.update import up_to_date
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.editing import edit_plan
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.plans.validation import problems
from planloom.domain.text.diff import text_edits
from planloom.domain.text.live_text import LiveText
from planloom.domain.text.merge import merge
from planloom.domain.text.positions import ContentChange, Position, Range
from planloom.domain.values import PlanId, SessionId, StepId
from planloom.intake.references import find_references
from planloom.intake.routing.detection import detect
from planloom.lsp.plan_documents.features import View, lenses
from planloom.lsp.wire import to_wire
from planloom.planning.rules.planner import plan_by_rules
from planloom.service.requests import CreateRequest
from planloom.storage.ledger import Ledger
from planloom.tools.registry import builtin
from tests.support.studio import Studio

ROUNDS: Final = 3
LINEAR: Final = 1.15
"""The exponent of what may grow in proportion: a fit to few sizes is not exact."""
FLAT: Final = 0.3
STEPS: Final = (10, 50, 200, 700, 2_000)
BYTES: Final = (1_000, 10_000, 100_000, 1_000_000, 5_000_000, 20_000_000)
CHARACTERS: Final = (100, 1_000, 10_000, 100_000, 1_000_000)
OPEN: Final = (1, 5, 20, 80, 320)
TYPED: Final = (
    "Fix the login in @src/auth/token.ts, since it breaks when the token is old. 1. Write a test. 2. Run it. "
)
ADVERSARIAL: Final = ("@", "1. ", "@a ", "1.", "`", "and ")
Work = Callable[[], object]


def least(work: Work) -> float:
    """Processor milliseconds of the fastest round, at least the microsecond that the clock can tell."""
    return max(min(processor_milliseconds(work) for _ in range(ROUNDS)), 1e-3)


def curve(name: str, sizes: Sequence[int], work_of: Callable[[int], Work], goal: float = LINEAR) -> Measured:
    """The growth of some work, which is made ready for each size."""
    points = []
    for size in sizes:
        work = work_of(size)
        points.append((size, least(work)))
    return Figure(name=name, goal=goal).grown(points)


def plan_of(count: int) -> Plan:
    """A plan of so many steps, each of which writes a file and waits for the one before."""
    steps = [
        Step(
            step_id=StepId(f"step_{number}"),
            description=f"Write file {number}",
            instruction=f"Write file {number} well.\nWith two lines.",
            kind="tool_call",
            tool="write_file",
            args={"path": f"a{number}.py", "content": "x = 1\ny = 2\n"},
            depends_on=(StepId(f"step_{number - 1}"),) if number > 1 else (),
        )
        for number in range(1, count + 1)
    ]
    return Plan(
        plan_id=PlanId("p"),
        session_id=SessionId("s"),
        version=1,
        status="pending_approval",
        request="Write them all",
        summary="All of them.",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        steps=IndexedTuple(steps),
    )


def document(count: int) -> dict[str, Work]:
    """What a keystroke in a plan's document costs, by its parts."""
    plan = plan_of(count)
    text = render(plan).replace("With two lines.", "With three lines.", 1)
    written, earlier = read_document(text), signs_of(plan)
    found = difference(plan, written, earlier)
    shown = types.TextDocumentIdentifier("file:///a.plan.md")
    view = View(shown.uri, text, written, plan, "utf-16", None, builtin().before_commands())
    return {
        "plan document, read": lambda: read_document.__wrapped__(text),
        "plan document, compared": lambda: difference(plan, written, earlier),
        "plan document, checked": lambda: edit_plan(plan.steps, found.edits),
        "plan document, updated": lambda: up_to_date(text, plan, plan, earlier),
        "plan document, lenses": lambda: lenses(view, types.CodeLensParams(shown)),
        "plan, validated": lambda: problems(plan.steps, builtin().rules(), request=plan.request),
        "plan, as a message": lambda: to_wire.plan(plan),
    }


def executed(count: int, folder: Path) -> None:
    """A chain of steps that do nothing, with a ledger."""
    steps = chain(count)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        ledger = Ledger(Path(made) / "ledger.db")
        asyncio.run(conducted(steps, [0.0] * count, 8, ledger))
        ledger.close()


def by_steps(sizes: Sequence[int]) -> Iterator[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        yield curve("plan, executed, by steps", sizes, lambda count: partial(executed, count, Path(folder)))
    for name in document(1):
        yield curve(f"{name}, by steps", sizes, lambda count: document(count)[name])  # noqa: B023
    yield curve(
        "plan by rules, by steps",
        sizes,
        lambda count: partial(
            plan_by_rules, "\n".join(f"{n}. Read a{n}.py" for n in range(count)), builtin()
        ),
    )


def text_of(size: int) -> str:
    chance = random.Random(1)
    lines = [f"entry {number} {'x' * chance.randrange(60)}\n" for number in range(size // 40 + 1)]
    return "".join(lines)[:size]


def one_change(size: int) -> Work:
    text = text_of(size)
    changed = text[: size // 2] + "changed" + text[size // 2 :]
    return lambda: text_edits(text, changed, "utf-16")


def two_changes(size: int) -> Work:
    text = text_of(size)
    return lambda: merge(text, text + "Y\n", "X" + text)


def keystroke(size: int) -> Work:
    live = LiveText(text_of(size))
    middle = Position(line=size // 80, character=3)
    change = ContentChange(range=Range(start=middle, end=middle), text="x")
    # One is too short for the clock.
    return lambda: [live.changed(change, "utf-16") for _ in range(100)]


def by_bytes(sizes: Sequence[int]) -> Iterator[Measured]:
    yield curve("edits of one change, by bytes", sizes, one_change)
    yield curve("merge of two changes, by bytes", sizes, two_changes)
    yield curve("100 keystrokes in an open buffer, by bytes", sizes, keystroke, FLAT)


def by_characters(sizes: Sequence[int]) -> Iterator[Measured]:
    """What runs at each keystroke in a request, on an ordinary text and on texts made to be slow."""
    for parse in (detect, find_references):
        for piece in (TYPED, *ADVERSARIAL):
            kind = "an ordinary request" if piece is TYPED else f"{piece!r} repeated"
            yield curve(
                f"{parse.__name__}, {kind}, by characters",
                sizes,
                lambda size: partial(parse, (piece * (size // len(piece) + 1))[:size]),  # noqa: B023
            )


async def among_open_plans(sizes: Sequence[int]) -> Iterator[Measured]:
    """Requests of an application with plans in review."""
    points: dict[str, list[tuple[float, float]]] = {"create": [], "list": [], "status": []}
    with tempfile.TemporaryDirectory() as folder:
        at = Studio(Path(folder), {"a.txt": "a\n"}, ledger=Path(folder) / "ledger.db")
        request = CreateRequest(text="1. Read a.txt\n2. Read a.txt", mode="plan")
        for size in sizes:
            while len(at.app.plans.list(None, (), 1_000, True)) < size:
                await at.ask(request.text, mode="plan")
            spent: list[float] = []
            for _ in range(ROUNDS):
                began = asyncio.get_running_loop().time()
                created = await at.app.plans.create(request)
                await at.reach(created.plan, "attention")
                spent.append((asyncio.get_running_loop().time() - began) * 1000)
            points["create"].append((size, min(spent)))
            for name, work in (
                ("list", partial(at.app.plans.list, None, (), 10, False)),
                ("status", at.app.status),
            ):
                points[name].append((size, least(work)))
        await at.app.close()
    goals = {"create": FLAT, "list": FLAT, "status": 0.6}
    return iter(
        [
            Figure(name=f"{name}, by open plans", goal=goals[name]).grown(found)
            for name, found in points.items()
        ]
    )


def figures(quick: bool) -> Iterator[Measured]:
    """Quick: without the largest sizes."""
    most = -2 if quick else None
    yield from by_steps(STEPS[:most])
    yield from by_bytes(BYTES[:most])
    yield from by_characters(CHARACTERS[:most])
    yield from asyncio.run(among_open_plans(OPEN[:most]))


if __name__ == "__main__":
    main(__doc__, figures)
