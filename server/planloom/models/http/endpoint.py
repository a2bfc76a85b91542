"""Parses the addresses of model servers, and refuses those that must never get a prompt or a key."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.web.addresses import AddressRefused, numeric, refused_address, web_address

KNOWN_TAILS = (
    *("/chat/completions", "/completions", "/responses", "/models", "/messages", "/api/chat", "/api/tags"),
)
"""Paths that users paste along with the base URL."""

_NAMES_A_HOST = re.compile(r"localhost\b|[^/]*[.:]")
"""The beginning of an address without a scheme; a lone word is more likely a mistake."""


class Endpoint(NamedTuple):
    """The address of a model server: `origin` is scheme, host and port, `path` has no trailing slash."""

    origin: str
    path: str

    @property
    def base(self) -> str:
        """The URL that request paths are appended to."""
        return self.origin + self.path

    @property
    def local(self) -> bool:
        """Whether the host is this machine, judged by its name or address alone."""
        host = urlsplit(self.origin).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        address = numeric(host)
        return address is not None and (address.is_loopback or address.is_unspecified)


def endpoint_of(url: str, *, default_path: str = "") -> Endpoint:
    """Parse the URL of a setting; `default_path` is used if the URL has no path.

    Raises `ModelFailed` if it is not an http(s) URL, contains credentials, or has a refused address.
    """
    text = url.strip()
    if "://" not in text and text:
        if not _NAMES_A_HOST.match(text):
            raise _refused(url, "it has neither http:// or https:// nor a port")
        text = f"http://{text}"
    address = web_address(text)
    if isinstance(address, AddressRefused):
        raise _refused(url, address.reason)
    if "?" in text or "#" in text:
        raise _refused(url, "it must not have a `?` or `#` part")
    problem = refused_address(address.scheme, address.host)
    if problem is not None:
        raise _refused(url, problem)
    path = address.target.rstrip("/")
    for tail in KNOWN_TAILS:
        path = path.removesuffix(tail)
    return Endpoint(address.origin, path or default_path)


def origin_of(url: str) -> str:
    """The normalised scheme, host and port of a URL. Raises `ModelFailed` as `endpoint_of` does."""
    return endpoint_of(url).origin


def shown_url(url: str) -> str:
    """A URL as people and the log may see it: without what may hold a key or password. Takes any text."""
    _, scheme, rest = re.split(r"^(\w+://|)", url, maxsplit=1)
    _, credentials, place = rest.rpartition("@")
    return scheme + ("…@" if credentials else "") + re.split(r"[?#]", place, maxsplit=1)[0]


def _refused(url: str, why: str) -> ModelFailed:
    return ModelFailed(
        "model_unavailable",
        f"The model's address {shown_url(url)!r} cannot be used: {why}.",
        hint="Set `planloom.model.baseUrl`, for example to http://localhost:11434 or https://api.openai.com/v1.",
        problem=ModelProblem(cause="wrong_address", address=shown_url(url)),
    )
