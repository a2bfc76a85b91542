"""The part of a provider that differs, for `HttpModel`: requests, answers, refusals, and the list of its models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol

from planloom.domain.errors import ModelCause
from planloom.domain.values import Json
from planloom.models.http.endpoint import Endpoint, endpoint_of
from planloom.models.http.failures import Refusal, cause_of
from planloom.models.http.json_text import first_count, list_of, object_of, text_of
from planloom.models.http.learned import Learned
from planloom.models.port import Capabilities, ModelEvent, ModelRequest

LISTED_CONTEXT_FIELDS = ("max_model_len", "context_length", "context_window", "max_input_tokens")
"""Fields in which a list of models states the size of a context."""


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


class ModelEntry(NamedTuple):
    """A model in the list of a server."""

    name: str
    context_tokens: int | None = None


class ModelListing(NamedTuple):
    """The models of a server. `answered` is False if there was no reply; `problem` says what was wrong.

    `cause` says it for programs. `default` is the model to use if none is configured, or "". `foreign`: the reply is
    not in the provider's protocol.
    """

    answered: bool
    models: tuple[ModelEntry, ...] = ()
    problem: str = ""
    default: str = ""
    foreign: bool = False
    cause: ModelCause | None = None


class ProviderAdapter(ABC):
    """The protocol of one provider. It does I/O only through `ProbeClient`.

    The defaults are those of OpenAI's API, which most others resemble. What refusals teach is kept in `learned`, which
    outlives the adapter.
    """

    key_header: ClassVar[str] = "Authorization"
    headers: ClassVar[Mapping[str, str]] = {}
    compiles_schema: ClassVar[bool] = True
    """Whether a local server compiles the response schema to a grammar, so that it takes no room in the prompt."""
    start_advice: ClassVar[str] = "Start the model server there."
    models_path: ClassVar[str] = "/models"
    """Where the server lists its models; appended to the base URL."""

    def __init__(self) -> None:
        self.learned = Learned()

    @abstractmethod
    def build_request(
        self, name: str, request: ModelRequest, capabilities: Capabilities, tokens: int, /
    ) -> HttpRequest:
        """The HTTP request; `tokens` is an upper bound for its prompt."""

    @abstractmethod
    def reader(self, request: ModelRequest) -> AnswerReader:
        """A reader for one answer."""

    def may_pause(self, _request: ModelRequest, /) -> bool:
        """Whether a silence within an answer may be as long as that before its first token."""
        return False

    @abstractmethod
    def adapt_to(self, refusal: Refusal, request: ModelRequest) -> bool:
        """Learn from a refusal of the request's form; True if it should be built again and resent at once."""

    @abstractmethod
    async def probe(self, client: ProbeClient, name: str) -> Capabilities:
        """The capabilities of a model, as its server reports them."""

    def reduced(self, capabilities: Capabilities) -> Capabilities:
        """The capabilities without those that the server has refused."""
        return capabilities

    def endpoint(self, url: str) -> Endpoint:
        """The address of the API for the URL that a user gives. Raises `ModelFailed` if it cannot be used."""
        return endpoint_of(url, default_path="/v1")

    def missing_message(self, name: str, origin: str, /) -> str:
        """A sentence that the server does not have the model."""
        return f"{origin} has no model {name!r}."

    def model_advice(self, _name: str, /) -> str:
        """The advice if the server does not have the model."""
        return "Set `planloom.model.name` to one that it lists: `planloom doctor` shows them."

    def listing(self, reply: Reply) -> ModelListing:
        """The models in the reply of `models_path`."""
        if reply.status >= 400:
            problem = f"it answered {reply.status}: {reply.problem}"
            return ModelListing(
                True, problem=problem, default=self.default_model(()), cause=cause_of(reply.status)
            )
        entries = [object_of(entry) for entry in list_of(reply.data.get("data"))]
        models = tuple(
            ModelEntry(name, first_count(entry, LISTED_CONTEXT_FIELDS))
            for entry in entries
            if (name := text_of(entry.get("id")))
        )
        return ModelListing(
            True,
            models,
            reply.problem,
            default=self.default_model([model.name for model in models]),
            cause="wrong_address" if reply.problem else None if models else "no_models",
        )

    def default_model(self, names: Sequence[str]) -> str:
        """The model to use of those that a server lists, or "": the only one that is not an embedding model. Among
        several a person chooses, since one may cost more than another.
        """
        usable = [name for name in names if "embed" not in name.lower()]
        return usable[0] if len(usable) == 1 else ""

    def recognises(self, _reply: Reply, /) -> bool:
        """Whether a reply to OpenAI's `/models` shows that this provider answers there."""
        return False


class ProbeClient(Protocol):
    """Sends short requests to a server, to find out its models and capabilities."""

    @property
    def endpoint(self) -> Endpoint: ...

    async def get(self, url: str) -> Reply: ...

    async def post(self, path: str, body: dict[str, Json]) -> Reply: ...


class Reply(NamedTuple):
    """The reply to a short request; without one `status` is 0 and `problem` says why, `cause` for programs."""

    status: int
    data: dict[str, Json]
    problem: str = ""
    cause: ModelCause = "unreachable"
