"""Loads the templates that ship: one JSON file per template, beside this module."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from planloom.domain.plans.templates import Template

_NAMES = ("python_package", "typescript_package", "add_tests", "rename_across_files", "write_docs")
_FOLDER = Path(__file__).parent


@cache
def builtin_templates() -> tuple[Template, ...]:
    """The templates that ship, in the order in which they are listed."""
    return tuple(Template.model_validate_json((_FOLDER / f"{name}.json").read_bytes()) for name in _NAMES)
