"""Sends JSON to a collector of telemetry that the user has set, under the rules for the addresses of models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

from planloom.web.addresses import AddressRefused, refused_address, web_address
from planloom.web.transfer import RefusedPeer, peer_check, strict_client, trusted_certificates

SECONDS = 10.0
"""How long a request may take."""
_PASSING = frozenset({408, 429, 502, 503, 504})
"""The answers after which OTLP has a client send again, and a request that took too long."""


class NotSent(NamedTuple):
    """Why something was not taken, as a sentence; it may be sent again if that `passes`."""

    reason: str
    passes: bool


async def send_json(
    url: str, body: bytes, headers: Mapping[str, str], *, default_path: str, seconds: float = SECONDS
) -> NotSent | None:
    """Post a body; None if it was taken. `default_path` is used if the URL has no path.

    No redirect is followed, and no proxy, cookie or key of the environment is used.
    """
    address = web_address(url)
    if isinstance(address, AddressRefused):
        return NotSent(f"the address cannot be used, since {address.reason}.", passes=False)
    problem = refused_address(address.scheme, address.host)
    if problem is not None:
        return NotSent(f"the address is refused: {problem}.", passes=False)
    place = address.url if urlsplit(address.url).path not in ("", "/") else address.origin + default_path
    try:
        async with asyncio.timeout(seconds):
            status = await _posted(place, body, headers)
    except TimeoutError:
        return NotSent(f"it did not answer within {seconds:g} seconds.", passes=True)
    except RefusedPeer as refused:
        return NotSent(f"{refused}.", passes=False)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        return NotSent(f"nothing answers there ({type(error).__name__}).", passes=True)
    if 200 <= status < 300:
        return None
    return NotSent(f"it answered {status}.", passes=status in _PASSING)


async def _posted(place: str, body: bytes, headers: Mapping[str, str]) -> int:
    """The status of the answer, whose text is not read."""
    scheme = urlsplit(place).scheme
    certificates = trusted_certificates() if scheme == "https" else None
    async with (
        strict_client(certificates, httpx.Timeout(SECONDS)) as client,
        client.stream(
            "POST",
            place,
            content=body,
            headers={"User-Agent": "planloom", **headers, "Content-Type": "application/json"},
            extensions={"trace": peer_check(scheme, RefusedPeer)},
        ) as response,
    ):
        return response.status_code
