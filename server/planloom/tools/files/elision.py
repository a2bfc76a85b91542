"""Detects that a model left out a part of a file, or wrapped it in a code fence, when it wrote the whole file."""

from __future__ import annotations

import re
from typing import Final

from planloom.domain.patterns import pattern

_FENCE: Final = pattern(r"(`{3,}|~{3,})[ \t]*[\w.+#/-]{0,60}[ \t]*")
_MARKDOWN: Final = (".md", ".markdown", ".mdx", ".mdown", ".mkd", ".qmd", ".rmd", ".mdc", ".rst", ".adoc")
_DOTS: Final = r"(?:\.{3,}|…)"
_KEPT: Final = (
    r"(?:rest|remainder|remaining|other|previous|existing|original|same|unchanged|omitted|truncated|snip(?:ped)?|elided|"
    r"as before|as above|stays the same|remains the same|not shown|code here|code continues|goes here)"
)
_PLACEHOLDER: Final = pattern(
    rf"{_DOTS}.{{0,80}}\b{_KEPT}\b|\b{_KEPT}\b.{{0,80}}{_DOTS}"
    r"|\b(?:rest|remainder) of (?:the |this |your )?(?:\w+ )?(?:code|file|class|function|method|module|content|text|"
    r"document|implementation|script|page|component|template|body|section|styles?|html|tests?)\b"
    r"|\b(?:existing|remaining|previous|original|unchanged|other|same) (?:\w+ )?(?:code|content|lines|methods|"
    r"functions|imports|implementation|logic|tests|text|parts?|sections?|rules|styles|fields|cases)\b"
    r".{0,40}\b(?:here|unchanged|above|below|omitted|continues?|stays?|remains?|goes|as before|as is|the same)\b"
    r"|\b(?:code|content|lines|text|section|part|file|everything else|rest|methods|functions) "
    r"(?:\w+ ){0,2}(?:unchanged|omitted|truncated|not shown|as before|stays the same|remains the same)\b"
    r"|\b(?:omitted|truncated|shortened|elided) for (?:brevity|clarity|space)\b",
    re.IGNORECASE,
)
_MARKS: Final = r"[\s/#*;<>!\-{}(\[\])\"']*"
_BARE: Final = pattern(rf"{_MARKS}(?:{_DOTS}|existing code){_MARKS}\.?", re.IGNORECASE)
"""A line that only marks an omission."""
_LONGEST: Final = 240


def without_fence(path: str, content: str) -> str:
    """The content without a code fence around the whole of it; unchanged for Markdown, where a fence may be meant."""
    if path.lower().endswith(_MARKDOWN):
        return content
    body = content.strip("\r\n \t")
    first, _, rest = body.partition("\n")
    opening = _FENCE.fullmatch(first.rstrip("\r"))
    if opening is None or not rest:
        return content
    lines = rest.split("\n")
    mark = opening[1]
    closing = [n for n, line in enumerate(lines) if _closes(line, mark)]
    if closing != [len(lines) - 1]:
        return content
    inner = "\n".join(lines[:-1])
    return inner + "\n" if inner and not inner.endswith("\n") else inner


def _closes(line: str, mark: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(mark) and not stripped.strip(mark[0])


def left_out_line(before: str, after: str) -> str | None:
    """A new line that marks an omission, if the text shrinks by more than half; else None."""
    if len(after) * 2 >= len(before):
        return None
    old_lines = set(before.split("\n"))
    for line in after.split("\n"):
        if line not in old_lines and len(line) <= _LONGEST and _is_placeholder(line):
            return line.strip()
    return None


def _is_placeholder(line: str) -> bool:
    return bool(line.strip()) and (_BARE.fullmatch(line) is not None or _PLACEHOLDER.search(line) is not None)
