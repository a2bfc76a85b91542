"""The documents with both versions of conflicted files: shown beside the question, edited, and taken as the answer."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from planloom.domain.errors import InvalidParams, UnknownThing
from planloom.domain.events.catalog import ConflictChoice
from planloom.lsp.editor.side_files import place_of
from planloom.view.actions import RESOLVE, Button, Situation, buttons
from planloom.workspace.paths.uris import name_in, normalized

if TYPE_CHECKING:
    from planloom.domain.changes import Conflict
    from planloom.domain.plans.plan import Plan
    from planloom.domain.values import EditId, PlanId, Uri
    from planloom.lsp.editor.side_files import SideFiles
    from planloom.service.application import Application
    from planloom.view.words import Words

_MARKER: Final = "<<<<<<< yours"
_LONGEST_NAME: Final = 60


class MergedDocuments:
    """The documents that this connection has written, one for each file of a conflict."""

    def __init__(self, app: Application, files: SideFiles, words: Words) -> None:
        self._app = app
        self._files = files
        self._words = words
        self._written: dict[tuple[PlanId, EditId, Uri], Uri] = {}

    async def write(self, plan: Plan, conflict: Conflict) -> list[Uri]:
        """The documents of a conflict, each written unless it is there; none for a file of which that is not possible.

        Raises UnknownThing if the conflict does not wait any more.
        """
        for number, file in enumerate(conflict.files, start=1):
            key = plan.plan_id, conflict.edit_id, file.uri
            if key in self._written:
                continue
            both = self._app.approvals.conflict_texts(conflict.edit_id, file.uri).both
            path = PurePosixPath(name_in(file.uri, plan.workspace_folders))
            name = f"{'-'.join((*path.parts[:-1], path.stem))[-_LONGEST_NAME:]}-both"
            about = f"{conflict.edit_id[:6]}{number}"
            uri = await self._files.write_for(plan.plan_id, about, file.uri, name, path.suffix, both)
            if uri is not None:
                self._written[key] = uri
        return [uri for key, uri in self._written.items() if key[:2] == (plan.plan_id, conflict.edit_id)]

    async def choices(self, plan: Plan, conflict: Conflict) -> tuple[ConflictChoice, ...]:
        """The answer by the documents as they are. Raises InvalidParams, after it has shown one that is not edited yet,
        and what `write` raises.
        """
        await self.write(plan, conflict)
        found = []
        for file in conflict.files:
            document = self._written.get((plan.plan_id, conflict.edit_id, file.uri))
            text = None if document is None else await self._files.read(document)
            if document is None or text is None or _MARKER in text:
                place = "" if document is None else place_of(document)
                if document is not None:
                    await self._files.show(document)
                raise InvalidParams(
                    self._words("{0} has both versions: edit it, and choose this again.", place), details=[]
                )
            found.append(ConflictChoice(uri=file.uri, choice="text", text=text))
        return tuple(found)

    def offers(self, uri: str) -> list[Button]:
        """The answers to the conflict whose document this is, as long as it waits."""
        for (plan_id, edit_id, _), written in self._written.items():
            if normalized(written) == normalized(uri):
                try:
                    plan = self._app.plans.get(plan_id, None)
                except UnknownThing:
                    plan = None
                offered = () if plan is None else buttons(Situation(plan, words=self._words))
                return [each for each in offered if each.command == RESOLVE and each.arguments[1] == edit_id]
        return []
