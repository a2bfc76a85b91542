"""A tuple of steps or edits that finds its values by key, and keeps what it knows when one value changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Keyed(Protocol):
    """A value with a key, which may reference other values by their keys."""

    @property
    def key(self) -> str: ...

    @property
    def references(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=Keyed)


class IndexedTuple(tuple[T, ...]):
    """Values in order, which can be looked up by index, by key, and by a key that they reference."""

    # Changed copies share these indexes, which may therefore hold entries of other copies: each entry is checked
    # against the values before it is used. Both are built when first needed.
    _indices: dict[str, int] | None = None
    _referencing: dict[str, set[int]] | None = None

    def index_of(self, key: str) -> int | None:
        """The index of the first value with this key."""
        if self._indices is not None:
            index = self._indices.get(key)
            if index is None or self._has_key_at(key, index):
                return index
        self._indices = {}
        for index, value in enumerate(self):
            self._indices.setdefault(value.key, index)
        return self._indices.get(key)

    def find(self, key: str) -> T | None:
        """The first value with this key."""
        index = self.index_of(key)
        return None if index is None else self[index]

    def referencing(self, key: str) -> tuple[int, ...]:
        """The indices of the values that reference this key, in order."""
        if self._referencing is None:
            self._referencing = {}
            for index, value in enumerate(self):
                _add_references(self._referencing, value.references, index)
        found = self._referencing.get(key, ())
        return tuple(index for index in sorted(found) if index < len(self) and key in self[index].references)

    def appended(self, value: T) -> IndexedTuple[T]:
        """A copy with one more value at the end."""
        copy = IndexedTuple((*self, value))
        if self._indices is not None:
            first = self._indices.setdefault(value.key, len(self))
            if first == len(self) or self._has_key_at(value.key, first):
                copy._indices = self._indices
        if self._referencing is not None:
            _add_references(self._referencing, value.references, len(self))
            copy._referencing = self._referencing
        return copy

    def replaced(self, values: Mapping[int, T]) -> IndexedTuple[T]:
        """A copy with other values at these indices. Raises IndexError."""
        if not values:
            return self
        items = list(self)
        for index, value in values.items():
            if index < 0:
                raise IndexError(f"index {index} is negative")
            items[index] = value
        copy = IndexedTuple(items)
        if all(self[index].key == value.key for index, value in values.items()):
            copy._indices = self._indices
        if self._referencing is not None and all(
            self[index].references == value.references for index, value in values.items()
        ):
            copy._referencing = self._referencing
        return copy

    def _has_key_at(self, key: str, index: int) -> bool:
        return index < len(self) and self[index].key == key

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        (item,) = get_args(source)
        items = core_schema.tuple_schema([handler.generate_schema(item)], variadic_item_index=0)

        def validated(value: object, check: core_schema.ValidatorFunctionWrapHandler) -> IndexedTuple[T]:
            return value if isinstance(value, IndexedTuple) else IndexedTuple(check(value))

        return core_schema.no_info_wrap_validator_function(validated, items)


def _add_references(referencing: dict[str, set[int]], references: tuple[str, ...], index: int) -> None:
    for name in references:
        referencing.setdefault(name, set()).add(index)
