"""Removes what a server that was killed in the middle of writing a file has left beside it."""

from __future__ import annotations

import asyncio

from planloom.domain.plans.plan import Plan
from planloom.domain.values import Uri
from planloom.workspace.disk_changes import remove_leftovers
from planloom.workspace.paths.resolver import PathRefused
from planloom.workspace.paths.uris import parent
from planloom.workspace.view import WorkspaceView, confined_path


async def clear_leftovers(view: WorkspaceView, plan: Plan) -> None:
    """Look into the folders of edits whose outcome was never recorded, and into no others."""
    places = {
        parent(uri)
        for edit in plan.edits
        if edit.state == "intended"
        for file in edit.files
        for uri in (file.uri, file.new_uri)
        if uri is not None
    }
    await asyncio.to_thread(_clear, view, places)


def _clear(view: WorkspaceView, places: set[Uri]) -> None:
    for place in places:
        folder = view.locate(place, "write")
        if not isinstance(folder, PathRefused):
            remove_leftovers(confined_path(folder))
