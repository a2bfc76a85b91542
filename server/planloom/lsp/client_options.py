"""What a connection hands to whoever puts the application together, and what an editor extension declares."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from planloom.models.providers.editor_model import EditorCompletion
    from planloom.settings import Settings, Source
    from planloom.workspace.editor import Editor
    from planloom.workspace.view import WorkspaceView


class ClientExtensions(NamedTuple):
    """What the editor's extension can do beyond LSP: `initializationOptions.planloomClient`."""

    events: bool = False
    approvals: bool = False
    clarifications: bool = False
    recovery: bool = False
    conflicts: bool = False
    diagnostics: bool = False
    language_model: bool = False
    diff: bool = False
    save: bool = False
    trusted: bool = True


def declared(options: Any) -> ClientExtensions:
    """Read the declaration; whatever is not plainly true is not declared, and absent trust is trust."""
    given = options.get("planloomClient") if isinstance(options, dict) else None
    if not isinstance(given, dict):
        return ClientExtensions()
    return ClientExtensions(
        events=given.get("events") is True,
        approvals=given.get("approvals") is True,
        clarifications=given.get("clarifications") is True,
        recovery=given.get("recovery") is True,
        conflicts=given.get("conflicts") is True,
        diagnostics=given.get("diagnostics") is True,
        language_model=given.get("languageModel") is True,
        diff=given.get("diff") is True,
        save=given.get("save") is True,
        trusted=given.get("trusted", True) is True,
    )


class ApplicationContext(NamedTuple):
    """Everything an application needs of its connection. `record` names a file for the model's traffic.

    `completion` is the editor's own language model, if it declares one. `holder` tells which source's value
    of a setting holds now.
    """

    settings: Settings
    editor: Editor
    view: WorkspaceView
    declared: ClientExtensions
    completion: EditorCompletion | None = None
    log_path: Path | None = None
    storage: Path | None = None
    record: Path | None = None
    holder: Callable[[str], Source | None] = lambda _: None


MakeApplication = Callable[[ApplicationContext], Awaitable[Any]]
"""Puts the application together: the one seam between the protocol and the rest."""
