"""The adapter for Anthropic's Messages API."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import quote

from planloom.domain.values import Json
from planloom.models.http.adapter import AnswerRefused, HttpRequest, ProbeClient, ProviderAdapter, Reply
from planloom.models.http.failures import Refusal, refusal_in
from planloom.models.http.json_text import count_of, list_of, object_of, text_of
from planloom.models.port import Capabilities, Message, ModelEvent, ModelRequest
from planloom.models.providers.accumulator import StreamAccumulator
from planloom.models.providers.openai_compatible import FINAL_STATUSES
from planloom.models.providers.text_tools import describe_in_prompt

ANSWER_TOKENS = 8192
"""The answer's token limit if the request has none, since the API requires one."""
ANSWER_TOOL = "answer"
"""The tool whose forced call returns an answer that matches a schema."""
KNOWN = Capabilities(tools=True, json_schema=True, images=True, context_tokens=200_000, parallelism=4)
"""The capabilities that Anthropic documents for all current models."""
ALLOWED_LENGTH = re.compile(r"max_tokens: [0-9]{1,9} > ([0-9]{1,9})")


class Anthropic(ProviderAdapter):
    """The adapter, with the fields that the server has refused."""

    key_header = "x-api-key"
    headers: ClassVar[Mapping[str, str]] = {"anthropic-version": "2023-06-01"}
    compiles_schema = False
    start_advice = "Check the connection to the internet."

    def __init__(self) -> None:
        self._longest: int | None = None
        self._caches = True
        self._takes_temperature = True

    def build_request(
        self, name: str, request: ModelRequest, _capabilities: Capabilities, _tokens: int, /
    ) -> HttpRequest:
        """The request as JSON. Without other tools, a schema becomes a tool that must be called."""
        forced = _is_forced(request)
        request = describe_in_prompt(request, tools=False, schema=not forced)
        wanted = request.max_tokens or ANSWER_TOKENS
        body: dict[str, Json] = {
            "model": name,
            "max_tokens": wanted if self._longest is None else min(wanted, self._longest),
            "messages": _messages(request),
            "stream": True,
        }
        system = "\n\n".join(message.text for message in request.messages if message.role == "system")
        if system:
            block: dict[str, Json] = {"type": "text", "text": system}
            if self._caches:
                # Tools and system prompt stay the same between requests, so they are cached.
                block["cache_control"] = {"type": "ephemeral"}
            body["system"] = [block]
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
        if forced:
            tool: Json = {
                "name": ANSWER_TOOL,
                "description": "Give the answer.",
                "input_schema": request.response_schema,
            }
            body["tools"] = [tool]
            body["tool_choice"] = {"type": "tool", "name": ANSWER_TOOL}
        if request.temperature is not None and self._takes_temperature:
            body["temperature"] = min(request.temperature, 1.0)
        return HttpRequest("/messages", body)

    def reader(self, request: ModelRequest) -> AnthropicReader:
        """A reader for one answer."""
        return AnthropicReader(request, forced=_is_forced(request))

    def adapt_to(self, status: int, refusal: Refusal, request: ModelRequest) -> bool:
        """Learn the model's longest answer, and which fields it refuses."""
        if status in FINAL_STATUSES:
            return False
        allowed = ALLOWED_LENGTH.search(refusal.words)
        if allowed is not None and self._longest is None and int(allowed[1]) > 0:
            self._longest = int(allowed[1])
            return True
        if "cache_control" in refusal.words and self._caches:
            self._caches = False
            return True
        if "temperature" in refusal.words and request.temperature is not None and self._takes_temperature:
            self._takes_temperature = False
            return True
        return False

    def recognises(self, reply: Reply, /) -> bool:
        """Only Anthropic wraps errors in an object of type "error"."""
        return reply.status >= 400 and reply.data.get("type") == "error"

    async def probe(self, client: ProbeClient, name: str) -> Capabilities:
        """The documented capabilities, with the context size of the model's entry if it states one."""
        entry = await client.get(f"{client.endpoint.base}/models/{quote(name, safe='')}")
        context = count_of(entry.data.get("max_input_tokens"))
        return KNOWN.model_copy(update={"context_tokens": context}) if context else KNOWN


class AnthropicReader(StreamAccumulator):
    """Reads the events of one answer, or a whole answer from a server that does not stream."""

    def __init__(self, request: ModelRequest, *, forced: bool) -> None:
        super().__init__(request)
        self._forced = forced

    def feed(self, data: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        """The events of one object. Raises `AnswerRefused` if it reports an error."""
        index = data.get("index")
        match data.get("type"):
            case "error":
                raise AnswerRefused(refusal_in(data))
            case "message_start":
                return self._whole(object_of(data.get("message")))
            case "message":
                return self._whole(data)
            case "content_block_start":
                return self._block(index, object_of(data.get("content_block")))
            case "content_block_delta":
                return self._delta(index, object_of(data.get("delta")))
            case "message_delta":
                self._count(object_of(data.get("usage")))
                self._finish(object_of(data.get("delta")).get("stop_reason"))
        return ()

    def _whole(self, message: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        events: list[ModelEvent] = []
        for index, block in enumerate(map(object_of, list_of(message.get("content")))):
            events.extend(self._block(index, block))
        self._count(object_of(message.get("usage")))
        self._finish(message.get("stop_reason"))
        return tuple(events)

    def _block(self, index: Json, block: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        if block.get("type") == "tool_use":
            arguments = block.get("input") or None
            return self._call(index, text_of(block.get("id")), text_of(block.get("name")), arguments)
        return self._delta(index, block)

    def _delta(self, index: Json, delta: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        if delta.get("type") == "input_json_delta":
            return self._call(index, "", "", delta.get("partial_json"))
        return (
            *self.add_reasoning(text_of(delta.get("thinking"))),
            *self.add_text(text_of(delta.get("text"))),
        )

    def _call(self, index: Json, call_id: str, name: str, arguments: Json) -> tuple[ModelEvent, ...]:
        if self._forced:
            # The forced call is the answer, so its arguments are the text.
            return self.add_text(
                text_of(arguments) if not isinstance(arguments, dict) else _compact(arguments)
            )
        function: dict[str, Json] = {"name": name, "arguments": arguments}
        self.progress += self.calls.add({"index": index, "id": call_id, "function": function})
        return ()

    def _count(self, usage: Mapping[str, Json]) -> None:
        parts = [
            count_of(usage.get(field))
            for field in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        ]
        counts = [part for part in parts if part is not None]
        self.set_usage(sum(counts) if counts else None, count_of(usage.get("output_tokens")))

    def _finish(self, reason: Json) -> None:
        if isinstance(reason, str) and reason:
            self.finish("stop" if self._forced and reason == "tool_use" else reason)


def _is_forced(request: ModelRequest) -> bool:
    schema = request.response_schema
    return schema is not None and schema.get("type") == "object" and not request.tools


def _messages(request: ModelRequest) -> list[Json]:
    """The conversation with successive messages of one side, including tool results, joined to one message."""
    turns: list[tuple[str, list[Json]]] = []
    for message in request.messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend(_blocks(message))
    return [{"role": role, "content": blocks} for role, blocks in turns if blocks]


def _blocks(message: Message) -> list[Json]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id or "", "content": message.text}]
    blocks: list[Json] = []
    for image in message.images:
        data = base64.b64encode(image.data).decode("ascii")
        blocks.append(
            {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}
        )
    if message.text.strip():
        blocks.append({"type": "text", "text": message.text})
    for call in message.tool_calls:
        blocks.append({"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments})
    return blocks


def _compact(value: Mapping[str, Json]) -> str:
    return json.dumps(value, ensure_ascii=False)
