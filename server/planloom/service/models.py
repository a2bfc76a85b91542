"""Which model the application uses: picked when first needed, picked anew when the settings change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from planloom.domain.errors import InvalidParams
from planloom.models.port import Model, ModelIdentity
from planloom.settings import Settings

if TYPE_CHECKING:
    from planloom.models.http.keys import Keyring
    from planloom.models.providers.catalog import ListedModel
    from planloom.models.providers.editor_model import EditorCompletion

_NOT_LOOKED = ModelIdentity(provider="auto", name="", reason="No step has needed a model yet.")
VENDORS = ("openai", "anthropic", "ollama")


class Listing(NamedTuple):
    """The models that could be used, and the one that is."""

    models: tuple[ListedModel, ...]
    active: ModelIdentity | None


class Models:
    """The model of this connection. Everything that needs httpx is imported when a model is first looked for."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        environment: Mapping[str, str],
        editor: EditorCompletion | None = None,
        record: Path | None = None,
        base_url_is_users: Callable[[], bool] = lambda: True,
    ) -> None:
        """`base_url_is_users` tells whether the user's own settings hold the base URL, not an editor's folder."""
        self._base_url_is_users = base_url_is_users
        self._settings = settings
        self._environment = environment
        self._editor = editor
        self._record = record
        self._model: Model | None = None
        self._identity = _NOT_LOOKED
        self._keys: Keyring | None = None
        self._given_for: str | None = None
        self._guarded: tuple[tuple[logging.Handler, logging.Formatter | None], ...] = ()
        self._looking = asyncio.Lock()
        self._parallelism = 1

    @property
    def identity(self) -> ModelIdentity:
        """The model that was picked, and why."""
        return self._model.identity if self._model is not None else self._identity

    @property
    def at_hand(self) -> bool:
        """Whether a model has been picked."""
        return self._model is not None

    @property
    def parallelism(self) -> int:
        """How many requests the model takes at a time, as far as that is known."""
        return self._parallelism

    async def current(self) -> Model | None:
        """The model to use now; None stands for the embedded rules. Looks again as long as there is none."""
        from planloom.models.selection.select import pick

        async with self._looking:
            if self._model is None:
                choice = await pick(self._settings(), self._environment, self._editor, keys=self._keyring())
                self._identity = choice.identity
                self._model = self._recorded(choice.model)
                if self._model is not None:
                    self._parallelism = (await self._model.capabilities()).parallelism
            return self._model

    def _recorded(self, model: Model | None) -> Model | None:
        if model is None or self._record is None:
            return model
        from planloom.models.offline.recording import Recording, RecordingModel

        return RecordingModel(model, Recording(self._record, self._keyring().redact))

    def _keyring(self) -> Keyring:
        from planloom.models.http.keys import Keyring

        given_for = (self._settings().model.base_url if self._base_url_is_users() else "") or None
        if self._keys is None or given_for != self._given_for:
            before, self._keys = self._keys, Keyring(self._environment, given_for=given_for)
            self._given_for = given_for
            if before is not None:
                self._keys.take_over(before)
            self._guard()
        return self._keys

    def redact(self, handlers: Iterable[logging.Handler]) -> None:
        """From now on no key leaves through these handlers of the log, in traces neither."""
        self._guarded = tuple((handler, handler.formatter) for handler in handlers)
        self._keyring()
        self._guard()

    def _guard(self) -> None:
        from planloom.models.http.keys import RedactingFormatter

        if self._keys is not None:
            for handler, formatter in self._guarded:
                handler.setFormatter(RedactingFormatter(self._keys, formatter))

    async def list(self) -> Listing:
        """Every model that could be chosen now."""
        from planloom.models.selection.select import list_models

        models = await list_models(self._settings(), self._environment, self._editor, keys=self._keyring())
        identity = self.identity
        return Listing(models, None if identity is _NOT_LOOKED else identity)

    async def set_secret(self, provider: str, value: str | None) -> None:
        """Keep a key in memory for the provider's origin, or forget it."""
        if provider not in VENDORS:
            problem = {"field": "provider", "problem": f"it is none of {', '.join(VENDORS)}"}
            raise InvalidParams(f"There are no keys for {provider}.", details=[dict(problem)])
        self._keyring().put(provider, value, self._origin(provider))
        await self.forget()

    def _origin(self, provider: str) -> str:
        from planloom.models.http.endpoint import origin_of
        from planloom.models.providers.catalog import home_of

        chosen = self._settings().model
        if chosen.base_url and chosen.provider in ("auto", provider):
            return origin_of(chosen.base_url)
        return origin_of(home_of(provider, self._environment))  # type: ignore[arg-type]

    async def forget(self) -> None:
        """Pick anew when a model is needed next."""
        model, self._model = self._model, None
        self._identity = _NOT_LOOKED
        if model is not None:
            await model.close()
