"""What a plan has changed: one row for each file, under the name that it has now."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planloom.domain.changes import ChangeKind, EditedFile, EditRecord, sha256
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.plan import Plan
from planloom.domain.values import EditId, PlanId, SessionId, StepId, Uri
from planloom.execution.summary import changed_files, changes_of_file, execution_summary, file_changes

ROOT = "file:///w/"


def edited(change: ChangeKind, name: str, before: str | None = None, after: str | None = None) -> EditedFile:
    """One file of an edit; `name` may be "old -> new"."""
    old, _, new = name.partition(" -> ")
    return EditedFile(
        uri=Uri(ROOT + old),
        change=change,
        new_uri=Uri(ROOT + new) if new else None,
        before_sha256=None if before is None else sha256(before),
        after_sha256=None if after is None else sha256(after),
    )


def plan_of(*files: EditedFile, undone: int | None = None) -> Plan:
    """A plan with an edit for each file, of which the one at index `undone` was undone by a further edit."""
    edits = [
        EditRecord(edit_id=EditId(f"e{n}"), step_id=StepId("s"), files=(file,), state="applied")
        for n, file in enumerate(files)
    ]
    if undone is not None:
        target = edits[undone]
        edits[undone] = target.model_copy(update={"state": "reverted"})
        undo = EditRecord(
            edit_id=EditId("undo"),
            step_id=None,
            files=target.files,
            state="applied",
            reverts=(target.edit_id,),
        )
        edits.append(undo)
    return Plan(
        plan_id=PlanId("p"),
        session_id=SessionId("s"),
        request="",
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
        edits=IndexedTuple(edits),
    )


def rows(plan: Plan) -> list[str]:
    """The changes as "change name", with " <- old name" for a renamed file."""
    return [
        f"{row.file.change} {row.file.uri.removeprefix(ROOT)}"
        + (f" <- {row.file.old_uri.removeprefix(ROOT)}" if row.file.old_uri else "")
        for row in file_changes(plan)
    ]


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (
            [
                edited("edit", "src/a.ts", "one", "two"),
                edited("rename", "src -> lib"),
                edited("edit", "lib/a.ts", "two", "one"),
            ],
            ["rename lib <- src"],
        ),
        (
            [edited("edit", "src/a.ts", "one", "two"), edited("rename", "src -> lib")],
            ["edit lib/a.ts", "rename lib <- src"],
        ),
        (
            [edited("create", "src/a.ts", None, "a"), edited("rename", "src -> lib")],
            ["create lib/a.ts", "rename lib <- src"],
        ),
        (
            [edited("rename", "a.ts -> src/a.ts", "a", "a"), edited("rename", "src -> lib")],
            ["rename lib/a.ts <- a.ts", "rename lib <- src"],
        ),
        (
            [
                edited("rename", "src/a.ts -> lib/a.ts", "a", "a"),
                edited("delete", "src"),
                edited("rename", "lib -> src"),
            ],
            ["rename src <- lib"],
        ),
        (
            [edited("delete", "src/a.ts", "a", None), edited("rename", "src -> lib")],
            ["delete src/a.ts", "rename lib <- src"],
        ),
        (
            [edited("edit", "source/a.ts", "one", "two"), edited("rename", "src -> lib")],
            ["edit source/a.ts", "rename lib <- src"],
        ),
    ],
)
def test_files_below_a_renamed_folder_are_listed_by_their_new_names(
    files: list[EditedFile], wanted: list[str]
) -> None:
    assert rows(plan_of(*files)) == wanted


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ([edited("delete", "b", "B", None), edited("rename", "a -> b", "A", "A")], ["edit b", "delete a"]),
        ([edited("delete", "b", "A", None), edited("rename", "a -> b", "A", "A")], ["delete a"]),
        (
            [
                edited("delete", "b", "B", None),
                edited("rename", "a -> b", "A", "A"),
                edited("rename", "b -> a", "A", "A"),
            ],
            ["delete b"],
        ),
        (
            [
                edited("create", "a", None, "A"),
                edited("delete", "b", "B", None),
                edited("rename", "a -> b", "A", "A"),
            ],
            ["edit b"],
        ),
        (
            [
                edited("edit", "src/a", "A", "AA"),
                edited("delete", "lib/a", "B", None),
                edited("rename", "src -> lib"),
            ],
            ["edit lib/a", "delete src/a", "rename lib <- src"],
        ),
    ],
)
def test_a_file_that_takes_the_name_of_a_deleted_one_hides_neither(
    files: list[EditedFile], wanted: list[str]
) -> None:
    plan = plan_of(*files)
    assert rows(plan) == wanted
    edit = next((row for row in file_changes(plan) if row.file.change == "edit"), None)
    assert edit is None or edit.before == sha256("B")


def test_a_file_below_a_renamed_folder_is_compared_with_its_text_before_the_plan() -> None:
    plan = plan_of(edited("edit", "src/a.ts", "one", "two"), edited("rename", "src -> lib"))
    found = changes_of_file(plan, Uri(ROOT + "lib/a.ts"), None)
    assert found is not None
    assert (found.before, found.after) == (sha256("one"), sha256("two"))
    assert changes_of_file(plan, Uri(ROOT + "src/a.ts"), None) is None


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ([edited("createFolder", "src"), edited("delete", "src")], []),
        ([edited("createFolder", "src"), edited("rename", "src -> lib")], ["createFolder lib"]),
        (
            [
                edited("createFolder", "src"),
                edited("createFolder", "src/x"),
                edited("rename", "src -> lib"),
                edited("delete", "lib/x"),
            ],
            ["createFolder lib"],
        ),
        ([edited("delete", "src"), edited("createFolder", "src")], []),
    ],
)
def test_a_folder_that_the_plan_created_is_neither_deleted_nor_renamed(
    files: list[EditedFile], wanted: list[str]
) -> None:
    assert rows(plan_of(*files)) == wanted


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (plan_of(edited("edit", "a", "1", "2"), undone=0), []),
        (plan_of(edited("create", "a", None, "1"), edited("delete", "a", "1", None)), []),
        (plan_of(edited("edit", "a", "1", "2"), edited("edit", "a", "2", "1")), []),
        (plan_of(edited("edit", "a", "1", "2"), edited("rename", "a -> b", "2", "2")), ["b"]),
        (plan_of(edited("createFolder", "src"), edited("create", "src/a", None, "1")), ["src/a"]),
        (plan_of(edited("delete", "a", "1", None)), ["a"]),
    ],
)
def test_a_changed_file_is_one_whose_change_stands(plan: Plan, wanted: list[str]) -> None:
    assert [uri.removeprefix(ROOT) for uri in changed_files(plan)] == wanted
    counted = {0: "There were no steps.", 1: "There were no steps. 1 file changed."}
    assert execution_summary(plan) == counted[len(wanted)]
