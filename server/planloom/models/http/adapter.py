"""What a family of engines must say of itself for the shared adapter to speak with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from planloom.domain.values import Json
from planloom.models.http.endpoint import Endpoint
from planloom.models.http.failures import Refusal
from planloom.models.port import Capabilities, ModelEvent, ModelRequest


class HttpRequest(NamedTuple):
    """A request in an engine's own words; `path` is appended to the base URL."""

    path: str
    body: dict[str, Json]


class AnswerReader(Protocol):
    """Folds the objects of one answer into events. `progress` rises with every token, `complete` is
    True once the answer is whole and only counts may follow, `stopped` once reading on is pointless."""

    progress: int
    complete: bool
    stopped: bool

    def feed(self, data: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        """What this object says. Raises `AnswerRefused` where it is an error."""
        ...

    def end(self) -> tuple[ModelEvent, ...]:
        """The last events, `Finished` included. Raises `AnswerBroken` where the answer is not whole."""
        ...


class AnswerRefused(Exception):
    """The server reports an error where an answer should be."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.words)
        self.refusal = refusal


class ProviderAdapter(Protocol):
    """What one family of engines speaks. A dialect may learn from refusals; it does no I/O of its own
    but through the `ProbeClient` that it is given."""

    provider: str
    key_header: str
    headers: Mapping[str, str]
    calls_stream: bool
    """Whether a tool call is sent as it is written; else a long silence before it is normal."""
    grammar: bool
    """Whether a local engine makes a grammar of an answer's schema, which takes no room in the prompt then."""
    start_advice: str

    def outgoing(
        self, name: str, request: ModelRequest, capabilities: Capabilities, tokens: int, /
    ) -> HttpRequest:
        """The request; `tokens` are what its prompt has at most."""
        ...

    def reader(self, request: ModelRequest) -> AnswerReader: ...

    def missing(self, name: str, origin: str, /) -> str:
        """The sentence that says that the server does not have the model."""
        ...

    def model_advice(self, name: str, /) -> str: ...

    def adapts(self, status: int, refusal: Refusal, request: ModelRequest) -> bool:
        """Whether, having learned from this refusal, the same question may be put differently at once."""
        ...

    def amended(self, capabilities: Capabilities) -> Capabilities:
        """What the engine can do, given what was learned from its refusals."""
        ...

    async def probe(self, asking: ProbeClient, name: str) -> Capabilities: ...


class ProbeClient(Protocol):
    """Short questions to a server beside its answers: what it has and what it can do."""

    @property
    def endpoint(self) -> Endpoint: ...

    async def get(self, url: str) -> Reply: ...

    async def post(self, path: str, body: dict[str, Json]) -> Reply: ...


class Reply(NamedTuple):
    """The answer to a short question: `status` 0 and the problem where there was none."""

    status: int
    data: dict[str, Json]
    problem: str = ""
