"""What HTTP clients share: trusted certificates, the check of the address reached, decompression in bounded pieces."""

from __future__ import annotations

import functools
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from typing import Any

from planloom.web.addresses import refused_address


class AnswerUnusable(Exception):
    """The answer exceeds a limit; a retry would not help."""


class RefusedPeer(Exception):
    """A name leads to an address to which nothing is sent."""

    def __init__(self, peer: str, problem: str) -> None:
        super().__init__(f"its name leads to {peer}, which is refused: {problem}")


class AnswerBroken(Exception):
    """The answer is damaged; a retry may help."""


async def decompressed(inner: AsyncIterable[bytes], encoding: str) -> AsyncGenerator[bytes]:
    """Undo gzip or deflate in bounded pieces, since a small answer can decompress to a huge one.

    Raises AnswerUnusable for another encoding, AnswerBroken for damaged data.
    """
    if encoding in {"", "identity"}:
        async for chunk in inner:
            yield chunk
        return
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise AnswerUnusable(f"it is compressed as {encoding[:20]!r}, which was not requested")
    unpacker = zlib.decompressobj(wbits=47 if "gzip" in encoding else 15)
    try:
        async for chunk in inner:
            packed = chunk
            while packed:
                yield unpacker.decompress(packed, 65536)
                packed = unpacker.unconsumed_tail
    except zlib.error:
        raise AnswerBroken("its compression is invalid") from None


def peer_check(scheme: str, failure: Callable[[str, str], Exception]) -> Any:
    """A trace listener of httpcore that closes a connection to a refused address before anything is sent.

    It raises what `failure` makes of the address and the problem.
    """

    async def trace(event: str, info: dict[str, Any]) -> None:
        if event != "connection.connect_tcp.complete":
            return
        stream = info["return_value"]
        peer = stream.get_extra_info("server_addr")
        problem = refused_address(scheme, str(peer[0])) if peer else None
        if problem is not None:
            await stream.aclose()
            raise failure(str(peer[0]), problem)

    return trace


@functools.cache
def trusted_certificates() -> ssl.SSLContext:
    """The certificates of the system and certifi; loading takes 30 ms, so it is done once and only for https."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
