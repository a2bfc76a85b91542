"""Shared parts of HTTP clients: a strict client, the check of the address reached, decompression in bounded pieces."""

from __future__ import annotations

import functools
import socket
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final

import httpx

from planloom.web.addresses import refused_address

LOCATION: Final = "planloom.location"
"""The extension of a response that says where a redirect leads."""
_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=5.0)


class AnswerUnusable(Exception):
    """The answer exceeds a limit; a retry would not help."""


class RefusedPeer(Exception):
    """A name leads to an address to which nothing is sent."""

    def __init__(self, peer: str, problem: str) -> None:
        super().__init__(f"its name leads to {peer}, which is refused: {problem}")


class AnswerBroken(Exception):
    """The answer is damaged; a retry may help."""


def strict_client(
    certificates: ssl.SSLContext | None, timeout: httpx.Timeout, *, proxy: httpx.Proxy | None = None
) -> httpx.AsyncClient:
    """A client that sends what it is asked to and nothing else.

    It follows no redirects, keeps no cookies, and takes no proxy or credentials from the environment. Without
    `certificates` it trusts none, as is enough for plain http.
    """
    transport = httpx.AsyncHTTPTransport(
        verify=certificates or _no_certificates(), trust_env=False, limits=_LIMITS, proxy=proxy
    )
    client = httpx.AsyncClient(
        transport=transport, trust_env=False, timeout=timeout, event_hooks={"response": [_set_location_apart]}
    )
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
    return client


async def _set_location_apart(response: httpx.Response) -> None:
    # httpx makes the request of a redirect even where none is followed, and fails if the location is no web address.
    if response.has_redirect_location:
        response.extensions[LOCATION] = response.headers.pop("location")


async def decompressed(inner: AsyncIterable[bytes], encoding: str) -> AsyncGenerator[bytes]:
    """Undo gzip or deflate in bounded pieces, since a small answer can decompress to a huge one.

    Raises AnswerUnusable for another encoding, AnswerBroken for damaged data.
    """
    if encoding in {"", "identity"}:
        async for chunk in inner:
            yield chunk
        return
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise AnswerUnusable(f"it is compressed as {encoding[:20]!r}, which was not requested")
    unpacker = zlib.decompressobj(wbits=47 if "gzip" in encoding else 15)
    try:
        async for chunk in inner:
            packed = chunk
            while packed:
                yield unpacker.decompress(packed, 65536)
                packed = unpacker.unconsumed_tail
    except zlib.error:
        raise AnswerBroken("its compression is invalid") from None


def peer_check(scheme: str, failure: Callable[[str, str], Exception]) -> Any:
    """A trace listener of httpx that closes a connection to a refused address before anything is sent.

    It raises what `failure` makes of the address and the problem.
    """

    async def trace(event: str, info: dict[str, Any]) -> None:
        if event != "connection.connect_tcp.complete":
            return
        stream = info["return_value"]
        peer = stream.get_extra_info("server_addr")
        problem = refused_address(scheme, str(peer[0])) if peer else None
        if problem is not None:
            await stream.aclose()
            raise failure(str(peer[0]), problem)

    return trace


@functools.cache
def trusted_certificates() -> ssl.SSLContext:
    """The certificates of the system and certifi; loading takes 30 ms, so it is done once and only for https."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


@functools.cache
def _no_certificates() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def is_of_certificate(error: BaseException) -> bool:
    """Whether TLS refused the host, rather than nothing answering there."""
    return _comes_of(error, ssl.SSLError)


def is_of_name(error: BaseException) -> bool:
    """Whether the name of the host leads to no address."""
    return _comes_of(error, socket.gaierror)


def _comes_of(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False
