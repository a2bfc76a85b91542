"""The HTTP client for possibly hostile model servers: bounded answers, checked addresses, a key for one origin.

It stands on httpcore, as httpx does, whose own layer would add nothing here but the time of its import.
"""

from __future__ import annotations

import contextlib
import functools
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import httpcore

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.models.http.bounded import bounded, sniffed
from planloom.models.http.endpoint import shown_url
from planloom.models.http.keys import Key
from planloom.web.addresses import DEFAULT_PORTS, AddressRefused, web_address
from planloom.web.transfer import peer_check, trusted_certificates

KEPT_CONNECTIONS = 8
KEPT_SECONDS = 5.0
"""How long a connection without a request stays open, in seconds."""
CONNECTION_ERRORS = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)
"""What httpcore raises where a connection fails; it has no class for all of them."""
_HEADERS = {"User-Agent": "planloom", "Accept-Encoding": "identity", "Connection": "keep-alive"}
FindKey = Callable[[], Key | None]
"""Looks up the key for each request, since it may be set after the model was chosen."""


class NoAddress(Exception):
    """A URL to which nothing can be sent."""


class Timeouts(NamedTuple):
    """Time limits in seconds: to connect, to the first token, between tokens, and for a whole answer."""

    connect: float = 10.0
    first_token: float = 300.0
    token: float = 60.0
    answer: float = 3600.0


class _Address(NamedTuple):
    """Where a request goes; `origin` is as written, as a key names it."""

    url: httpcore.URL
    scheme: str
    origin: str


class Answer(NamedTuple):
    """An answer as it arrives. `form` is its content type: what its beginning shows, else what the server states.

    The names of `headers` are in lower case. `stays_open`: the server takes another request over its connection, once
    it is read to its end.
    """

    status: int
    headers: Mapping[str, str]
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
        self._connections = httpcore.AsyncConnectionPool(
            ssl_context=trusted_certificates() if secure or proxy is not None else _no_certificates(),
            proxy=None if proxy is None else _proxy(proxy),
            max_connections=None,
            max_keepalive_connections=KEPT_CONNECTIONS,
            keepalive_expiry=KEPT_SECONDS,
        )
        self._find_key = find_key
        self._key_header = key_header
        # `StreamDeadlines` limits the time between tokens; these limits catch dead connections.
        silence = max(timeouts.first_token, timeouts.token) + 5.0
        connect = timeouts.connect
        self._timeout = {"connect": connect, "pool": connect, "read": silence, "write": silence}
        self._checks_peer = proxy is None

    @contextlib.asynccontextmanager
    async def answer(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> AsyncIterator[Answer]:
        """Send a request, and open its answer.

        To be run in a task that is cancelled once at most, as `planloom.shielded` does: a second cancellation would
        reach httpcore while it cleans up after the first, and leave the connection open for as long as the server
        lives. Raises NoAddress, ModelFailed if the key is for another origin, one of CONNECTION_ERRORS, and what
        `bounded` raises.
        """
        address = _parsed(url)
        wanted = {**_HEADERS, **headers, **self._key_for(address.origin)}
        extensions: dict[str, Any] = {"timeout": self._timeout}
        if self._checks_peer:
            extensions["trace"] = peer_check(address.scheme, _refused)
        fields = [(name.encode("ascii"), value.encode("ascii")) for name, value in wanted.items()]
        async with self._connections.stream(
            method, address.url, headers=fields, content=content, extensions=extensions
        ) as response:
            found_headers = _headers(response)
            stated = found_headers.get("content-type", "").lower()
            pieces_of = bounded(response.aiter_stream(), found_headers.get("content-encoding", ""))
            async with contextlib.aclosing(pieces_of) as texts:
                form, pieces = stated.partition(";")[0], texts
                if "text/event-stream" in stated:
                    form = "text/event-stream"
                elif response.status < 300:
                    found, pieces = await sniffed(texts)
                    form = found or form
                stays_open = found_headers.get("connection", "").lower() != "close"
                yield Answer(response.status, found_headers, form, pieces, stays_open)

    def _key_for(self, origin: str) -> dict[str, str]:
        key = self._find_key()
        if key is None:
            return {}
        prefix = "Bearer " if self._key_header.lower() == "authorization" else ""
        return {self._key_header: prefix + key.reveal(origin)}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()


def _refused(peer: str, problem: str) -> ModelFailed:
    return ModelFailed(
        "model_unavailable",
        f"The model's address resolves to {peer}, which is refused: {problem}.",
        hint="Set `planloom.model.baseUrl` to another address.",
        problem=ModelProblem(cause="wrong_address"),
    )


@functools.lru_cache(maxsize=32)
def _parsed(url: str) -> _Address:
    """The address of a URL, of which a model's server has few. Raises NoAddress."""
    found = web_address(url)
    if isinstance(found, AddressRefused):
        raise NoAddress(found.reason)
    parts = urlsplit(url)
    return _Address(
        url=httpcore.URL(scheme=found.scheme, host=found.host, port=found.port, target=found.target),
        scheme=found.scheme,
        origin=f"{parts.scheme}://{parts.netloc}",
    )


def _proxy(url: str) -> httpcore.Proxy:
    """The proxy of a URL, which may hold a user name and password. Raises ModelFailed if it is none."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        port, host = None, ""
    if not host.isascii() or not host or parts.scheme not in DEFAULT_PORTS:
        raise ModelFailed(
            "model_unavailable",
            f"The proxy {shown_url(url)!r} cannot be used.",
            hint="Set PLANLOOM_PROXY to an address such as http://proxy.example:3128.",
            problem=ModelProblem(cause="wrong_address", address=shown_url(url)),
        )
    user, password = unquote(parts.username or "").encode(), unquote(parts.password or "").encode()
    place = httpcore.URL(scheme=parts.scheme, host=host, port=port, target="/")
    return httpcore.Proxy(place, auth=(user, password) if user or password else None)


def _headers(response: httpcore.Response) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


@functools.cache
def _no_certificates() -> ssl.SSLContext:
    """For plain http: a context that trusts no certificate."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
