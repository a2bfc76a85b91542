"""Chooses the session's model by the settings, chooses again after a failure, and lists the models to choose from."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import NamedTuple

from planloom.domain.errors import ModelCause, ModelFailed
from planloom.models.hold import Hold
from planloom.models.http.adapter import ModelListing
from planloom.models.http.endpoint import shown_url
from planloom.models.http.keys import Keyring
from planloom.models.http.learned import LearnedModels
from planloom.models.port import NOT_ASKED, Capabilities, Model, ModelEvent, ModelIdentity, ModelRequest
from planloom.models.providers.editor_model import EditorCompletion
from planloom.models.providers.servers import ModelServers, accepts
from planloom.models.selection.candidates import (
    Choice,
    SelectionContext,
    UnavailableModel,
    choose_automatically,
    choose_configured,
)
from planloom.providers import DISCOVERY_ORDER, PROVIDERS, Provider
from planloom.settings import Settings

log = logging.getLogger(__name__)


class ListedModel(NamedTuple):
    """A model that could be chosen; `reason` describes it, or says why it cannot be used, as `cause` for programs.

    `address` is the server's, "" for what needs none.
    """

    provider: str
    name: str
    reachable: bool
    context_tokens: int | None = None
    reason: str | None = None
    cause: ModelCause | None = None
    address: str = ""


async def choose_model(
    settings: Settings,
    environment: Mapping[str, str],
    editor: EditorCompletion | None = None,
    *,
    keys: Keyring | None = None,
    learned: LearnedModels | None = None,
) -> Choice:
    """Choose the model. Never raises: a model that cannot be used fails at its first request.

    Without `keys`, those of the environment are used, with `PLANLOOM_API_KEY` for the configured base URL. `learned` is
    what servers have refused before.
    """
    context = _context(settings, environment, editor, keys, learned)
    provider = settings.model.provider

    # A function, since the repr of a `partial` would show the keys of the environment.
    async def choose() -> Choice:
        return await (
            choose_automatically(context) if provider == "auto" else choose_configured(context, provider)
        )

    choice = await choose()
    if choice.model is not None and provider in {"auto", *PROVIDERS}:
        choice = choice._replace(model=ReselectingModel(choice, choose))
    log.info("Model: %s %s, since %s", *choice.identity)
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
    context = _context(settings, environment, editor, keys)
    listings = await asyncio.gather(
        _at_base_url(context), *(_at_home(context, provider) for provider in _considered(settings))
    )
    return _with_built_in([model for listing in listings for model in listing], editor)


async def configured_models(
    settings: Settings,
    environment: Mapping[str, str],
    editor: EditorCompletion | None = None,
    *,
    keys: Keyring | None = None,
) -> tuple[ListedModel, ...]:
    """The models that `list_models` would ask servers about, without asking any."""
    context = _context(settings, environment, editor, keys)
    chosen = settings.model
    listed: list[ListedModel] = []
    if chosen.base_url and chosen.provider in {"auto", *PROVIDERS}:
        reason = f"{NOT_ASKED}: {shown_url(chosen.base_url)}"
        listed.append(
            ListedModel(
                provider=chosen.provider,
                name=chosen.name,
                reachable=False,
                reason=reason,
                address=shown_url(chosen.base_url),
            )
        )
    for provider in _considered(settings):
        url = context.home(provider)
        wanted = chosen.provider == provider.name and not chosen.base_url
        if wanted or (provider.local is None and context.key_source(provider, url) is not None):
            name = "" if chosen.base_url else chosen.name
            reason = f"{NOT_ASKED}: {shown_url(url)}"
            listed.append(
                ListedModel(
                    provider=provider.name, name=name, reachable=False, reason=reason, address=shown_url(url)
                )
            )
    return _with_built_in(listed, editor)


def _with_built_in(listed: list[ListedModel], editor: EditorCompletion | None) -> tuple[ListedModel, ...]:
    """These models, then the editor's if it offers one, then the embedded rules."""
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
    """The chosen model; after it became unavailable, the next request chooses again.

    By then the server may answer, have the model, or have the key. Where there is still none, that holds for a while.
    """

    def __init__(self, choice: Choice, reselect: Callable[[], Awaitable[Choice]]) -> None:
        assert choice.model is not None
        self._model = choice.model
        self._failure = choice.failure
        self._reselect = reselect
        self._failed = False
        self._hold = Hold()
        self._selecting = asyncio.Lock()

    @property
    def identity(self) -> ModelIdentity:
        return self._model.identity

    @property
    def inner(self) -> Model:
        """The current model."""
        return self._model

    @property
    def failure(self) -> ModelFailed | None:
        """Why it, or the model that the user has set up, cannot be used; None if it is that one."""
        return self._failure

    async def capabilities(self) -> Capabilities:
        return await (await self._current()).capabilities()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        model = await self._current()
        try:
            async with contextlib.aclosing(model.stream(request)) as events:
                async for event in events:
                    yield event
        except ModelFailed as failure:
            self._failed = self._failed or failure.code == "model_unavailable"
            raise

    async def close(self) -> None:
        await self._model.close()

    async def _current(self) -> Model:
        async with self._selecting:
            if self._hold.active or not (self._failed or isinstance(self._model, UnavailableModel)):
                return self._model
            since = time.monotonic()
            choice = await self._reselect()
            self._failed = False
            if choice.model is None or isinstance(choice.model, UnavailableModel):
                self._hold.begin(since)
            now, before = choice.identity, self._model.identity
            if choice.model is None or (now.provider, now.name) == (before.provider, before.name):
                # Keep the old object, with its probed capabilities and learned token counts.
                if choice.model is not None:
                    await choice.model.close()
                return self._model
            log.warning("Model: %s %s now, since %s", now.provider, now.name, now.reason)
            await self._model.close()
            self._model, self._failure = choice.model, choice.failure
            return self._model


def _context(
    settings: Settings,
    environment: Mapping[str, str],
    editor: EditorCompletion | None,
    keys: Keyring | None,
    learned: LearnedModels | None = None,
) -> SelectionContext:
    keys = keys or Keyring(environment, given_for=settings.model.base_url or None)
    return SelectionContext(ModelServers(settings, environment, keys, learned or LearnedModels()), editor)


def _considered(settings: Settings) -> tuple[Provider, ...]:
    """Those that `auto` tries, and the one that is set."""
    configured = (row for row in PROVIDERS.values() if row.name == settings.model.provider)
    return tuple(dict.fromkeys((*DISCOVERY_ORDER, *configured)))


async def _at_base_url(context: SelectionContext) -> tuple[ListedModel, ...]:
    if not context.settings.base_url or context.settings.provider not in {"auto", *PROVIDERS}:
        return ()
    provider, found = await context.at_base_url()
    return _listed(found, provider, context, context.settings.base_url)


async def _at_home(context: SelectionContext, provider: Provider) -> tuple[ListedModel, ...]:
    url = context.home(provider)
    wanted = context.settings.provider == provider.name and not context.settings.base_url
    if provider.local is None:
        if not wanted and context.key_source(provider, url) is None:
            return ()
    elif not await accepts(url):
        problem = (
            f"no {provider.local.title} answers at {shown_url(url)}: start it by `{provider.local.start}`"
        )
        return (
            _listed(ModelListing(False, problem=problem, cause="unreachable"), provider, context, url)
            if wanted
            else ()
        )
    return _listed(await context.list_models(provider, url), provider, context, url)


def _listed(
    found: ModelListing, provider: Provider, context: SelectionContext, url: str
) -> tuple[ListedModel, ...]:
    """The models found, or one entry that says why there are none."""
    if found.models:
        return tuple(
            ListedModel(
                provider=provider.name,
                name=name,
                context_tokens=context_tokens,
                reachable=True,
                address=shown_url(url),
            )
            for name, context_tokens in found.models
        )
    return (
        ListedModel(
            provider=provider.name,
            name=context.settings.name,
            reachable=found.answered and not found.problem,
            reason=found.problem or None,
            cause=found.cause,
            address=shown_url(url),
        ),
    )
