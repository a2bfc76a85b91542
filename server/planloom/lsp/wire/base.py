"""The base of all wire models: camelCase names, strict types, and how a missing value is written."""

from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    Strict,
)
from pydantic.alias_generators import to_camel

T = TypeVar("T")


def _is_none(value: object) -> bool:
    return value is None


def _none_if_empty(value: object) -> object:
    """None for an empty list, and for zero."""
    return value or None


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


Int = Annotated[int, Strict()]
Bool = Annotated[bool, Strict()]
_MOST = 2**53 - 1
"""The largest whole number that every JSON reader keeps."""
Count = Annotated[int, Strict(), Field(ge=0, le=_MOST)]
Maybe = Annotated[T | None, Field(exclude_if=_is_none)]
"""An optional field: None is left out. A plain `T | None` is written as null."""
MaybeMany = Annotated[tuple[T, ...] | None, BeforeValidator(_none_if_empty), Field(exclude_if=_is_none)]
"""A list that is left out if it is empty."""
MaybeCount = Annotated[int | None, BeforeValidator(_none_if_empty), Field(exclude_if=_is_none)]
"""A count that is left out if it is zero."""
Limit = Annotated[int, Field(strict=True, ge=1, le=_MOST)]
Text = Annotated[str, Field(max_length=1_000_000)]
Time = Annotated[datetime, AwareDatetime, PlainSerializer(_rfc3339, return_type=str)]
"""A time as RFC 3339 in UTC, ending in Z."""
Event = Annotated[dict[str, JsonValue], Field()]
"""An event as plain JSON (see `events`). The empty `Field()` lets `codegen` tell it from any other object."""


class Wire(BaseModel):
    """A value on the wire. Unknown fields are ignored, so that a newer client can talk to an older server.

    Its validator is built when it is first used.
    """

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="ignore",
        defer_build=True,
    )

    @classmethod
    def of(cls, value: object, **computed: object) -> Self:
        """Build this model from a value of the domain: each field from the attribute of the same name.

        `computed` adds fields that the value lacks, or replaces some. Nested models are built in the same way.
        """
        source = _source(cls, value, computed) if computed else value
        return cls.model_validate(source, from_attributes=True, by_name=True, by_alias=False)

    def json_value(self) -> dict[str, Any]:
        """This model as plain JSON."""
        return self.model_dump(mode="json", by_alias=True)


def _source(model: type[Wire], value: object, computed: dict[str, object]) -> dict[str, object]:
    """The fields of a value, with some added or replaced.

    A mapping, since the library reads it many times as fast as the attributes of an object that looks them up itself.
    """
    found = dict(getattr(value, "__dict__", ()))
    kind: Any = type(value)
    for name in _declared(model, kind):
        if name not in computed:
            found[name] = getattr(value, name)
    found.update(computed)
    return found


@cache
def _declared(model: type[Wire], kind: type) -> tuple[str, ...]:
    """The fields of a model that a type of the domain has as properties or slots, so not in its instances' dicts."""
    return tuple(name for name in model.model_fields if hasattr(kind, name))


class Closed(Wire):
    """A value in which an unknown field is an error, since ignoring it would drop a part of the user's edit."""

    model_config = ConfigDict(extra="forbid")


class Empty(Wire):
    """An empty object."""


class NoParams(Wire):
    """No params."""


class Position(Wire):
    """A position in a text; `character` counts units of the negotiated encoding."""

    line: Count
    character: Count


class Range(Wire):
    """A range of text; `end` is exclusive."""

    start: Position
    end: Position
