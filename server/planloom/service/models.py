"""Selects the model that the application uses: when first needed, and again when the settings change."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from planloom.domain.errors import InvalidParams, ModelFailed, ModelProblem
from planloom.domain.safety.known_keys import KnownKeys
from planloom.domain.values import PlanId, StepId
from planloom.execution.model_waits import ModelWaits
from planloom.execution.session import Session
from planloom.models.hold import Hold
from planloom.models.http.endpoint import origin_of
from planloom.models.http.keys import Keyring, RedactingFormatter
from planloom.models.http.learned import LearnedModels
from planloom.models.kept_keys import KeptKeys
from planloom.models.offline.recording import Recording, RecordingModel
from planloom.models.one_question import Cost, answer_to
from planloom.models.port import NOT_ASKED, Message, Model, ModelIdentity, ModelRequest
from planloom.models.selection.candidates import UnavailableModel
from planloom.models.selection.select import (
    ReselectingModel,
    choose_model,
    configured_models,
    list_models,
)
from planloom.providers import DISCOVERY_ORDER, PROVIDERS, WAYS_TO_A_MODEL, Provider

if TYPE_CHECKING:
    from planloom.models.providers.editor_model import EditorCompletion
    from planloom.models.selection.select import ListedModel

log = logging.getLogger(__name__)

_NOT_SELECTED = ModelIdentity(provider="auto", name="", reason=f"{NOT_ASKED}: no request has needed a model")

_TEST = ModelRequest(messages=(Message(role="user", text="Answer with the one word: ready"),))
_SHOWN_OF_TEST = 80
"""Most characters of the answer to the test question."""


class AvailableModels(NamedTuple):
    """The models that can be used, and the active one; before any was asked, one of the provider `auto`.

    `context_tokens` is the size of the active one's context, assumed if its server does not state it.
    """

    models: tuple[ListedModel, ...]
    active: ModelIdentity
    context_tokens: int | None = None
    context_assumed: bool | None = None


class Outlook(NamedTuple):
    """What a plan can expect of models: `problem` is why none can be used.

    `replaces` is why the model that the user has set up is not the one that is used instead.
    """

    problem: ModelProblem | None = None
    replaces: str | None = None


def no_model(found: ModelFailed | None = None) -> ModelFailed:
    """The failure of what needs a model where none is set up, or none but one that fails as `found`."""
    if found is None:
        words, hint = "This needs a language model, and none is configured.", WAYS_TO_A_MODEL
        return ModelFailed("model_unavailable", words, hint=hint, problem=ModelProblem(cause="none"))
    # A new exception each time, so that each has its own traceback.
    return ModelFailed("model_unavailable", found.message, hint=found.hint, problem=found.problem)


class TestAnswer(NamedTuple):
    """The answer of a model to the test question, and the milliseconds from the request to its end."""

    model: ModelIdentity
    answer: str
    took_ms: int


class Models:
    """The model of this connection. What talks to models is imported only when a model is first selected.

    No server is contacted before `current` or `list(select=True)`, which are called only for what a person requests.
    """

    def __init__(
        self,
        session: Session,
        environment: Mapping[str, str],
        editor: EditorCompletion | None = None,
        record: Path | None = None,
        base_url_is_users: Callable[[], bool] = lambda: True,
        kept_keys: KeptKeys | None = None,
    ) -> None:
        """`base_url_is_users`: whether the base URL is from the user's settings, not from those of a workspace.

        `record` is a file to record every exchange with a model in, `kept_keys` are those that the user keeps.
        """
        self.known_keys = KnownKeys()
        self._base_url_is_users = base_url_is_users
        self._kept_keys = kept_keys
        self._session = session
        self._environment = environment
        self._editor = editor
        self._record = record
        self._model: Model | None = None
        self._asked = False
        self._identity = _NOT_SELECTED
        self._failure: ModelFailed | None = None
        self._learned = LearnedModels()
        self._keys: Keyring | None = None
        self._keys_base_url: str | None = None
        self._guarded: tuple[tuple[logging.Handler, logging.Formatter | None], ...] = ()
        self._selecting = asyncio.Lock()
        self._hold = Hold()
        self._parallelism = 1
        self.waits = ModelWaits()

    @property
    def identity(self) -> ModelIdentity:
        """The selected model, and the reason for its selection."""
        return self._model.identity if self._model is not None else self._identity

    @property
    def at_hand(self) -> bool:
        """Whether there is a model, or may be one: none was looked for yet."""
        return self._model is not None or self._identity is _NOT_SELECTED

    @property
    def parallelism(self) -> int:
        """How many steps may use the model at a time."""
        return self._parallelism

    async def current(self) -> Model | None:
        """The model to use now, selected if there is none yet; None if none is available, which holds for a while."""
        async with self._selecting:
            await self._read_kept_keys()
            if self._model is None and not self._hold.active:
                self._asked, since = True, time.monotonic()
                choice = await choose_model(
                    self._session.settings,
                    self._environment,
                    self._editor,
                    keys=self._keyring(),
                    learned=self._learned,
                )
                self._identity, self._failure = choice.identity, choice.failure
                self._model = self._recorded(choice.model)
                if self._model is None:
                    self._hold.begin(since)
            if self._model is not None:
                can = await self._model.capabilities()
                self._parallelism, self._session.context_tokens = can.parallelism, can.context_tokens
            return self._model

    async def for_work(self, plan_id: PlanId, step_id: StepId | None = None) -> Model | None:
        """The model to use now, whose waits are reported as those of a step, or of the plan's draft."""
        model = await self.current()
        return None if model is None else self.waits.watched(model, plan_id, step_id)

    def no_model(self) -> ModelFailed:
        """The failure of what needs a model where there is none."""
        return no_model(self._failure)

    async def outlook(self) -> Outlook:
        """Whether a model can be used now."""
        model = await self.current()
        if model is None:
            return Outlook(problem=self.no_model().problem)
        failure = self._failure
        if isinstance(model, ReselectingModel):
            failure = model.failure
            if isinstance(model.inner, UnavailableModel):
                return Outlook(problem=model.inner.failure.problem)
        return Outlook(replaces=failure.message if failure is not None else None)

    def _recorded(self, model: Model | None) -> Model | None:
        if model is None or self._record is None:
            return model
        return RecordingModel(model, Recording(self._record, self.known_keys))

    def _keyring(self) -> Keyring:
        base_url = (self._session.settings.model.base_url if self._base_url_is_users() else "") or None
        if self._keys is None or base_url != self._keys_base_url:
            previous, self._keys = self._keys, Keyring(self._environment, base_url, self.known_keys)
            self._keys_base_url = base_url
            if previous is not None:
                self._keys.take_over(previous)
            self._guard()
        return self._keys

    async def _read_kept_keys(self) -> None:
        """Take over the keys that the user has kept or removed since."""
        if self._kept_keys is None:
            return
        try:
            changed = await asyncio.to_thread(self._kept_keys.changed)
        except (OSError, ValueError) as error:
            log.warning("The kept keys cannot be read: %s", error)
            return
        if changed is not None:
            self._keyring().keep(changed)
            self._hold.end()

    def redact(self, handlers: Iterable[logging.Handler]) -> None:
        """Redact keys in all messages and tracebacks of these log handlers from now on."""
        self._guarded = tuple((handler, handler.formatter) for handler in handlers)
        self._keyring()
        self._guard()

    def _guard(self) -> None:
        if self._keys is not None:
            for handler, formatter in self._guarded:
                handler.setFormatter(RedactingFormatter(self._keys, formatter))

    async def list(self, *, select: bool = False) -> AvailableModels:
        """Every model that can be used now; with `select`, one is selected if there is none yet.

        Without `select`, as long as nothing was requested that needs a model, this lists what is configured and
        contacts no server.
        """
        await self._read_kept_keys()
        model = await self.current() if select else self._model
        listing = list_models if self._asked else configured_models
        models = await listing(self._session.settings, self._environment, self._editor, keys=self._keyring())
        active = self.identity
        if model is None:
            return AvailableModels(models, active)
        can = await model.capabilities()
        return AvailableModels(models, active, can.usable_context, can.context_tokens is None)

    async def test(self) -> TestAnswer:
        """Ask the model that is used for one word, with all that a plan's request goes through.

        Raises ModelFailed, also if there is no model.
        """
        model = await self.current()
        if model is None:
            raise self.no_model()
        began = time.monotonic()
        answer = await answer_to(model, _TEST, Cost(), most_characters=_SHOWN_OF_TEST)
        return TestAnswer(
            self.identity,
            " ".join(answer.text.split())[:_SHOWN_OF_TEST],
            round(1000 * (time.monotonic() - began)),
        )

    async def set_secret(self, provider: str, value: str | None) -> None:
        """Keep a key in memory for the provider's origin; None forgets it. Raises InvalidParams."""
        if provider not in PROVIDERS:
            names = ", ".join(row.name for row in DISCOVERY_ORDER)
            problem = {"field": "provider", "problem": f"it is none of {names}"}
            raise InvalidParams(f"There are no keys for {provider}.", details=[dict(problem)])
        self._keyring().put(provider, value, self._origin(PROVIDERS[provider]))
        await self.forget()

    def _origin(self, provider: Provider) -> str:
        chosen = self._session.settings.model
        if chosen.base_url and chosen.provider in ("auto", provider.name):
            return origin_of(chosen.base_url)
        return origin_of(provider.home(self._environment))

    async def forget(self) -> None:
        """Close the model, so that one is selected when needed next. Waits for a selection in progress."""
        async with self._selecting:
            model, self._model = self._model, None
            self._identity = _NOT_SELECTED
            self._hold.end()
            if model is not None:
                await model.close()
