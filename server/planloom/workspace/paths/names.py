"""What a path's text says before any disk is asked: its parts, or why it is no path of the workspace."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

PathCode = Literal[
    "empty",
    "invalid",
    "outside",
    "ambiguous",
    "forbidden",
    "foreign",
    "not_a_folder",
    "loop",
    "dangling",
    "special",
    "too_long",
    "no_folder",
    "unreadable",
]

MAX_NAME_BYTES: Final = 255
MAX_PATH_BYTES: Final = 4096

_URI: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]+://|(?:file|untitled|git|https?|data|vscode(?:-[A-Za-z-]+)?|output):",
    re.IGNORECASE,
)
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_HOME: Final = re.compile(r"~|\$\{?HOME\}?|%[A-Za-z()0-9_]+%|\$env:.*", re.IGNORECASE)
_RESERVED: Final = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?",
    re.IGNORECASE | re.DOTALL,
)
_SHORT: Final = re.compile(r"[^.~ ]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?")
_UNUSABLE: Final = re.compile("[\0-\x1f\x7f\ud800-\udfff]")


class Problem(NamedTuple):
    """Why a text is no usable path."""

    code: PathCode
    reason: str


class Asked(NamedTuple):
    """A path as written: its parts without empty ones and dots, `..` kept; `anchor` only if absolute."""

    anchor: str
    parts: tuple[str, ...]


def shown(text: str, limit: int = 200) -> str:
    """A path for a sentence, in quotes."""
    return f"'{visible(text, limit)}'"


def visible(text: str, limit: int = 200) -> str:
    """A path without what cannot be seen, which is written out; what is long is cut in the middle."""
    written = "".join(_written(char) for char in text[: limit * 2])
    if len(written) > limit:
        end = "".join(_written(char) for char in text[-limit // 4 :])
        written = f"{written[: limit // 2]}…{end}"
    return written


def _written(char: str) -> str:
    return char if char.isprintable() else ascii(char)[1:-1]


def asked(text: str, *, drives: bool, backslash: bool) -> Asked | Problem:
    """Take a path apart.

    `drives` says whether this machine's paths begin with drive letters, `backslash` whether one
    separates names.
    """
    if _UNUSABLE.search(text):
        return Problem("invalid", f"{shown(text)} holds characters that no path can hold: leave them out.")
    if _URI.match(text):
        return Problem(
            "foreign", f"{shown(text)} is a URI: give a plain path, relative to the workspace folder."
        )
    if text.startswith(("\\\\", "//")):
        return Problem("foreign", f"{shown(text)} is on another machine: only the workspace can be used.")
    drive = _DRIVE.match(text)
    if drive and not (drives and text[2:3] in ("/", "\\")):
        return Problem(
            "foreign", f"{shown(text)} names a drive: give a path relative to the workspace folder."
        )
    separated = text.replace("\\", "/") if backslash else text
    rest = separated[2:] if drive else separated
    anchor = f"{text[:2]}/" if drive else "/" if rest.startswith("/") else ""
    parts = tuple(part for part in rest.split("/") if part not in ("", "."))
    if not anchor and parts and _HOME.fullmatch(parts[0]):
        return Problem(
            "outside", f"{shown(text)} is outside the workspace: give a path relative to its folder."
        )
    if len(text.encode()) > MAX_PATH_BYTES:
        return Problem("too_long", f"The path {shown(text)} is too long: use shorter names.")
    return Asked(anchor, parts)


def normalized_parts(parts: Iterable[str]) -> tuple[str, ...] | None:
    """The parts with every `..` taken up lexically; None if they lead above where they start."""
    kept: list[str] = []
    for part in parts:
        if part != "..":
            kept.append(part)
        elif kept:
            kept.pop()
        else:
            return None
    return tuple(kept)


def doubtful(name: str) -> str | None:
    """Why a name may stand for another file on some system, so that only one that is really there is used."""
    if ":" in name:
        return "a colon begins a hidden stream on some systems"
    if name != name.rstrip(". "):
        return "a dot or space at the end is dropped on some systems"
    if name != name.lstrip(" "):
        return "a space at the beginning is easily lost"
    if _RESERVED.fullmatch(name):
        return "the name stands for a device on some systems"
    if _SHORT.fullmatch(name):
        return "it looks like the short form of another name"
    return None


def too_long(name: str) -> bool:
    """Whether no usual file system takes a name of this length."""
    return len(name.encode("utf-8", "surrogateescape")) > MAX_NAME_BYTES
