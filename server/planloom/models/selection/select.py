"""Which model answers: what the user has set, or with `auto` the first that is there, and why."""

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
    ProviderSpec,
    accepts,
    engine_at,
    home_of,
)
from planloom.models.providers.editor_model import EditorCompletion
from planloom.models.selection.candidates import (
    ENGINES,
    Choice,
    SelectionContext,
    asked_for,
    first_that_answers,
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
    """The model to use, and why. Nothing is raised: a model that cannot be had says so when it is asked.

    Without `keys` the environment's are used, `PLANLOOM_API_KEY` for the configured base URL.
    """
    around = SelectionContext(settings, environment, editor, keys or _keys(settings, environment))
    provider = settings.model.provider
    if provider == "auto":
        choice = await first_that_answers(around)
        if choice.model is not None:
            again = cast(Callable[[], Awaitable[Choice]], lambda: first_that_answers(around))
            choice = choice._replace(model=Reselecting(choice, again))
    else:
        choice = await asked_for(around, provider)
    log.info("Model: %s %s, since %s", *choice.identity.model_dump().values())
    for reason in choice.passed_over:
        log.info("Passed over: %s", reason)
    return choice


async def list_models(
    settings: Settings,
    environment: Mapping[str, str],
    editor: EditorCompletion | None = None,
    *,
    keys: Keyring | None = None,
) -> tuple[ListedModel, ...]:
    """Every model that could be chosen now, in the order in which `auto` looks, the embedded rules last."""
    around = SelectionContext(settings, environment, editor, keys or _keys(settings, environment))
    listings = await asyncio.gather(_at_base_url(around), *(_at_home(around, spec) for spec in ENGINES))
    listed = [model for listing in listings for model in listing]
    if editor is not None:
        listed.append(
            ListedModel(provider="editor", name="", reachable=True, reason="the model that the editor offers")
        )
    rules = ListedModel(
        provider="embedded",
        name="rules",
        reachable=True,
        reason="plans what is said literally, without a model",
    )
    return (*dict.fromkeys(listed), rules)


class Reselecting:
    """The model that `auto` picked. After it could not be had, the next question looks around anew."""

    def __init__(self, choice: Choice, again: Callable[[], Awaitable[Choice]]) -> None:
        assert choice.model is not None
        self._model = choice.model
        self._again = again
        self._failed = False
        self._looking = asyncio.Lock()

    @property
    def identity(self) -> ModelIdentity:
        return self._model.identity

    @property
    def inner(self) -> Model:
        """The model that answers now."""
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
        async with self._looking:
            if not self._failed:
                return self._model
            choice = await self._again()
            self._failed = False
            now, before = choice.identity, self._model.identity
            if choice.model is None or (now.provider, now.name) == (before.provider, before.name):
                # What is known of the model's abilities and tokens is kept with it.
                if choice.model is not None:
                    await choice.model.close()
                return self._model
            log.warning("Model: %s %s now, since %s", now.provider, now.name, now.reason)
            await self._model.close()
            self._model = choice.model
            return self._model


def _keys(settings: Settings, environment: Mapping[str, str]) -> Keyring:
    return Keyring(environment, given_for=settings.model.base_url or None)


async def _at_base_url(around: SelectionContext) -> tuple[ListedModel, ...]:
    url = around.settings.model.base_url
    provider = around.settings.model.provider
    if not url or provider in {"replay", "editor", "embedded"}:
        return ()
    if provider != "auto":
        return _listing(await around.listed(cast(ProviderSpec, provider), url), provider, around)
    try:
        found = await engine_at(
            url, settings=around.settings, environment=around.environment, keys=around.keys
        )
    except ModelFailed as failure:
        found = ModelListing(False, problem=failure.message)
    return _listing(found, found.spec or "openai", around)


async def _at_home(around: SelectionContext, spec: ProviderSpec) -> tuple[ListedModel, ...]:
    url = home_of(spec, around.environment)
    wanted = around.settings.model.provider == spec and not around.settings.model.base_url
    if spec == "ollama":
        if not await accepts(url):
            problem = ModelListing(False, problem=f"no Ollama answers at {url}: start it by `ollama serve`")
            return _listing(problem, spec, around) if wanted else ()
    elif not wanted and key_source(around, spec, url) is None:
        return ()
    return _listing(await around.listed(spec, url), spec, around)


def _listing(found: ModelListing, provider: str, around: SelectionContext) -> tuple[ListedModel, ...]:
    if found.models:
        return found.models
    name = around.settings.model.name
    return (
        ListedModel(
            provider=provider,
            name=name,
            reachable=found.answered and not found.problem,
            reason=found.problem or None,
        ),
    )
