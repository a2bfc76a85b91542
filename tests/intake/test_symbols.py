"""`@Name` and `@Class.method` attach the lines of a symbol, where no path has the name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from planloom.intake.completion import complete, with_symbols
from planloom.intake.resolve import resolve_references
from planloom.workspace.language import Symbol, Texts
from tests.intake.support import World
from tests.support.fake_language import FakeLanguage

SHAPES = """\
class Square:
    def area(self):
        return 4


class Circle:
    def area(self):
        return 3
"""
FILES: dict[str, str | bytes] = {
    "w/src/shapes.py": SHAPES,
    "w/Circle": "a file\n",
    "w/.env.py": "def key():\n    return 1\n",
}


@pytest.fixture
async def world(tmp_path: Path) -> World:
    made = World(tmp_path, "w")
    made.write(FILES)
    made.language = FakeLanguage(tmp_path / "w")
    await made.build_index()
    return made


@pytest.mark.parametrize(
    ("text", "label", "lines"),
    [
        ("Explain @Square.", "src/shapes.py", (1, 3)),
        ("Explain @Square.area, please", "src/shapes.py", (2, 3)),
        ("(@Circle.area)", "src/shapes.py", (7, 8)),
    ],
)
async def test_a_symbol_attaches_its_lines(
    world: World, text: str, label: str, lines: tuple[int, int]
) -> None:
    (found,) = (await resolve_references(text, world.sources)).attachments
    assert found.attachment.label == label and found.attachment.range is not None
    first, last = lines
    assert (found.text or "").splitlines() == SHAPES.splitlines()[first - 1 : last]
    assert found.attachment.reference == text.strip("(). ").split(",")[0].removeprefix("Explain ")


async def test_a_path_wins_over_a_symbol(world: World) -> None:
    (found,) = (await resolve_references("Read @Circle", world.sources)).attachments
    assert found.text == "a file\n"
    assert isinstance(world.language, FakeLanguage) and not world.language.asked


async def test_several_symbols_of_one_name_are_listed(world: World) -> None:
    (failure,) = (await resolve_references("Explain @area", world.sources)).unresolved
    assert failure.code == "ambiguous"
    assert failure.candidates == ("src/shapes.py:2-3", "src/shapes.py:7-8")


@pytest.mark.parametrize("known", [True, False])
async def test_an_unknown_name_stays_an_unknown_path(world: World, known: bool) -> None:
    world.language = world.language if known else None
    (failure,) = (await resolve_references("Ask @someone", world.sources)).unresolved
    assert failure.code == "not_found" and "'someone'" in failure.message


async def test_a_symbol_of_a_secret_file_is_not_attached(world: World) -> None:
    resolution = await resolve_references("Show @key", world.sources)
    assert not resolution.attachments and resolution.unresolved[0].code == "not_found"


async def labels(world: World, text: str) -> list[str]:
    index = await world.build_index()
    found = await with_symbols(
        await complete(text, len(text), index), text, len(text), world.sources.symbols_like
    )
    return [item.label for item in found.items]


async def test_symbols_are_offered_behind_files(world: World) -> None:
    assert await labels(world, "look at @squ") == ["Square"]
    assert await labels(world, "look at @Circ") == ["Circle"]
    assert await labels(world, "look at @are") == ["Square", "Square.area", "Circle.area"]
    assert await labels(world, "look at @Square.ar") == ["Square.area"]
    assert await labels(world, "look at @src/sha") == ["src/shapes.py"]


async def test_a_slow_answer_leaves_the_files(world: World) -> None:
    class Slow(FakeLanguage):
        async def named(self, name: str, texts: Texts) -> tuple[Symbol, ...]:
            await asyncio.Event().wait()
            return ()

    world.language = Slow(world.base / "w")
    assert await labels(world, "look at @Circ") == ["Circle"]
