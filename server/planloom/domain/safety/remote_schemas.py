"""Finds the remote schemas that a text names: an editor that opens the file fetches these addresses by itself."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from planloom.domain.patterns import pattern
from planloom.domain.safety.protected import folded

_JSON: Final = pattern(r".*\.(?:json[c5l]?|webmanifest|code-workspace|code-snippets)")
_YAML_OR_TOML: Final = pattern(r".*\.(?:e?ya?ml|cff|toml|lock)|pipfile")
_XML: Final = pattern(
    r".*\.(?:xml|xsd|xslt?|dtd|ent|mod|rng|svg|wsdl|xhtml|xaml|resx|(?:cs|fs|vb|vcx)proj|props|targets|nuspec|config"
    r"|plist|pom|iml|launch|xlf|xliff|rss|opml|kml|gpx)"
)
_HTML: Final = pattern(r".*\.(?:html?|vue|svelte|php)")

_KEYS: Final = ("$schema", "$ref")
"""A schema on this machine can refer to a remote one."""
_REMOTE: Final = pattern(r"(?:https?|ftps?|wss?):|//|\\\\|file:(?://[^/]|/{4})", re.IGNORECASE)
_BLANK: Final = pattern(r"[\x00-\x20]+")

_TOKEN: Final = pattern(
    r'"(?:[^"\\]|\\.)*+"?' r"|'(?:[^'\\]|\\.)*+'?" r"|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?" r"|[^\s]",
    re.DOTALL,
)
_START: Final = pattern(r"(?:\ufeff|\s|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_MODELINE: Final = pattern(
    r"(?:#[ \t]{0,99}(?:\$schema[ \t]{0,99}:|:schema)|yaml-language-server[^\r\n]{0,500}?\$schema)"
    r"[ \t]{0,99}=?[ \t]{0,99}(\S{1,2000})",
    re.IGNORECASE,
)
_KEY: Final = pattern(
    r'(?=((?:"((?=\$|\\(?:[xuU]|\s))(?:[^"\\]|\\.){4,300})"|(?<![\w$])(\$schema|\$ref)["\']?)'
    r"\s{0,300}(?:#[^\n]{0,300}\n\s{0,300}){0,9}[:=]))",
    re.DOTALL,
)
_ANCHORED: Final = pattern(r"&\S{1,200}\s{1,300}(?:!\S{0,200}\s{1,300})?(?:[\"']?\$(?:schema|ref)|\"\\)")
"""A key that an alias can stand for."""
_LONGEST: Final = 1_000
"""The most characters after a key in which its value is looked for."""
_COMMENTS: Final = pattern(r"(?:\s|#[^\n]*+)*+")
_QUOTED: Final = pattern(r"""(?P<quote>\"""|'''|"|')(?P<text>(?:[^\\]|\\.)*?)(?:(?P=quote)|\Z)""", re.DOTALL)
_ESCAPE: Final = pattern(r"\\(?:x(.{2})|u(.{4})|U(.{8})|\r?\n\s*|(.))", re.DOTALL)

_IN_XML: Final = pattern(
    r"""schemaLocation\s{0,99}=\s{0,99}("[^"]*"|'[^']*')"""
    r"""|\bSYSTEM\s{0,99}("[^"]*"|'[^']*')"""
    r"""|\bPUBLIC\s{0,99}(?:"[^"]*"|'[^']*')\s{0,99}("[^"]*"|'[^']*')"""
    r"""|<(?:\?|(?:[\w.-]{1,99}:)?(?:include|import|externalRef)\b)[^<]{0,999}?\bhref\s{0,99}=\s{0,99}("[^"]*"|'[^']*')""",
    re.IGNORECASE,
)


def remote_schemas(relative: str, text: str) -> tuple[str, ...]:
    """The addresses of remote schemas, each once.

    The form of the text is recognised by the file name or the first character. What stands for an address that cannot
    be told, such as an alias in YAML, counts as one: the whole text stands for it.
    """
    last = folded(relative.rpartition("/")[2])
    start = _START.match(text)
    first = text[start.end() :][:1] if start is not None else ""
    found = [modeline[1] for modeline in _MODELINE.finditer(text) if _is_remote(modeline[1])]
    if _YAML_OR_TOML.fullmatch(last):
        found += _in_yaml_or_toml(text)
    elif _JSON.fullmatch(last) or first in ("{", "["):
        found += _in_json(text)
    elif _XML.fullmatch(last) or (first == "<" and not _HTML.fullmatch(last)):
        found += _in_xml(text)
    return tuple(dict.fromkeys(found))


def _is_remote(address: str) -> bool:
    # Whoever fetches an address may drop blanks and control characters from it.
    return _REMOTE.match(_BLANK.sub("", address.strip()[:99])) is not None


def _in_json(text: str) -> Iterator[str]:
    """The remote values of the keys that name schemas; there may be comments, and keys without quotes."""
    if "$" not in text and "\\" not in text:
        return
    key = ""
    after_colon = False
    bare = ""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token.startswith(("//", "/*")):
            continue
        if token[0] in "\"'":
            value = _unescaped(token[1:-1] if len(token) > 1 and token[-1] == token[0] else token[1:])
            if after_colon and key in _KEYS and _is_remote(value):
                yield value
            key, after_colon, bare = value, False, ""
        elif token == ":":
            key = bare or key
            after_colon, bare = True, ""
        elif token in "{},[]":
            key, after_colon, bare = "", False, ""
        else:
            bare = (bare + token)[-16:]


def _in_yaml_or_toml(text: str) -> Iterator[str]:
    """The remote values of the keys that name schemas, wherever these keys stand."""
    if _ANCHORED.search(text) is not None:
        yield text
    for key in _KEY.finditer(text):
        if key[3] is None and ("\\" not in key[2] or _unescaped(key[2]) not in _KEYS):
            continue
        near = text[key.end(1) : key.end(1) + _LONGEST]
        near = near[_COMMENTS.match(near).end() :]  # type: ignore[union-attr]
        quoted = _QUOTED.match(near)
        if quoted is not None:
            value = _unescaped(quoted["text"]) if '"' in quoted["quote"] else quoted["text"]
        else:
            value = near.partition("\n")[0]
        is_cut = not near and key.end(1) + _LONGEST < len(text)
        if is_cut or (quoted is None and value.startswith((*"*&!|>",))):
            yield text
        elif _is_remote(value):
            yield value


def _in_xml(text: str) -> Iterator[str]:
    """The remote values of what names schemas, entities and other documents."""
    for found in _IN_XML.finditer(text):
        value = html.unescape(next(filter(None, found.groups()))[1:-1])
        yield from (text,) if "&" in value else filter(_is_remote, value.split())


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    code, plain = found[1] or found[2] or found[3], found[4]
    if code is None:
        return "\n" if plain in (*"nrt",) else plain or ""
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return code
