"""Turns errors of the HTTP library into failures with sentences for the user."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

from planloom.domain.errors import ModelFailed
from planloom.models.http import failures
from planloom.models.http.failures import ErrorContext, Transient
from planloom.models.http.transport import Timeouts
from planloom.web.transfer import is_of_certificate


def unreachable(
    error: httpx.TransportError, context: ErrorContext, timeouts: Timeouts
) -> Transient | ModelFailed:
    """The failure for an error of the connection."""
    origin = context.origin
    if isinstance(error, httpx.ConnectTimeout):
        return failures.slow(context, "answer", timeouts.connect, "model.connectTimeoutSeconds")
    if isinstance(error, httpx.ConnectError):
        if is_of_certificate(error):
            return failures.unavailable(
                context,
                "certificate",
                f"The certificate of {origin} is not trusted on this machine.",
                "Check `planloom.model.baseUrl`, or let the system trust the server's certificate.",
            )
        return Transient(
            failures.unavailable(
                context,
                "unreachable",
                f"Nothing answers at {origin}.",
                f"{context.start_advice} Or set `planloom.model.baseUrl`.",
            )
        )
    if isinstance(error, httpx.ProxyError):
        return failures.unavailable(
            context, "unreachable", "The proxy refused the connection.", "Check PLANLOOM_PROXY."
        )
    if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return failures.unavailable(
            context, "wrong_address", f"{origin} is not a usable address.", "Check `planloom.model.baseUrl`."
        )
    if isinstance(error, httpx.TimeoutException):
        return failures.slow(context, "byte", timeouts.token, "model.tokenTimeoutSeconds")
    return failures.broken(context, "the connection was lost")


def redirect_target(location: str) -> str:
    """Scheme and host of a redirect, without the path, which is untrusted text."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else ""
