"""Which edits are in force after undos and redos, also after a crash."""

from __future__ import annotations

from planloom.domain.changes import EditedFile, EditRecord, taken_back
from planloom.domain.events.reverts import standing, undone, undone_after
from planloom.domain.values import CallId, EditId, StepId, Uri


def edit(name: str, *files: str) -> EditRecord:
    """An edit of files, each `file` or, for one that reverts others, `file:edit/file,edit/file`."""
    reverts: list[EditId] = []
    edited: list[EditedFile] = []
    for each in files:
        uri, _, targets = each.partition(":")
        pairs = [target.split("/") for target in targets.split(",") if target]
        reverts += [EditId(of) for of, _ in pairs]
        causes = tuple(taken_back(EditId(of), Uri(file)) for of, file in pairs) or (CallId("call"),)
        edited.append(EditedFile(uri=Uri(uri), change="edit", causes=causes))
    return EditRecord(
        edit_id=EditId(name),
        step_id=StepId("s"),
        files=tuple(edited),
        state="applied",
        reverts=tuple(reverts),
    )


class History:
    """Edits in their order, each applied as a plan applies it."""

    def __init__(self, *edits: EditRecord) -> None:
        self.edits: dict[EditId, EditRecord] = {}
        self.made(*edits)

    def made(self, *edits: EditRecord) -> History:
        for each in edits:
            self.edits[each.edit_id] = each
            self._fold(each, *each.files, back=True)
        return self

    def reverted(self, name: str, *files: str, back: bool = False) -> History:
        """The user undoes or redoes an edit in the editor."""
        edit = self.edits[EditId(name)]
        self._fold(edit, *(file for file in edit.files if file.uri in files), back=back)
        return self

    def _fold(self, edit: EditRecord, *files: EditedFile, back: bool) -> None:
        for edit_id, uris in undone_after(self.edits.get, edit, files, back=back).items():
            target = self.edits[edit_id]
            whole = all(file.uri in uris for file in target.files)
            update = {"undone": uris, "state": "reverted" if whole else "applied"}
            self.edits[edit_id] = target.model_copy(update=update)

    @property
    def stands(self) -> str:
        return _shown(standing(self.edits.values()))

    @property
    def can_be_redone(self) -> str:
        return _shown(undone(self.edits.values()))


def _shown(edits: tuple[EditRecord, ...]) -> str:
    return " ".join(f"{each.edit_id}/{file.uri}" for each in edits for file in each.files)


def test_an_edit_and_its_redo_count_once() -> None:
    at = History(edit("a", "1"), edit("b", "2"))
    assert (at.stands, at.can_be_redone) == ("a/1 b/2", "")
    at.made(edit("undo", "1:a/1", "2:b/2"))
    assert (at.stands, at.can_be_redone) == ("", "undo/1 undo/2")
    at.made(edit("redo", "1:undo/1", "2:undo/2"))
    assert (at.stands, at.can_be_redone) == ("a/1 b/2", "")
    at.made(edit("again", "1:a/1", "2:b/2"))
    assert (at.stands, at.can_be_redone) == ("", "again/1 again/2")


def test_undos_are_redone_the_last_first() -> None:
    at = History(edit("a", "1"), edit("b", "2"), edit("undo-a", "1:a/1"), edit("undo-b", "2:b/2"))
    assert at.can_be_redone == "undo-b/2"
    at.made(edit("redo-b", "2:undo-b/2"))
    assert (at.stands, at.can_be_redone) == ("b/2", "undo-a/1")


def test_one_change_reverts_several_edits_of_a_file() -> None:
    at = History(edit("a", "1"), edit("b", "1", "2"), edit("undo", "1:b/1,a/1"))
    assert (at.stands, at.can_be_redone) == ("b/2", "undo/1")
    assert at.made(edit("redo", "1:undo/1")).stands == "a/1 b/1 b/2"


def test_an_undo_that_was_cut_off_is_completed_by_another_and_redone_with_it() -> None:
    at = History(edit("a", "1", "2"), edit("half", "1:a/1"))
    assert (at.stands, at.can_be_redone) == ("a/2", "half/1")
    at.made(edit("rest", "2:a/2"))
    assert (at.stands, at.can_be_redone) == ("", "half/1 rest/2")
    at.made(edit("redo", "1:half/1", "2:rest/2"))
    assert (at.stands, at.can_be_redone) == ("a/1 a/2", "")


def test_a_redo_that_was_cut_off_is_completed_by_another_or_taken_back() -> None:
    at = History(edit("a", "1", "2"), edit("undo", "1:a/1", "2:a/2"), edit("half", "1:undo/1"))
    assert (at.stands, at.can_be_redone) == ("a/1", "undo/2")
    at.made(edit("back", "1:a/1"))
    assert (at.stands, at.can_be_redone) == ("", "undo/2 back/1")
    at.made(edit("redo", "1:back/1", "2:undo/2"))
    assert (at.stands, at.can_be_redone) == ("a/1 a/2", "")


def test_what_is_left_of_an_undo_is_redone_with_what_completed_it() -> None:
    """A rename and the one back leave the files as they are, so that nobody asks for the redo again."""
    at = History(edit("a", "1"), edit("there", "2"), edit("back", "3"))
    half = edit("half", "1:a/1", "3:back/3")
    half = half.model_copy(update={"reverts": (*half.reverts, EditId("there"))})
    at.made(half, edit("rest", "2:there/2"), edit("redo", "1:half/1"))
    assert at.made(edit("undo", "1:a/1")).can_be_redone == "half/3 rest/2 undo/1"


def test_what_the_user_undoes_or_redoes_in_the_editor_counts_as_well() -> None:
    at = History(edit("a", "1", "2"), edit("b", "3")).reverted("a", "1")
    assert at.stands == "a/2 b/3"
    at.made(edit("undo", "2:a/2", "3:b/3")).reverted("undo", "3")
    assert (at.stands, at.can_be_redone) == ("b/3", "undo/2")
    at.reverted("undo", "3", back=True).reverted("a", "1", back=True)
    assert (at.stands, at.can_be_redone) == ("a/1", "undo/2 undo/3")


def test_in_an_older_ledger_what_an_undo_reverts_follows_from_its_files() -> None:
    undo = edit("undo", "1:a/1", "2:b/2")
    files = [file.model_copy(update={"causes": ()}) for file in undo.files]
    files[1] = files[1].model_copy(update={"causes": (EditId("b"),)})
    at = History(edit("a", "1", "2"), edit("b", "1", "2")).made(
        undo.model_copy(update={"files": tuple(files)})
    )
    assert (at.stands, at.can_be_redone) == ("a/2", "undo/1 undo/2")
