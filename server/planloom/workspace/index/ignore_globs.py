"""The one glob dialect: gitignore(5) patterns, matched name by name in bounded time, since they may be untrusted.

Globs from settings and tools may also have braces (`expand_braces`), which are ordinary characters in an ignore file.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_LONGEST = 4096
_MOST_EXPANDED: Final = 100
"""Most globs that the braces of one glob expand to; further ones are dropped."""
_INNERMOST_BRACES: Final = re.compile(r"(?<!\\)\{((?:[^{},\\]|\\.)*,(?:[^{}\\]|\\.)*)\}", re.DOTALL)
_NOT_IN_FNMATCH: Final = re.compile(r"\\(?P<escaped>.)|(?P<negation>\[\^)|\[:(?P<named>\w+):\]", re.DOTALL)
"""The syntax of globs that git reads and `fnmatch` does not: escapes, another negation, and named classes."""
_ANYTHING: Final = re.compile("")
_NOTHING: Final = re.compile(r"(?!)")
_CLASSES: Final = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": " \t\n\r\f\v",
    "xdigit": "0-9a-fA-F",
    "punct": ":-@!-/[-`{-~",
}


class Glob(NamedTuple):
    """One pattern: an expression for each folder on the way, where None is `**`, and for the last name."""

    folders: tuple[re.Pattern[str] | None, ...]
    name: re.Pattern[str]
    negated: bool
    folders_only: bool

    def applies_in(self, names: Sequence[str]) -> bool:
        """Whether it can match names in the folder to which `names` lead.

        Backtracks only to the last `**`, so time is at most the product of both lengths.
        """
        folders = self.folders
        if folders == (None,):
            return True
        folder = name = 0
        retry: tuple[int, int] | None = None
        while name < len(names):
            expression = folders[folder] if folder < len(folders) else _NOTHING
            if expression is None:
                folder += 1
                retry = (folder, name)
            elif expression.match(names[name]):
                folder += 1
                name += 1
            elif retry is not None:
                folder, name = retry = (retry[0], retry[1] + 1)
            else:
                return False
        return not any(folders[folder:])

    def matches(self, path: str, *, folder: bool) -> bool:
        """Whether the pattern matches this path itself; paths below a matching folder do not match."""
        *names, last = path.split("/")
        return (folder or not self.folders_only) and bool(self.name.match(last)) and self.applies_in(names)


def read_glob(line: str) -> Glob | None:
    """Parse a line of an ignore file; None for a comment, a blank line or a pattern that can match nothing."""
    text = _without_trailing_blanks(line.rstrip("\r\n"))
    if not text or text.startswith("#") or len(text) > _LONGEST:
        return None
    negated = text.startswith("!")
    text = text[negated:]
    folders_only = text.endswith("/")
    text = text.rstrip("/") if folders_only else text
    anchored = "/" in text
    parts = text.removeprefix("/").split("/")
    if anchored and _is_any_folders(parts[-1]):
        # A `**` at the end means everything inside, not the folder itself.
        parts.append("*")
    if not all(parts) or _ends_in_escape(text):
        return None
    try:
        *folders, name = (None if _is_any_folders(part) else re.compile(_expression(part)) for part in parts)
    except re.error:
        return None
    return Glob(tuple(folders) if anchored else (None,), name or _ANYTHING, negated, folders_only)


def expand_braces(glob: str) -> tuple[str, ...]:
    """The globs that a glob with braces expands to; braces without a comma or after a backslash are literal."""
    globs = [glob]
    while any(map(_INNERMOST_BRACES.search, globs)):
        globs = list(dict.fromkeys(one for each in globs for one in _without_braces(each)))[:_MOST_EXPANDED]
    return tuple(globs)


def _without_braces(glob: str) -> Iterator[str]:
    """A glob with each alternative of its first innermost braces."""
    braces = _INNERMOST_BRACES.search(glob)
    for one in braces[1].split(",") if braces else ("",):
        yield f"{glob[: braces.start()]}{one}{glob[braces.end() :]}" if braces else glob


def _is_any_folders(part: str) -> bool:
    return len(part) > 1 and not part.strip("*")


def _without_trailing_blanks(line: str) -> str:
    stripped = line.rstrip(" ")
    # A space after a backslash is part of the name.
    return line[: len(stripped) + 1] if _ends_in_escape(stripped) else stripped


def _ends_in_escape(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _expression(glob: str) -> str:
    """The regular expression of one name; `fnmatch` writes one that does not go back over a star."""
    return fnmatch.translate(_NOT_IN_FNMATCH.sub(_in_fnmatch, glob))


def _in_fnmatch(found: re.Match[str]) -> str:
    if escaped := found["escaped"]:
        return f"[{escaped}]" if escaped in "*?[" else escaped
    return "[!" if found["negation"] else _CLASSES.get(found["named"], "")
