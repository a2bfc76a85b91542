"""Tools and schemas put into words, for engines that take neither natively."""

from __future__ import annotations

import json

from planloom.models.port import Message, ModelRequest

CALL_FORM = '{"name": "…", "arguments": {…}}'


def in_words(request: ModelRequest, *, tools: bool, schema: bool) -> ModelRequest:
    """The request with its tools and its schema described in the system message, where asked for.

    Calls and their results in the conversation become text too: an engine without tools knows no tool role.
    """
    words: list[str] = []
    messages = request.messages
    changed: dict[str, object] = {}
    if tools and request.tools:
        words.append(_tools_in_words(request))
        messages = tuple(_spoken(message) for message in messages)
        changed["tools"] = ()
    if schema and request.response_schema is not None:
        text = json.dumps(request.response_schema, ensure_ascii=False)
        words.append(
            f"Answer with one JSON object alone, without any other text, that fits this schema:\n{text}"
        )
        changed["response_schema"] = None
    if not words:
        return request
    changed["messages"] = _with_system(messages, "\n\n".join(words))
    return request.model_copy(update=changed)


def _tools_in_words(request: ModelRequest) -> str:
    lines = [
        f"To call a tool, answer with a JSON object of the form {CALL_FORM}, one for each call.",
        "The tools:",
    ]
    for tool in request.tools:
        schema = json.dumps(tool.parameters, ensure_ascii=False)
        lines.append(f"- {tool.name}: {tool.description} Arguments: {schema}")
    return "\n".join(lines)


def _spoken(message: Message) -> Message:
    if message.role == "tool":
        return Message(role="user", text=f"Result of the call {message.tool_call_id or ''}:\n{message.text}")
    if not message.tool_calls:
        return message
    calls = (
        json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
        for call in message.tool_calls
    )
    text = "\n".join(part for part in (message.text, *calls) if part)
    return Message(role=message.role, text=text, images=message.images)


def _with_system(messages: tuple[Message, ...], words: str) -> tuple[Message, ...]:
    if messages and messages[0].role == "system":
        first = messages[0].model_copy(update={"text": f"{messages[0].text}\n\n{words}"})
        return (first, *messages[1:])
    return (Message(role="system", text=words), *messages)
