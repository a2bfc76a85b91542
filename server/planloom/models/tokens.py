"""Estimates the tokens of a text by kinds of characters, calibrated with the counts that servers report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence

from planloom.models.port import Message, ModelRequest, ToolSpec

FEATURES = 7
"""Words, letters, digits, punctuation and line ends, CJK characters, other characters, messages."""
PRIOR = (0.62, 0.11, 0.75, 0.68, 1.15, 0.6, 4.0)
"""Initial tokens per feature, a middle value of common vocabularies; the values of each model are learned."""
PRIOR_ERROR = (0.4, 0.4, 0.4, 0.4, 0.6, 0.6, 0.5)
"""Prior relative standard deviation of each weight."""
NOISE = 0.03
"""Relative standard deviation of a reported count, from templates and rounding."""
PLAUSIBLE_FACTOR = 4.0
"""A reported count that differs from the estimate by more than this factor is ignored, since it may exclude a cached
or cut part."""

LETTER, UPPER, DIGIT, SPACE, MARK, CJK, OTHER, WITHIN = b"lUdspcox"


def _classes() -> bytes:
    table = bytearray(256)
    for byte in range(256):
        ch = chr(byte)
        if byte >= 0xF0 or 0xC0 <= byte < 0xE3:
            table[byte] = OTHER
        elif byte >= 0xE3:
            # Three-byte sequences from U+3000 on: kana, Chinese, Hangul and their punctuation.
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
"""Maps every class but letters to SPACE, so that few patterns match the start of a word."""
WORD_STARTS = (b"sl", b"sU", b"lU")
"""Starts of words, including those within camelCase."""


def features(text: str) -> tuple[float, ...]:
    """The feature counts of a text: `FEATURES` numbers, the last (messages) 0. Takes linear time, in C."""
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


_NOTHING = features("")


class TokenCounter:
    """The estimate for one model; `learn` improves it with each count that a server reports.

    A Kalman filter over the tokens per feature: cheap, and learning from code does not undo learning from Chinese.
    """

    def __init__(self) -> None:
        self._weights = list(PRIOR)
        self._covariance = [
            [(PRIOR_ERROR[i] * PRIOR[i]) ** 2 if i == j else 0.0 for j in range(FEATURES)]
            for i in range(FEATURES)
        ]
        self._last: tuple[ModelRequest | None, tuple[float, ...]] = (None, ())
        self._messages: dict[int, tuple[Message, tuple[float, ...]]] = {}
        self._tools: tuple[tuple[ToolSpec, ...], tuple[float, ...]] = ((), _NOTHING)

    def text(self, text: str) -> int:
        """The tokens of a text alone."""
        return self._sum(features(text))

    def request(self, request: ModelRequest) -> int:
        """The tokens of a whole prompt: messages, their calls, tools and the schema."""
        return self._sum(self._features(request))

    def at_most(self, request: ModelRequest) -> int:
        """An upper bound for the tokens of a whole prompt: the estimate plus two standard deviations."""
        counts = self._features(request)
        along = [sum(map(float.__mul__, row, counts)) for row in self._covariance]
        expected = self._sum(counts)
        deviation = math.sqrt(max(0.0, sum(map(float.__mul__, along, counts))) + (NOISE * expected) ** 2)
        return math.ceil(expected + 2 * deviation)

    def learn(self, request: ModelRequest, prompt_tokens: int) -> None:
        """Update the weights with a server's count for a prompt; implausible counts are ignored."""
        counts = self._features(request)
        expected = sum(map(float.__mul__, counts, self._weights))
        if not expected / PLAUSIBLE_FACTOR < prompt_tokens < expected * PLAUSIBLE_FACTOR:
            return
        along = [sum(map(float.__mul__, row, counts)) for row in self._covariance]
        certainty = sum(map(float.__mul__, along, counts)) + (NOISE * expected) ** 2 + 1.0
        error = prompt_tokens - expected
        for i in range(FEATURES):
            gain = along[i] / certainty
            # Weights stay positive, whatever a server reports.
            self._weights[i] = max(0.02, self._weights[i] + gain * error)
            for j in range(FEATURES):
                self._covariance[i][j] -= gain * along[j]

    def _features(self, request: ModelRequest) -> tuple[float, ...]:
        """The feature counts of a request; cached, since each is needed three times in a row."""
        if self._last[0] is not request:
            self._last = (request, self._counted(request))
        return self._last[1]

    def _counted(self, request: ModelRequest) -> tuple[float, ...]:
        """The sum of the counts of its parts: those of messages and tools that the last request had are known."""
        parts: list[tuple[float, ...]] = []
        kept: dict[int, tuple[Message, tuple[float, ...]]] = {}
        for message in request.messages:
            found = self._messages.get(id(message))
            if found is None or found[0] is not message:
                found = (message, _message_features(message))
            kept[id(message)] = found
            parts.append(found[1])
        self._messages = kept
        parts.append(self._tools_features(request.tools))
        if request.response_schema is not None:
            parts.append(_lines((_compact(request.response_schema),)))
        return tuple(map(sum, zip(*parts, strict=True)))

    def _tools_features(self, tools: tuple[ToolSpec, ...]) -> tuple[float, ...]:
        cached = self._tools[0]
        if len(cached) != len(tools) or any(a is not b for a, b in zip(cached, tools, strict=True)):
            self._tools = (tools, _lines(map(_tool_text, tools)))
        return self._tools[1]

    def _sum(self, counts: Sequence[float]) -> int:
        return math.ceil(sum(map(float.__mul__, counts, self._weights)))


def _message_features(message: Message) -> tuple[float, ...]:
    calls = (f"{call.name} {_compact(call.arguments)}" for call in message.tool_calls)
    *counts, _ = _lines((message.text, *calls))
    return (*counts, 1.0 + 200.0 * len(message.images))


def _lines(texts: Iterable[str]) -> tuple[float, ...]:
    """The feature counts of texts that each end with a line end."""
    return features("".join(f"{text}\n" for text in texts))


def _tool_text(tool: ToolSpec) -> str:
    return f"{tool.name} {tool.description} {_compact(tool.parameters)}"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
