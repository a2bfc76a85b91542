"""The proxy between Planloom and a model server, as the user's environment names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

import httpx

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.models.http.endpoint import Endpoint, shown_url
from planloom.providers import OWN_PROXY, TUNNELS
from planloom.web.addresses import DEFAULT_PORTS

_EXCEPTIONS: Final = ("no_proxy", "NO_PROXY")


class Proxy(NamedTuple):
    """The URL of a proxy, which may hold a password, and the variable that names it."""

    url: str
    variable: str

    @property
    def shown(self) -> str:
        """The proxy as people may see it."""
        return f"{shown_url(self.url)} ({self.variable})"

    def opened(self) -> httpx.Proxy:
        """The proxy for the HTTP library. Raises ModelFailed if the URL is none of a proxy."""
        try:
            proxy = httpx.Proxy(self.url if "://" in self.url else f"http://{self.url}")
            if proxy.url.host and proxy.url.scheme in DEFAULT_PORTS and (proxy.url.port or 0) < 2**16:
                return proxy
        except (httpx.InvalidURL, ValueError):
            pass
        raise ModelFailed(
            "model_unavailable",
            f"The proxy {shown_url(self.url)!r} cannot be used.",
            hint=f"Set {self.variable} to an address such as http://proxy.example:3128.",
            problem=ModelProblem(cause="proxy", address=shown_url(self.url)),
        )


def proxy_to(endpoint: Endpoint, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy to a server: that of `PLANLOOM_PROXY`, else over https to another machine that of `HTTPS_PROXY`.

    What `NO_PROXY` names is reached without one.
    """
    usual = TUNNELS if endpoint.origin.startswith("https:") and not endpoint.local else ()
    found = _first_set((OWN_PROXY, *usual), environment)
    exceptions = _first_set(_EXCEPTIONS, environment)
    host = urlsplit(endpoint.origin).netloc
    if found is None or (exceptions and proxy_bypass_environment(host, {"no": exceptions.url})):
        return None
    return found


def _first_set(variables: tuple[str, ...], environment: Mapping[str, str]) -> Proxy | None:
    return next((Proxy(environment[each], each) for each in variables if environment.get(each)), None)
