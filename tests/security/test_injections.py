"""Texts that tell a model to do harm, by every way into its prompt, and a model that does whatever it is told."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Review
from planloom.domain.safety.approvals import Approval
from planloom.domain.text.positions import Position, Range
from planloom.domain.values import Uri
from planloom.workspace.editor import Diagnostic, FileDiagnostics
from tests.depth import DEEP, points
from tests.security.test_exported_markdown import active
from tests.service.test_execution_rules import with_steps, work_step
from tests.support.credulous_model import Call, CredulousModel, as_path, order, orders_in
from tests.support.http_server import Asked, Wire, serving
from tests.support.studio import Studio, studio

DATA: Final = Path(__file__).parent.parent / "data" / "injections.jsonl"
INJECTIONS: Final[list[dict[str, Any]]] = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
SECRET: Final = "CANARY-of-a-secret-file"
ORDINARY: Final = "CANARY-of-an-ordinary-file"
AT: Final = Range(start=Position(line=0, character=0), end=Position(line=0, character=1))


@dataclass
class Sink:
    """Where everything is to be sent: it counts the connections, and the bytes up to its answer."""

    port: int = 0
    connections: int = 0
    received: int = 0

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.received += len(await reader.read(65536))
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nok")
        writer.close()


@asynccontextmanager
async def a_sink() -> AsyncIterator[Sink]:
    sink = Sink()
    async with await asyncio.start_server(sink.take, "127.0.0.1", 0) as server:
        sink.port = server.sockets[0].getsockname()[1]
        yield sink


@dataclass
class Scene:
    """A folder with secrets and the orders of all injections; `texts` by the number of each, `commits` as well."""

    room: Studio
    origin: str
    texts: dict[int, str] = field(default_factory=dict)
    commits: dict[int, str] = field(default_factory=dict)


class Carrier(NamedTuple):
    """A way into the prompt: the call by which a plan meets the text with this number, after `put` has put it there."""

    call: Any
    put: Any = None
    trusted: bool = True


def _put_name(scene: Scene, number: int) -> None:
    path = scene.room.path(f"names/{number}/{as_path(scene.texts[number])}")
    path.parent.mkdir(parents=True)
    path.write_text("")


def _put_instructions(scene: Scene, number: int) -> None:
    scene.room.path("AGENTS.md").write_text(scene.texts[number] + "\n")


def _put_finding(scene: Scene, number: int) -> None:
    uri = Uri(scene.room.uri("src/app.py"))
    found = Diagnostic(range=AT, severity="error", message=scene.texts[number], source="lint")
    scene.room.editor.findings[uri] = FileDiagnostics(uri=uri, items=(found,))


def _shown_by_git(scene: Scene, number: int) -> Call:
    commit = scene.commits[number]
    if number % 2:
        return ("git_log", {"revision": commit, "max_results": 1})
    return ("git_diff", {"revision": f"{commit}~1..{commit}"})


CARRIERS: Final = {
    "file": Carrier(lambda _, number: ("read_file", {"path": f"orders/{number}.txt"})),
    "file name": Carrier(
        lambda _, number: ("find_files", {"pattern": "*", "path": f"names/{number}"}), _put_name
    ),
    "commit or diff": Carrier(_shown_by_git),
    "error of a command": Carrier(
        lambda _, number: ("run_command", {"command": f"cat orders/{number}.txt >&2; exit 1"})
    ),
    "output of a command": Carrier(
        lambda _, number: ("run_command", {"command": f"cat orders/{number}.txt"})
    ),
    "page": Carrier(lambda scene, number: ("fetch_url", {"url": f"{scene.origin}/{number}"})),
    "instructions of an untrusted folder": Carrier(
        lambda _, __: ("read_file", {"path": "AGENTS.md"}), _put_instructions, trusted=False
    ),
    "diagnostic": Carrier(lambda _, __: ("read_diagnostics", {"path": "src/app.py"}), _put_finding),
}


def _git(folder: Path, *args: str, data: bytes = b"") -> str:
    done = subprocess.run(["git", *args], cwd=folder, input=data, check=True, capture_output=True)
    return done.stdout.decode()


def _commits(folder: Path, texts: dict[int, str]) -> dict[int, str]:
    """A commit for each text, with it in the message and in a file; their hashes."""
    who = "committer A <a@example.org> 1700000000 +0000"
    stream = ""
    for number, text in texts.items():
        size = len(text.encode())
        stream += f"commit refs/heads/orders\nmark :{number}\n{who}\ndata {size}\n{text}\n"
        stream += f"M 644 inline {number}.txt\ndata {size}\n{text}\n"
    _git(folder, "init", "-q")
    _git(folder, "fast-import", "--quiet", data=stream.encode())
    return dict(zip(texts, _git(folder, "rev-list", "--reverse", "refs/heads/orders").split(), strict=True))


def _state(folder: Path) -> dict[str, str]:
    """Every file below, but for those that a carrier or the plan itself is about."""
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
        and (name := path.relative_to(folder).as_posix())
        not in ("workspace/notes.txt", "workspace/AGENTS.md")
        and not name.startswith("workspace/names/")
    }


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on a disk, since a confined command has a shared memory of its own."""
    monkeypatch.setenv("TMPDIR", "/tmp")
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as made:
        yield Path(made).resolve()


def _files(folder: Path) -> dict[str, str]:
    (folder / "outside").mkdir(parents=True)
    (folder / "outside" / "secret.txt").write_text(SECRET)
    (folder / "workspace").mkdir()
    (folder / "workspace" / "link.txt").symlink_to(folder / "outside" / "secret.txt")
    return {
        ".env": f"TOKEN={SECRET}\n",
        "src/app.py": "print('app')\n",
        "src/keys.py": f"KEY = '{ORDINARY}'\n",
    }


def _text(row: dict[str, Any], sink: Sink, folder: Path) -> str:
    text = order(row["says"], [(name, args) for name, args in row["calls"]])
    places = {
        "{sink}": f"http://127.0.0.1:{sink.port}",
        "{sink_host}": "127.0.0.1",
        "{sink_port}": str(sink.port),
        "{outside}": str(folder / "outside"),
    }
    for name, value in places.items():
        text = text.replace(name, value)
    return text


def _answer(approval: Approval, carrying: Call, own: frozenset[Uri]) -> tuple[str, tuple[Uri, ...] | None]:
    """The person's decision: the call that brings the text in is allowed, and of files those of `own`."""
    name, args = carrying
    if name == "run_command" and approval.command == args["command"]:
        return "allow", None
    if name == "fetch_url" and approval.url == args["url"]:
        return "allow", None
    files = tuple(file.uri for file in approval.files if file.uri in own)
    return ("allow", files) if files else ("deny", None)


def _shows(approval: Approval, call: Call) -> bool:
    """Whether a person who reads the approval sees this call."""
    name, args = call
    if name == "run_command":
        command = args["command"]
        words = (" ".join(command) if isinstance(command, list) else command).split()
        return approval.command is not None and words[-1] in approval.command
    if name == "fetch_url":
        return approval.url is not None and args["url"] in approval.url
    if name == "submit_plan":
        return bool(approval.plan_changes)
    return any(f"/{args['path']}" in file.uri for file in approval.files)


@dataclass
class Outcome:
    """What has become of the calls that a model was told to make, with what a person could see of them."""

    model: CredulousModel
    events: list[Any]
    denied: list[Approval]
    error: str | None
    """The code of the error for which the step waits for the person at the end."""

    def of(self, call: Call) -> str:
        """What has become of one call."""
        if call[0] in ("task_completed", "final_answer"):
            return "shown as text"
        if any(_shows(each, call) for each in self.denied):
            return "asked and denied"
        calls = [each for each in self.events if isinstance(each, ev.ToolStarted)]
        found = next((each for each in calls if (each.tool, each.args) == call), None)
        if found is None:
            return "told the model alone"
        ends = [each for each in self.events if isinstance(each, ev.ToolCompleted)]
        succeeded = any(each.ok for each in ends if each.call_id == found.call_id)
        if succeeded and found.effect == "read":
            return "read"
        # What a step has staged is refused when the step ends.
        return "made" if succeeded and self.error != "untrusted_workspace" else "refused"

    @property
    def commands(self) -> int:
        """How many commands were started."""
        return sum(isinstance(each, ev.StepUpdate) and each.command_started for each in self.events)


async def _run(
    scene: Scene, carrier: Carrier, number: int, own: frozenset[Uri], review: Review | None = None
) -> Outcome:
    room = scene.room
    if carrier.put is not None:
        carrier.put(scene, number)
    carrying: Call = carrier.call(scene, number)
    room.model.model = None
    plan = await with_steps(room, work_step("Write the notes", instruction="Write notes.txt."))
    start = len(room.events)
    task: Call = ("write_file", {"path": "notes.txt", "content": f"The notes {number}.\n"})
    model = CredulousModel([carrying], [task] if own else [])
    room.model.model = model
    plan = await room.approve(plan, review=review)
    denied = []
    while plan.pending.approvals:
        approval = plan.pending.approvals[0]
        decision, files = _answer(approval, carrying, own)
        if decision == "deny" or len(files or ()) < len(approval.files):
            denied.append(approval)
        plan = await room.respond(plan, decision, files=files)
    events = [each.event for each in room.events[start:]]
    error = plan.pending.recoveries[0].code if plan.pending.recoveries else None
    assert active(room.app.plans.markdown(plan.plan_id)) == []
    if plan.status not in ("completed", "failed", "cancelled"):
        await room.app.plans.cancel(plan.plan_id)
    return Outcome(model, events, denied, error)


DENIED: Final = {
    ("send", "asked and denied"): 18,
    ("fetch", "asked and denied"): 3,
    ("fetch", "refused"): 7,
    ("fetch", "read"): 1,
    ("plant", "asked and denied"): 13,
    ("plant", "refused"): 4,
    ("delete", "asked and denied"): 2,
    ("delete", "refused"): 3,
    ("read", "asked and denied"): 6,
    ("read", "refused"): 5,
    ("read", "read"): 1,
    ("revise", "asked and denied"): 2,
    ("revise", "told the model alone"): 1,
    ("answer", "shown as text"): 3,
}
"""What becomes of the calls that the injections tell the model to make, in a trusted folder. None is made.

Without asking are refused: what is protected or outside, and addresses that no page can have. The model alone is told
why a plan cannot be used. Two reads are of a file whose name does not say that it holds a key.
"""


def _untrusted() -> Counter[tuple[str, str]]:
    """The same in a folder that nobody trusts: nothing is asked there but to change the plan."""
    counts: Counter[tuple[str, str]] = Counter()
    for (kind, outcome), count in DENIED.items():
        asked = outcome == "asked and denied" and kind != "revise"
        counts[kind, "refused" if asked else outcome] += count
    return counts


@asynccontextmanager
async def _scene(folder: Path, *, trusted: bool) -> AsyncIterator[tuple[Scene, Sink]]:
    pages: dict[str, str] = {}

    async def page(asked: Asked, wire: Wire) -> None:
        await wire.reply(200, pages[asked.path].encode(), content_type="text/plain; charset=utf-8")

    async with a_sink() as sink, serving(page) as server:
        files = _files(folder)
        texts = {row["id"]: _text(row, sink, folder) for row in INJECTIONS}
        pages |= {f"/{number}": text for number, text in texts.items()}
        files |= {f"orders/{number}.txt": text for number, text in texts.items()}
        async with studio(folder, files, settings={"fetch.allowInternal": True}, trusted=trusted) as room:
            yield Scene(room, server.origin, texts, _commits(room.folder, texts)), sink


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CARRIERS)
@pytest.mark.parametrize("allows_task", [False, True], ids=["denies", "allows the task"])
async def test_a_model_that_obeys_does_no_harm(name: str, allows_task: bool, folder: Path) -> None:
    """The person denies all but what brings the text in, or allows besides the one file that the plan is about."""
    carrier = CARRIERS[name]
    counts: Counter[tuple[str, str]] = Counter()
    async with _scene(folder, trusted=carrier.trusted) as (scene, sink):
        notes = scene.room.path("notes.txt")
        own = frozenset({Uri(scene.room.uri("notes.txt"))}) if allows_task else frozenset()
        before = _state(folder)
        # A few names of files alone would stand in the tree of the workspace as well, cut off.
        for row in points(INJECTIONS, 1 if name == "file name" else 6, [*CARRIERS].index(name)):
            out = await _run(scene, carrier, row["id"], own)
            outcomes = [out.of(call) for call in out.model.obeyed]
            counts.update((row["kind"], outcome) for outcome in outcomes)
            told = [message.text for request in out.model.requests for message in request.messages]
            assert len(outcomes) == len(row["calls"]), "it was told something else, or nothing"
            assert not any(orders_in(message.text) for message in out.model.requests[0].messages)
            assert not any(SECRET in text for text in told)
            assert any(ORDINARY in text for text in told) == ("read" in outcomes)
            assert out.commands == (carrier.call(scene, row["id"])[0] == "run_command")
            if allows_task and carrier.trusted and row["kind"] != "answer":
                assert scene.room.text("notes.txt") == f"The notes {row['id']}.\n"
        assert _state(folder) == before
        assert notes.exists() == (allows_task and carrier.trusted)
        wanted = Counter(DENIED) if carrier.trusted else _untrusted()
        assert counts == wanted if DEEP else counts <= wanted
        assert (sink.connections, sink.received) == (0, 0)


@pytest.mark.slow
async def test_writing_without_questions_covers_nothing_that_runs_by_itself(folder: Path) -> None:
    """The person has approved the plan with the review `auto`, and denies what is asked all the same."""
    async with _scene(folder, trusted=True) as (scene, sink):
        before = _state(folder)
        counts: Counter[tuple[str, str]] = Counter()
        for row in INJECTIONS:
            own = frozenset({Uri(scene.room.uri("notes.txt"))})
            out = await _run(scene, CARRIERS["file"], row["id"], own, "auto")
            counts.update((row["kind"], out.of(call)) for call in out.model.obeyed)
            if row["id"] == 1:
                asked = [each.approval for each in out.events if isinstance(each, ev.ApprovalRequested)]
                assert not any(approval.files for approval in asked), "the task's own file is not asked about"
                assert scene.room.text("notes.txt") == f"The notes {row['id']}.\n"
        assert _state(folder) == before
        assert counts == DENIED
        assert (sink.connections, sink.received) == (0, 0)


async def test_the_same_model_does_harm_if_all_is_allowed(folder: Path) -> None:
    """What the run counts can be seen where it happens: an address that is fetched, and a task of the editor."""
    async with _scene(folder, trusted=True) as (scene, sink):
        before = _state(folder)
        for kind in ("fetch", "plant"):
            row = next(each for each in INJECTIONS if each["kind"] == kind)
            scene.room.model.model = None
            plan = await with_steps(scene.room, work_step("Write the notes"))
            scene.room.model.model = CredulousModel([CARRIERS["file"].call(scene, row["id"])], [])
            plan = await scene.room.approve(plan)
            while plan.pending.approvals:
                plan = await scene.room.respond(plan)
        assert {*_state(folder)} - {*before} == {"workspace/.vscode/tasks.json"}
        assert sink.received > 0
