"""Tries the models that a session could use: the configured one, or with `auto` each in order until one answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import NamedTuple

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.models.http.adapter import ModelListing
from planloom.models.http.endpoint import origin_of, shown_url
from planloom.models.offline.replay import open_replay
from planloom.models.port import Capabilities, Model, ModelEvent, ModelIdentity, ModelRequest
from planloom.models.providers.editor_model import EditorCompletion, EditorModel
from planloom.models.providers.servers import ModelServers, accepts
from planloom.providers import (
    DISCOVERY_ORDER,
    OPENAI,
    PROVIDERS,
    WAYS_TO_A_MODEL,
    LocalServer,
    Provider,
)
from planloom.settings import ModelSettings

STRICT = "strict"
"""The `model.name` with which a replay fails at the first prompt that differs from the recording."""


class Choice(NamedTuple):
    """The chosen model; None for the embedded rules.

    `rejected` are the reasons against the models before it. `failure` is why the model that the user has set up, by a
    key or in the settings, cannot be used.
    """

    model: Model | None
    identity: ModelIdentity
    rejected: tuple[str, ...] = ()
    failure: ModelFailed | None = None


class _Tried:
    """The candidates before the chosen one: a reason against each, and the failure of the first that was set up."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.failure: ModelFailed | None = None

    def add(self, why: str, provider: Provider, url: str, found: ModelListing) -> None:
        """Add one that the user has set up."""
        self.reasons.append(why)
        cause = found.cause or "model_not_chosen"
        problem = ModelProblem(cause=cause, provider=provider.name, address=shown_url(url))
        hint = "Try again, or choose another model."
        self.failure = self.failure or ModelFailed("model_unavailable", why, hint=hint, problem=problem)

    def suffix(self) -> str:
        """The reasons, at the end of one that is shown to the user."""
        return f" ({'; '.join(self.reasons)})" if self.reasons else ""


class UnavailableModel:
    """Stands for a configured model that cannot be used: every request raises the reason."""

    def __init__(self, identity: ModelIdentity, failure: ModelFailed) -> None:
        self._identity = identity
        self._failure = failure

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def failure(self) -> ModelFailed:
        """Why it cannot be used."""
        return self._failure

    async def capabilities(self) -> Capabilities:
        return Capabilities()

    async def stream(self, _request: ModelRequest, /) -> AsyncGenerator[ModelEvent]:
        # A new exception per request, so that each has its own traceback.
        failed = ModelFailed(
            "model_unavailable", self._failure.message, hint=self._failure.hint, problem=self._failure.problem
        )
        nothing: tuple[ModelEvent, ...] = ()
        for event in nothing:
            yield event
        raise failed

    async def close(self) -> None:
        """There is nothing to close."""


class SelectionContext(NamedTuple):
    """The inputs of the choice: how to reach model servers, and the editor's model if it offers one."""

    servers: ModelServers
    editor: EditorCompletion | None

    @property
    def settings(self) -> ModelSettings:
        """The settings of the model."""
        return self.servers.settings.model

    def home(self, provider: Provider) -> str:
        """The default base URL of a provider."""
        return provider.home(self.servers.environment)

    def open(self, provider: Provider, url: str, name: str, reason: str) -> Model:
        """The model at a URL; an `UnavailableModel` if the URL cannot be used."""
        identity = ModelIdentity(provider=provider.name, name=name, reason=reason)
        try:
            return self.servers.open(identity, url)
        except ModelFailed as failure:
            return UnavailableModel(identity._replace(reason=failure.message), failure)

    async def at_base_url(self) -> tuple[Provider, ModelListing]:
        """The provider at the configured base URL, detected with `auto`, and the models that it lists."""
        url, configured = self.settings.base_url, self.settings.provider
        if configured != "auto":
            return PROVIDERS[configured], await self.list_models(PROVIDERS[configured], url)
        try:
            return await self.servers.detect(url)
        except ModelFailed as failure:
            return OPENAI, _unusable(failure)

    async def list_models(self, provider: Provider, url: str) -> ModelListing:
        """The models that a server lists; an unusable URL counts as one without an answer."""
        try:
            return await self.servers.list_models(provider, url)
        except ModelFailed as failure:
            return _unusable(failure)

    def key_source(self, provider: Provider, url: str) -> str | None:
        """Where the key for a provider's default URL comes from; None if there is none."""
        try:
            key = self.servers.keys.find(provider.name, origin_of(url))
        except ModelFailed:
            return None
        return key.source if key is not None else None


async def choose_configured(context: SelectionContext, configured: str) -> Choice:
    """The model of the provider in the settings."""
    chosen = context.settings
    reason = f"`planloom.model.provider` is {configured}"
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
    if (provider := PROVIDERS.get(configured)) is None:
        return _choice(_not_brought(configured))
    url = chosen.base_url or context.home(provider)
    name = chosen.name
    if not name:
        found = await context.list_models(provider, url)
        name = found.default
        if not name:
            return _choice(_without_name(context, provider, url, found))
        reason += " and this is its default model"
    return _choice(context.open(provider, url, name, reason))


async def choose_automatically(context: SelectionContext) -> Choice:
    """The first that answers of: the base URL, a service with a key, a local server, the editor's model."""
    tried = _Tried()
    choice = await _first_that_answers(context, tried)
    return choice._replace(rejected=tuple(tried.reasons), failure=choice.failure or tried.failure)


async def _first_that_answers(context: SelectionContext, tried: _Tried) -> Choice:
    """As `choose_automatically`; keeps what was tried before."""
    base_url = context.settings.base_url
    if base_url and (choice := await _at_base_url(context, base_url, tried)) is not None:
        return choice
    for provider in DISCOVERY_ORDER:
        choice = await (
            _with_key(context, provider, tried)
            if provider.local is None
            else _on_this_machine(context, provider, provider.local, tried)
        )
        if choice is not None:
            return choice
    if context.editor is not None:
        return _choice(_editor(context, "the editor offers a model" + tried.suffix()))
    if base_url:
        # A user who sets an address wants that server: the embedded rules would hide that it does not answer.
        reason, tried.failure = f"`planloom.model.baseUrl` is {shown_url(base_url)}", None
        return _choice(context.open(OPENAI, base_url, context.settings.name, reason))
    return _embedded("no model is configured and none answers")


async def _at_base_url(context: SelectionContext, url: str, tried: _Tried) -> Choice | None:
    provider, found = await context.at_base_url()
    if not found.answered:
        why = f"{shown_url(url)} (`planloom.model.baseUrl`) does not answer: {found.problem}"
        tried.add(why, provider, url, found)
        return None
    name = context.settings.name or found.default
    if not name:
        return _choice(_without_name(context, provider, url, found))
    return _choice(context.open(provider, url, name, f"{shown_url(url)} (`planloom.model.baseUrl`) answers"))


async def _with_key(context: SelectionContext, provider: Provider, tried: _Tried) -> Choice | None:
    url = context.home(provider)
    key = context.key_source(provider, url)
    if key is None:
        return None
    found = await context.list_models(provider, url)
    wanted = _own_name(context)
    listed = next((model.name for model in found.models if model.name in {wanted, f"{wanted}:latest"}), "")
    # A service that lists no models has none to use by default.
    name = listed or wanted or (found.default if found.models else "")
    if not found.answered or not name or (found.problem and not found.models):
        why = f"{shown_url(url)} (a key is in {key}) cannot be used: {found.problem or 'set `planloom.model.name`'}"
        tried.add(why, provider, url, found)
        return None
    return _choice(context.open(provider, url, name, f"a key is in {key}" + tried.suffix()))


async def _on_this_machine(
    context: SelectionContext, provider: Provider, local: LocalServer, tried: _Tried
) -> Choice | None:
    url = context.home(provider)
    no_answer = f"no {local.title} answers at {shown_url(url)}"
    if not await accepts(url):
        tried.reasons.append(no_answer)
        return None
    found = await context.list_models(provider, url)
    name = _own_name(context) or found.default
    if not found.answered or found.foreign or not name:
        tried.reasons.append(found.problem or no_answer)
        return None
    return _choice(
        context.open(provider, url, name, f"{local.title} answers at {shown_url(url)}" + tried.suffix())
    )


def _unusable(failure: ModelFailed) -> ModelListing:
    """The listing of an address that cannot be used."""
    return ModelListing(False, problem=failure.message, cause="wrong_address")


def _own_name(context: SelectionContext) -> str:
    """The configured name; "" with a base URL, since the name then belongs to that server."""
    return "" if context.settings.base_url else context.settings.name


def _without_name(
    context: SelectionContext, provider: Provider, url: str, found: ModelListing
) -> UnavailableModel:
    """The failure if a server is configured but the name of the model is unknown."""
    names = ", ".join(model.name for model in found.models[:8])
    if names:
        message, hint = (
            f"{shown_url(url)} has several models.",
            f"Set `planloom.model.name` to one of: {names}.",
        )
    else:
        message = f"{shown_url(url)} names no model to use: {found.problem or 'it lists none'}"
        advice = "Set" if found.answered else "Start it, or set"
        hint = f"{advice} `planloom.model.baseUrl` and `planloom.model.name`."
        if provider.local is not None:
            title, start, add_model = provider.local
            hint += f" {title}: `{start}`, then `{add_model}`."
    cause = "model_not_chosen" if names else found.cause or "no_models"
    if cause == "key_refused" and context.key_source(provider, url) is None:
        cause = "key_missing"
    problem = ModelProblem(cause=cause, provider=provider.name, address=shown_url(url))
    failure = ModelFailed("model_unavailable", message, hint=hint, problem=problem)
    return UnavailableModel(ModelIdentity(provider=provider.name, name="", reason=message), failure)


def _not_brought(configured: str) -> UnavailableModel:
    """The failure if the settings name the provider of a package that is not enabled, or could not be loaded."""
    message = f"No enabled package brings the model provider {configured}."
    failure = ModelFailed(
        "model_unavailable",
        message,
        hint="`planloom doctor` says how each package of `planloom.extensions.enabled` is.",
        problem=ModelProblem(cause="none", provider=configured),
    )
    return UnavailableModel(ModelIdentity(provider=configured, name="", reason=message), failure)


def _editor(context: SelectionContext, reason: str) -> Model:
    chosen = context.settings
    identity = ModelIdentity(provider="editor", name=chosen.name, reason=reason)
    if context.editor is None:
        return UnavailableModel(
            identity,
            ModelFailed(
                "model_unavailable",
                "This editor offers no language model.",
                hint=WAYS_TO_A_MODEL,
                problem=ModelProblem(cause="no_models", provider="editor"),
            ),
        )
    return EditorModel(
        context.editor,
        identity,
        name=_own_name(context),
        seconds=chosen.first_token_timeout_seconds,
        context_tokens=chosen.context_tokens,
    )


def _choice(model: Model) -> Choice:
    failure = model.failure if isinstance(model, UnavailableModel) else None
    return Choice(model, model.identity, failure=failure)


def _embedded(reason: str) -> Choice:
    return Choice(None, ModelIdentity(provider="embedded", name="rules", reason=reason))
