"""Which words of a request are paths, and which only look like one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planloom.planning.rules.call_patterns import LINES
from planloom.planning.rules.literals import Taken

_FILE_NAMES = (
    "makefile dockerfile procfile gemfile rakefile jenkinsfile vagrantfile justfile brewfile pipfile "
    "caddyfile"
)
_FILES = frozenset(_FILE_NAMES.split())
_PRODUCT_NAMES = (
    "node.js next.js vue.js nuxt.js react.js express.js three.js d3.js asp.net socket.io ember.js nest.js "
    "chart.js alpine.js backbone.js discord.py vb.net .net and/or n/a i/o client/server either/or"
)
_NO_PATHS = frozenset(_PRODUCT_NAMES.split())
_SHAPE = re.compile(r".*[^./\\]\.[A-Za-z][A-Za-z0-9_+-]{0,11}|.*/\.?[^/]*|\.[A-Za-z][\w.-]*")
_LIMIT = 1_000
_PATTERN = re.compile(r"[*?<>|{}$…]")
_CLOSING = frozenset("!:")


def looks_like_path(token: str) -> bool:
    """Whether a bare word reads as a path: it has a folder, an extension, or the full name of a well-known file."""
    lowered = token.lower()
    if lowered in _NO_PATHS or len(token) > _LIMIT:
        return False
    return lowered in _FILES or not token.strip("./") or _SHAPE.fullmatch(token) is not None


def written_path(token: str, taken: Taken | None, paths: Mapping[str, str], certain: bool) -> str | None:
    """The workspace path that a token names, or None if it names none.

    `taken` is the literal that the token is, if it is one; `paths` leads from references to their paths;
    `certain` tells that the words in front ("folder", "file") announce a path, so that any word is one.
    """
    if token.startswith("@"):
        written = token if taken is None else "@" + taken.source
        found = paths.get(written) or paths.get(written.rstrip(".!:"))
        if found is not None:
            return found
        certain, token = True, token[1:]
        if token == "selection" or token.startswith("diagnostics") or LINES.fullmatch(token):
            return None
    # One sign of punctuation may follow a path; dots that trail off leave open what is meant.
    text = taken.text.strip() if taken is not None else token[:-1] if token[-1:] in _CLOSING else token
    if taken is not None and taken.kind == "block":
        return None
    if not 0 < len(text) <= _LIMIT or "\n" in text or "://" in text or text.lower().startswith("www."):
        return None
    if taken is None and (_PATTERN.search(text) or (text.strip("./") and re.search(r"[^/]\.$", text))):
        return None
    return text if certain or looks_like_path(text) else None
