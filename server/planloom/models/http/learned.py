"""Stores which fields a model's server refuses and which limits its refusals state: later requests keep to them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Learned:
    """The facts learned of one model of one server, beside those that the server reports.

    `refused` has the names of fields and features that it does not accept. `context_tokens` is the size of its
    context, `answer_tokens` its longest answer, each as a refusal named it.
    """

    refused: set[str] = field(default_factory=set)
    context_tokens: int | None = None
    answer_tokens: int | None = None
    _slots: dict[int, asyncio.Semaphore] = field(default_factory=dict)

    def refuse(self, name: str) -> bool:
        """Remember that the server does not accept a field. False if that was known."""
        if name in self.refused:
            return False
        self.refused.add(name)
        return True

    @property
    def form(self) -> tuple[frozenset[str], int | None]:
        """The facts on which the form of a request depends."""
        return frozenset(self.refused), self.answer_tokens

    def slots(self, parallelism: int) -> asyncio.Semaphore:
        """A slot for each request that the server answers at a time, whichever adapter sends it."""
        return self._slots.setdefault(parallelism, asyncio.Semaphore(parallelism))

    def context(self, known: int | None) -> int | None:
        """The size of the context. A refusal knows better than a larger size in metadata or settings."""
        sizes = [size for size in (known, self.context_tokens) if size]
        return min(sizes, default=None)


class LearnedModels:
    """The facts learned of each model, by the server's origin and the model's name."""

    def __init__(self) -> None:
        self._models: defaultdict[tuple[str, str], Learned] = defaultdict(Learned)

    def of(self, origin: str, name: str) -> Learned:
        """The facts learned of a model; the same object for every adapter that serves it."""
        return self._models[origin, name]
