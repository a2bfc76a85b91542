"""Answers that cannot be trusted: whatever JSON comes, it is read as far as it has the form of LSP, or not known."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.text.positions import Position, Range
from planloom.domain.values import Uri
from planloom.languages import spoken
from planloom.workspace.language import MOST_PLACES, NotKnown

URI = Uri("file:///work/a.py")
START = Position(line=0, character=0)
WHERE = {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 6}}

_WORDS = st.sampled_from(
    [
        *(
            "uri",
            "range",
            "name",
            "kind",
            "start",
            "end",
            "line",
            "character",
            "edits",
            "newText",
            "changes",
            "title",
        ),
        *(
            "documentChanges",
            "textDocument",
            "version",
            "location",
            "children",
            "edit",
            "contents",
            "value",
            "items",
        ),
        *(
            "from",
            "to",
            "fromRanges",
            "selectionRange",
            "targetUri",
            "message",
            "severity",
            "code",
            "source",
            "data",
        ),
    ]
)
_LEAVES = st.none() | st.booleans() | st.integers(-3, 2**40) | st.sampled_from([URI, "", "x", "untitled:1"])
JSON = st.recursive(
    _LEAVES | st.just(WHERE),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=5),
    max_leaves=25,
)


def answering(answer: Any) -> spoken.Ask:
    async def ask(method: str, params: Any) -> Any:
        return answer

    return ask


@given(JSON)
async def test_no_answer_is_more_than_not_known(answer: Any) -> None:
    ask, whole = answering(answer), Range(start=START, end=START)
    for question in (
        spoken.symbols(ask, URI),
        spoken.named(ask, "x"),
        spoken.nearby(ask, "references", URI, START),
        spoken.nearby(ask, "callers", URI, START),
        spoken.nearby(ask, "callees", URI, START),
        spoken.hover(ask, URI, START),
        spoken.rename(ask, URI, START, "y", {URI: "x"}),
        spoken.actions(ask, URI, whole, {URI: "x"}),
        spoken.formatted(ask, URI, {URI: "x"}),
    ):
        with suppress(NotKnown):
            await question
    spoken.diagnostics_of(answer, 100)


async def test_symbols_have_their_kind_in_words_and_what_they_stand_in() -> None:
    inner = {"name": "area", "kind": 6, "range": WHERE, "selectionRange": WHERE}
    outer = {"name": "Square", "kind": 5, "range": WHERE, "selectionRange": WHERE, "children": [inner]}
    found = await spoken.symbols(answering([outer, {"name": 7}, "x", {"name": "no range"}]), URI)
    assert [(each.name, each.kind, each.container) for each in found][:2] == [
        ("Square", "class", ""),
        ("area", "method", "Square"),
    ]
    flat = {"name": "MAX", "kind": 14, "location": {"uri": URI, "range": WHERE}, "containerName": "sizes"}
    (symbol,) = await spoken.named(answering([flat]), "MAX")
    assert (symbol.kind, symbol.uri, symbol.container) == ("constant", URI, "sizes")


@pytest.mark.parametrize("deep", [10, 5_000])
async def test_an_answer_without_end_is_cut(deep: int) -> None:
    nested: dict[str, Any] = {"name": "x", "kind": 12, "range": WHERE, "selectionRange": WHERE}
    for _ in range(deep):
        nested = {**nested, "children": [nested]}
    assert 0 < len(await spoken.symbols(answering([nested]), URI)) <= 32
    many = [
        {"uri": URI, "range": {"start": {"line": line, "character": 0}, "end": WHERE["end"]}}
        for line in range(9_000)
    ]
    assert len(await spoken.nearby(answering(many), "references", URI, START)) == MOST_PLACES
    edits = [{"range": WHERE, "newText": "y"}] * (MOST_PLACES + 1)
    with pytest.raises(NotKnown, match="more than 2000 places"):
        await spoken.rename(answering({"changes": {URI: edits}}), URI, START, "y", {URI: "x"})


async def test_a_file_that_is_to_be_renamed_with_it_is_told() -> None:
    edit = {"documentChanges": [{"kind": "rename", "oldUri": URI, "newUri": "file:///work/b.py"}]}
    change = await spoken.rename(answering(edit), URI, START, "y", {URI: "x"})
    assert change.beside == ("rename b.py",) and change.files == ()
