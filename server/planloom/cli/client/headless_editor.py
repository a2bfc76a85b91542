"""The editor that the command line stands in for: it answers what a server asks of an editor."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from planloom.cli.client.connection import Handler
from planloom.cli.client.messages import Json

if TYPE_CHECKING:
    from planloom.cli.client.disk import Change

Level = Literal["error", "warning", "info", "log"]
_LEVELS: dict[int, Level] = {1: "error", 2: "warning", 3: "info"}
_ENCODINGS = ("utf-32", "utf-8", "utf-16")
"""The order of preference: Python counts in code points itself."""


class HeadlessEditor:
    """An editor with no open documents: an edit goes to the disk at once, so everything is always saved.

    `changes` collects what was done, in order. `say` is told what a person should read.
    """

    def __init__(self, folders: Sequence[Path], say: Callable[[Level, str], None]) -> None:
        self._folders = tuple(folders)
        self._say = say
        self._encoding = "utf-16"
        self.changes: list[Change] = []

    def initialize_params(self, version: str) -> Json:
        """What this editor says of itself in `initialize`."""
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
                    "workspaceEdit": {
                        "documentChanges": True,
                        "resourceOperations": ["create", "rename", "delete"],
                        "failureHandling": "transactional",
                    },
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
                },
            },
        }

    def initialized(self, result: Json) -> None:
        """Take over what the server chose."""
        capabilities = result.get("capabilities") or {}
        self._encoding = capabilities.get("positionEncoding") or "utf-16"

    def handlers(self) -> dict[str, Handler]:
        """The answers to all that the protocol lets a server ask of an editor."""
        return {
            "workspace/applyEdit": self._apply_edit,
            "workspace/configuration": self._configuration,
            "workspace/workspaceFolders": lambda _: self._workspace_folders(),
            "planloom/editor/save": lambda params: {"saved": list(params.get("uris") or []), "failed": []},
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
        # The text model is needed only once something is to be written.
        from planloom.cli.client.disk import Refused, apply_workspace_edit
        from planloom.domain.text.positions import Encoding

        outcome = apply_workspace_edit(
            params.get("edit") or {}, self._folders, cast(Encoding, self._encoding)
        )
        if isinstance(outcome, Refused):
            return {"applied": False, "failureReason": outcome.reason, "failedChange": outcome.failed}
        self.changes += outcome.changes
        return {"applied": True}

    def _configuration(self, params: Json) -> list[Any]:
        # What the person has set reaches the server by its command line, its environment and its own file.
        return [None for _ in params.get("items") or []]

    def _show_message(self, params: Json) -> None:
        self._say(_LEVELS.get(params.get("type", 3), "log"), str(params.get("message", "")))

    def _workspace_folders(self) -> list[Json]:
        return [{"uri": folder.as_uri(), "name": folder.name} for folder in self._folders]


def _nothing(_: Any) -> None:
    """Taken note of; there is nothing here to do it with."""
