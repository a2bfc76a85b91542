"""What every HTTP client shares: the certificates that are trusted, and decompression in bounded pieces."""

from __future__ import annotations

import functools
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterable


class AnswerUnusable(Exception):
    """The answer exceeds a limit; a retry would not help."""


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


@functools.cache
def trusted_certificates() -> ssl.SSLContext:
    """The certificates of the system and certifi; loading takes 30 ms, so it is done once and only for https."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
