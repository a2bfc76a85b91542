"""Texts that the server serves to clients that can ask for them (`workspace/textDocumentContent`), instead of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.text.diff import git_diff
from planloom.domain.values import ApprovalId, PlanId, Uri
from planloom.lsp.editor.capabilities import SCHEME
from planloom.view.approvals import lines
from planloom.view.words import Words
from planloom.workspace.paths.uris import name_in

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


async def text_at(app: Application, uri: str, t: Words) -> str:
    """The text that is served at an address. Raises UnknownThing."""
    if uri.startswith(_PLANS):
        return app.plans.markdown(PlanId(uri.removeprefix(_PLANS).removesuffix(".md")))
    approval_id = ApprovalId(uri.removeprefix(_CHANGES).removesuffix(".diff"))
    return await shown_changes(app, app.approvals.pending(approval_id), t)


async def write_changes(app: Application, files: SideFiles, approval: Approval, t: Words) -> Uri | None:
    """Write what an approval is asked for into a file; its URI, None if that is not possible."""
    near, name, ending = Uri(""), "command", ".txt"
    if approval.files:
        near, name, ending = approval.files[0].uri, "changes", ".diff"
    text = await shown_changes(app, approval, t)
    return await files.write_for(approval.plan_id, approval.approval_id, near, name, ending, text)


async def show_changes(
    app: Application, files: SideFiles, approval: Approval, t: Words
) -> tuple[bool, Uri | None]:
    """Show what an approval is asked for in a document, as `shown_changes`: whether the editor did, and its file."""
    if files.can_serve and await files.show(changes_address(approval.approval_id)):
        return True, None
    uri = await write_changes(app, files, approval, t)
    return uri is not None and await files.show(uri), uri


async def shown_changes(app: Application, approval: Approval, t: Words) -> str:
    """The changes of an approval as a diff for `git apply` in the workspace folder.

    Of one without changed texts its command, or all that is to be known of it.
    """
    plan = app.plans.get(approval.plan_id, None)
    assert plan is not None, "get() with an id returns a plan or raises"
    parts = []
    for file in approval.files:
        found = await app.approvals.diff(approval.approval_id, file.uri)
        old, new = (name_in(uri, plan.workspace_folders) for uri in (file.uri, file.new_uri or file.uri))
        if old != new or found.before is not None or found.after is not None:
            parts.append(git_diff(found.before, found.after, old, new))
    if parts:
        return "".join(parts)
    known = (approval.command,) if approval.command else lines(plan, approval, t)
    return "\n".join(filter(None, known)) + "\n"
