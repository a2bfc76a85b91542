"""A scripted model for one task, three small files, in the words of each program's own tools.

One server on loopback answers all, so that each is measured against the same model: OpenAI's responses for Codex, chat
completions for the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from bench.peers.endpoint import Exchange, endpoint

FILES: Final = {name: f"This is {name}.\n" for name in ("a.txt", "b.txt", "c.txt")}
REQUEST: Final = "Create the files a.txt, b.txt and c.txt, each with one line that says its name."
DONE: Final = "The three files are there."
Call = tuple[str, Mapping[str, Any]]


def chat(body: Mapping[str, Any], *, ends_with_calls: bool = False) -> tuple[bytes, str]:
    """The answer to a request of chat completions, and its media type; `ends_with_calls` as in `serving`."""
    text, calls = _turn(body, ends_with_calls=ends_with_calls)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "index": number,
                "id": f"call_{len(body['messages'])}_{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(calls)
        ]
    reason = "tool_calls" if calls else "stop"
    whole = {"id": "chat", "created": 0, "model": str(body.get("model"))}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    parts: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
    ]
    lines = [json.dumps({**whole, "object": "chat.completion.chunk", **part}) for part in parts]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode(), "text/event-stream"


def _plan() -> dict[str, Any]:
    """The task as a plan of three calls, for a planner that asks for one."""
    steps = [
        {
            "id": f"step_{number}",
            "description": f"Write {name}",
            "instruction": f"Write {name}",
            "tool": "write_file",
            "args": {"path": name, "content": text},
            "dependsOn": [],
        }
        for number, (name, text) in enumerate(FILES.items(), 1)
    ]
    return {"summary": "Three files.", "steps": steps}


def _turn(body: Mapping[str, Any], *, ends_with_calls: bool) -> tuple[str, Sequence[Call]]:
    """Text and calls."""
    if "response_format" in body:
        return json.dumps(_plan()), []
    tools = {tool["function"]["name"] for tool in body.get("tools", ())}
    if "submit_plan" in tools and "write_file" not in tools:
        return "", [("submit_plan", _plan())]
    if any(message["role"] == "tool" for message in body["messages"]):
        return DONE, []
    calls: list[Call] = [("write_file", {"path": name, "content": text}) for name, text in FILES.items()]
    ends = ends_with_calls and "task_completed" in tools
    return "", [*calls, *([("task_completed", {"summary": DONE})] if ends else [])]


def responses(body: Mapping[str, Any]) -> tuple[bytes, str]:
    """The answer to a request of OpenAI's responses: a patch in the form that Codex offers, and then the end."""
    item: dict[str, Any]
    if any(str(each.get("type", "")).endswith("_output") for each in body["input"]):
        content = [{"type": "output_text", "text": DONE}]
        item = {"type": "message", "role": "assistant", "content": content}
    else:
        lines = [f"*** Add File: {name}\n+{text}" for name, text in FILES.items()]
        patch = f"*** Begin Patch\n{''.join(lines)}*** End Patch\n"
        tools = {tool.get("name"): tool for tool in body.get("tools", ())}
        if tools.get("apply_patch", {}).get("type") == "custom":
            item = {"type": "custom_tool_call", "name": "apply_patch", "input": patch}
        else:
            name = next(name for name in ("exec_command", "shell_command", "shell") if name in tools)
            command = f"apply_patch <<'EOF'\n{patch}EOF"
            arguments = {
                "exec_command": {"cmd": command},
                "shell_command": {"command": command},
                "shell": {"command": ["bash", "-lc", command]},
            }[name]
            item = {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}
        item["call_id"] = f"call_{len(body['input'])}"
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    events = [
        {"type": "response.created", "response": {"id": "response"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "response", "usage": usage}},
    ]
    text = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return text.encode(), "text/event-stream"


def serving(*, ends_with_calls: bool = False) -> AbstractContextManager[tuple[str, list[Exchange]]]:
    """The base URL of the model's server, and the requests that it gets.

    With `ends_with_calls` a model that may say beside its calls that they end the task, as Planloom's prompts ask for,
    does.
    """

    def answer(path: str, body: Mapping[str, Any]) -> tuple[bytes, str]:
        is_responses = path.endswith("/responses")
        return responses(body) if is_responses else chat(body, ends_with_calls=ends_with_calls)

    return endpoint(answer)
