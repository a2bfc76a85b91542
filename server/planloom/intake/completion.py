"""Completion of references: the names that fit what is typed after `@`, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

from planloom.domain.values import Value
from planloom.intake.references import find_references

DEFAULT_LIMIT = 50
_CONSIDERED = 200
"""Matches of the index that are weighed against what the user has open and used lately."""

_RECENT, _OPEN, _NEAR, _EXACT = 40, 24, 10, 12
"""What it is worth, in points of the matcher, to be recent, open, beside the active file, or named in full."""

_LINES = re.compile(r":(\d{0,9})(?:-(\d{0,9}))?$")
_LONGEST = 4096


class ReferenceItem(Value):
    """One completion; `replace` is where `insert_text` goes, from and to, in UTF-16 units."""

    label: str
    insert_text: str
    detail: str | None = None
    kind: Literal["file", "folder", "symbol", "special"]
    replace: tuple[int, int]


class Completion(Value):
    """What fits, best first; incomplete if more may come."""

    items: tuple[ReferenceItem, ...] = ()
    is_incomplete: bool = False


class OpenDocument(NamedTuple):
    """An open document by its path in the index; `selected` are its selected lines, from 1, ends included."""

    path: str
    lines: int
    selected: tuple[tuple[int, int], ...] = ()
    active: bool = False


class Hit(Protocol):
    """A path and how well it matches."""

    @property
    def path(self) -> str: ...

    @property
    def score(self) -> int: ...


class Paths(Protocol):
    """The index, as completion needs it."""

    @property
    def complete(self) -> bool: ...

    async def search(self, query: str, limit: int) -> Sequence[Hit]: ...

    async def below(self, folder: str, limit: int) -> Sequence[str]: ...

    async def match(self, query: str, paths: Sequence[str]) -> Sequence[Hit]:
        """The same matcher over a few paths that need not be in the index."""
        ...


class Typed(NamedTuple):
    """The reference under the cursor: what is typed of it, and its place in the text, in code points."""

    query: str
    start: int
    end: int
    quoted: bool


async def complete(
    text: str,
    offset: int,
    index: Paths,
    documents: Iterable[OpenDocument] = (),
    recents: Sequence[str] = (),
    limit: int = DEFAULT_LIMIT,
) -> Completion:
    """What may follow at `offset`, which counts UTF-16 units; nothing where no reference is being typed.

    `recents` are paths in the index's own words, the latest first. Never raises.
    """
    typed = typed_reference(text, _code_points(text, offset))
    if typed is None:
        return Completion()
    known = {document.path: document for document in documents}
    if typed.query.startswith(("http:", "https:")):
        return Completion()
    replace = (_utf16(text, typed.start), _utf16(text, typed.end))
    found = _specials(typed, known, replace)
    ranges = _line_ranges(typed, known, replace)
    if ranges:
        return Completion(items=tuple(ranges[:limit]))
    for path in await _ranked(typed.query, index, known, recents, limit):
        found.append(_item(path, known, recents, replace))
    return Completion(items=tuple(found[:limit]), is_incomplete=not index.complete or len(found) > limit)


def typed_reference(text: str, at: int) -> Typed | None:
    """The reference that the cursor at `at` is in or right behind; offsets in code points."""
    line = text.rfind("\n", max(0, at - _LONGEST), at) + 1 or max(0, at - _LONGEST)
    before = text[line:at]
    quote = re.search(r'(?:^|(?<![\w@.+-]))@(["“])([^"“”]*)$', before)
    if quote is not None:
        rest = re.match(r"[^\"“”\n\r]*[\"”]", text[at : at + _LONGEST])
        return Typed(quote[2], line + quote.start(), at + (rest.end() if rest else 0), True)
    sign = before.rfind("@")
    while sign > 0 and before[sign - 1] not in " \t" and not _may_precede(before[sign - 1]):
        sign = before.rfind("@", 0, sign)
    query = before[sign + 1 :]
    if sign < 0 or re.search(r"[\s`\"“”<>|]", query) or before.count("`") % 2:
        return None
    rest = re.match(r"[\w./\\-]*", text[at : at + _LONGEST]) if query else None
    return Typed(query, line + sign, at + (rest.end() if rest else 0), False)


def _may_precede(character: str) -> bool:
    if character in "@./\\_-+%&=~$#`":
        return False
    return not character.isalnum() or "\u2e80" <= character <= "\uffdc"


def _specials(
    typed: Typed, documents: dict[str, OpenDocument], replace: tuple[int, int]
) -> list[ReferenceItem]:
    """`@selection` and `@diagnostics`, first where they are being typed out, else behind the files."""
    chosen = [document for document in documents.values() if document.active]
    lines = sum(last - first + 1 for document in chosen for first, last in document.selected)
    described = (
        ("selection", f"{lines} selected lines" if lines else "what is selected in the editor"),
        ("diagnostics", "errors and warnings of the active file"),
    )
    return [
        ReferenceItem(
            label=f"@{name}", insert_text=f"@{name}", detail=detail, kind="special", replace=replace
        )
        for name, detail in described
        if not typed.quoted and name.startswith(typed.query.lower())
    ]


def _line_ranges(
    typed: Typed, documents: dict[str, OpenDocument], replace: tuple[int, int]
) -> list[ReferenceItem]:
    """Ranges for a path of an open document that is followed by a colon."""
    lines = _LINES.search(typed.query)
    document = documents.get(typed.query[: lines.start()]) if lines else None
    if lines is None or document is None:
        return []
    offered = [(span, "the selected lines") for span in document.selected]
    first = int(lines[1]) if lines[1] else 0
    if 0 < first <= document.lines:
        offered.append(((first, first), "this line"))
        offered.append(((first, document.lines), "from here to the end"))
    if not lines[1]:
        offered.append(((1, document.lines), "the whole file"))
    found: dict[str, ReferenceItem] = {}
    for (start, end), detail in offered:
        span = f"{start}-{end}" if end != start else f"{start}"
        if not span.startswith(lines.group()[1:].rstrip("-")):
            continue
        found[span] = ReferenceItem(
            label=f"{document.path}:{span}",
            insert_text=f"{written(document.path)}:{span}",
            detail=detail,
            kind="symbol",
            replace=replace,
        )
    return list(found.values())


async def _ranked(
    query: str, index: Paths, documents: dict[str, OpenDocument], recents: Sequence[str], limit: int
) -> list[str]:
    """The paths that fit, best first: the match, then recent, open, beside the active file, and short."""
    active = next((document.path for document in documents.values() if document.active), "")
    folder = active.rpartition("/")[0]
    used = list(dict.fromkeys([*recents, *documents]))
    scores: dict[str, int] = {}
    query = query.removeprefix("./").replace("\\", "/")
    if query:
        for hit in await index.match(query, used):
            scores[hit.path] = hit.score
        for hit in await index.search(query, max(limit, _CONSIDERED)):
            scores[hit.path] = max(hit.score, scores.get(hit.path, 0))
    else:
        near = [path for path in await index.below(folder, limit) if path.count("/") <= active.count("/") + 1]
        top = await index.below("", limit) if folder else near
        scores = dict.fromkeys((*used, *near, *top), 0)
    places = {path: place for place, path in enumerate(recents)}

    def worth(path: str) -> tuple[float, int, str]:
        points = float(scores[path])
        if path in places:
            points += _RECENT * (1 - places[path] / (len(places) + 1))
        if path in documents:
            points += _OPEN
        if path.rstrip("/").rpartition("/")[0] == folder:
            points += _NEAR
        name = path.rstrip("/").rpartition("/")[2].lower()
        if query.lower() in (name, name.partition(".")[0]):
            points += _EXACT
        return -points, len(path), path

    return sorted(scores, key=worth)[: limit + 1]


def _item(
    path: str, documents: dict[str, OpenDocument], recents: Sequence[str], replace: tuple[int, int]
) -> ReferenceItem:
    folder = path.endswith("/")
    detail = "open" if path in documents else "recent" if path in recents else None
    return ReferenceItem(
        label=path,
        insert_text=written(path),
        detail=detail,
        kind="folder" if folder else "file",
        replace=replace,
    )


def written(path: str) -> str:
    """A path as a reference that reads back as exactly this path, in quote marks where it must be."""
    plain = f"@{path}"
    read = find_references(plain + " ")
    if (
        len(read) == 1
        and read[0].kind == "path"
        and read[0].text == plain
        and read[0].readings[0].path == path
    ):
        return plain
    # A quote mark in a name leaves no way to write it but as it is.
    return plain if '"' in path else f'@"{path}"'


def _code_points(text: str, units: int) -> int:
    """The offset in code points of an offset in UTF-16 units, at most the end of the text."""
    if units <= 0:
        return 0
    if text.isascii():
        return min(units, len(text))
    head = text[:units]
    wide = sum(character > "\uffff" for character in head)
    at = len(head)
    width = at + wide
    while width > units:
        at -= 1
        width -= 2 if text[at] > "\uffff" else 1
    return at


def _utf16(text: str, at: int) -> int:
    """The offset in UTF-16 units of an offset in code points."""
    head = text[:at]
    return at if head.isascii() else at + sum(character > "\uffff" for character in head)
