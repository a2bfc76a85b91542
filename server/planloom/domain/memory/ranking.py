"""Which entries a request is about: BM25 over terms, with a threshold below which an entry is not shown at all.

The terms are compared as they are, without a language model: `docs/planning.md` says why, and how well it finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import log
from typing import Final, NamedTuple

from planloom.domain.memory.terms import MARK, file_terms, files_named, terms_of
from planloom.domain.values import PlanId

MOST_SHOWN: Final = 3
_K1, _B = 1.2, 0.75
"""The usual parameters of BM25: how fast more of a term counts less, and how much a long entry counts less."""
_FEWEST: Final = 20
"""Terms are weighed as if there were at least so many entries: of two entries nothing can be said about rarity."""
_SHARE: Final = 0.35
"""The part of the request's weight that an entry must share."""
_ENOUGH: Final = 7.0
"""The weight that is enough in a long request, as of three terms that few entries have."""
_FEWEST_TERMS: Final = 2
_MOST_FILES: Final = 100
"""Files of one request that are looked for."""
_NEAR_BEST: Final = 0.4
"""An entry that is this much less about the request than the best one is left out."""


class Hit(NamedTuple):
    """That an entry has a term so many times; `words` is how many terms it has in all."""

    term: str
    plan_id: PlanId
    times: int
    words: int


class Query(NamedTuple):
    """The terms of a request, and those of the files that it names."""

    words: frozenset[str]
    files: frozenset[str]

    @property
    def terms(self) -> frozenset[str]:
        """All terms."""
        return self.words | self.files


def query_of(request: str, files: Iterable[str] = ()) -> Query:
    """The query for a request; `files` are the paths of what is attached to it."""
    named = sorted({*files_named(request), *files})
    return Query(frozenset(terms_of(request)), file_terms(named[:_MOST_FILES]))


class Match(NamedTuple):
    """How well an entry matches a query; `is_about`: well enough to be shown to a model."""

    plan_id: PlanId
    score: float
    is_about: bool


def matches(query: Query, hits: Iterable[Hit], entries: int) -> list[Match]:
    """The entries that share a term with the query, the best first. `entries` is how many there are in all."""
    by_plan: dict[PlanId, dict[str, Hit]] = defaultdict(dict)
    having: dict[str, int] = defaultdict(int)
    for hit in hits:
        by_plan[hit.plan_id][hit.term] = hit
        having[hit.term] += 1
    if not by_plan:
        return []
    of_all = max(entries, _FEWEST)
    # A word that no entry has weighs as one that a single entry has: it says nothing about how rare the others are.
    counts = {term: max(1, having[term]) for term in query.terms}
    weights = {term: log(1 + (of_all - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
    lengths = [next(iter(found.values())).words for found in by_plan.values()]
    usual = sum(lengths) / len(lengths)
    found = [
        Match(plan_id, _score(hits_of, weights, usual), _is_about(query, hits_of, weights))
        for plan_id, hits_of in by_plan.items()
    ]
    return sorted(found, key=lambda match: -match.score)


def ranked(query: Query, hits: Iterable[Hit], entries: int) -> tuple[PlanId, ...]:
    """The entries that the query is about, the best first, at most `MOST_SHOWN`. `entries` is how many there are."""
    about = [match for match in matches(query, hits, entries) if match.is_about]
    near = [match.plan_id for match in about if match.score >= _NEAR_BEST * about[0].score]
    return tuple(near[:MOST_SHOWN])


def _is_about(query: Query, found: Mapping[str, Hit], weights: Mapping[str, float]) -> bool:
    """Whether an entry shares a file with the query, or enough of its words."""
    if any(term.startswith(MARK) for term in found):
        return True
    shared = sum(weights[term] for term in found)
    whole = sum(weights[term] for term in query.words)
    return len(found) >= _FEWEST_TERMS and shared >= min(_SHARE * whole, _ENOUGH)


def _score(found: Mapping[str, Hit], weights: Mapping[str, float], usual: float) -> float:
    def one(hit: Hit) -> float:
        length = _K1 * (1 - _B + _B * hit.words / usual)
        return weights[hit.term] * hit.times * (_K1 + 1) / (hit.times + length)

    return sum(map(one, found.values()))
