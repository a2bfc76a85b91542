"""Detection: whether a request wants a plan, by rules on its English words, its shape and its length."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from planloom.domain.plans.plan import Detection, DetectionRule
from planloom.intake import words

LONG_REQUEST = 250
"""Code points, after trimming, above which a request is planned for its length alone."""

BAND = range(40, 61)
"""Scores in which the rules' verdict is called ambiguous; the threshold is its middle."""

_DECORATION = re.compile(r"[\s\"'“”‘’«»*_`#>•·([{\-–—\u200b-\u200d\u2060\ufeff]*")
_QUOTED_REFERENCE = re.compile(r'@(?:"[^"\n]*"|“[^”\n]*”)')
_APART = r"\s,;()\[\]{}<>\"'“”‘’`|"
_PATH_LIKE = re.compile(rf"(?<![^{_APART}])(?>(?:[^{_APART}@/\\.]|\.(?!\w))*)(?:[@/\\]|\.\w)[^{_APART}]*")
"""A token with a sign that paths and references have; from its start, so that each token is looked at once."""
_DOTTED = re.compile(r"(?:^|[\w-])\.[\w]")
_SENTENCE_BREAK = re.compile(r"[a-z]\.[A-Z][a-z]")
_ITEM = re.compile(r"(?<!\w)([0-9]{1,9})[.)](?=(\s))")
_NO_ITEM_AFTER = frozenset(".$€£#@%=+~/\\-")
_LINE_DECORATION = frozenset(" \t\xa0>*#_-•(")
_LINE_ENDS = frozenset("\n\r\x85\u2028\u2029")
_ENOUGH_ITEMS = 20
_MOST_NUMBERS = 2000
"""Numbers that are looked at: a text with more of them that is still no list is no request."""
_SCORED = 4000
"""Code points that the score looks at: more would not change it."""


@dataclass(frozen=True, slots=True)
class _Signs:
    """What a request shows, whatever rule decides. `words` is the text without references and paths."""

    text: str
    words: str
    asks: bool
    asks_for_work: bool
    ends_with_question_mark: bool
    items: int
    leading_verb: bool
    leading_verb_and_scope: bool
    joined_task: bool
    paths: int


def detect(text: str, *, enabled: bool = True) -> Detection:
    """Decide whether `text` wants a plan, in the order of the rules; pure, in time linear in the text.

    `score` estimates complexity from 0 to 100 whatever the rule says. `ambiguous` is true when the score is
    near the threshold, when rules disagree, or when the text seems to be in a language without these words.
    """
    signs = _read(text)
    score = _score(signs)
    rule: DetectionRule = _rule(signs) if enabled else "disabled"
    planned = rule not in ("disabled", "question", "none")
    return Detection(planned=planned, rule=rule, score=score, ambiguous=_ambiguous(signs, rule, score))


def request_body(text: str) -> str:
    """The text without white space around it and without the greetings and courtesies it starts with."""
    body = text.strip()
    at = 0
    while True:
        start = _DECORATION.match(body, at)
        at = start.end() if start else at
        greeting = words.LEADING_GREETING.match(body, at)
        if greeting is None:
            return body[at:]
        at = greeting.end()


def without_paths(text: str) -> tuple[str, int]:
    """The text with a NUL in place of each reference token and path, and how many of them there were."""
    if not any(sign in text for sign in "@/\\."):
        return text, 0
    count = 0

    def covered(match: re.Match[str]) -> str:
        nonlocal count
        token = match.group()
        if not _is_path(token):
            return token
        count += 1
        return "\0"

    text = _QUOTED_REFERENCE.sub("@/", text)
    return _PATH_LIKE.sub(covered, text), count


def count_items(text: str) -> int:
    """How many items of numbered lists the text holds, up to 20: 0, or 2 and more.

    Items that start lines count whatever their numbers; items inside a line count where they rise by one.
    A bracket that closes other words, a decimal, a version, a price, a year or an address is no item.
    """
    starting_lines = rising = depth = last = line = 0
    seen: dict[int, tuple[int, bool]] = {}
    for match in islice(_ITEM.finditer(text), _MOST_NUMBERS):
        at = match.start()
        line_start = _line_start(text, last, at)
        if line_start is not None:
            line += 1
            depth = 0
            last = line_start
        depth = max(0, depth + text.count("(", last, at) - text.count(")", last, at))
        last = match.end()
        starts_line = _starts_line(text, at)
        bracketed = text[last - 1] == ")" and depth > 0
        if bracketed:
            depth -= 1
        if starts_line:
            starting_lines += 1
        elif not _inside_line(text, match, bracketed):
            continue
        number = int(match[1])
        before = seen.get(number - 1)
        # One list may begin behind its heading and go on at the starts of lines; else it keeps to one line.
        if before is not None and (before[0] == line or before[1] or starts_line):
            rising += 1
        seen[number] = line, starts_line
        if max(starting_lines, rising) >= _ENOUGH_ITEMS:
            break
    items = max(starting_lines, rising + 1)
    return items if items > 1 else 0


def _line_start(text: str, after: int, before: int) -> int | None:
    """Where the last line that begins between the two places begins, or None if none does."""
    starts = max(text.rfind(end, after, before) for end in _LINE_ENDS)
    return None if starts < 0 else starts + 1


def _starts_line(text: str, at: int) -> bool:
    """Whether nothing but decoration (bullets, headings) stands before this place on its line."""
    for place in range(at - 1, max(-1, at - 17), -1):
        if text[place] in _LINE_ENDS:
            return True
        if text[place] not in _LINE_DECORATION:
            return False
    return at <= 16


def _inside_line(text: str, item: re.Match[str], bracketed: bool) -> bool:
    """Whether a number with its dot or bracket can be an item between other words."""
    at = item.start()
    if item[2] in _LINE_ENDS or len(item[1]) > 3:
        return False
    before = text[at - 1]
    if before == "(":
        return not text[at - 2 : at - 1].isalnum()
    if bracketed or before in _NO_ITEM_AFTER:
        return False
    return not (before in ",:" and text[at - 2 : at - 1].isdigit())


def _read(text: str) -> _Signs:
    trimmed = text.strip()
    body = request_body(trimmed)
    plain, paths = without_paths(body)
    verb = words.LEADING_VERB.match(plain)
    asks = words.LEADING_QUESTION.match(body) is not None
    return _Signs(
        text=trimmed,
        words=plain,
        asks=asks,
        asks_for_work=words.POLITE_REQUEST.match(body) is not None or (asks and _names_work(body, plain)),
        ends_with_question_mark=trimmed.endswith(("?", "？")),
        items=count_items(body),
        leading_verb=verb is not None,
        leading_verb_and_scope=verb is not None and words.ANY_SCOPE.search(plain, verb.end()) is not None,
        joined_task=words.JOINED_TASK.search(plain) is not None,
        paths=paths,
    )


def _names_work(body: str, plain: str) -> bool:
    """Whether what begins like a question would be planned but for its first words."""
    if words.REAL_QUESTION.match(body) is not None:
        return False
    if words.JOINED_TASK.search(plain) is not None or count_items(body):
        return True
    verb = words.VERB_AFTER_CONDITION.match(plain)
    return verb is not None and words.ANY_SCOPE.search(plain, verb.end()) is not None


def _rule(signs: _Signs) -> DetectionRule:
    if signs.asks or signs.ends_with_question_mark:
        return "question"
    if signs.items:
        return "numbered_list"
    if signs.leading_verb_and_scope:
        return "verb_and_scope"
    if signs.joined_task:
        return "multiple_tasks"
    if len(signs.text) > LONG_REQUEST:
        return "long_request"
    return "none"


def _score(signs: _Signs) -> int:
    length = len(signs.text)
    points = min(40, length * 40 // LONG_REQUEST)
    if length > LONG_REQUEST:
        points += min(30, (length - LONG_REQUEST) // 5)
    if signs.leading_verb:
        points += 15
    if signs.leading_verb_and_scope:
        points += 45
    if signs.joined_task:
        points += 53
    if signs.items:
        points += 45 + 8 * min(signs.items, 6)
    spoken = words.WORD.findall(signs.words[:_SCORED].lower())
    verbs = sum(word in words.VERB_SET for word in spoken)
    scopes = sum(word in words.SCOPE_SET for word in spoken)
    points += 4 * min(4, max(0, verbs - signs.leading_verb)) + 4 * min(5, scopes) + 3 * min(signs.paths, 5)
    if not signs.leading_verb and verbs and scopes:
        # Both are there, in another place than the rule wants: "I want to create an app".
        points += 32
    return min(points, 100)


def _ambiguous(signs: _Signs, rule: DetectionRule, score: int) -> bool:
    if rule == "disabled" or not signs.text:
        return False
    if rule == "question":
        # "How do I …" settles it. "Can you add …?", "When it starts, add …" and "Show me … and add …" do not.
        return signs.asks_for_work or (not signs.asks and score >= BAND.start)
    if rule in ("numbered_list", "verb_and_scope", "multiple_tasks"):
        return False
    return score in BAND or _in_another_language(signs.words)


def _in_another_language(text: str) -> bool:
    """Whether the text, of at least two words or in another script, holds no word we know as English."""
    spoken = words.WORD.findall(text[:_SCORED].lower())
    foreign = sum(word[0] > "\u024f" for word in spoken)
    if foreign * 3 > len(spoken):
        return words.VERB_SET.isdisjoint(spoken) and words.SCOPE_SET.isdisjoint(spoken)
    return len(spoken) > 1 and words.ENGLISH.isdisjoint(spoken)


def _is_path(token: str) -> bool:
    if "@" in token:
        return True
    if "/" in token or "\\" in token:
        # "create/update" offers two verbs, it names no folder.
        return not all(part.lower() in words.VERBS for part in token.strip(".:!?").split("/"))
    return _DOTTED.search(token) is not None and _SENTENCE_BREAK.search(token) is None
