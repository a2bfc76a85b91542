"""A model server that misbehaves by a seed, around any server that behaves.

A fault gets what the good server would have sent, byte for byte, and sends something else. Use it in a test
by `hostile(good, faults)`, or by `python -m tests.support.hostile_server SCRIPT --seed 7 --port 0` before a
scripted server of `tests.support.model_server`: some questions meet a fault, every other one is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import gzip
import json
import random
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from tests.support.http_server import Answer, Asked, Wire, serving
from tests.support.model_server import ScriptedServer, read_script

CHAT_PATHS = ("/chat/completions", "/responses", "/messages", "/api/chat")
MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Good:
    """What a good server sends: its content type and its body."""

    content_type: str
    body: bytes

    @property
    def events(self) -> bool:
        """Whether it is server-sent events; else lines of JSON."""
        return "event-stream" in self.content_type

    @property
    def middle(self) -> int:
        """A place inside the body, behind its first whole event or line."""
        gap = b"\n\n" if self.events else b"\n"
        return self.body.index(gap, len(self.body) // 3) + len(gap)

    def edited(self, edit: Callable[[Any], Any]) -> bytes:
        """The body with every JSON document in it changed; None leaves one out."""
        lines = []
        for line in self.body.split(b"\n"):
            prefix = b"data: " if line.startswith(b"data: ") else b""
            text = line[len(prefix) :]
            if text.startswith(b"{"):
                changed = edit(json.loads(text))
                text = b"" if changed is None else json.dumps(changed, ensure_ascii=False).encode()
                prefix = prefix if text else b""
            lines.append(prefix + text)
        return b"\n".join(lines)


Fault = Callable[[Wire, Good, random.Random], Awaitable[None]]
FAULTS: dict[str, Fault] = {}


def fault(function: Fault) -> Fault:
    """Enter a fault under its name."""
    FAULTS[function.__name__] = function  # type: ignore[attr-defined]
    return function


def hostile(good: Answer, faults: Sequence[str], seed: int = 0) -> Answer:
    """A server whose first questions to the model meet these faults, in order, and all others `good`."""
    ahead = list(faults)
    dice = random.Random(seed)

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method != "POST" or not asked.path.endswith(CHAT_PATHS) or not ahead:
            await good(asked, wire)
            return
        name = ahead.pop(0)
        await FAULTS[name](wire, await _captured(good, asked, peek=True), dice)

    return answer


def chosen(seed: int, count: int, among: Sequence[str] = ()) -> list[str]:
    """That many faults, by a seed."""
    return random.Random(seed).choices(sorted(among or FAULTS), k=count)


class _Capture(Wire):
    """A way back that keeps what is written."""

    def __init__(self) -> None:
        self.sent = b""

    async def send(self, data: bytes) -> None:
        self.sent += data

    async def until_left(self) -> None:
        """Nobody listens."""


async def _captured(good: Answer, asked: Asked, *, peek: bool) -> Good:
    """What the good server would send; a scripted one must not lose the turn by that."""
    kept = list(good._turns) if peek and isinstance(good, ScriptedServer) else None
    capture = _Capture()
    await good(asked, capture)
    if kept is not None:
        good._turns = kept  # type: ignore[attr-defined]
    head, _, body = capture.sent.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    content_type = next((line.partition(": ")[2] for line in lines if line.startswith("content-type")), "")
    return Good(content_type, body)


@functools.cache
def _bomb(start: bytes) -> bytes:
    """100 MB of blanks, packed to 100 kB."""
    packer = zlib.compressobj(1, wbits=31)
    parts = [packer.compress(start), *(packer.compress(b" " * MEGABYTE) for _ in range(100)), packer.flush()]
    return b"".join(parts)


async def _status(wire: Wire, status: int, **headers: str) -> None:
    await wire.json(status, {"error": {"message": f"status {status}", "type": "server"}}, **headers)


@fault
async def too_many(wire: Wire, good: Good, dice: random.Random) -> None:
    await _status(wire, 429)


@fault
async def too_many_for_seconds(wire: Wire, good: Good, dice: random.Random) -> None:
    await _status(wire, 429, Retry_After="3")


@fault
async def too_many_until_a_date(wire: Wire, good: Good, dice: random.Random) -> None:
    then = datetime.now(UTC) + timedelta(seconds=20)
    await _status(wire, 429, Retry_After=format_datetime(then, usegmt=True))


@fault
async def too_many_for_hours(wire: Wire, good: Good, dice: random.Random) -> None:
    await _status(wire, 429, Retry_After="36000")


@fault
async def too_many_for_nonsense(wire: Wire, good: Good, dice: random.Random) -> None:
    await _status(wire, 429, Retry_After=dice.choice(["soon", "-5", "1e9", "Fri, 99 Zzz 2099", "9" * 5000]))


@fault
async def failed_inside(wire: Wire, good: Good, dice: random.Random) -> None:
    await _status(wire, dice.choice([500, 503, 504, 529]))


@fault
async def timed_out_or_conflicted(wire: Wire, good: Good, dice: random.Random) -> None:
    await _status(wire, dice.choice([408, 409]))


@fault
async def bad_gateway_page(wire: Wire, good: Good, dice: random.Random) -> None:
    page = b"<html><head><title>502 Bad Gateway</title></head>" + b"<p>" * 50_000
    await wire.reply(502, page, content_type="text/html")


@fault
async def unauthorized(wire: Wire, good: Good, dice: random.Random) -> None:
    await _status(wire, 401)


@fault
async def no_such_model(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.json(404, {"error": {"message": "model 'small' not found", "code": "model_not_found"}})


@fault
async def no_such_path(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.reply(404, b"404 page not found", content_type="text/plain")


@fault
async def refused(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.json(dice.choice([400, 422]), {"error": {"message": "that is not allowed here"}})


@fault
async def redirected(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(dice.choice([301, 307, 308]), location="http://127.0.0.1:9/steal", content_length="0")


@fault
async def error_of_strange_form(wire: Wire, good: Good, dice: random.Random) -> None:
    body = dice.choice(
        [b"", b"null", b"[]", b'{"error": [1]}', b"\xff\xfe", b"[" * 90_000, b'{"detail": [{}]}']
    )
    await wire.reply(500, body, content_type="application/json")


@fault
async def hangs_before_the_head(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.until_left()


@fault
async def hangs_before_the_first_token(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    await wire.until_left()


@fault
async def hangs_between_tokens(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    await wire.send(good.body[: good.middle])
    await wire.until_left()


@fault
async def drips_bytes(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    for _ in range(10_000):
        await wire.send(b" ")
        await asyncio.sleep(0.02)


@fault
async def only_keeps_alive(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    for _ in range(10_000):
        await wire.send(b": still here\n\n" if good.events else b"\n")
        await asyncio.sleep(0.02)


@fault
async def closes_at_once(wire: Wire, good: Good, dice: random.Random) -> None:
    pass


@fault
async def closes_after_the_head(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)


@fault
async def breaks_between_tokens(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    await wire.send(good.body[: good.middle])


@fault
async def breaks_anywhere(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    await wire.send(good.body[: dice.randrange(good.middle)])


@fault
async def resets(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    await wire.send(good.body[: good.middle])
    wire.writer.transport.abort()


@fault
async def stops_short_of_its_length(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type, content_length=str(len(good.body) + 100))
    await wire.send(good.body[: good.middle])


@fault
async def bad_chunk_sizes(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type, transfer_encoding="chunked")
    await wire.send(b"zz\r\nxx\r\n")


@fault
async def no_http(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.send(
        dice.choice([b"SSH-2.0-OpenSSH_9.6\r\n", b"\x15\x03\x01\x00\x02\x02F", b"HTTP/9 200\r\n\r\n"])
    )


@fault
async def endless_head(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\n")
    for number in range(100_000):
        await wire.send(b"X-%d: %s\r\n" % (number, b"x" * 1000))


@fault
async def half_a_character_at_the_end(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    await wire.send(good.body[: good.middle] + (b"data: " if good.events else b"") + b'{"x": "\xe4\xb8')


@fault
async def half_a_character_within(wire: Wire, good: Good, dice: random.Random) -> None:
    at = good.body.index("ü".encode())
    await wire.head(content_type=good.content_type)
    await wire.send(good.body[: at + 1] + good.body[at + 2 :])


@fault
async def invalid_json(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    await wire.send(good.body[: good.middle])
    await wire.send((b"data: " if good.events else b"") + b'{"choices": [}\n\n')


@fault
async def deep_json(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    deep = dice.choice([b"[" * 100_000, b'{"a":' * 100_000, b"[" * 500 + b"]" * 500])
    await wire.send((b"data: " if good.events else b"") + deep + b"\n\n")


@fault
async def endless_line(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    await wire.send(b'data: {"x": "' if good.events else b'{"x": "')
    for _ in range(1024):
        await wire.send(b"x" * MEGABYTE)


@fault
async def endless_answer(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    filler = b'{"choices": [], "x": "' + b"y" * 65_000 + b'"}'
    for _ in range(20_000):
        await wire.send(b"data: " + filler + b"\n\n" if good.events else filler + b"\n")


@fault
async def gzip_bomb(wire: Wire, good: Good, dice: random.Random) -> None:
    bomb = _bomb(b"data: " if good.events else b"{")
    await wire.reply(200, bomb, content_type=good.content_type, content_encoding="gzip")


@fault
async def no_gzip(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.reply(200, good.body, content_type=good.content_type, content_encoding="gzip")


@fault
async def unknown_compression(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.reply(200, good.body, content_type=good.content_type, content_encoding="br")


@fault
async def page_instead(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.reply(200, b"<!doctype html><p>Hello", content_type="text/html")


@fault
async def page_declared_as_events(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.reply(200, b"<!doctype html><p>Hello", content_type=good.content_type)


@fault
async def other_json(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.json(200, {"status": "ok"})


@fault
async def nothing(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(dice.choice([200, 204]), content_length="0")


@fault
async def error_within(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    text = json.dumps(error).encode()
    await wire.send(good.body[: good.middle] + (b"data: " if good.events else b"") + text + b"\n\n")


# From here on the answer is unusual, but all of it is there: it must be read.


@fault
async def compressed(wire: Wire, good: Good, dice: random.Random) -> None:
    packed = gzip.compress(good.body)
    await wire.reply(200, packed, content_type=good.content_type, content_encoding="gzip")


@fault
async def wrong_content_type(wire: Wire, good: Good, dice: random.Random) -> None:
    wrong = dice.choice(["text/plain", "application/octet-stream", "text/html; charset=latin-1"])
    await wire.reply(200, good.body, content_type=wrong)


@fault
async def no_content_type(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.reply(200, good.body)


@fault
async def strange_line_ends(wire: Wire, good: Good, dice: random.Random) -> None:
    """CRLF, comments and blank lines between all events."""
    gap = b"\r\n: a remark\r\n\r\n: another\r\n" if good.events else b"\r\n\r\n"
    body = gap + good.body.replace(b"\n", b"\r\n").replace(b"\r\n\r\n", b"\r\n\r\n" + gap)
    await wire.reply(200, body, content_type=good.content_type)


@fault
async def byte_order_mark(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.reply(200, b"\xef\xbb\xbf" + good.body, content_type=good.content_type)


@fault
async def single_bytes(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    for at in range(len(good.body)):
        await wire.send(good.body[at : at + 1])
        if at % 7 == 0:
            await asyncio.sleep(0)


@fault
async def no_end_mark(wire: Wire, good: Good, dice: random.Random) -> None:
    """Without `[DONE]` or `message_stop`, and the last line not ended."""
    body = good.body.replace(b"data: [DONE]", b"").rstrip()
    body = body.removesuffix(b'data: {"type": "message_stop"}').rstrip()
    await wire.reply(200, body, content_type=good.content_type)


@fault
async def stays_open(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.head(content_type=good.content_type)
    await wire.send(good.body.replace(b"data: [DONE]\n\n", b""))
    await wire.until_left()


@fault
async def no_usage(wire: Wire, good: Good, dice: random.Random) -> None:
    gone = {"usage", "prompt_eval_count", "eval_count"}
    await wire.reply(200, good.edited(lambda data: _without(data, gone)), content_type=good.content_type)


@fault
async def usage_of_nonsense(wire: Wire, good: Good, dice: random.Random) -> None:
    wrong = dice.choice([-1, "many", None, 1e300, [1], True])
    counts = {"prompt_tokens", "input_tokens", "prompt_eval_count", "output_tokens", "completion_tokens"}
    body = good.edited(lambda data: _with(data, counts, wrong))
    await wire.reply(200, body, content_type=good.content_type)


@fault
async def missing_ids(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.reply(200, good.edited(lambda data: _without(data, {"id"})), content_type=good.content_type)


@fault
async def duplicate_ids(wire: Wire, good: Good, dice: random.Random) -> None:
    await wire.reply(
        200, good.edited(lambda data: _with(data, {"id"}, "same")), content_type=good.content_type
    )


@fault
async def unknown_fields(wire: Wire, good: Good, dice: random.Random) -> None:
    body = good.edited(lambda data: {**data, "new": [{"x": None}], "type_": 5})
    await wire.reply(200, body, content_type=good.content_type)


@fault
async def unknown_events(wire: Wire, good: Good, dice: random.Random) -> None:
    odd = b'{"type": "ping"}', b'{"object": "queue.status", "position": 3}', b"{}"
    lines = b"".join(b"event: odd\nid: 7\nretry: 5\ndata: " + text + b"\n\n" for text in odd)
    lines = lines if good.events else b"".join(text + b"\n" for text in odd)
    await wire.reply(200, lines + good.body, content_type=good.content_type)


READ_ALL_THE_SAME = frozenset(list(FAULTS)[list(FAULTS).index("compressed") :])
"""The faults that an adapter reads through without asking again."""


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _without(item, names) for name, item in value.items() if name not in names}
    return [_without(item, names) for item in value] if isinstance(value, list) else value


def _with(value: Any, names: set[str], other: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: other if name in names else _with(item, names, other) for name, item in value.items()}
    return [_with(item, names, other) for item in value] if isinstance(value, list) else value


def sometimes(seed: int) -> Iterator[str]:
    """Without end: for each question the fault that it meets, or an empty text for none."""
    dice = random.Random(seed)
    names = sorted(FAULTS)
    while True:
        yield dice.choice(names) if dice.random() < 0.3 else ""


def by_seed(good: Answer, seed: int) -> Answer:
    """A server that misbehaves now and then, for as long as it runs."""
    ahead = sometimes(seed)
    dice = random.Random(seed)

    async def answer(asked: Asked, wire: Wire) -> None:
        chat = asked.method == "POST" and asked.path.endswith(CHAT_PATHS)
        name = next(ahead) if chat else ""
        if name:
            await FAULTS[name](wire, await _captured(good, asked, peek=True), dice)
        else:
            await good(asked, wire)

    return answer


async def _serve(script: Path, port: int, seed: int) -> None:
    async with serving(by_seed(ScriptedServer(read_script(script)), seed), port=port) as running:
        print(running.origin.rpartition(":")[2], flush=True)  # noqa: T201
        await asyncio.Event().wait()


def main() -> None:
    """Serve a script, misbehaving, until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(given.script, given.port, given.seed))


if __name__ == "__main__":
    main()
