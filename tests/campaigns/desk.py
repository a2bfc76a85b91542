"""A user's desk over many lives of the server: one editor, one folder, one plan, and what was told and allowed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, Literal

from planloom.domain.plans.templates import Template
from planloom.storage.ledger import Ledger
from tests.campaigns.circumstances import Circumstances
from tests.campaigns.manners import PATIENCE, answer_edit
from tests.campaigns.minds import ModelOfWorld
from tests.campaigns.worlds import COUNTER, Effect, State, World
from tests.support.http_server import Running, serving
from tests.support.memory_editor import MemoryEditor, path_of
from tests.support.process_client import ProcessClient
from tests.support.warm_server import Fault, WarmServers

Fate = Literal["same", "hot_exit", "bare"]
"""What becomes of the editor while the server is dead: it stays, restarts with its unsaved text, or without."""
_HALF_WRITTEN = re.compile(r"\.planloom-\d+-[0-9a-f]{16}\.(tmp|moving)")

Apply = Callable[[ProcessClient, dict[str, Any]], Any]
"""Answers `workspace/applyEdit` in the place of a well-behaved editor."""


class Desk:
    """Where one run takes place. `boot` starts a server on it, `told` has all events of all servers."""

    def __init__(
        self, warm: WarmServers, folder: Path, world: World, circumstances: Circumstances, rng: random.Random
    ) -> None:
        self.warm = warm
        self.folder = folder
        self.root = folder / "workspace"
        self.world = world
        self.circumstances = circumstances
        self.rng = rng
        self.model: Running | None = None
        self.clients: list[ProcessClient] = []
        self.allowed: dict[str, dict[str, Any]] = {}
        self.perished: set[str] = set()
        self.plan_id: str | None = None
        self.threw_away = False
        self.disk_log: Path | None = None
        self.apply: Apply | None = None
        self._tasks: set[asyncio.Future[Any]] = set()
        self.root.mkdir(parents=True)
        for name, text in world.files.items():
            (self.root / name).write_bytes(text.encode())
        if world.templates:
            _keep_templates(folder / "state", world)
        self.editor = MemoryEditor(
            lambda *_: None,
            circumstances.encoding,
            open_on_edit=circumstances.open_on_edit,
            contents=circumstances.new_files == "contents",
        )

    @property
    def client(self) -> ProcessClient:
        """The client of the server at hand."""
        return self.clients[-1]

    @property
    def told(self) -> list[dict[str, Any]]:
        """Every event that any server told, in the order of telling."""
        return [event for client in self.clients for event in client.events]

    def uri(self, name: str) -> str:
        """The URI of a file, as the editor writes it."""
        return (self.root / name).as_uri()

    async def boot(self, fault: Fault | None = None, *, patient: bool = True) -> ProcessClient:
        """Start a server and tell it of the open buffers. One that is not `patient` soon gives up an edit."""
        assert self.model is not None
        if self.circumstances.manner != "honest":
            patient = False
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "PLANLOOM_CONFIG": str(self.folder / "none.json"),
            **({"PLANLOOM_DISK_LOG": str(self.disk_log)} if self.disk_log else {}),
        }
        places = ["--storage", str(self.folder / "state"), "--log-file", str(self.folder / "server.log")]
        started = self.warm.start(
            places,
            environment,
            self.folder / "stderr.log",
            fault=fault,
            apply_seconds=None if patient else PATIENCE,
        )
        client = ProcessClient(started, self.circumstances.capabilities())
        client.editor = self.editor
        self.editor.tell = client.notify
        self.clients.append(client)
        await client.connect()
        client.answer("workspace/applyEdit", self._apply)
        options = {
            "planloom": self.circumstances.settings(self.model.origin),
            "planloomClient": self.circumstances.extension(),
        }
        await client.initialize([self.root], options)
        self.editor.reopen_all()
        return client

    def _apply(self, params: dict[str, Any]) -> Any:
        # What a client of a dead server still has to do, it does not do for the next one.
        if self.apply is not None:
            return self.apply(self.client, params)
        return answer_edit(self.editor, self.client, params, self.circumstances.manner, self.rng)

    def change_editor(self, fate: Fate) -> None:
        """Let the editor stay or restart while no server lives."""
        self.editor.tell = lambda *_: None
        # What has nothing unsaved follows the disk long before the next server starts.
        self.editor.refresh()
        if fate == "same":
            return
        if fate == "bare":
            unsaved = [(uri, buffer) for uri, buffer in self.editor.buffers.items() if buffer.dirty]
            self.threw_away = self.threw_away or bool(unsaved)
            self.perished |= {
                effect.token
                for effect in self.world.effects
                for uri, buffer in unsaved
                if effect.token in buffer.text and effect.token not in _on_disk(uri)
            }
            self.editor.buffers.clear()
            return
        for uri, buffer in list(self.editor.buffers.items()):
            # Only unsaved text outlives an editor; the rest is read from the disk again.
            self.editor.open(uri, buffer.text if buffer.dirty else None)

    def later(self, act: Coroutine[Any, Any, None]) -> None:
        """Let something happen beside, for as long as the run takes."""
        task = asyncio.ensure_future(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """End what still happens beside."""
        for task in tuple(self._tasks):
            task.cancel()

    # What can be seen.

    def state(self) -> State:
        """What the workspace holds as the user sees it: buffers over the disk, without the counter."""
        found: State = {}
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if name == COUNTER or name.startswith(".planloom") or _HALF_WRITTEN.fullmatch(path.name):
                continue
            # Another process may move it while we look.
            with contextlib.suppress(FileNotFoundError):
                found[name] = None if path.is_dir() else path.read_bytes().decode("utf-8", "replace")
        for uri, buffer in self.editor.buffers.items():
            found[path_of(uri).relative_to(self.root).as_posix()] = buffer.text
        return found

    def left_empty(self) -> list[str]:
        """Files on disk without a text."""
        paths = (path for path in self.root.rglob("*") if path.is_file() and not path.stat().st_size)
        return [path.relative_to(self.root).as_posix() for path in paths]

    def half_written(self) -> list[str]:
        """Files that a server was about to put in place when it died, and left behind."""
        return [path.name for path in self.root.rglob("*") if _HALF_WRITTEN.fullmatch(path.name)]

    def counter(self) -> str:
        """What the commands have written so far."""
        path = self.root / COUNTER
        return path.read_text() if path.exists() else ""

    def shows(self, effect: Effect) -> bool:
        """Whether the workspace shows an effect as made."""
        return effect.made(self.state(), self.counter()) > 0

    def write_story(self) -> None:
        """Leave behind what a person needs who looks into a failure."""
        with (self.folder / "story.jsonl").open("w", encoding="utf-8") as story:
            story.write(json.dumps({"world": self.world.plan, "expected": self.world.expected()}) + "\n")
            for life, client in enumerate(self.clients, start=1):
                for message in client.sent:
                    story.write(json.dumps({"life": life, **message}, ensure_ascii=False) + "\n")
            story.write(json.dumps({"state": self.state(), "counter": self.counter()}) + "\n")
        if self.model is not None:
            posts = [asked.json()["messages"][-1]["content"] for asked in self.model.posts()]
            (self.folder / "prompts.txt").write_text("\n\n=====\n".join(map(str, posts)), encoding="utf-8")

    # The user's small acts.

    def open_all(self) -> None:
        """Open the files that the plan may change."""
        for name in self.world.files:
            if (self.root / name).is_file() and self.uri(name) not in self.editor.buffers:
                self.editor.open(self.uri(name))

    def save_all(self) -> None:
        """Save what is unsaved; a clean buffer whose file changed on disk is reloaded, not written."""
        self.editor.refresh()
        for uri, buffer in list(self.editor.buffers.items()):
            if buffer.dirty:
                self.editor.save(uri)


def _on_disk(uri: str) -> str:
    path = path_of(uri)
    return path.read_bytes().decode() if path.is_file() else ""


def _keep_templates(state: Path, world: World) -> None:
    """Store the templates of a world before its first server starts."""
    state.mkdir(exist_ok=True)
    ledger = Ledger(state / "ledger.sqlite3")
    for name, steps in world.templates.items():
        whole = [{"kind": "tool_call", "instruction": each["description"], **each} for each in steps]
        template = Template.model_validate({"template_id": name, "name": name, "steps": whole})
        ledger.keep_template(template.template_id, template.model_dump_json())
    ledger.close()


@contextlib.asynccontextmanager
async def desk(
    warm: WarmServers, folder: Path, world: World, circumstances: Circumstances, rng: random.Random
) -> AsyncIterator[Desk]:
    """A desk with its model; the servers that still live at the end are killed."""
    made = Desk(warm, folder, world, circumstances, rng)
    async with serving(ModelOfWorld(world, circumstances.mind, made.shows)) as model:
        made.model = model
        watching = asyncio.ensure_future(_watch(made.editor))
        try:
            yield made
        finally:
            watching.cancel()
            made.close()
            for client in made.clients:
                await client.killed()


async def _watch(editor: MemoryEditor) -> None:
    """Reload clean buffers as files change on disk, as editors do."""
    while True:
        await asyncio.sleep(0.04)
        editor.refresh()
