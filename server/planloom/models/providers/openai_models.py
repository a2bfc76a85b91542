"""OpenAI's documentation of the models on its own service: no request has to be refused to learn it."""

from __future__ import annotations

import re
from typing import NamedTuple


class Family(NamedTuple):
    """Models whose names begin alike.

    `context_tokens` is the longest prompt. `efforts` are the values of `reasoning_effort`, the least first; models
    without any do not reason. Those that reason take `max_completion_tokens` for `max_tokens`, and no temperature.
    """

    names: re.Pattern[str]
    context_tokens: int
    efforts: tuple[str, ...] = ()

    @property
    def refused(self) -> frozenset[str]:
        """The fields that the models do not accept."""
        return frozenset({"max_tokens", "temperature"} if self.efforts else {"reasoning_effort"})


_LEVELS = ("low", "medium", "high")
FAMILIES = (
    Family(re.compile(r"gpt-5[^/]*-chat|chatgpt-"), 128_000),
    Family(re.compile(r"gpt-(?:5\.|[6-9])"), 272_000, ("none", *_LEVELS)),
    Family(re.compile(r"gpt-5"), 272_000, ("minimal", *_LEVELS)),
    Family(re.compile(r"o[1-9](?![0-9])|codex-mini"), 200_000, _LEVELS),
    Family(re.compile(r"gpt-4\.1"), 1_047_576),
    Family(re.compile(r"gpt-4o|gpt-4-(?:turbo|vision|1106|0125)"), 128_000),
    Family(re.compile(r"gpt-4-32k"), 32_768),
    Family(re.compile(r"gpt-4(?:-0[36]|$)"), 8_192),
    Family(re.compile(r"gpt-3\.5"), 16_385),
)
"""The families, the more special names first. https://platform.openai.com/docs/models"""


def family_of(name: str) -> Family | None:
    """The family of a model; a fine-tuned one (`ft:…`) belongs to that of its base."""
    base = name.removeprefix("ft:")
    return next((family for family in FAMILIES if family.names.match(base)), None)
