"""The HTTP client for possibly hostile model servers: bounded answers, checked addresses, a key for one origin."""

from __future__ import annotations

import contextlib
import functools
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

import httpx

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.models.http.bounded import bounded, sniffed
from planloom.models.http.keys import Key
from planloom.web.transfer import peer_check, trusted_certificates

KEPT_CONNECTIONS = 8
_HEADERS = {"User-Agent": "planloom", "Accept-Encoding": "identity", "Connection": "keep-alive"}
FindKey = Callable[[], Key | None]
"""Looks up the key for each request, since it may be set after the model was chosen."""


class Timeouts(NamedTuple):
    """Time limits in seconds: to connect, to the first token, between tokens, and for a whole answer."""

    connect: float = 10.0
    first_token: float = 300.0
    token: float = 60.0
    answer: float = 3600.0


class Answer(NamedTuple):
    """An answer as it arrives. `form` is its content type: what its beginning shows, else what the server states.

    `stays_open`: the server takes another request over its connection, once it is read to its end.
    """

    status: int
    headers: httpx.Headers
    form: str
    texts: AsyncGenerator[str]
    stays_open: bool = True


class HttpClient:
    """Sends requests over connections that stay open, and bounds every answer.

    It follows no redirects, keeps no cookies, takes no proxy or credentials from the environment, and verifies
    certificates. The address that a connection reached is checked before anything is sent; behind a proxy that is not
    known.
    """

    def __init__(
        self,
        timeouts: Timeouts,
        *,
        secure: bool,
        find_key: FindKey = lambda: None,
        key_header: str = "Authorization",
        proxy: str | None = None,
    ) -> None:
        """`secure`: https will be used; for plain http no certificates are loaded.

        `find_key` finds the key that each request has in `key_header`; `proxy` is a URL that the user has set for
        Planloom itself.
        """
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS)
        verify = trusted_certificates() if secure or proxy is not None else _no_certificates()
        self._transport = httpx.AsyncHTTPTransport(verify=verify, trust_env=False, limits=limits, proxy=proxy)
        self._find_key = find_key
        self._key_header = key_header
        # `StreamDeadlines` limits the time between tokens; these limits catch dead connections.
        silence = max(timeouts.first_token, timeouts.token) + 5.0
        limited = httpx.Timeout(silence, connect=timeouts.connect, pool=timeouts.connect)
        self._timeout = limited.as_dict()
        self._checks_peer = proxy is None

    @contextlib.asynccontextmanager
    async def answer(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> AsyncIterator[Answer]:
        """Send a request, and open its answer.

        To be run in a task that is cancelled once at most, as `planloom.shielded` does: a second cancellation would
        reach httpx while it cleans up after the first, and leave the connection open for as long as the server lives.
        Raises ModelFailed if the key is for another origin, and what httpx and `bounded` raise.
        """
        address = _parsed(url)
        headers = {**_HEADERS, **headers, **self._key_for(_origin(address))}
        extensions: dict[str, Any] = {"timeout": self._timeout}
        if self._checks_peer:
            extensions["trace"] = peer_check(address.scheme, _refused)
        request = httpx.Request(method, address, headers=headers, content=content, extensions=extensions)
        response = await self._transport.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        try:
            encoding = response.headers.get("content-encoding", "")
            stated = response.headers.get("content-type", "").lower()
            async with contextlib.aclosing(bounded(response.stream, encoding)) as texts:
                form, pieces = stated.partition(";")[0], texts
                if "text/event-stream" in stated:
                    form = "text/event-stream"
                elif response.status_code < 300:
                    found, pieces = await sniffed(texts)
                    form = found or form
                stays_open = response.headers.get("connection", "").lower() != "close"
                yield Answer(response.status_code, response.headers, form, pieces, stays_open)
        finally:
            await response.stream.aclose()

    def _key_for(self, origin: str) -> dict[str, str]:
        key = self._find_key()
        if key is None:
            return {}
        prefix = "Bearer " if self._key_header.lower() == "authorization" else ""
        return {self._key_header: prefix + key.reveal(origin)}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


def _refused(peer: str, problem: str) -> ModelFailed:
    return ModelFailed(
        "model_unavailable",
        f"The model's address resolves to {peer}, which is refused: {problem}.",
        hint="Set `model.baseUrl` to another address.",
        problem=ModelProblem(cause="wrong_address"),
    )


_parsed = functools.lru_cache(maxsize=32)(httpx.URL)
"""The address of a URL, of which a model's server has few. Raises httpx.InvalidURL."""


def _origin(url: httpx.URL) -> str:
    host = f"[{url.host}]" if ":" in url.host else url.host.lower()
    # httpx itself leaves out the default port.
    return f"{url.scheme}://{host}" + (f":{url.port}" if url.port is not None else "")


@functools.cache
def _no_certificates() -> ssl.SSLContext:
    """For plain http: a context that trusts no certificate."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
