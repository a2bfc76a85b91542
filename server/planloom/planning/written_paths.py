"""Which words of a request are paths, and which only look like one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planloom.planning.call_patterns import LINES
from planloom.planning.literals import Taken

_FILE_NAMES = (
    "makefile dockerfile license licence readme procfile gemfile rakefile jenkinsfile vagrantfile changelog "
    "codeowners justfile brewfile pipfile caddyfile notice authors contributing"
)
_FILES = frozenset(_FILE_NAMES.split())
_PRODUCT_NAMES = (
    "node.js next.js vue.js nuxt.js react.js express.js three.js d3.js asp.net socket.io ember.js nest.js "
    "chart.js alpine.js backbone.js discord.py vb.net .net and/or n/a i/o client/server either/or"
)
_NO_PATHS = frozenset(_PRODUCT_NAMES.split())
_SHAPE = re.compile(r".*[^./\\]\.[A-Za-z][A-Za-z0-9_+-]{0,11}|.*/\.?[^/]*|\.[A-Za-z][\w.-]*")
_LIMIT = 1_000
_CLOSING = ".!:"


def looks_like_path(token: str) -> bool:
    """Whether a bare word reads as a path: it has a folder, an extension, or a well-known file name."""
    lowered = token.lower()
    if lowered in _NO_PATHS or len(token) > _LIMIT:
        return False
    return lowered in _FILES or not token.strip("./") or _SHAPE.fullmatch(token) is not None


def written_path(token: str, taken: Taken | None, paths: Mapping[str, str], certain: bool) -> str | None:
    """The workspace path that a token names, or None if it names none.

    `taken` is the literal that the token is, if it is one; `paths` leads from references to their paths;
    `certain` tells that the words in front ("folder", "file") announce a path, so that any word is one.
    """
    if taken is not None:
        text = taken.text.strip()
        plain = taken.kind != "block" and "\n" not in text and "://" not in text
        return text if plain and 0 < len(text) <= _LIMIT else None
    if len(token) > _LIMIT:
        return None
    if token.startswith("@"):
        return paths.get(token) or _referenced(token[1:])
    token = token.rstrip(_CLOSING) if token.strip("./") else token
    if not token or "://" in token or token.lower().startswith("www."):
        return None
    return token if certain or looks_like_path(token) else None


def _referenced(name: str) -> str | None:
    """The path of a reference, unless it stands for something else or for some lines only."""
    name = name.rstrip(_CLOSING)
    if not name or name == "selection" or name.startswith("diagnostics") or "://" in name:
        return None
    return None if LINES.fullmatch(name) else name
