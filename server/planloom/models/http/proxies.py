"""The proxy between Planloom and a model server, as the user's environment names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from planloom.models.http.endpoint import Endpoint, shown_url
from planloom.providers import OWN_PROXY, TUNNELS

_EXCEPTIONS: Final = ("no_proxy", "NO_PROXY")


class Proxy(NamedTuple):
    """The URL of a proxy, which may hold a password, and the variable that names it."""

    url: str
    variable: str

    @property
    def shown(self) -> str:
        """The proxy as people may see it."""
        return f"{shown_url(self.url)} ({self.variable})"


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
