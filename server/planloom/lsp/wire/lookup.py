"""Finds a model of the wire by the name that the catalogue gives it."""

from __future__ import annotations

from planloom.lsp.wire import base as wire_base
from planloom.lsp.wire import params as wire_params
from planloom.lsp.wire import plan as wire_plan
from planloom.lsp.wire import results as wire_results
from planloom.lsp.wire.base import Wire

_ROOMS = (wire_params, wire_results, wire_plan, wire_base)


def model(name: str) -> type[Wire]:
    """The model of this name. Raises LookupError if the catalogue names one that is not there."""
    for room in _ROOMS:
        found = getattr(room, name, None)
        if isinstance(found, type) and issubclass(found, Wire):
            return found
    raise LookupError(name)
