"""The catalog of HTTP providers: opens a model at an address, and lists the models of a server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urlsplit

from planloom.domain.values import Value
from planloom.models.hint import LOCAL_MODEL
from planloom.models.http.endpoint import Endpoint, endpoint_of
from planloom.models.http.json_text import count_of, list_of, object_of, text_of
from planloom.models.http.keys import HOME, VARIABLES, Keyring, key_advice
from planloom.models.port import ModelIdentity
from planloom.settings import Settings

if TYPE_CHECKING:
    from planloom.models.http.adapter import ProviderAdapter
    from planloom.models.http.http_model import HttpModel

ProviderName = Literal["openai", "ollama", "anthropic"]

OLLAMA_PORT = 11434
PROXY_VARIABLE = "PLANLOOM_PROXY"
"""The only environment variable that sets a proxy; HTTP_PROXY and the like are ignored."""
PREFERRED = ("gpt-5-mini", "gpt-4.1-mini", "gpt-4o-mini")
"""The models to choose from OpenAI's own list, which is unordered, if none is configured."""
CONNECT_SECONDS = 1.0
"""Time limit for a local server to accept a connection."""


class ListedModel(Value):
    """A model that could be chosen; `reason` describes it, or says why it cannot be used."""

    provider: str
    name: str
    context_tokens: int | None = None
    reachable: bool
    reason: str | None = None


class ModelListing(NamedTuple):
    """The models of a server. `answered` is False if there was no reply; `problem` says what was wrong."""

    answered: bool
    models: tuple[ListedModel, ...] = ()
    problem: str = ""
    provider: ProviderName | None = None


def home_of(provider: ProviderName, environment: Mapping[str, str]) -> str:
    """The default base URL of a provider."""
    if provider == "ollama":
        return _ollama_home(environment.get("OLLAMA_HOST", ""))
    return environment.get(VARIABLES[provider][1]) or HOME[provider]


def open_model(
    provider: ProviderName,
    url: str,
    name: str,
    reason: str,
    *,
    settings: Settings,
    environment: Mapping[str, str],
    keys: Keyring,
) -> HttpModel:
    """The model `name` of the server at `url`. Raises `ModelFailed` if the URL cannot be used."""
    # Importing httpx takes 100 ms, which a session without HTTP models need not spend.
    from planloom.models.http.http_model import HttpModel, Options
    from planloom.models.http.transport import Timeouts

    endpoint = _endpoint(provider, url)
    chosen = settings.model
    return HttpModel(
        _adapter(provider),
        endpoint,
        ModelIdentity(provider=provider, name=name, reason=reason),
        find_key=lambda: keys.find(provider, endpoint.origin),
        key_advice=key_advice(provider, endpoint.origin),
        options=Options(
            timeouts=Timeouts(
                connect=chosen.connect_timeout_seconds,
                first_token=chosen.first_token_timeout_seconds,
                token=chosen.token_timeout_seconds,
            ),
            retries=settings.max_retry_attempts,
            temperature=chosen.temperature,
            context_tokens=chosen.context_tokens,
            proxy=environment.get(PROXY_VARIABLE) or None,
        ),
    )


async def models_at(
    provider: ProviderName, url: str, *, settings: Settings, environment: Mapping[str, str], keys: Keyring
) -> ModelListing:
    """List the models of the server at `url`. Raises `ModelFailed` if the URL cannot be used."""
    client = open_model(provider, url, "", "", settings=settings, environment=environment, keys=keys)
    try:
        if provider == "ollama":
            return await _ollama_models(client)
        return await _listed_models(client, provider)
    finally:
        await client.close()


async def detect_server(
    url: str, *, settings: Settings, environment: Mapping[str, str], keys: Keyring
) -> ModelListing:
    """Detect the provider of a server by its replies, and list its models. Raises `ModelFailed` for a bad URL."""
    found = await models_at("openai", url, settings=settings, environment=environment, keys=keys)
    if not found.answered:
        return found
    if found.provider == "ollama" or not found.models:
        tags = await models_at("ollama", url, settings=settings, environment=environment, keys=keys)
        if tags.models:
            return tags
    if found.provider == "anthropic":
        return await models_at("anthropic", url, settings=settings, environment=environment, keys=keys)
    return found._replace(provider="openai")


async def accepts(url: str) -> bool:
    """Whether anything accepts connections at the URL; cheap, since it needs no HTTP library."""
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except (OSError, TimeoutError, UnicodeError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


def _adapter(provider: ProviderName) -> ProviderAdapter:
    match provider:
        case "openai":
            from planloom.models.providers.openai_compatible import OpenAICompatible

            return OpenAICompatible()
        case "ollama":
            from planloom.models.providers.ollama import Ollama

            return Ollama()
        case "anthropic":
            from planloom.models.providers.anthropic import Anthropic

            return Anthropic()


def _endpoint(provider: ProviderName, url: str) -> Endpoint:
    if provider == "ollama":
        # Users give Ollama's address with the path of its OpenAI-compatible API.
        endpoint = endpoint_of(url)
        return endpoint._replace(path=endpoint.path.removesuffix("/v1").removesuffix("/api"))
    return endpoint_of(url, default_path="/v1")


async def _listed_models(client: HttpModel, provider: ProviderName) -> ModelListing:
    reply = await client.get(f"{client.endpoint.base}/models")
    if reply.status == 0:
        return ModelListing(False, problem=reply.problem)
    if reply.status >= 400:
        # Only Anthropic wraps errors in an object of type "error".
        kind: ProviderName = "anthropic" if reply.data.get("type") == "error" else provider
        return ModelListing(True, problem=f"it answered {reply.status}: {reply.problem}", provider=kind)
    entries = [object_of(entry) for entry in list_of(reply.data.get("data"))]
    models = []
    kind = provider
    for entry in entries:
        name = text_of(entry.get("id"))
        if not name:
            continue
        if entry.get("owned_by") == "library":
            kind = "ollama"
        context = next(
            (
                count
                for field in ("max_model_len", "context_length", "context_window", "max_input_tokens")
                if (count := count_of(entry.get(field)))
            ),
            None,
        )
        models.append(ListedModel(provider=provider, name=name, context_tokens=context, reachable=True))
    return ModelListing(True, tuple(models), reply.problem, kind)


async def _ollama_models(client: HttpModel) -> ModelListing:
    reply = await client.get(f"{client.endpoint.base}/api/tags")
    if reply.status == 0:
        return ModelListing(False, problem=reply.problem)
    if reply.status >= 400 or not isinstance(reply.data.get("models"), list):
        return ModelListing(True, problem=reply.problem or "it is not Ollama")
    names = [
        text_of(entry.get("name")) or text_of(entry.get("model"))
        for entry in map(object_of, list_of(reply.data["models"]))
    ]
    models = tuple(ListedModel(provider="ollama", name=name, reachable=True) for name in names if name)
    problem = "" if models else f"Ollama is running but has no model: `ollama pull {LOCAL_MODEL}`."
    return ModelListing(True, models, problem, "ollama")


def _ollama_home(host: str) -> str:
    """The URL for `OLLAMA_HOST`: port and scheme are optional, and 0.0.0.0 means this machine."""
    text = host.strip().rstrip("/")
    scheme, separator, rest = text.rpartition("://")
    name, _, port = rest.partition(":") if rest.count(":") <= 1 else (rest, "", "")
    if name in {"", "0.0.0.0"}:
        name = "127.0.0.1"
    if not port.isdigit():
        port = str(OLLAMA_PORT) if not separator else ""
    return f"{scheme or 'http'}://{name}" + (f":{port}" if port else "")
