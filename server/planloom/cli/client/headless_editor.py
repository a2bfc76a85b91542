"""Answers the server's requests in place of an editor."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from planloom.cli.client.messages import Json
from planloom.cli.client.rpc import Handler

if TYPE_CHECKING:
    from planloom.cli.client.disk import Change

Level = Literal["error", "warning", "info", "log"]
_LEVELS: dict[int, Level] = {1: "error", 2: "warning", 3: "info"}
_ENCODINGS = ("utf-32", "utf-8", "utf-16")
"""In order of preference: Python strings are indexed by code points, as utf-32 positions are."""
WORKSPACE_EDIT: Final = {
    "documentChanges": True,
    "resourceOperations": ["create", "rename", "delete"],
    "failureHandling": "transactional",
}
"""The client capability `workspace.workspaceEdit` of an editor that carries out whole edits or nothing."""


class HeadlessEditor:
    """An editor without open documents: it writes every edit to disk at once, so everything is always saved.

    `changes` collects the changes in order. `say` is called with each message for the user.
    """

    def __init__(
        self, folders: Sequence[Path], say: Callable[[Level, str], None], *, trusted: bool = False
    ) -> None:
        self._folders = tuple(folders)
        self._trusted = trusted
        self._say = say
        self._encoding = "utf-16"
        self.changes: list[Change] = []

    def initialize_params(self, version: str) -> Json:
        """The params of `initialize`."""
        return {
            "processId": os.getpid(),
            "clientInfo": {"name": "planloom run", "version": version},
            "rootUri": self._workspace_folders()[0]["uri"] if self._folders else None,
            "workspaceFolders": self._workspace_folders(),
            "capabilities": {
                "general": {"positionEncodings": list(_ENCODINGS)},
                "window": {"showMessage": {}},
                "workspace": {
                    "applyEdit": True,
                    "workspaceFolders": True,
                    "workspaceEdit": WORKSPACE_EDIT,
                },
            },
            "initializationOptions": {
                "planloomClient": {
                    "events": True,
                    "approvals": True,
                    "clarifications": True,
                    "recovery": True,
                    "conflicts": True,
                    "save": True,
                    "createContents": True,
                    "createFolder": True,
                    "trusted": self._trusted,
                },
            },
        }

    def initialized(self, result: Json) -> None:
        """Use the position encoding that the server chose."""
        capabilities = result.get("capabilities") or {}
        self._encoding = capabilities.get("positionEncoding") or "utf-16"

    def handlers(self) -> dict[str, Handler]:
        """A handler for each request and notification that the server may send to an editor."""
        return {
            "workspace/applyEdit": self._apply_edit,
            "workspace/configuration": self._configuration,
            "workspace/workspaceFolders": lambda _: self._workspace_folders(),
            "planloom/editor/save": lambda params: {"saved": list(params.get("uris") or []), "failed": []},
            "planloom/editor/createFolder": self._create_folder,
            "planloom/editor/diagnostics": lambda _: {"diagnostics": []},
            "window/showMessage": self._show_message,
            "window/showMessageRequest": self._show_message,
            "window/showDocument": lambda _: {"success": False},
            "window/workDoneProgress/create": _nothing,
            "window/logMessage": _nothing,
            "client/registerCapability": _nothing,
            "client/unregisterCapability": _nothing,
            "workspace/codeLens/refresh": _nothing,
            "workspace/diagnostic/refresh": _nothing,
            "textDocument/publishDiagnostics": _nothing,
            "$/progress": _nothing,
            "$/logTrace": _nothing,
        }

    def _apply_edit(self, params: Json) -> Json:
        # Imported here, since many runs apply no edit.
        from planloom.cli.client.disk import Refused, apply_workspace_edit
        from planloom.domain.text.positions import Encoding

        outcome = apply_workspace_edit(
            params.get("edit") or {}, self._folders, cast(Encoding, self._encoding)
        )
        if isinstance(outcome, Refused):
            return {"applied": False, "failureReason": outcome.reason, "failedChange": outcome.failed}
        self.changes += outcome.changes
        return {"applied": True}

    def _create_folder(self, params: Json) -> Json:
        from planloom.cli.client.disk import create_folder

        refused = create_folder(str(params.get("uri", "")), self._folders)
        return {"created": True} if refused is None else {"created": False, "reason": refused}

    def _configuration(self, params: Json) -> list[Any]:
        # The user's settings reach the server by its command line, environment and configuration file.
        return [None for _ in params.get("items") or []]

    def _show_message(self, params: Json) -> None:
        self._say(_LEVELS.get(params.get("type", 3), "log"), str(params.get("message", "")))

    def _workspace_folders(self) -> list[Json]:
        return [{"uri": folder.as_uri(), "name": folder.name} for folder in self._folders]


def _nothing(_: Any) -> None:
    """Answer null and do nothing."""
