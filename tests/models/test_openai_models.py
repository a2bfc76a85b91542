"""What OpenAI documents of its own models is known before the first request; others learn by refusals."""

from __future__ import annotations

import pytest

from planloom.domain.values import Json
from planloom.models.http.adapter import Reply
from planloom.models.http.endpoint import Endpoint, endpoint_of
from planloom.models.port import Capabilities
from planloom.models.providers.openai_compatible import OpenAICompatible
from planloom.models.providers.strict_schema import fits_strict
from tests.models.support import asks


class Silent:
    """A server that says nothing about its models."""

    def __init__(self, url: str) -> None:
        self.endpoint: Endpoint = endpoint_of(url)

    async def get(self, _url: str) -> Reply:
        return Reply(404, {})

    async def post(self, _path: str, _body: dict[str, Json]) -> Reply:
        return Reply(404, {})


@pytest.mark.parametrize(
    ("name", "context", "expected"),
    [
        ("gpt-4", 8_192, {"max_tokens": 1000, "temperature": 0.0}),
        ("gpt-4-0613", 8_192, {"max_tokens": 1000, "temperature": 0.0}),
        ("ft:gpt-4-0613:us", 8_192, {"max_tokens": 1000, "temperature": 0.0}),
        ("gpt-4-32k-0613", 32_768, {"max_tokens": 1000, "temperature": 0.0}),
        ("gpt-4-turbo-2024-04-09", 128_000, {"max_tokens": 1000, "temperature": 0.0}),
        ("gpt-4-1106-preview", 128_000, {"max_tokens": 1000, "temperature": 0.0}),
        ("gpt-4-0125-preview", 128_000, {"max_tokens": 1000, "temperature": 0.0}),
        ("gpt-4o-mini", 128_000, {"max_tokens": 1000, "temperature": 0.0}),
        ("gpt-4.1", 1_047_576, {"max_tokens": 1000, "temperature": 0.0}),
        ("gpt-5-chat-latest", 128_000, {"max_tokens": 1000, "temperature": 0.0}),
        ("gpt-5-mini", 272_000, {"max_completion_tokens": 1000, "reasoning_effort": "minimal"}),
        ("gpt-5.1", 272_000, {"max_completion_tokens": 1000, "reasoning_effort": "none"}),
        ("o4-mini-2025-04-16", 200_000, {"max_completion_tokens": 1000, "reasoning_effort": "low"}),
        ("ft:o3-mini:us", 200_000, {"max_completion_tokens": 1000, "reasoning_effort": "low"}),
        (
            "something-new",
            None,
            {"max_tokens": 1000, "temperature": 0.0, "reasoning_effort": "none"},
        ),
    ],
)
async def test_parameters_follow_from_the_name(
    name: str, context: int | None, expected: dict[str, object]
) -> None:
    adapter = OpenAICompatible()
    known = await adapter.probe(Silent("https://api.openai.com/v1"), name)
    assert known.context_tokens == context
    request = asks("Hi", max_tokens=1000, temperature=0.0, effort="off")
    body = adapter.build_request(name, request, known, 10).body
    fields = ("max_tokens", "max_completion_tokens", "temperature", "reasoning_effort")
    assert {field: body[field] for field in fields if field in body} == expected


async def test_a_model_that_reasons_by_itself_gets_room_for_it() -> None:
    adapter = OpenAICompatible()
    known = await adapter.probe(Silent("https://api.openai.com/v1"), "gpt-5")
    body = adapter.build_request("gpt-5", asks("Hi", max_tokens=1000), known, 10).body
    assert body["max_completion_tokens"] == 13_288
    assert "reasoning_effort" not in body


async def test_room_for_reasoning_stays_where_its_effort_is_refused() -> None:
    adapter = OpenAICompatible()
    known = await adapter.probe(Silent("https://api.openai.com/v1"), "gpt-5")
    adapter.learned.refuse("reasoning_effort")
    body = adapter.build_request("gpt-5", asks("Hi", max_tokens=1000, effort="off"), known, 10).body
    assert body["max_completion_tokens"] == 13_288
    assert "reasoning_effort" not in body


async def test_another_server_may_serve_any_model_by_that_name() -> None:
    adapter = OpenAICompatible()
    known = await adapter.probe(Silent("https://example.org/v1"), "gpt-5")
    assert known.context_tokens is None
    body = adapter.build_request("gpt-5", asks("Hi", max_tokens=9, temperature=0.0), known, 10).body
    assert (body["max_tokens"], body["temperature"]) == (9, 0.0)


CLOSED: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"$ref": "#/$defs/B"}}},
    "required": ["a", "b"],
    "additionalProperties": False,
    "$defs": {
        "B": {
            "anyOf": [{"type": "null"}, {"type": "object", "properties": {}, "additionalProperties": False}]
        }
    },
}


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        (CLOSED, True),
        ({**CLOSED, "required": ["a"]}, False),
        ({**CLOSED, "additionalProperties": True}, False),
        ({**CLOSED, "$defs": {"B": {"type": "object"}}}, False),
        ({**CLOSED, "$defs": {"B": {"type": "string", "maxLength": 5}}}, False),
        ({**CLOSED, "$defs": {"B": {"type": "string", "default": "x"}}}, False),
        ({"type": "array", "items": {"type": "string"}}, False),
    ],
)
def test_strict_is_asked_for_only_where_the_schema_keeps_the_rules(
    schema: dict[str, Json], fits: bool
) -> None:
    assert fits_strict(schema) is fits
    request = asks("Hi", response_schema=schema)
    body = OpenAICompatible().build_request("x", request, Capabilities(json_schema=True), 1).body
    form = body["response_format"]
    assert isinstance(form, dict) and isinstance(form["json_schema"], dict)
    assert form["json_schema"].get("strict", False) is fits
