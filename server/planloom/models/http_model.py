"""A model behind HTTP, whatever its dialect: checks that the prompt fits, asks, reads, waits, retries."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

import httpx

from planloom.domain.errors import ContextOverflow, ModelFailed
from planloom.domain.values import Json
from planloom.models import failures, transport
from planloom.models.endpoint import Endpoint
from planloom.models.failures import Place, Refusal, Transient
from planloom.models.json_text import Unreadable, read_object
from planloom.models.keys import Key
from planloom.models.port import (
    Capabilities,
    ModelEvent,
    ModelIdentity,
    ModelRequest,
    UsageReported,
)
from planloom.models.retry import Sleep, retried
from planloom.models.tokens import TokenCounter
from planloom.models.transport import AnswerBroken, AnswerUnusable, Timeouts

log = logging.getLogger(__name__)

ACCEPTED = "text/event-stream, application/x-ndjson, application/json"
AFTER_FINISH_SECONDS = 2.0
"""How long the counts and the end of a stream are waited for once the answer itself is complete."""
GET_SECONDS = 5.0
"""How long a question about the engine (which models, how large) may take."""
ANSWER_RESERVE = 256
"""Tokens of an answer that must fit beside the prompt where the request names no number."""


class Outgoing(NamedTuple):
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


class Dialect(Protocol):
    """What one family of engines speaks. A dialect may learn from refusals; it does no I/O of its own
    but through the `Asking` that it is given."""

    provider: str
    key_header: str
    headers: Mapping[str, str]
    calls_stream: bool
    """Whether a tool call is sent as it is written; else a long silence before it is normal."""
    start_advice: str

    def outgoing(
        self, name: str, request: ModelRequest, capabilities: Capabilities, tokens: int, /
    ) -> Outgoing: ...

    def reader(self, request: ModelRequest) -> AnswerReader: ...

    def model_advice(self, name: str, /) -> str: ...

    def adapts(self, status: int, refusal: Refusal, request: ModelRequest) -> bool:
        """Whether, having learned from this refusal, the same question may be put differently at once."""
        ...

    def amended(self, capabilities: Capabilities) -> Capabilities:
        """What the engine can do, given what was learned from its refusals."""
        ...

    async def probe(self, asking: Asking, name: str) -> Capabilities: ...


class Asking(Protocol):
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


@dataclass(frozen=True)
class Options:
    """What the user has set for a model, and what tests replace: waiting and the clock."""

    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: int = 2
    temperature: float | None = None
    context_tokens: int = 0
    proxy: str | None = None
    sleep: Sleep = asyncio.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class HttpModel:
    """A `Model` at an endpoint. One client and its connections live until `close`."""

    def __init__(
        self,
        dialect: Dialect,
        endpoint: Endpoint,
        identity: ModelIdentity,
        *,
        key: Key | None = None,
        key_advice: str = "",
        options: Options | None = None,
    ) -> None:
        self._dialect = dialect
        self._endpoint = endpoint
        self._identity = identity
        self._key = key
        self._options = options or Options()
        self._place = Place(
            origin=endpoint.origin,
            model=identity.name,
            key_advice=key_advice,
            start_advice=dialect.start_advice,
            model_advice=dialect.model_advice(identity.name),
        )
        self._client: httpx.AsyncClient | None = None
        self._capabilities: Capabilities | None = None
        self._probing = asyncio.Lock()
        self.counter = TokenCounter()

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def endpoint(self) -> Endpoint:
        """Where it is."""
        return self._endpoint

    async def capabilities(self) -> Capabilities:
        """What the engine says it can do, asked once; what the user has set goes before."""
        async with self._probing:
            if self._capabilities is None:
                probed = await self._dialect.probe(self, self._identity.name)
                if self._options.context_tokens:
                    probed = probed.model_copy(update={"context_tokens": self._options.context_tokens})
                log.info("%s can do: %s", self._identity.name, probed)
                self._capabilities = probed
        return self._capabilities

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if request.temperature is None and self._options.temperature is not None:
            request = request.model_copy(update={"temperature": self._options.temperature})
        capabilities = await self.capabilities()
        tokens = self.counter.request(request)
        self._refuse_overflow(request, tokens, capabilities)
        attempts = retried(
            lambda: self._attempt(request, capabilities, tokens), self._options.retries, self._options.sleep
        )
        async with contextlib.aclosing(attempts) as events:
            async for event in events:
                if isinstance(event, UsageReported):
                    self.counter.learn(request, event.prompt_tokens)
                yield event

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def get(self, url: str) -> Reply:
        """Ask a short question by GET; `url` is whole."""
        return await self._short("GET", url, None)

    async def post(self, path: str, body: dict[str, Json]) -> Reply:
        """Ask a short question by POST; `path` is appended to the base URL."""
        return await self._short("POST", self._endpoint.base + path, body)

    def _refuse_overflow(self, request: ModelRequest, tokens: int, capabilities: Capabilities) -> None:
        limit = capabilities.context_tokens
        reserve = min(request.max_tokens or ANSWER_RESERVE, ANSWER_RESERVE)
        if limit is not None and tokens + reserve > limit:
            raise ContextOverflow(
                f"The prompt has about {tokens} tokens; the model {self._identity.name!r} takes {limit}.",
                hint="Attach less, or set `model.contextTokens` to what the model really takes.",
                details={"tokens": tokens, "contextTokens": limit},
            )

    async def _attempt(
        self, request: ModelRequest, capabilities: Capabilities, tokens: int
    ) -> AsyncGenerator[ModelEvent]:
        """One try. Raises `Transient`, `ModelFailed` or `ContextOverflow`."""
        reader = self._dialect.reader(request)
        objects = self._objects(request, capabilities, tokens)
        waits = _Waits(self._options.timeouts, patient=bool(request.tools) and not self._dialect.calls_stream)
        try:
            async with contextlib.aclosing(objects):
                while not reader.stopped and (data := await self._next(objects, reader, waits)) is not None:
                    before = reader.progress
                    for event in reader.feed(data):
                        yield event
                    if reader.progress != before:
                        waits.a_token_came()
            for event in reader.end():
                yield event
        except AnswerRefused as refused:
            raise failures.in_stream(self._place, refused.refusal) from None
        except AnswerBroken as damage:
            raise failures.broken(self._place, str(damage)) from None
        except AnswerUnusable as excess:
            raise ModelFailed(
                "model_output_invalid",
                f"The answer from {self._place.origin} was not read to its end: {excess}.",
                hint="Look at the model server: no model answers like that.",
            ) from None

    async def _next(
        self, objects: AsyncGenerator[dict[str, Json]], reader: AnswerReader, waits: _Waits
    ) -> dict[str, Json] | None:
        """The next object, or None at the end; the end of a complete answer is not insisted on."""
        seconds, what, setting = waits.seconds_left(complete=reader.complete)
        try:
            async with asyncio.timeout(seconds):
                return await anext(objects, None)
        except TimeoutError:
            if reader.complete:
                return None
            limit = waits.limit(setting)
            raise failures.slow(self._place, what, limit, setting) from None
        except (AnswerBroken, httpx.TransportError) as error:
            if reader.complete:
                return None
            if isinstance(error, AnswerBroken):
                raise
            raise self._unreachable(error) from error
        except (httpx.InvalidURL, UnicodeError):
            raise failures.unavailable(
                f"{self._place.origin} is no address.", "Check `model.baseUrl`."
            ) from None

    async def _objects(
        self, request: ModelRequest, capabilities: Capabilities, tokens: int
    ) -> AsyncGenerator[dict[str, Json]]:
        """The objects of the answer. A refusal that the dialect can adapt to is asked again at once."""
        while True:
            outgoing = self._dialect.outgoing(self._identity.name, request, capabilities, tokens)
            async with self._open("POST", self._endpoint.base + outgoing.path, outgoing.body) as response:
                if response.status_code < 300:
                    if "json" not in (form := response.headers["content-type"]) and "event" not in form:
                        body = await transport.bounded_text(response, 4096)
                        if body.strip():
                            raise failures.not_an_api(self._place, form)
                        raise AnswerBroken("it was empty")
                    async with contextlib.aclosing(transport.payloads(response)) as objects:
                        async for data in objects:
                            yield data
                    return
                if response.status_code < 400:
                    raise failures.redirected(self._place, _target(response))
                refusal = failures.refusal_of(await transport.bounded_text(response))
                if not self._dialect.adapts(response.status_code, refusal, request):
                    raise failures.of_status(
                        self._place, response.status_code, refusal, response.headers, self._options.now()
                    )
                self._capabilities = capabilities = self._dialect.amended(capabilities)
                log.info("Asked again, since %s said: %s", self._place.origin, refusal.words)

    @contextlib.asynccontextmanager
    async def _open(
        self, method: str, url: str, body: dict[str, Json] | None
    ) -> AsyncIterator[httpx.Response]:
        client = self._connected()
        headers = {**self._dialect.headers, "Accept": ACCEPTED}
        content = None
        if body is not None:
            # Half surrogate pairs, which a buffer may hold, have no UTF-8 form: they become question marks.
            content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
            headers["Content-Type"] = "application/json"
        async with client.stream(method, url, content=content, headers=headers) as response:
            yield response

    def _connected(self) -> httpx.AsyncClient:
        if self._client is None:
            auth = transport.KeyAuth(self._key, self._dialect.key_header) if self._key is not None else None
            self._client = transport.open_client(
                self._options.timeouts,
                secure=self._endpoint.origin.startswith("https:"),
                auth=auth,
                proxy=self._options.proxy,
            )
        return self._client

    async def _short(self, method: str, url: str, body: dict[str, Json] | None) -> Reply:
        try:
            async with asyncio.timeout(GET_SECONDS), self._open(method, url, body) as response:
                text = await transport.bounded_text(response, transport.MAX_LINE_BYTES)
                status = response.status_code
        except TimeoutError:
            return Reply(0, {}, f"it did not answer within {GET_SECONDS:g} seconds")
        except (httpx.TransportError, httpx.InvalidURL, UnicodeError) as error:
            failure = self._unreachable(error) if isinstance(error, httpx.TransportError) else None
            return Reply(0, {}, str(failure) if failure is not None else "it is no address")
        except (AnswerBroken, AnswerUnusable, ModelFailed) as error:
            return Reply(0, {}, str(error))
        data = read_object(text)
        if status >= 400:
            return Reply(status, {}, failures.refusal_of(text).words or f"it answered {status}")
        if isinstance(data, Unreadable):
            return Reply(status, {}, "it is no model server")
        return Reply(status, data)

    def _unreachable(self, error: httpx.TransportError) -> Transient | ModelFailed:
        """What an error of the connection comes to, in a sentence without the library's words for it."""
        origin = self._place.origin
        if isinstance(error, httpx.ConnectTimeout):
            return failures.slow(
                self._place, "sign of life", self._options.timeouts.connect, "model.connectTimeoutSeconds"
            )
        if isinstance(error, httpx.ConnectError):
            if _caused_by(error, ssl.SSLError):
                return failures.unavailable(
                    f"{origin} has no certificate that is trusted here.",
                    "Check `model.baseUrl`, or have the system trust the server's certificate.",
                )
            return Transient(
                failures.unavailable(
                    f"Nothing answers at {origin}.", f"{self._dialect.start_advice} Or set `model.baseUrl`."
                )
            )
        if isinstance(error, httpx.ProxyError):
            return failures.unavailable("The proxy refused the connection.", "Check PLANLOOM_PROXY.")
        if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            return failures.unavailable(f"{origin} cannot be asked that way.", "Check `model.baseUrl`.")
        if isinstance(error, httpx.TimeoutException):
            return failures.slow(
                self._place, "byte", self._options.timeouts.token, "model.tokenTimeoutSeconds"
            )
        return failures.broken(self._place, "the connection was lost")


class _Waits:
    """Which time limit holds now. The clock stands while the consumer of the stream is at work."""

    def __init__(self, timeouts: Timeouts, *, patient: bool) -> None:
        self._timeouts = timeouts
        self._token = max(timeouts.token, timeouts.first_token) if patient else timeouts.token
        self._clock = asyncio.get_running_loop().time
        self._start = self._since = self._clock()
        self._complete = 0.0
        self._any = False

    def a_token_came(self) -> None:
        """A token has been read and passed on."""
        self._any = True
        self._since = self._clock()

    def limit(self, setting: str) -> float:
        """The seconds of that limit."""
        if not setting:
            return self._timeouts.answer
        return self._token if self._any else self._timeouts.first_token

    def seconds_left(self, *, complete: bool) -> tuple[float, str, str]:
        """The seconds until the nearest limit, what is missing then, and the setting behind it."""
        if complete:
            self._complete = self._complete or self._clock()
            return self._complete + AFTER_FINISH_SECONDS - self._clock(), "end", ""
        name, setting = (
            ("further token", "model.tokenTimeoutSeconds")
            if self._any
            else ("first token", "model.firstTokenTimeoutSeconds")
        )
        now = self._clock()
        nearest = self._since + self.limit(setting) - now
        whole = self._start + self._timeouts.answer - now
        return (nearest, name, setting) if nearest <= whole else (whole, "end of its answer", "")


def _target(response: httpx.Response) -> str:
    """The host that a redirect names, without the path, which may hold anything."""
    try:
        parts = urlsplit(response.headers.get("location", ""))
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else ""


def _caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    for _ in range(10):
        if error is None:
            return False
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False
