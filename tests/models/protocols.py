"""The same answer in each protocol, for tests that run over all HTTP adapters."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from planloom.models.http.adapter import ProviderAdapter
from planloom.models.providers.anthropic import Anthropic
from planloom.models.providers.ollama import Ollama
from planloom.models.providers.openai_compatible import OpenAICompatible
from planloom.models.providers.openai_responses import OpenAIResponses
from tests.support.http_server import Answer, Asked, Wire

TEXT = "Grüße, 世界! "
CALLS: list[tuple[str, object]] = [("read_file", {"path": "ü.txt"}), ("list_files", {"depth": 2})]


class Protocol(NamedTuple):
    """A protocol: its adapter, its path, and the form of its answers."""

    adapter: Callable[[], ProviderAdapter]
    path: str
    content_type: str
    body: bytes

    def server(self) -> Answer:
        """A server that gives the answer but has no metadata."""

        async def answer(asked: Asked, wire: Wire) -> None:
            if asked.path != self.path:
                await wire.json(404, {"error": "not found"})
                return
            await wire.head(content_type=self.content_type)
            await wire.send(self.body)

        return answer


def _events(*data: object) -> bytes:
    return b"".join(b"data: " + json.dumps(item, ensure_ascii=False).encode() + b"\n\n" for item in data)


def _openai() -> bytes:
    def delta(finish: str | None = None, **more: object) -> dict[str, object]:
        return {"id": "x", "choices": [{"index": 0, "delta": more, "finish_reason": finish}]}

    def call(index: int, arguments: str, **more: object) -> dict[str, object]:
        function = {**more, "arguments": arguments}
        start = {"id": f"id-{index}", "type": "function"} if more else {}
        return delta(tool_calls=[{"index": index, **start, "function": function}])

    return (
        _events(
            delta(role="assistant", content=""),
            delta(content="Grüße, "),
            delta(content="世界! "),
            call(0, "", name="read_file"),
            call(0, '{"path": "ü'),
            call(0, '.txt"}'),
            call(1, '{"depth"', name="list_files"),
            call(1, ": 2}"),
            delta("tool_calls"),
            {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 20}},
        )
        + b"data: [DONE]\n\n"
    )


def _responses() -> bytes:
    def event(kind: str, **more: object) -> dict[str, object]:
        return {"type": f"response.{kind}", **more}

    def call(index: int, name: str, *parts: str) -> list[dict[str, object]]:
        item = {"id": f"fc_{index}", "type": "function_call", "call_id": f"id-{index}", "name": name}
        arguments = "".join(parts)
        return [
            event("output_item.added", output_index=index, item={**item, "arguments": ""}),
            *(event("function_call_arguments.delta", output_index=index, delta=part) for part in parts),
            event("function_call_arguments.done", output_index=index, arguments=arguments),
            event("output_item.done", output_index=index, item={**item, "arguments": arguments}),
        ]

    text = {"type": "output_text", "text": TEXT, "annotations": []}
    message = {"id": "msg_0", "type": "message", "role": "assistant", "content": [text]}
    usage = {"input_tokens": 40, "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": "resp_0", "object": "response", "error": None}
    return _events(
        event("created", response={**response, "status": "in_progress", "output": []}),
        event("in_progress", response={**response, "status": "in_progress", "output": []}),
        event("output_item.added", output_index=0, item={**message, "content": []}),
        event("content_part.added", output_index=0, content_index=0, part={**text, "text": ""}),
        event("output_text.delta", output_index=0, content_index=0, delta="Grüße, "),
        event("output_text.delta", output_index=0, content_index=0, delta="世界! "),
        event("output_text.done", output_index=0, content_index=0, text=TEXT),
        event("output_item.done", output_index=0, item=message),
        *call(1, "read_file", '{"path": "ü', '.txt"}'),
        *call(2, "list_files", '{"depth"', ": 2}"),
        event("completed", response={**response, "status": "completed", "output": [], "usage": usage}),
    )


def _anthropic() -> bytes:
    def block(index: int, **more: object) -> dict[str, object]:
        return {"type": "content_block_start", "index": index, "content_block": more}

    def delta(index: int, **more: object) -> dict[str, object]:
        return {"type": "content_block_delta", "index": index, "delta": more}

    def stop(index: int) -> dict[str, object]:
        return {"type": "content_block_stop", "index": index}

    usage = {"input_tokens": 30, "cache_read_input_tokens": 10, "output_tokens": 1}
    return _events(
        {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": usage}},
        block(0, type="text", text=""),
        {"type": "ping"},
        delta(0, type="text_delta", text="Grüße, "),
        delta(0, type="text_delta", text="世界! "),
        stop(0),
        block(1, type="tool_use", id="id-0", name="read_file", input={}),
        delta(1, type="input_json_delta", partial_json=""),
        delta(1, type="input_json_delta", partial_json='{"path": "ü'),
        delta(1, type="input_json_delta", partial_json='.txt"}'),
        stop(1),
        block(2, type="tool_use", id="id-1", name="list_files", input={}),
        delta(2, type="input_json_delta", partial_json='{"depth": 2}'),
        stop(2),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    )


def _ollama() -> bytes:
    def call(name: str, arguments: object) -> dict[str, object]:
        return {"function": {"name": name, "arguments": arguments}}

    lines: list[dict[str, object]] = [
        {"message": {"role": "assistant", "content": "Grüße, "}, "done": False},
        {"message": {"role": "assistant", "content": "世界! "}, "done": False},
        {"message": {"content": "", "tool_calls": [call("read_file", {"path": "ü.txt"})]}, "done": False},
        {"message": {"content": "", "tool_calls": [call("list_files", {"depth": 2})]}, "done": False},
        {
            "message": {"content": ""},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 40,
            "eval_count": 20,
        },
    ]
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


PROTOCOLS = {
    "openai": Protocol(OpenAICompatible, "/v1/chat/completions", "text/event-stream", _openai()),
    "openai-responses": Protocol(OpenAIResponses, "/v1/responses", "text/event-stream", _responses()),
    "anthropic": Protocol(Anthropic, "/v1/messages", "text/event-stream; charset=utf-8", _anthropic()),
    "ollama": Protocol(Ollama, "/api/chat", "application/x-ndjson", _ollama()),
}
