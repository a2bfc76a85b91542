"""How many tokens a text has: an estimate by kinds of characters, calibrated from what servers report."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from planloom.models.port import ModelRequest, ToolSpec

FEATURES = 7
"""Words, letters, digits, marks and line ends, CJK characters, other characters, messages."""
PRIOR = (0.62, 0.11, 0.75, 0.68, 1.15, 0.6, 4.0)
"""Tokens per feature, about the middle of the vocabularies in use; each model's own are learned."""
DOUBT = (0.4, 0.4, 0.4, 0.4, 0.6, 0.6, 0.5)
"""The share by which each of these is thought to be off before anything was reported."""
NOISE = 0.03
"""The share by which a report differs from the best sum of features: templates and rounding."""
BELIEVED = 4.0
"""A report that is this many times off the estimate is about something else (a cache, a cut) or is wrong."""

LETTER, UPPER, DIGIT, SPACE, MARK, CJK, OTHER, WITHIN = b"lUdspcox"


def _classes() -> bytes:
    table = bytearray(256)
    for byte in range(256):
        ch = chr(byte)
        if byte >= 0xF0 or 0xC0 <= byte < 0xE3:
            table[byte] = OTHER
        elif byte >= 0xE3:
            # Three-byte sequences from U+3000 on: kana, Chinese, Hangul and their marks.
            table[byte] = CJK
        elif byte >= 0x80:
            table[byte] = WITHIN
        elif ch.isalpha():
            table[byte] = UPPER if ch.isupper() else LETTER
        elif ch.isdigit():
            table[byte] = DIGIT
        else:
            table[byte] = SPACE if ch in " \t\r" else MARK
    return bytes(table)


CLASSES = _classes()
LETTERS_ALONE = bytes(byte if byte in b"lU" else SPACE for byte in range(256))
"""From classes to letters and everything else, so that a word's beginning has few forms."""
WORD_STARTS = (b"sl", b"sU", b"lU")
"""Where a word begins, the humps of camelCase included."""


def features(text: str) -> tuple[float, ...]:
    """What the estimate counts in a text; `FEATURES` numbers, the last (messages) 0. Linear, in C."""
    kinds = b"s" + text.encode("utf-8", "replace").translate(CLASSES)
    letters_alone = kinds.translate(LETTERS_ALONE)
    words = sum(letters_alone.count(start) for start in WORD_STARTS)
    letters = kinds.count(b"l") + kinds.count(b"U")
    return (
        float(words),
        float(letters),
        float(kinds.count(b"d")),
        float(kinds.count(b"p")),
        float(kinds.count(b"c")),
        float(kinds.count(b"o")),
        0.0,
    )


class TokenCounter:
    """The estimate for one model. `learn` makes it better with each count that a server reports.

    A Kalman filter over the tokens per feature: cheap, and what a prompt of code teaches does not undo
    what one of Chinese taught.
    """

    def __init__(self) -> None:
        self._weights = list(PRIOR)
        self._spread = [
            [(DOUBT[i] * PRIOR[i]) ** 2 if i == j else 0.0 for j in range(FEATURES)] for i in range(FEATURES)
        ]

        self._last: tuple[ModelRequest | None, tuple[float, ...]] = (None, ())
        self._tools: tuple[tuple[ToolSpec, ...], str] = ((), "")

    def text(self, text: str) -> int:
        """The tokens of a text alone."""
        return self._sum(features(text))

    def request(self, request: ModelRequest) -> int:
        """The tokens of a whole prompt: messages, their calls, tools and the schema."""
        return self._sum(self._counted(request))

    def at_most(self, request: ModelRequest) -> int:
        """The tokens that a whole prompt has with near certainty: the estimate and twice its doubt."""
        counted = self._counted(request)
        along = [sum(map(float.__mul__, row, counted)) for row in self._spread]
        expected = self._sum(counted)
        doubt = math.sqrt(max(0.0, sum(map(float.__mul__, along, counted))) + (NOISE * expected) ** 2)
        return math.ceil(expected + 2 * doubt)

    def learn(self, request: ModelRequest, prompt_tokens: int) -> None:
        """Take in what a server counted for a prompt; counts that cannot be meant are ignored."""
        counted = self._counted(request)
        expected = sum(map(float.__mul__, counted, self._weights))
        if not expected / BELIEVED < prompt_tokens < expected * BELIEVED:
            return
        along = [sum(map(float.__mul__, row, counted)) for row in self._spread]
        certainty = sum(map(float.__mul__, along, counted)) + (NOISE * expected) ** 2 + 1.0
        off = prompt_tokens - expected
        for i in range(FEATURES):
            gain = along[i] / certainty
            # No kind of character costs less than next to nothing, whatever a server claims.
            self._weights[i] = max(0.02, self._weights[i] + gain * off)
            for j in range(FEATURES):
                self._spread[i][j] -= gain * along[j]

    def _counted(self, request: ModelRequest) -> tuple[float, ...]:
        """What is counted in a request; each is asked for three times in a row, and prompts are long."""
        if self._last[0] is not request:
            self._last = (request, _request_features(request, self._told(request.tools)))
        return self._last[1]

    def _told(self, tools: tuple[ToolSpec, ...]) -> str:
        """The tools as text; the ones of one turn are nearly always those of the turn before."""
        known = self._tools[0]
        if len(known) != len(tools) or any(a is not b for a, b in zip(known, tools, strict=True)):
            self._tools = (tools, "\n".join(map(_tool_text, tools)))
        return self._tools[1]

    def _sum(self, counted: Sequence[float]) -> int:
        return math.ceil(sum(map(float.__mul__, counted, self._weights)))


def _request_features(request: ModelRequest, tools: str) -> tuple[float, ...]:
    texts: list[str] = []
    for message in request.messages:
        texts.append(message.text)
        texts.extend(f"{call.name} {_compact(call.arguments)}" for call in message.tool_calls)
    if tools:
        texts.append(tools)
    if request.response_schema is not None:
        texts.append(_compact(request.response_schema))
    *counted, _ = features("\n".join(texts))
    images = sum(len(message.images) for message in request.messages)
    return (*counted, float(len(request.messages)) + 200.0 * images)


def _tool_text(tool: ToolSpec) -> str:
    return f"{tool.name} {tool.description} {_compact(tool.parameters)}"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
