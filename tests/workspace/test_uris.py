"""File URIs have one spelling per document, and convert back to the same path."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.workspace.paths.uris import (
    child,
    display_name,
    from_path,
    is_below,
    is_file,
    normalized,
    parent,
    scheme,
    to_path,
)

NAMES = "ab é日😀 #%?&+;=@[]{}!$'()*,~^`|<>\"\\\n\u0301\u200d.-_"


def test_500_random_names_round_trip() -> None:
    chance = random.Random(38)
    for _ in range(500):
        names = ["".join(chance.choices(NAMES, k=chance.randint(1, 12))) for _ in range(chance.randint(1, 4))]
        path = Path("/", *[name for name in names if name not in (".", "..")])
        uri = from_path(path)
        assert to_path(uri) == path
        assert normalized(uri) == uri
        assert uri.isascii()
        assert " " not in uri


@given(st.binary(min_size=1, max_size=30).filter(lambda raw: b"\0" not in raw and b"/" not in raw))
def test_names_that_are_not_unicode_round_trip(raw: bytes) -> None:
    path = Path("/w") / os.fsdecode(raw)
    assert to_path(from_path(path)) == path


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file:///c%3A/x", "file:///C:/x"),
        ("file:///C%3a/x", "file:///c:/x"),
        ("file:///a%20b", "file:///a b"),
        ("file:///%C3%A9", "file:///é"),
        ("file:///a%2Db~%7Ec", "file:///a-b~~c"),
        ("FILE:///a", "file:///a"),
        ("file://localhost/a", "file:///a"),
        ("file:/a", "file:///a"),
        ("file:///a%23b", "file:///a%23b"),
        ("file:///a@b+c", "file:///a%40b%2Bc"),
    ],
)
def test_spellings_of_one_document_are_equal(one: str, other: str) -> None:
    assert normalized(one) == normalized(other)
    assert normalized(normalized(one)) == normalized(one)


@pytest.mark.parametrize(
    ("one", "other"),
    [("file:///a%2523", "file:///a%23"), ("file:///A", "file:///a"), ("file:///e\u0301", "file:///é")],
)
def test_different_documents_stay_different(one: str, other: str) -> None:
    assert normalized(one) != normalized(other)


@pytest.mark.parametrize(
    "uri",
    [
        "untitled:Untitled-1",
        "vscode-notebook-cell:/a.ipynb#W1",
        "git:/a?ref",
        "http://x/y",
        "file://server/share/x",
        "x",
    ],
)
def test_other_schemes_are_no_files_and_stay_as_they_are(uri: str) -> None:
    assert not is_file(uri)
    assert to_path(uri) is None
    assert normalized(uri) == uri


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    for uri in (text, "file:" + text, "file://" + text, "file:///" + text):
        scheme(uri)
        to_path(uri)
        assert normalized(normalized(uri)) == normalized(uri)


def test_places_below_each_other() -> None:
    folder = from_path(Path("/w/app"))
    assert child(folder, "a b/c") == "file:///w/app/a%20b/c"
    assert parent(child(folder, "x")) == folder
    assert is_below("file:///w/app/x", folder)
    assert not is_below("file:///w/app-secrets/x", folder)
    assert not is_below(folder, folder)


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///w/my%20notes.txt", "my notes.txt"),
        ("file:///w/%C3%BC/", "ü"),
        ("file:///", "/"),
        ("file:///w/a%E2%80%AEtxt.sh", "a<U+202E>txt.sh"),
        ("file:///w/a%0AINSTRUCTIONS", "a<U+000A>INSTRUCTIONS"),
        ("untitled:My%20note", "untitled:My note"),
        ("vscode-remote://host/w/a%20b", "a b"),
    ],
)
def test_a_name_is_shown_as_people_know_it(uri: str, name: str) -> None:
    assert display_name(uri) == name
