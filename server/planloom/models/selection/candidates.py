"""The models that a session could use: the one that the settings name, or the first that answers."""

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
    ProviderSpec,
    accepts,
    engine_at,
    home_of,
    models_at,
    open_engine,
)
from planloom.models.providers.editor_model import EditorCompletion, EditorModel
from planloom.settings import Settings

ENGINES: tuple[ProviderSpec, ...] = ("openai", "anthropic", "ollama")
STRICT = "strict"
"""The `model.name` under which a replay fails at the first prompt that is not as recorded."""


class Choice(NamedTuple):
    """What was picked: `model` is None for the embedded rules. `passed_over` says why others were not."""

    model: Model | None
    identity: ModelIdentity
    passed_over: tuple[str, ...] = ()


class Unavailable:
    """A model that was asked for by name and cannot be had: every question is answered by the reason."""

    def __init__(self, identity: ModelIdentity, failure: ModelFailed) -> None:
        self._identity = identity
        self._failure = failure

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    async def capabilities(self) -> Capabilities:
        return Capabilities()

    async def stream(self, _request: ModelRequest, /) -> AsyncIterator[ModelEvent]:
        # Each question raises a failure of its own, whose trace is its own too.
        failed = ModelFailed("model_unavailable", self._failure.message, hint=self._failure.hint)
        nothing: tuple[ModelEvent, ...] = ()
        for event in nothing:
            yield event
        raise failed

    async def close(self) -> None:
        """Nothing is held open."""


class SelectionContext(NamedTuple):
    """Everything a choice depends on."""

    settings: Settings
    environment: Mapping[str, str]
    editor: EditorCompletion | None
    keys: Keyring

    def open(self, spec: ProviderSpec, url: str, name: str, reason: str) -> Model:
        """The model of an engine, or one that says why it cannot be had."""
        try:
            return open_engine(
                spec,
                url,
                name,
                reason,
                settings=self.settings,
                environment=self.environment,
                keys=self.keys,
            )
        except ModelFailed as failure:
            return Unavailable(ModelIdentity(provider=spec, name=name, reason=failure.message), failure)

    async def listed(self, spec: ProviderSpec, url: str) -> ModelListing:
        """What the engine at a URL lists; an unusable URL is one where nothing answers."""
        try:
            return await models_at(
                spec, url, settings=self.settings, environment=self.environment, keys=self.keys
            )
        except ModelFailed as failure:
            return ModelListing(False, problem=failure.message)


async def asked_for(around: SelectionContext, provider: str) -> Choice:
    """The one provider that the settings name."""
    chosen = around.settings.model
    reason = f"`model.provider` is {provider}"
    match provider:
        case "embedded":
            return _embedded(reason)
        case "editor":
            return _of(_editor(around, reason))
        case "replay":
            try:
                return _of(await open_replay(chosen.base_url, strict=chosen.name == STRICT))
            except ModelFailed as failure:
                identity = ModelIdentity(provider=provider, name=chosen.base_url, reason=failure.message)
                return _of(Unavailable(identity, failure))
    spec = cast(ProviderSpec, provider)
    url = chosen.base_url or home_of(spec, around.environment)
    name = chosen.name
    if not name:
        found = await around.listed(spec, url)
        name = _named("", found, spec) or _unnamed(found, spec)
        if not name:
            return _of(_nameless(spec, url, found))
        reason += " and this is the first model that it lists"
    return _of(around.open(spec, url, name, reason))


async def first_that_answers(around: SelectionContext) -> Choice:
    """The first that answers of: the base URL, a key's vendor, a local Ollama, the editor's model."""
    passed: list[str] = []
    base_url = around.settings.model.base_url
    if base_url:
        choice = await _auto_base_url(around, base_url, passed)
        if choice is not None:
            return choice
    for spec in ENGINES[:2]:
        choice = await _auto_key(around, spec, passed)
        if choice is not None:
            return choice._replace(passed_over=tuple(passed))
    choice = await _auto_ollama(around, passed)
    if choice is None and around.editor is not None:
        choice = _of(_editor(around, "the editor offers a model" + _after(passed)))
    if choice is None and base_url:
        # Who sets an address means it: rules instead of the model would hide that nothing answers there.
        model = around.open("openai", base_url, around.settings.model.name, f"`model.baseUrl` is {base_url}")
        choice = _of(model)
    if choice is None:
        choice = _embedded("no model is configured and none answers")
    return choice._replace(passed_over=tuple(passed))


async def _auto_base_url(around: SelectionContext, url: str, passed: list[str]) -> Choice | None:
    try:
        found = await engine_at(
            url, settings=around.settings, environment=around.environment, keys=around.keys
        )
    except ModelFailed as failure:
        passed.append(failure.message)
        return None
    if not found.answered:
        passed.append(f"{url} (`model.baseUrl`) does not answer: {found.problem}")
        return None
    spec: ProviderSpec = found.spec or "openai"
    name = around.settings.model.name or _named("", found, spec) or _unnamed(found, spec)
    if not name:
        return _of(_nameless(spec, url, found))
    return _of(around.open(spec, url, name, f"{url} (`model.baseUrl`) answers"))


async def _auto_key(around: SelectionContext, spec: ProviderSpec, passed: list[str]) -> Choice | None:
    url = home_of(spec, around.environment)
    key = key_source(around, spec, url)
    if key is None:
        return None
    found = await around.listed(spec, url)
    name = _named(_own_name(around), found, spec) or _own_name(around)
    if not found.answered or not name or (found.problem and not found.models):
        passed.append(f"{url} (a key is in {key}) cannot be used: {found.problem or 'set `model.name`'}")
        return None
    return _of(around.open(spec, url, name, f"a key is in {key}" + _after(passed)))


async def _auto_ollama(around: SelectionContext, passed: list[str]) -> Choice | None:
    url = home_of("ollama", around.environment)
    if not await accepts(url):
        passed.append(f"no Ollama answers at {url}")
        return None
    found = await around.listed("ollama", url)
    name = _own_name(around) or _named("", found, "ollama")
    if found.spec != "ollama" or not name:
        passed.append(found.problem or f"no Ollama answers at {url}")
        return None
    return _of(around.open("ollama", url, name, f"Ollama answers at {url}" + _after(passed)))


def key_source(around: SelectionContext, spec: ProviderSpec, url: str) -> str | None:
    """Where the key for an engine's home comes from, or None where there is none."""
    try:
        key = around.keys.find(spec, origin_of(url))
    except ModelFailed:
        return None
    return key.source if key is not None else None


def _own_name(around: SelectionContext) -> str:
    """The configured name; one that came with a base URL means nothing elsewhere."""
    return "" if around.settings.model.base_url else around.settings.model.name


def _named(wanted: str, found: ModelListing, spec: ProviderSpec) -> str:
    """The listed model that is wanted, or the first that can talk."""
    names = [model.name for model in found.models]
    if wanted:
        return next((name for name in names if name in {wanted, f"{wanted}:latest"}), "")
    if spec == "openai" and any(name.startswith("gpt-") for name in names):
        return next((name for name in PREFERRED if name in names), "")
    return next((name for name in names if "embed" not in name.lower()), "")


def _unnamed(found: ModelListing, spec: ProviderSpec) -> str:
    """The name to ask for at a server that lists no models: those that run only one take any."""
    return "default" if spec == "openai" and found.answered and not found.models else ""


def _nameless(spec: ProviderSpec, url: str, found: ModelListing) -> Unavailable:
    """What stands for a model where a server answers, or should, but nothing says which model to ask."""
    known = ", ".join(model.name for model in found.models[:8])
    if known:
        message, hint = f"{url} has several models.", f"Set `model.name` to one of: {known}."
    else:
        message = f"{url} names no model to use: {found.problem or 'it lists none'}"
        advice = "Set" if found.answered else "Start it, or set"
        pull = f" Ollama: `ollama serve`, then `ollama pull {LOCAL_MODEL}`." if spec == "ollama" else ""
        hint = f"{advice} `model.baseUrl` and `model.name`.{pull}"
    failure = ModelFailed("model_unavailable", message, hint=hint)
    return Unavailable(ModelIdentity(provider=spec, name="", reason=message), failure)


def _editor(around: SelectionContext, reason: str) -> Model:
    chosen = around.settings.model
    identity = ModelIdentity(provider="editor", name=chosen.name, reason=reason)
    if around.editor is None:
        return Unavailable(
            identity,
            ModelFailed("model_unavailable", "This editor offers no language model.", hint=WAYS_TO_A_MODEL),
        )
    return EditorModel(
        around.editor,
        identity,
        name=_own_name(around),
        seconds=chosen.first_token_timeout_seconds,
        context_tokens=chosen.context_tokens,
    )


def _of(model: Model) -> Choice:
    return Choice(model, model.identity)


def _embedded(reason: str) -> Choice:
    return Choice(None, ModelIdentity(provider="embedded", name="rules", reason=reason))


def _after(passed: list[str]) -> str:
    """What was looked at before, for a reason that a user reads."""
    return f" ({'; '.join(passed)})" if passed else ""
