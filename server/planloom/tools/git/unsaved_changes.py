"""Finds the files whose text on disk differs from the step's view: staged changes, and unsaved text in the editor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from planloom.domain.text.diff import unified
from planloom.domain.text.positions import differ_only_in_eol, with_eol
from planloom.tools.candidates import changed_uris
from planloom.tools.context import ToolContext
from planloom.workspace.paths.resolver import ResolvedPath
from planloom.workspace.paths.uris import is_at_or_below


class UnsavedChange(NamedTuple):
    """A file whose text differs from the disk. The texts end their lines with LF; None means that there is no file."""

    path: str
    saved: str | None
    now: str | None
    secret: bool

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty for a file that may hold secrets."""
        return "" if self.secret else unified(self.saved, self.now, f"a/{self.path}", f"b/{self.path}")


async def unsaved_changes(context: ToolContext, below: ResolvedPath) -> AsyncIterator[UnsavedChange]:
    """The files at or below a place whose text is not on disk as the step sees it."""
    view = context.files.view
    for uri in changed_uris(context.files):
        if not is_at_or_below(uri, below.uri):
            continue
        place = await context.resolve_uri(uri)
        if not isinstance(place, ResolvedPath):
            continue
        now, saved = (await context.files.peek(uri)).text, await view.saved_text(uri)
        if now is None and saved is None:
            continue
        if now is not None and saved is not None and differ_only_in_eol(now, saved):
            continue
        secret = await context.holds_secret(uri)
        old, new = (None if text is None else with_eol(text, "\n") for text in (saved, now))
        yield UnsavedChange(place.relative, old, new, secret)
