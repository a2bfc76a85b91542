"""The declarations of an editor extension in `initialize`."""

from __future__ import annotations

from typing import Any, NamedTuple

_QUESTIONS = (
    ("review", "events"),
    ("pause", "events"),
    ("approval", "approvals"),
    ("conflict", "conflicts"),
    ("recovery", "recovery"),
    ("answer", "clarifications"),
)
"""The kinds of what calls for the user (`view/states.py`), with what an extension declares if it asks about that."""


class ClientExtensions(NamedTuple):
    """The features that the editor's extension supports beyond LSP: `initializationOptions.planloomClient`."""

    events: bool = False
    views: bool = False
    approvals: bool = False
    clarifications: bool = False
    recovery: bool = False
    conflicts: bool = False
    diagnostics: bool = False
    language: bool = False
    language_model: bool = False
    diff: bool = False
    save: bool = False
    create_contents: bool = False
    create_folder: bool = False
    files: bool = False
    messages: bool = False
    changes_first: bool = False
    trusted: bool = True

    @property
    def left_questions(self) -> frozenset[str]:
        """The kinds of what calls for the user that the extension does not ask about."""
        return frozenset(kind for kind, field in _QUESTIONS if not getattr(self, field))


def declared(options: Any) -> ClientExtensions:
    """Parse the declaration. Only `true` declares anything; `trusted` counts as true if it is left out."""
    values = options.get("planloomClient") if isinstance(options, dict) else None
    if not isinstance(values, dict):
        return ClientExtensions()
    return ClientExtensions(
        *(
            values.get(camel_case(name), default) is True
            for name, default in ClientExtensions._field_defaults.items()
        )
    )


def camel_case(name: str) -> str:
    """A field's name as it stands on the wire."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
