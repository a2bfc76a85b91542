"""A whole client of Planloom, by ../protocol.md: python client.py FOLDER 'REQUEST' [FILE TO OPEN …]"""

import difflib
import json
import queue
import re
import sys
import threading
from pathlib import Path
from subprocess import PIPE, Popen
from urllib.parse import unquote, urlsplit

DECLARED = ("events", "views", "approvals", "clarifications", "recovery", "conflicts", "save")
EDITS = {"documentChanges": True, "resourceOperations": ["create"]}
WORKSPACE = {"applyEdit": True, "workspaceEdit": EDITS}


class Client:
    def __init__(self, folder, trusted):
        self.server = Popen(["planloom", "serve", "--stdio"], stdin=PIPE, stdout=PIPE)
        self.sending, self.answers, self.changed = threading.Lock(), {}, threading.Event()
        self.buffers = {}
        threading.Thread(target=self.read, daemon=True).start()
        capabilities = {"general": {"positionEncodings": ["utf-32"]}, "workspace": WORKSPACE}
        options = {"planloomClient": {**dict.fromkeys(DECLARED, True), "trusted": trusted}}
        params = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
        self.request("initialize", {**params, "initializationOptions": options})
        self.send("initialized", {})

    def send(self, method=None, params=None, **message):
        message |= {"method": method, "params": params} if method else {}
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self.sending:
            self.server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self.server.stdin.flush()

    def request(self, method, params=None):
        ident, answer = len(self.answers), queue.Queue()
        self.answers[ident] = answer
        self.send(method, params, id=ident)
        message = answer.get()
        if "error" in message:
            print(message["error"]["message"])
        return message.get("result")

    def read(self):
        """Take what the server sends, in a thread of its own: edits are answered while the person thinks."""
        handlers = {"workspace/applyEdit": self.apply, "planloom/editor/save": self.save}
        while header := self.server.stdout.readline():
            self.server.stdout.readline()
            message = json.loads(self.server.stdout.read(int(header.split(b":")[1])))
            method, params = message.get("method"), message.get("params")
            if method is None:
                self.answers[message["id"]].put(message)
            elif method == "planloom/plan/view":
                self.changed.set()
            elif "id" in message:
                self.send(id=message["id"], result=handlers.get(method, lambda **_: None)(**params))

    def hold(self, uri, text, version=1):
        self.buffers[uri] = text, version
        document = {"uri": uri, "version": version}
        opened = {"textDocument": {**document, "languageId": "plaintext", "text": text}}
        changed = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.send(*("textDocument/didOpen", opened) if version == 1 else ("textDocument/didChange", changed))

    def apply(self, edit, **_):
        """Make an edit, or nothing of it where a buffer has changed since the version that the edit is for."""
        for document in (each.get("textDocument", {}) for each in edit["documentChanges"]):
            uri = document.get("uri")
            if document.get("version") not in (None, self.buffers.get(uri, (None, None))[1]):
                return {"applied": False, "failureReason": f"{uri} has another version"}
        for each in edit["documentChanges"]:
            uri = each.get("uri") or each["textDocument"]["uri"]
            if each.get("kind") == "create":
                path_of(uri).parent.mkdir(parents=True, exist_ok=True)
                path_of(uri).touch(exist_ok=False)
            if uri not in self.buffers:
                self.hold(uri, path_of(uri).read_bytes().decode())
            self.hold(uri, edited(self.buffers[uri][0], each.get("edits", ())), self.buffers[uri][1] + 1)
        return {"applied": True}

    def save(self, uris):
        for uri in uris:
            path_of(uri).write_bytes(self.buffers[uri][0].encode())
            self.send("textDocument/didSave", {"textDocument": {"uri": uri}})
        return {"saved": uris, "failed": []}

    def run(self, text):
        """Plan a request, and ask whenever the plan calls for the person. client.ts adds up patches instead."""
        plan_id = self.request("planloom/plan/create", {"text": text, "mode": "plan"})["plan"]["planId"]
        while plan_id and self.changed.wait():
            self.changed.clear()
            view = self.request("planloom/plan/view", {"planId": plan_id})["view"]
            if view["causes"] or view["plan"]["status"] == "paused" or not view["live"]:
                print(*self.lines(view), sep="\n", flush=True)
                plan_id = self.decide(view)
                self.changed.set()

    def lines(self, view):
        plan = view["plan"]
        yield f"{view['state']}: {view.get('pause') or plan.get('executionSummary') or plan['summary']}"
        for each in view["steps"]:
            yield f"{each['number']}. {each['step']['description']}: {each['words']}"
        yield from (f"{each['kind']} {path_of(each['uri']).name} {each['words']}" for each in view["files"])
        for each in (*plan["pending"]["questions"], *plan["pending"]["recoveries"]):
            yield each.get("question") or each["error"]
        for approval in plan["pending"]["approvals"]:
            for uri in (file["uri"] for file in approval["files"]):
                of = {"approvalId": approval["approvalId"], "uri": uri}
                texts = self.request("planloom/approval/diff", of) or {"before": "", "after": ""}
                sides = ((texts[side] or "").splitlines() for side in ("before", "after"))
                yield from difflib.unified_diff(*sides, uri, uri, lineterm="")

    def decide(self, view):
        """Ask for one of the actions that are offered, or for words; the plan to go on with, None to leave."""
        offered = [*view["actions"], *(each for step in view["steps"] for each in step.get("actions") or ())]
        print(*(f"[{number}] {each['title']}" for number, each in enumerate(offered, 1)), sep="  ")
        of, word = {"planId": view["plan"]["planId"]}, input("> ")
        chosen = [each for number, each in enumerate(offered, 1) if word in (str(number), each["title"])]
        if chosen:
            self.request("workspace/executeCommand", chosen[0])
        elif word and (asked := view["plan"]["pending"]["questions"]):
            self.request("planloom/step/answer", {**of, "stepId": asked[0]["stepId"], "answer": word})
        elif word:
            of = self.request("planloom/plan/message", {**of, "text": word}) or of
        return of["planId"] if word else None


def path_of(uri):
    return Path(unquote(urlsplit(uri).path))


def edited(text, edits):
    """The text with edits made, all of which count in the text as it was."""
    lines = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]
    for each in sorted(edits, key=lambda each: tuple(each["range"]["start"].values()), reverse=True):
        start, end = (lines[at["line"]] + at["character"] for at in each["range"].values())
        text = text[:start] + each["newText"] + text[end:]
    return text


folder = Path(sys.argv[1]).resolve()
client = Client(folder, trusted=input(f"Do you trust {folder}? (y) ") == "y")
for path in (folder / file for file in sys.argv[3:]):
    client.hold(path.as_uri(), path.read_bytes().decode())
client.run(sys.argv[2])
client.request("shutdown")
client.send("exit")
sys.exit(client.server.wait())
