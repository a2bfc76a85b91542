"""What the failures of a connection come to, in sentences without the HTTP library's words for them."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

import httpx

from planloom.domain.errors import ModelFailed
from planloom.models.http import failures
from planloom.models.http.failures import ErrorContext, Transient
from planloom.models.http.transport import Timeouts


def unreachable(
    error: httpx.TransportError, place: ErrorContext, timeouts: Timeouts
) -> Transient | ModelFailed:
    """What an error of the connection comes to, in a sentence without the library's words for it."""
    origin = place.origin
    if isinstance(error, httpx.ConnectTimeout):
        return failures.slow(place, "sign of life", timeouts.connect, "model.connectTimeoutSeconds")
    if isinstance(error, httpx.ConnectError):
        if _caused_by(error, ssl.SSLError):
            return failures.unavailable(
                f"{origin} has no certificate that is trusted here.",
                "Check `model.baseUrl`, or have the system trust the server's certificate.",
            )
        return Transient(
            failures.unavailable(
                f"Nothing answers at {origin}.", f"{place.start_advice} Or set `model.baseUrl`."
            )
        )
    if isinstance(error, httpx.ProxyError):
        return failures.unavailable("The proxy refused the connection.", "Check PLANLOOM_PROXY.")
    if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return failures.unavailable(f"{origin} cannot be asked that way.", "Check `model.baseUrl`.")
    if isinstance(error, httpx.TimeoutException):
        return failures.slow(place, "byte", timeouts.token, "model.tokenTimeoutSeconds")
    return failures.broken(place, "the connection was lost")


def redirect_target(response: httpx.Response) -> str:
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
