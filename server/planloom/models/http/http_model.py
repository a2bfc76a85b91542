"""A model behind HTTP: checks that the prompt fits, sends it through a provider adapter, streams, and retries."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from datetime import UTC, datetime
from typing import NamedTuple

import httpx

from planloom.domain.errors import ContextOverflow, ModelFailed
from planloom.domain.values import Json
from planloom.models.hold import Hold
from planloom.models.http import failures, payloads
from planloom.models.http.adapter import AnswerReader, AnswerRefused, ProviderAdapter, Reply
from planloom.models.http.connection_failures import redirect_target, unreachable
from planloom.models.http.endpoint import Endpoint
from planloom.models.http.failures import FINAL_STATUSES, ErrorContext, Refusal, Transient
from planloom.models.http.json_text import Unreadable, read_object
from planloom.models.http.proxies import Proxy
from planloom.models.http.retry import Sleep, with_retries
from planloom.models.http.transport import (
    MAX_LINE_BYTES,
    Answer,
    FindKey,
    HttpClient,
    StreamDeadlines,
    Timeouts,
)
from planloom.models.port import (
    HOSTED_CONTEXT,
    LARGE_CONTEXT,
    UNKNOWN_CONTEXT,
    CallWritten,
    Capabilities,
    Effort,
    ModelEvent,
    ModelIdentity,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    UsageReported,
)
from planloom.models.tokens import TokenCounter
from planloom.providers import PROVIDERS
from planloom.settings import ModelProfile
from planloom.shielded import ReadAhead, interrupted_once
from planloom.web.transfer import AnswerBroken, AnswerUnusable

log = logging.getLogger(__name__)

ACCEPTED = "text/event-stream, application/x-ndjson, application/json"
ANSWER_RESERVE = 256
"""Tokens that must remain for the answer beside the prompt."""
CHARACTERS_A_TOKEN = 8
"""More characters than the tokens of any text have on average: an answer that has more is taken for endless."""


class Options(NamedTuple):
    """The user's settings for a model; 0 asks the server. Tests also replace `sleep`, `now` and `probe_seconds`.

    `probe_seconds` limits a short request about models and capabilities.
    """

    timeouts: Timeouts = Timeouts()
    retries: int = 2
    temperature: float | None = None
    effort: Effort | None = None
    thinking_tokens: int | None = None
    context_tokens: int = 0
    profile: ModelProfile = "auto"
    parallelism: int = 0
    proxy: Proxy | None = None
    probe_seconds: float = 5.0
    sleep: Sleep = asyncio.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class HttpModel:
    """A `Model` at an endpoint. One client and its connections live until `close`."""

    def __init__(
        self,
        adapter: ProviderAdapter,
        endpoint: Endpoint,
        identity: ModelIdentity,
        *,
        find_key: FindKey = lambda: None,
        key_advice: str = "",
        options: Options | None = None,
    ) -> None:
        self._adapter = adapter
        self._endpoint = endpoint
        self._identity = identity
        self._find_key = find_key
        self._options = options or Options()
        self._errors = ErrorContext(
            provider=identity.provider,
            origin=endpoint.origin,
            model=identity.name,
            has_key=False,
            key_advice=key_advice,
            start_advice=adapter.start_advice,
            missing_message=adapter.missing_message(identity.name, endpoint.origin),
            model_advice=adapter.model_advice(identity.name),
            proxy=self._options.proxy,
        )
        self._client: HttpClient | None = None
        self._capabilities: Capabilities | None = None
        self._open_responses = 0
        self._closing = False
        self._unreachable = False
        self._unknown: Capabilities | None = None
        self._hold = Hold()
        self._has_answered = False
        self._probing = asyncio.Lock()
        self.counter = TokenCounter()

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def _error_context(self) -> ErrorContext:
        # A key may be set or removed at any time.
        return self._errors._replace(has_key=self._find_key() is not None)

    @property
    def endpoint(self) -> Endpoint:
        """The address of the server."""
        return self._endpoint

    async def capabilities(self) -> Capabilities:
        """The probed capabilities, overridden by the user's settings.

        Probed once. If the server could not be reached it is probed again after a while, and once it has answered a
        request.
        """
        async with self._probing:
            if self._capabilities is None and self._unknown is not None and self._hold.active:
                return self._unknown
            if self._capabilities is None:
                self._unreachable, since = False, time.monotonic()
                probed = self._refined(await self._adapter.probe(self, self._identity.name))
                if self._unreachable and not self._has_answered:
                    self._unknown = probed
                    self._hold.begin(since)
                    return probed
                log.info("%s can do: %s", self._identity.name, probed)
                if probed.context_tokens is None:
                    log.warning(
                        "The context size of %s at %s is not known: %d tokens are assumed until the server says "
                        "otherwise. Set `planloom.model.contextTokens` to its real size.",
                        self._identity.name,
                        self._endpoint.origin,
                        probed.assumed_context,
                    )
                self._capabilities = probed
        return self._capabilities

    def _refined(self, probed: Capabilities) -> Capabilities:
        """The server's report on the model, corrected by the user's settings and by earlier refusals."""
        stated = self._options.context_tokens or probed.context_tokens
        lean = self._options.profile == "lean" or (self._options.profile == "auto" and self._is_small(stated))
        return self._adapter.reduced(probed)._replace(
            context_tokens=self._adapter.learned.context(stated),
            local=self._endpoint.local,
            lean=lean,
            assumed_context=UNKNOWN_CONTEXT if lean else HOSTED_CONTEXT,
            parallelism=self._options.parallelism or probed.parallelism,
        )

    def _is_small(self, stated: int | None) -> bool:
        """Whether the model is taken for a small one: a gateway on this machine may serve a large one, and says so."""
        provider = PROVIDERS.get(self._identity.provider)
        if provider is not None and provider.local is not None:
            return True
        return self._endpoint.local and (stated or 0) < LARGE_CONTEXT

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        request = self._with_options(request)
        capabilities = await self.capabilities()
        counted = self._prompt_part(request, capabilities)
        self._refuse_overflow(request, self.counter.request(counted), capabilities)
        tokens = self.counter.at_most(counted)
        attempts = with_retries(
            lambda: self._attempt(request, capabilities, tokens), self._options.retries, self._options.sleep
        )
        async with contextlib.aclosing(attempts) as events:
            async for event in events:
                if isinstance(event, UsageReported):
                    self.counter.learn(counted, event.prompt_tokens)
                yield event

    def _with_options(self, request: ModelRequest) -> ModelRequest:
        """The request, with the user's settings where it has none of its own."""
        options = self._options
        own = {
            "temperature": options.temperature,
            "effort": options.effort,
            "thinking_tokens": options.thinking_tokens,
        }
        update = {
            name: value for name, value in own.items() if value is not None and getattr(request, name) is None
        }
        return request.model_copy(update=update) if update else request

    async def close(self) -> None:
        self._closing = True
        await self._close_when_idle()

    async def _close_when_idle(self) -> None:
        """Close the client if no response is open."""
        if self._client is not None and not self._open_responses:
            client, self._client = self._client, None
            await client.aclose()

    async def get(self, url: str) -> Reply:
        """Send a short GET request to a whole URL."""
        return await self._probe("GET", url, None)

    async def post(self, path: str, body: dict[str, Json]) -> Reply:
        """Send a short POST request; `path` is appended to the base URL."""
        return await self._probe("POST", self._endpoint.base + path, body)

    def _prompt_part(self, request: ModelRequest, capabilities: Capabilities) -> ModelRequest:
        """The request without what takes no room in the prompt."""
        compiled = capabilities.json_schema and self._adapter.compiles_schema and capabilities.local
        if request.response_schema is None or not compiled:
            return request
        return request.model_copy(update={"response_schema": None})

    def _refuse_overflow(self, request: ModelRequest, tokens: int, capabilities: Capabilities) -> None:
        limit = capabilities.context_tokens
        reserve = min(request.max_tokens or ANSWER_RESERVE, ANSWER_RESERVE)
        if limit is not None and tokens + reserve > limit:
            raise ContextOverflow(
                f"The prompt has about {tokens} tokens; the model {self._identity.name!r} takes {limit}.",
                hint=failures.TOO_LONG_HINT,
                details={"tokens": tokens, "contextTokens": limit},
            )

    def _learn_context(self, refusal: Refusal, failure: BaseException) -> None:
        """Remember the context size that a refusal of a too long prompt names."""
        if not isinstance(failure, ContextOverflow) or refusal.context_tokens is None:
            return
        learned = self._adapter.learned
        learned.context_tokens = learned.context(refusal.context_tokens)
        if self._capabilities is not None:
            stated = learned.context(self._capabilities.context_tokens)
            self._capabilities = self._capabilities._replace(context_tokens=stated)
        log.warning(
            "%s at %s takes %d tokens, as its refusal of a longer prompt says.",
            self._identity.name,
            self._endpoint.origin,
            refusal.context_tokens,
        )

    async def _attempt(
        self, request: ModelRequest, capabilities: Capabilities, tokens: int
    ) -> AsyncGenerator[ModelEvent]:
        """One attempt, once the server has a slot for it: no time limit of it runs before.

        Raises `Transient`, `ModelFailed` or `ContextOverflow`.
        """
        parallelism = (self._capabilities or capabilities).parallelism
        async with (
            self._adapter.learned.slots(parallelism),
            contextlib.aclosing(self._answer(request, capabilities, tokens)) as events,
        ):
            async for event in events:
                yield event

    async def _answer(
        self, request: ModelRequest, capabilities: Capabilities, tokens: int
    ) -> AsyncGenerator[ModelEvent]:
        reader = self._adapter.reader(request)
        objects = ReadAhead(self._objects(request, capabilities, tokens))
        deadlines = StreamDeadlines(self._options.timeouts, patient=self._adapter.may_pause(request))
        most = capabilities.context_tokens or capabilities.assumed_context
        written = 0
        try:
            async with contextlib.aclosing(objects):
                while (
                    not reader.stopped and (data := await self._next(objects, reader, deadlines)) is not None
                ):
                    before = reader.progress
                    for event in reader.feed(data):
                        written += (
                            len(event.text)
                            if isinstance(event, TextDelta | ReasoningDelta | CallWritten)
                            else 0
                        )
                        yield event
                    if written > most * CHARACTERS_A_TOKEN:
                        raise AnswerUnusable(f"it is longer than the {most} tokens that the model can hold")
                    if reader.progress != before:
                        deadlines.token_received()
            for event in reader.end():
                yield event
        except AnswerRefused as refused:
            refusal = refused.refusal.redacted(self._redacted)
            failure = failures.from_stream_error(self._error_context, refusal)
            self._learn_context(refusal, failure)
            raise failure from None
        except AnswerBroken as damage:
            raise failures.broken(self._error_context, str(damage)) from None
        except AnswerUnusable as excess:
            raise ModelFailed(
                "model_output_invalid",
                f"The answer from {self._error_context.origin} was not read to its end: {excess}.",
                hint="Check the model server: a model does not answer like that.",
            ) from None

    async def _next(
        self, objects: ReadAhead[dict[str, Json]], reader: AnswerReader, deadlines: StreamDeadlines
    ) -> dict[str, Json] | None:
        """The next object, or None at the end; after a complete answer, a missing end of the stream is ignored."""
        if (data := objects.unread()) is not None:
            return data
        seconds, what, setting = deadlines.seconds_left(complete=reader.complete)
        try:
            async with asyncio.timeout(seconds):
                return await objects.next()
        except TimeoutError:
            if reader.complete:
                return None
            limit = deadlines.limit(setting)
            raise failures.slow(self._error_context, what, limit, setting) from None
        except (AnswerBroken, httpx.TransportError) as error:
            if reader.complete:
                return None
            if isinstance(error, AnswerBroken):
                raise
            raise unreachable(error, self._error_context, self._options.timeouts) from error

    async def _objects(
        self, request: ModelRequest, capabilities: Capabilities, tokens: int
    ) -> AsyncGenerator[dict[str, Json]]:
        """The objects of the answer. After a refusal that the adapter can adapt to, sends the request again."""
        while True:
            form = self._adapter.learned.form
            built = self._adapter.build_request(self._identity.name, request, capabilities, tokens)
            async with self._open("POST", self._endpoint.base + built.path, built.body) as answer:
                if answer.status < 300:
                    if not self._has_answered:
                        self._has_answered = True
                        self._hold.end()
                    if "json" not in answer.form and "event" not in answer.form:
                        body = await payloads.bounded_text(answer, 4096)
                        if body.strip():
                            raise failures.not_an_api(self._error_context, answer.form)
                        raise AnswerBroken("it was empty")
                    async with contextlib.aclosing(payloads.payloads(answer)) as objects:
                        async for data in objects:
                            yield data
                    return
                if answer.status < 400:
                    raise failures.redirected(self._error_context, redirect_target(answer.location))
                refusal = failures.refusal_of(self._redacted(await payloads.bounded_text(answer)))
                if answer.status in FINAL_STATUSES or not (
                    # Another request may have taught this refusal while this one was under way.
                    self._adapter.learned.form != form or self._adapter.adapt_to(refusal, request)
                ):
                    failure = failures.from_status(
                        self._error_context,
                        answer.status,
                        refusal,
                        answer.headers,
                        self._options.now(),
                    )
                    self._learn_context(refusal, failure)
                    raise failure
                self._capabilities = capabilities = self._adapter.reduced(capabilities)
                # If the server refused the schema, it is in the prompt from now on.
                counted = self._prompt_part(request, capabilities)
                self._refuse_overflow(request, self.counter.request(counted), capabilities)
                log.info(
                    "Request sent again after a refusal of %s: %s", self._error_context.origin, refusal.words
                )

    @contextlib.asynccontextmanager
    async def _open(self, method: str, url: str, body: dict[str, Json] | None) -> AsyncIterator[Answer]:
        client = self._connected()
        headers = {**self._adapter.headers, "Accept": ACCEPTED}
        content = None
        if body is not None:
            # Lone surrogates, which a buffer may contain, have no UTF-8 form: they become question marks.
            content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
            headers["Content-Type"] = "application/json"
        self._open_responses += 1
        try:
            async with client.answer(method, url, headers, content) as answer:
                yield answer
        finally:
            self._open_responses -= 1
            if self._closing:
                await self._close_when_idle()

    def _redacted(self, words: str) -> str:
        """A server's text without the key that was sent to it."""
        key = self._find_key()
        return key.redact(words) if key is not None else words

    def _connected(self) -> HttpClient:
        if self._client is None:
            self._client = HttpClient(
                self._options.timeouts,
                secure=self._endpoint.origin.startswith("https:"),
                find_key=self._find_key,
                key_header=self._adapter.key_header,
                proxy=self._options.proxy,
            )
        return self._client

    async def _probe(self, method: str, url: str, body: dict[str, Json] | None) -> Reply:
        try:
            async with asyncio.timeout(self._options.probe_seconds):
                status, text = await interrupted_once(self._whole(method, url, body))
        except TimeoutError:
            self._unreachable = True
            return Reply(0, {}, f"it did not answer within {self._options.probe_seconds:g} seconds")
        except httpx.TransportError as error:
            self._unreachable = True
            failure = unreachable(error, self._error_context, self._options.timeouts)
            return _no_reply(failure.failure if isinstance(failure, Transient) else failure)
        except ModelFailed as failure:
            return _no_reply(failure)
        except (AnswerBroken, AnswerUnusable) as error:
            return Reply(0, {}, str(error))
        data = read_object(text)
        fields = {} if isinstance(data, Unreadable) else data
        if status >= 400:
            return Reply(status, fields, failures.refusal_of(text).words or f"it answered {status}")
        return Reply(status, fields, "it is not a model server" if isinstance(data, Unreadable) else "")

    async def _whole(self, method: str, url: str, body: dict[str, Json] | None) -> tuple[int, str]:
        async with self._open(method, url, body) as answer:
            return answer.status, self._redacted(await payloads.bounded_text(answer, MAX_LINE_BYTES))


def _no_reply(failure: ModelFailed) -> Reply:
    cause = failure.problem.cause if failure.problem is not None else "unreachable"
    return Reply(0, {}, str(failure), cause)
