"""Finds a wire model by its name in the catalogue of methods."""

from __future__ import annotations

from planloom.lsp.wire import base as wire_base
from planloom.lsp.wire import params as wire_params
from planloom.lsp.wire import plan as wire_plan
from planloom.lsp.wire import results as wire_results
from planloom.lsp.wire.base import Wire

_MODULES = (wire_params, wire_results, wire_plan, wire_base)


def model(name: str) -> type[Wire]:
    """The model of this name. Raises LookupError if there is none."""
    for module in _MODULES:
        found = getattr(module, name, None)
        if isinstance(found, type) and issubclass(found, Wire):
            return found
    raise LookupError(name)
