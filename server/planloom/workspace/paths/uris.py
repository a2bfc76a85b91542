"""Converts between file URIs and paths, and gives each document one normalised URI."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes, unquote, unquote_to_bytes

from planloom.workspace.paths.names import visible

if TYPE_CHECKING:
    from planloom.domain.values import Uri
else:
    # The command line converts URIs too, and need not import pydantic for a name.
    Uri = str

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_DRIVE = re.compile(r"/?([A-Za-z])[:|](?=/|$)")
_WINDOWS = os.name == "nt"


def scheme(uri: str) -> str:
    """The scheme in lower case; "" if the text is not a URI."""
    found = _SCHEME.match(uri)
    return found[1].lower() if found else ""


def is_file(uri: str) -> bool:
    """Whether the URI names a file on this machine."""
    return scheme(uri) == "file" and _host(uri) in ("", "localhost")


def from_path(path: Path | str) -> Uri:
    """The normalised URI of an absolute path."""
    raw = os.fsencode(path)
    if _WINDOWS:
        raw = raw.replace(b"\\", b"/")
    return _written(raw)


def to_path(uri: str) -> Path | None:
    """The path of a file URI; None for another scheme, another machine or a name with a NUL."""
    if not is_file(uri):
        return None
    raw = _decoded(uri)
    if b"\0" in raw or not raw:
        return None
    text = os.fsdecode(raw)
    if _WINDOWS and _DRIVE.match(text):
        text = text.lstrip("/")
    return Path(text)


@lru_cache(maxsize=8192)
def normalized(uri: str) -> Uri:
    """The one spelling of a document's URI: `file:///C:/` and `file:///c%3A/` are the same.

    URIs with another scheme stay unchanged: only their owner knows what their parts mean.
    """
    if scheme(uri) != "file":
        return Uri(uri)
    host = _host(uri)
    if host in ("", "localhost"):
        return _written(_decoded(uri))
    return Uri(f"file://{host}{quote_from_bytes(_decoded(uri), safe='/')}")


def child(folder: str, relative: str) -> Uri:
    """The URI of a path below a folder; `relative` is a plain path with forward slashes."""
    base = normalized(folder).rstrip("/")
    return Uri(f"{base}/{quote_from_bytes(os.fsencode(relative), safe='/')}" if relative else base)


def parent(uri: str) -> Uri:
    """The URI of the folder that holds a file or folder."""
    head, _, _ = normalized(uri).rstrip("/").rpartition("/")
    return Uri(head)


def folders_of(key: Uri) -> Iterator[Uri]:
    """The folders that a normalised URI lies in, the inner ones first."""
    while (key := Uri(key.rpartition("/")[0])) and not key.endswith("/"):
        yield key


def relative(uri: str, folder: str) -> str | None:
    """The plain path of what is at or below a folder, "" for the folder itself; None if it is elsewhere."""
    key, base = normalized(uri), normalized(folder).rstrip("/")
    if not is_at_or_below(key.rstrip("/"), base):
        return None
    return os.fsdecode(unquote_to_bytes(key[len(base) :].strip("/").encode("utf-8", "surrogatepass")))


def display_name(uri: str) -> str:
    """The last name of a document, for use in sentences; invisible characters are escaped."""
    path = to_path(uri)
    return visible(path.name or str(path) if path is not None else unquote(uri.rpartition("/")[2]) or uri)


def display_names(uris: Iterable[str]) -> str:
    """The display names of documents, for use in sentences."""
    return ", ".join(map(display_name, uris))


def name_in(uri: str, folders: Iterable[str]) -> str:
    """The path of a file relative to the folder that holds it; its display name if none does."""
    found = (relative(uri, folder) for folder in folders)
    return next((name or "." for name in found if name is not None), None) or display_name(uri)


def shown_in(uri: str, folders: Iterable[str]) -> str:
    """The path of a file like that of `name_in`, for use in sentences; invisible characters are escaped."""
    return visible(name_in(uri, folders))


def is_below(uri: str, folder: str) -> bool:
    """Whether the URI names something inside the folder, compared by whole names."""
    return normalized(uri).startswith(normalized(folder).rstrip("/") + "/")


def is_at_or_below(uri: str, place: str) -> bool:
    """Whether the URI, normalised like `place`, is that place or inside it."""
    return uri == place or is_below(uri, place)


def after_rename(uri: Uri, old: str, new: str) -> Uri:
    """The URI after a rename of `old` to `new`, which may be the file itself or a folder above it."""
    return Uri(new + uri.removeprefix(old)) if is_at_or_below(uri, old) else uri


def _host(uri: str) -> str:
    rest = uri[len("file:") :]
    if not rest.startswith("//"):
        return ""
    return re.split(r"[/?#]", rest[2:], maxsplit=1)[0].lower()


def _decoded(uri: str) -> bytes:
    rest = re.split(r"[?#]", uri[len("file:") :], maxsplit=1)[0]
    if rest.startswith("//"):
        _, slash, tail = rest[2:].partition("/")
        rest = slash + tail
    if rest and not rest.startswith("/"):
        rest = "/" + rest
    return unquote_to_bytes(rest.encode("utf-8", "surrogatepass"))


def _written(raw: bytes) -> Uri:
    drive = _DRIVE.match(raw[:4].decode("latin-1"))
    if drive:
        tail = quote_from_bytes(raw[drive.end() :], safe="/")
        return Uri(f"file:///{drive[1].lower()}%3A{tail}")
    return Uri(f"file://{quote_from_bytes(raw, safe='/')}")
