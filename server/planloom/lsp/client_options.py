"""The declarations of an editor extension in `initialize`, and values by which a connection opens the application."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from planloom.languages.language import Languages
from planloom.mcp_servers.servers import AskProposal, McpServers
from planloom.models.kept_keys import KeptKeys, keys_file
from planloom.models.providers.editor_model import EditorCompletion
from planloom.service.application import Application
from planloom.settings import Settings, Source
from planloom.storage.decisions import FILE, Decisions
from planloom.user_folders import state_folder
from planloom.workspace.editor import Editor
from planloom.workspace.view import WorkspaceView

_FROM_USER = ("command_line", "environment", "user")
"""The sources of settings that only the user can have filled."""

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


class ApplicationContext(NamedTuple):
    """The parts of its connection that an application needs. `record` is a file to record the model's traffic in.

    `completion` is the editor's own language model, if the extension declares one. `source_of` returns the source of a
    setting's current value, or None for the default. `ask_proposal` asks the user about an MCP server that a folder
    proposes; None if nobody can be asked.
    """

    settings: Settings
    editor: Editor
    view: WorkspaceView
    declared: ClientExtensions
    completion: EditorCompletion | None = None
    log_path: Path | None = None
    storage: Path | None = None
    record: Path | None = None
    source_of: Callable[[str], Source | None] = lambda _: None
    ask_proposal: AskProposal | None = None


MakeApplication = Callable[[ApplicationContext], Awaitable[Any]]
"""Opens the application. The protocol knows the rest of the program only by this."""


async def open_application(context: ApplicationContext) -> Application:
    """Open the application with the ledger of the command line, of the settings, or of the user's state folder."""
    # A copy: the keys are taken out of the process's own environment when everything is loaded.
    environment = dict(os.environ)
    folder = context.storage or (
        Path(context.settings.storage.path) if context.settings.storage.path else state_folder()
    )
    app = await Application.open(
        context.settings,
        context.editor,
        context.view,
        storage=folder / "ledger.sqlite3",
        trusted=context.declared.trusted,
        environment=environment,
        completion=context.completion,
        record=context.record,
        decisions=Decisions(state_folder() / FILE),
        kept_keys=KeptKeys(keys_file()),
        base_url_is_users=lambda: context.source_of("model.baseUrl") in _FROM_USER,
        traces_are_users=lambda: context.source_of("storage.traces") in _FROM_USER,
        language=lambda session: Languages(session, folder / "languages"),
        external=lambda session: McpServers(session, folder / "mcp", environment, context.ask_proposal),
    )
    app.models.redact(logging.getLogger().handlers)
    return app
