"""A server of OpenAI's Responses API that plays a script, and refuses what OpenAI refuses, in its words.

It stores nothing: an input that refers to something stored, or to reasoning that it has not encrypted, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from planloom.models.offline.scripted import Turn
from tests.support.http_server import Asked, Wire
from tests.support.model_server import FRAGMENT

PATH = "/v1/responses"
FIELDS = {
    *(
        "model",
        "input",
        "instructions",
        "stream",
        "store",
        "include",
        "tools",
        "tool_choice",
        "text",
        "reasoning",
    ),
    *(
        "max_output_tokens",
        "temperature",
        "prompt_cache_key",
        "parallel_tool_calls",
        "truncation",
        "metadata",
    ),
}
ITEM_FIELDS = {
    "message": {"type", "role", "content", "phase"},
    "function_call": {"type", "call_id", "name", "arguments"},
    "function_call_output": {"type", "call_id", "output"},
    "reasoning": {"type", "summary", "content", "encrypted_content"},
}
PARTS = {"user": {"input_text", "input_image"}, "assistant": {"output_text", "refusal"}}
EFFORTS = {"none", "minimal", "low", "medium", "high", "xhigh"}
LONGEST = 64
LEAST_TOKENS = 16


class Refused(Exception):
    """What the server says of a request that it does not accept."""

    def __init__(self, message: str, param: str = "", code: str = "") -> None:
        super().__init__(message)
        self.error = {
            "message": message,
            "type": "invalid_request_error",
            "param": param,
            "code": code or None,
        }


class ResponsesServer:
    """Answers from its turns, in order. `reasons`: the model reasons; `verified`: the account may see summaries."""

    def __init__(self, turns: Sequence[Turn], *, reasons: bool = True, verified: bool = True) -> None:
        self._turns = list(turns)
        self._reasons = reasons
        self._verified = verified
        self._encrypted: set[str] = set()
        self.accepted: list[Any] = []
        self.refusals: list[str] = []

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        """One request."""
        if asked.method == "GET" and asked.path == "/v1/models":
            await wire.json(200, {"object": "list", "data": [{"id": "small", "object": "model"}]})
            return
        if asked.method != "POST" or asked.path != PATH:
            await wire.json(404, {"error": {"message": f"Invalid URL ({asked.method} {asked.path})"}})
            return
        body = asked.json()
        try:
            self._check(body)
        except Refused as refused:
            self.refusals.append(str(refused))
            await wire.json(400, {"error": refused.error})
            return
        self.accepted.append(body)
        await wire.head(content_type="text/event-stream; charset=utf-8")
        for number, event in enumerate(self._events(body, self._turns.pop(0))):
            await wire.events({**event, "sequence_number": number})

    def _check(self, body: Any) -> None:
        for name in body.keys() - FIELDS:
            raise Refused(f"Unknown parameter: '{name}'.", name)
        if body.get("include") and not self._reasons:
            raise Refused("Encrypted content is not supported with this model.", "include")
        reasoning = body.get("reasoning") or {}
        if reasoning and not self._reasons:
            raise Refused(
                "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
                "reasoning.effort",
            )
        if reasoning.get("effort", "low") not in EFFORTS:
            raise Refused(f"Invalid value: '{reasoning['effort']}'.", "reasoning.effort", "invalid_value")
        if "summary" in reasoning and not self._verified:
            raise Refused(
                "Your organization must be verified to generate reasoning summaries.", "reasoning.summary"
            )
        if "temperature" in body and self._reasons:
            raise Refused(
                "Unsupported parameter: 'temperature' is not supported with this model.", "temperature"
            )
        if body.get("max_output_tokens", LEAST_TOKENS) < LEAST_TOKENS:
            raise Refused("Invalid 'max_output_tokens': integer below minimum value.", "max_output_tokens")
        if len(body.get("prompt_cache_key", "")) > LONGEST:
            raise Refused(
                f"string too long. Expected a string with maximum length {LONGEST}", "prompt_cache_key"
            )
        for index, tool in enumerate(body.get("tools", ())):
            if "name" not in tool:
                raise Refused(f"Missing required parameter: 'tools[{index}].name'.", f"tools[{index}].name")
            if tool.get("strict", True) and set(tool["parameters"].get("required", ())) != set(
                tool["parameters"].get("properties", ())
            ):
                raise Refused(f"Invalid schema for function '{tool['name']}'", f"tools[{index}].parameters")
        self._check_input(body["input"], stored=body.get("store", True))

    def _check_input(self, items: Any, *, stored: bool) -> None:
        called: list[str] = []
        answered: set[str] = set()
        for index, item in enumerate(items):
            param = f"input[{index}]"
            if "id" in item and not stored:
                raise Refused(
                    f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false. "
                    "Try again with `store` set to true, or remove this item from your input.",
                    "input",
                )
            kind = item.get("type", "message")
            for name in item.keys() - ITEM_FIELDS[kind]:
                raise Refused(f"Unknown parameter: '{param}.{name}'.", f"{param}.{name}", "unknown_parameter")
            if kind == "message":
                for part in item["content"]:
                    if part["type"] not in PARTS[item["role"]]:
                        raise Refused(
                            f"Invalid value: '{part['type']}'.", f"{param}.content[0]", "invalid_value"
                        )
            elif kind == "reasoning":
                if item.get("encrypted_content") not in self._encrypted:
                    raise Refused(
                        f"The encrypted content {item.get('encrypted_content')} could not be verified.",
                        code="invalid_encrypted_content",
                    )
            elif len(item["call_id"]) > LONGEST:
                raise Refused(f"Invalid '{param}.call_id': string too long.", f"{param}.call_id")
            elif kind == "function_call":
                called.append(item["call_id"])
            elif item["call_id"] not in called:
                raise Refused(
                    f"No tool call found for function call output with call_id {item['call_id']}.", "input"
                )
            else:
                answered.add(item["call_id"])
        for call_id in called:
            if call_id not in answered:
                raise Refused(f"No tool output found for function call {call_id}.", "input")

    def _events(self, body: Any, turn: Turn) -> Iterator[dict[str, Any]]:
        count = len(self.accepted)
        response = {"id": f"resp_{count}", "object": "response", "error": None, "incomplete_details": None}
        yield {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
        output: list[dict[str, Any]] = []
        for item in self._items(body, turn, count):
            index = len(output)
            output.append(item)
            yield from _streamed(index, item)
        status = "incomplete" if turn.finish == "length" else "completed"
        usage = {
            "input_tokens": len(json.dumps(body)) // 4,
            "input_tokens_details": {"cached_tokens": 0 if count == 1 else 7},
            "output_tokens": 5,
        }
        cut = {"incomplete_details": {"reason": "max_output_tokens"}} if status == "incomplete" else {}
        whole = {**response, **cut, "status": status, "output": output, "usage": usage}
        yield {"type": f"response.{status}", "response": whole}

    def _items(self, body: Any, turn: Turn, count: int) -> Iterator[dict[str, Any]]:
        if turn.reasoning and self._reasons:
            summary = [{"type": "summary_text", "text": turn.reasoning}]
            item: dict[str, Any] = {"id": f"rs_{count}", "type": "reasoning", "status": None, "summary": []}
            if "summary" in body.get("reasoning", {}):
                item["summary"] = summary
            if "reasoning.encrypted_content" in body.get("include", ()):
                item["encrypted_content"] = f"sealed-{count}"
                self._encrypted.add(item["encrypted_content"])
            yield item
        if turn.text:
            kind, field = ("refusal", "refusal") if turn.finish == "refused" else ("output_text", "text")
            part = {"type": kind, field: turn.text}
            phase = "commentary" if turn.calls else "final_answer"
            yield {
                "id": f"msg_{count}",
                "type": "message",
                "role": "assistant",
                "content": [part],
                **({"phase": phase} if self._reasons else {}),
            }
        for number, call in enumerate(turn.calls):
            yield {
                "id": f"fc_{count}_{number}",
                "type": "function_call",
                "call_id": f"call_{count}_{number}",
                "name": call.name,
                "arguments": json.dumps(call.arguments),
            }


def _streamed(index: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of one item of the output."""
    empty: dict[str, Any] = {"summary": [], "content": [], "arguments": "", "encrypted_content": "part"}
    begun = {name: empty.get(name, value) for name, value in item.items()}
    at = {"output_index": index, "item_id": item["id"]}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    match item["type"]:
        case "reasoning":
            pieces = [("reasoning_summary_text", part["text"]) for part in item["summary"]]
        case "message":
            part = item["content"][0]
            pieces = [(part["type"], part.get("text") or part.get("refusal"))]
        case _:
            pieces = [("function_call_arguments", item["arguments"])]
    for kind, text in pieces:
        for start in range(0, len(text), FRAGMENT):
            yield {"type": f"response.{kind}.delta", **at, "delta": text[start : start + FRAGMENT]}
        yield {"type": f"response.{kind}.done", **at}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}
