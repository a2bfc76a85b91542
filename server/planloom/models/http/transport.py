"""The HTTP client for possibly hostile model servers: bounded answers in bounded time, checked addresses, a key for one
origin.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.models.http.endpoint import shown_url
from planloom.models.http.keys import Key
from planloom.models.http.proxies import Proxy
from planloom.web.addresses import DEFAULT_PORTS, AddressRefused, web_address
from planloom.web.transfer import (
    LOCATION,
    AnswerBroken,
    AnswerUnusable,
    decompressed,
    peer_check,
    strict_client,
    trusted_certificates,
)

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Most bytes of one answer, after decompression."""
MAX_LINE_BYTES = 8 * 1024 * 1024
"""Most bytes of one line, which may contain a whole file."""
BLANK = " \t\r\n"
SNIFFED_CHARACTERS = 4096
"""Most leading blanks before the content type is given up."""
SSE_STARTS = ("data:", "event:", ":", "id:", "retry:")
_LONGEST_START = max(map(len, SSE_STARTS))
AFTER_FINISH_SECONDS = 1.0
"""How long to wait for the usage and the end of a stream after the answer is complete."""
_HEADERS = {"User-Agent": "planloom", "Accept-Encoding": "identity"}
FindKey = Callable[[], Key | None]
"""Looks up the key for each request, since it may be set after the model was chosen."""


class Timeouts(NamedTuple):
    """Time limits in seconds: to connect, to the first token, between tokens, and for a whole answer."""

    connect: float = 10.0
    first_token: float = 300.0
    token: float = 60.0
    answer: float = 3600.0


class StreamDeadlines:
    """Computes which time limit applies now; `patient` allows as much time between tokens as for the first one."""

    def __init__(self, timeouts: Timeouts, *, patient: bool) -> None:
        self._timeouts = timeouts
        self._token = max(timeouts.token, timeouts.first_token) if patient else timeouts.token
        self._clock = asyncio.get_running_loop().time
        self._start = self._since = self._clock()
        self._complete = 0.0
        self._any = False

    def token_received(self) -> None:
        """Restart the limit between tokens, after a token was read and passed on."""
        self._any = True
        self._since = self._clock()

    def limit(self, setting: str) -> float:
        """The limit in seconds behind a setting; "" is the limit of the whole answer."""
        if not setting:
            return self._timeouts.answer
        return self._token if self._any else self._timeouts.first_token

    def seconds_left(self, *, complete: bool) -> tuple[float, str, str]:
        """The seconds until the next limit, what will be missing then, and the setting that holds the limit."""
        if complete:
            self._complete = self._complete or self._clock()
            return self._complete + AFTER_FINISH_SECONDS - self._clock(), "end", ""
        name, setting = (
            ("further token", "model.tokenTimeoutSeconds")
            if self._any
            else ("first token", "model.firstTokenTimeoutSeconds")
        )
        now = self._clock()
        nearest = self._since + self.limit(setting) - now
        whole = self._start + self._timeouts.answer - now
        return (nearest, name, setting) if nearest <= whole else (whole, "end of its answer", "")


class Answer(NamedTuple):
    """An answer as it arrives. `form` is its content type: what its beginning shows, else what the server states.

    `location` is where a redirect leads. `stays_open`: the server takes another request over its connection, once it
    is read to its end.
    """

    status: int
    headers: Mapping[str, str]
    form: str
    texts: AsyncGenerator[str]
    location: str = ""
    stays_open: bool = True


class HttpClient:
    """Sends requests over connections that stay open, and bounds every answer.

    The address that a connection reached is checked before anything is sent; behind a proxy that is not known.
    """

    def __init__(
        self,
        timeouts: Timeouts,
        *,
        secure: bool,
        find_key: FindKey = lambda: None,
        key_header: str = "Authorization",
        proxy: Proxy | None = None,
    ) -> None:
        """`secure`: https will be used; for plain http no certificates are loaded.

        `find_key` finds the key that each request has in `key_header`. Raises ModelFailed if the proxy is none.
        """
        # `StreamDeadlines` limits the time between tokens; these limits catch dead connections.
        silence = max(timeouts.first_token, timeouts.token) + 5.0
        self._client = strict_client(
            trusted_certificates() if secure or proxy is not None else None,
            httpx.Timeout(silence, connect=timeouts.connect, pool=timeouts.connect),
            proxy=None if proxy is None else _opened(proxy),
        )
        self._find_key = find_key
        self._key_header = key_header
        self._checks_peer = proxy is None

    @contextlib.asynccontextmanager
    async def answer(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> AsyncIterator[Answer]:
        """Send a request, and open its answer.

        To be run in a task that is cancelled once at most, as `planloom.shielded` does: a second cancellation would
        reach httpx while it cleans up after the first, and leave the connection open for as long as the server
        lives. Raises ModelFailed if the address cannot be used or the key is for another origin,
        httpx.TransportError, and what `bounded` raises.
        """
        address = web_address(url)
        if isinstance(address, AddressRefused):
            raise _unusable(f"The model's address cannot be used: {address.reason}.")
        wanted = {**_HEADERS, **headers, **self._key_for(url)}
        extensions = {"trace": peer_check(address.scheme, _refused)} if self._checks_peer else {}
        async with self._client.stream(
            method, address.url, headers=wanted, content=content, extensions=extensions
        ) as response:
            stated = response.headers.get("content-type", "").lower()
            pieces_of = bounded(response.aiter_raw(), response.headers.get("content-encoding", ""))
            async with contextlib.aclosing(pieces_of) as texts:
                form, pieces = stated.partition(";")[0], texts
                if "text/event-stream" in stated:
                    form = "text/event-stream"
                elif response.status_code < 300:
                    found, pieces = await sniffed(texts)
                    form = found or form
                stays_open = response.headers.get("connection", "").lower() != "close"
                location = response.extensions.get(LOCATION, "")
                yield Answer(response.status_code, response.headers, form, pieces, location, stays_open)

    def _key_for(self, url: str) -> dict[str, str]:
        key = self._find_key()
        if key is None:
            return {}
        parts = urlsplit(url)
        prefix = "Bearer " if self._key_header.lower() == "authorization" else ""
        return {self._key_header: prefix + key.reveal(f"{parts.scheme}://{parts.netloc}")}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _opened(proxy: Proxy) -> httpx.Proxy:
    """The proxy for the HTTP library. Raises ModelFailed if the URL is none of a proxy."""
    try:
        opened = httpx.Proxy(proxy.url if "://" in proxy.url else f"http://{proxy.url}")
        if opened.url.host and opened.url.scheme in DEFAULT_PORTS and (opened.url.port or 0) < 2**16:
            return opened
    except (httpx.InvalidURL, ValueError):
        pass
    raise ModelFailed(
        "model_unavailable",
        f"The proxy {shown_url(proxy.url)!r} cannot be used.",
        hint=f"Set {proxy.variable} to an address such as http://proxy.example:3128.",
        problem=ModelProblem(cause="proxy", address=shown_url(proxy.url)),
    )


def _refused(peer: str, problem: str) -> ModelFailed:
    return _unusable(f"The model's address resolves to {peer}, which is refused: {problem}.")


def _unusable(message: str) -> ModelFailed:
    return ModelFailed(
        "model_unavailable",
        message,
        hint="Set `planloom.model.baseUrl` to another address.",
        problem=ModelProblem(cause="wrong_address"),
    )


async def bounded(stream: AsyncIterable[bytes], encoding: str) -> AsyncGenerator[str]:
    """The text of an answer in pieces, decompressed and without a byte order mark.

    Raises AnswerBroken where it is damaged, AnswerUnusable where it exceeds a limit.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")("strict")
    total = line = 0
    async with contextlib.aclosing(decompressed(stream, encoding.strip().lower())) as chunks:
        async for chunk in chunks:
            total += len(chunk)
            cut = chunk.rfind(b"\n")
            line = line + len(chunk) if cut < 0 else len(chunk) - cut - 1
            if total > MAX_ANSWER_BYTES:
                raise AnswerUnusable(f"it is longer than {MAX_ANSWER_BYTES // 2**20} MB")
            if line > MAX_LINE_BYTES:
                raise AnswerUnusable(f"one of its lines is longer than {MAX_LINE_BYTES // 2**20} MB")
            try:
                text = decoder.decode(chunk)
            except UnicodeDecodeError:
                raise AnswerBroken("it is not valid UTF-8") from None
            if text:
                yield text
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise AnswerBroken("it ends in the middle of a character") from None


async def sniffed(texts: AsyncGenerator[str]) -> tuple[str | None, AsyncGenerator[str]]:
    """The content type that the first characters suggest, or None; and the texts, these among them."""
    first = start = ""
    async for text in texts:
        first += text
        start = first.lstrip(BLANK)
        if len(first) > SNIFFED_CHARACTERS or len(start) >= _LONGEST_START or start.startswith("{"):
            break
    form = None
    if start.startswith(SSE_STARTS):
        form = "text/event-stream"
    elif start.startswith("{"):
        form = "application/json"
    return form, _with(first, texts)


async def _with(first: str, texts: AsyncGenerator[str]) -> AsyncGenerator[str]:
    yield first
    async for text in texts:
        yield text
