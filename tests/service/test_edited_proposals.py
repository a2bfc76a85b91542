"""A person changes what is proposed before allowing it: exactly that text is made, and the model hears of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.domain.changes import Changeset, EditFile, sha256
from planloom.domain.errors import InvalidParams
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.values import Uri
from planloom.execution.effects.edited_proposals import ProposalEdit, edit_notes, with_edits
from planloom.models.offline.scripted import ScriptedModel, makes
from tests.service.test_model_work import asked as asked_of
from tests.service.test_model_work import planned
from tests.support.studio import Studio, studio

EDIT = "1. In a.txt, replace 'old' with 'new'\n2. List files"
OLD = "one\ntwo\nold\n"
NEW = "one\ntwo\nnew\n"


async def asked(at: Studio, text: str = EDIT) -> Plan:
    return await at.approve(await at.ask(text))


def edit(at: Studio, text: str, before: str | None = None, name: str = "a.txt") -> tuple[ProposalEdit, ...]:
    return (ProposalEdit(Uri(at.uri(name)), text, before),)


def resolved(at: Studio) -> list[ev.ApprovalResolved]:
    return [each.event for each in at.events if isinstance(each.event, ev.ApprovalResolved)]


async def test_the_text_of_the_user_is_made_and_the_event_names_both(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": OLD}) as at:
        plan = await at.respond(await asked(at), edits=edit(at, "one\ntwo\nnewer\n"))
        assert plan.status == "completed"
        assert at.text("a.txt") == "one\ntwo\nnewer\n"
        (event,) = resolved(at)
        assert event.edited is not None
        assert [(each.uri, each.proposed_sha256, each.approved_sha256) for each in event.edited] == [
            (at.uri("a.txt"), sha256(NEW), sha256("one\ntwo\nnewer\n"))
        ]


async def test_an_undo_takes_back_what_the_user_made_of_it(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": OLD}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.respond(await asked(at), edits=edit(at, "one\ntwo\nnewer\n"))
        at.editor.replace(at.path("a.txt"), "one", "ONE")
        await at.app.plans.undo(plan.plan_id, None, redo=False)
        assert at.text("a.txt") == "ONE\ntwo\nold\n"


async def test_a_file_left_as_it_is_counts_as_not_allowed(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": OLD}) as at:
        plan = await at.respond(await asked(at), edits=edit(at, OLD))
        assert at.editor.received == [] and at.text("a.txt") == OLD
        assert [step.status for step in plan.steps] == ["skipped", "completed"]
        assert "Not allowed: a.txt" in (plan.execution_summary or "")


async def test_what_is_typed_after_the_edit_was_made_is_merged_with_it(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": OLD}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await asked(at)
        at.editor.replace(at.path("a.txt"), "one\n", "ONE\n")
        seen = at.text("a.txt")
        at.editor.replace(at.path("a.txt"), "ONE\n", "ONE!\n")
        plan = await at.respond(plan, edits=edit(at, "ONE\ntwo\nnewer\n", before=seen))
        assert plan.status == "completed" and at.text("a.txt") == "ONE!\ntwo\nnewer\n"


async def test_an_edit_that_erases_the_file_is_asked_anew(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": OLD}) as at:
        plan = await at.respond(await asked(at), edits=edit(at, ""))
        (again,) = plan.pending.approvals
        assert again.effect == "destroy" and "more than what you were asked" in (again.warning or "")
        assert at.text("a.txt") == OLD
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("a.txt") == ""


async def test_text_hidden_behind_blanks_is_asked_anew_whoever_wrote_it(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": OLD}) as at:
        plan = await at.respond(await asked(at), edits=edit(at, f"one\ntwo\nnew{' ' * 200}x\n"))
        (again,) = plan.pending.approvals
        assert "blanks" in (again.warning or "") and at.text("a.txt") == OLD


@pytest.mark.parametrize(
    ("decision", "name"), [("deny", "a.txt"), ("allowForPlan", "a.txt"), ("allow", "b.txt")]
)
async def test_edits_only_with_an_allow_and_of_what_is_proposed(
    tmp_path: Path, decision: str, name: str
) -> None:
    async with studio(tmp_path, {"a.txt": OLD, "b.txt": "b\n"}) as at:
        plan = await asked(at)
        with pytest.raises(InvalidParams):
            await at.respond(plan, decision, edits=edit(at, "x\n", name=name))
        assert at.now(plan).pending.approvals == plan.pending.approvals


async def test_the_model_is_shown_what_was_made_instead_of_its_text() -> None:
    uri = Uri("file:///w/src/a.txt")
    proposed = Changeset(changes=(EditFile(uri=uri, before=OLD, after=NEW),))
    approved = with_edits(proposed, (ProposalEdit(uri, "one\ntwo\nnewer\n"),))
    assert edit_notes(proposed, approved, [Uri("file:///w")]) == (
        "The user changed your proposal for src/a.txt before it was made; from yours (-) to what was made (+):\n"
        "@@ -2,2 +2,2 @@\n two\n-new\n+newer",
    )
    assert edit_notes(proposed, proposed, []) == ()


async def test_the_preview_follows_the_buffer(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": OLD}) as at:
        at.editor.open(at.path("a.txt"))
        (approval,) = (await asked(at)).pending.approvals
        uri = Uri(at.uri("a.txt"))
        first = await at.app.approvals.preview(approval.approval_id, uri, None)
        assert (first.now, first.proposed, first.overlaps) == (OLD, NEW, False)
        at.editor.replace(at.path("a.txt"), "one\n", "ONE\n")
        second = await at.app.approvals.preview(approval.approval_id, uri, None)
        assert (second.now, second.proposed) == ("ONE\ntwo\nold\n", "ONE\ntwo\nnew\n")
        (mine,) = edit(at, "one\ntwo\nnewer\n", before=OLD)
        third = await at.app.approvals.preview(approval.approval_id, uri, mine)
        assert third.proposed == "ONE\ntwo\nnewer\n"
        at.editor.replace(at.path("a.txt"), "old\n", "older\n")
        last = await at.app.approvals.preview(approval.approval_id, uri, None)
        assert (last.now, last.proposed, last.overlaps) == ("ONE\ntwo\nolder\n", None, True)


async def test_a_model_hears_of_the_users_text_before_its_step_ends(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(
                ("write_file", {"path": "new.txt", "content": "theirs\n"}),
                ("task_completed", {"summary": "Written."}),
            ),
            makes(("task_completed", {"summary": "Written, as you changed it."})),
        ]
    )
    async with studio(tmp_path) as at:
        plan = await planned(at, "Write and list files", ("Write new.txt", "with a word"))
        at.model.model = model
        plan = await at.approve(plan)
        plan = await at.respond(plan, edits=edit(at, "mine\n", name="new.txt"))
        assert plan.status == "completed" and at.text("new.txt") == "mine\n"
        assert "The user changed your proposal for new.txt" in asked_of(model.requests[-1])
