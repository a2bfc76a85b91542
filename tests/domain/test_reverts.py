"""Which edits are in force after undos and redos, also after a crash."""

from __future__ import annotations

from planloom.domain.changes import EditRecord
from planloom.domain.events.reverts import standing, states_after, undone
from planloom.domain.values import EditId, StepId


def edit(
    name: str, *reverts: str, state: str = "applied", whole: bool = True, partly: str = ""
) -> EditRecord:
    return EditRecord(
        edit_id=EditId(name),
        step_id=StepId("s"),
        files=(),
        state=state,  # type: ignore[arg-type]
        reverts=tuple(EditId(each) for each in reverts),
        partly=tuple(EditId(each) for each in partly.split()),
        whole=whole,
    )


class History:
    """Edits in their order, each applied as a plan applies it."""

    def __init__(self) -> None:
        self.edits: dict[EditId, EditRecord] = {}

    def made(self, *edits: EditRecord) -> History:
        for each in edits:
            self.edits[each.edit_id] = each
            for edit_id, state in states_after(self.edits.values(), each, each.state).items():
                self.edits[edit_id] = self.edits[edit_id].model_copy(update={"state": state})
        return self

    @property
    def stands(self) -> str:
        return " ".join(each.edit_id for each in standing(self.edits.values()))

    @property
    def can_be_redone(self) -> str:
        return " ".join(each.edit_id for each in undone(self.edits.values()))


def test_an_edit_and_its_redo_count_once() -> None:
    at = History().made(edit("a"), edit("b"))
    assert (at.stands, at.can_be_redone) == ("a b", "")
    at.made(edit("undo", "a", "b"))
    assert (at.stands, at.can_be_redone) == ("", "undo")
    at.made(edit("redo", "undo"))
    assert (at.stands, at.can_be_redone) == ("a b", "")
    at.made(edit("undo2", "a", "b"))
    assert (at.stands, at.can_be_redone) == ("", "undo2")


def test_undos_are_redone_the_last_first() -> None:
    at = History().made(edit("a"), edit("b"), edit("undo a", "a"), edit("undo b", "b"))
    assert at.can_be_redone == "undo b"
    at.made(edit("redo b", "undo b"))
    assert (at.stands, at.can_be_redone) == ("b", "undo a")


def test_an_undo_that_was_cut_off_is_completed_by_another_and_redone_with_it() -> None:
    at = History().made(edit("a"), edit("half", "a", whole=False))
    assert (at.stands, at.can_be_redone) == ("a", "half")
    at.made(edit("rest", "a"))
    assert (at.stands, at.can_be_redone) == ("", "half rest")
    at.made(edit("redo", "half", "rest"))
    assert (at.stands, at.can_be_redone) == ("a", "")


def test_a_redo_that_was_cut_off_is_completed_by_another() -> None:
    at = History().made(edit("a"), edit("undo", "a"), edit("half", "undo", whole=False))
    assert (at.stands, at.can_be_redone) == ("half", "undo")
    at.made(edit("rest", "undo"))
    assert (at.stands, at.can_be_redone) == ("a", "")


def test_a_redo_that_was_cut_off_can_be_taken_back() -> None:
    at = History().made(edit("a"), edit("undo", "a"), edit("half", "undo", whole=False))
    at.made(edit("back", "half"))
    assert (at.stands, at.can_be_redone) == ("", "undo back")
    at.made(edit("redo", "undo", "back"))
    assert (at.stands, at.can_be_redone) == ("a", "")


def test_what_the_user_kept_of_an_edit_can_be_taken_back_later() -> None:
    at = History().made(edit("a"), edit("undo", "a", partly="a"))
    assert (at.stands, at.can_be_redone) == ("a", "undo")
    at.made(edit("rest", "a"))
    assert (at.stands, at.can_be_redone) == ("", "undo rest")


def test_what_the_user_has_undone_in_the_editor_does_not_stand() -> None:
    at = History().made(edit("a", state="reverted"), edit("b"))
    assert at.stands == "b"


def test_an_undo_in_several_edits_is_redone_as_a_whole() -> None:
    at = History().made(edit("a"), edit("b"))
    at.made(edit("undo-1", "a", "b", partly="a b"))
    assert (at.stands, at.can_be_redone) == ("a b", "undo-1")
    at.made(edit("undo-2", "a", "b", partly="a b"), edit("a", state="reverted"), edit("b", state="reverted"))
    assert (at.stands, at.can_be_redone) == ("", "undo-1 undo-2")
