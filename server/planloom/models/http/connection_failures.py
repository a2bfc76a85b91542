"""Turns errors of the HTTP library into failures with sentences for the user."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.models.http import failures
from planloom.models.http.endpoint import shown_url
from planloom.models.http.failures import ErrorContext, Transient
from planloom.models.http.proxies import Proxy
from planloom.models.http.transport import Timeouts
from planloom.web.transfer import is_of_certificate, is_of_name


def unreachable(
    error: httpx.TransportError, context: ErrorContext, timeouts: Timeouts
) -> Transient | ModelFailed:
    """The failure for an error of the connection."""
    origin = context.origin
    if isinstance(error, httpx.ConnectTimeout):
        return failures.slow(context, "answer", timeouts.connect, "model.connectTimeoutSeconds")
    if isinstance(error, httpx.ConnectError) and is_of_certificate(error):
        return failures.unavailable(
            context,
            "certificate",
            f"The certificate of {origin} is not trusted on this machine.",
            "Check `planloom.model.baseUrl`, or let the system trust the server's certificate.",
        )
    if isinstance(error, httpx.ProxyError) and context.proxy is not None:
        return _of_proxy(f"refuses the connection to {origin}", context, context.proxy)
    if isinstance(error, httpx.ConnectError):
        return Transient(_not_connected(error, context))
    if isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return failures.unavailable(
            context, "wrong_address", f"{origin} is not a usable address.", "Check `planloom.model.baseUrl`."
        )
    if isinstance(error, httpx.TimeoutException):
        return failures.slow(context, "byte", timeouts.token, "model.tokenTimeoutSeconds")
    return failures.broken(context, "the connection was lost")


def _not_connected(error: httpx.ConnectError, context: ErrorContext) -> ModelFailed:
    if context.proxy is not None:
        return _of_proxy("does not answer", context, context.proxy)
    if is_of_name(error):
        return failures.unavailable(
            context,
            "unknown_host",
            f"No host has the name {urlsplit(context.origin).hostname}, as far as can be seen from here.",
            "Check `planloom.model.baseUrl`, and whether this machine is online.",
        )
    return failures.unavailable(
        context,
        "unreachable",
        f"Nothing answers at {context.origin}.",
        f"{context.start_advice} Or set `planloom.model.baseUrl`.",
    )


def _of_proxy(what: str, context: ErrorContext, proxy: Proxy) -> ModelFailed:
    return ModelFailed(
        "model_unavailable",
        f"The proxy {proxy.shown} {what}.",
        hint=f"Check {proxy.variable}, or name {urlsplit(context.origin).hostname} in NO_PROXY.",
        problem=ModelProblem(
            cause="proxy", provider=context.provider, address=shown_url(proxy.url), model=context.model
        ),
    )


def redirect_target(location: str) -> str:
    """Scheme and host of a redirect, without the path, which is untrusted text."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else ""
