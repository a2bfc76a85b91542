"""The adapter for OpenAI's Responses API, in which its reasoning models take tools, and get their reasoning back.

Nothing is stored on the server: each request has the whole conversation, with the reasoning in encrypted form.
https://platform.openai.com/docs/api-reference/responses
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping

from planloom.domain.values import Json
from planloom.models.http.adapter import AnswerRefused, HttpRequest
from planloom.models.http.failures import Refusal, refusal_in
from planloom.models.http.json_text import count_of, list_of, object_of, text_of
from planloom.models.port import Capabilities, Message, ModelEvent, ModelRequest, Reasoning
from planloom.models.providers.accumulator import StreamAccumulator
from planloom.models.providers.openai_compatible import NO_SCHEMA, NO_TOOLS, OpenAICompatible, data_url
from planloom.models.providers.strict_schema import fits_strict

PROVIDER = "openai-responses"
"""The provider in whose form reasoning is kept."""
ENCRYPTED = "reasoning.encrypted_content"
"""The item of `include`, so that reasoning can go back although nothing is stored."""
LONGEST_ID = 64
"""Most characters of a call's id and of the cache key."""
LEAST_TOKENS = 16
"""The smallest limit of an answer that the API accepts."""
UNVERIFIED = re.compile(
    r"encrypted[ _]content.{0,200}(?:verif|decrypt|pars)|invalid_encrypted_content", re.DOTALL
)
"""Refusals of reasoning that another model or account has encrypted."""


class OpenAIResponses(OpenAICompatible):
    """The adapter. Models, capabilities and families are those of chat completions."""

    def build_request(
        self, name: str, request: ModelRequest, capabilities: Capabilities, _tokens: int, /
    ) -> HttpRequest:
        """The request as JSON, without the fields that the server has refused."""
        refused = self._refused
        request = self._described(request, capabilities)
        instructions = "\n\n".join(message.text for message in request.messages if message.role == "system")
        body: dict[str, Json] = {
            "model": name,
            **({"instructions": instructions} if instructions else {}),
            "input": [
                item for message in request.messages for item in _items(message, "reasoning" not in refused)
            ],
            "stream": True,
            "store": False,
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": False,
                }
                for tool in request.tools
            ]
        if request.response_schema is not None:
            strict = "strict" not in refused and fits_strict(request.response_schema)
            schema = request.response_schema
            body["text"] = {
                "format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict}
            }
        if request.max_tokens is not None:
            wanted = request.max_tokens + self._reasoning_tokens(request)
            body["max_output_tokens"] = max(wanted, LEAST_TOKENS)
        if request.temperature is not None and "temperature" not in refused:
            body["temperature"] = request.temperature
        if reasoning := self._reasoning(request):
            body["reasoning"] = reasoning
        if "include" not in refused and (self._family is None or self._efforts):
            body["include"] = [ENCRYPTED]
        if "prompt_cache_key" not in refused:
            body["prompt_cache_key"] = _cache_key(name, instructions, request)
        return HttpRequest("/responses", body)

    def _reasoning(self, request: ModelRequest) -> dict[str, Json]:
        """The effort, and the wish for summaries, which show that the model is at work."""
        effort = self._effort(request)
        found: dict[str, Json] = {"effort": effort} if effort else {}
        reasons = bool(self._efforts or effort)
        if reasons and request.effort != "off" and "reasoning.summary" not in self._refused:
            found["summary"] = "auto"
        return found

    def may_pause(self, _request: ModelRequest, /) -> bool:
        """A model reasons in silence, for minutes, also between the summaries of its reasoning."""
        return True

    def reader(self, request: ModelRequest) -> ResponsesReader:
        """A reader for one answer."""
        return ResponsesReader(request)

    def _refused_fields(self, refusal: Refusal, request: ModelRequest) -> Iterator[str]:
        words = f"{refusal.field} {refusal.kind} {refusal.words}".lower()
        if "prompt_cache_key" in words:
            yield "prompt_cache_key"
        if re.search(r"reasoning.{0,3}summar", words):
            yield "reasoning.summary"
        returned = any(
            each.provider == PROVIDER for message in request.messages for each in message.reasoning
        )
        if returned and (UNVERIFIED.search(words) or re.search(r"input\[.*reasoning|\brs_", words)):
            yield "reasoning"
        if re.search(r"^include\b|'include'|encrypted content is not", words):
            yield "include"
        if request.temperature is not None and "temperature" in words:
            yield "temperature"
        if request.effort is not None and re.search(r"reasoning[._]effort|'reasoning'", words):
            yield "reasoning_effort"
        if request.response_schema is not None and (NO_SCHEMA.search(words) or "text.format" in words):
            yield from ("strict", "response_format")
        if request.tools and NO_TOOLS.search(words):
            yield "tools"


class ResponsesReader(StreamAccumulator):
    """Reads the events of one answer, or a whole answer from a server that does not stream."""

    provider = PROVIDER

    def __init__(self, request: ModelRequest) -> None:
        super().__init__(request)
        self._begun: set[int | None] = set()
        """The items of the output of which something has come."""
        self._has_items = False
        """Whether an item has come as a whole, so that the end of the answer only repeats it."""
        self._texts = 0
        self._refusal = False

    def feed(self, data: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        """The events of one object. Raises `AnswerRefused` if it reports an error."""
        index = count_of(data.get("output_index"))
        delta = text_of(data.get("delta"))
        kind = text_of(data.get("type"))
        if data.get("object") == "response":
            return self._ended(data)
        match kind.removeprefix("response."):
            case "completed" | "incomplete" | "failed":
                return self._ended(object_of(data.get("response")))
            case "error":
                # The error stands in the event itself, or in a field of it.
                raise AnswerRefused(refusal_in(data if "error" in data else {"error": _error(data)}))
            case "output_item.added":
                return self._item(index, object_of(data.get("item")), done=False)
            case "output_item.done":
                self._has_items = True
                return self._item(index, object_of(data.get("item")), done=True)
            case "output_text.delta":
                return self._text_of(index, delta)
            case "refusal.delta":
                self._refusal = True
                return self._text_of(index, delta)
            case "reasoning_summary_part.added":
                return self.add_reasoning("\n\n") if count_of(data.get("summary_index")) else ()
            case "reasoning_summary_text.delta" | "reasoning_text.delta":
                return self.add_reasoning(delta)
            case "function_call_arguments.delta":
                self._begun.add(index)
                return self.add_call({"index": index, "function": {"arguments": delta}})
        if data.get("error"):
            raise AnswerRefused(refusal_in(data))
        return ()

    def _item(self, index: int | None, item: Mapping[str, Json], *, done: bool) -> tuple[ModelEvent, ...]:
        """An item of the output as it begins or ends. What did not come in pieces is taken from its end."""
        match item.get("type"):
            case "function_call":
                whole = text_of(item.get("arguments")) if done and index not in self._begun else ""
                function: dict[str, Json] = {"name": item.get("name"), "arguments": whole}
                if whole or not done:
                    call: dict[str, Json] = {"index": index, "id": item.get("call_id"), "function": function}
                    return self.add_call(call)
            case "message" if done:
                if phase := text_of(item.get("phase")):
                    self.kept.append(Reasoning(provider=self.provider, data={"phase": phase}))
                if index not in self._begun:
                    parts = [object_of(part) for part in list_of(item.get("content"))]
                    self._refusal = self._refusal or any(part.get("type") == "refusal" for part in parts)
                    text = "".join(
                        text_of(part.get("text")) or text_of(part.get("refusal")) for part in parts
                    )
                    return self._text_of(index, text)
            case "reasoning" if done and (item.get("encrypted_content") or item.get("content")):
                place = min(self._texts, 1) + len(self.calls)
                self.kept.append(Reasoning(provider=self.provider, data={"item": dict(item), "place": place}))
        return ()

    def _text_of(self, index: int | None, piece: str) -> tuple[ModelEvent, ...]:
        """Text of one message of the answer; an answer may have several."""
        if not piece:
            return ()
        begins = index not in self._begun
        gap = "\n\n" if begins and self._texts else ""
        self._texts += begins
        self._begun.add(index)
        return self.add_text(gap + piece)

    def _ended(self, response: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        """The end of the answer, or a whole one."""
        if response.get("error") or response.get("status") in ("failed", "cancelled"):
            error = object_of(response.get("error")) or {"code": response.get("status")}
            raise AnswerRefused(refusal_in({"error": error}))
        events: list[ModelEvent] = []
        if not self._begun and not self._has_items:
            for index, item in enumerate(map(object_of, list_of(response.get("output")))):
                events.extend(self._item(index, item, done=True))
        usage = object_of(response.get("usage"))
        cached = count_of(object_of(usage.get("input_tokens_details")).get("cached_tokens"))
        self.set_usage(count_of(usage.get("input_tokens")), count_of(usage.get("output_tokens")), cached)
        cut = text_of(object_of(response.get("incomplete_details")).get("reason"))
        self.finish(cut or ("refusal" if self._refusal else "stop"))
        return tuple(events)


def _error(data: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in data.items() if name in ("code", "message", "param")}


def _items(message: Message, returns_reasoning: bool) -> Iterator[dict[str, Json]]:
    """The items of the input that a message is: each text, call, result and piece of reasoning is one."""
    match message.role:
        case "system":
            return
        case "tool":
            yield {
                "type": "function_call_output",
                "call_id": _call_id(message.tool_call_id or ""),
                "output": message.text,
            }
            return
        case "user":
            yield {"type": "message", "role": "user", "content": _content(message)}
            return
    own = [each.data for each in message.reasoning if each.provider == PROVIDER and returns_reasoning]
    said: list[dict[str, Json]] = []
    if message.text.strip():
        text: Json = {"type": "output_text", "text": message.text}
        # The phase says whether the text is a remark on the way or the answer; newer models want it back.
        phases: list[dict[str, Json]] = [data for data in own if "phase" in data]
        said.append(
            {"type": "message", "role": "assistant", "content": [text], **(phases[-1] if phases else {})}
        )
    said.extend(
        {
            "type": "function_call",
            "call_id": _call_id(call.call_id),
            "name": call.name,
            "arguments": json.dumps(call.arguments, ensure_ascii=False),
        }
        for call in message.tool_calls
    )
    thoughts = [data for data in own if "item" in data]
    for place in range(len(said) + 1):
        last = place == len(said)
        for data in thoughts:
            before = count_of(data.get("place")) or 0
            if before == place or (last and before > place):
                yield _returned(object_of(data.get("item")))
        if not last:
            yield said[place]


def _returned(item: Mapping[str, Json]) -> dict[str, Json]:
    """A reasoning item for the input. Its id names a stored item, and none is stored; a status is not accepted."""
    return {name: value for name, value in item.items() if name not in ("id", "status") and value is not None}


def _content(message: Message) -> list[Json]:
    images: list[Json] = [{"type": "input_image", "image_url": data_url(image)} for image in message.images]
    return [{"type": "input_text", "text": message.text}, *images]


def _call_id(call_id: str) -> str:
    """The id of a call; another provider's may be longer than the API accepts."""
    return (
        call_id if len(call_id) <= LONGEST_ID else hashlib.sha256(call_id.encode()).hexdigest()[:LONGEST_ID]
    )


def _cache_key(name: str, instructions: str, request: ModelRequest) -> str:
    """The same key for all requests of a conversation, so that they reach the machine which has cached the prompt."""
    first = next((message.text for message in request.messages if message.role == "user"), "")
    parts = (name, instructions, first, *(tool.name for tool in request.tools))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:LONGEST_ID]
