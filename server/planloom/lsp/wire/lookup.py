"""Finds a wire model by its name in the catalogue of methods."""

from __future__ import annotations

from importlib import import_module

from planloom.lsp.wire import base, plan, review, view
from planloom.lsp.wire.base import Wire


def model(subject: str, name: str) -> type[Wire]:
    """The model of this name: one of the subject's own, or one that several share. Raises LookupError if none is."""
    for module in (import_module(f"planloom.lsp.wire.methods.{subject}"), plan, review, view, base):
        found = vars(module).get(name)
        if isinstance(found, type) and issubclass(found, Wire):
            return found
    raise LookupError(name)
