"""Measures a warm server from a request to three files, beside Codex's app-server and a bare loop in a pygls server.

The servers are real processes, and the model is scripted, over HTTP on loopback with connections that stay open.
Codex is left out where `make peers` has not installed it.

"Direct" has the model say beside its calls that they end the task, as the prompts ask for; "two requests" has it say so
in an answer of its own, before which nothing is written, since all changes of a task are made together.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from bench.figures import Figure, Measured, main
from bench.peers import install
from bench.peers.endpoint import Exchange
from bench.peers.three_files import FILES, REQUEST, serving
from bench.server_process import SERVE, ServerProcess, own_state

SECONDS: Final = 20.0
ENDED: Final = ("plan_completed", "plan_failed", "plan_paused", "plan_cancelled")
WORKSPACE_EDIT: Final = {
    "documentChanges": True,
    "resourceOperations": ["create", "rename", "delete"],
    "failureHandling": "transactional",
}
CAPABILITIES: Final = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"applyEdit": True, "workspaceFolders": True, "workspaceEdit": WORKSPACE_EDIT},
}
BARE: Final = """
import json, httpx
from lsprotocol import types as t
from pygls.lsp.server import LanguageServer
server = LanguageServer("bare", "1")
client = httpx.AsyncClient(trust_env=False)
tools = [{"type": "function", "function": {"name": "write_file", "description": "x" * 6000, "parameters": {}}}]
@server.feature("bare/run")
async def run(ls, params):
    messages = [{"role": "user", "content": params.text}]
    while True:
        body = {"model": "scripted", "messages": messages, "stream": True, "tools": tools}
        calls = []
        async with client.stream("POST", params.url + "/chat/completions", json=body) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    calls += json.loads(line[6:])["choices"][0]["delta"].get("tool_calls", ())
        if not calls:
            return {}
        changes = []
        for call in calls:
            given = json.loads(call["function"]["arguments"])
            uri = params.folder + "/" + given["path"]
            start = t.Position(0, 0)
            edit = t.TextEdit(t.Range(start, start), given["content"])
            document = t.OptionalVersionedTextDocumentIdentifier(uri)
            changes += [t.CreateFile(uri), t.TextDocumentEdit(document, [edit])]
        edit = t.WorkspaceEdit(document_changes=changes)
        await ls.workspace_apply_edit_async(t.ApplyWorkspaceEditParams(edit))
        messages.append({"role": "tool", "content": "done"})
server.start_io()
"""
PARTS: Final = (
    ("direct", "files", "codex", Figure(name="request to three files, direct", anchor="codex", goal=0.25)),
    ("planned", "files", "codex", Figure(name="request to plan to three files", anchor="codex", goal=0.35)),
    ("direct", "answer", "codex", Figure(name="answer to three files, direct", anchor="codex", goal=0.5)),
    ("direct", "end", "codex", Figure(name="request to the end, direct", anchor="codex")),
    ("two", "files", "codex", Figure(name="request to three files, direct, two requests", anchor="codex")),
    ("two", "answer", "codex", Figure(name="answer to three files, direct, two requests", anchor="codex")),
    ("direct", "files", "bare", Figure(name="request to three files, direct, beside a loop", anchor="loop")),
    ("two", "between", "bare", Figure(name="answer to next request, three writes between", anchor="loop")),
    ("direct", "processor", "bare", Figure(name="processor time of the request, direct", anchor="loop")),
    ("planned", "processor", "bare", Figure(name="processor time of the request, planned", anchor="loop")),
)
"""Who is measured, what of it, beside whom."""


class Watch:
    """Notes when all files are there."""

    def __init__(self, folder: Path) -> None:
        self._made = 0.0
        self._files = [folder / name for name in FILES]
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def made(self) -> float:
        """When the last file was there. Raises RuntimeError if one is missing. The files are removed."""
        self._thread.join()
        if not self._made:
            raise RuntimeError("the files were not written")
        for file in self._files:
            file.unlink()
        return self._made

    def _look(self) -> None:
        until = time.perf_counter() + SECONDS
        while time.perf_counter() < until:
            if all(file.exists() and file.stat().st_size for file in self._files):
                self._made = time.perf_counter()
                return
            time.sleep(0.0003)


class Editor(ServerProcess):
    """A language server with a client that writes every edit to disk at once."""

    def __init__(self, command: tuple[str, ...], workspace: Path) -> None:
        super().__init__(command)
        self.workspace = workspace
        self._ids = iter(range(2, 1_000_000))

    def request(self, method: str, params: Any) -> Any:
        """The result of a request; what the server asks meanwhile is answered. Raises RuntimeError."""
        ident = next(self._ids)
        self.tell(method, params, ident)
        answer = self.until(lambda message: message.get("id") == ident and "method" not in message)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def until(self, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read up to a message."""
        while not is_wanted(message := self.read()):
            if "method" in message and "id" in message:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": self._answer(message)})
        return message

    def _answer(self, message: dict[str, Any]) -> Any:
        params = message["params"]
        if message["method"] == "workspace/configuration":
            return [None for _ in params["items"]]
        if message["method"] != "workspace/applyEdit":
            return None
        for change in params["edit"]["documentChanges"]:
            if "edits" in change:
                text = "".join(edit["newText"] for edit in change["edits"])
                path = Path(unquote(urlsplit(change["textDocument"]["uri"]).path))
                path.write_text(text, encoding="utf-8")
        return {"applied": True}


class Lines(ServerProcess):
    """A server that speaks JSON-RPC in lines, as Codex's app-server does."""

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message


Exchanges = list[Exchange]
Round = Callable[[Exchanges], dict[str, float]]
"""One request: its times in ms."""


def planloom(workspace: Path, url: str) -> Editor:
    """A server that has loaded everything."""
    editor = Editor(SERVE, workspace)
    uri = workspace.as_uri()
    settings = {
        "model": {"provider": "openai", "baseUrl": url, "name": "scripted", "profile": "lean"},
        "approvals": {"write": "allow"},
        "execution": {"review": "auto"},
    }
    declared = {"events": True, "approvals": True, "save": True, "trusted": True}
    editor.request(
        "initialize",
        {
            "processId": os.getpid(),
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": workspace.name}],
            "capabilities": CAPABILITIES,
            "initializationOptions": {"planloom": settings, "planloomClient": declared},
        },
    )
    editor.tell("initialized", {})
    editor.request("planloom/status", {})
    return editor


def of_planloom(editor: Editor, mode: str) -> Round:
    """Requests that run directly, or whose plan is approved at once."""

    def round_(exchanges: Exchanges) -> dict[str, float]:
        watch = Watch(editor.workspace)
        spent, began = editor.processor(), time.perf_counter()
        plan = editor.request("planloom/plan/create", {"text": REQUEST, "mode": mode})["plan"]

        def of_plan(message: Mapping[str, Any], *types: str) -> bool:
            params = message.get("params") or {}
            is_event = message.get("method") == "planloom/event" and params["planId"] == plan["planId"]
            return is_event and params["type"] in types

        if mode == "plan":
            ready = editor.until(lambda message: of_plan(message, "plan_ready", *ENDED))
            approval = {"planId": plan["planId"], "version": ready["params"]["plan"]["version"]}
            editor.request("planloom/plan/approve", approval)
        end = editor.until(lambda message: of_plan(message, *ENDED))
        if end["params"]["type"] != "plan_completed":
            raise RuntimeError(end["params"])
        ended = time.perf_counter()
        spent = editor.processor() - spent
        return _row(began, ended, watch.made(), exchanges) | {"processor": spent}

    return round_


def of_bare(editor: Editor, url: str) -> Round:
    """The same calls by a loop of httpx in a pygls server."""
    params = {"text": REQUEST, "url": url, "folder": editor.workspace.as_uri()}

    def round_(exchanges: Exchanges) -> dict[str, float]:
        watch = Watch(editor.workspace)
        spent, began = editor.processor(), time.perf_counter()
        editor.request("bare/run", params)
        ended = time.perf_counter()
        spent = editor.processor() - spent
        return _row(began, ended, watch.made(), exchanges) | {"processor": spent}

    return round_


def codex(path: Path, url: str) -> Lines:
    """Codex's app-server."""
    provider = f'{{name="scripted",base_url="{url}",wire_api="responses",env_key="KEY"}}'
    peer = Lines(
        (
            *(str(path), "app-server", "-c", "model_provider=scripted", "-c", "analytics.enabled=false"),
            *("-c", f"model_providers.scripted={provider}"),
        )
    )
    peer.ask(1, "initialize", {"clientInfo": {"name": "bench", "version": "1"}})
    peer.tell("initialized", {})
    return peer


def of_codex(peer: Lines, workspace: Path) -> Round:
    """Turns of Codex's app-server, each in a thread of its own."""
    ids = iter(range(2, 1_000_000))
    options = {
        "cwd": str(workspace),
        "model": "scripted",
        "approvalPolicy": "never",
        "sandbox": "danger-full-access",
    }

    def round_(exchanges: Exchanges) -> dict[str, float]:
        watch = Watch(workspace)
        began = time.perf_counter()
        thread = peer.ask(next(ids), "thread/start", options)["result"]["thread"]["id"]
        peer.ask(next(ids), "turn/start", {"threadId": thread, "input": [{"type": "text", "text": REQUEST}]})
        while peer.read().get("method") != "turn/completed":
            pass
        return _row(began, time.perf_counter(), watch.made(), exchanges)

    return round_


def _row(began: float, ended: float, made: float, exchanges: Exchanges) -> dict[str, float]:
    row = {"files": made - began, "end": ended - began, "answer": made - exchanges[0].answered}
    if len(exchanges) > 1:
        row["between"] = exchanges[1].came - exchanges[0].answered
    return {name: 1000 * value for name, value in row.items()}


def figures(quick: bool) -> Iterator[Measured]:
    """All in turn; the first rounds of each, which fill its caches, are dropped."""
    with ExitStack() as stack:
        state = stack.enter_context(own_state())
        os.environ |= {"CODEX_HOME": str(state), "KEY": "none"}
        url, exchanges = stack.enter_context(serving())
        ending, at_once = stack.enter_context(serving(ends_with_calls=True))
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(4)]
        ours, two = planloom(folders[0], ending), planloom(folders[3], url)
        plain = Editor((sys.executable, "-c", BARE), folders[1])
        for each in (ours, two, plain):
            stack.callback(each.end)
        plain.request("initialize", {"processId": None, "rootUri": None, "capabilities": CAPABILITIES})
        plain.tell("initialized", {})
        rounds = {
            "bare": of_bare(plain, url),
            "direct": of_planloom(ours, "direct"),
            "two": of_planloom(two, "direct"),
            "planned": of_planloom(ours, "plan"),
        }
        served = dict.fromkeys(("direct", "planned"), at_once)
        if (path := install.codex()) is not None:
            peer = codex(path, url)
            stack.callback(peer.end)
            rounds["codex"] = of_codex(peer, folders[2])
        rows: dict[str, list[dict[str, float]]] = {name: [] for name in rounds}
        for number in range(-3, 5 if quick else 25):
            for name, measure in rounds.items():
                its = served.get(name, exchanges)
                its.clear()
                row = measure(its)
                if number >= 0:
                    rows[name].append(row)
    for who, part, beside, figure in PARTS:
        values, anchors = ([row[part] for row in rows.get(name, ()) if part in row] for name in (who, beside))
        if values and len(values) == len(anchors):
            yield figure.paired(values, anchors)


if __name__ == "__main__":
    main(__doc__, figures)
