"""Describes tools and schemas in the system prompt, for servers that do not support them natively."""

from __future__ import annotations

import json

from planloom.domain.model_text.fences import fenced
from planloom.models.port import Message, ModelRequest
from planloom.models.tool_lines import LEGEND, tool_line

CALL_FORM = '{"name": "…", "arguments": {…}}'


def describe_in_prompt(request: ModelRequest, *, tools: bool, schema: bool) -> ModelRequest:
    """The request with its tools, its schema, or both described in the system message.

    Calls and results in the conversation become text too, since a server without tools has no tool role.
    """
    descriptions: list[str] = []
    messages = request.messages
    changed: dict[str, object] = {}
    if tools and request.tools:
        descriptions.append(_tool_descriptions(request))
        messages = tuple(_as_text(message) for message in messages)
        changed["tools"] = ()
    if schema and request.response_schema is not None:
        text = json.dumps(request.response_schema, ensure_ascii=False)
        descriptions.append(
            f"Answer with one JSON object alone, without any other text, that fits this schema:\n{text}"
        )
        changed["response_schema"] = None
    if not descriptions:
        return request
    changed["messages"] = _with_system(messages, "\n\n".join(descriptions))
    return request.model_copy(update=changed)


def _tool_descriptions(request: ModelRequest) -> str:
    lines = [
        f"To call a tool, answer with a JSON object of the form {CALL_FORM}, one for each call.",
        f"The tools. {LEGEND}",
    ]
    return "\n".join((*lines, *(tool_line(tool) for tool in request.tools)))


def _as_text(message: Message) -> Message:
    if message.role == "tool":
        return Message(
            role="user", text=f"Result of the call {message.tool_call_id or ''}:\n{fenced(message.text)}"
        )
    if not message.tool_calls:
        return message
    calls = (
        json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
        for call in message.tool_calls
    )
    text = "\n".join(part for part in (message.text, *calls) if part)
    return Message(role=message.role, text=text, images=message.images)


def _with_system(messages: tuple[Message, ...], descriptions: str) -> tuple[Message, ...]:
    if messages and messages[0].role == "system":
        first = messages[0].model_copy(update={"text": f"{messages[0].text}\n\n{descriptions}"})
        return (first, *messages[1:])
    return (Message(role="system", text=descriptions), *messages)
