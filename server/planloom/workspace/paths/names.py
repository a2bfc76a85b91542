"""Parses the text of a path without touching the disk, and rejects texts that cannot name a workspace file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.text import hidden_characters

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

_URI: Final = pattern(
    r"[A-Za-z][A-Za-z0-9+.-]+://|(?:file|untitled|git|https?|data|vscode(?:-[A-Za-z-]+)?|output):",
    re.IGNORECASE,
)
_DRIVE: Final = pattern(r"[A-Za-z]:")
_HOME: Final = pattern(r"~|\$\{?HOME\}?|%[A-Za-z()0-9_]+%|\$env:.*", re.IGNORECASE)
_RESERVED: Final = pattern(
    r"(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?",
    re.IGNORECASE | re.DOTALL,
)
_SHORT: Final = pattern(r"[^.~ ]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?")
_UNUSABLE: Final = pattern("[\0-\x1f\x7f\ud800-\udfff]")


class PathProblem(NamedTuple):
    """Why a text is not a usable path; `reason` is a sentence for the model."""

    code: PathCode
    reason: str


class ParsedPath(NamedTuple):
    """A parsed path: `parts` without empty ones and `.`, but with `..`; `anchor` is "" for a relative path."""

    anchor: str
    parts: tuple[str, ...]


def quoted(text: str, limit: int = 200) -> str:
    """A path in quotes, for use in a sentence."""
    return f"'{visible(text, limit)}'"


def visible(text: str, limit: int = 200) -> str:
    """A path with invisible characters escaped, and shortened in the middle if it is long."""
    escaped = hidden_characters.visible(text[: limit * 2])
    if len(escaped) > limit:
        end = hidden_characters.visible(text[-limit // 4 :])
        escaped = f"{escaped[: limit // 2]}…{end}"
    return escaped


def listed(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first `most` names for use in a sentence, with the number of those that are left out."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


def parse_path(text: str, *, drives: bool, backslash: bool) -> ParsedPath | PathProblem:
    """Split a path. `drives`: paths here begin with drive letters; `backslash`: a backslash separates names."""
    if _UNUSABLE.search(text):
        return PathProblem(
            "invalid", f"{quoted(text)} holds characters that no path can hold: leave them out."
        )
    if _URI.match(text):
        return PathProblem(
            "foreign", f"{quoted(text)} is a URI: give a plain path, relative to the workspace folder."
        )
    if text.startswith(("\\\\", "//")):
        return PathProblem(
            "foreign", f"{quoted(text)} is on another machine: only the workspace can be used."
        )
    drive = _DRIVE.match(text)
    if drive and not (drives and text[2:3] in ("/", "\\")):
        return PathProblem(
            "foreign", f"{quoted(text)} names a drive: give a path relative to the workspace folder."
        )
    separated = text.replace("\\", "/") if backslash else text
    rest = separated[2:] if drive else separated
    anchor = f"{text[:2]}/" if drive else "/" if rest.startswith("/") else ""
    parts = tuple(part for part in rest.split("/") if part not in ("", "."))
    if not anchor and parts and _HOME.fullmatch(parts[0]):
        return PathProblem(
            "outside", f"{quoted(text)} is outside the workspace: give a path relative to its folder."
        )
    if len(text.encode()) > MAX_PATH_BYTES:
        return PathProblem("too_long", f"The path {quoted(text)} is too long: use shorter names.")
    return ParsedPath(anchor, parts)


def normalized_parts(parts: Iterable[str]) -> tuple[str, ...] | None:
    """The parts with every `..` resolved lexically; None if they lead above their start."""
    kept: list[str] = []
    for part in parts:
        if part != "..":
            kept.append(part)
        elif kept:
            kept.pop()
        else:
            return None
    return tuple(kept)


def name_risk(name: str) -> str | None:
    """Why a name may mean another file on some system, or None; a name with a risk is used only if it exists."""
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
    """Whether the name exceeds the length limit of common file systems."""
    return len(name.encode("utf-8", "surrogateescape")) > MAX_NAME_BYTES
