"""Tries the models that a session could use: the configured one, or with `auto` each in order until one answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple, cast

from planloom.domain.errors import ModelFailed
from planloom.models.hint import LOCAL_MODEL, WAYS_TO_A_MODEL
from planloom.models.http.endpoint import origin_of
from planloom.models.http.keys import Keyring
from planloom.models.offline.replay import open_replay
from planloom.models.port import Capabilities, Model, ModelEvent, ModelIdentity, ModelRequest
from planloom.models.providers.catalog import (
    PREFERRED,
    ModelListing,
    ProviderName,
    accepts,
    detect_server,
    home_of,
    models_at,
    open_model,
)
from planloom.models.providers.editor_model import EditorCompletion, EditorModel
from planloom.settings import Settings

KEYED_PROVIDERS: tuple[ProviderName, ...] = ("openai", "anthropic")
HTTP_PROVIDERS: tuple[ProviderName, ...] = (*KEYED_PROVIDERS, "ollama")
STRICT = "strict"
"""The `model.name` with which a replay fails at the first prompt that differs from the recording."""


class Choice(NamedTuple):
    """The chosen model; None for the embedded rules. `rejected` are the reasons against the models before it."""

    model: Model | None
    identity: ModelIdentity
    rejected: tuple[str, ...] = ()


class UnavailableModel:
    """Stands for a configured model that cannot be used: every request raises the reason."""

    def __init__(self, identity: ModelIdentity, failure: ModelFailed) -> None:
        self._identity = identity
        self._failure = failure

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    async def capabilities(self) -> Capabilities:
        return Capabilities()

    async def stream(self, _request: ModelRequest, /) -> AsyncIterator[ModelEvent]:
        # A new exception per request, so that each has its own traceback.
        failed = ModelFailed("model_unavailable", self._failure.message, hint=self._failure.hint)
        nothing: tuple[ModelEvent, ...] = ()
        for event in nothing:
            yield event
        raise failed

    async def close(self) -> None:
        """There is nothing to close."""


class SelectionContext(NamedTuple):
    """The inputs of the choice."""

    settings: Settings
    environment: Mapping[str, str]
    editor: EditorCompletion | None
    keys: Keyring

    def open(self, provider: ProviderName, url: str, name: str, reason: str) -> Model:
        """The model at a URL; an `UnavailableModel` if the URL cannot be used."""
        try:
            return open_model(
                provider,
                url,
                name,
                reason,
                settings=self.settings,
                environment=self.environment,
                keys=self.keys,
            )
        except ModelFailed as failure:
            return UnavailableModel(
                ModelIdentity(provider=provider, name=name, reason=failure.message), failure
            )

    async def listed(self, provider: ProviderName, url: str) -> ModelListing:
        """The models that a server lists; an unusable URL counts as one without an answer."""
        try:
            return await models_at(
                provider, url, settings=self.settings, environment=self.environment, keys=self.keys
            )
        except ModelFailed as failure:
            return ModelListing(False, problem=failure.message)


async def choose_configured(context: SelectionContext, configured: str) -> Choice:
    """The model of the provider in the settings."""
    chosen = context.settings.model
    reason = f"`model.provider` is {configured}"
    match configured:
        case "embedded":
            return _embedded(reason)
        case "editor":
            return _choice(_editor(context, reason))
        case "replay":
            try:
                return _choice(await open_replay(chosen.base_url, strict=chosen.name == STRICT))
            except ModelFailed as failure:
                identity = ModelIdentity(provider=configured, name=chosen.base_url, reason=failure.message)
                return _choice(UnavailableModel(identity, failure))
    provider = cast(ProviderName, configured)
    url = chosen.base_url or home_of(provider, context.environment)
    name = chosen.name
    if not name:
        found = await context.listed(provider, url)
        name = _pick_name("", found, provider) or _default_name(found, provider)
        if not name:
            return _choice(_without_name(provider, url, found))
        reason += " and this is the first model that it lists"
    return _choice(context.open(provider, url, name, reason))


async def choose_automatically(context: SelectionContext) -> Choice:
    """The first that answers of: the base URL, a vendor with a key, a local Ollama, the editor's model."""
    rejected: list[str] = []
    base_url = context.settings.model.base_url
    if base_url:
        choice = await _auto_base_url(context, base_url, rejected)
        if choice is not None:
            return choice
    for provider in KEYED_PROVIDERS:
        choice = await _auto_key(context, provider, rejected)
        if choice is not None:
            return choice._replace(rejected=tuple(rejected))
    choice = await _auto_ollama(context, rejected)
    if choice is None and context.editor is not None:
        choice = _choice(_editor(context, "the editor offers a model" + _rejections(rejected)))
    if choice is None and base_url:
        # A user who sets an address wants that server: the embedded rules would hide that it does not answer.
        model = context.open(
            "openai", base_url, context.settings.model.name, f"`model.baseUrl` is {base_url}"
        )
        choice = _choice(model)
    if choice is None:
        choice = _embedded("no model is configured and none answers")
    return choice._replace(rejected=tuple(rejected))


async def _auto_base_url(context: SelectionContext, url: str, rejected: list[str]) -> Choice | None:
    try:
        found = await detect_server(
            url, settings=context.settings, environment=context.environment, keys=context.keys
        )
    except ModelFailed as failure:
        rejected.append(failure.message)
        return None
    if not found.answered:
        rejected.append(f"{url} (`model.baseUrl`) does not answer: {found.problem}")
        return None
    provider: ProviderName = found.provider or "openai"
    name = context.settings.model.name or _pick_name("", found, provider) or _default_name(found, provider)
    if not name:
        return _choice(_without_name(provider, url, found))
    return _choice(context.open(provider, url, name, f"{url} (`model.baseUrl`) answers"))


async def _auto_key(context: SelectionContext, provider: ProviderName, rejected: list[str]) -> Choice | None:
    url = home_of(provider, context.environment)
    key = key_source(context, provider, url)
    if key is None:
        return None
    found = await context.listed(provider, url)
    name = _pick_name(_own_name(context), found, provider) or _own_name(context)
    if not found.answered or not name or (found.problem and not found.models):
        rejected.append(f"{url} (a key is in {key}) cannot be used: {found.problem or 'set `model.name`'}")
        return None
    return _choice(context.open(provider, url, name, f"a key is in {key}" + _rejections(rejected)))


async def _auto_ollama(context: SelectionContext, rejected: list[str]) -> Choice | None:
    url = home_of("ollama", context.environment)
    if not await accepts(url):
        rejected.append(f"no Ollama answers at {url}")
        return None
    found = await context.listed("ollama", url)
    name = _own_name(context) or _pick_name("", found, "ollama")
    if found.provider != "ollama" or not name:
        rejected.append(found.problem or f"no Ollama answers at {url}")
        return None
    return _choice(context.open("ollama", url, name, f"Ollama answers at {url}" + _rejections(rejected)))


def key_source(context: SelectionContext, provider: ProviderName, url: str) -> str | None:
    """Where the key for a provider's default URL comes from; None if there is none."""
    try:
        key = context.keys.find(provider, origin_of(url))
    except ModelFailed:
        return None
    return key.source if key is not None else None


def _own_name(context: SelectionContext) -> str:
    """The configured name; "" with a base URL, since the name then belongs to that server."""
    return "" if context.settings.model.base_url else context.settings.model.name


def _pick_name(wanted: str, found: ModelListing, provider: ProviderName) -> str:
    """The wanted model if it is listed; without one, the first that is not an embedding model."""
    names = [model.name for model in found.models]
    if wanted:
        return next((name for name in names if name in {wanted, f"{wanted}:latest"}), "")
    if provider == "openai" and any(name.startswith("gpt-") for name in names):
        return next((name for name in PREFERRED if name in names), "")
    return next((name for name in names if "embed" not in name.lower()), "")


def _default_name(found: ModelListing, provider: ProviderName) -> str:
    """The name for a server that lists no models: one that runs a single model accepts any."""
    return "default" if provider == "openai" and found.answered and not found.models else ""


def _without_name(provider: ProviderName, url: str, found: ModelListing) -> UnavailableModel:
    """The failure if a server is configured but the name of the model is unknown."""
    names = ", ".join(model.name for model in found.models[:8])
    if names:
        message, hint = f"{url} has several models.", f"Set `model.name` to one of: {names}."
    else:
        message = f"{url} names no model to use: {found.problem or 'it lists none'}"
        advice = "Set" if found.answered else "Start it, or set"
        pull = f" Ollama: `ollama serve`, then `ollama pull {LOCAL_MODEL}`." if provider == "ollama" else ""
        hint = f"{advice} `model.baseUrl` and `model.name`.{pull}"
    failure = ModelFailed("model_unavailable", message, hint=hint)
    return UnavailableModel(ModelIdentity(provider=provider, name="", reason=message), failure)


def _editor(context: SelectionContext, reason: str) -> Model:
    chosen = context.settings.model
    identity = ModelIdentity(provider="editor", name=chosen.name, reason=reason)
    if context.editor is None:
        return UnavailableModel(
            identity,
            ModelFailed("model_unavailable", "This editor offers no language model.", hint=WAYS_TO_A_MODEL),
        )
    return EditorModel(
        context.editor,
        identity,
        name=_own_name(context),
        seconds=chosen.first_token_timeout_seconds,
        context_tokens=chosen.context_tokens,
    )


def _choice(model: Model) -> Choice:
    return Choice(model, model.identity)


def _embedded(reason: str) -> Choice:
    return Choice(None, ModelIdentity(provider="embedded", name="rules", reason=reason))


def _rejections(rejected: list[str]) -> str:
    """The reasons against earlier models, as a suffix for a reason shown to the user."""
    return f" ({'; '.join(rejected)})" if rejected else ""
