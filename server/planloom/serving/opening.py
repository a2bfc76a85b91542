"""Opens the application of one connection, with everything that a protocol does not know of."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from planloom.domain.values import SessionId
from planloom.languages.language import Languages
from planloom.mcp_servers.entries import Entry
from planloom.mcp_servers.servers import AskProposal, McpServers
from planloom.models.kept_keys import KeptKeys, keys_file
from planloom.models.providers.editor_model import EditorCompletion
from planloom.service.application import Application
from planloom.service.extensions import NO_EXTENSIONS
from planloom.settings import Settings, Source
from planloom.storage.decisions import FILE, Decisions
from planloom.user_folders import state_folder
from planloom.workspace.editor import Editor
from planloom.workspace.view import WorkspaceView

_FROM_USER = ("command_line", "environment", "user")
"""The sources of settings that only the user can have filled."""


class ApplicationContext(NamedTuple):
    """The parts of its connection that an application needs. `record` is a file to record the model's traffic in.

    `trusted` is whether the client says that its folders are. `completion` is the editor's own language model, if the
    extension declares one. `source_of` returns the source of a setting's current value, or None for the default.
    `session_id` is that of a session which goes on. `environment` has the keys: that of the process, as it was when it
    started. `ask_proposal` asks the user about an MCP server that a folder proposes; None if nobody can be asked.
    `mcp_servers` are proposals of the client.
    """

    settings: Settings
    editor: Editor
    view: WorkspaceView
    trusted: bool = True
    completion: EditorCompletion | None = None
    log_path: Path | None = None
    storage: Path | None = None
    record: Path | None = None
    source_of: Callable[[str], Source | None] = lambda _: None
    session_id: SessionId | None = None
    environment: Mapping[str, str] = os.environ
    ask_proposal: AskProposal | None = None
    mcp_servers: tuple[Entry, ...] = ()


MakeApplication = Callable[[ApplicationContext], Awaitable[Any]]
"""Opens the application. The protocol knows the rest of the program only by this."""


async def open_application(context: ApplicationContext) -> Application:
    """Open the application with the ledger of the command line, of the settings, or of the user's state folder."""
    extensions = NO_EXTENSIONS
    if enabled := context.settings.extensions.enabled:
        # It imports code of others, and what finds that.
        from planloom.service.extension_loading import load

        # What a package prints must not get between the messages of the protocol.
        sys.stdout = sys.stderr
        extensions = await asyncio.to_thread(load, enabled)
    # A copy: the keys are taken out of the process's own environment when everything is loaded.
    environment = dict(context.environment)
    folder = context.storage or (
        Path(context.settings.storage.path) if context.settings.storage.path else state_folder()
    )
    app = await Application.open(
        context.settings,
        context.editor,
        context.view,
        storage=folder / "ledger.sqlite3",
        trusted=context.trusted,
        environment=environment,
        completion=context.completion,
        record=context.record,
        decisions=Decisions(state_folder() / FILE),
        kept_keys=KeptKeys(keys_file()),
        base_url_is_users=lambda: context.source_of("model.baseUrl") in _FROM_USER,
        traces_are_users=lambda: context.source_of("storage.traces") in _FROM_USER,
        language=lambda session: Languages(session, folder / "languages"),
        external=lambda session: McpServers(
            session, folder / "mcp", environment, context.ask_proposal, context.mcp_servers
        ),
        session_id=context.session_id,
        extensions=extensions,
    )
    app.models.redact(logging.getLogger().handlers)
    return app
