"""Probes the capabilities of OpenAI-compatible servers, from their metadata and, where it costs nothing, by tests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from planloom.domain.values import Json
from planloom.models.http.adapter import ProbeClient
from planloom.models.http.json_text import count_of, first_count, list_of, object_of, text_of
from planloom.models.port import Capabilities
from planloom.providers import OPENAI as OPENAI_SERVICE

UNKNOWN_SERVER = Capabilities(tools=True, json_schema=True, parallelism=1)
"""Assumed for a server without metadata, since the adapter can adapt to refusals."""
REMOTE_PARALLELISM = 4
"""Concurrent requests to a remote service."""
OPENAI = Capabilities(
    tools=True, json_schema=True, images=True, parallelism=REMOTE_PARALLELISM, native_only=True
)
"""The capabilities that OpenAI documents for its own service, whose list of models does not state them."""
CONTEXT_FIELDS = (
    "loaded_context_length",
    "max_model_len",
    "n_ctx",
    "context_length",
    "context_window",
    "max_context_length",
    "n_ctx_train",
)
"""Fields in which servers report a model's context size; the current size comes before the largest possible."""


async def of_openai_compatible(client: ProbeClient, name: str) -> Capabilities:
    """Probe an OpenAI-compatible server.

    Reads `/v1/models`, and on a local server also the metadata of llama.cpp and LM Studio. Only llama.cpp,
    recognised by its chat template, is tested with short answers: they cost nothing there, and it silently drops
    tools that its template does not support.
    """
    endpoint = client.endpoint
    capabilities = OPENAI if endpoint.origin == OPENAI_SERVICE.url else UNKNOWN_SERVER
    capabilities = capabilities._replace(parallelism=1 if endpoint.local else REMOTE_PARALLELISM)
    listed = await client.get(f"{endpoint.base}/models")
    entries = [object_of(entry) for entry in list_of(listed.data.get("data"))]
    if listed.status != 200 or not entries:
        return capabilities
    entry = next(
        (entry for entry in entries if entry.get("id") == name), entries[0] if len(entries) == 1 else {}
    )
    capabilities = _with_entry(capabilities, entry)
    if not endpoint.local:
        return capabilities
    props, studio = await asyncio.gather(
        client.get(f"{endpoint.origin}/props"),
        client.get(f"{endpoint.origin}/api/v0/models/{quote(name, safe='')}"),
    )
    if studio.status == 200 and studio.data.get("id") == name:
        capabilities = _with_entry(capabilities, studio.data)
    if props.status == 200 and "chat_template" in props.data:
        capabilities = _with_props(capabilities, props.data)
        tools, schema = await takes_tools(client, name), await takes_schema(client, name)
        capabilities = capabilities._replace(tools=tools, json_schema=schema)
    return capabilities


async def takes_tools(client: ProbeClient, name: str) -> bool:
    """Whether tools reach the prompt: the same prompt must have more tokens with a tool than without."""
    question: dict[str, Json] = {
        "model": name,
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 1,
        "temperature": 0,
    }
    tool: Json = {
        "type": "function",
        "function": {
            "name": "weather_of_city",
            "description": "Tells the weather of a city on a day, in degrees and words.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    without = await client.post("/chat/completions", question)
    offered = await client.post("/chat/completions", {**question, "tools": [tool]})
    if offered.status != 200 or without.status != 200:
        return False
    return _prompt_tokens(offered.data) > _prompt_tokens(without.data) + 5


async def takes_schema(client: ProbeClient, name: str) -> bool:
    """Whether a schema constrains the answer: the schema demands an answer that no model gives by itself."""
    schema: Json = {"enum": ["quince"]}
    reply = await client.post(
        "/chat/completions",
        {
            "model": name,
            "messages": [{"role": "user", "content": "Hi"}],
            "max_tokens": 8,
            "temperature": 0,
            "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
        },
    )
    choice = object_of(next(iter(list_of(reply.data.get("choices"))), None))
    return text_of(object_of(choice.get("message")).get("content")).strip().startswith('"qu')


def _with_entry(capabilities: Capabilities, entry: Mapping[str, Json]) -> Capabilities:
    """The capabilities updated from a model's entry in a list."""
    changed: dict[str, Any] = {}
    meta = {**object_of(entry.get("meta")), **entry}
    context = first_count(meta, CONTEXT_FIELDS)
    if context is not None:
        changed["context_tokens"] = context
    if "max_model_len" in meta:
        # Servers that report this field batch concurrent requests.
        changed["parallelism"] = REMOTE_PARALLELISM
    supported = list_of(entry.get("supported_parameters"))
    if supported:
        changed["tools"] = "tools" in supported
        changed["json_schema"] = "structured_outputs" in supported or "response_format" in supported
    features = entry.get("capabilities")
    if isinstance(features, list):
        changed["tools"] = "tool_use" in features or "tools" in features
    modalities = list_of(object_of(entry.get("architecture")).get("input_modalities"))
    if "image" in modalities or entry.get("type") == "vlm":
        changed["images"] = True
    return capabilities._replace(**changed)


def _with_props(capabilities: Capabilities, props: Mapping[str, Json]) -> Capabilities:
    """The capabilities updated from llama.cpp's `/props`."""
    changed: dict[str, Any] = {}
    context = count_of(object_of(props.get("default_generation_settings")).get("n_ctx")) or count_of(
        props.get("n_ctx")
    )
    if context:
        changed["context_tokens"] = context
    slots = count_of(props.get("total_slots"))
    if slots:
        changed["parallelism"] = slots
    if object_of(props.get("modalities")).get("vision") is True:
        changed["images"] = True
    return capabilities._replace(**changed)


def _prompt_tokens(data: Mapping[str, Json]) -> int:
    return count_of(object_of(data.get("usage")).get("prompt_tokens")) or 0
