"""The HTTP client for possibly hostile model servers: bounded answers, checked addresses, a key for one origin."""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Callable, Generator
from typing import NamedTuple

import httpx

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.models.http.bounded import BoundedStream
from planloom.models.http.keys import Key
from planloom.shielded import interrupted_once, uninterrupted
from planloom.web.transfer import peer_check, trusted_certificates

KEPT_CONNECTIONS = 8
FindKey = Callable[[], Key | None]
"""Looks up the key for each request, since it may be set after the model was chosen."""


class Timeouts(NamedTuple):
    """Time limits in seconds: to connect, to the first token, between tokens, and for a whole answer."""

    connect: float = 10.0
    first_token: float = 300.0
    token: float = 60.0
    answer: float = 3600.0


class KeyAuth(httpx.Auth):
    """Adds the key, if there is one, to each request. Raises `ModelFailed` if the key is for another origin."""

    def __init__(self, find: FindKey, header: str) -> None:
        self._find = find
        self._header = header

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        key = self._find()
        if key is not None:
            prefix = "Bearer " if self._header.lower() == "authorization" else ""
            request.headers[self._header] = prefix + key.reveal(_origin(request.url))
        yield request


def open_client(
    timeouts: Timeouts, *, secure: bool, auth: httpx.Auth | None = None, proxy: str | None = None
) -> httpx.AsyncClient:
    """A client that follows no redirects, takes no proxy or credentials from the environment, and verifies
    certificates.

    `secure`: https will be used; for plain http no certificates are loaded. `proxy` is a URL that the user has set
    for Planloom itself.
    """
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS)
    verify = trusted_certificates() if secure or proxy is not None else _no_certificates()
    inner = httpx.AsyncHTTPTransport(verify=verify, trust_env=False, limits=limits, proxy=proxy)
    return httpx.AsyncClient(
        transport=BoundedTransport(inner, check_peer=proxy is None),
        auth=auth,
        follow_redirects=False,
        trust_env=False,
        # `StreamDeadlines` limits the time between tokens; these limits catch dead connections.
        timeout=httpx.Timeout(
            max(timeouts.first_token, timeouts.token) + 5.0, connect=timeouts.connect, pool=timeouts.connect
        ),
        headers={"User-Agent": "planloom", "Accept-Encoding": "identity"},
    )


class BoundedTransport(httpx.AsyncBaseTransport):
    """Bounds every answer before httpx reads it, and sets the content type that the bytes have.

    With `check_peer`, the address that a connection reached is checked before anything is sent.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, *, check_peer: bool) -> None:
        self._inner = inner
        self._watched = check_peer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._watched:
            request.extensions = {**request.extensions, "trace": peer_check(request.url.scheme, _refused)}
        response = await self._opened(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        content_type = response.headers.get("content-type", "")
        events = "text/event-stream" in content_type.lower()
        stream = BoundedStream(response.stream, response.headers.get("content-encoding", ""))
        headers = response.headers
        # `BoundedStream` decompresses and checks the encoding, so the original headers no longer apply.
        headers.pop("content-encoding", None)
        headers["content-type"] = "text/event-stream" if events else content_type.partition(";")[0]
        if not events and response.status_code < 300:
            form = await stream.sniff()
            headers["content-type"] = form or headers["content-type"]
        return httpx.Response(
            status_code=response.status_code,
            headers=headers,
            stream=stream,
            extensions=response.extensions,
        )

    async def _opened(self, request: httpx.Request) -> httpx.Response:
        """The answer as it begins. It is closed again if the caller was cancelled at the moment when it came."""
        answers: list[httpx.Response] = []

        async def opening() -> None:
            answers.append(await self._inner.handle_async_request(request))

        try:
            await interrupted_once(opening())
        except asyncio.CancelledError:
            for answer in answers:
                await uninterrupted(answer.aclose())
            raise
        return answers[0]

    async def aclose(self) -> None:
        await self._inner.aclose()


def _refused(peer: str, problem: str) -> ModelFailed:
    return ModelFailed(
        "model_unavailable",
        f"The model's address resolves to {peer}, which is refused: {problem}.",
        hint="Set `model.baseUrl` to another address.",
        problem=ModelProblem(cause="wrong_address"),
    )


def _origin(url: httpx.URL) -> str:
    host = f"[{url.host}]" if ":" in url.host else url.host.lower()
    # httpx itself leaves out the default port.
    return f"{url.scheme}://{host}" + (f":{url.port}" if url.port is not None else "")


@functools.cache
def _no_certificates() -> ssl.SSLContext:
    """For plain http: a context that trusts no certificate."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
