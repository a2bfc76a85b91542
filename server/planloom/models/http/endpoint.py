"""Addresses of model servers: their origin, and which of them a prompt or a key may go to at all."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple
from urllib.parse import urlsplit

from planloom.domain.errors import ModelFailed

DEFAULT_PORTS = {"http": 80, "https": 443}
METADATA_HOSTS = frozenset({"metadata.google.internal", "metadata.goog", "metadata"})
"""Names under which clouds hand out credentials; never a model."""
KNOWN_TAILS = ("/chat/completions", "/completions", "/models", "/messages", "/api/chat", "/api/tags")
"""Paths that people paste with the base URL."""


class Endpoint(NamedTuple):
    """Where a model server is: `origin` is scheme, host and port, `path` has no slash at its end."""

    origin: str
    path: str

    @property
    def base(self) -> str:
        """The URL that an engine's own paths are appended to."""
        return self.origin + self.path

    @property
    def local(self) -> bool:
        """Whether the host is this machine, as far as its name tells."""
        host = urlsplit(self.origin).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        address = _address(host)
        return address is not None and (address.is_loopback or address.is_unspecified)


def endpoint_of(url: str, *, default_path: str = "") -> Endpoint:
    """The endpoint that a setting names; `default_path` stands where the URL has no path of its own.

    Raises `ModelFailed` for what is no http(s) URL, holds credentials, or points where no model can be.
    """
    text = url.strip()
    if "://" not in text and text:
        text = f"http://{text}"
    try:
        parts = urlsplit(text)
        port = parts.port
        host = parts.hostname or ""
    except ValueError:
        raise _refused(url, "it is no URL") from None
    scheme = parts.scheme.lower()
    # What two parsers could read in two ways (spaces, backslashes, control characters) is no address.
    if (
        scheme not in DEFAULT_PORTS
        or not host
        or any(ch <= " " or ch.isspace() or ch in "\\\x7f" for ch in text)
    ):
        raise _refused(url, "it must begin with http:// or https:// and a host")
    if "@" in parts.netloc:
        raise _refused(
            f"{scheme}://…@{host}", "a key or password belongs in no URL: use `planloom/secret/set`"
        )
    if parts.query or parts.fragment:
        raise _refused(f"{scheme}://{host}", "it may have no `?` or `#` part")
    problem = refused_address(scheme, host)
    if problem is not None:
        raise _refused(url, problem)
    path = parts.path.rstrip("/")
    for tail in KNOWN_TAILS:
        path = path.removesuffix(tail)
    return Endpoint(_origin(scheme, host, port), path or default_path)


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, in one spelling. Raises `ModelFailed` as `endpoint_of` does."""
    return endpoint_of(url).origin


def refused_address(scheme: str, host: str) -> str | None:
    """Why nothing is sent to this host or address, or None if it may be.

    Asked of the URL's host, and again of the address that a connection really reached: a name can resolve
    to anything. Link-local addresses serve cloud credentials; plain http leaves no private network.
    """
    if host.rstrip(".").lower() in METADATA_HOSTS:
        return "that host hands out cloud credentials"
    address = _address(host)
    if address is None:
        return None
    if address.is_link_local or address.is_multicast:
        return "link-local and multicast addresses are never asked"
    if scheme == "http" and address.is_global:
        return "plain http is only for this machine and private networks: use https"
    return None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _origin(scheme: str, host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host else host.lower()
    if port is None or port == DEFAULT_PORTS[scheme]:
        return f"{scheme}://{name}"
    return f"{scheme}://{name}:{port}"


def _refused(url: str, why: str) -> ModelFailed:
    return ModelFailed(
        "model_unavailable",
        f"The model's address {url!r} cannot be used: {why}.",
        hint="Set `model.baseUrl`, for example to http://localhost:11434 or https://api.openai.com/v1.",
    )
