"""Plays the turns of a journey to other coding agents, through a scripted endpoint on this machine.

Their tools are not ours, so a turn's calls are translated: reads and searches into shell commands, edits into what the
agent edits with. Turns that only end a task are left out, since the others have no tasks.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from bench.peers.endpoint import endpoint
from planloom.models.offline.scripted import ScriptedCall
from tests.journeys.journey import Journey, JourneyTurn, common, encoded, python_on_path

SECONDS = 120
_ENDS = ("task_completed", "final_answer")


class Figures(NamedTuple):
    """What an agent sent: the size of each request, and the bytes with which it begins as the one before."""

    sizes: tuple[int, ...]
    kept: tuple[int, ...]
    problem: str = ""


Answer = Callable[[int, Mapping[str, Any]], bytes]
"""The answer to a request of a number, counted from 0, with a body."""


@dataclass
class Agent:
    """An agent's program, and how it is started in a folder for a request, against a URL."""

    command: Callable[[str, Path, str], Sequence[str]]
    variables: Callable[[Path], Mapping[str, str]]
    answer: Callable[[Journey, Path], Answer]
    media_type: str


def mini(program: Path) -> Agent:
    """mini-swe-agent, which has one tool: bash."""
    return Agent(
        command=lambda request, home, url: [
            *(str(program), "--yolo", "--exit-immediately", "--model", "openai/strong", "--task", request),
            *("--output", str(home / "trajectory.json"), "--config", "mini.yaml"),
            *("--config", f"model.model_kwargs.api_base={url}"),
        ],
        variables=lambda home: {
            "OPENAI_API_KEY": "none",
            "MSWEA_GLOBAL_CONFIG_DIR": str(home),
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_SILENT_STARTUP": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        answer=_chat_answers,
        media_type="application/json",
    )


def codex(program: Path) -> Agent:
    """Codex, which has a shell and `apply_patch`."""
    provider = (
        'model_providers.scripted={{name="scripted",base_url="{url}",wire_api="responses",env_key="KEY"}}'
    )
    return Agent(
        command=lambda request, _home, url: [
            *(str(program), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
            *("-m", "strong", "-c", "model_provider=scripted", "-c", provider.format(url=url)),
            *("-c", "analytics.enabled=false", request),
        ],
        variables=lambda home: {"CODEX_HOME": str(home), "KEY": "none"},
        answer=_responses_answers,
        media_type="text/event-stream",
    )


def play(agent: Agent, journey: Journey, folder: Path) -> Figures:
    """Let the agent carry a journey's request out, on a copy of its repository in an empty folder."""
    workspace, home = folder / "workspace", folder / "home"
    journey.prepare(workspace)
    home.mkdir()
    answer, numbers = agent.answer(journey, workspace), count()
    with (
        python_on_path(folder),
        endpoint(lambda _path, body: (answer(next(numbers), body), agent.media_type)) as (url, exchanges),
    ):
        try:
            ended = subprocess.run(
                agent.command(journey.request, home, url),
                cwd=workspace,
                env={**os.environ, **agent.variables(home)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            output = ended.stdout + ended.stderr
            problem = "" if ended.returncode == 0 else f"exit code {ended.returncode}"
        except subprocess.TimeoutExpired:
            output, problem = "", "it did not end"
    if not problem and journey.outcome.files:
        problem = _difference(journey, workspace)
    if problem and os.environ.get("JOURNEYS_VERBOSE"):
        print(output[-4000:], file=sys.stderr)
    prompts, sizes = [_cached_order(each.body) for each in exchanges], [each.size for each in exchanges]
    kept = [common(*pair) for pair in pairwise(prompts)]
    return Figures(tuple(sizes), scaled((0, *kept), prompts, sizes), problem)


def scaled(kept: Sequence[int], prompts: Sequence[bytes], sizes: Sequence[int]) -> tuple[int, ...]:
    """The kept bytes of prompts as bytes of the requests as they were sent: the rest of a body is the same in each."""
    # An agent that did not start has sent nothing.
    written = sum(map(len, prompts)) or 1
    return tuple(round(each * sum(sizes) / written) for each in kept)


def _cached_order(body: Mapping[str, Any]) -> bytes:
    """Tools, instructions and messages in the order in which a cache compares them, without the closing brackets."""
    parts = (body.get("tools"), body.get("instructions"), body.get("input", body.get("messages")))
    return encoded(parts)[:-2]


def _difference(journey: Journey, workspace: Path) -> str:
    for file in journey.outcome.files:
        text = (workspace / file.path).read_text(encoding="utf-8")
        if any(part not in text for part in file.has) or any(part in text for part in file.lacks):
            return f"{file.path} is not as it should be"
    return ""


class _OtherTurn(NamedTuple):
    text: str
    calls: tuple[ScriptedCall, ...]


def _turns(journey: Journey) -> list[_OtherTurn]:
    """The turns with calls that others can make too; the last one is the answer in words."""
    turns: list[JourneyTurn] = [turn for each in journey.turns if not each.plans for turn in each.repeated()]
    kept = []
    answer = "Done."
    for turn in turns:
        calls = tuple(call for call in turn.calls if call.name not in _ENDS)
        if calls:
            kept.append(_OtherTurn(turn.text, calls))
        answer = next((str(c.arguments["text"]) for c in turn.calls if c.name == "final_answer"), answer)
    return [*kept, _OtherTurn(answer, ())]


def _shell(call: ScriptedCall) -> str:
    """A call that does not edit as a shell command."""
    args = {name: str(value) for name, value in call.arguments.items()}
    match call.name:
        case "run_command":
            return args["command"]
        case "read_file":
            return f"cat {quote(args['path'])}"
        case "list_files":
            return f"ls {quote(args['path'])}" if "path" in args else "find . -type f -not -path './.git/*'"
        case "git_status":
            return "git status --short"
        case "git_diff":
            return "git diff"
        case "search_text":
            return f"grep -rnE {quote(args['pattern'])} . --exclude-dir=.git"
    raise ValueError(call.name)


def _replacements(call: ScriptedCall) -> list[tuple[str, str, str]]:
    """The replacements of an edit: path, old text, new text."""
    args = call.arguments
    if "patch" not in args:
        return [(str(args["path"]), str(args["old_text"]), str(args["new_text"]))]
    found = []
    path = ""
    for part in re.split(r"(?m)^(?=@@|\*\*\* )", str(args["patch"])):
        head, _, body = part.partition("\n")
        if head.startswith("*** Update File: "):
            path = head.removeprefix("*** Update File: ")
        elif head.startswith("@@"):
            lines = body.splitlines()
            old = "\n".join(line[1:] for line in lines if not line.startswith("+"))
            new = "\n".join(line[1:] for line in lines if not line.startswith("-"))
            found.append((path, old, new))
    return found


def _python_edit(call: ScriptedCall) -> str:
    lines = ["python - <<'EOF'", "from pathlib import Path"]
    for path, old, new in _replacements(call):
        lines.append(f"p = Path({path!r})")
        lines.append(f"p.write_text(p.read_text().replace({old!r}, {new!r}, 1))")
    return "\n".join([*lines, "EOF"])


def _patch(call: ScriptedCall, workspace: Path) -> str:
    """An edit as a patch of whole lines."""
    if "patch" in call.arguments:
        return str(call.arguments["patch"]).strip() + "\n"
    ((path, old, new),) = _replacements(call)
    text = (workspace / path).read_text(encoding="utf-8")
    start = text.rindex("\n", 0, text.index(old)) + 1 if "\n" in text[: text.index(old)] else 0
    last = text.index(old) + len(old)
    end = last if text[last - 1] == "\n" else text.index("\n", last) + 1
    before = text[start:end]
    after = before.replace(old, new, 1)
    body = [f"-{line}" for line in before.splitlines()] + [f"+{line}" for line in after.splitlines()]
    return "\n".join(["*** Begin Patch", f"*** Update File: {path}", "@@", *body, "*** End Patch"]) + "\n"


def _chat_answers(journey: Journey, _workspace: Path) -> Answer:
    turns = _turns(journey)

    def answer(number: int, _body: Mapping[str, Any]) -> bytes:
        turn = turns[min(number, len(turns) - 1)]
        commands = [
            _python_edit(call) if call.name == "edit_file" else _shell(call) for call in turn.calls
        ] or ["echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"]
        calls = [
            {
                "id": f"call_{number}_{index}",
                "type": "function",
                "function": {"name": "bash", "arguments": json.dumps({"command": command})},
            }
            for index, command in enumerate(commands)
        ]
        message = {"role": "assistant", "content": turn.text, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        whole = {"id": f"chat_{number}", "object": "chat.completion", "created": 0, "model": "strong"}
        return json.dumps({**whole, "choices": [choice], "usage": usage}).encode()

    return answer


def _responses_answers(journey: Journey, workspace: Path) -> Answer:
    turns = _turns(journey)

    def answer(number: int, body: Mapping[str, Any]) -> bytes:
        turn = turns[min(number, len(turns) - 1)]
        items: list[dict[str, Any]] = []
        if turn.text:
            content = [{"type": "output_text", "text": turn.text}]
            items.append({"type": "message", "role": "assistant", "content": content})
        for index, call in enumerate(turn.calls):
            call_id = {"call_id": f"call_{number}_{index}"}
            items.append({**_codex_call(call, workspace, body), **call_id})
        counts = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        events = [
            {"type": "response.created", "response": {"id": f"response_{number}"}},
            *({"type": "response.output_item.done", "item": item} for item in items),
            {"type": "response.completed", "response": {"id": f"response_{number}", "usage": counts}},
        ]
        return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode()

    return answer


def _codex_call(call: ScriptedCall, workspace: Path, body: Mapping[str, Any]) -> dict[str, Any]:
    """A call of the shell tool that Codex offers, or of `apply_patch`."""
    tools = {tool.get("name"): tool for tool in body.get("tools", ())}
    if call.name == "edit_file":
        patch = _patch(call, workspace)
        if "apply_patch" in tools and tools["apply_patch"]["type"] == "custom":
            return {"type": "custom_tool_call", "name": "apply_patch", "input": patch}
        command = f"apply_patch <<'EOF'\n{patch}EOF"
    else:
        command = _shell(call)
    name = next(name for name in ("exec_command", "shell_command", "shell") if name in tools)
    arguments: dict[str, dict[str, Any]] = {
        "exec_command": {"cmd": command},
        "shell_command": {"command": command},
        "shell": {"command": ["bash", "-lc", command]},
    }
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments[name])}
