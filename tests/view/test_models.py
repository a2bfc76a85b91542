"""The model that is used, or will be, is named before one was needed."""

from __future__ import annotations

from typing import Any

import pytest

from planloom.models.port import ModelIdentity
from planloom.providers import SERVICES, title_of
from planloom.settings import ModelSettings
from planloom.view.models import model_words
from planloom.view.words import Words

UNASKED = ModelIdentity("auto", "", "not asked")
ROUTER = {"base_url": "https://openrouter.ai/api/v1"}


@pytest.mark.parametrize(
    ("now", "chosen", "words"),
    [
        (UNASKED, {}, "Model chosen when needed"),
        (UNASKED, {"provider": "embedded"}, "No model"),
        (ModelIdentity("embedded", "rules", ""), {}, "No model"),
        (UNASKED, {"provider": "openai", "name": "gpt-x"}, "OpenAI · gpt-x"),
        (UNASKED, {"provider": "anthropic"}, "Anthropic, model chosen when needed"),
        (UNASKED, {"provider": "openai", "name": "a/b", **ROUTER}, "OpenRouter · a/b"),
        (ModelIdentity("openai", "a/b", ""), ROUTER, "OpenRouter · a/b"),
        (UNASKED, {"base_url": "http://localhost:9/v1", "name": "m"}, "localhost:9 · m"),
        (ModelIdentity("ollama", "tiny", ""), {}, "Ollama · tiny"),
        (ModelIdentity("editor", "copilot", ""), {"provider": "editor"}, "Editor · copilot"),
    ],
)
def test_the_words_say_what_is_or_will_be_used(
    now: ModelIdentity, chosen: dict[str, Any], words: str
) -> None:
    assert model_words(now, ModelSettings(**chosen), Words()) == words


def test_every_service_is_recognised_by_its_address() -> None:
    fixed = [each for each in SERVICES if not each.asks_address]
    assert [title_of(each.provider, each.address) for each in fixed] == [each.title for each in fixed]
    assert SERVICES[-1].title == "" and SERVICES[-1].asks_address
