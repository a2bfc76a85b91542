"""The documents of plans: written, shown, kept up to date by small edits, and taken when the user saves them.

A document lies in `.planloom/` of the plan's first folder. While it is open its text is the editor's alone: the server
changes it by `workspace/applyEdit`, and what the user has changed and not saved stays as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lsprotocol import types

from planloom.domain.document.adoption import Adoption, adoption
from planloom.domain.document.difference import (
    Difference,
    difference,
    sign_of,
    signs_of,
    written_signs,
)
from planloom.domain.document.reader import Trouble, Written, read_document
from planloom.domain.document.render import render
from planloom.domain.document.update import taken, up_to_date
from planloom.domain.errors import (
    InvalidParams,
    InvalidPlan,
    PlanloomError,
    StorageFailed,
    UnknownThing,
    WorkspaceRequired,
)
from planloom.domain.text.diff import text_edits
from planloom.domain.text.positions import Position, TextEdit
from planloom.domain.values import PlanId, Uri
from planloom.lsp.plan_documents.diagnostics import diagnostics, refused
from planloom.lsp.plan_documents.names import ENDING, ending_of, name_of
from planloom.lsp.transport.outgoing import ClientGone, ClientRefused
from planloom.workspace.editor import TextOperation
from planloom.workspace.edits.misplaced import TextHistory, is_shown, is_taken_back
from planloom.workspace.paths.uris import display_name, normalized
from planloom.workspace.scratch_files import (
    FOLDER,
    read_scratch_file,
    rewrite_scratch_file,
    scratch_files,
    write_scratch_file,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from planloom.domain.events import catalog as ev
    from planloom.domain.plans.plan import Plan
    from planloom.execution.jobs import Jobs
    from planloom.lsp.transport.codec import PlanloomProtocol
    from planloom.service.application import Application
    from planloom.view.actions import Kept
    from planloom.view.words import Words
    from planloom.workspace.documents import Document
    from planloom.workspace.editor import Editor
    from planloom.workspace.view import WorkspaceView

logger = logging.getLogger(__name__)

ADOPT: Final = "Adopt as a new plan"
ADOPTABLE: Final = "It is connected to no plan here. “Adopt as a new plan” makes one of it, for review."
MOVED_ON: Final = (
    "The plan has moved on since this text was written. Until you choose one of the two, by the lenses or code actions "
    "on the title, the text is neither taken nor brought up to date."
)
_SECONDS: Final = 0.1
"""The least time between two updates of a document, and between a keystroke and the diagnostics that follow it."""
_ANSWER_SECONDS: Final = 10.0
_OFFER_SECONDS: Final = 30.0
_TRIES: Final = 20
"""How often one change of a plan is tried to be written while the user types."""


class Shown(NamedTuple):
    """A document that shows a plan: the plan as it stands in the text, but for what the user has changed there.

    `earlier` is all that the server has written into it (`signs_of`), which an undo of the editor may bring back.
    `moved_on`: the text was written for an older version of the plan and differs from the plan; it is neither taken
    nor brought up to date until the user chooses one of the two.
    """

    uri: Uri
    plan: Plan
    earlier: frozenset[str]
    moved_on: bool = False

    def showing(self, plan: Plan) -> Shown:
        """The document when it shows another plan, or the plan in another state."""
        return Shown(self.uri, plan, self.earlier | signs_of(plan))

    def writing(self, plan: Plan) -> Shown:
        """The document when a text that shows a plan is about to be written into it, and may come to stand there."""
        return self._replace(earlier=self.earlier | signs_of(plan))


class DocumentAbilities(NamedTuple):
    """The client's abilities with a document: to show it, take changes of one version of it, ask for its lenses anew.

    `asks_by_message`: the user is asked by messages what plans want to know, in the language of `words`.
    """

    show: bool
    document_changes: bool
    refresh_lenses: Callable[[], Awaitable[None]]
    asks_by_message: bool
    words: Words


class PlanDocuments:
    """The documents of plans that this connection has shown or found open, by the id of the plan."""

    def __init__(
        self,
        protocol: PlanloomProtocol,
        app: Application,
        view: WorkspaceView,
        jobs: Jobs,
        can: DocumentAbilities,
        editor: Editor,
    ) -> None:
        self._protocol = protocol
        self._app = app
        self._view = view
        self._jobs = jobs
        self._can = can
        self._editor = editor
        self._shown: dict[PlanId, Shown] = {}
        self._saved: set[PlanId] = set()
        self._behind: set[PlanId] = set()
        self._elsewhere: set[PlanId] = set()
        self._offered: set[Uri] = set()
        view.documents.listen(self._on_text)
        view.documents.is_own = self._is_own
        # Some editors open a document before the application is ready.
        for document in view.documents.all():
            self._on_text(document.uri)

    def of(self, uri: str) -> Shown | None:
        """The document at a URI, if it is one of a plan."""
        return next((each for each in self._shown.values() if normalized(each.uri) == normalized(uri)), None)

    def _is_own(self, uri: Uri) -> bool:
        return f"/{FOLDER}/" in uri or self.of(uri) is not None

    def shown(self, plan_id: PlanId) -> Shown | None:
        """The document of a plan, if it has one that this connection knows."""
        return self._shown.get(plan_id)

    async def find(self, uri: str) -> Shown | None:
        """Like `of`, after a document that has just been opened was looked at."""
        await self._jobs.join(f"plan-document-opened:{normalized(uri)}")
        shown = self.of(uri)
        return None if shown is None or self._plan(shown.plan.plan_id) is None else shown

    async def show(self, plan: Plan, *, focus: bool = True) -> Uri | None:
        """Write the document of a plan if there is none, and show it. Returns its URI, None if it cannot be written."""
        uri = await self.write(plan)
        if uri is not None and self._can.show:
            with contextlib.suppress(ClientGone):
                await self._protocol.show_document(uri, focus=focus)
        return uri

    async def address(self, plan: Plan) -> Uri:
        """The URI of the plan's document as the editor spells it, which is written unless it is there.

        Raises WorkspaceRequired, StorageFailed.
        """
        uri = await self.write(plan)
        if uri is not None:
            return Uri(self._view.documents.spelling(uri))
        if not self._view.roots.folders:
            raise WorkspaceRequired("Open a folder first: the document of a plan lies in it.")
        raise StorageFailed(f"The document of the plan cannot be written into {FOLDER}.")

    async def write(self, plan: Plan) -> Uri | None:
        """The URI of the plan's document, which is written unless it is there; None if that is not possible."""
        known = self._shown.get(plan.plan_id)
        if known is not None:
            return known.uri
        if kept := await self._kept(plan):
            await self._show_again(plan, *kept)
            return kept[0]
        root = next(iter(self._view.roots.folders), None)
        if root is None:
            return None
        uri = await asyncio.to_thread(write_scratch_file, root, name_of(plan), render(plan))
        if uri is not None:
            self._shown[plan.plan_id] = Shown(uri, plan, signs_of(plan))
        return uri

    def on_event(self, recorded: ev.Recorded, _: Plan) -> None:
        """Bring the document of a plan up to date soon after something has happened."""
        if recorded.plan_id in self._shown:
            self._follow(recorded.plan_id)
        if recorded.plan_id in self._elsewhere:
            # This server runs it by now.
            self._elsewhere.discard(recorded.plan_id)
            self._jobs.start(f"plan-document-check:{recorded.plan_id}", self._check(recorded.plan_id))

    async def take(self, plan_id: PlanId, version: int) -> int:
        """Make edits of the plan of what the user has changed in its document and perhaps not saved yet.

        Returns the version on which a command on this document acts, which was asked of `version`: that of the plan as
        the user sees it. Raises InvalidPlan if the document has errors, and what `plans.edit` raises.
        """
        before = self._app.plans.get(plan_id, None)
        if not await self._take(plan_id):
            raise InvalidPlan("The document of the plan has errors, which are marked in it.", ())
        after = self._app.plans.get(plan_id, None)
        return after.version if before and after and before.version == version else version

    async def settled(self, plan_id: PlanId) -> None:
        """Wait until what the server itself writes into a document is known to be there, and is not the user's."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ANSWER_SECONDS):
                await self._jobs.join(f"plan-document:{plan_id}")

    async def text(self, plan_id: PlanId) -> str | None:
        """The text of a plan's document as it stands, saved or not; None if the plan has none."""
        shown = self._shown.get(plan_id)
        return None if shown is None else await self._text(shown.uri)

    async def rewrite(self, plan_id: PlanId, change: Callable[[str], str]) -> None:
        """Change the text of a plan's document, unless the editor takes no edit of it."""
        for _ in range(_TRIES):
            await self.settled(plan_id)
            shown, text = self._shown.get(plan_id), await self.text(plan_id)
            if shown is None or text is None or await self._write_over(shown.uri, text, change(text)):
                return

    async def _take(self, plan_id: PlanId) -> bool:
        """Like `take`; what cannot be read or done is shown as diagnostics, and then the answer is False."""
        await self.settled(plan_id)
        shown = self._shown.get(plan_id)
        text = None if shown is None else await self._text(shown.uri)
        plan = self._plan(plan_id)
        if shown is None or text is None or plan is None:
            return True
        shown = self._standing(plan, shown, text, tell=False)
        written, found = _changes(shown, text, plan)
        if shown.moved_on and found.changes:
            raise InvalidPlan(self._can.words(MOVED_ON), ())
        troubles = self._troubles(plan, written, found)
        self._publish(shown.uri, written, troubles, self._said(shown))
        if troubles or not found.changes:
            return not troubles
        changed = await self._app.plans.edit(plan_id, plan.version, found.edits, found.words)
        self._shown[plan_id] = shown.showing(changed)
        if not await self._write_over(shown.uri, text, taken(text, found.ids, changed, shown.earlier)):
            self._follow(plan_id)
        return True

    def _troubles(self, plan: Plan, written: Written, found: Difference) -> list[Trouble]:
        """The troubles of a document: what cannot be read or, if all can, what the plan cannot become."""
        troubles = [*written.troubles, *found.troubles]
        if found.changes and not troubles:
            problems = self._app.plans.problems_of(plan, found.edits)
            troubles += refused(problems, written, found)
        return troubles

    def _on_text(self, uri: Uri) -> None:
        """A document was opened, changed, saved or closed."""
        if not uri.endswith(ENDING):
            return
        shown = self.of(uri)
        if shown is None:
            self._jobs.start(f"plan-document-opened:{uri}", self._recognize(uri))
            return
        document = self._view.documents.get(uri)
        if document is not None and not document.dirty:
            self._saved.add(shown.plan.plan_id)
            self._jobs.start("plan-documents-saved", self._take_saved())
        elif document is not None:
            self._jobs.start(f"plan-document-check:{uri}", self._check(shown.plan.plan_id))

    async def _recognize(self, uri: Uri) -> None:
        """Show the plan of a document that an earlier server wrote; offer any other as a new plan."""
        text = await self._text(uri)
        if text is None:
            self._withdraw(uri)
            return
        written = read_document(text)
        plan_id = PlanId(written.head.get("plan", ""))
        plan = self._plan(plan_id)
        if plan is None or not await self._is_of(plan, uri):
            self._offer(uri, text)
            return
        await self._show_again(plan, uri, text)
        await self._tell_of_other(plan_id)

    async def _show_again(self, plan: Plan, uri: Uri, text: str) -> None:
        """Show a plan in the document that an earlier server wrote for it, perhaps for an older version."""
        written = read_document(text)
        shown = Shown(uri, plan, signs_of(plan) | written_signs(written))
        moved_on = _is_older(written, plan) and _changes(shown, text, plan)[1].changes
        self._shown[plan.plan_id] = shown._replace(moved_on=moved_on)
        await asyncio.wait({self._follow(plan.plan_id)})
        if moved_on:
            self._tell(uri, MOVED_ON)
            await self._check(plan.plan_id)

    def _standing(self, plan: Plan, shown: Shown, text: str, *, tell: bool = True) -> Shown:
        """The document with this text: moved on, if a checkout has brought in that of an older version.

        With `tell` a message says so.
        """
        if shown.moved_on:
            return shown
        written = read_document(text)
        version = sign_of("", "version", written.head.get("version", ""))
        if version in shown.earlier or not _is_older(written, shown.plan):
            return shown
        older = shown._replace(earlier=shown.earlier | written_signs(written), moved_on=True)
        if not _changes(older, text, plan)[1].changes:
            return shown
        self._shown[plan.plan_id] = older
        if tell:
            self._tell(shown.uri, MOVED_ON)
        return older

    async def choose(self, plan_id: PlanId, keep: Kept) -> Plan:
        """Keep the text of a document whose plan has moved on, as edits of the plan, or the plan as it is.

        Raises InvalidParams for any other document, InvalidPlan if the text has errors, and what `plans.edit` raises.
        """
        shown, text = self._shown.get(plan_id), await self.text(plan_id)
        plan = self._app.plans.get(plan_id, None)
        if shown is None or text is None or plan is None or not shown.moved_on:
            raise InvalidParams("The document says what the plan says.", details=[])
        self._shown[plan_id] = shown.showing(plan)
        if keep == "text":
            await self.take(plan_id, plan.version)
        else:
            ids = _changes(shown, text, plan)[1].ids
            await self.rewrite(plan_id, lambda each: taken(each, ids, plan, shown.earlier))
        self._follow(plan_id)
        await self._check(plan_id)
        return self._plan(plan_id) or plan

    def _plan(self, plan_id: PlanId) -> Plan | None:
        """A plan; None if the ledger has none of this id, or it was deleted, so that its document shows none."""
        try:
            return self._app.plans.get(plan_id, None)
        except UnknownThing:
            self._shown.pop(plan_id, None)
            return None

    async def _is_of(self, plan: Plan, uri: Uri) -> bool:
        """Whether a document that names a plan is the plan's own: no copy beside the one that the server keeps."""
        known = self._shown.get(plan.plan_id)
        if known is not None:
            return normalized(known.uri) == uri or await self._text(known.uri) is None
        if f"/{FOLDER}/" in uri:
            return True
        return await self._kept(plan) is None

    async def _kept(self, plan: Plan) -> tuple[Uri, str] | None:
        """The document that this or an earlier server has written for a plan, with its text; None without one."""
        root = next(iter(self._view.roots.folders), None)
        for uri in () if root is None else await asyncio.to_thread(scratch_files, root, ending_of(plan)):
            text = await self._text(uri)
            if text is not None and read_document(text).head.get("plan") == plan.plan_id:
                return uri, text
        return None

    def _offer(self, uri: Uri, text: str) -> None:
        """Say that a document can be adopted as a new plan, and what keeps it from being one."""
        found = adoption(text)
        if found is None:
            self._withdraw(uri)
            return
        self._publish(uri, found.written, self._troubles_of_new(found), self._can.words(ADOPTABLE))
        if uri not in self._offered:
            self._offered.add(uri)
            self._jobs.start(f"plan-document-offer:{uri}", self._ask_to_adopt(uri))

    async def _ask_to_adopt(self, uri: Uri) -> None:
        adopt = self._can.words(ADOPT)
        text = f"Planloom: {display_name(uri)}: {self._can.words(ADOPTABLE)}"
        try:
            # Questions of plans wait for this message, and the document has a lens for it.
            async with asyncio.timeout(_OFFER_SECONDS if self._can.asks_by_message else None):
                chosen = await self._protocol.ask_by_message("info", text, [adopt])
            if chosen == adopt:
                await self._adopt(uri)
        except TimeoutError:
            logger.info("The message about %s was taken back", uri)
        except ClientRefused:
            self._protocol.show_message("info", text)
        except ClientGone:
            logger.info("The client disconnected before it answered")
        except PlanloomError as error:
            self._protocol.show_message("warning", f"Planloom: {error.message}")

    def _withdraw(self, uri: Uri) -> None:
        """Take back what was said of a document that was closed, or is none of a plan any more."""
        if uri in self._offered:
            self._offered.discard(uri)
            self._jobs.cancel(f"plan-document-offer:{uri}")
            self._protocol.notify(
                types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS,
                {"uri": self._view.documents.spelling(uri), "diagnostics": []},
            )

    async def adopt(self, uri: str) -> Plan:
        """Make a new plan under review of a document that shows none; the document becomes that plan's.

        Raises InvalidParams for a document that is not open, is no plan's or shows one, InvalidPlan if it has errors,
        and what `plans.adopt` raises.
        """
        self._jobs.cancel(f"plan-document-offer:{normalized(uri)}")
        return await self._adopt(uri)

    async def _adopt(self, uri: str) -> Plan:
        document = self._view.documents.get(uri)
        shown = await self.find(uri)
        found = None if document is None or shown is not None else adoption(document.text)
        if document is None or found is None:
            problem = "it is not open"
            if document is not None:
                problem = "it has no steps" if shown is None else f"it shows the plan {shown.plan.plan_id}"
            raise InvalidParams(
                f"The document cannot be adopted: {problem}.", details=[{"field": "uri", "problem": problem}]
            )
        if self._troubles_of_new(found):
            raise InvalidPlan("The document has errors, which are marked in it.", ())
        plan = await self._app.plans.adopt(found.request, found.summary, found.found.edits)
        # Nothing is awaited before the document is the plan's, so that no other is written for it.
        shown = self._shown[plan.plan_id] = Shown(document.uri, plan, signs_of(plan) | found.earlier)
        self._offered.discard(document.uri)
        self._publish(document.uri, found.written, [])
        new = taken(document.text, found.found.ids, plan, shown.earlier)
        if not await self._write_over(document.uri, document.text, new):
            self._follow(plan.plan_id)
        return plan

    def _troubles_of_new(self, found: Adoption) -> list[Trouble]:
        """The troubles that keep a document from being a new plan."""
        if found.troubles:
            return [*found.troubles]
        problems = self._app.plans.problems_of_new(found.found.edits)
        return [*refused(problems, found.written, found.found)]

    async def _tell_of_other(self, plan_id: PlanId) -> None:
        """Say that another server runs a plan, in a message and on its title, which stays until this one runs it."""
        other = self._app.plans.run_elsewhere(plan_id)
        if other is not None:
            self._elsewhere.add(plan_id)
            self._protocol.show_message("info", f"Planloom: {other}")
            await self._check(plan_id)

    async def _take_saved(self) -> None:
        while self._saved:
            plan_id = self._saved.pop()
            try:
                await self._take(plan_id)
                # What an undo of the editor has brought back is written anew.
                self._follow(plan_id)
            except PlanloomError as error:
                self._protocol.show_message("warning", f"Planloom: {error.message}")

    def _tell(self, uri: Uri, what: str) -> None:
        self._protocol.show_message("info", f"Planloom: {display_name(uri)}: {self._can.words(what)}")

    async def _check(self, plan_id: PlanId) -> None:
        """Show what is wrong in the text as the user types."""
        await self._jobs.sleep(_SECONDS)
        await self.settled(plan_id)
        shown = self._shown.get(plan_id)
        text = None if shown is None else await self._text(shown.uri)
        if shown is None or text is None:
            return
        plan = self._plan(plan_id)
        if plan is not None:
            shown = self._standing(plan, shown, text)
            written, found = _changes(shown, text, plan)
            if shown.moved_on and not found.changes:
                shown = self._shown[plan_id] = shown.showing(plan)
                self._follow(plan_id)
            troubles = [] if shown.moved_on else self._troubles(plan, written, found)
            self._publish(shown.uri, written, troubles, self._said(shown))

    def _follow(self, plan_id: PlanId) -> asyncio.Task[None]:
        """Bring a document up to date in its one job, which sees also what happens while it waits for the editor."""
        self._behind.add(plan_id)
        return self._jobs.start(f"plan-document:{plan_id}", self._catch_up(plan_id))

    async def _catch_up(self, plan_id: PlanId) -> None:
        while plan_id in self._behind:
            self._behind.remove(plan_id)
            await self._update(plan_id)

    async def _update(self, plan_id: PlanId) -> None:
        """Write into the document what has become of its plan, until nothing is new or the editor takes no edit."""
        for _ in range(_TRIES):
            await self._jobs.sleep(_SECONDS)
            plan = self._plan(plan_id)
            shown = self._shown.get(plan_id)
            text = None if shown is None else await self._text(shown.uri)
            if shown is None or plan is None or text is None:
                return
            if self._standing(plan, shown, text).moved_on:
                await self._can.refresh_lenses()
                return
            new = up_to_date(text, shown.plan, plan, shown.earlier)
            if new.text == text:
                self._shown[plan_id] = shown.showing(new.shows)
                await self._can.refresh_lenses()
                return
            shown = self._shown[plan_id] = shown.writing(new.shows)
            if await self._write_over(shown.uri, text, new.text):
                self._shown[plan_id] = shown.showing(new.shows)

    async def _text(self, uri: Uri) -> str | None:
        document = self._view.documents.get(uri)
        return document.text if document is not None else await asyncio.to_thread(read_scratch_file, uri)

    async def _write_over(self, uri: Uri, old: str, new: str) -> bool:
        """Replace a document's text by small edits; False if it has moved on meanwhile, or the editor refuses."""
        if old == new:
            return True
        document = self._view.documents.get(uri)
        if document is None:
            return await asyncio.to_thread(rewrite_scratch_file, uri, new)
        if document.text != old:
            return False
        edits = text_edits(old, new, self._view.documents.encoding)
        version = document.version if self._can.document_changes else None
        operation = TextOperation(uri=uri, version=version, edits=edits)
        history = TextHistory(self._view.documents, (uri,))
        try:
            # Some editors tell of an edit later than they answer, and take edits of the text before for it.
            made = await self._is_sent(document, operation) and await is_shown(
                self._view.documents, operation, history, new, _ANSWER_SECONDS
            )
        finally:
            history.stop()
        await is_taken_back(self._view.documents, self._editor, operation, history, patience=_ANSWER_SECONDS)
        return made

    async def _is_sent(self, document: Document, operation: TextOperation) -> bool:
        """Send edits of a document; False if the editor does not make them."""
        edits = [_lsp_edit(each) for each in operation.edits]
        where = {"uri": document.client_uri, "version": operation.version}
        edit: dict[str, Any] = {"documentChanges": [{"textDocument": where, "edits": edits}]}
        if not self._can.document_changes:
            edit = {"changes": {document.client_uri: edits}}
        # Without a label, which some editors print, so that the user has to press a key after some changes.
        params = {"edit": edit}
        try:
            answer = await self._protocol.request(types.WORKSPACE_APPLY_EDIT, params, timeout=_ANSWER_SECONDS)
        except (ClientGone, ClientRefused, TimeoutError) as error:
            logger.info("The client did not change %s: %s", document.uri, error)
            return False
        return isinstance(answer, dict) and answer.get("applied") is True

    def _said(self, shown: Shown) -> str | None:
        """The remark on a document as a whole."""
        plan_id = shown.plan.plan_id
        if shown.moved_on:
            return self._can.words(MOVED_ON)
        return self._app.plans.run_elsewhere(plan_id) if plan_id in self._elsewhere else None

    def _publish(self, uri: Uri, written: Written, troubles: list[Trouble], said: str | None = None) -> None:
        """Show troubles at their places, and on the title what is `said` of the whole document."""
        document = self._view.documents.get(uri)
        if document is not None:
            params = diagnostics(document, self._view.documents.encoding, written, troubles, said)
            self._protocol.notify(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)


def _is_older(written: Written, plan: Plan) -> bool:
    """Whether a document was written for an older version of its plan."""
    version = written.head.get("version", "")
    return version.isdecimal() and int(version) < plan.version


def _changes(shown: Shown, text: str, plan: Plan) -> tuple[Written, Difference]:
    """A document as it is written, and what it changes of the plan that it shows."""
    written = read_document(text)
    reserved = [step.step_id for step in plan.steps]
    return written, difference(shown.plan, written, shown.earlier, reserved)


def _json(position: Position) -> dict[str, int]:
    return {"line": position.line, "character": position.character}


def _lsp_edit(edit: TextEdit) -> dict[str, Any]:
    return {
        "range": {"start": _json(edit.range.start), "end": _json(edit.range.end)},
        "newText": edit.new_text,
    }
