"""Ollama's own `/api/chat`: only there can the context be as large as the prompt needs."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from planloom.domain.values import CallId, Json
from planloom.models.http.adapter import AnswerRefused, HttpRequest, ProbeClient
from planloom.models.http.failures import Refusal, refusal_in
from planloom.models.http.json_text import count_of, list_of, object_of, text_of
from planloom.models.port import Capabilities, Message, ModelEvent, ModelRequest
from planloom.models.providers.accumulator import StreamAccumulator
from planloom.models.providers.openai_compatible import FINAL_STATUSES, NO_TOOLS, tool_list
from planloom.models.providers.text_tools import in_words

HOME = "http://127.0.0.1:11434"
"""Where Ollama listens unless told otherwise."""
SMALLEST_CONTEXT = 4096
"""Tokens of context that are asked for at least; larger ones are powers of two of it."""
ANSWER_ROOM = 4096
"""Tokens kept for an answer whose length the request does not limit."""


class Ollama:
    """The dialect, with the largest context that was needed so far: another size makes Ollama load anew."""

    provider = "ollama"
    key_header = "Authorization"
    headers: Mapping[str, str] = {}
    # A call is sent when all of it is written, which takes as long as the writing.
    calls_stream = False
    grammar = True
    start_advice = "Start it by `ollama serve`."

    def __init__(self) -> None:
        self._context = SMALLEST_CONTEXT
        self._tools_refused = False

    def outgoing(
        self, name: str, request: ModelRequest, capabilities: Capabilities, tokens: int, /
    ) -> HttpRequest:
        """The request as JSON, with a context that holds the prompt and the answer."""
        request = in_words(request, tools=not self.amended(capabilities).tools, schema=False)
        options: dict[str, Json] = {"num_ctx": self._context_for(request, capabilities, tokens)}
        if request.max_tokens is not None:
            options["num_predict"] = request.max_tokens
        if request.temperature is not None:
            options["temperature"] = request.temperature
        names = {call.call_id: call.name for message in request.messages for call in message.tool_calls}
        body: dict[str, Json] = {
            "model": name,
            "messages": [
                _message(message, names.get(message.tool_call_id or CallId(""), ""))
                for message in request.messages
            ],
            "stream": True,
            "options": options,
        }
        if request.tools:
            body["tools"] = tool_list(request)
        if request.response_schema is not None:
            body["format"] = request.response_schema
        return HttpRequest("/api/chat", body)

    def reader(self, request: ModelRequest) -> OllamaReader:
        """A reader for one answer."""
        return OllamaReader(request)

    def missing(self, name: str, _origin: str, /) -> str:
        """The sentence that says that the server does not have the model."""
        return f"Ollama is running but has no model {name!r}: `ollama pull {name}`."

    def model_advice(self, name: str, /) -> str:
        """How to get the model."""
        return f"Run `ollama pull {name}`, or set `model.name` to one that `ollama list` shows."

    def adapts(self, status: int, refusal: Refusal, request: ModelRequest) -> bool:
        """Learn that the model takes no tools."""
        if status in FINAL_STATUSES or self._tools_refused or not request.tools:
            return False
        self._tools_refused = NO_TOOLS.search(refusal.words) is not None
        return self._tools_refused

    def amended(self, capabilities: Capabilities) -> Capabilities:
        """What the model can do, given what was refused since it was probed."""
        return capabilities.model_copy(update={"tools": capabilities.tools and not self._tools_refused})

    async def probe(self, asking: ProbeClient, name: str) -> Capabilities:
        """What `/api/show` says of the model; where it says nothing, what Ollama can do at least."""
        shown = await asking.post("/api/show", {"model": name})
        known = Capabilities(tools=True, json_schema=True, parallelism=1)
        if shown.status != 200:
            return known
        info = object_of(shown.data.get("model_info"))
        context = next(
            (count_of(value) for field, value in info.items() if field.endswith(".context_length")), None
        )
        told = list_of(shown.data.get("capabilities"))
        # Versions that list no capabilities still show the template, which has a place for tools or not.
        tools = "tools" in told if told else ".Tools" in text_of(shown.data.get("template"))
        return known.model_copy(
            update={"tools": tools, "images": "vision" in told, "context_tokens": context}
        )

    def _context_for(self, request: ModelRequest, capabilities: Capabilities, tokens: int) -> int:
        needed = tokens + (request.max_tokens or ANSWER_ROOM)
        while self._context < needed:
            self._context *= 2
        limit = capabilities.context_tokens
        return min(self._context, limit) if limit is not None else self._context


class OllamaReader(StreamAccumulator):
    """Reads the lines of one answer."""

    def feed(self, data: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        """What a line says. Raises `AnswerRefused` where it is an error."""
        if data.get("error"):
            raise AnswerRefused(refusal_in(data))
        message = object_of(data.get("message"))
        events = (*self.think(text_of(message.get("thinking"))), *self.say(text_of(message.get("content"))))
        for number, call in enumerate(map(object_of, list_of(message.get("tool_calls"))), len(self.calls)):
            function = object_of(call.get("function"))
            # Each call comes whole, and some versions number all of them 0.
            self.progress += self.calls.add({"index": number, "id": call.get("id"), "function": function})
        if data.get("done") is True:
            self.count(count_of(data.get("prompt_eval_count")), count_of(data.get("eval_count")))
            self.finish(text_of(data.get("done_reason")) or "stop")
        return events


def _message(message: Message, tool_name: str) -> Json:
    said: dict[str, Json] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        said["tool_name"] = tool_name
    if message.images:
        said["images"] = [base64.b64encode(image.data).decode("ascii") for image in message.images]
    if message.tool_calls:
        said["tool_calls"] = [
            {"function": {"name": call.name, "arguments": call.arguments}} for call in message.tool_calls
        ]
    return said
