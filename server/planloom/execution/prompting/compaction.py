"""Compacts old results into one rolling summary within a token budget, by the model or by rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from planloom.agent.prompt_frame import section
from planloom.domain.model_text.fences import fenced
from planloom.domain.patterns import pattern

Count = Callable[[str], int]
"""Counts the tokens of a text."""

_SENTENCE_END = pattern(r"[.!?…。！？]+[\"')\]”’]*(?=\s)|\n+")
_PATH = pattern(
    r"(?<![\w/.@:-])(?:(?:[\w.@~-]{1,80}/){0,20}[\w@-][\w.@+-]{0,80}\.[A-Za-z]\w{0,9}(?![\w/])"
    r"|(?:[\w.@-]{1,80}/){1,20}[\w.@-]{0,80})"
)
_NAME = pattern(
    r"`([^`\n]{1,80})`"
    r"|\b([A-Za-z]\w{0,60}_\w{1,60}|[A-Za-z]\w{0,60}[a-z][A-Z]\w{0,60}|[a-z]\w{0,60}\(\))"
)
_WEIGHTY = pattern(
    r"\b(?:decid\w*|decision|chose\w*|choice|instead|because|agreed|must|never|always|answer(?:ed)?|wants?|"
    r"prefers?|errors?|fail\w*|exception|refused|denied|conflict\w*|broken|missing|cannot|could not|traceback|"
    r"not found|wrong|skipped|exit code [1-9]\d*)\b",
    re.IGNORECASE,
)
_LIST_HEADS = ("Files: ", "Names: ")
_MOST_TEXT = 400_000
_SENTENCES = 4_000


class Summary(NamedTuple):
    """A summary within its budget, and who wrote it."""

    text: str
    by: Literal["model", "rules"]


class _Item(NamedTuple):
    text: str
    weighty: bool
    paths: tuple[str, ...]
    names: tuple[str, ...]


def sentences(text: str) -> list[str]:
    """Split a text into sentences, in linear time; a line end also ends a sentence."""
    found: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        found.append(text[start : end.end()].strip())
        start = end.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def paths_in(text: str) -> tuple[str, ...]:
    """The paths in a text, each once, in order."""
    return tuple(
        dict.fromkeys(found[0].rstrip(".,") for found in _PATH.finditer(text) if found[0].strip("./"))
    )


def names_in(text: str) -> tuple[str, ...]:
    """The identifiers in a text, each once, in order: quoted ones, and words in a form that prose does not have."""
    found = (match[1] or match[2] for match in _NAME.finditer(text))
    return tuple(dict.fromkeys(name for name in found if name))


def merge_by_rules(summary: str, notes: Iterable[str], budget: int, count: Count) -> str:
    """Add the notes to the summary, within `budget` tokens.

    Whole sentences are dropped: first those without a decision or an error, the oldest first. The paths and
    identifiers of dropped sentences are kept in lists.
    """
    paths, names, kept_sentences = _parsed(summary)
    items = [*map(_item, kept_sentences)]
    for note in notes:
        items += map(_item, sentences(note[:_MOST_TEXT]))
    items = list({item.text: item for item in items}.values())[-_SENTENCES:]
    costs = [count(item.text) + 1 for item in items]
    dropped: set[int] = set()
    order = sorted(range(len(items)), key=lambda n: (items[n].weighty, bool(items[n].paths), n))
    total = sum(costs)
    lists = _lists(paths, names, budget // 2, count)
    for number in order:
        if total + count(lists) <= budget:
            break
        total -= costs[number]
        dropped.add(number)
        paths.update(dict.fromkeys(items[number].paths))
        names.update(dict.fromkeys(items[number].names))
        lists = _lists(paths, names, budget // 2, count)
    left = [item.text for number, item in enumerate(items) if number not in dropped]
    text = "\n".join(filter(None, (lists, *left)))
    # Token counts of parts do not add up exactly, so check the joined text once more.
    while left and count(text) > budget:
        left.pop(0)
        text = "\n".join(filter(None, (lists, *left)))
    return text if count(text) <= budget else ""


def _parsed(summary: str) -> tuple[dict[str, None], dict[str, None], list[str]]:
    """The parts of a summary that `merge_by_rules` made: paths, identifiers, sentences."""
    lists: list[dict[str, None]] = [{}, {}]
    found: list[str] = []
    for line in summary.splitlines():
        for number, head in enumerate(_LIST_HEADS):
            if line.startswith(head):
                listed = line.removeprefix(head).removesuffix(".").split(", ")
                lists[number].update(dict.fromkeys(each for each in listed if each and " " not in each))
                break
        else:
            found += sentences(line)
    return lists[0], lists[1], found


def _item(text: str) -> _Item:
    return _Item(text, _WEIGHTY.search(text) is not None, paths_in(text), names_in(text))


def _lists(paths: dict[str, None], names: dict[str, None], budget: int, count: Count) -> str:
    """The lists of paths and identifiers within `budget` tokens; the oldest are dropped."""
    lines = []
    shares = (budget * 2 // 3, budget // 3)
    for head, listed, share in zip(_LIST_HEADS, (paths, names), shares, strict=True):
        chosen = list(listed)
        while chosen and count(head + ", ".join(chosen)) > share:
            chosen = chosen[max(1, len(chosen) // 8) :]
        if chosen:
            lines.append(f"{head}{', '.join(chosen)}.")
    return "\n".join(lines)


def compaction_prompt(summary: str, notes: Sequence[str], budget: int) -> str:
    """The prompt that asks a model for a new summary."""
    words = max(40, budget // 2)
    return (
        f"Write one summary of the work so far in at most {words} words, in plain sentences, one a line.\n"
        "Keep every file path, every name of code, every decision and every error that still matters. "
        "Leave out how things were done. Write the summary alone.\n\n"
        + section("SUMMARY SO FAR (DATA)", fenced(summary or "(none)"))
        + "\n\n"
        + section("NEW RESULTS (DATA)", fenced("\n".join(notes)))
    )


def accepted(written: str, summary: str, notes: Sequence[str], budget: int, count: Count) -> str | None:
    """A model's summary with lost paths and errors added back; None if it is empty or does not fit."""
    written = written.strip()
    if not written or count(written) > budget:
        return None
    before = "\n".join((summary, *notes))[:_MOST_TEXT]
    lost = [path for path in paths_in(before) if path not in written]
    errors = [
        sentence
        for sentence in sentences(before)
        if _WEIGHTY.search(sentence)
        and not any(name in written for name in names_in(sentence) or (sentence,))
    ]
    listed = f"Files: {', '.join(lost)}.\n" if lost else ""
    return merge_by_rules(f"{listed}{written}", errors[-8:], budget, count)
