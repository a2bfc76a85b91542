"""Makes the classes of lsprotocol when they are first used, since a connection uses few of them.

The problem: `lsprotocol.types` has some 550 attrs classes. For each of them attrs writes the source of `__init__`,
`__eq__` and so on and compiles it, which is more than half of a pygls server's start and a third of its memory.

The trick: while that module is imported, `attrs.define` leaves its classes as they are written. A class is finished in
place when somebody makes an instance or asks for its fields (`__attrs_attrs__`, which `attrs.fields`, `attrs.has` and
cattrs read). It gets what attrs always makes, but for `__slots__`: a class with slots would be another object than the
one that the module and its annotations name.

Where lsprotocol is imported already, or defines its classes in another way, everything works as without this module but
starts more slowly. `lsp/server.py` uses it, and `python -m bench startup` measures it.
"""

from __future__ import annotations

import sys
from threading import RLock
from typing import Any

import attrs
import cattrs

MODULE = "lsprotocol.types"
_FIELDS = "__attrs_attrs__"
_define = attrs.define
_finishing = RLock()


def load() -> None:
    """Import `lsprotocol.types` with its classes deferred. Does nothing if it is imported already."""
    if MODULE in sys.modules:
        return
    vars(attrs)["define"] = _defer
    try:
        from lsprotocol import types  # noqa: F401
    finally:
        vars(attrs)["define"] = _define


def converter() -> cattrs.Converter:
    """The cattrs converter of lsprotocol."""
    from lsprotocol import _hooks, converters, types

    if any(map(is_deferred, vars(types).values())):
        # Else it would finish every class, to resolve the names in its annotations. `_finish` does that.
        vars(_hooks)["_resolved_forward_references"] = True
    return converters.get_converter()


def is_deferred(thing: object) -> bool:
    """Whether this is a class that has yet to be finished."""
    return isinstance(thing, type) and isinstance(vars(thing).get(_FIELDS), _Fields)


def _defer(cls: Any = None, **options: Any) -> Any:
    """In place of `attrs.define`: what is not a plain class of lsprotocol is made at once."""
    if cls is None or options or cls.__module__ != MODULE or "__init__" in vars(cls):
        return _define(cls, **options)

    def first_init(self: Any, *args: Any, **kwargs: Any) -> None:
        _finish(cls)
        self.__init__(*args, **kwargs)

    cls.__init__ = first_init
    setattr(cls, _FIELDS, _Fields(cls))
    return cls


class _Fields:
    """Stands for the fields of a class until somebody asks for them."""

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __get__(self, instance: object, owner: type) -> Any:
        _finish(self._cls)
        return getattr(self._cls, _FIELDS)


def _finish(cls: type) -> None:
    with _finishing:
        if is_deferred(cls):
            delattr(cls, "__init__")
            delattr(cls, _FIELDS)
            _define(cls, slots=False)
            attrs.resolve_types(cls, vars(sys.modules[MODULE]), {})
