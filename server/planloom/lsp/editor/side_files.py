"""Files in `.planloom/` that are shown beside a message: what is too long for it, or is edited before an answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pygls.capabilities import get_capability

from planloom.domain.values import PlanId, Uri
from planloom.lsp.editor.capabilities import can_serve
from planloom.workspace.paths.uris import display_name
from planloom.workspace.scratch_files import (
    FOLDER,
    read_scratch_file,
    remove_scratch_file,
    scratch_files,
    write_scratch_file,
)

if TYPE_CHECKING:
    from planloom.lsp.editor.capabilities import Client
    from planloom.lsp.transport.codec import PlanloomProtocol
    from planloom.workspace.view import WorkspaceView


class SideFiles:
    """Writes, shows, reads and removes these files. `can_show`: the client shows documents; `can_serve`: those that the
    server serves, too.
    """

    def __init__(self, protocol: PlanloomProtocol, client: Client, view: WorkspaceView) -> None:
        self._protocol = protocol
        self._view = view
        self.can_show = bool(get_capability(client.capabilities, "window.show_document.support", False))
        self.can_serve = can_serve(client.capabilities)

    async def write(self, near: Uri, name: str, text: str) -> Uri | None:
        """Write a file in the folder that holds `near`, else in the first; None if that is not possible."""
        folders = self._view.roots.folders
        root = next((each for each in folders if near.startswith(f"{each.uri}/")), None) or next(
            iter(folders), None
        )
        return None if root is None else await asyncio.to_thread(write_scratch_file, root, name, text)

    async def write_for(
        self, plan_id: PlanId, about: str, near: Uri, name: str, ending: str, text: str
    ) -> Uri | None:
        """Like `write`, for a question of a plan about something with an id; `remove` finds it by the plan's."""
        return await self.write(near, f"{name}{_part_of(plan_id)}{about[:8]}{ending}", text)

    async def remove(self, plan_id: PlanId) -> None:
        """Remove what was written for the questions of a plan; what is typed there and not saved, the editor has."""
        for root in self._view.roots.folders:
            for uri in await asyncio.to_thread(scratch_files, root, _part_of(plan_id)):
                await asyncio.to_thread(remove_scratch_file, uri)

    async def show(self, uri: Uri) -> bool:
        """Show a document; False if the client does not. Raises ClientGone."""
        return self.can_show and await self._protocol.show_document(uri)

    async def read(self, uri: Uri) -> str | None:
        """The text of a file as the user left it: from its buffer, or saved and closed."""
        document = self._view.documents.get(uri)
        return document.text if document is not None else await asyncio.to_thread(read_scratch_file, uri)


def place_of(uri: Uri) -> str:
    """The path of such a file for a message."""
    return f"{FOLDER}/{display_name(uri)}"


def _part_of(plan_id: PlanId) -> str:
    return f"-{plan_id[:8]}-"
