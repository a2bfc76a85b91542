"""The outcomes of fetching an address, and how the bytes of an answer become text."""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from planloom.web.addresses import WebAddress
from planloom.web.html_text import html_text

_TEXTS: Final = frozenset(
    [
        "json",
        "xml",
        "javascript",
        "ecmascript",
        "x-javascript",
        "x-ndjson",
        "ndjson",
        "jsonlines",
        "json5",
        "yaml",
        "x-yaml",
        "toml",
        "x-toml",
        "markdown",
        "x-sh",
        "sql",
        "graphql",
        "x-tex",
    ]
)
"""Subtypes of `application/` that are text."""
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_DECLARED: Final = re.compile(rb"""(?:charset|encoding)\s{0,9}=\s{0,9}["']?\s{0,9}([A-Za-z0-9_.:-]{1,40})""")
"""The character set in a `<meta>` of HTML, or in the first line of XML."""
_LOOKED_AT: Final = 2_048
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Page(NamedTuple):
    """A page as text. `address` is the one that answered; `cut` says why the text ends before the page does."""

    address: WebAddress
    media_type: str
    title: str
    text: str
    cut: str | None = None


class Picture(NamedTuple):
    """An image of a kind that models take, whole."""

    address: WebAddress
    media_type: str
    data: bytes


class Redirected(NamedTuple):
    """A redirect to another host, which needs an approval of its own; `location` is its address."""

    location: str


class NotFetched(NamedTuple):
    """No page came; `reason` is a sentence, and `text` what the host wrote with its refusal."""

    reason: str
    text: str = ""


Fetched = Page | Picture | Redirected | NotFetched


def media_type_of(content_type: str) -> str:
    """The media type of a header, in lower case; empty if there is none."""
    return content_type.partition(";")[0].strip().lower()


def is_text(media_type: str, start: bytes) -> bool:
    """Whether an answer can be shown as text, by its media type, or by its first bytes if it states none."""
    if not media_type:
        return b"\0" not in start
    kind, _, subtype = media_type.partition("/")
    return (
        kind == "text" or (kind == "application" and subtype in _TEXTS) or subtype.endswith(("+json", "+xml"))
    )


def page_of(address: WebAddress, content_type: str, body: bytes, cut: str | None) -> Page:
    """The page as text. HTML is converted, everything else stays as it is. May take some seconds."""
    media_type = media_type_of(content_type)
    text = decoded(body, content_type, is_cut=cut is not None)
    start = text.lstrip()[:15].lower()
    if media_type in _HTML or (not media_type and start.startswith(("<!doctype html", "<html"))):
        title, shown = html_text(text)
        return Page(address, media_type or "text/html", title, shown, cut)
    return Page(address, media_type or "text/plain", "", text, cut)


def decoded(body: bytes, content_type: str, *, is_cut: bool = False) -> str:
    """The text by its byte order mark, its header, its own declaration, or as UTF-8; never an error.

    `is_cut`: the body may end in the middle of a character.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    header = _DECLARED.search(content_type.encode("ascii", "replace"))
    stated = header or _DECLARED.search(body[:_LOOKED_AT])
    codec = _text_codec(stated[1].decode("ascii")) if stated is not None else None
    if codec is not None:
        return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        is_end = is_cut and error.start >= len(body) - 3
        return body.decode("utf-8" if is_end else "cp1252", "replace")


def _text_codec(name: str) -> str | None:
    """The codec of this name, if it makes text of bytes; browsers read Latin-1 as Windows-1252."""
    try:
        codec = codecs.lookup(name)
    except LookupError:
        return None
    if not getattr(codec, "_is_text_encoding", True):
        return None
    return "cp1252" if codec.name in ("iso8859-1", "ascii") else codec.name
