"""The message of every event: the declared one, or one that is derived from the event.

An event's own fields may stand on the wire because the ledgers of users fix their names already. The values in them
(steps, approvals, files of edits) are replaced by the wire models of the same names.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, NewType, Union, get_args, get_origin

from pydantic import BaseModel, Field, create_model

from planloom.domain.events import catalog
from planloom.domain.values import Args, Value
from planloom.lsp.wire import declared_events, plan, review
from planloom.lsp.wire.base import Bool, Int, Maybe, MaybeMany, Wire
from planloom.lsp.wire.declared_events import OfEdit, OfPlan, OfStep

# mypy takes a parameter of an alias for a type, which is known here only at run time.
_MAYBE: Final[Any] = Maybe
_MAYBE_MANY: Final[Any] = MaybeMany
_SIMPLE: Final[Mapping[Any, Any]] = {str: str, bool: Bool, int: Int, Args: Args}


def message_of(event: type[Value]) -> type[OfPlan]:
    """The message with the fields of this event. Raises TypeError if a field has no form on the wire.

    A field whose default is None, or a list whose default is empty, is left out of the message when it has that value.
    """
    event_type = type_of(event)
    base = _base(event)
    fields: dict[str, Any] = {"type": (Literal[event_type], event_type)}
    for name, field in event.model_fields.items():
        if name in fields or name in base.model_fields:
            continue
        form = _form(field.annotation)
        if field.default is None:
            fields[name] = (_MAYBE[form], None)
        elif field.default == ():
            fields[name] = (_MAYBE_MANY[get_args(form)[0]], None)
        else:
            fields[name] = (form, ...)
    return create_model(event.__name__, __base__=base, __module__=__name__, **fields)


def type_of(event: type[BaseModel]) -> str:
    """The `type` of this event or message."""
    return str(event.model_fields["type"].default)


def _base(event: type[Value]) -> type[OfPlan]:
    fields = event.model_fields
    if fields.keys() >= OfEdit.model_fields.keys() - OfPlan.model_fields.keys():
        return OfEdit
    return OfStep if "step_id" in fields and fields["step_id"].is_required() else OfPlan


def _form(kind: Any) -> Any:
    """The wire's form of a type of the domain."""
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if isinstance(kind, NewType):
        return _form(kind.__supertype__)
    if isinstance(kind, type) and issubclass(kind, Value):
        return _model(kind.__name__)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return kind
    if origin is Annotated:
        return Annotated[_form(arguments[0]), *kind.__metadata__]
    if origin in (Union, types.UnionType):
        return Union[tuple(_form(each) for each in arguments if each is not type(None))]  # noqa: UP007
    if origin is tuple and arguments[1:] == (Ellipsis,):
        return types.GenericAlias(tuple, (_form(arguments[0]), ...))
    raise TypeError(f"{kind} has no form on the wire: declare the message of its event in declared_events")


def _model(name: str) -> type[Wire]:
    for module in (plan, review):
        if isinstance(found := getattr(module, name, None), type) and issubclass(found, Wire):
            return found
    raise TypeError(f"{name} has no model on the wire: declare one in plan or review")


_DECLARED: Final[Mapping[str, type[OfPlan]]] = {
    type_of(model): model
    for model in vars(declared_events).values()
    if isinstance(model, type) and issubclass(model, OfPlan) and "type" in model.model_fields
}


@cache
def message(event: type[Value]) -> type[OfPlan]:
    """The message of an event; it is derived when it is first needed, since a plan publishes few of the kinds."""
    return _DECLARED.get(type_of(event)) or message_of(event)


@cache
def messages() -> Mapping[str, type[OfPlan]]:
    """The message of every event, by the event's `type`, in the order of the catalogue."""
    union, _ = get_args(catalog.Event)
    return {type_of(event): message(event) for event in get_args(union)}


@cache
def any_event() -> Any:
    """The union of all messages."""
    return Annotated[Union[tuple(messages().values())], Field(discriminator="type")]  # noqa: UP007
