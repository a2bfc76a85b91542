"""Reaches model servers: opens a model at an address, lists the models there, and detects the provider."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from planloom.models.http.adapter import ModelListing, ProviderAdapter, Reply
from planloom.models.http.endpoint import origin_of
from planloom.models.http.keys import Keyring, key_advice
from planloom.models.http.learned import LearnedModels
from planloom.models.port import ModelIdentity
from planloom.models.providers.openai_models import family_of
from planloom.providers import OPENAI, OPENAI_RESPONSES, PROVIDERS, Provider
from planloom.settings import Settings

if TYPE_CHECKING:
    from planloom.models.http.http_model import HttpModel

CONNECT_SECONDS = 1.0
"""Time limit for a local server to accept a connection."""


class ModelServers(NamedTuple):
    """Access to model servers with the user's settings, environment and keys.

    The methods that take a URL raise `ModelFailed` if it cannot be used.
    """

    settings: Settings
    environment: Mapping[str, str]
    keys: Keyring
    learned: LearnedModels

    def open(self, identity: ModelIdentity, url: str) -> HttpModel:
        """The model of one of `PROVIDERS` at a base URL."""
        provider = _form(PROVIDERS[identity.provider], identity.name, url)
        return self._open(load_adapter(provider), identity, url)

    async def list_models(self, provider: Provider, url: str) -> ModelListing:
        """The models that the server lists."""
        adapter = load_adapter(provider)
        return _listing(adapter, await self._models_reply(adapter, provider, url))

    async def detect(self, url: str) -> tuple[Provider, ModelListing]:
        """The provider of a server, detected by its replies, and its models; OpenAI's if it gives no other sign."""
        adapter = load_adapter(OPENAI)
        reply = await self._models_reply(adapter, OPENAI, url)
        compatible = _listing(adapter, reply)
        if not compatible.answered:
            return OPENAI, compatible
        for provider in (row for row in PROVIDERS.values() if not row.package):
            recognised = load_adapter(provider).recognises(reply)
            # A local server that lists nothing in OpenAI's form may list its models in its own.
            if recognised or (provider.local is not None and not compatible.models):
                own = await self.list_models(provider, url)
                if own.models or (recognised and not compatible.models):
                    return provider, own
        return OPENAI, compatible

    async def _models_reply(self, adapter: ProviderAdapter, provider: Provider, url: str) -> Reply:
        client = self._open(adapter, ModelIdentity(provider=provider.name, name="", reason=""), url)
        try:
            return await client.get(client.endpoint.base + adapter.models_path)
        finally:
            await client.close()

    def _open(self, adapter: ProviderAdapter, identity: ModelIdentity, url: str) -> HttpModel:
        # Importing the HTTP library takes 15 ms, which a session without HTTP models need not spend.
        from planloom.models.http.http_model import HttpModel, Options
        from planloom.models.http.proxies import proxy_to
        from planloom.models.http.transport import Timeouts

        endpoint = adapter.endpoint(url)
        adapter.learned = self.learned.of(endpoint.origin, identity.name)
        chosen = self.settings.model
        return HttpModel(
            adapter,
            endpoint,
            identity,
            find_key=lambda: self.keys.find(identity.provider, endpoint.origin),
            key_advice=key_advice(identity.provider, endpoint.origin, self.environment),
            options=Options(
                timeouts=Timeouts(
                    connect=chosen.connect_timeout_seconds,
                    first_token=chosen.first_token_timeout_seconds,
                    token=chosen.token_timeout_seconds,
                ),
                retries=self.settings.max_retry_attempts,
                temperature=chosen.temperature,
                effort=None if chosen.reasoning_effort == "default" else chosen.reasoning_effort,
                thinking_tokens=chosen.thinking_tokens or None,
                context_tokens=chosen.context_tokens,
                profile=chosen.profile,
                parallelism=chosen.parallel_requests,
                proxy=proxy_to(endpoint, self.environment),
            ),
        )


def load_adapter(provider: Provider) -> ProviderAdapter:
    """A new adapter of a provider. Its module is imported here, since adapters import the HTTP library."""
    module, _, name = provider.adapter.partition(":")
    adapter: ProviderAdapter = getattr(import_module(module), name)()
    return adapter


def _form(provider: Provider, name: str, url: str) -> Provider:
    """The provider, or the protocol of its service that serves the model better.

    OpenAI refuses tools together with an effort in chat completions, and returns no reasoning there.
    """
    family = family_of(name)
    reasons = family is not None and bool(family.efforts)
    return OPENAI_RESPONSES if provider is OPENAI and reasons and origin_of(url) == OPENAI.url else provider


async def accepts(url: str) -> bool:
    """Whether anything accepts connections at the URL; cheap, since it needs no HTTP library.

    Nothing does at a text that is no URL.
    """
    try:
        parts = urlsplit(url)
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except (OSError, ValueError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


def _listing(adapter: ProviderAdapter, reply: Reply) -> ModelListing:
    return (
        adapter.listing(reply)
        if reply.status
        else ModelListing(False, problem=reply.problem, cause=reply.cause)
    )
