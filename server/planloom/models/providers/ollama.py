"""The adapter for Ollama's own `/api/chat`, the only API of Ollama with a context size per request."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from planloom.domain.values import CallId, Json
from planloom.models.http.adapter import (
    AnswerRefused,
    HttpRequest,
    ModelEntry,
    ModelListing,
    ProbeClient,
    ProviderAdapter,
    Reply,
)
from planloom.models.http.endpoint import Endpoint, endpoint_of
from planloom.models.http.failures import Refusal, refusal_in
from planloom.models.http.json_text import count_of, list_of, object_of, text_of
from planloom.models.port import Capabilities, Message, ModelEvent, ModelRequest
from planloom.models.providers.accumulator import StreamAccumulator, reasoning_fields
from planloom.models.providers.openai_compatible import NO_TOOLS, tool_list
from planloom.models.providers.text_tools import describe_in_prompt
from planloom.providers import LOCAL_MODEL

SMALLEST_CONTEXT = 4096
"""Smallest context size in tokens; larger ones are its multiples by powers of two."""
ANSWER_ROOM = 4096
"""Tokens reserved for an answer without a limit in the request."""
LEVELS = re.compile(r"(?:.*/)?gpt-oss")
"""Models that take a level of effort, of which `off` is refused; others think or do not."""


class Ollama(ProviderAdapter):
    """The adapter, with the largest context needed so far, since another size makes Ollama reload the model."""

    start_advice = "Start it with `ollama serve`."
    models_path = "/api/tags"

    def __init__(self) -> None:
        super().__init__()
        self._context = SMALLEST_CONTEXT

    def build_request(
        self, name: str, request: ModelRequest, capabilities: Capabilities, tokens: int, /
    ) -> HttpRequest:
        """The request as JSON, with a context size for the prompt and the answer."""
        request = describe_in_prompt(request, tools=not self.reduced(capabilities).tools, schema=False)
        options: dict[str, Json] = {"num_ctx": self._context_for(request, capabilities, tokens)}
        if request.max_tokens is not None:
            options["num_predict"] = request.max_tokens + request.reasoning_tokens
        if request.temperature is not None:
            options["temperature"] = request.temperature
        names = {call.call_id: call.name for message in request.messages for call in message.tool_calls}
        body: dict[str, Json] = {
            "model": name,
            "messages": [
                {
                    **_message(message, names.get(message.tool_call_id or CallId(""), "")),
                    **reasoning_fields(message, OllamaReader.provider),
                }
                for message in request.messages
            ],
            "stream": True,
            "options": options,
        }
        if request.tools:
            body["tools"] = tool_list(request)
        if request.response_schema is not None:
            body["format"] = request.response_schema
        if request.effort is not None and "think" not in self.learned.refused:
            body["think"] = request.effort if LEVELS.match(name) else request.effort != "off"
        return HttpRequest("/api/chat", body)

    def may_pause(self, request: ModelRequest, /) -> bool:
        """Ollama sends a call only when it is complete."""
        return bool(request.tools)

    def reader(self, request: ModelRequest) -> OllamaReader:
        """A reader for one answer."""
        return OllamaReader(request)

    def endpoint(self, url: str) -> Endpoint:
        """The address without the path of Ollama's OpenAI-compatible API, with which users often give it."""
        endpoint = endpoint_of(url)
        return endpoint._replace(path=endpoint.path.removesuffix("/v1").removesuffix("/api"))

    def listing(self, reply: Reply) -> ModelListing:
        """The models in the reply of `/api/tags`."""
        if reply.status >= 400 or not isinstance(reply.data.get("models"), list):
            return ModelListing(
                True, problem=reply.problem or "it is not Ollama", foreign=True, cause="wrong_address"
            )
        entries = map(object_of, list_of(reply.data["models"]))
        names = [text_of(entry.get("name")) or text_of(entry.get("model")) for entry in entries]
        models = tuple(ModelEntry(name) for name in names if name)
        problem = "" if models else f"Ollama is running but has no model: `ollama pull {LOCAL_MODEL}`."
        return ModelListing(
            True,
            models,
            problem,
            default=self.default_model([model.name for model in models]),
            cause=None if models else "no_models",
        )

    def recognises(self, reply: Reply, /) -> bool:
        """Only Ollama says of a model that it is owned by the library."""
        return any(object_of(entry).get("owned_by") == "library" for entry in list_of(reply.data.get("data")))

    def missing_message(self, name: str, _origin: str, /) -> str:
        """A sentence that the server does not have the model."""
        return f"Ollama is running but has no model {name!r}: `ollama pull {name}`."

    def model_advice(self, name: str, /) -> str:
        """How to get the model."""
        return f"Run `ollama pull {name}`, or set `planloom.model.name` to one that `ollama list` shows."

    def adapt_to(self, refusal: Refusal, request: ModelRequest) -> bool:
        """Learn that the model does not support tools or the field `think`."""
        if request.effort is not None and "think" in refusal.words and self.learned.refuse("think"):
            return True
        has_no_tools = bool(request.tools) and NO_TOOLS.search(refusal.words) is not None
        return has_no_tools and self.learned.refuse("tools")

    def reduced(self, capabilities: Capabilities) -> Capabilities:
        """The capabilities, without tools if the model has refused them."""
        return capabilities._replace(tools=capabilities.tools and "tools" not in self.learned.refused)

    async def probe(self, client: ProbeClient, name: str) -> Capabilities:
        """The capabilities that `/api/show` reports, or defaults."""
        shown = await client.post("/api/show", {"model": name})
        # No API of Ollama states OLLAMA_NUM_PARALLEL.
        defaults = Capabilities(tools=True, json_schema=True)
        if shown.status != 200:
            return defaults
        info = object_of(shown.data.get("model_info"))
        context = next(
            (count_of(value) for field, value in info.items() if field.endswith(".context_length")), None
        )
        listed = list_of(shown.data.get("capabilities"))
        # Older versions list no capabilities, but show the template, which has a place for tools or not.
        tools = "tools" in listed if listed else ".Tools" in text_of(shown.data.get("template"))
        return defaults._replace(tools=tools, images="vision" in listed, context_tokens=context)

    def _context_for(self, request: ModelRequest, capabilities: Capabilities, tokens: int) -> int:
        needed = tokens + (request.max_tokens or ANSWER_ROOM) + request.reasoning_tokens
        while self._context < needed:
            self._context *= 2
        limit = capabilities.context_tokens
        return min(self._context, limit) if limit is not None else self._context


class OllamaReader(StreamAccumulator):
    """Reads the lines of one answer."""

    provider = "ollama"

    def feed(self, data: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        """The events of one line. Raises `AnswerRefused` if it reports an error."""
        if data.get("error"):
            raise AnswerRefused(refusal_in(data))
        message = object_of(data.get("message"))
        self.keep_reasoning("thinking", text_of(message.get("thinking")))
        events = (
            *self.add_reasoning(text_of(message.get("thinking"))),
            *self.add_text(text_of(message.get("content"))),
        )
        for number, call in enumerate(map(object_of, list_of(message.get("tool_calls"))), len(self.calls)):
            function = object_of(call.get("function"))
            # Each call is complete, and some versions give all of them the index 0.
            whole = {"index": number, "id": call.get("id"), "function": function}
            self.progress += self.calls.add(whole) is not None
        if data.get("done") is True:
            self.set_usage(count_of(data.get("prompt_eval_count")), count_of(data.get("eval_count")))
            self.finish(text_of(data.get("done_reason")) or "stop")
        return events


def _message(message: Message, tool_name: str) -> dict[str, Json]:
    wire: dict[str, Json] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        wire["tool_name"] = tool_name
    if message.images:
        wire["images"] = [base64.b64encode(image.data).decode("ascii") for image in message.images]
    if message.tool_calls:
        wire["tool_calls"] = [
            {"function": {"name": call.name, "arguments": call.arguments}} for call in message.tool_calls
        ]
    return wire
