"""The interface that each provider adapter (OpenAI-compatible, Ollama, Anthropic) implements for `HttpModel`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from planloom.domain.values import Json
from planloom.models.http.endpoint import Endpoint
from planloom.models.http.failures import Refusal
from planloom.models.port import Capabilities, ModelEvent, ModelRequest


class HttpRequest(NamedTuple):
    """A request in the provider's format; `path` is appended to the base URL."""

    path: str
    body: dict[str, Json]


class AnswerReader(Protocol):
    """Turns the JSON objects of one answer into events.

    `progress` rises with every token. `complete`: the answer is whole, only usage may follow. `stopped`: reading
    on is pointless.
    """

    progress: int
    complete: bool
    stopped: bool

    def feed(self, data: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        """The events of one object. Raises `AnswerRefused` if it reports an error."""
        ...

    def end(self) -> tuple[ModelEvent, ...]:
        """The last events, including `Finished`. Raises `AnswerBroken` if the answer is incomplete."""
        ...


class AnswerRefused(Exception):
    """The server reported an error in place of an answer."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.words)
        self.refusal = refusal


class ProviderAdapter(Protocol):
    """The protocol of one provider. An adapter may learn from refusals; it does I/O only through `ProbeClient`."""

    provider: str
    key_header: str
    headers: Mapping[str, str]
    streams_calls: bool
    """Whether tool calls are streamed as they are written; if not, a long silence before a call is normal."""
    compiles_schema: bool
    """Whether a local server compiles the response schema to a grammar, so that it takes no room in the prompt."""
    start_advice: str

    def build_request(
        self, name: str, request: ModelRequest, capabilities: Capabilities, tokens: int, /
    ) -> HttpRequest:
        """The HTTP request; `tokens` is an upper bound for its prompt."""
        ...

    def reader(self, request: ModelRequest) -> AnswerReader: ...

    def missing_message(self, name: str, origin: str, /) -> str:
        """A sentence that the server does not have the model."""
        ...

    def model_advice(self, name: str, /) -> str: ...

    def adapt_to(self, status: int, refusal: Refusal, request: ModelRequest) -> bool:
        """Learn from a refusal; True if the request should be built again and resent at once."""
        ...

    def reduced(self, capabilities: Capabilities) -> Capabilities:
        """The capabilities without those that the server has refused."""
        ...

    async def probe(self, client: ProbeClient, name: str) -> Capabilities: ...


class ProbeClient(Protocol):
    """Sends short requests to a server, to find out its models and capabilities."""

    @property
    def endpoint(self) -> Endpoint: ...

    async def get(self, url: str) -> Reply: ...

    async def post(self, path: str, body: dict[str, Json]) -> Reply: ...


class Reply(NamedTuple):
    """The reply to a short request; without one `status` is 0 and `problem` says why."""

    status: int
    data: dict[str, Json]
    problem: str = ""
