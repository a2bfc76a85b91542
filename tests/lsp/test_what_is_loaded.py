"""Which rooms the real server has imported at which point: none before something needs it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.server_process import PARAMS, ServerProcess, own_state
from planloom.service import application

REQUEST = "1. Create b.txt with the content `b`\n2. List the files"
OF_EXECUTION = (
    "planloom.agent.loop",
    "planloom.execution.effects.gate",
    "planloom.execution.nodes",
    "planloom.execution.steps",
    "planloom.service.execution",
    "planloom.tools.files",
    "planloom.tools.git",
    "planloom.tools.processes",
    "planloom.tools.search",
    "planloom.tools.confinement",
    "planloom.workspace.edits",
)
OF_FEW_SERVERS = (
    "planloom.domain.document",
    "planloom.execution.effects.reconcile",
    "planloom.lsp.commands",
    "planloom.lsp.editor.message_prompts",
    "planloom.lsp.plan_documents.documents",
    "planloom.lsp.wire.methods.decisions",
    "planloom.lsp.wire.methods.references",
    "planloom.lsp.wire.methods.templates",
    "planloom.models.http.http_model",
    "planloom.service.actions.undo",
)
OF_DRAFTS = (
    "planloom.domain.memory",
    "planloom.lsp.handlers.plans",
    "planloom.lsp.wire.declared_events",
    "planloom.lsp.wire.methods.plans",
    "planloom.planning.rules",
    "planloom.tools.catalog",
)
ABSENT = {
    "status": (*OF_EXECUTION, *OF_FEW_SERVERS, *OF_DRAFTS),
    "plan_completed": OF_FEW_SERVERS,
}
"""What is not imported yet when a server has answered `planloom/status`, and when it has executed a plan by rules."""
SERVE = """
import signal, sys
from pathlib import Path
told = sys.argv.pop(1)
signal.signal(signal.SIGUSR1, lambda *_: Path(told).write_text("\\n".join(sys.modules), encoding="utf-8"))
from planloom.__main__ import main
main()
"""


pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="the server is asked by a signal"),
]


@pytest.mark.parametrize("stage", ABSENT)
def test_a_server_has_not_imported_what_nothing_has_needed_yet(tmp_path: Path, stage: str) -> None:
    with _served(tmp_path) as server:
        server.until(stage)
        imported = server.imported()
    assert "planloom.service.application" in imported
    assert _of(imported, ABSENT[stage]) == []


def test_what_executes_plans_is_imported_while_a_person_reads_the_first_one(tmp_path: Path) -> None:
    with _served(tmp_path) as server:
        server.until("plan_approval_request")
        while not {*application.OF_EXECUTION} <= {*(imported := server.imported())}:
            pass
    # The draft itself needed none of it.
    drafted = [imported.index(name) for name in _of(imported, ("planloom.planning.rules",))]
    assert all(imported.index(name) > max(drafted) for name in _of(imported, OF_EXECUTION))


def _of(imported: Sequence[str], rooms: Sequence[str]) -> list[str]:
    """The modules of these packages and modules."""
    return [name for name in imported if any(f"{name}.".startswith(f"{room}.") for room in rooms)]


class _Server(ServerProcess):
    """A server that writes the names of its modules into a file, in the order of their import, when it is asked."""

    def __init__(self, folder: Path, told: Path) -> None:
        super().__init__((sys.executable, "-c", SERVE, str(told), "serve", "--stdio"))
        self._folder = folder
        self._told = told

    def imported(self) -> list[str]:
        self.process.send_signal(signal.SIGUSR1)
        # It reads this request after it has handled the signal.
        self.ask(9, "planloom/status", {})
        return self._told.read_text(encoding="utf-8").splitlines()

    def until(self, stage: str) -> None:
        options = {
            "planloom": {"model": {"provider": "embedded"}, "approvals": {"write": "allow"}},
            "planloomClient": {"events": True, "trusted": True},
        }
        params = PARAMS | {"rootUri": self._folder.as_uri(), "initializationOptions": options}
        self.ask(1, "initialize", params)
        self.tell("initialized", {})
        self.ask(2, "planloom/status", {})
        if stage == "status":
            return
        self.tell("planloom/plan/create", {"text": REQUEST, "mode": "plan"}, 3)
        plan_id = self._hear("plan_approval_request")["planId"]
        if stage == "plan_approval_request":
            return
        self.tell("planloom/plan/approve", {"planId": plan_id, "version": 1, "review": "each"}, 4)
        self._hear(stage)

    def _hear(self, event: str) -> dict[str, Any]:
        """The next event of this type; meanwhile no edit is applied by the editor, so that the disk is written."""
        while ((message := self.read()).get("params") or {}).get("type") != event:
            assert "error" not in message, message
            if message.get("method") == "workspace/applyEdit":
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": {"applied": False}})
        found: dict[str, Any] = message["params"]
        return found


@contextmanager
def _served(tmp_path: Path) -> Iterator[_Server]:
    with own_state() as folder:
        server = _Server(folder, tmp_path / "modules.txt")
        try:
            yield server
        finally:
            server.end()
