"""The adapter for OpenAI's chat completions, which llama.cpp, vLLM, LM Studio and OpenRouter also offer."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from planloom.domain.values import Json
from planloom.models.http.adapter import (
    AnswerReader,
    AnswerRefused,
    HttpRequest,
    ProbeClient,
    ProviderAdapter,
)
from planloom.models.http.failures import Refusal, refusal_in
from planloom.models.http.json_text import count_of, list_of, object_of, text_of
from planloom.models.http.payloads import DONE
from planloom.models.port import EFFORT_TOKENS, Capabilities, Image, Message, ModelEvent, ModelRequest
from planloom.models.providers import capabilities as probing
from planloom.models.providers.accumulator import StreamAccumulator, reasoning_fields
from planloom.models.providers.openai_models import Family, family_of
from planloom.models.providers.strict_schema import fits_strict
from planloom.models.providers.text_tools import describe_in_prompt
from planloom.providers import OPENAI

PREFERRED = ("gpt-5-mini", "gpt-4.1-mini", "gpt-4o-mini")
"""The models to choose from OpenAI's own list, which is unordered, if none is configured."""
NO_TOOLS = re.compile(
    r"support[^.]{0,40}(?:tool|function)"
    r"|(?:tool|function)[^.]{0,60}(?:support|requires|enable|not allowed|unknown)"
    r"|--jinja|enable-auto-tool-choice",
    re.IGNORECASE,
)
NO_SCHEMA = re.compile(
    r"response_?format|json_?schema|schema|grammar|guided|structured|\$ref|\$defs", re.IGNORECASE
)


class OpenAICompatible(ProviderAdapter):
    """The adapter, with what OpenAI documents of the model if it is on OpenAI's own service."""

    def __init__(self) -> None:
        super().__init__()
        self._family: Family | None = None

    def build_request(
        self, name: str, request: ModelRequest, capabilities: Capabilities, _tokens: int, /
    ) -> HttpRequest:
        """The request as JSON, without the fields that the server has refused."""
        request = self._described(request, capabilities)
        body: dict[str, Json] = {
            "model": name,
            "messages": [
                {
                    **_message(message),
                    **(
                        {}
                        if "reasoning" in self._refused
                        else reasoning_fields(message, OpenAIReader.provider)
                    ),
                }
                for message in request.messages
            ],
            "stream": True,
        }
        if "stream_options" not in self._refused:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = tool_list(request)
        if request.response_schema is not None:
            schema: dict[str, Json] = {"name": "answer", "schema": request.response_schema}
            if "strict" not in self._refused and fits_strict(request.response_schema):
                schema["strict"] = True
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if request.max_tokens is not None:
            limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
            body[limit] = request.max_tokens + self._reasoning_tokens(request)
        if request.temperature is not None and "temperature" not in self._refused:
            body["temperature"] = request.temperature
        if effort := self._effort(request):
            body["reasoning_effort"] = effort
        return HttpRequest("/chat/completions", body)

    @property
    def _refused(self) -> set[str]:
        return self.learned.refused

    @property
    def _efforts(self) -> tuple[str, ...]:
        """The efforts that OpenAI documents of the model, the least first; empty if it documents none."""
        return self._family.efforts if self._family is not None else ()

    def _described(self, request: ModelRequest, capabilities: Capabilities) -> ModelRequest:
        """The request with what the server does not take as a field described in its prompt."""
        return describe_in_prompt(
            request,
            tools=not capabilities.tools or "tools" in self._refused,
            schema=not capabilities.json_schema or "response_format" in self._refused,
        )

    def _effort(self, request: ModelRequest) -> str | None:
        """The effort as the server names it; None if nothing is said of one."""
        if request.effort is None or "reasoning_effort" in self._refused:
            return None
        return request.effort if request.effort != "off" else next(iter(self._efforts), "none")

    def _reasoning_tokens(self, request: ModelRequest) -> int:
        """Tokens for the reasoning of a model that counts it as part of its answer."""
        refused = "reasoning_effort" in self._refused
        if self._efforts and (refused or request.effort is None):
            # Nothing is said of an effort, so the model reasons by its default.
            return EFFORT_TOKENS["medium"]
        return 0 if refused else request.reasoning_tokens

    def reader(self, request: ModelRequest) -> AnswerReader:
        """A reader for one answer."""
        return OpenAIReader(request)

    def default_model(self, names: Sequence[str]) -> str:
        """On OpenAI's own service one of `PREFERRED`; a server that lists no models runs one, under any name."""
        if any(name.startswith("gpt-") for name in names):
            return next((name for name in PREFERRED if name in names), "")
        return super().default_model(names) if names else "default"

    def adapt_to(self, refusal: Refusal, request: ModelRequest) -> bool:
        """Learn from a refusal which field the server does not accept; each field is learned once."""
        return any(self.learned.refuse(name) for name in self._refused_fields(refusal, request))

    def _refused_fields(self, refusal: Refusal, request: ModelRequest) -> Iterator[str]:
        """The fields that a refusal may mean and that can be omitted or renamed, the likeliest first."""
        words = f"{refusal.field} {refusal.words}".lower()
        if "stream_options" in words:
            yield "stream_options"
        if request.max_tokens is not None and "max_completion_tokens" in words:
            yield "max_tokens"
        if request.temperature is not None and "temperature" in words:
            yield "temperature"
        # A model may refuse tools together with an effort; it then does without the effort.
        if request.effort is not None and "reasoning_effort" in words:
            yield "reasoning_effort"
        if request.response_schema is not None and NO_SCHEMA.search(words):
            # A server may refuse only `strict`; the schema itself is dropped last.
            yield from ("strict", "response_format")
            return
        if "reasoning" in words and any(each.reasoning for each in request.messages):
            yield "reasoning"
        if request.tools and NO_TOOLS.search(words):
            yield "tools"

    def reduced(self, capabilities: Capabilities) -> Capabilities:
        """The capabilities without those that the server has refused."""
        return capabilities._replace(
            tools=capabilities.tools and "tools" not in self._refused,
            json_schema=capabilities.json_schema and "response_format" not in self._refused,
        )

    async def probe(self, client: ProbeClient, name: str) -> Capabilities:
        """The capabilities that the server reports, with what OpenAI documents of its own models."""
        reported = await probing.of_openai_compatible(client, name)
        self._family = family_of(name) if client.endpoint.origin == OPENAI.url else None
        if self._family is None:
            return reported
        self._refused.update(self._family.refused)
        return reported._replace(context_tokens=self._family.context_tokens)


class OpenAIReader(StreamAccumulator):
    """Reads the chunks of one answer, or a whole answer from a server that does not stream."""

    provider = "openai"

    def feed(self, data: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        """The events of one chunk. Raises `AnswerRefused` if it reports an error."""
        if DONE in data and not self.complete and self.progress:
            # Some servers omit the finish reason; their end marker shows that the answer is complete.
            self.finish("stop")
        choices = list_of(data.get("choices"))
        if data.get("error") and not choices:
            raise AnswerRefused(refusal_in(data))
        usage = object_of(data.get("usage"))
        if usage:
            details = object_of(usage.get("prompt_tokens_details"))
            # DeepSeek counts what its cache held in a field of its own.
            cached = count_of(details.get("cached_tokens", usage.get("prompt_cache_hit_tokens")))
            prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
            self.set_usage(count_of(prompt), count_of(completion), cached)
        events: list[ModelEvent] = []
        for choice in map(object_of, choices[:1]):
            if choice.get("error"):
                raise AnswerRefused(refusal_in(choice))
            events.extend(self._delta(object_of(choice.get("delta")) or object_of(choice.get("message"))))
            reason = text_of(choice.get("finish_reason"))
            if reason == "error":
                raise AnswerRefused(Refusal("", "error"))
            if reason and not self.complete:
                self.finish(reason)
        return tuple(events)

    def _delta(self, delta: Mapping[str, Json]) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        # Most pieces have one field, of several that a server may name without a value.
        given = {name for name, value in delta.items() if value}
        for field in ("reasoning_content", "reasoning"):
            if field in given and (thought := text_of(delta[field])):
                # Some servers send the same text in both fields.
                self.keep_reasoning(field, thought)
                events.extend(self.add_reasoning(thought))
                break
        if "reasoning_details" in given:
            details = map(object_of, list_of(delta["reasoning_details"]))
            self.keep_reasoning_parts("reasoning_details", details)
        if "content" in given:
            events.extend(self._content(delta["content"]))
        if "refusal" in given:
            events.extend(self.add_text(text_of(delta["refusal"])))
        if "tool_calls" in given:
            for fragment in map(object_of, list_of(delta["tool_calls"])):
                events.extend(self.add_call(fragment))
        if "function_call" in given:
            events.extend(self.add_call({"index": 0, "function": object_of(delta["function_call"])}))
        return events

    def _content(self, content: Json) -> list[ModelEvent]:
        """The events of the words of a piece: a text, or a list of parts."""
        events = list(self.add_text(text_of(content)))
        for part in map(object_of, list_of(content)):
            events.extend(self.add_text(text_of(part.get("text"))))
            thoughts = (text_of(object_of(item).get("text")) for item in list_of(part.get("thinking")))
            events.extend(self.add_reasoning("".join(thoughts)))
        return events


def tool_list(request: ModelRequest) -> list[Json]:
    """The tools in the format of chat completions and Ollama."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in request.tools
    ]


def data_url(image: Image) -> str:
    """The image as a `data:` URL."""
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode('ascii')}"


def _message(message: Message) -> dict[str, Json]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": message.text}
    wire: dict[str, Json] = {"role": message.role, "content": message.text}
    if message.images:
        parts: list[Json] = [{"type": "text", "text": message.text}]
        for image in message.images:
            parts.append({"type": "image_url", "image_url": {"url": data_url(image)}})
        wire["content"] = parts
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for call in message.tool_calls
        ]
    return wire
