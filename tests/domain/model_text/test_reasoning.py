"""Reasoning is removed from a text in the same way, whole or in pieces."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.model_text.reasoning import REASONING_TAGS, ReasoningSplitter, without_reasoning

TAGS = sorted({*REASONING_TAGS, *(tag for closes in REASONING_TAGS.values() for tag in closes)})
HARMONY = ["<|channel|>analysis<|message|>", "<|channel|>final<|message|>", "<|end|>", "<|start|>assistant"]
PIECES = [*TAGS, *HARMONY, "`", "a", "\n", "<", "[", "◁", "<thi", "nk>", " "]


def split(chunks: list[str]) -> list[str]:
    """The visible text in pieces, parted where all before turned out to be reasoning."""
    splitter = ReasoningSplitter()
    found = [""]
    for number, chunk in enumerate(chunks):
        first, *others = splitter.feed(chunk, final=number == len(chunks) - 1)
        found[-1] += first
        found += others
    return found


@pytest.mark.parametrize(("opens", "closes"), REASONING_TAGS.items())
def test_closed_reasoning_is_left_out(opens: str, closes: tuple[str, ...]) -> None:
    for close in closes:
        assert without_reasoning(f"a{opens}b{close}c").text == "ac"
        assert without_reasoning(f"b{close}c").text == "c"
        assert without_reasoning(f"a `{opens}` b").text == f"a `{opens}` b"
    assert without_reasoning(f"a{opens}b") == ("a", "b")


def test_the_analysis_of_harmony_ends_at_the_answer() -> None:
    text = "<|channel|>analysis<|message|>Hm.<|channel|>final<|message|>Yes.<|end|>"
    assert without_reasoning(text).text == "Yes."


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), st.integers(0, 2**32))
def test_chunks_make_no_difference(text: str, seed: int) -> None:
    chance = random.Random(seed)
    cuts = sorted(chance.randrange(len(text) + 1) for _ in range(4))
    wanted = split([text])
    assert split([*text] or [""]) == wanted
    assert split([text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]) == wanted
