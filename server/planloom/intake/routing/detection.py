"""Detects whether a request needs a plan, by rules on its English words, its form and its length."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.plans.plan import Detection, DetectionRule
from planloom.intake.routing import words
from planloom.intake.routing.sentences import needs_no_plan, only_asks

LONG_REQUEST = 250
"""Code points, after trimming, above which a request is planned for its length alone."""

BAND = range(40, 61)
"""Scores for which the result of the rules is ambiguous; the threshold is in the middle."""

_DECORATION = pattern(r"[\s\"'“”‘’«»*_`#>•·([{\-–—\u200b-\u200d\u2060\ufeff]*")
_QUOTED_REFERENCE = pattern(r'@(?:"[^"\n]*"|“[^”\n]*”)')
_APART = r"\s,;()\[\]{}<>\"'“”‘’`|"
_PATH_LIKE = pattern(rf"(?<![^{_APART}])(?>(?:[^{_APART}@/\\.]|\.(?!\w))*)(?:[@/\\]|\.\w)[^{_APART}]*")
"""A token with a character of paths or references; matched from its start, so that each token is examined once."""
_DOTTED = pattern(r"(?:^|[\w-])\.[\w]")
_SENTENCE_BREAK = pattern(r"[a-z]\.[A-Z][a-z]")
_ITEM = pattern(r"(?<!\w)([0-9]{1,9})[.)](?=(\s))")
_NO_ITEM_AFTER = frozenset(".$€£#@%=+~/\\-")
_LINE_DECORATION = frozenset(" \t\xa0>*#_-•(")
_LINE_ENDS = frozenset("\n\r\x85\u2028\u2029")
_ENOUGH_ITEMS = 20
_MOST_NUMBERS = 2000
"""The most numbers that are examined as possible list items."""
_SCORED = 4000
"""Code points that the score is computed from; more would not change it."""


class _Features(NamedTuple):
    """The features of a request that the rules use. `words` is the text without references and paths."""

    text: str
    words: str
    is_question: bool
    items: int
    leading_verb: bool
    leading_verb_and_scope: bool
    joined_task: bool
    paths: int


def detect(text: str, *, enabled: bool = True) -> Detection:
    """Decide whether a request needs a plan by the first rule that applies; pure, in time linear in the text.

    `score` estimates the complexity from 0 to 100, independently of the rules. `ambiguous` is true if the score is
    near the threshold, if rules disagree, or if it is neither a question nor one small, single action.
    """
    features = _read(text)
    score = _score(features)
    rule: DetectionRule = _rule(features) if enabled else "disabled"
    planned = rule not in ("disabled", "question", "none")
    return Detection(planned=planned, rule=rule, score=score, ambiguous=_ambiguous(features, rule, score))


def request_body(text: str) -> str:
    """The text without surrounding white space and without leading greetings and courtesies."""
    body = text.strip()
    offset = 0
    while True:
        start = _DECORATION.match(body, offset)
        offset = start.end() if start else offset
        greeting = words.LEADING_GREETING.match(body, offset)
        if greeting is None:
            return body[offset:]
        offset = greeting.end()


def without_paths(text: str) -> tuple[str, int]:
    """The text with a NUL in place of each reference and path, and their number."""
    if not any(sign in text for sign in "@/\\."):
        return text, 0
    count = 0

    def masked(match: re.Match[str]) -> str:
        nonlocal count
        token = match.group()
        if not _is_path(token):
            return token
        count += 1
        return "\0"

    text = _QUOTED_REFERENCE.sub("@/", text)
    return _PATH_LIKE.sub(masked, text), count


def count_items(text: str) -> int:
    """The number of items of numbered lists in the text, up to 20; never 1.

    Items at the start of a line count whatever their number; items inside a line count if their numbers rise by one.
    A bracket that closes other words, a decimal, a version, a price, a year or an address is not an item.
    """
    starting_lines = rising = depth = last = line = 0
    lines_by_number: dict[int, tuple[int, bool]] = {}
    for match in islice(_ITEM.finditer(text), _MOST_NUMBERS):
        offset = match.start()
        line_start = _line_start(text, last, offset)
        if line_start is not None:
            line += 1
            depth = 0
            last = line_start
        depth = max(0, depth + text.count("(", last, offset) - text.count(")", last, offset))
        last = match.end()
        starts_line = _starts_line(text, offset)
        bracketed = text[last - 1] == ")" and depth > 0
        if bracketed:
            depth -= 1
        if starts_line:
            starting_lines += 1
        elif not _inside_line(text, match, bracketed):
            continue
        number = int(match[1])
        before = lines_by_number.get(number - 1)
        # A list may begin after its heading and go on at the starts of lines; otherwise it stays on one line.
        if before is not None and (before[0] == line or before[1] or starts_line):
            rising += 1
        lines_by_number[number] = line, starts_line
        if max(starting_lines, rising) >= _ENOUGH_ITEMS:
            break
    items = max(starting_lines, rising + 1)
    return items if items > 1 else 0


def _line_start(text: str, after: int, before: int) -> int | None:
    """The start of the last line that begins between the two offsets, or None."""
    starts = max(text.rfind(end, after, before) for end in _LINE_ENDS)
    return None if starts < 0 else starts + 1


def _starts_line(text: str, offset: int) -> bool:
    """Whether only decoration (bullets, headings) comes before this offset on its line."""
    for index in range(offset - 1, max(-1, offset - 17), -1):
        if text[index] in _LINE_ENDS:
            return True
        if text[index] not in _LINE_DECORATION:
            return False
    return offset <= 16


def _inside_line(text: str, item: re.Match[str], bracketed: bool) -> bool:
    """Whether a number with its dot or bracket can be an item between other words."""
    offset = item.start()
    if item[2] in _LINE_ENDS or len(item[1]) > 3:
        return False
    before = text[offset - 1]
    if before == "(":
        return not text[offset - 2 : offset - 1].isalnum()
    if bracketed or before in _NO_ITEM_AFTER:
        return False
    return not (before in ",:" and text[offset - 2 : offset - 1].isdigit())


def _read(text: str) -> _Features:
    trimmed = text.strip()
    body = request_body(trimmed)
    plain, paths = without_paths(body)
    verb = words.LEADING_VERB.match(plain)
    return _Features(
        text=trimmed,
        words=plain,
        is_question=trimmed.endswith(("?", "？")) or words.LEADING_QUESTION.match(body) is not None,
        items=count_items(body),
        leading_verb=verb is not None,
        leading_verb_and_scope=verb is not None
        and (words.ANY_SCOPE.search(plain, verb.end()) or words.REFACTORING.match(plain)) is not None,
        joined_task=words.JOINED_TASK.search(plain) is not None,
        paths=paths,
    )


def _rule(features: _Features) -> DetectionRule:
    if features.is_question:
        return "question"
    if features.items:
        return "numbered_list"
    if features.leading_verb_and_scope:
        return "verb_and_scope"
    if features.joined_task:
        return "multiple_tasks"
    if len(features.text) > LONG_REQUEST:
        return "long_request"
    return "none"


def _score(features: _Features) -> int:
    length = len(features.text)
    points = min(40, length * 40 // LONG_REQUEST)
    if length > LONG_REQUEST:
        points += min(30, (length - LONG_REQUEST) // 5)
    if features.leading_verb:
        points += 15
    if features.leading_verb_and_scope:
        points += 45
    if features.joined_task:
        points += 53
    if features.items:
        points += 45 + 8 * min(features.items, 6)
    used = words.WORD.findall(features.words[:_SCORED].lower())
    verbs = sum(word in words.VERB_SET for word in used)
    scopes = sum(word in words.SCOPE_SET for word in used)
    points += (
        4 * min(4, max(0, verbs - features.leading_verb)) + 4 * min(5, scopes) + 3 * min(features.paths, 5)
    )
    if not features.leading_verb and verbs and scopes:
        # Both occur, but not where the rule expects them: "I want to create an app".
        points += 32
    return min(points, 100)


def _ambiguous(features: _Features, rule: DetectionRule, score: int) -> bool:
    if rule == "disabled" or not features.text:
        return False
    if rule == "question":
        # A sentence that only asks is a question; anything with an order in it is not.
        return not only_asks(features.words)
    if rule == "none":
        return not needs_no_plan(features.words)
    return rule == "long_request" and score in BAND


def _is_path(token: str) -> bool:
    if "@" in token:
        return True
    if "/" in token or "\\" in token:
        # "create/update" is two verbs, not a path.
        return not all(part.lower() in words.VERBS for part in token.strip(".:!?").split("/"))
    return _DOTTED.search(token) is not None and _SENTENCE_BREAK.search(token) is None
