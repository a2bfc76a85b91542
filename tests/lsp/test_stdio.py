"""Frames however they are cut, and a stdout that never stops the loop."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.lsp.language_server import make_server
from planloom.lsp.transport import frames as framing
from planloom.lsp.transport.frames import FrameReader
from planloom.serving import stdio
from planloom.serving.stdio import PipeWriter
from tests.support.fake_application import FakeApplication


def frame(body: bytes, *, end: bytes = b"\r\n", more: bytes = b"") -> bytes:
    return b"Content-Length: %d" % len(body) + end + more + end + body


def read_all(pieces: list[bytes]) -> tuple[list[bytes], list[str]]:
    messages: list[bytes] = []
    problems: list[str] = []
    frames = FrameReader(messages.append, problems.append)
    for piece in pieces:
        frames.feed(piece)
    return messages, problems


@given(
    st.lists(st.binary(max_size=30), max_size=6),
    st.lists(st.integers(min_value=0, max_value=400), max_size=12),
    st.sampled_from([b"\r\n", b"\n"]),
)
def test_messages_come_whole_however_they_are_cut(bodies: list[bytes], cuts: list[int], end: bytes) -> None:
    stream = b"".join(frame(body, end=end) for body in bodies)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[start:stop] for start, stop in itertools.pairwise(places)]
    assert read_all(pieces) == (bodies, [])


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"CONTENT-LENGTH :  2  \r\n\r\n",
        b"Content-Type: x\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\n\n",
    ],
)
def test_headers_are_read_generously(header: bytes) -> None:
    assert read_all([header + b"{}"]) == ([b"{}"], [])


@pytest.mark.parametrize(
    "junk",
    [
        b"\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1e3\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"hello\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (framing.MAX_MESSAGE + 1) + b"x" * 5,
        b"x" * (framing.MAX_HEADER + 1),
    ],
)
def test_what_is_no_frame_is_told_once(junk: bytes) -> None:
    _, problems = read_all([junk])
    assert len(problems) == 1


def test_the_stream_goes_on_after_a_message_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "MAX_MESSAGE", 10)
    for size in (1, 3, 1000):
        stream = frame(b"x" * 50) + frame(b"{}")
        pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
        messages, problems = read_all(pieces)
        assert (messages, len(problems)) == ([b"{}"], 1)


def test_junk_takes_linear_time() -> None:
    frames = FrameReader(lambda _: None, lambda _: None)
    for _ in range(2000):
        frames.feed(b"\n" * 1 + b"x" * 1000)


class Pipe:
    """Both ends of a pipe; `backlog` and `lost` note what the writer told."""

    def __init__(self) -> None:
        self.reader, self.end = os.pipe()
        self.backlog: list[bool] = []
        self.lost: list[bool] = []

    def writer(self) -> PipeWriter:
        return PipeWriter(
            self.end, asyncio.get_running_loop(), self.backlog.append, lambda: self.lost.append(True)
        )

    def close(self) -> None:
        for end in (self.reader, self.end):
            try:
                os.close(end)
            except OSError:
                continue


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.close()


async def test_what_a_pipe_does_not_take_waits_and_keeps_its_order(pipe: Pipe) -> None:
    writer = pipe.writer()
    pieces = [bytes([65 + number % 26]) * 50_000 for number in range(60)]
    for piece in pieces:
        writer.write(piece)
    assert writer.congested
    got = await asyncio.to_thread(_read_exactly, pipe.reader, sum(map(len, pieces)))
    assert got == b"".join(pieces)
    await writer.drain(5)
    assert not writer.congested
    writer.close()
    assert os.get_blocking(pipe.end)


async def test_a_client_that_does_not_read_holds_its_own_requests_back(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "PAUSE_READING", 100_000)
    writer = pipe.writer()
    writer.write(b"x" * 400_000)
    assert pipe.backlog == [True]
    await asyncio.to_thread(_read_exactly, pipe.reader, 400_000)
    await writer.drain(5)
    assert pipe.backlog == [True, False]


async def test_a_client_that_never_reads_counts_as_gone(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "GIVE_UP", 200_000)
    writer = pipe.writer()
    for _ in range(10):
        writer.write(b"x" * 100_000)
    await asyncio.sleep(0)
    assert pipe.lost == [True]
    writer.write(b"more")


async def test_a_closed_pipe_is_told_and_raises_nothing(pipe: Pipe) -> None:
    writer = pipe.writer()
    os.close(pipe.reader)
    writer.write(b"x")
    writer.write(b"y")
    await asyncio.sleep(0)
    assert pipe.lost == [True]
    await writer.drain(1)


def _read_exactly(fd: int, size: int) -> bytes:
    got = bytearray()
    while len(got) < size:
        got += os.read(fd, min(65536, size - len(got)))
    return bytes(got)


class Wire:
    """A server in this process behind real pipes."""

    def __init__(self) -> None:
        server_in, self.to_server = os.pipe()
        self.from_server, server_out = os.pipe()
        self.stdin: BinaryIO = os.fdopen(server_in, "rb")
        self.stdout: BinaryIO = os.fdopen(server_out, "wb", buffering=0)
        self.app = FakeApplication()
        self.server = make_server(self.app.make)

    async def converse(self) -> int:
        return await stdio.converse(self.server.messages, FrameReader, self.stdin, self.stdout)

    def say(self, *messages: dict[str, Any]) -> None:
        bodies = (json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages)
        os.write(self.to_server, b"".join(frame(body) for body in bodies))

    def heard(self) -> list[dict[str, Any]]:
        os.set_blocking(self.from_server, False)
        found: list[bytes] = []
        frames = FrameReader(found.append, lambda problem: None)
        with open(self.from_server, "rb", closefd=False) as reader:
            frames.feed(reader.read() or b"")
        return [json.loads(body) for body in found]

    def close(self) -> None:
        for end in (self.to_server, self.from_server):
            try:
                os.close(end)
            except OSError:
                continue
        self.stdout.close()


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire()
    yield made
    made.close()


INITIALIZE = {"id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}}}


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([{"method": "exit"}], 1),
        ([INITIALIZE, {"method": "exit"}], 1),
        ([INITIALIZE, {"id": 2, "method": "shutdown"}, {"method": "exit"}], 0),
    ],
)
async def test_exit_codes_are_those_of_lsp(wire: Wire, messages: list[dict[str, Any]], code: int) -> None:
    wire.say(*messages)
    assert await asyncio.wait_for(wire.converse(), 5) == code


async def test_nothing_is_taken_after_exit(wire: Wire) -> None:
    wire.say(INITIALIZE, {"method": "exit"}, {"id": 2, "method": "planloom/nope"})
    await asyncio.wait_for(wire.converse(), 5)
    assert [message["id"] for message in wire.heard()] == [1]


async def test_the_server_ends_when_its_client_vanishes(wire: Wire) -> None:
    wire.say(INITIALIZE)
    os.close(wire.to_server)
    assert await asyncio.wait_for(wire.converse(), 5) == 1


async def test_a_request_cut_short_by_the_end_is_passed_over(wire: Wire) -> None:
    os.write(wire.to_server, b'Content-Length: 999\r\n\r\n{"jsonrpc"')
    os.close(wire.to_server)
    assert await asyncio.wait_for(wire.converse(), 5) == 1


async def test_bytes_that_are_no_frame_are_answered(wire: Wire) -> None:
    os.write(wire.to_server, b"hello\r\n\r\n")
    wire.say(INITIALIZE, {"method": "exit"})
    await asyncio.wait_for(wire.converse(), 5)
    answers = wire.heard()
    assert answers[0]["id"] is None and answers[0]["error"]["code"] == -32700
    assert answers[1]["id"] == 1


async def test_stdin_may_be_a_plain_file(wire: Wire, tmp_path: Any) -> None:
    path = tmp_path / "messages"
    bodies = [INITIALIZE, {"id": 2, "method": "nope"}]
    path.write_bytes(b"".join(frame(json.dumps({"jsonrpc": "2.0", **body}).encode()) for body in bodies))
    with path.open("rb") as messages:
        code = await asyncio.wait_for(
            stdio.converse(wire.server.messages, FrameReader, messages, wire.stdout), 5
        )
    assert code == 1
    assert [message["id"] for message in wire.heard()] == [1, 2]
