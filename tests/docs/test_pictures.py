"""Each picture that a page or the walkthrough shows is made by a script, and each that a script makes is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pictures.makers import IMAGES, JOURNEYS, ROOT, TERMINAL

E2E = ROOT / "client-vscode" / "e2e"
MADE = {TERMINAL, *(name for names in JOURNEYS.values() for name in names)}
SHOWS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "client-vscode" / "package.json"]
PICTURE = re.compile(r"[\w./-]+\.(?:png|svg|webp|gif|jpe?g)\b")
LARGEST = 1_500_000
"""Bytes of a picture: a page shows it at once."""


def shown() -> Iterator[str]:
    """The pictures of docs/images that pages show, and those of the walkthrough, which the build copies from there."""
    for page in SHOWS:
        text = re.sub(r"\b\w+:[^\s)]+", "", page.read_text("utf-8"))
        yield from (
            Path(path).name
            for path in PICTURE.findall(text)
            if Path(path).parent.name in ("images", "walkthrough")
        )


def test_the_pictures_that_are_shown_are_those_that_scripts_make() -> None:
    assert set(shown()) == MADE


def test_the_pictures_that_scripts_make_are_in_the_tree_and_no_others() -> None:
    assert {path.name for path in IMAGES.iterdir()} == MADE


@pytest.mark.parametrize("journey", JOURNEYS)
def test_a_journey_takes_its_pictures(journey: str) -> None:
    (text,) = (
        text for path in E2E.glob("*.mjs") if f'name: "{journey}"' in (text := path.read_text("utf-8"))
    )
    for name in JOURNEYS[journey]:
        plain = re.sub(r"-(?:dark|light)\.png$|\.webp$", "", name)
        assert re.search(rf"""["'`]{plain}(?:["'`]|-(?:dark|light|\$\{{theme}})\.png|\.webp)""", text), name


@pytest.mark.parametrize("name", sorted(MADE))
def test_a_picture_is_small(name: str) -> None:
    assert (IMAGES / name).stat().st_size <= LARGEST


def test_a_drawing_that_moves_asks_for_nothing_and_stands_still_for_who_wants_that() -> None:
    text = (IMAGES / TERMINAL).read_text("utf-8")
    assert not re.search(r"<script|<image|url\(|@import|(?:xlink:)?href=\"(?!#)", text)
    moving = re.findall(r"[^\n]*animation:[^\n]*", text)
    assert moving and all("prefers-reduced-motion" in each for each in moving)
