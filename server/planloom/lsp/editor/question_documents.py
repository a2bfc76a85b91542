"""The documents beside a question: the plan's own, both versions of a conflicted file, the changes to be allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planloom.domain.changes import Conflict
from planloom.domain.document.render import ANSWER_LINE
from planloom.domain.plans.plan import Plan, Question
from planloom.domain.safety.approvals import Approval
from planloom.lsp.editor.served_texts import write_changes
from planloom.lsp.editor.side_files import place_of
from planloom.view.actions import CONFLICT
from planloom.view.states import Cause

if TYPE_CHECKING:
    from planloom.domain.values import PlanId
    from planloom.lsp.editor.merged_documents import MergedDocuments
    from planloom.lsp.editor.side_files import SideFiles
    from planloom.lsp.plan_documents.shown_documents import PlanDocuments
    from planloom.lsp.transport.codec import PlanloomProtocol
    from planloom.service.application import Application
    from planloom.view.words import Words


class QuestionDocuments:
    """Shows these documents, and says where they are. `can_show`: the client shows documents."""

    def __init__(
        self,
        protocol: PlanloomProtocol,
        app: Application,
        documents: PlanDocuments,
        files: SideFiles,
        merged: MergedDocuments,
        words: Words,
    ) -> None:
        self._protocol = protocol
        self._app = app
        self._documents = documents
        self._files = files
        self._merged = merged
        self._words = words
        self.can_show = files.can_show

    async def show(self, plan: Plan, cause: Cause) -> Sequence[str]:
        """Show the documents that a question is about, until they are to be seen as they are now; lines that say where
        they are. Raises UnknownThing, ClientGone.
        """
        lines = await self._show(plan, cause)
        await self._documents.settled(plan.plan_id)
        if self.can_show:
            await self._protocol.catch_up()
        return lines

    async def _show(self, plan: Plan, cause: Cause) -> Sequence[str]:
        t = self._words
        match cause.about:
            case () if cause.kind == "review":
                uri = await self._documents.show(plan)
                if uri is not None:
                    place = place_of(uri)
                    return [
                        t("The steps are in {0}, where you can change them: save it before you start.", place)
                    ]
            case (Conflict() as conflict,):
                uris = await self._merged.write(plan, conflict)
                for uri in uris:
                    await self._files.show(uri)
                places, use = ", ".join(map(place_of, uris)), t(CONFLICT["merged"])
                if uris:
                    return [
                        t("Edit {0}, which has both versions, then choose “{1}”, here or there.", places, use)
                    ]
            case (Question(options=()),):
                uri = await self._documents.show(plan, focus=False)
                if uri is None:
                    return [self.place(plan.plan_id)]
                return [
                    t(
                        "Write the answer behind “{0}” below the step in {1}, and choose its lens or code action.",
                        ANSWER_LINE,
                        place_of(uri),
                    )
                ]
            case (Approval(files=(_, *_)) as approval,) if not self.can_show:
                uri = await write_changes(self._app, self._files, approval, t)
                if uri is not None:
                    return [t("The changes are in {0}.", place_of(uri))]
        return []

    async def show_plan(self, plan_id: PlanId) -> bool:
        """Show the document of a plan, which has its questions, unless it was shown before; whether it was not."""
        plan = self._app.plans.get(plan_id, None)
        if plan is None or self._documents.shown(plan_id) is not None:
            return False
        return await self._documents.show(plan, focus=False) is not None

    def place(self, plan_id: PlanId) -> str:
        """A sentence that says where the questions of a plan can be answered besides."""
        shown = self._documents.shown(plan_id)
        if shown is None:
            return self._words("The commands of the plan {0} answer it.", plan_id)
        return self._words("It can be answered in {0}, by its lenses or code actions.", place_of(shown.uri))
