"""Gets a page or an image over HTTP: resolved once, judged, pinned to that very address, bounded in time and size."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

import httpx

from planloom.domain.image_types import image_type
from planloom.version import VERSION
from planloom.web.addresses import AddressRefused, WebAddress, joined, reach_of, refusal, refusal_of
from planloom.web.pages import Fetched, NotFetched, Picture, Redirected, is_text, media_type_of, page_of
from planloom.web.transfer import (
    LOCATION,
    AnswerBroken,
    AnswerUnusable,
    decompressed,
    is_of_certificate,
    strict_client,
    trusted_certificates,
)

SECONDS: Final = 30.0
"""The longest that one fetch may take, redirects included."""
MOST_BYTES: Final = 2_000_000
"""The most bytes of a page, after decompression."""
MOST_IMAGE_BYTES: Final = 5_000_000
"""The most bytes of an image; a larger one is not fetched, since part of it shows nothing."""
MOST_REDIRECTS: Final = 5
_CONNECT_SECONDS: Final = 8.0
_MOST_TRIED: Final = 4
"""The most addresses of one host that are tried."""
_ERROR_TEXT: Final = 2_000
_HEADERS: Final = {
    "User-Agent": f"planloom/{VERSION}",
    "Accept": "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
}

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The numeric addresses of a host. Raises OSError if it has none."""


async def system_addresses(host: str, port: int) -> Sequence[str]:
    """The addresses by the system's resolver, in its order."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found))


async def fetch(
    address: WebAddress,
    *,
    allow_internal: bool,
    resolve: Resolve = system_addresses,
    seconds: float = SECONDS,
    certificates: Callable[[], ssl.SSLContext] = trusted_certificates,
) -> Fetched:
    """Get a page or an image. Redirects are followed to the same host alone, at the addresses resolved at first.

    No proxy, cookie or key of the environment is used. Every fault of the host or the network is a `NotFetched`.
    """
    try:
        async with asyncio.timeout(seconds):
            pinned = await _judged_addresses(address, resolve, allow_internal=allow_internal)
            if isinstance(pinned, NotFetched):
                return pinned
            for _ in range(MOST_REDIRECTS + 1):
                answer = await _answer(address, pinned, certificates())
                if not isinstance(answer, _SentOn):
                    return answer
                target = joined(address, answer.location)
                if isinstance(target, AddressRefused):
                    return NotFetched(f"It redirects to an address that cannot be used: {target.reason}.")
                if not _is_same_host(address, target):
                    return Redirected(target.url)
                address = target
            return NotFetched(f"It redirects more than {MOST_REDIRECTS} times.")
    except TimeoutError:
        return NotFetched(f"It took longer than {seconds:g} seconds.")


class _SentOn(NamedTuple):
    """The answer is a redirect to `location`."""

    location: str


async def _judged_addresses(
    address: WebAddress, resolve: Resolve, *, allow_internal: bool
) -> tuple[str, ...] | NotFetched:
    """The addresses of the host. One that is refused refuses them all: a mixture is an attempt to get around it."""
    problem = refusal(address, allow_internal=allow_internal)
    if problem is not None:
        return NotFetched(problem)
    try:
        found = await resolve(address.host, address.port)
    except (OSError, UnicodeError):
        return NotFetched(f"The host {address.host} cannot be found.")
    for each in found:
        problem = refusal_of(reach_of(ipaddress.ip_address(each)), allow_internal=allow_internal)
        if problem is not None:
            return NotFetched(problem)
    return tuple(found[:_MOST_TRIED]) or NotFetched(f"The host {address.host} cannot be found.")


def _is_same_host(one: WebAddress, other: WebAddress) -> bool:
    """Whether both are on one host and port. The step from http to https counts as the same, not the way back."""
    if one.host != other.host:
        return False
    upgraded = (one.scheme, other.scheme) == ("http", "https")
    return one.origin == other.origin or (upgraded and one.has_usual_port and other.has_usual_port)


async def _answer(
    address: WebAddress, pinned: Sequence[str], certificates: ssl.SSLContext
) -> Fetched | _SentOn:
    """The answer of the first address that takes a connection. No name is resolved any more."""
    async with strict_client(certificates, httpx.Timeout(SECONDS, connect=_CONNECT_SECONDS)) as client:
        for each in pinned:
            try:
                async with contextlib.aclosing(await _sent(client, address, each)) as response:
                    return await _read(address, response)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if is_of_certificate(error):
                    return NotFetched(f"The certificate of {address.host} is not valid or not trusted.")
            except (AnswerBroken, AnswerUnusable) as damage:
                return NotFetched(f"The answer cannot be read: {damage}.")
            except httpx.TransportError:
                return NotFetched(f"The connection to {address.host} was lost.")
    return NotFetched(f"Nothing answers at {address.origin}.")


async def _sent(client: httpx.AsyncClient, address: WebAddress, pinned: str) -> httpx.Response:
    """Send the request to this numeric address, under the name of the host."""
    name = f"[{pinned}]" if ":" in pinned else pinned
    request = client.build_request(
        "GET",
        f"{address.scheme}://{name}:{address.port}/",
        headers={**_HEADERS, "Host": address.origin.partition("://")[2]},
        # The target goes out as a person has seen it.
        extensions={"sni_hostname": address.host, "target": address.target.encode("ascii")},
    )
    return await client.send(request, stream=True)


async def _read(address: WebAddress, response: httpx.Response) -> Fetched | _SentOn:
    status, headers = response.status_code, response.headers
    if location := response.extensions.get(LOCATION):
        return _SentOn(location)
    content_type, encoding = headers.get("content-type", ""), headers.get("content-encoding", "")
    body = bytearray()
    cut = of_image = None
    chunks = decompressed(response.aiter_raw(), encoding.strip().lower())
    async with contextlib.aclosing(chunks):
        async for chunk in chunks:
            if not body and not is_text(media_type_of(content_type), chunk):
                of_image = image_type(chunk)
                if of_image is None:
                    return NotFetched(_not_text(content_type, headers.get("content-length", "")))
            body += chunk
            if of_image is not None:
                if len(body) > MOST_IMAGE_BYTES:
                    return NotFetched(f"It is an image of over {MOST_IMAGE_BYTES // 1_000_000} MB.")
            elif len(body) >= MOST_BYTES:
                cut = f"only the first {MOST_BYTES // 1_000_000} MB were fetched"
                break
    if of_image is not None:
        return Picture(address, of_image, bytes(body)) if status < 300 else NotFetched(_refused(status))
    page = await asyncio.to_thread(page_of, address, content_type, bytes(body[:MOST_BYTES]), cut)
    if status >= 300:
        return NotFetched(_refused(status), page.text[:_ERROR_TEXT])
    return page


def _refused(status: int) -> str:
    phrase = f" {HTTPStatus(status).phrase}" if status in set(HTTPStatus) else ""
    return f"The host answered {status}{phrase}."


def _not_text(content_type: str, length: str) -> str:
    media_type = media_type_of(content_type) or "binary data"
    size = f" of {int(length):,} bytes" if length.isascii() and length.isdigit() else ""
    return f"It is no text but {media_type}{size}. Only text and images can be fetched."
