"""Messages on stdin and stdout, one JSON object a line; answers `initialize`, and what is no message, without the
library of the protocol, whose import takes longer than all else.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from planloom.serving import envelope
from planloom.version import VERSION

if TYPE_CHECKING:
    from planloom.serving.stdio import Writer

logger = logging.getLogger(__name__)

PROTOCOL_VERSION: Final = 1
"""The version that is spoken; a client that asks for another one gets this, and closes if it does not speak it."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""The most bytes of one message; a longer one is skipped and answered with an error."""

Json = dict[str, Any]


class Abilities(NamedTuple):
    """The features of the client that are used. Only `true` declares one."""

    read: bool = False
    write: bool = False


class LineReader:
    """Calls `on_message` with each line that is not empty, and `on_problem` with a sentence on one that is too long."""

    def __init__(self, on_message: Callable[[bytes], None], on_problem: Callable[[str], None]) -> None:
        self._on_message = on_message
        self._on_problem = on_problem
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Add the next bytes of the stream, in pieces of any size."""
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._keep(part)
            line, size = b"".join(self._parts).strip(), self._size
            self._parts, self._size = [], 0
            if size > MOST_BYTES:
                self._on_problem(f"A message has {size} bytes; the limit is {MOST_BYTES}.")
            elif line:
                self._on_message(line)
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MOST_BYTES:
            self._parts.clear()
        elif part:
            self._parts.append(part)


class Wire:
    """The two pipes. It is the receiver of `serving/stdio.py`, and by `messages` the transport of the library."""

    def __init__(self, on_initialized: Callable[[], None]) -> None:
        """`on_initialized` is called once, when the answer to `initialize` is on its way."""
        self.abilities = Abilities()
        self.on_exit: Callable[[int], None] = lambda _: None
        self.messages = Messages(self)
        self._on_initialized = on_initialized
        self._initialized = False
        self._writer: Writer | None = None

    @property
    def congested(self) -> bool:
        """Whether so much is unsent that text which can be missed should be dropped."""
        return self._writer is not None and self._writer.congested

    def set_writer(self, writer: Writer) -> None:
        """The pipe to write to."""
        self._writer = writer

    def disconnect(self) -> None:
        """The client is gone."""
        self.messages.incoming.put_nowait(None)

    def write(self, message: Json) -> None:
        """Send a message. Texts are escaped, since half of a surrogate pair has no UTF-8."""
        if self._writer is not None:
            self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def refuse(self, ident: Any, code: int, problem: str) -> None:
        """Answer what cannot be answered otherwise with an error."""
        self.write({"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": problem}})

    def receive(self, body: bytes) -> None:
        """Take in one message."""
        message = envelope.read_envelope(body)
        match message:
            case envelope.Refused(code=0):
                logger.warning("Ignored a message: %s", message.problem)
            case envelope.Refused():
                self.refuse(message.id, message.code, message.problem)
            case envelope.Response():
                error = message.error if isinstance(message.error, dict) or message.error is None else {}
                answer = {"result": message.result} if error is None else {"error": error}
                self.messages.incoming.put_nowait({"id": message.id, **answer})
            case envelope.Request() | envelope.Notification():
                self._receive(message)

    def _receive(self, message: envelope.Request | envelope.Notification) -> None:
        ident, params = getattr(message, "id", None), message.params or {}
        problem, code = None, envelope.INVALID_PARAMS
        if not isinstance(params, dict):
            problem = "The params must be an object."
        elif message.method == "initialize":
            problem = self._initialize(ident, params)
        elif not self._initialized:
            problem, code = "The first request must be `initialize`.", envelope.INVALID_REQUEST
        else:
            request = {} if ident is None else {"id": ident}
            self.messages.incoming.put_nowait({**request, "method": message.method, "params": params})
        if problem is not None and ident is not None:
            self.refuse(ident, code, problem)

    def _initialize(self, ident: Any, params: Json) -> str | None:
        """Answer `initialize`; returns why it cannot be."""
        version = params.get("protocolVersion")
        # The first drafts of the protocol had dates; whoever sends one is told what is spoken now.
        if isinstance(version, bool) or not isinstance(version, int | str) or version == "":
            return "protocolVersion must be a version, such as 1."
        self.abilities = _abilities(params.get("clientCapabilities"))
        self.write({"jsonrpc": "2.0", "id": ident, "result": announced()})
        if not self._initialized:
            self._initialized = True
            self._on_initialized()
        return None


class Messages:
    """The messages for the library's connection, as its `Transport`; None stands for the end."""

    def __init__(self, wire: Wire) -> None:
        self.incoming: asyncio.Queue[Json | None] = asyncio.Queue()
        self._wire = wire

    async def send(self, message: Json) -> None:
        """Send a message; it is on its way before anything else is done."""
        self._wire.write(message)

    async def receive(self) -> Json | None:
        """The next message; None at the end."""
        return await self.incoming.get()

    async def close(self) -> None:
        """Do nothing: the pipes have another owner."""


def announced() -> Json:
    """The answer to `initialize`."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {"close": {}, "additionalDirectories": {}},
        },
        "agentInfo": {"name": "planloom", "title": "Planloom", "version": VERSION},
        "authMethods": [],
    }


def _abilities(capabilities: Any) -> Abilities:
    fs = capabilities.get("fs") if isinstance(capabilities, dict) else None
    if not isinstance(fs, dict):
        return Abilities()
    return Abilities(read=fs.get("readTextFile") is True, write=fs.get("writeTextFile") is True)
