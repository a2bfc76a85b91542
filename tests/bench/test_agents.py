"""The benchmark of agents measures what it says: its tasks, its script, its person, its counts, its recordings."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import bench.agents.__main__ as command
from bench.agents.acp_client import Editor
from bench.agents.model import Recorded, Scripted, Upstream, new_bytes
from bench.agents.person import Person
from bench.agents.roster import AGENTS, Agent
from bench.agents.runs import WAYS, Outcome, run
from bench.agents.script import GO_ON, Speaker, adapted, is_shown
from bench.agents.speakers import Codex, Continue, MiniSwe, patch
from bench.agents.tasks import LEDGER, Edit, Task, apply, doubled, passes, prepare, quiet_lines, target, tasks
from bench.agents.wire import conversation, written
from bench.peers.endpoint import endpoint
from tests.support.descendants import descendants

ALL = pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
TASK = next(task for task in tasks() if task.name == "jmespath")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(TASK, tmp_path / "work")
    return tmp_path / "work"


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@ALL
def test_the_hidden_tests_fail_at_first_and_pass_after_the_edits(task: Task, tmp_path: Path) -> None:
    prepare(task, tmp_path / "work")
    wanted = target(task, tmp_path / "work")
    assert not passes(task, tmp_path / "work")
    for edit in task.edits:
        apply(edit, tmp_path / "work")
    assert passes(task, tmp_path / "work")
    assert {path: text(tmp_path / "work" / path) for path in task.paths} == wanted
    assert doubled(task, tmp_path / "work", wanted) == 0


def test_an_edit_and_a_publication_that_are_made_twice_are_counted(folder: Path) -> None:
    wanted = target(TASK, folder)
    for _ in range(2):
        apply(TASK.edits[0], folder)
    (folder / LEDGER).write_text("one publication\n" * 3, encoding="utf-8")
    assert doubled(TASK, folder, wanted) == 1 + 2


@ALL
def test_what_a_person_types_breaks_nothing_and_its_loss_is_counted(task: Task, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    prepare(task, folder)
    editor = Editor(folder, ())
    person = Person(task, folder, "seed", editor.read, editor.type)
    person.across()
    for _ in range(5):
        person.beside()
    assert all(quiet_lines(task, folder, path) for path in task.paths)
    for edit in task.edits:
        apply(adapted(edit, text(folder / edit.path)), folder)
    assert passes(task, folder) and person.lost() == 0 and person.keys() == 6 * 16
    path, words = person.typed[0]
    (folder / path).write_text(text(folder / path).replace(words, ""), encoding="utf-8")
    assert person.lost() == 16


def test_a_buffer_keeps_what_is_typed_and_takes_what_the_disk_has_where_nothing_is(folder: Path) -> None:
    path = folder / TASK.paths[0]
    editor = Editor(folder, TASK.paths)
    path.write_text("from the disk\n", encoding="utf-8")
    assert editor.read(path) == "from the disk\n"
    editor.type(path, "typed\n")
    assert (text(path), editor.read(path)) == ("from the disk\n", "typed\n")
    editor.save()
    assert text(path) == "typed\n"


def test_a_change_counts_as_seen_where_its_lines_stand_together() -> None:
    assert is_shown("a\n  b\n", "x\n12\ta\n13\t  b  # typed\n")
    assert not is_shown("a\nb\n", "a\nx\nb\n")


def test_an_edit_in_the_form_of_a_patch() -> None:
    edit = Edit(path="a.py", old="one\n", new="one\ntwo\n")
    assert patch([edit]) == ("*** Begin Patch\n*** Update File: a.py\n@@\n-one\n+one\n+two\n*** End Patch\n")


class Bash:
    """The least agent there is: a shell, the requests of mini-swe-agent, and no memory but the conversation."""

    tools = ({"type": "function", "function": {"name": "bash"}},)

    def __init__(self, folder: Path, speaker: Speaker, task: Task) -> None:
        self.model = Scripted(task, speaker)
        self.folder = folder
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": task.prompt}]
        self.commands: list[str] = []

    def turn(self) -> bool:
        """One request and what it calls; whether the work goes on."""
        body = {"messages": self.messages, "tools": self.tools}
        answer = json.loads(self.model.answer("/chat/completions", body)[0])["choices"][0]["message"]
        self.messages.append(answer)
        for call in answer.get("tool_calls", ()):
            self.commands.append(json.loads(call["function"]["arguments"])["command"])
            with os.popen(f"cd '{self.folder}' && {{ {self.commands[-1]}\n}} 2>&1") as pipe:
                output = pipe.read()
                code = pipe.close()
            content = json.dumps({"returncode": 1 if code else 0, "output": output})
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        return not self.commands[-1].startswith("echo COMPLETE")


def bash(folder: Path) -> Bash:
    return Bash(folder, MiniSwe(TASK, folder, text), TASK)


def test_the_script_reads_edits_publishes_and_ends(folder: Path) -> None:
    agent = bash(folder)
    while agent.turn():
        pass
    assert [each.split()[0] for each in agent.commands] == ["sed", "python3", "sh", "echo"]
    assert passes(TASK, folder) and text(folder / LEDGER) == "one publication\n"


def test_the_script_reads_again_after_an_edit_that_failed_and_keeps_what_was_typed(folder: Path) -> None:
    agent = bash(folder)
    agent.turn()
    path = folder / TASK.paths[0]
    old = TASK.edits[0].old
    first, _, rest = old.partition("\n")
    original = agent.model.answer

    def answer(route: str, body: Mapping[str, Any]) -> tuple[bytes, str, bool]:
        found = original(route, body)
        if found[2] and "# typed" not in text(path):
            path.write_text(text(path).replace(old, f"{first}  # typed\n{rest}"), encoding="utf-8")
        return found

    agent.model.answer = answer  # type: ignore[method-assign]
    while agent.turn():
        pass
    assert [each.split()[0] for each in agent.commands] == ["sed", "python3", "sed", "python3", "sh", "echo"]
    assert passes(TASK, folder) and "# typed" in text(path)


def test_the_script_looks_for_a_command_whose_end_it_does_not_see(folder: Path) -> None:
    agent = bash(folder)
    for _ in range(3):
        agent.turn()
    agent.messages.pop()
    while agent.turn():
        pass
    assert [each.split()[0] for each in agent.commands] == ["sed", "python3", "sh", "cat", "echo"]
    assert text(folder / LEDGER) == "one publication\n"


def test_an_agent_that_forgot_what_to_go_on_with_is_noticed(folder: Path) -> None:
    model = Scripted(TASK, MiniSwe(TASK, folder, text))
    model.answer("/chat/completions", {"messages": [{"role": "user", "content": GO_ON}]})
    assert model.forgotten


@pytest.mark.parametrize("stream", [True, False])
def test_the_words_of_both_protocols_are_read_back_from_a_next_request(folder: Path, stream: bool) -> None:
    chat = {"messages": [{"role": "user", "content": TASK.prompt}], "tools": [{"function": {"name": "Read"}}]}
    speaker = Continue(TASK, folder, text)
    content, kind = written("/chat", {**chat, "stream": stream}, speaker.answer(chat, conversation(chat)))
    assert kind == ("text/event-stream" if stream else "application/json") and b'"look_1_0"' in content
    body = {
        "input": [{"role": "user", "content": [{"type": "input_text", "text": TASK.prompt}]}],
        "tools": [{"type": "function", "name": "exec_command"}, {"type": "custom", "name": "apply_patch"}],
    }
    codex = Codex(TASK, folder, text)
    content, _ = written("/v1/responses", body, codex.answer(body, conversation(body)))
    done = next(
        line for line in content.decode().splitlines() if "output_item.done" in line and "data" in line
    )
    call = json.loads(done.removeprefix("data: "))["item"]
    lines = text(folder / TASK.paths[0])
    body["input"] += [call, {"type": "function_call_output", "call_id": call["call_id"], "output": lines}]
    assert codex.answer(body, conversation(body)).calls[0].tool == "apply_patch"


def test_new_bytes_are_those_behind_the_longest_known_beginning() -> None:
    assert new_bytes([b"abcd", b"abcdef", b"abx", b"abcdef"]) == 4 + 2 + 1 + 0


def test_a_recording_is_replayed_and_its_drift_is_counted(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "Do 1 thing"}]}
    with endpoint(lambda _, body: (json.dumps({"model": body["model"]}).encode(), "application/json")) as (
        url,
        exchanges,
    ):
        upstream = Upstream(url, "key", "real", tmp_path / "run.jsonl")
        content, _, _ = upstream.answer("/v1/chat/completions", body)
    assert json.loads(content) == {"model": "real"} and len(exchanges) == 1
    replayed = Recorded(tmp_path / "run.jsonl")
    same = {"messages": [{"role": "user", "content": "Do 2 thing"}]}
    assert replayed.answer("/v1/chat/completions", same)[0] == content and replayed.drift == 0
    other = Recorded(tmp_path / "run.jsonl")
    other.answer("/v1/chat/completions", {"messages": [{"role": "user", "content": "Do another"}]})
    other.answer("/v1/chat/completions", body)
    assert other.drift == 2


def test_a_kill_reaches_what_the_agent_has_started() -> None:
    assert os.getpid() in descendants(os.getppid()) and os.getppid() not in descendants(os.getpid())


SHELL = """\
import json, subprocess, sys, urllib.request
url, prompt = sys.argv[1:]
messages = [{"role": "user", "content": prompt}]
while True:
    sent = json.dumps({"messages": messages, "tools": []}).encode()
    request = urllib.request.Request(url + "/chat/completions", sent, {"Content-Type": "application/json"})
    message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(message)
    for call in message.get("tool_calls", ()):
        command = json.loads(call["function"]["arguments"])["command"]
        ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        result = json.dumps({"returncode": ran.returncode, "output": ran.stdout + ran.stderr})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        if command.startswith("echo COMPLETE"):
            sys.exit()
"""


@pytest.mark.process
@pytest.mark.slow
def test_a_forgetful_agent_that_is_disturbed_in_all_ways(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(SHELL, encoding="utf-8")
    agent = Agent(
        "shell",
        lambda: program,
        MiniSwe,
        lambda given: (sys.executable, program, given.url, given.prompt),
    )
    found = {
        way: run(agent, TASK, way, 1, 4, lambda scripted, _: scripted, tmp_path / "kept") for way in WAYS
    }
    assert all(outcome.right and outcome.lost == 0 and not outcome.problem for outcome in found.values())
    # A kill after its command: it knows nothing of that when it is started anew.
    assert [found[way].published for way in WAYS] == [1, 1, 1, 2, 2]
    assert (found["alone"].requests, found["across"].requests, found["killed"].requests) == (4, 6, 7)
    assert found["beside"].keys == 4 * 16 and found["alone"].new < found["alone"].sent


def outcome(**fields: Any) -> Outcome:
    kept = {"agent": AGENTS[0].name, "task": "a", "way": "alone", "right": True, "published": 1, "keys": 0}
    counts = {"lost": 0, "doubled": 0, "requests": 3, "sent": 3_000, "new": 1_000, "seconds": 1.0}
    return Outcome.model_validate({**kept, **counts, **fields})


def test_the_tables_say_what_was_counted(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    command.keep(file, outcome(right=False))
    for each in (
        outcome(),
        outcome(way="across", keys=16, lost=16),
        outcome(way="killed", doubled=1, published=2),
    ):
        command.keep(file, each)
    found = command.read(file)
    assert len(found) == 3
    row = command.row(AGENTS[0].name, found)
    assert row == (AGENTS[0].name, "3 of 3", "16 of 16", "1", "0", "0", "3.0", "3.0", "1.0", "1.0")
    assert command.by_way(AGENTS[0].name, found)[1:] == ("1 of 1", "–", "1 of 1", "1 of 1", "–", "2 of 3")


def test_the_page_has_a_place_for_each_table() -> None:
    page = command.PAGE.read_text(encoding="utf-8")
    names = ("agents", "ways", "given", "machine")
    assert [name for name in names if f"<!-- figures: {name} -->" not in page] == []


def test_kills_are_spread_over_the_requests_of_the_tasks() -> None:
    names = [task.name for task in tasks()]
    assert sorted(command.kill_at(1, name, 6) for name in names) == [1, 2, 3, 4, 5, 6]
    assert {command.kill_at(7, name, 1) for name in names} == {1}
