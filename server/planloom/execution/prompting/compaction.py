"""Keeps prompts within their budget: older results go into one rolling summary, by the model or by rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

Count = Callable[[str], int]
"""Tokens of a text."""

_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"')\]”’]*(?=\s)|\n+")
_PATH = re.compile(
    r"(?<![\w/.@:-])(?:(?:[\w.@~-]{1,80}/){0,20}[\w@-][\w.@+-]{0,80}\.[A-Za-z]\w{0,9}(?![\w/])"
    r"|(?:[\w.@-]{1,80}/){1,20}[\w.@-]{0,80})"
)
_NAME = re.compile(
    r"`([^`\n]{1,80})`"
    r"|\b([A-Za-z]\w{0,60}_\w{1,60}|[A-Za-z]\w{0,60}[a-z][A-Z]\w{0,60}|[a-z]\w{0,60}\(\))"
)
_WEIGHTY = re.compile(
    r"\b(?:decid\w*|decision|chose\w*|choice|instead|because|agreed|must|never|always|answer(?:ed)?|wants?|"
    r"prefers?|errors?|fail\w*|exception|refused|denied|conflict\w*|broken|missing|cannot|could not|traceback|"
    r"not found|wrong|skipped|exit code [1-9]\d*)\b",
    re.IGNORECASE,
)
_INDEX = (("Files: ", "path"), ("Names: ", "name"))
_MOST_TEXT = 400_000
_SENTENCES = 4_000


class Merged(NamedTuple):
    """A summary that fits, and who wrote it."""

    text: str
    by: Literal["model", "rules"]


class _Item(NamedTuple):
    text: str
    weighty: bool
    paths: tuple[str, ...]
    names: tuple[str, ...]


def sentences(text: str) -> list[str]:
    """The sentences of a text, whole; a line is at least one. Linear."""
    found: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        found.append(text[start : end.end()].strip())
        start = end.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def paths_in(text: str) -> tuple[str, ...]:
    """The paths that a text names, each once, in order."""
    return tuple(
        dict.fromkeys(found[0].rstrip(".,") for found in _PATH.finditer(text) if found[0].strip("./"))
    )


def names_in(text: str) -> tuple[str, ...]:
    """The names of code that a text holds: quoted ones, and words that no prose has."""
    found = (match[1] or match[2] for match in _NAME.finditer(text))
    return tuple(dict.fromkeys(name for name in found if name))


def merge_by_rules(summary: str, notes: Iterable[str], budget: int, count: Count) -> str:
    """The summary with the notes, within `budget` tokens.

    Whole sentences go, those first that hold neither a decision nor an error, the oldest first; the paths
    and names of what went are kept in a list of their own. No sentence is cut.
    """
    paths, names, told = _opened(summary)
    items = [*map(_item, told)]
    for note in notes:
        items += map(_item, sentences(note[:_MOST_TEXT]))
    items = list({item.text: item for item in items}.values())[-_SENTENCES:]
    costs = [count(item.text) + 1 for item in items]
    gone: set[int] = set()
    order = sorted(range(len(items)), key=lambda at: (items[at].weighty, bool(items[at].paths), at))
    total = sum(costs)
    kept_index = _index(paths, names, budget // 2, count)
    for at in order:
        if total + count(kept_index) <= budget:
            break
        total -= costs[at]
        gone.add(at)
        paths.update(dict.fromkeys(items[at].paths))
        names.update(dict.fromkeys(items[at].names))
        kept_index = _index(paths, names, budget // 2, count)
    left = [item.text for at, item in enumerate(items) if at not in gone]
    text = "\n".join(filter(None, (kept_index, *left)))
    # What counts of parts says of a whole is nearly right only, so that the last word is the whole's.
    while left and count(text) > budget:
        left.pop(0)
        text = "\n".join(filter(None, (kept_index, *left)))
    return text if count(text) <= budget else ""


def _opened(summary: str) -> tuple[dict[str, None], dict[str, None], list[str]]:
    """A summary as it was put together: its list of paths, its list of names, its sentences."""
    lists: list[dict[str, None]] = [{}, {}]
    told: list[str] = []
    for line in summary.splitlines():
        for number, (head, _) in enumerate(_INDEX):
            if line.startswith(head):
                listed = line.removeprefix(head).removesuffix(".").split(", ")
                lists[number].update(dict.fromkeys(each for each in listed if each and " " not in each))
                break
        else:
            told += sentences(line)
    return lists[0], lists[1], told


def _item(text: str) -> _Item:
    return _Item(text, _WEIGHTY.search(text) is not None, paths_in(text), names_in(text))


def _index(paths: dict[str, None], names: dict[str, None], budget: int, count: Count) -> str:
    """The lists of paths and names, the newest of them where not all fit."""
    lines = []
    for (head, _), listed, share in zip(_INDEX, (paths, names), (budget * 2 // 3, budget // 3), strict=True):
        chosen = list(listed)
        while chosen and count(head + ", ".join(chosen)) > share:
            chosen = chosen[max(1, len(chosen) // 8) :]
        if chosen:
            lines.append(f"{head}{', '.join(chosen)}.")
    return "\n".join(lines)


def compaction_prompt(summary: str, notes: Sequence[str], budget: int) -> str:
    """What a model is asked for where a summary has to be written anew."""
    words = max(40, budget // 2)
    return (
        f"Write one summary of the work so far in at most {words} words, in plain sentences, one a line.\n"
        "Keep every file path, every name of code, every decision and every error that still matters. "
        "Leave out how things were done. Write the summary alone.\n\n"
        f"SUMMARY SO FAR (DATA)\n{summary or '(none)'}\n\nNEW RESULTS (DATA)\n" + "\n".join(notes)
    )


def accepted(written: str, summary: str, notes: Sequence[str], budget: int, count: Count) -> str | None:
    """A model's summary with what it must not have lost put back; None where it is no use."""
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
