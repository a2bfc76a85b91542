"""Turns HTML into plain text with Markdown's marks: headings, lists, links, code and tables. Takes linear time.

The parser of the standard library takes quadratic time on text built for that, in Python 3.11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Final, Literal, NamedTuple

from planloom.domain.model_text.fences import fence_for

_RAW: Final = frozenset({"script", "style", "title", "textarea", "xmp", "noembed", "noframes"})
"""Elements in which nothing but their own closing tag is a tag."""
_UNSEEN: Final = frozenset(
    [
        "noscript",
        "template",
        "svg",
        "math",
        "iframe",
        "object",
        "canvas",
        "audio",
        "video",
        "select",
        "button",
        "datalist",
    ]
)
"""Elements that are left out with everything in them."""
_SELF_CLOSING: Final = frozenset({"svg", "math"})
"""Elements of `_UNSEEN` that have no content if their tag ends with a slash; in other tags it means nothing."""
_BLOCKS: Final = frozenset(
    [
        "p",
        "div",
        "section",
        "article",
        "main",
        "header",
        "footer",
        "nav",
        "aside",
        "dl",
        "table",
        "form",
        "fieldset",
        "figure",
        "figcaption",
        "blockquote",
        "details",
        "summary",
        "address",
        "hgroup",
        "body",
        "thead",
        "tbody",
        "tfoot",
        "caption",
    ]
)
_CODE: Final = frozenset({"code", "kbd", "samp", "tt"})
_HEADING: Final = re.compile(r"h([1-6])\Z")
_NAME: Final = re.compile(r"[a-zA-Z][^\s/>]*")
_ATTRIBUTE: Final = re.compile(r"[\s/]*([^\s/>=]*)\s*(=?)\s*")
_BARE_VALUE: Final = re.compile(r"[^\s>]*")
_BLANKS: Final = re.compile(r"[ \t\n\r\f\v\u00a0]+")
_LANGUAGE: Final = re.compile(r"\b(?:language|lang|highlight)-([A-Za-z0-9+#]{1,20})\b")
_MANY_LINES: Final = re.compile(r"\n{3,}")
_HUGE_NUMBER: Final = re.compile(r"&#[xX]?[0-9a-fA-F]{9,};?")
_DEEPEST: Final = 8
"""The deepest list that is indented further."""


def html_text(html: str) -> tuple[str, str]:
    """The title and the text of a page, whatever is missing or wrong in its marks."""
    writer = _Writer()
    for token in _tokens(html):
        writer.add(token)
    return writer.title.strip(), writer.text()


class _Token(NamedTuple):
    """A tag by its name in lower case, or a text; `text` is also the whole content of a raw element."""

    kind: Literal["open", "close", "text"]
    name: str
    text: str = ""
    attributes: Mapping[str, str] = {}


def _tokens(html: str) -> Iterator[_Token]:
    """Tags and texts in order. As in browsers, what is open at the end reaches to the end."""
    at, size = 0, len(html)
    while at < size:
        tag = html.find("<", at)
        tag = size if tag < 0 else tag
        if tag > at:
            yield _Token("text", "", _unescaped(html[at:tag]))
        if tag == size:
            return
        if html.startswith("<!--", tag):
            at = _after(html, "-->", tag + 4)
        elif html.startswith(("<!", "<?"), tag):
            at = _after(html, ">", tag)
        elif html.startswith("</", tag):
            name = _NAME.match(html, tag + 2)
            at = _after(html, ">", tag)
            if name is not None:
                yield _Token("close", name[0].lower())
        elif (name := _NAME.match(html, tag + 1)) is not None:
            found = name[0].lower()
            attributes, at = _attributes(html, name.end())
            raw = ""
            if found in _RAW:
                raw, at = _raw_text(html, found, at)
            yield _Token("open", found, raw, attributes)
            if found in _SELF_CLOSING and html.endswith("/>", tag, at):
                yield _Token("close", found)
        else:
            yield _Token("text", "", "<")
            at = tag + 1


def _after(html: str, end: str, start: int) -> int:
    """The offset after the next `end`, or that of the end of the page."""
    found = html.find(end, start)
    return len(html) if found < 0 else found + len(end)


def _attributes(html: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag, and the offset after it."""
    found: dict[str, str] = {}
    size = len(html)
    while at < size:
        match = _ATTRIBUTE.match(html, at)
        assert match is not None, "it matches nothing, too"
        at, value = match.end(), ""
        if match[2]:
            if html.startswith(('"', "'"), at):
                end = html.find(html[at], at + 1)
                if end < 0:
                    return found, size
                value, at = html[at + 1 : end], end + 1
            else:
                bare = _BARE_VALUE.match(html, at)
                assert bare is not None, "it matches nothing, too"
                value, at = bare[0], bare.end()
        if match[1]:
            found.setdefault(match[1].lower(), _unescaped(value))
        if html.startswith(">", at):
            return found, at + 1
    return found, size


def _raw_text(html: str, name: str, at: int) -> tuple[str, int]:
    """The content of a raw element, and the offset after its closing tag."""
    end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(html, at)
    if end is None:
        return html[at:], len(html)
    return html[at : end.start()], _after(html, ">", end.end())


def _unescaped(text: str) -> str:
    # A number of thousands of digits would be an error, and is no character in any case.
    return unescape(_HUGE_NUMBER.sub("\ufffd", text)) if "&" in text else text


class _Writer:
    """Writes the text of tokens. An element that is left out is counted until it is closed as often as opened."""

    def __init__(self) -> None:
        self.title = ""
        self._parts: list[str] = []
        self._unseen = ""
        self._unseen_depth = 0
        self._code: list[str] | None = None
        self._code_language = ""
        self._link: tuple[int, str] | None = None
        self._lists: list[int | None] = []
        self._cells = 0

    def text(self) -> str:
        """The text that was written, with at most one empty line between two blocks."""
        self._end_code()
        lines = (line.rstrip() for line in "".join(self._parts).split("\n"))
        return _MANY_LINES.sub("\n\n", "\n".join(lines)).strip("\n")

    def add(self, token: _Token) -> None:
        """Write one token."""
        if self._unseen:
            if token.name == self._unseen:
                self._unseen_depth += {"open": 1, "close": -1, "text": 0}[token.kind]
                self._unseen = self._unseen if self._unseen_depth else ""
        elif token.kind == "text":
            self._add_text(token.text)
        elif token.name == "title" and token.kind == "open":
            self.title = self.title or _BLANKS.sub(" ", _unescaped(token.text))
        elif token.name in _RAW:
            if token.name in ("textarea", "xmp"):
                self._add_text(token.text)
        elif token.name in _UNSEEN and token.kind == "open":
            self._unseen, self._unseen_depth = token.name, 1
        elif token.name == "pre":
            self._end_code()
            if token.kind == "open":
                self._code, self._code_language = [], _language(token)
        elif self._code is not None:
            if token.name == "br":
                self._code.append("\n")
            elif token.name == "code" and token.kind == "open":
                self._code_language = self._code_language or _language(token)
        else:
            self._add_tag(token)

    def _add_tag(self, token: _Token) -> None:
        name, opens = token.name, token.kind == "open"
        heading = _HEADING.match(name)
        if name == "a":
            self._end_link()
            if opens:
                self._link = (len(self._parts), token.attributes.get("href", ""))
        elif name in _CODE:
            self._add("`")
        elif heading is not None:
            self._add(f"\n\n{'#' * int(heading[1])} " if opens else "\n\n")
        elif name in ("ul", "ol"):
            self._add("\n" if len(self._lists) > (0 if opens else 1) else "\n\n")
            if opens:
                self._lists.append(0 if name == "ol" else None)
            elif self._lists:
                self._lists.pop()
        elif name in _BLOCKS:
            self._add("\n\n")
        elif opens:
            self._add_opening(token)

    def _add_opening(self, token: _Token) -> None:
        match token.name:
            case "li":
                indent = "  " * min(max(0, len(self._lists) - 1), _DEEPEST)
                self._add(f"{self._line_end()}{indent}{self._list_mark()} ")
            case "tr":
                self._cells = 0
                self._add(self._line_end())
            case "td" | "th":
                self._add(" | " if self._cells else "")
                self._cells += 1
            case "img":
                alt = _BLANKS.sub(" ", token.attributes.get("alt", "")).strip()
                self._add(f"[image: {alt}]" if alt else "")
            case "hr":
                self._add("\n\n---\n\n")
            case "br" | "dt" | "dd":
                self._add("\n")

    def _add_text(self, text: str) -> None:
        if self._code is not None:
            self._code.append(text)
            return
        text = _BLANKS.sub(" ", text)
        self._add(text[1:] if text.startswith(" ") and self._ends_blank() else text)

    def _add(self, text: str) -> None:
        if text:
            self._parts.append(text)

    def _ends_blank(self) -> bool:
        return not self._parts or self._parts[-1][-1] in " \n"

    def _line_end(self) -> str:
        return "" if not self._parts or self._parts[-1].endswith("\n") else "\n"

    def _list_mark(self) -> str:
        if not self._lists or (number := self._lists[-1]) is None:
            return "-"
        self._lists[-1] = number + 1
        return f"{number + 1}."

    def _end_link(self) -> None:
        """Put the link around its text, unless it leads to a place in the page or nowhere."""
        if self._link is None:
            return
        (start, target), self._link = self._link, None
        shown = "".join(self._parts[start:]).strip()
        if shown and "\n" not in shown and target and not target.startswith(("#", "javascript:", "data:")):
            self._parts[start:] = [f"[{shown}]({target})"]

    def _end_code(self) -> None:
        if self._code is None:
            return
        code, self._code = "".join(self._code).strip("\n"), None
        if code.strip():
            fence = fence_for(code)
            self._add(f"\n\n{fence}{self._code_language}\n{code}\n{fence}\n\n")


def _language(token: _Token) -> str:
    found = _LANGUAGE.search(token.attributes.get("class", ""))
    return found[1] if found else ""
