"""Checks a case in one piece, by character, and in random pieces."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tests.agent.toolcalls.cases import Case
from tests.scoring import stream_tool_calls

_GROUPINGS = 8


def groupings(text: str, seed: int = 1) -> Iterator[Sequence[str]]:
    """The text in one piece, by character, and cut at random."""
    yield [text]
    yield list(text)
    chance = random.Random(seed)
    for _ in range(_GROUPINGS):
        cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randint(1, 8)))
        yield [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def check(case: Case) -> None:
    """Assert the calls and the visible text of a case, for every division into pieces."""
    seen = set()
    for chunks in groupings(case.text):
        calls, visible = stream_tool_calls(chunks)
        assert tuple((call["name"], call["arguments"]) for call in calls) == case.calls, chunks
        seen.add(visible)
    assert len(seen) == 1, f"the visible text depends on the chunks: {seen}"
    if case.visible is not None:
        assert " ".join(seen.pop().split()) == " ".join(case.visible.split())
