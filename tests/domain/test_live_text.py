"""A LiveText equals the result of applying each change to the whole text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planloom.domain.text.live_text import LiveText
from planloom.domain.text.positions import ContentChange, Encoding, LineIndex, Position, Range, apply_change
from tests.depth import rounds
from tests.domain.reference import ATOMS, ENCODINGS


def some_position(chance: random.Random, text: str) -> Position:
    lines = text.count("\n") + text.count("\r")
    return Position(line=chance.randint(-1, lines + 2), character=chance.randint(-1, 12))


def some_change(chance: random.Random, text: str) -> ContentChange:
    new = "".join(chance.choices((*ATOMS, "\ud83d", "\ude00", "\r", "\n"), k=chance.randint(0, 8)))
    if chance.random() < 0.02:
        return ContentChange(text=new)
    start = some_position(chance, text)
    near = Position(line=start.line + chance.randint(0, 2), character=chance.randint(0, 12))
    end = chance.choice([start, near, near, some_position(chance, text)])
    return ContentChange(range=Range(start=start, end=end), text=new)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("piece", [1, 2, 3, 7, 50, 1 << 15])
@pytest.mark.parametrize("asked", [0.0, 0.3])
def test_typing_agrees_with_changing_the_whole(encoding: Encoding, piece: int, asked: float) -> None:
    """`asked` is how often the whole text is asked for between two changes."""
    for seed in range(12):
        chance = random.Random(seed)
        text = "".join(chance.choices(ATOMS, k=chance.randint(0, 60)))
        live = LiveText(text, piece=piece)
        for _ in range(40):
            change = some_change(chance, text)
            text, before = apply_change(text, change, encoding), live
            live = live.changed(change, encoding)
            assert live.length == len(text)
            if chance.random() < asked:
                assert live.text == text
                assert before.changed(change, encoding) == live, "a state stays what it was"
        assert live.text == text


def test_a_crlf_that_is_typed_across_pieces_is_one_line_end() -> None:
    live = LiveText("ab\rcd\nef", piece=3)
    here = Position(line=1, character=0)
    live = live.changed(ContentChange(range=Range(start=here, end=here), text="\n"), "utf-16")
    below = Position(line=1, character=1)
    live = live.changed(ContentChange(range=Range(start=below, end=below), text="X"), "utf-16")
    assert live.text == "ab\r\ncXd\nef"


def test_two_states_are_the_same_if_their_texts_are() -> None:
    here = Position(line=0, character=1)
    typed = LiveText("ac", piece=1).changed(
        ContentChange(range=Range(start=here, end=here), text="b"), "utf-8"
    )
    assert typed == LiveText("abc") and hash(typed) == hash(LiveText("abc"))
    assert typed != LiveText("abd") and typed != "abc"


def test_a_keystroke_touches_only_the_pieces_around_it() -> None:
    live = LiveText("line\n" * 100_000)
    here = Position(line=99_990, character=2)
    typed = live.changed(ContentChange(range=Range(start=here, end=here), text="x"), "utf-16")
    kept = {id(piece) for piece in live._pieces} & {id(piece) for piece in typed._pieces}
    assert len(kept) >= len(live._pieces) - 2
    assert "text" not in vars(typed), "nothing has put the text together"


@pytest.mark.parametrize(
    "text",
    ["x" * 3_000_000, "ä😀" * 1_500_000, "x" * 3_000_000 + "\r\n" + "y" * 3_000_000],
    ids=["ascii", "pairs", "two lines"],
)
def test_a_keystroke_in_a_long_line_touches_only_the_pieces_around_it(text: str) -> None:
    live = LiveText(text)
    here = Position(line=0, character=1_999_998)
    typed = live.changed(ContentChange(range=Range(start=here, end=here), text="x"), "utf-16")
    kept = {id(piece) for piece in live._pieces} & {id(piece) for piece in typed._pieces}
    assert len(kept) >= len(live._pieces) - 2
    assert "text" not in vars(typed), "nothing has put the text together"


@st.composite
def long_lines(draw: st.DrawFn) -> str:
    atoms = st.sampled_from([*ATOMS, "\ud83d", "\ude00", "x" * 9, "😀" * 5])
    return "".join(draw(st.lists(st.one_of(atoms, st.sampled_from("abc😀")), max_size=60)))


@settings(max_examples=rounds(40, 2_000))
@given(
    text=long_lines(),
    piece=st.integers(1, 9),
    encoding=st.sampled_from(ENCODINGS),
    changes=st.lists(
        st.tuples(
            *[st.integers(-1, 6), st.integers(-2, 60), st.integers(-1, 6), st.integers(-2, 60)],
            st.sampled_from(["", "x", "\n", "\r", "\r\n", "\ud83d", "\ude00", "😀", "y" * 20]),
        ),
        max_size=8,
    ),
)
def test_typing_in_lines_that_span_pieces_agrees_with_changing_the_whole(
    text: str, piece: int, encoding: Encoding, changes: list[tuple[int, int, int, int, str]]
) -> None:
    live = LiveText(text, piece=piece)
    for first, start, last, end, new in changes:
        span = Range(start=Position(line=first, character=start), end=Position(line=last, character=end))
        change = ContentChange(range=span, text=new)
        text, live = apply_change(text, change, encoding), live.changed(change, encoding)
        assert live.length == len(text)
        assert "".join(live._pieces) == text
        assert sum(live._ends) + 1 == LineIndex(text).line_count
