"""The two protocols that agents speak to a model, read into one form and written from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple


class Item(NamedTuple):
    """A piece of a conversation. `call` is the id of a call that the model has made, or that this is the result of."""

    role: Literal["user", "model", "result"]
    text: str
    call: str = ""


class Call(NamedTuple):
    """A call of a tool. A `custom` tool of the responses protocol takes a text instead of arguments."""

    call: str
    tool: str
    arguments: Mapping[str, Any] | str


class Answer(NamedTuple):
    """What a model says, and calls."""

    text: str
    calls: tuple[Call, ...] = ()


def conversation(body: Mapping[str, Any]) -> list[Item]:
    """The conversation of a request, oldest first, without what the agent's own system prompt says."""
    return list(_of_responses(body["input"]) if "input" in body else _of_chat(body["messages"]))


def _of_chat(messages: Sequence[Mapping[str, Any]]) -> list[Item]:
    items: list[Item] = []
    for message in messages:
        text = _text(message.get("content"))
        match message["role"]:
            case "assistant":
                items.append(Item("model", text))
                items += [
                    Item("model", call["function"]["arguments"], call["id"])
                    for call in message.get("tool_calls") or ()
                ]
            case "tool":
                items.append(Item("result", text, message["tool_call_id"]))
            case "user":
                items.append(Item("user", text))
    return items


def _of_responses(entries: Sequence[Mapping[str, Any]]) -> list[Item]:
    items: list[Item] = []
    for entry in entries:
        kind = str(entry.get("type", "message"))
        if kind.endswith("_call_output"):
            items.append(Item("result", _text(entry.get("output")), entry["call_id"]))
        elif kind.endswith("_call"):
            items.append(Item("model", _text(entry.get("arguments", entry.get("input"))), entry["call_id"]))
        elif kind == "message":
            items.append(
                Item("model" if entry["role"] == "assistant" else "user", _text(entry.get("content")))
            )
    return items


def _text(content: Any) -> str:
    """The text of a content, which may be a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def tools(body: Mapping[str, Any]) -> dict[str, str]:
    """The tools that are offered, each with its kind (`function`, `custom` …)."""
    return {
        (tool.get("function") or tool).get("name", ""): tool.get("type", "function")
        for tool in body.get("tools") or ()
    }


def cached_order(body: Mapping[str, Any]) -> bytes:
    """What a server puts before a model, in the order in which it keeps a prefix of it."""
    order = [body.get("tools", []), body.get("instructions", ""), body.get("messages", body.get("input"))]
    return json.dumps(order, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")[:-2]


def written(path: str, body: Mapping[str, Any], answer: Answer) -> tuple[bytes, str]:
    """The answer in the protocol of the request, and its media type."""
    return _as_responses(answer) if path.endswith("/responses") else _as_chat(body, answer)


def _as_chat(body: Mapping[str, Any], answer: Answer) -> tuple[bytes, str]:
    calls = [
        {
            "index": index,
            "id": each.call,
            "type": "function",
            "function": {"name": each.tool, "arguments": json.dumps(each.arguments)},
        }
        for index, each in enumerate(answer.calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if calls:
        message["tool_calls"] = calls
    reason = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    whole = {"id": "chat", "created": 0, "model": str(body.get("model"))}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        whole |= {"object": "chat.completion", "choices": [choice], "usage": usage}
        return json.dumps(whole).encode(), "application/json"
    parts: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
    ]
    lines = [json.dumps({**whole, "object": "chat.completion.chunk", **part}) for part in parts]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode(), "text/event-stream"


def _as_responses(answer: Answer) -> tuple[bytes, str]:
    items: list[dict[str, Any]] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text}]
        items.append({"type": "message", "role": "assistant", "content": content})
    for each in answer.calls:
        if isinstance(each.arguments, str):
            items.append({"type": "custom_tool_call", "input": each.arguments})
        else:
            items.append({"type": "function_call", "arguments": json.dumps(each.arguments)})
        items[-1] |= {"name": each.tool, "call_id": each.call}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    events = [
        {"type": "response.created", "response": {"id": "response"}},
        *({"type": "response.output_item.done", "item": item} for item in items),
        {"type": "response.completed", "response": {"id": "response", "usage": usage}},
    ]
    text = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return text.encode(), "text/event-stream"
