"""Texts that the server serves to clients that can ask for them (`workspace/textDocumentContent`), instead of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.text.diff import unified
from planloom.domain.values import ApprovalId, PlanId, Uri
from planloom.lsp.editor.approval_texts import approval_text
from planloom.lsp.editor.capabilities import SCHEME
from planloom.workspace.paths.uris import display_name

if TYPE_CHECKING:
    from planloom.domain.safety.approvals import Approval
    from planloom.lsp.editor.side_files import SideFiles
    from planloom.service.application import Application

_CHANGES, _PLANS = f"{SCHEME}:/changes/", f"{SCHEME}:/plans/"


def changes_address(approval_id: ApprovalId) -> Uri:
    """Where the changes of a pending approval are served."""
    return Uri(f"{_CHANGES}{approval_id}.diff")


def plan_address(plan_id: PlanId) -> Uri:
    """Where a plan and what became of it are served, to be read."""
    return Uri(f"{_PLANS}{plan_id}.md")


async def text_at(app: Application, uri: str) -> str:
    """The text that is served at an address. Raises UnknownThing."""
    if uri.startswith(_PLANS):
        return app.plans.markdown(PlanId(uri.removeprefix(_PLANS).removesuffix(".md")))
    approval_id = ApprovalId(uri.removeprefix(_CHANGES).removesuffix(".diff"))
    return await shown_changes(app, app.approvals.pending(approval_id))


async def show_changes(app: Application, files: SideFiles, approval: Approval) -> bool:
    """Show what an approval is asked for in a document, as `shown_changes`; False if the editor did not."""
    if files.can_serve and await files.show(changes_address(approval.approval_id)):
        return True
    number = approval.approval_id[:8]
    near, name = Uri(""), f"command-{number}.txt"
    if approval.files:
        near, name = approval.files[0].uri, f"changes-{number}.diff"
    uri = await files.write(near, name, await shown_changes(app, approval))
    return uri is not None and await files.show(uri)


async def shown_changes(app: Application, approval: Approval) -> str:
    """The changes of an approval as one diff; of one without files its command, or what it is asked for."""
    if not approval.files:
        return f"{approval.command or approval_text(approval)}\n"
    parts = []
    for file in approval.files:
        found = await app.approvals.diff(approval.approval_id, file.uri)
        name = display_name(file.uri)
        parts.append(unified(found.before, found.after, f"a/{name}", f"b/{name}"))
    return "\n".join(parts)
