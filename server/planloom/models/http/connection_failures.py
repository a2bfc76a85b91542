"""Turns errors of the HTTP library into failures with sentences for the user."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpcore

from planloom.domain.errors import ModelFailed
from planloom.models.http import failures
from planloom.models.http.failures import ErrorContext, Transient
from planloom.models.http.transport import Timeouts


def unreachable(error: Exception, context: ErrorContext, timeouts: Timeouts) -> Transient | ModelFailed:
    """The failure for an error of the connection, one of `CONNECTION_ERRORS`."""
    origin = context.origin
    if isinstance(error, httpcore.ConnectTimeout):
        return failures.slow(context, "answer", timeouts.connect, "model.connectTimeoutSeconds")
    if isinstance(error, httpcore.ConnectError):
        if _caused_by(error, ssl.SSLError):
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
    if isinstance(error, httpcore.ProxyError):
        return failures.unavailable(
            context, "unreachable", "The proxy refused the connection.", "Check PLANLOOM_PROXY."
        )
    if isinstance(error, httpcore.UnsupportedProtocol | httpcore.LocalProtocolError):
        return failures.unavailable(
            context, "wrong_address", f"{origin} is not a usable address.", "Check `planloom.model.baseUrl`."
        )
    if isinstance(error, httpcore.TimeoutException):
        return failures.slow(context, "byte", timeouts.token, "model.tokenTimeoutSeconds")
    return failures.broken(context, "the connection was lost")


def redirect_target(headers: Mapping[str, str]) -> str:
    """Scheme and host of a redirect, without the path, which is untrusted text."""
    try:
        parts = urlsplit(headers.get("location", ""))
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
