"""The provider of a made-up model server: `POST /echo` answers in lines of JSON."""

from collections.abc import Mapping
from typing import Any

from planloom.extending import (
    AnswerReader,
    AnswerRefused,
    Capabilities,
    HttpRequest,
    ModelEvent,
    ModelRequest,
    ProbeClient,
    Provider,
    ProviderAdapter,
    Refusal,
    StreamAccumulator,
    refusal_in,
)


class Echo(ProviderAdapter):
    """Its protocol. Transport, retries, time limits and keys are Planloom's; `/models` is OpenAI's."""

    def build_request(
        self, name: str, request: ModelRequest, capabilities: Capabilities, tokens: int, /
    ) -> HttpRequest:
        """The request as the server wants it."""
        body: dict[str, Any] = {
            "model": name,
            "messages": [{"role": each.role, "text": each.text} for each in request.messages],
            "tools": [each.model_dump() for each in request.tools],
        }
        return HttpRequest("/echo", body)

    def reader(self, request: ModelRequest) -> AnswerReader:
        """A reader for one answer."""
        return EchoReader(request)

    def adapt_to(self, refusal: Refusal, request: ModelRequest) -> bool:
        """There is nothing to learn from a refusal."""
        return False

    async def probe(self, client: ProbeClient, name: str) -> Capabilities:
        """What every model there can do."""
        return Capabilities(tools=True, context_tokens=32_768)


class EchoReader(StreamAccumulator):
    """Reads the lines of one answer."""

    def feed(self, data: Mapping[str, Any]) -> tuple[ModelEvent, ...]:
        """The events of one line: more text, a whole call, or the end."""
        if data.get("error"):
            raise AnswerRefused(refusal_in(data))
        if (call := data.get("call")) is not None:
            self.add_call({"index": len(self.calls), "id": call["id"], "function": call})
        if data.get("end"):
            self.finish(str(data["end"]))
        return self.add_text(str(data.get("text", "")))


ECHO = Provider(
    name="echo",
    adapter="planloom_example.echo:Echo",
    url="http://127.0.0.1:8787",
    url_variable="ECHO_HOST",
    key_variable="ECHO_API_KEY",
)
