"""The model providers, one row each; settings, keys, discovery, command line and hints are derived from these rows.

Imports nothing of Planloom, since start-up and the command line load it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

LOCAL_MODEL = "qwen3:8b"
"""The model proposed to users who have none: it calls tools and runs on a laptop."""


class LocalServer(NamedTuple):
    """How to get a server on the user's own machine: its name, and the commands that start it and add a model."""

    title: str
    start: str
    add_model: str


class Provider(NamedTuple):
    """A provider of models over HTTP.

    `adapter` is the module and class of its adapter, imported only when a model of it is opened. `url` is its default
    base URL; the environment variable `url_variable` may name another. `key_variable` is the environment variable
    with the key, which is sent only to the origin of that URL. `local` is None for a remote service. `form_of` is the
    provider whose service this is another protocol of; such a row is not tried by `auto`. `package` is the package of
    the user's environment that brings it; such a row is used where its name is set, and never found by itself.
    """

    name: str
    adapter: str
    url: str
    url_variable: str
    key_variable: str = ""
    local: LocalServer | None = None
    form_of: str = ""
    package: str = ""

    def home(self, environment: Mapping[str, str]) -> str:
        """The base URL in this environment."""
        given = environment.get(self.url_variable, "")
        return given or self.url if self.local is None else _local_url(given, self.url)


_ROWS = (
    Provider(
        name="openai",
        adapter="planloom.models.providers.openai_compatible:OpenAICompatible",
        url="https://api.openai.com",
        url_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
    ),
    Provider(
        name="openai-responses",
        adapter="planloom.models.providers.openai_responses:OpenAIResponses",
        url="https://api.openai.com",
        url_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
        form_of="openai",
    ),
    Provider(
        name="ollama",
        adapter="planloom.models.providers.ollama:Ollama",
        url="http://127.0.0.1:11434",
        url_variable="OLLAMA_HOST",
        local=LocalServer(title="Ollama", start="ollama serve", add_model=f"ollama pull {LOCAL_MODEL}"),
    ),
    Provider(
        name="anthropic",
        adapter="planloom.models.providers.anthropic:Anthropic",
        url="https://api.anthropic.com",
        url_variable="ANTHROPIC_BASE_URL",
        key_variable="ANTHROPIC_API_KEY",
    ),
)

PROVIDERS: Final[dict[str, Provider]] = {row.name: row for row in _ROWS}
"""The rows by name, in the order in which the settings show them; `add` alone changes it."""
OF_PACKAGE: Final = r"[a-z0-9]+(-[a-z0-9]+)*:[a-z][a-z0-9_-]*"
"""The name of what a package brings, in a setting: the package's own name, and behind a colon that of the part."""
KEY_PROVIDERS = tuple(row for row in _ROWS if row.key_variable and not row.form_of)
"""The services that want a key, one row each."""
OPENAI = PROVIDERS["openai"]
"""The provider whose protocol most servers offer."""
OPENAI_RESPONSES = PROVIDERS["openai-responses"]
"""The protocol in which OpenAI's own service offers its reasoning models."""
OWN_VARIABLE = "PLANLOOM_API_KEY"
"""The environment variable with the key for the configured base URL, whatever the provider."""
KEY_VARIABLES = tuple(dict.fromkeys(row.key_variable for row in _ROWS if row.key_variable))
"""The environment variables that hold keys."""
TRACES_HEADERS = "PLANLOOM_TRACES_HEADERS"
"""The environment variable with headers for a collector of traces, in the form of `OTEL_EXPORTER_OTLP_HEADERS`."""
SECRET_VARIABLES = (OWN_VARIABLE, *KEY_VARIABLES, TRACES_HEADERS)
"""Every environment variable that no command may read."""


def add(row: Provider) -> None:
    """Add the row of a package that the user has enabled, before any model is chosen."""
    PROVIDERS[row.name] = row


def secret_variables() -> tuple[str, ...]:
    """Every environment variable that no command may read, with the keys of the providers of packages."""
    added = (row.key_variable for row in PROVIDERS.values() if row.package and row.key_variable)
    return (*SECRET_VARIABLES, *added)


OWN_PROXY = "PLANLOOM_PROXY"
"""The environment variable of a proxy to every model server."""
TUNNELS = ("https_proxy", "HTTPS_PROXY")
"""The usual variables of a proxy, for https only: it passes on what it cannot read, so it gets no prompt and no key."""
DISCOVERY_ORDER = tuple(
    sorted((row for row in _ROWS if not row.form_of), key=lambda row: row.local is not None)
)
"""The order in which `auto` tries them: a service that the user has a key for comes before a local server."""


class Service(NamedTuple):
    """Where models can be had, as a person chooses it. `provider` is whose protocol it speaks.

    `address` is its base URL, empty for the provider's own; `asks_address`: the user's own server is elsewhere, and
    `address` an example. `key`: whether it wants one.
    """

    title: str
    provider: str
    address: str
    key: Literal["needed", "maybe", "none"] = "needed"
    asks_address: bool = False


SERVICES = (
    Service("OpenAI", "openai", ""),
    Service("Anthropic", "anthropic", ""),
    Service("Google Gemini", "openai", "https://generativelanguage.googleapis.com/v1beta/openai"),
    Service("Mistral", "openai", "https://api.mistral.ai/v1"),
    Service("DeepSeek", "openai", "https://api.deepseek.com/v1"),
    Service("OpenRouter", "openai", "https://openrouter.ai/api/v1"),
    Service("Groq", "openai", "https://api.groq.com/openai/v1"),
    Service("xAI", "openai", "https://api.x.ai/v1"),
    Service("GitHub Models", "openai", "https://models.github.ai/inference"),
    Service("Azure OpenAI", "openai", "https://NAME.openai.azure.com/openai/v1", asks_address=True),
    Service("Ollama", "ollama", "", "none"),
    Service("LM Studio", "openai", "http://localhost:1234/v1", "none"),
    Service("llama.cpp", "openai", "http://localhost:8080/v1", "none"),
    Service("vLLM", "openai", "http://localhost:8000/v1", "maybe", asks_address=True),
    Service("", "auto", "http://localhost:8080/v1", "maybe", asks_address=True),
)
"""The services that are offered; the last one is any server, whose protocol its answers tell."""


def title_of(provider: str, address: str) -> str:
    """The name of the service at an address, as people know it; of an address that is none of theirs its host."""
    known = {(row.provider, row.address): row.title for row in SERVICES if not row.asks_address}
    url = address.rstrip("/")
    home = PROVIDERS[provider].url if provider in PROVIDERS else ""
    if not url or url.removesuffix("/v1") == home:
        return (
            known.get((PROVIDERS[provider].form_of or provider, ""), provider)
            if provider in PROVIDERS
            else provider
        )
    return next((row.title for row in SERVICES if row.address == url), urlsplit(url).netloc or url)


TERMINAL_PROVIDER_CHOICES = ("auto", *PROVIDERS, "embedded", "replay")
"""The values of the setting `model.provider` for the command line, where no editor offers a model."""
_CHOICES = ("auto", *PROVIDERS, "editor", "embedded", "replay")
if TYPE_CHECKING:
    ProviderChoice: TypeAlias = str
else:
    # A type checker cannot read a `Literal` that is made from a table; pydantic can.
    ProviderChoice = Literal[_CHOICES]
    """The values of the setting `model.provider`."""


def _local_url(given: str, default: str) -> str:
    """The URL of a local server: all but the host is optional, and 0.0.0.0, which it listens on, is this machine."""
    scheme, separator, rest = given.strip().rstrip("/").rpartition("://")
    rest, slash, path = rest.partition("/")
    address, bracket, tail = rest.rpartition("]")
    if bracket:
        name, port = f"{address}]", tail.removeprefix(":")
    elif rest.count(":") > 1:
        # An IPv6 address without brackets has no port.
        name, port = f"[{rest}]", ""
    else:
        name, _, port = rest.partition(":")
    if name in {"", "0.0.0.0"}:
        name = "127.0.0.1"
    if not port.isdigit():
        port = default.rpartition(":")[2] if not separator else ""
    return f"{scheme or 'http'}://{name}" + (f":{port}" if port else "") + slash + path


def _ways_to_a_model() -> str:
    local = [
        f"install {row.local.title} and run `{row.local.add_model}` (nothing else to set)"
        for row in _ROWS
        if row.local is not None
    ]
    keys = " or ".join(KEY_VARIABLES)
    return "; or ".join(
        [
            *local,
            f"set {keys} in the environment",
            "set `planloom.model.baseUrl` to any OpenAI-compatible server, "
            "for example http://localhost:8080/v1 for `llama-server` or http://localhost:1234/v1 for LM Studio.",
        ]
    )


WAYS_TO_A_MODEL = f"To get a model: {_ways_to_a_model()}"
"""The hint shown wherever a model is needed and none is configured."""
