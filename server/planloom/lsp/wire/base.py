"""What all models of the wire share: camelCase names, exact types, and how an absent value is written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Self, TypeVar

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, Strict
from pydantic.alias_generators import to_camel

T = TypeVar("T")


def _absent(value: object) -> bool:
    return value is None


def _none_if_empty(value: Sequence[object] | None) -> Sequence[object] | None:
    return value or None


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


Int = Annotated[int, Strict()]
Bool = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=0)]
Maybe = Annotated[T | None, Field(exclude_if=_absent)]
"""A field that is left out where it has no value; a plain `T | None` is written as null."""
MaybeMany = Annotated[tuple[T, ...] | None, BeforeValidator(_none_if_empty), Field(exclude_if=_absent)]
"""A list that is left out where it is empty."""
Time = Annotated[datetime, AwareDatetime, PlainSerializer(_written, return_type=str)]
"""A moment as RFC 3339, in UTC, marked Z."""


class Wire(BaseModel):
    """A value as it stands on the wire. A field that is not known is passed over, as clients do too."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, extra="ignore"
    )

    @classmethod
    def of(cls, value: object, **computed: object) -> Self:
        """This value built from one of the domain: each field from the attribute of its name.

        `computed` holds the fields that the domain's value lacks or says otherwise. Nested values are built alike.
        """
        source = _Computed(value, computed) if computed else value
        return cls.model_validate(source, from_attributes=True, by_name=True, by_alias=False)

    def json_value(self) -> dict[str, Any]:
        """The same as plain JSON."""
        return self.model_dump(mode="json", by_alias=True)


class _Computed:
    """A value of the domain with some attributes added or replaced."""

    def __init__(self, value: object, computed: dict[str, object]) -> None:
        self._value = value
        self.__dict__.update(computed)

    def __getattr__(self, name: str) -> object:
        return getattr(self._value, name)


class Closed(Wire):
    """A value in which an unknown field is a mistake: passing over it would lose what was meant."""

    model_config = ConfigDict(extra="forbid")


class Empty(Wire):
    """An object that says nothing."""


class Position(Wire):
    """A place in a text, in units of the negotiated encoding."""

    line: Count
    character: Count


class Range(Wire):
    """A half-open stretch of text."""

    start: Position
    end: Position
