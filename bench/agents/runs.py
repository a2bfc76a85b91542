"""One run: a fresh folder, an agent, its model's server, a person who types, a kill; and what is counted of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from bench.agents.acp_client import Editor, converse
from bench.agents.model import Body, Model, Scripted, new_bytes
from bench.agents.person import Person
from bench.agents.roster import Agent, Given
from bench.agents.tasks import GIT, HOLD, Task, doubled, passes, prepare, published, target
from bench.agents.wire import cached_order
from bench.peers.endpoint import Exchange, endpoint
from planloom.domain.values import Value
from tests.support.descendants import descendants

Way = Literal["alone", "beside", "across", "killed", "cut off"]
"""How a run is disturbed: not at all; a person types beside the edits, or across one; the agent is killed while its
model thinks, or while its command runs."""
WAYS: Final[tuple[Way, ...]] = get_args(Way)
SECONDS: Final = 300
MakeModel = Callable[[Scripted, str], Model]
"""The model of a run: given the scripted one, and the name of the run."""


class Outcome(Value):
    """What is counted of one run. `right` says that the hidden tests pass; `seconds` are those beside the model's."""

    agent: str
    task: str
    way: Way
    right: bool
    published: int
    keys: int
    lost: int
    doubled: int
    requests: int
    sent: int
    new: int
    seconds: float
    anew: bool = False
    """Whether the agent was resumed in vain, and then asked once more."""
    drift: int = 0
    problem: str = ""


@dataclass
class Run:
    """A run while it goes on."""

    agent: Agent
    task: Task
    way: Way
    seed: int
    kill_at: int
    scripted: Scripted
    model: Model
    given: Given
    person: Person
    editor: Editor
    process: subprocess.Popen[bytes] | None = None
    requests: int = 0
    killed: bool = False
    anew: bool = False
    ended: Sequence[int] = ()

    def answer(self, path: str, body: Body) -> tuple[bytes, str]:
        """The model's answer; what disturbs the agent happens before it is sent."""
        self.requests += 1
        content, kind, edits = self.model.answer(path, body)
        if self.way == "beside" and self.requests <= 4:
            self.person.beside()
        if self.way == "across" and edits:
            self.person.across()
        if self.way == "killed" and not self.killed and self.requests == self.kill_at:
            self.kill()
        return content, kind

    def kill(self) -> None:
        """End the agent with all that it has started, at once."""
        self.killed = True
        assert self.process is not None
        started = [self.process.pid, *descendants(self.process.pid)]
        self.ended = started[1:]
        for each in started:
            try:
                os.kill(each, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def wait(self) -> None:
        """Wait until the system no longer lists what was killed, as a person would; five seconds at most."""
        until = time.monotonic() + 5
        while time.monotonic() < until and any(Path(f"/proc/{each}").exists() for each in self.ended):
            time.sleep(0.005)

    def watch(self) -> None:
        """Kill the agent as soon as its command has had its effect."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and self.process is not None and self.process.poll() is None:
            if published(self.given.folder):
                self.kill()
                break
            time.sleep(0.005)


def run(
    agent: Agent, task: Task, way: Way, seed: int, kill_at: int, make: MakeModel, keep: Path | None
) -> Outcome:
    """Do one run. What the agent printed, and what it asked its model, is kept in the folder `keep`."""
    with tempfile.TemporaryDirectory(prefix="bench-agents-") as place:
        home, folder = Path(place, "home"), Path(place, task.name)
        home.mkdir()
        prepare(task, folder)
        wanted = target(task, folder)
        editor = Editor(folder, task.paths if agent.talks == "ACP" else ())
        person = Person(task, folder, f"{task.name} {seed}", editor.read, editor.type)
        name = f"{agent.name} {task.name} {way}".replace(" ", "-").replace(",", "")
        scripted = Scripted(task, agent.speaker(task, folder, editor.read))
        model = make(scripted, name)
        given = Given("", home, folder, task.prompt, task.paths)
        this = Run(agent, task, way, seed, kill_at, scripted, model, given, person, editor)
        with endpoint(this.answer) as (url, exchanges):
            this.given = given._replace(url=url)
            agent.prepare(this.given)
            began = time.perf_counter()
            problem, said = _carry_out(this)
            seconds = time.perf_counter() - began - thinking(exchanges)
        editor.save()
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{name}.txt").write_bytes(said)
            bodies = [exchange.body for exchange in exchanges]
            (keep / f"{name}.json").write_text(json.dumps(bodies, indent=1), encoding="utf-8")
        prompts = [cached_order(exchange.body) for exchange in exchanges]
        return Outcome(
            agent=agent.name,
            task=task.name,
            way=way,
            right=passes(task, folder),
            published=published(folder),
            keys=person.keys(),
            lost=person.lost(),
            doubled=doubled(task, folder, wanted),
            requests=len(prompts),
            sent=sum(exchange.size for exchange in exchanges),
            new=new_bytes(prompts),
            seconds=seconds,
            anew=this.anew,
            drift=model.drift,
            problem=problem,
        )


def thinking(exchanges: list[Exchange]) -> float:
    """The seconds in which the model's server had a request to answer."""
    total = end = 0.0
    for each in sorted(exchanges, key=lambda exchange: exchange.came):
        total += max(0.0, each.answered - max(each.came, end))
        end = max(end, each.answered)
    return total


def _carry_out(this: Run) -> tuple[str, bytes]:
    """Start the agent, and where it is killed start it again; what went wrong, and all that it said."""
    hold = this.given.folder / HOLD
    if this.way == "cut off":
        hold.touch()
    code, said = _started(this, resumed=False)
    hold.unlink(missing_ok=True)
    if this.killed and this.agent.resume is None:
        code, more = _started(this, resumed=False)
        said += more
    elif this.killed:
        before = this.requests
        code, more = _started(this, resumed=True)
        said += more
        this.anew = this.scripted.forgotten or (this.requests == before and not published(this.given.folder))
        if this.anew:
            # There was nothing that it could go on with: the person asks once more.
            code, more = _started(this, resumed=False)
            said += more
    elif this.way in {"killed", "cut off"}:
        return "it ended before it was to be killed", said
    return f"exit code {code}" if code else "", said


def _started(this: Run, resumed: bool) -> tuple[int, bytes]:
    """Start the agent and wait for its end: its exit code, and what it said."""
    command = this.agent.resume if resumed and this.agent.resume is not None else this.agent.start
    with tempfile.TemporaryFile() as output:
        this.process = subprocess.Popen(
            [str(word) for word in command(this.given)],
            cwd=this.given.folder,
            env=_environment(this),
            stdin=subprocess.PIPE if this.agent.talks == "ACP" else subprocess.DEVNULL,
            stdout=subprocess.PIPE if this.agent.talks == "ACP" else output,
            stderr=output,
            start_new_session=True,
        )
        overdue = threading.Timer(SECONDS, this.kill)
        overdue.daemon = True
        overdue.start()
        if this.way == "cut off" and not this.killed:
            threading.Thread(target=this.watch, daemon=True).start()
        said = b""
        if this.agent.talks == "ACP":
            said = converse(this.process, this.editor, this.given, this.agent.go_on if resumed else "")
        code = this.process.wait()
        this.wait()
        overdue.cancel()
        output.seek(0)
        return code, said + output.read()


def _environment(this: Run) -> Mapping[str, str]:
    """A home of its own, and nothing of the person's own keys, settings and proxies."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "LANG", "LC_ALL", "TZ", "TERM", "SHELL")
        if name in os.environ
    }
    own = {"HOME": str(this.given.home), "OPENAI_API_KEY": "none", "NO_COLOR": "1"}
    return {**kept, **GIT, **own, **this.agent.environment(this.given)}
