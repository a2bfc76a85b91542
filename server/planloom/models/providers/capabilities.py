"""What an engine can do, read from what it says of itself and, where that is free, tried out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import quote

from planloom.domain.values import Json
from planloom.models.http.adapter import ProbeClient
from planloom.models.http.json_text import count_of, list_of, object_of, text_of
from planloom.models.http.keys import HOME
from planloom.models.port import Capabilities

UNTOLD = Capabilities(tools=True, json_schema=True, parallelism=1)
"""Tried with a server that says nothing of itself, since a refusal is understood and adapted to."""
REMOTE_PARALLELISM = 4
"""Requests at a time to a service beyond this machine."""
VENDOR = Capabilities(
    tools=True, json_schema=True, images=True, context_tokens=128_000, parallelism=REMOTE_PARALLELISM
)
"""What OpenAI documents for its own service, whose list of models does not tell."""
CONTEXT_FIELDS = (
    "loaded_context_length",
    "max_model_len",
    "n_ctx",
    "context_length",
    "context_window",
    "max_context_length",
    "n_ctx_train",
)
"""Under which names servers give a model's context, the one that holds now before the largest possible."""


async def of_openai_compatible(asking: ProbeClient, name: str) -> Capabilities:
    """Probe a server of chat completions.

    `/v1/models` is asked everywhere; a local server also at the paths where llama.cpp and LM Studio tell
    more. Only a server that shows its template (llama.cpp) is tried out with answers of a few tokens: they
    cost nothing there, and it drops tools silently where a template has no place for them.
    """
    endpoint = asking.endpoint
    known = VENDOR if endpoint.origin == HOME["openai"] else UNTOLD
    known = known.model_copy(update={"parallelism": 1 if endpoint.local else REMOTE_PARALLELISM})
    listed = await asking.get(f"{endpoint.base}/models")
    entries = [object_of(entry) for entry in list_of(listed.data.get("data"))]
    if listed.status != 200 or not entries:
        return known
    entry = next(
        (entry for entry in entries if entry.get("id") == name), entries[0] if len(entries) == 1 else {}
    )
    known = _with_entry(known, entry)
    if not endpoint.local:
        return known
    props, studio = await asyncio.gather(
        asking.get(f"{endpoint.origin}/props"),
        asking.get(f"{endpoint.origin}/api/v0/models/{quote(name, safe='')}"),
    )
    if studio.status == 200 and studio.data.get("id") == name:
        known = _with_entry(known, studio.data)
    if props.status == 200 and "chat_template" in props.data:
        known = _with_props(known, props.data)
        tools, schema = await takes_tools(asking, name), await takes_schema(asking, name)
        known = known.model_copy(update={"tools": tools, "json_schema": schema})
    return known


async def takes_tools(asking: ProbeClient, name: str) -> bool:
    """Whether tools reach the prompt: the same question must count more tokens with a tool than without."""
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
    without = await asking.post("/chat/completions", question)
    offered = await asking.post("/chat/completions", {**question, "tools": [tool]})
    if offered.status != 200 or without.status != 200:
        return False
    return _prompt_tokens(offered.data) > _prompt_tokens(without.data) + 5


async def takes_schema(asking: ProbeClient, name: str) -> bool:
    """Whether a schema binds the answer: one is asked for that no model gives by itself."""
    schema: Json = {"enum": ["quince"]}
    reply = await asking.post(
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


def _with_entry(known: Capabilities, entry: Mapping[str, Json]) -> Capabilities:
    """What a model's entry in a list adds."""
    changed: dict[str, object] = {}
    meta = {**object_of(entry.get("meta")), **entry}
    context = next((count for field in CONTEXT_FIELDS if (count := count_of(meta.get(field)))), None)
    if context is not None:
        changed["context_tokens"] = context
    if "max_model_len" in meta:
        # Engines that report it this way answer many requests in one batch.
        changed["parallelism"] = REMOTE_PARALLELISM
    supported = list_of(entry.get("supported_parameters"))
    if supported:
        changed["tools"] = "tools" in supported
        changed["json_schema"] = "structured_outputs" in supported or "response_format" in supported
    can = entry.get("capabilities")
    if isinstance(can, list):
        changed["tools"] = "tool_use" in can or "tools" in can
    modalities = list_of(object_of(entry.get("architecture")).get("input_modalities"))
    if "image" in modalities or entry.get("type") == "vlm":
        changed["images"] = True
    return known.model_copy(update=changed)


def _with_props(known: Capabilities, props: Mapping[str, Json]) -> Capabilities:
    """What llama.cpp's `/props` adds."""
    changed: dict[str, object] = {}
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
    return known.model_copy(update=changed)


def _prompt_tokens(data: Mapping[str, Json]) -> int:
    return count_of(object_of(data.get("usage")).get("prompt_tokens")) or 0
