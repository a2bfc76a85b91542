"""The store of open documents applies every change of the editor."""

from __future__ import annotations

import random

import pytest

from planloom.domain.text.positions import ContentChange, Encoding, Range
from planloom.workspace.documents import DocumentStore
from tests.support.fake_editor import position

PIECES = ["a", "é", "😀", "\n", "\r\n", "\r", "\f", "\u2028", "\x85", "\t", "word ", "e\u0301", "👨‍👩‍👧"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_random_typing_arrives_exactly(encoding: Encoding) -> None:
    chance = random.Random(4)
    store = DocumentStore(encoding)
    text = "".join(chance.choices(PIECES, k=40))
    store.did_open("file:///a", "text", 0, text)
    for version in range(1, 400):
        places = [
            p for p in range(len(text) + 1) if not (0 < p < len(text) and text[p - 1 : p + 1] == "\r\n")
        ]
        start, end = sorted(chance.choices(places, k=2))
        end = min(end, max(p for p in places if p <= start + 5))
        new = "".join(chance.choices(PIECES, k=chance.randint(0, 3)))
        change = ContentChange(
            range=Range(start=position(text, start, encoding), end=position(text, end, encoding)), text=new
        )
        text = text[:start] + new + text[end:]
        document = store.did_change("file:///a", version, (change,))
        assert document is not None
        assert document.text == text
        assert document.version == version


def test_states_are_values_of_their_own() -> None:
    store = DocumentStore()
    first = store.did_open("file:///a", "python", 1, "one")
    second = store.did_change("file:///a", 2, (ContentChange(text="two"),))
    assert second is not None
    assert (first.text, second.text) == ("one", "two")
    assert (first.dirty, second.dirty) == (False, True)


def test_a_buffer_is_dirty_while_it_differs_from_the_disk() -> None:
    store = DocumentStore()
    store.did_open("file:///a", "text", 1, "kept by the editor", on_disk="old")
    assert store.get("file:///a").dirty  # type: ignore[union-attr]
    store.did_save("file:///a")
    assert not store.get("file:///a").dirty  # type: ignore[union-attr]
    store.did_change("file:///a", 2, (ContentChange(text="typed"),))
    assert store.get("file:///a").dirty  # type: ignore[union-attr]
    store.did_change("file:///a", 3, (ContentChange(text="kept by the editor"),))
    assert not store.get("file:///a").dirty  # type: ignore[union-attr]


def test_one_document_is_found_under_all_its_spellings() -> None:
    store = DocumentStore()
    store.did_open("file:///C%3A/a%20b", "text", 1, "x")
    for spelling in ("file:///c:/a b", "file:///C:/a%20b", "file:///c%3A/a%20b"):
        assert store.get(spelling) is not None
        assert store.spelling(spelling) == "file:///C%3A/a%20b"
    assert store.spelling("file:///other") == "file:///other"
    store.did_close("file:///c:/a%20b")
    assert store.all() == ()


def test_listeners_hear_of_everything_in_order() -> None:
    store = DocumentStore()
    notified: list[str] = []
    stop = store.listen(notified.append)
    store.did_open("file:///a", "text", 1, "x")
    store.did_change("file:///a", 2, (ContentChange(text="y"),))
    store.did_save("file:///a")
    store.did_close("file:///a")
    store.did_close("file:///a")
    assert store.did_change("file:///a", 3, ()) is None
    assert store.did_save("file:///a") is None
    assert notified == ["file:///a"] * 4
    stop()
    store.did_open("file:///b", "text", 1, "x")
    assert len(notified) == 4
