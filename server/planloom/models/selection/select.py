"""Chooses the session's model by the settings, chooses again after a failure, and lists the models to choose from."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import cast

from planloom.domain.errors import ModelFailed
from planloom.models.http.keys import Keyring
from planloom.models.port import Capabilities, Model, ModelEvent, ModelIdentity, ModelRequest
from planloom.models.providers.catalog import (
    ListedModel,
    ModelListing,
    ProviderName,
    accepts,
    detect_server,
    home_of,
)
from planloom.models.providers.editor_model import EditorCompletion
from planloom.models.selection.candidates import (
    HTTP_PROVIDERS,
    Choice,
    SelectionContext,
    choose_automatically,
    choose_configured,
    key_source,
)
from planloom.settings import Settings

log = logging.getLogger(__name__)


async def pick(
    settings: Settings,
    environment: Mapping[str, str],
    editor: EditorCompletion | None = None,
    *,
    keys: Keyring | None = None,
) -> Choice:
    """Choose the model. Never raises: a model that cannot be used fails at its first request.

    Without `keys`, those of the environment are used, with `PLANLOOM_API_KEY` for the configured base URL.
    """
    context = SelectionContext(settings, environment, editor, keys or _keys(settings, environment))
    provider = settings.model.provider
    if provider == "auto":
        choice = await choose_automatically(context)
        if choice.model is not None:
            reselect = cast(Callable[[], Awaitable[Choice]], lambda: choose_automatically(context))
            choice = choice._replace(model=ReselectingModel(choice, reselect))
    else:
        choice = await choose_configured(context, provider)
    log.info("Model: %s %s, since %s", *choice.identity.model_dump().values())
    for reason in choice.rejected:
        log.info("Model rejected: %s", reason)
    return choice


async def list_models(
    settings: Settings,
    environment: Mapping[str, str],
    editor: EditorCompletion | None = None,
    *,
    keys: Keyring | None = None,
) -> tuple[ListedModel, ...]:
    """Every model that could be chosen now, in the order of `auto`, the embedded rules last."""
    context = SelectionContext(settings, environment, editor, keys or _keys(settings, environment))
    listings = await asyncio.gather(
        _at_base_url(context), *(_at_home(context, provider) for provider in HTTP_PROVIDERS)
    )
    listed = [model for listing in listings for model in listing]
    if editor is not None:
        listed.append(
            ListedModel(provider="editor", name="", reachable=True, reason="the model that the editor offers")
        )
    rules = ListedModel(
        provider="embedded",
        name="rules",
        reachable=True,
        reason="plans literal requests by rules, without a model",
    )
    return (*dict.fromkeys(listed), rules)


class ReselectingModel:
    """The model that `auto` chose; after it became unavailable, the next request chooses again."""

    def __init__(self, choice: Choice, reselect: Callable[[], Awaitable[Choice]]) -> None:
        assert choice.model is not None
        self._model = choice.model
        self._reselect = reselect
        self._failed = False
        self._selecting = asyncio.Lock()

    @property
    def identity(self) -> ModelIdentity:
        return self._model.identity

    @property
    def inner(self) -> Model:
        """The current model."""
        return self._model

    async def capabilities(self) -> Capabilities:
        return await (await self._current()).capabilities()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        model = await self._current()
        try:
            events = cast(AsyncGenerator[ModelEvent], model.stream(request))
            async with contextlib.aclosing(events):
                async for event in events:
                    yield event
        except ModelFailed as failure:
            self._failed = self._failed or failure.code == "model_unavailable"
            raise

    async def close(self) -> None:
        await self._model.close()

    async def _current(self) -> Model:
        async with self._selecting:
            if not self._failed:
                return self._model
            choice = await self._reselect()
            self._failed = False
            now, before = choice.identity, self._model.identity
            if choice.model is None or (now.provider, now.name) == (before.provider, before.name):
                # Keep the old object, with its probed capabilities and learned token counts.
                if choice.model is not None:
                    await choice.model.close()
                return self._model
            log.warning("Model: %s %s now, since %s", now.provider, now.name, now.reason)
            await self._model.close()
            self._model = choice.model
            return self._model


def _keys(settings: Settings, environment: Mapping[str, str]) -> Keyring:
    return Keyring(environment, given_for=settings.model.base_url or None)


async def _at_base_url(context: SelectionContext) -> tuple[ListedModel, ...]:
    url = context.settings.model.base_url
    provider = context.settings.model.provider
    if not url or provider in {"replay", "editor", "embedded"}:
        return ()
    if provider != "auto":
        return _listing(await context.listed(cast(ProviderName, provider), url), provider, context)
    try:
        found = await detect_server(
            url, settings=context.settings, environment=context.environment, keys=context.keys
        )
    except ModelFailed as failure:
        found = ModelListing(False, problem=failure.message)
    return _listing(found, found.provider or "openai", context)


async def _at_home(context: SelectionContext, provider: ProviderName) -> tuple[ListedModel, ...]:
    url = home_of(provider, context.environment)
    wanted = context.settings.model.provider == provider and not context.settings.model.base_url
    if provider == "ollama":
        if not await accepts(url):
            problem = ModelListing(False, problem=f"no Ollama answers at {url}: start it by `ollama serve`")
            return _listing(problem, provider, context) if wanted else ()
    elif not wanted and key_source(context, provider, url) is None:
        return ()
    return _listing(await context.listed(provider, url), provider, context)


def _listing(found: ModelListing, provider: str, context: SelectionContext) -> tuple[ListedModel, ...]:
    if found.models:
        return found.models
    name = context.settings.model.name
    return (
        ListedModel(
            provider=provider,
            name=name,
            reachable=found.answered and not found.problem,
            reason=found.problem or None,
        ),
    )
