"""The real server process, driven through pytest-lsp as an editor would: it plans and edits the unsaved buffer."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import register_lsp_features
from pytest_lsp.protocol import LanguageClientProtocol

from planloom.domain.text.positions import LineIndex, Position
from planloom.lsp.transport.codec import wire_converter

pytestmark = pytest.mark.process
STATE = tempfile.mkdtemp(prefix="planloom-test-")
SERVER = [
    sys.executable,
    "-m",
    "planloom",
    "serve",
    "--stdio",
    "--storage",
    STATE,
    "--log-file",
    f"{STATE}/log",
]


class Desk(LanguageClient):
    """A client with buffers: it applies versioned edits and refuses those for another version."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.buffers: dict[str, tuple[int, str]] = {}
        self.events: list[dict[str, Any]] = []
        self.edits: list[types.ApplyWorkspaceEditParams] = []
        self.news = asyncio.Event()

    def take(self, edit: types.WorkspaceEdit) -> bool:
        """Apply text edits to open buffers; anything else this editor does not have."""
        changes = [each for each in edit.document_changes or () if isinstance(each, types.TextDocumentEdit)]
        for change in changes:
            version, _ = self.buffers[change.text_document.uri]
            if change.text_document.version not in (None, version):
                return False
        for change in changes:
            uri = change.text_document.uri
            version, text = self.buffers[uri]
            for each in sorted(change.edits, key=_place, reverse=True):
                assert isinstance(each, types.TextEdit | types.AnnotatedTextEdit)
                index = LineIndex(text)
                start, end = (
                    index.offset(_position(at), "utf-16") for at in (each.range.start, each.range.end)
                )
                text = text[:start] + each.new_text + text[end:]
            self.buffers[uri] = (version + 1, text)
            self.text_document_did_change(
                types.DidChangeTextDocumentParams(
                    types.VersionedTextDocumentIdentifier(version + 1, uri),
                    [types.TextDocumentContentChangeWholeDocument(text)],
                )
            )
        return True

    def open(self, uri: str, text: str) -> None:
        """Open a buffer."""
        self.buffers[uri] = (1, text)
        item = types.TextDocumentItem(uri=uri, language_id="plaintext", version=1, text=text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send one of our own requests; the answer as plain JSON."""
        return await self.protocol.send_request_async(method, params)

    async def heard(self, kind: str) -> dict[str, Any]:
        """Wait for an event of this type, whenever it came."""
        async with asyncio.timeout(30):
            while True:
                for event in self.events:
                    if event["type"] == kind:
                        return event
                self.news.clear()
                await self.news.wait()


def _place(edit: Any) -> tuple[int, int]:
    return (edit.range.start.line, edit.range.start.character)


def _position(at: types.Position) -> Position:
    return Position(line=at.line, character=at.character)


def make_desk() -> Desk:
    """A client whose custom messages are plain JSON."""
    desk = Desk(protocol_cls=LanguageClientProtocol, converter_factory=wire_converter)
    register_lsp_features(desk)

    @desk.feature("planloom/event")
    def event(params: Any) -> None:
        desk.events.append(params)
        desk.news.set()

    @desk.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        """Everything may be registered."""

    @desk.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        desk.edits.append(params)
        return types.ApplyWorkspaceEditResult(applied=desk.take(params.edit))

    return desk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_bytes(b"on disk\n")
    return tmp_path


@pytest_lsp.fixture(
    config=ClientServerConfig(
        server_command=SERVER,
        client_factory=make_desk,
        server_env={**os.environ, "PLANLOOM_CONFIG": f"{STATE}/none.json"},
    ),
)
async def client(lsp_client: Desk, folder: Path) -> AsyncIterator[None]:
    capabilities = client_capabilities("visual_studio_code")
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities,
            workspace_folders=[types.WorkspaceFolder(uri=folder.as_uri(), name=folder.name)],
            initialization_options={"planloomClient": {"events": True, "approvals": True}},
        )
    )
    yield
    await lsp_client.shutdown_session()


async def test_an_unsaved_buffer_is_planned_approved_and_edited(client: Desk, folder: Path) -> None:
    uri = (folder / "notes.txt").as_uri()
    client.open(uri, "first\r\nold, typed and unsaved 😀\r\nlast\r\n")
    created = await client.ask(
        "planloom/plan/create", {"text": '1. Replace "old" with "new" in @notes.txt\n2. List files'}
    )
    assert created["plan"]["attachments"][0]["version"] == 1
    ready = await client.heard("plan_ready")
    assert [step["tool"] for step in ready["plan"]["steps"]] == ["edit_file", "list_files"]
    plan_id, version = ready["planId"], ready["plan"]["version"]
    await client.ask("planloom/plan/approve", {"planId": plan_id, "version": version})
    approval = (await client.heard("approval_request"))["approval"]
    shown = await client.ask("planloom/approval/diff", {"approvalId": approval["approvalId"], "uri": uri})
    assert shown["before"].startswith("first\r\nold") and shown["after"].startswith("first\r\nnew")
    await client.ask("planloom/approval/respond", {"approvalId": approval["approvalId"], "decision": "allow"})
    done = await client.heard("plan_completed")
    assert done["progress"]["completed"] == 2
    assert client.buffers[uri] == (2, "first\r\nnew, typed and unsaved 😀\r\nlast\r\n")
    assert (folder / "notes.txt").read_bytes() == b"on disk\n"
    (edit,) = client.edits
    (change,) = edit.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit) and change.text_document.version == 1
    assert [(each.range.start.line, each.range.end.line) for each in change.edits] == [(1, 1)]
    assert edit.label is not None and edit.label.startswith("Planloom: step 1")
