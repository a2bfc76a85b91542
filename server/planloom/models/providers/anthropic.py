"""The adapter for Anthropic's Messages API."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar
from urllib.parse import quote

from planloom.domain.values import Json
from planloom.models.http.adapter import AnswerRefused, HttpRequest, ProbeClient, ProviderAdapter, Reply
from planloom.models.http.failures import Refusal, refusal_in
from planloom.models.http.json_text import count_of, list_of, object_of, text_of
from planloom.models.port import Capabilities, Message, ModelEvent, ModelRequest, Reasoning
from planloom.models.providers.accumulator import StreamAccumulator
from planloom.models.providers.text_tools import describe_in_prompt

ANSWER_TOKENS = 8192
"""The answer's token limit if the request has none, since the API requires one."""
ANSWER_TOOL = "answer"
"""The tool whose forced call returns an answer that matches a schema."""
KNOWN = Capabilities(
    tools=True, json_schema=True, images=True, context_tokens=200_000, parallelism=4, native_only=True
)
"""The capabilities that Anthropic documents for all current models."""
ALLOWED_LENGTH = re.compile(r"max_tokens: [0-9]{1,9} > ([0-9]{1,9})")


SMALLEST_THINKING = 1024
"""The smallest budget of thinking that the API accepts."""
ADAPTIVE = re.compile(r"claude-(?:opus|sonnet)-4-[6-9](?![0-9])|claude-[a-z]+-[5-9](?![0-9])")
"""Models that decide themselves how long to think, by an effort and not by a budget."""


class Anthropic(ProviderAdapter):
    """The adapter. It asks for thinking where the user's settings do."""

    key_header = "x-api-key"
    headers: ClassVar[Mapping[str, str]] = {"anthropic-version": "2023-06-01"}
    compiles_schema = False
    start_advice = "Check the connection to the internet."

    def build_request(
        self, name: str, request: ModelRequest, _capabilities: Capabilities, _tokens: int, /
    ) -> HttpRequest:
        """The request as JSON. Without other tools, a schema becomes a tool that must be called."""
        forced = self._forces(request)
        request = describe_in_prompt(request, tools=False, schema=not forced)
        wanted = (request.max_tokens or ANSWER_TOKENS) + request.reasoning_tokens
        longest = self.learned.answer_tokens
        limit = wanted if longest is None else min(wanted, longest)
        messages = _messages(request)
        thinking = self._thinking(name, request, limit, messages)
        body: dict[str, Json] = {
            "model": name,
            "max_tokens": limit,
            "messages": messages,
            "stream": True,
            **thinking,
        }
        system = "\n\n".join(message.text for message in request.messages if message.role == "system")
        if system:
            block: dict[str, Json] = {"type": "text", "text": system}
            body["system"] = [block]
            if "cache_control" not in self.learned.refused:
                _mark_for_cache(block, messages)
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
        # Thinking allows no other temperature than that of the model.
        thinks = object_of(body.get("thinking")).get("type") in ("enabled", "adaptive")
        if request.temperature is not None and not thinks and "temperature" not in self.learned.refused:
            body["temperature"] = min(request.temperature, 1.0)
        return HttpRequest("/messages", body)

    def _forces(self, request: ModelRequest) -> bool:
        """Whether the answer is a forced call of a tool, which the API does not allow together with thinking."""
        if "tool_choice" in self.learned.refused or (self._may_think(request) and request.reasoning_tokens):
            return False
        return _is_forced(request)

    def _may_think(self, request: ModelRequest) -> bool:
        asked = request.effort is not None or bool(request.thinking_tokens)
        return asked and "thinking" not in self.learned.refused

    def _thinking(
        self, name: str, request: ModelRequest, limit: int, messages: Sequence[Json]
    ) -> dict[str, Json]:
        """The fields that ask for thinking, or for none; nothing leaves it to the model."""
        if not self._may_think(request):
            return {}
        if request.effort == "off":
            return {"thinking": {"type": "disabled"}}
        if ADAPTIVE.match(name) or "thinking.enabled" in self.learned.refused:
            config: dict[str, Json] = {"output_config": {"effort": request.effort}} if request.effort else {}
            return {"thinking": {"type": "adaptive"}, **config}
        # A short limit of the model's answers leaves less to think.
        answer = min(request.max_tokens or SMALLEST_THINKING, SMALLEST_THINKING)
        budget = min(request.reasoning_tokens, limit - answer)
        if budget < SMALLEST_THINKING or _began_without_thinking(messages):
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}

    def reader(self, request: ModelRequest) -> AnthropicReader:
        """A reader for one answer."""
        return AnthropicReader(request, forced=self._forces(request))

    def adapt_to(self, refusal: Refusal, request: ModelRequest) -> bool:
        """Learn the model's longest answer, and which fields it refuses."""
        words, learned = refusal.words, self.learned
        allowed = ALLOWED_LENGTH.search(words)
        if allowed is not None and learned.answer_tokens is None and int(allowed[1]) > 0:
            learned.answer_tokens = int(allowed[1])
            return True
        if "cache_control" in words:
            return learned.refuse("cache_control")
        if "tool_choice" in words and _is_forced(request):
            return learned.refuse("tool_choice")
        if "temperature" in words and request.temperature is not None and learned.refuse("temperature"):
            return True
        if not re.search("thinking|output_config|effort", words) or not self._may_think(request):
            return False
        if "adaptive" in words and "thinking.enabled" not in learned.refused:
            return learned.refuse("thinking.enabled")
        return learned.refuse("thinking")

    def recognises(self, reply: Reply, /) -> bool:
        """Only Anthropic wraps errors in an object of type "error"."""
        return reply.status >= 400 and reply.data.get("type") == "error"

    async def probe(self, client: ProbeClient, name: str) -> Capabilities:
        """The documented capabilities, with the context size of the model's entry if it states one."""
        entry = await client.get(f"{client.endpoint.base}/models/{quote(name, safe='')}")
        context = count_of(entry.data.get("max_input_tokens"))
        return KNOWN._replace(context_tokens=context) if context else KNOWN


def _mark_for_cache(system: dict[str, Json], messages: Sequence[Json]) -> None:
    """Have tools, system prompt and the conversation so far cached: the next request repeats and extends them.

    The API takes four marks and looks for a cached prefix at most 20 blocks before each. An answer with many calls and
    their results is longer than that, so the end of the request before is marked, too.
    https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
    """
    system["cache_control"] = {"type": "ephemeral"}
    from_user = [message for message in map(object_of, messages) if message.get("role") == "user"]
    for message in from_user[-2:]:
        blocks = [block for block in list_of(message.get("content")) if isinstance(block, dict)]
        if blocks:
            blocks[-1]["cache_control"] = {"type": "ephemeral"}


def _began_without_thinking(messages: Sequence[Json]) -> bool:
    """Whether the model's present turn began with a call but without a thought, which the API refuses with thinking.

    It did if its first part is by another model, or was written with thinking off.
    """
    first: Mapping[str, Json] = {}
    for message in reversed([object_of(message) for message in messages]):
        kinds = {object_of(block).get("type") for block in list_of(message.get("content"))}
        if message.get("role") == "assistant":
            first = message
        elif "tool_result" not in kinds:
            break
    blocks = [object_of(block).get("type") for block in list_of(first.get("content"))]
    return "tool_use" in blocks and blocks[0] not in ("thinking", "redacted_thinking")


class AnthropicReader(StreamAccumulator):
    """Reads the events of one answer, or a whole answer from a server that does not stream."""

    provider = "anthropic"

    def __init__(self, request: ModelRequest, *, forced: bool) -> None:
        super().__init__(request)
        self._forced = forced
        self._thinking: dict[int, dict[str, Json]] = {}

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
        if block.get("type") == "redacted_thinking":
            self._thinking[count_of(index) or 0] = {
                "type": "redacted_thinking",
                "data": text_of(block.get("data")),
            }
        return self._delta(index, block)

    def _delta(self, index: Json, delta: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        if delta.get("type") == "input_json_delta":
            return self._call(index, "", "", delta.get("partial_json"))
        thought, signature = text_of(delta.get("thinking")), text_of(delta.get("signature"))
        if thought or signature:
            block = self._thinking.setdefault(
                count_of(index) or 0, {"type": "thinking", "thinking": "", "signature": ""}
            )
            block["thinking"] = f"{block.get('thinking', '')}{thought}"
            block["signature"] = f"{block.get('signature', '')}{signature}"
        return (
            *self.add_reasoning(thought),
            *self.add_text(text_of(delta.get("text"))),
        )

    def _call(self, index: Json, call_id: str, name: str, arguments: Json) -> tuple[ModelEvent, ...]:
        if self._forced:
            # The forced call is the answer, so its arguments are the text.
            return self.add_text(
                text_of(arguments) if not isinstance(arguments, dict) else _compact(arguments)
            )
        function: dict[str, Json] = {"name": name, "arguments": arguments}
        return self.add_call({"index": index, "id": call_id, "function": function})

    def _count(self, usage: Mapping[str, Json]) -> None:
        parts = [
            count_of(usage.get(field))
            for field in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        ]
        counts = [part for part in parts if part is not None]
        cached = count_of(usage.get("cache_read_input_tokens"))
        self.set_usage(sum(counts) if counts else None, count_of(usage.get("output_tokens")), cached)

    def _finish(self, reason: Json) -> None:
        if isinstance(reason, str) and reason:
            # The API refuses a thinking block without its signature.
            self.kept = [
                Reasoning(provider=self.provider, data=block)
                for block in self._thinking.values()
                if block.get("signature") or block.get("data")
            ]
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
        own = (each.data for each in message.reasoning if each.provider == AnthropicReader.provider)
        turns[-1][1].extend(map(dict, own))
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
