"""HTTP to a model server that may be hostile: one origin, its own key, finite in bytes, lines and depth."""

from __future__ import annotations

import codecs
import contextlib
import functools
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from typing import Any, NamedTuple

import httpx
from httpx_sse import EventSource

from planloom.domain.errors import ModelFailed
from planloom.domain.values import Json
from planloom.models.endpoint import refused_address
from planloom.models.json_text import Unreadable, read_object
from planloom.models.keys import Key

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Bytes of one answer, after any compression is undone."""
MAX_LINE_BYTES = 8 * 1024 * 1024
"""Bytes of one line: a whole file may be written in one."""
MAX_ERROR_BYTES = 64 * 1024
"""Bytes of an error's body that are read; its first words are all that is shown."""
DONE = "[DONE]"
"""How OpenAI's streams end."""
SSE_STARTS = (b"data:", b"event:", b":", b"id:", b"retry:")
KEPT_CONNECTIONS = 8


class AnswerUnusable(Exception):
    """The answer breaks a limit; asking again would not help."""


class AnswerBroken(Exception):
    """The answer is damaged in a way that another attempt may not be."""


class Timeouts(NamedTuple):
    """Seconds to connect, to the first token, between two tokens, and for one whole answer."""

    connect: float = 10.0
    first_token: float = 300.0
    token: float = 60.0
    answer: float = 3600.0


class KeyAuth(httpx.Auth):
    """Puts the key into the request at the last moment, for its own origin alone."""

    def __init__(self, key: Key, header: str) -> None:
        self._key = key
        self._header = header

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        prefix = "Bearer " if self._header.lower() == "authorization" else ""
        request.headers[self._header] = prefix + self._key.reveal(_origin(request.url))
        yield request

    def __repr__(self) -> str:
        return f"<auth by {self._key!r}>"


def open_client(
    timeouts: Timeouts, *, secure: bool, auth: httpx.Auth | None = None, proxy: str | None = None
) -> httpx.AsyncClient:
    """A client that follows no redirect, reads no proxy, certificate or password from its surroundings, and
    checks certificates.

    `secure` says that https will be asked; for plain http no certificates are loaded. `proxy` is a URL
    that the user has set for Planloom itself.
    """
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS)
    verify = _trusted() if secure or proxy is not None else _trusting_nothing()
    inner = httpx.AsyncHTTPTransport(verify=verify, trust_env=False, limits=limits, proxy=proxy)
    return httpx.AsyncClient(
        transport=BoundedTransport(inner, watched=proxy is None),
        auth=auth,
        follow_redirects=False,
        trust_env=False,
        # The waits for tokens are counted by the reader; these are for a connection that is dead below it.
        timeout=httpx.Timeout(
            max(timeouts.first_token, timeouts.token) + 5.0, connect=timeouts.connect, pool=timeouts.connect
        ),
        headers={"User-Agent": "planloom", "Accept-Encoding": "identity"},
    )


class BoundedTransport(httpx.AsyncBaseTransport):
    """Bounds every answer before httpx sees it, and names its form as it is, not as it is declared.

    With `watched` the address that a connection reached is checked before anything is sent through it.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, *, watched: bool) -> None:
        self._inner = inner
        self._watched = watched

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._watched:
            request.extensions = {**request.extensions, "trace": _watch(request.url.scheme)}
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        content_type = response.headers.get("content-type", "")
        events = "text/event-stream" in content_type.lower()
        stream = BoundedStream(response.stream, response.headers.get("content-encoding", ""))
        headers = response.headers
        # The bytes are checked to be UTF-8 and decompressed here, so these two no longer hold.
        headers.pop("content-encoding", None)
        headers["content-type"] = "text/event-stream" if events else content_type.partition(";")[0]
        if not events and response.status_code < 300:
            form = await stream.sniff()
            headers["content-type"] = form or headers["content-type"]
        return httpx.Response(
            status_code=response.status_code,
            headers=headers,
            stream=stream,
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class BoundedStream(httpx.AsyncByteStream):
    """The bytes of an answer: decompressed, valid UTF-8, finite; a last blank line closes a last event."""

    def __init__(self, inner: httpx.AsyncByteStream, encoding: str) -> None:
        self._inner = inner
        self._chunks = _checked(_decompressed(inner, encoding.strip().lower()))
        self._first: bytes | None = None

    async def sniff(self) -> str | None:
        """The content type that the first bytes speak for, or None where they do not tell."""
        first = b""
        try:
            async for chunk in self._chunks:
                first += chunk
                if first.lstrip(b"\xef\xbb\xbf \t\r\n"):
                    break
        except BaseException:
            await self.aclose()
            raise
        self._first = first
        start = first.lstrip(b"\xef\xbb\xbf \t\r\n")
        if start.startswith(SSE_STARTS):
            return "text/event-stream"
        return "application/json" if start.startswith(b"{") else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._first:
            yield self._first
        async for chunk in self._chunks:
            yield chunk
        yield b"\n\n"

    async def aclose(self) -> None:
        await self._chunks.aclose()
        await self._inner.aclose()


async def payloads(response: httpx.Response) -> AsyncGenerator[dict[str, Json]]:
    """The JSON objects of an answer in whatever form they come: events, lines, or one whole document.

    Ends after `{DONE: True}`, where the server says so, or at the end. Raises `AnswerBroken` for no JSON.
    """
    if response.headers["content-type"] == "text/event-stream":
        async with contextlib.aclosing(EventSource(response).aiter_sse()) as events:
            async for event in events:
                for text in _documents(event.data):
                    if text == DONE:
                        yield {DONE: True}
                        return
                    yield _object(text)
        return
    async with contextlib.aclosing(_lines(response)) as lines:
        whole: list[str] = []
        read_any = False
        async for line in lines:
            value = read_object(line, halves=True) if not whole else Unreadable("")
            if not isinstance(value, Unreadable):
                read_any = True
                yield value
            elif read_any:
                raise AnswerBroken(f"a line is no JSON: {value.problem}")
            else:
                # A document that is spread over several lines is read when all of it is there.
                whole.append(line)
        if whole:
            yield _object("\n".join(whole))


async def bounded_text(response: httpx.Response, limit: int = MAX_ERROR_BYTES) -> str:
    """The first `limit` characters of a body, for errors and small documents; damage ends it, silently."""
    parts: list[str] = []
    size = 0
    with contextlib.suppress(AnswerUnusable, AnswerBroken, httpx.TransportError):
        async for part in response.aiter_text():
            parts.append(part)
            size += len(part)
            if size >= limit:
                break
    return "".join(parts)[:limit]


def _documents(data: str) -> list[str]:
    """The JSON texts of one event: servers that forget the blank line put several into one."""
    text = data.strip()
    if "\n" not in text or not isinstance(read_object(text), Unreadable):
        return [text] if text else []
    return [line for part in text.split("\n") if (line := part.strip())]


def _object(text: str) -> dict[str, Json]:
    value = read_object(text, halves=True)
    if isinstance(value, Unreadable):
        raise AnswerBroken(f"a part of it is no JSON ({value.problem})")
    return value


async def _lines(response: httpx.Response) -> AsyncGenerator[str]:
    """The lines that hold something, split at line feeds alone: JSON may hold other separators."""
    held: list[str] = []
    async for text in response.aiter_text():
        *complete, rest = text.split("\n")
        for part in complete:
            line = "".join([*held, part]).strip()
            held = []
            if line:
                yield line
        if rest:
            held.append(rest)
    line = "".join(held).strip()
    if line:
        yield line


async def _decompressed(inner: httpx.AsyncByteStream, encoding: str) -> AsyncGenerator[bytes]:
    """The bytes without gzip or deflate, a piece at a time: a small answer can hold a vast one."""
    if encoding in {"", "identity"}:
        async for chunk in inner:
            yield chunk
        return
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise AnswerUnusable(f"it is compressed as {encoding[:20]!r}, which was not asked for")
    unpacker = zlib.decompressobj(wbits=47 if "gzip" in encoding else 15)
    try:
        async for chunk in inner:
            packed = chunk
            while packed:
                yield unpacker.decompress(packed, 65536)
                packed = unpacker.unconsumed_tail
    except zlib.error:
        raise AnswerBroken("it is not compressed as it says") from None


async def _checked(chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    total = line = 0
    async with contextlib.aclosing(chunks):
        async for chunk in chunks:
            if not total:
                chunk = chunk.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901
            total += len(chunk)
            cut = chunk.rfind(b"\n")
            line = line + len(chunk) if cut < 0 else len(chunk) - cut - 1
            if total > MAX_ANSWER_BYTES:
                raise AnswerUnusable(f"it is longer than {MAX_ANSWER_BYTES // 2**20} MB")
            if line > MAX_LINE_BYTES:
                raise AnswerUnusable(f"one of its lines is longer than {MAX_LINE_BYTES // 2**20} MB")
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                raise AnswerBroken("it is no valid UTF-8") from None
            if chunk:
                yield chunk
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise AnswerBroken("it ends in the middle of a character") from None


def _watch(scheme: str) -> Any:
    """A listener that breaks a connection which reached an address that nothing may be sent to."""

    async def trace(event: str, info: dict[str, Any]) -> None:
        if event != "connection.connect_tcp.complete":
            return
        stream = info["return_value"]
        peer = stream.get_extra_info("server_addr")
        problem = refused_address(scheme, str(peer[0])) if peer else None
        if problem is not None:
            await stream.aclose()
            raise ModelFailed(
                "model_unavailable",
                f"The model's address leads to {peer[0]}, where nothing is sent: {problem}.",
                hint="Set `model.baseUrl` to another address.",
            )

    return trace


def _origin(url: httpx.URL) -> str:
    host = f"[{url.host}]" if ":" in url.host else url.host.lower()
    # httpx itself leaves out the default port.
    return f"{url.scheme}://{host}" + (f":{url.port}" if url.port is not None else "")


@functools.cache
def _trusted() -> ssl.SSLContext:
    """What the system and certifi trust; loading takes some 30 ms, so it is done once and only for https."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


@functools.cache
def _trusting_nothing() -> ssl.SSLContext:
    """For plain http: certificates are checked all the same, against none."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
