"""A well-behaved OpenAI-compatible server that plays a script, in this process or one of its own.

`python -m tests.support.model_server SCRIPT --port 0` prints its port on a line of its own and serves until
it is ended. SCRIPT is JSON lines, or one JSON list, of turns as `planloom.models.offline.scripted.Turn` has them; a
turn's `fault` breaks the stream (`unavailable`: status 503, `refused`: 400, `hang`: silence). What was asked
is read at `GET /requests`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from planloom.models.offline.scripted import Turn
from tests.support.http_server import Asked, Running, Wire, serving

FRAGMENT = 7
"""Characters of one fragment of a call's arguments: every reader meets escapes and names cut in two."""


class ScriptedServer:
    """Answers chat completions from its turns, in order, a turn with `when` whenever it fits."""

    def __init__(
        self, turns: Sequence[Turn], *, name: str = "scripted", context_tokens: int = 32_768
    ) -> None:
        self._script = tuple(turns)
        self._turns = list(turns)
        self._name = name
        self._context_tokens = context_tokens
        self.requests: list[Any] = []

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        """One request."""
        path = asked.path.partition("?")[0]
        if asked.method == "GET" and path == "/v1/models":
            entry = {
                "id": self._name,
                "object": "model",
                "context_length": self._context_tokens,
                "architecture": {"input_modalities": ["text", "image"]},
            }
            await wire.json(200, {"object": "list", "data": [entry]})
        elif asked.method == "GET" and path == "/requests":
            await wire.json(200, self.requests)
        elif asked.method == "POST" and path == "/again":
            self._turns = list(self._script)
            await wire.json(200, {})
        elif asked.method == "POST" and path == "/v1/chat/completions":
            self.requests.append(asked.json())
            await self._answer(asked.json(), wire)
        else:
            await wire.json(404, {"error": {"message": f"no such path: {path}", "type": "not_found"}})

    def choose(self, body: Any) -> Turn | None:
        """The turn that answers a request."""
        turn = next((turn for turn in self._turns if _fits(turn, body)), None)
        if turn is not None and not turn.repeat:
            self._turns.remove(turn)
        return turn

    async def _answer(self, body: Any, wire: Wire) -> None:
        turn = self.choose(body)
        if turn is None:
            await wire.json(400, {"error": {"message": f"no turn is left for request {len(self.requests)}"}})
            return
        if turn.fault is not None and turn.fault.kind in {"unavailable", "refused"} and not turn.text:
            status = 503 if turn.fault.kind == "unavailable" else 400
            await wire.json(status, {"error": {"message": turn.fault.message}})
            return
        await wire.head(content_type="text/event-stream; charset=utf-8")
        for choice in _chunks(turn, len(self.requests)):
            await wire.events(self._chunk([choice]))
        if turn.fault is not None:
            if turn.fault.kind == "hang":
                await wire.until_left()
            return
        if (body.get("stream_options") or {}).get("include_usage"):
            usage = {"prompt_tokens": turn.prompt_tokens, "completion_tokens": turn.completion_tokens}
            if None in usage.values():
                usage = {
                    "prompt_tokens": len(json.dumps(body)) // 4,
                    "completion_tokens": len(turn.text) // 4,
                }
            await wire.events(self._chunk([], usage=usage))
        await wire.events("[DONE]")

    def _chunk(self, choices: Sequence[object], **more: object) -> dict[str, object]:
        return {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion.chunk",
            "model": self._name,
            "choices": choices,
            **more,
        }


def _fits(turn: Turn, body: Any) -> bool:
    when = turn.when
    if when is None:
        return True
    texts = [_text(message.get("content")) for message in body.get("messages", ())]
    whole, last = "\n".join(texts), texts[-1] if texts else ""
    names = [tool["function"]["name"] for tool in body.get("tools") or ()]
    return (
        all(part in whole for part in when.contains)
        and not any(part in whole for part in when.lacks)
        and all(part in last for part in when.last_contains)
        and (when.tool is None or when.tool in names)
        and (when.schema_given is None or when.schema_given == ("response_format" in body))
    )


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _chunks(turn: Turn, number: int) -> list[dict[str, object]]:
    """The choices of the chunks: role, reasoning, text, each call in fragments, the reason."""
    deltas: list[dict[str, object]] = [{"role": "assistant", "content": ""}]
    calls = 0
    for event in turn.played(number):
        match event.kind:
            case "text":
                deltas.append({"content": event.text})
            case "reasoning":
                deltas.append({"reasoning_content": event.text})
            case "call" | "broken_call":
                broken = event.kind == "broken_call"
                name = event.name if broken else event.call.name
                text = event.arguments_text if broken else json.dumps(event.call.arguments)
                call_id = f"call_{number}_{calls}" if broken else event.call.call_id
                start = {"name": name, "arguments": ""}
                deltas.append(
                    {"tool_calls": [{"index": calls, "id": call_id, "type": "function", "function": start}]}
                )
                for at in range(0, len(text), FRAGMENT):
                    part = {"arguments": text[at : at + FRAGMENT]}
                    deltas.append({"tool_calls": [{"index": calls, "function": part}]})
                calls += 1
            case _:
                pass
    chunks: list[dict[str, object]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    if turn.fault is None:
        reason = turn.finish or ("tool_calls" if calls else "stop")
        word = "content_filter" if reason == "refused" else reason
        chunks.append({"index": 0, "delta": {}, "finish_reason": word})
    return chunks


@contextlib.asynccontextmanager
async def model_server(turns: Sequence[Turn], **more: Any) -> AsyncIterator[tuple[Running, ScriptedServer]]:
    """The server in this process; `running.origin` + "/v1" is its base URL."""
    server = ScriptedServer(turns, **more)
    async with serving(server) as running:
        yield running, server


@contextlib.contextmanager
def model_process(folder: Path, turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The base URL of a model server in a process of its own that plays these turns; `folder` gets its script."""
    script = folder / "turns.json"
    script.write_text(json.dumps(turns))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.model_server", str(script), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.terminate()
        process.communicate()


def read_script(path: Path) -> list[Turn]:
    """The turns of a file of JSON lines or of one JSON list."""
    text = path.read_text(encoding="utf-8").strip()
    if text.startswith("["):
        return [Turn.model_validate(item) for item in json.loads(text)]
    return [Turn.model_validate_json(line) for line in text.split("\n") if line.strip()]


async def _serve(script: Path, port: int) -> None:
    async with serving(ScriptedServer(read_script(script)), port=port) as running:
        print(running.origin.rpartition(":")[2], flush=True)  # noqa: T201
        await asyncio.Event().wait()


def main() -> None:
    """Serve a script until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(given.script, given.port))


if __name__ == "__main__":
    main()
