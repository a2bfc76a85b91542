"""The HTTP client for possibly hostile model servers: bounded answers, checked addresses, a key for one origin."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.models.http.bounded import bounded, sniffed
from planloom.models.http.endpoint import shown_url
from planloom.models.http.keys import Key
from planloom.web.addresses import DEFAULT_PORTS, AddressRefused, web_address
from planloom.web.transfer import LOCATION, peer_check, strict_client, trusted_certificates

_HEADERS = {"User-Agent": "planloom", "Accept-Encoding": "identity"}
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

    `location` is where a redirect leads. `stays_open`: the server takes another request over its connection, once it
    is read to its end.
    """

    status: int
    headers: Mapping[str, str]
    form: str
    texts: AsyncGenerator[str]
    location: str = ""
    stays_open: bool = True


class HttpClient:
    """Sends requests over connections that stay open, and bounds every answer.

    The address that a connection reached is checked before anything is sent; behind a proxy that is not known.
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
        # `StreamDeadlines` limits the time between tokens; these limits catch dead connections.
        silence = max(timeouts.first_token, timeouts.token) + 5.0
        self._client = strict_client(
            trusted_certificates() if secure or proxy is not None else None,
            httpx.Timeout(silence, connect=timeouts.connect, pool=timeouts.connect),
            proxy=None if proxy is None else _proxy(proxy),
        )
        self._find_key = find_key
        self._key_header = key_header
        self._checks_peer = proxy is None

    @contextlib.asynccontextmanager
    async def answer(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> AsyncIterator[Answer]:
        """Send a request, and open its answer.

        To be run in a task that is cancelled once at most, as `planloom.shielded` does: a second cancellation would
        reach httpx while it cleans up after the first, and leave the connection open for as long as the server
        lives. Raises ModelFailed if the address cannot be used or the key is for another origin,
        httpx.TransportError, and what `bounded` raises.
        """
        address = web_address(url)
        if isinstance(address, AddressRefused):
            raise _unusable(f"The model's address cannot be used: {address.reason}.")
        wanted = {**_HEADERS, **headers, **self._key_for(url)}
        extensions = {"trace": peer_check(address.scheme, _refused)} if self._checks_peer else {}
        async with self._client.stream(
            method, address.url, headers=wanted, content=content, extensions=extensions
        ) as response:
            stated = response.headers.get("content-type", "").lower()
            pieces_of = bounded(response.aiter_raw(), response.headers.get("content-encoding", ""))
            async with contextlib.aclosing(pieces_of) as texts:
                form, pieces = stated.partition(";")[0], texts
                if "text/event-stream" in stated:
                    form = "text/event-stream"
                elif response.status_code < 300:
                    found, pieces = await sniffed(texts)
                    form = found or form
                stays_open = response.headers.get("connection", "").lower() != "close"
                location = response.extensions.get(LOCATION, "")
                yield Answer(response.status_code, response.headers, form, pieces, location, stays_open)

    def _key_for(self, url: str) -> dict[str, str]:
        key = self._find_key()
        if key is None:
            return {}
        parts = urlsplit(url)
        prefix = "Bearer " if self._key_header.lower() == "authorization" else ""
        return {self._key_header: prefix + key.reveal(f"{parts.scheme}://{parts.netloc}")}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _refused(peer: str, problem: str) -> ModelFailed:
    return _unusable(f"The model's address resolves to {peer}, which is refused: {problem}.")


def _unusable(message: str) -> ModelFailed:
    return ModelFailed(
        "model_unavailable",
        message,
        hint="Set `planloom.model.baseUrl` to another address.",
        problem=ModelProblem(cause="wrong_address"),
    )


def _proxy(url: str) -> httpx.Proxy:
    """The proxy of a URL, which may hold a user name and password. Raises ModelFailed if it is none."""
    try:
        proxy = httpx.Proxy(url)
        if proxy.url.host and proxy.url.scheme in DEFAULT_PORTS and (proxy.url.port or 0) < 2**16:
            return proxy
    except (httpx.InvalidURL, ValueError):
        pass
    raise ModelFailed(
        "model_unavailable",
        f"The proxy {shown_url(url)!r} cannot be used.",
        hint="Set PLANLOOM_PROXY to an address such as http://proxy.example:3128.",
        problem=ModelProblem(cause="wrong_address", address=shown_url(url)),
    )
