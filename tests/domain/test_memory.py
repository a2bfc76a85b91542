"""Which earlier plans a request is about, and what of them a prompt says; measured on data of our own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.memory.entries import MOST_BYTES, MemoryEntry, entry_terms, shown
from planloom.domain.memory.ranking import Hit, Query, query_of, ranked
from planloom.domain.memory.terms import MOST_TERMS, file_terms, files_named, terms_of
from planloom.domain.values import PlanId

DATA = Path(__file__).parents[1] / "data" / "memory.jsonl"
AT = datetime(2026, 3, 4, tzinfo=UTC)


def entry(plan_id: str = "p", **fields: Any) -> MemoryEntry:
    told = {"request": "Cache the exchange rates", "status": "completed", "at": AT, **fields}
    return MemoryEntry.model_validate({"plan_id": plan_id, **told})


def found(query: Query, entries: Mapping[PlanId, MemoryEntry]) -> tuple[PlanId, ...]:
    terms = {plan_id: entry_terms(each) for plan_id, each in entries.items()}
    hits = [
        Hit(term, plan_id, count, len(counted))
        for plan_id, counted in terms.items()
        for term, count in counted.items()
        if term in query.terms
    ]
    return ranked(query, hits, len(entries))


class Case(NamedTuple):
    query: str
    files: tuple[str, ...]
    want: frozenset[str]
    held_out: bool


@cache
def data() -> tuple[dict[PlanId, MemoryEntry], tuple[Case, ...]]:
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    entries = {
        PlanId(row["entry"]): entry(row["entry"], **{name: row[name] for name in row if name != "entry"})
        for row in rows
        if "entry" in row
    }
    cases = tuple(
        Case(row["query"], tuple(row["files"]), frozenset(row["want"]), row["heldOut"])
        for row in rows
        if "query" in row
    )
    return entries, cases


def recall(cases: Iterable[Case]) -> tuple[float, list[str]]:
    """The share of the requests whose entry is found, and those whose is not."""
    entries, _ = data()
    asked = [each for each in cases if each.want]
    missed = [
        each.query for each in asked if not each.want & set(found(query_of(each.query, each.files), entries))
    ]
    return 1 - len(missed) / len(asked), missed


def wrong(cases: Iterable[Case]) -> list[tuple[str, str]]:
    """The entries that are found and were not wanted."""
    entries, _ = data()
    return [
        (each.query, plan_id)
        for each in cases
        for plan_id in found(query_of(each.query, each.files), entries)
        if plan_id not in each.want
    ]


@pytest.mark.slow
def test_a_request_on_the_same_subject_finds_the_entry_and_no_other_does() -> None:
    _, cases = data()
    share, missed = recall(cases)
    assert share >= 0.85, missed
    held_out, missed = recall(each for each in cases if each.held_out)
    assert held_out >= 0.75, missed
    assert wrong(cases) == []
    assert sum(not each.want for each in cases) >= 50


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("caches cached caching cache", {"cach": 4}),
        ("migrate migration migrations", {"migr": 3}),
        ("useLoginForm use_login HTTPServer", {"login": 2, "form": 1, "http": 1, "serv": 1}),
        ("Create a new file and add it to the folder, 2 times", {"tim": 1}),
        ("再設定する", {"再設": 1, "設定": 1, "定す": 1, "する": 1}),
        ("", {}),
    ],
)
def test_terms_are_words_without_endings(text: str, terms: Mapping[str, int]) -> None:
    assert dict(terms_of(text)) == terms


def test_files_are_found_in_a_request_and_compared_by_path_and_name() -> None:
    named = files_named(
        "Split @src/api/app.py like ./lib/limits.ts, see https://a.example/b.html and v1.2 or e.g. this, i.e. that"
    )
    assert named == {"src/api/app.py", "lib/limits.ts"}
    assert file_terms(named) == {"/src/api/app.py", "/lib/limits.ts", "/limits.ts"}
    entries = {PlanId(name): entry(name, request="x", files=[f"{name}/app.py"]) for name in ("one", "two")}
    assert found(query_of("Tidy up two/app.py"), entries) == ("two",)
    assert found(query_of("Tidy up app.py"), entries) == ()
    assert found(query_of("Tidy this up", ("one/app.py",)), entries) == ("one",)


def test_the_best_entries_come_first_and_few_of_them() -> None:
    entries = {
        PlanId(f"p{n}"): entry(
            f"p{n}", request=f"Cache the exchange rates {'of today ' * n}", findings=["Redis."]
        )
        for n in range(6)
    }
    entries[PlanId("best")] = entry(
        "best", request="Cache the exchange rates in Redis", files=["src/fx/rates.py"]
    )
    assert found(query_of("Exchange rates: cache them in Redis, src/fx/rates.py"), entries)[0] == "best"
    assert len(found(query_of("Exchange rates are cached in Redis"), entries)) == 3


def test_an_entry_is_shown_in_a_line_with_what_the_request_is_about() -> None:
    long = entry(
        findings=[
            "One thing.\nThe rates come from the bank. Nothing else. A failed fetch serves the stale rate."
        ],
        decisions=["An old rate is better than an error."],
        files=[f"src/f{n}.py" for n in range(9)],
    )
    assert shown([long], ("rat", "fetch")) == (
        "- 2026-03-04, completed: “Cache the exchange rates” | An old rate is better than an error. One thing. "
        "The rates come from the bank. A failed fetch serves the stale rate. | "
        "Files: src/f0.py, src/f1.py, src/f2.py, src/f3.py and 5 more"
    )
    assert shown([], ()) == ""


@given(
    st.lists(
        st.builds(
            entry,
            request=st.text(max_size=400),
            findings=st.lists(st.text(max_size=300), max_size=4),
            decisions=st.lists(st.text(max_size=300), max_size=4),
            files=st.lists(st.text(max_size=100), max_size=6),
        ),
        max_size=3,
    )
)
def test_what_a_prompt_says_of_entries_is_short_and_has_a_line_for_each(entries: list[MemoryEntry]) -> None:
    text = shown(entries, ("x",))
    assert len(text.encode("utf-8", "replace")) <= MOST_BYTES
    assert all(line.startswith("- 2026-03-04, ") for line in text.splitlines())
    assert all(len(entry_terms(each)) <= MOST_TERMS + 20 for each in entries)
