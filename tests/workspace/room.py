"""A test workspace with everything that an edit needs: view, editor, journal and grant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planloom.domain.changes import (
    Changeset,
    CreateFile,
    CreateFolder,
    DeleteFile,
    EditFile,
    FileChange,
    RenameFile,
)
from planloom.domain.safety.approvals import Grant
from planloom.domain.text.positions import Encoding
from planloom.domain.values import EditId, PlanId, Uri
from planloom.workspace.documents import DocumentStore
from planloom.workspace.editor import EditorCapabilities, NewFiles
from planloom.workspace.edits.apply import apply_changeset
from planloom.workspace.edits.batch import Edit
from planloom.workspace.edits.outcomes import ApplyOutcome, ChangesetApplied, EditResult, JournalFile
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.paths.uris import from_path
from planloom.workspace.staged.order import in_order
from planloom.workspace.view import WorkspaceView
from tests.support.fake_editor import EVERYTHING, Behaviour, Closed, FakeEditor

GRANT = Grant(plan_id=PlanId("plan"), version=1, source="approval")


@dataclass
class FakeJournal:
    """A journal that records its calls in order."""

    intents: list[tuple[JournalFile, ...]] = field(default_factory=list)
    results: list[EditResult] = field(default_factory=list)

    async def intend(self, grant: Grant, files: tuple[JournalFile, ...]) -> EditId:
        assert len(self.intents) == len(self.results), "One intent at a time."
        self.intents.append(files)
        return EditId(f"edit{len(self.intents)}")

    async def record_result(self, edit_id: EditId, result: EditResult) -> None:
        self.results.append(result)
        assert edit_id == f"edit{len(self.results)}"


class Room:
    """One workspace folder under `folder`, with a view, an editor and a journal."""

    def __init__(
        self,
        folder: Path,
        files: Mapping[str, str | bytes] = {},
        *,
        capabilities: EditorCapabilities = EVERYTHING,
        closed: Closed = "open",
        tells: str = "before",
        script: Sequence[Behaviour] = (),
        encoding: Encoding = "utf-16",
        new_files: NewFiles = "auto",
    ) -> None:
        self.folder = folder
        self.new_files = new_files
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.documents = DocumentStore(encoding)
        self.view = WorkspaceView(Roots((root_at(folder),)), self.documents)
        able = capabilities._replace(encoding=encoding)
        self.editor = FakeEditor(self.documents, able, closed=closed, tells=tells, script=script)  # type: ignore[arg-type]
        self.journal = FakeJournal()

    def path(self, name: str) -> Path:
        return self.folder / name

    def uri(self, name: str) -> Uri:
        return from_path(self.folder / name)

    def edit(self, name: str, before: str, after: str) -> EditFile:
        return EditFile(uri=self.uri(name), before=before, after=after)

    def create(self, name: str, after: str) -> CreateFile:
        return CreateFile(uri=self.uri(name), after=after)

    def folder_of(self, name: str) -> CreateFolder:
        return CreateFolder(uri=self.uri(name))

    def delete(self, name: str, before: str | None) -> DeleteFile:
        return DeleteFile(uri=self.uri(name), before=before)

    def rename(self, name: str, new_name: str, before: str | None = None) -> RenameFile:
        return RenameFile(uri=self.uri(name), new_uri=self.uri(new_name), before=before)

    def text(self, name: str) -> str:
        return self.editor.text(self.path(name))

    async def apply(self, *changes: FileChange, patience: float = 0.05) -> ApplyOutcome:
        edit = Edit(
            self.view,
            self.editor,
            GRANT,
            "Planloom: step 1 – test",
            self.journal,
            patience=patience,
            new_files=self.new_files,
        )
        whole: ApplyOutcome = ChangesetApplied(files=())
        for part in in_order(changes) or (Changeset(),):
            outcome = await apply_changeset(edit, part)
            assert isinstance(whole, ChangesetApplied)
            if not isinstance(outcome, ChangesetApplied):
                return outcome
            whole = outcome._replace(
                files=whole.files + outcome.files, edit_ids=whole.edit_ids + outcome.edit_ids
            )
        return whole


def tree(folder: Path) -> dict[str, str | None]:
    """Every file with its text, and every folder with None, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes().decode() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
