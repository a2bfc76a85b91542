"""Detects remote schemas in a text: an editor that opens the file fetches the address that the text names."""

from __future__ import annotations

import json
import re
from typing import Final

from planloom.domain.patterns import pattern
from planloom.domain.safety.protected import folded

_JSON_NAMES: Final = (
    ".json",
    ".jsonc",
    ".json5",
    ".jsonl",
    ".webmanifest",
    ".code-workspace",
    ".code-snippets",
)
_TOKEN: Final = pattern(
    r'"(?:[^"\\]|\\.)*+"?' r"|'(?:[^'\\]|\\.)*+'?" r"|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?" r"|[^\s]",
    re.DOTALL,
)
_REMOTE: Final = pattern(r"\s*(?:(?:https?|ftps?|wss?):|//|\\\\)", re.IGNORECASE)
_MODELINE: Final = pattern(
    r"#[ \t]*(?:yaml-language-server[ \t]*:[ \t]*\$schema[ \t]*=|\$schema[ \t]*:|:schema)"
    r"[ \t]*(?:https?:)?//",
    re.IGNORECASE,
)


def remote_schema(relative: str, text: str) -> str | None:
    """A warning if the text names a remote schema, else None.

    JSON is recognised by the file name or the first character, and may have comments; in YAML and TOML the schema is
    named in a comment.
    """
    last = folded(relative.rpartition("/")[2])
    if last.endswith((".yaml", ".yml", ".toml")):
        found = _MODELINE.search(text) is not None
    elif last.endswith(_JSON_NAMES) or text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        found = _names_remote_schema(text)
    else:
        found = False
    if not found:
        return None
    return (
        'It names a remote schema ("$schema"): an editor that opens the file fetches that address by itself.'
    )


def _names_remote_schema(text: str) -> bool:
    # A key may be written with escapes or without quotes.
    if "schema" not in text and "\\u" not in text and "\\x" not in text:
        return False
    key = ""
    after_colon = False
    bare = ""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token.startswith(("//", "/*")):
            continue
        if token[0] in "\"'":
            value = _unquoted(token)
            if after_colon and key == "$schema" and _REMOTE.match(value):
                return True
            key, after_colon, bare = value, False, ""
        elif token == ":":
            key = bare or key
            after_colon, bare = True, ""
        elif token in "{},[]":
            key, after_colon, bare = "", False, ""
        else:
            bare = (bare + token)[-16:]
    return False


def _unquoted(token: str) -> str:
    body = token[1:-1] if len(token) > 1 and token[-1] == token[0] else token[1:]
    if "\\" not in body:
        return body
    try:
        return str(json.loads(f'"{body}"', strict=False))
    except ValueError:
        return re.sub(r"\\(?:x([0-9a-fA-F]{2})|(.))", _unescaped, body, flags=re.DOTALL)


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else found[2]
