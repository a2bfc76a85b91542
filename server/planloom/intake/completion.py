"""Completes references: the names that match the text typed after `@`, best first."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

from planloom.domain.patterns import pattern
from planloom.domain.safety.protected import is_secret
from planloom.domain.text import units
from planloom.intake.reference_sources import SymbolPlace
from planloom.intake.references import find_references
from planloom.tools.external_tools import RemoteResource

DEFAULT_LIMIT = 50
_CONSIDERED = 200
"""Matches of the index that are ranked together with open and recent files."""

_RECENT, _OPEN, _NEAR, _EXACT = 40, 24, 10, 12
"""Points, added to those of the matcher, for being recent, open, beside the active file, or named in full."""

_OWN = ".planloom/"
"""The folder with the documents of plans and pasted images, which nobody refers to by typing."""

_LINES = pattern(r":(\d{0,9})(?:-(\d{0,9}))?$")
_LONGEST = 4096
_FEW = 10
"""Fewest files beside which no symbols are offered."""
_NAME = pattern(r"[^\W\d]\w+(?:\.\w+)*")


Symbols = Callable[[str], Awaitable[Sequence[SymbolPlace]]]


class ReferenceItem(NamedTuple):
    """One completion; `insert_text` replaces the text between the offsets `replace`, in UTF-16 units."""

    label: str
    insert_text: str
    kind: Literal["file", "folder", "symbol", "special"]
    replace: tuple[int, int]
    detail: str | None = None


class Completion(NamedTuple):
    """The completions, best first; incomplete if there may be more."""

    items: tuple[ReferenceItem, ...] = ()
    is_incomplete: bool = False


class OpenDocument(NamedTuple):
    """An open document by its path in the index; `selected` are its selected lines, from 1, both ends included."""

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
    """The part of the file index that completion needs."""

    @property
    def complete(self) -> bool: ...

    async def search(self, query: str, limit: int) -> Sequence[Hit]: ...

    async def below(self, folder: str, limit: int) -> Sequence[str]: ...

    async def match(self, query: str, paths: Sequence[str]) -> Sequence[Hit]:
        """Match these paths, which need not be in the index."""
        ...


class Typed(NamedTuple):
    """The reference under the cursor: the text typed so far, and its range in code points."""

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
    """The completions at `offset`, in UTF-16 units; empty if no reference is being typed there.

    `recents` are paths as in the index, the latest first. Never raises.
    """
    typed = typed_reference(text, units.advance(text, 0, len(text), max(offset, 0), "utf-16"))
    if typed is None:
        return Completion()
    open_documents = {document.path: document for document in documents}
    if typed.query.startswith(("http:", "https:")):
        return Completion()
    replace = (units.width(text, 0, typed.start, "utf-16"), units.width(text, 0, typed.end, "utf-16"))
    found = _specials(typed, open_documents, replace)
    ranges = _line_ranges(typed, open_documents, replace)
    if ranges:
        return Completion(items=tuple(ranges[:limit]))
    for path in await _ranked(typed.query, index, open_documents, recents, limit):
        found.append(_item(path, open_documents, recents, replace))
    return Completion(items=tuple(found[:limit]), is_incomplete=not index.complete or len(found) > limit)


async def with_symbols(found: Completion, text: str, offset: int, symbols: Symbols) -> Completion:
    """The completions, and behind them, if they are few, the symbols of the code that match. Never raises."""
    cursor = units.advance(text, 0, len(text), max(offset, 0), "utf-16")
    typed = typed_reference(text, cursor) if len(found.items) < _FEW else None
    if typed is None or typed.quoted or _NAME.fullmatch(typed.query) is None:
        return found
    replace = (units.width(text, 0, typed.start, "utf-16"), units.width(text, 0, typed.end, "utf-16"))
    paths = {item.label for item in found.items}
    more = (
        ReferenceItem(
            label=each.name,
            insert_text=f"@{each.name}",
            detail=f"{each.kind}, {each.place.relative}:{each.lines.first}",
            kind="symbol",
            replace=replace,
        )
        for each in await symbols(typed.query)
        # A path wins over a symbol, so that this name would attach the file.
        if each.name not in paths
    )
    return found._replace(items=(*found.items, *more))


async def with_resources(
    found: Completion, text: str, offset: int, resources: Callable[[str], Awaitable[Sequence[RemoteResource]]]
) -> Completion:
    """The completions, and behind them what MCP servers offer, or the servers that match. Never raises."""
    typed = typed_reference(text, units.advance(text, 0, len(text), max(offset, 0), "utf-16"))
    if typed is None or typed.quoted:
        return found
    replace = (units.width(text, 0, typed.start, "utf-16"), units.width(text, 0, typed.end, "utf-16"))
    more = (
        ReferenceItem(
            label=f"{each.server}:{each.uri}",
            insert_text=f'@"{each.server}:{each.uri}"' if " " in each.uri else f"@{each.server}:{each.uri}",
            detail=each.title,
            kind="special",
            replace=replace,
        )
        for each in await resources(typed.query)
    )
    return found._replace(items=(*found.items, *more))


def typed_reference(text: str, cursor: int) -> Typed | None:
    """The reference in which, or right after which, the cursor is; offsets in code points."""
    line = text.rfind("\n", max(0, cursor - _LONGEST), cursor) + 1 or max(0, cursor - _LONGEST)
    before = text[line:cursor]
    quote = re.search(r'(?:^|(?<![\w@.+-]))@(["“])([^"“”]*)$', before)
    if quote is not None:
        rest = re.match(r"[^\"“”\n\r]*[\"”]", text[cursor : cursor + _LONGEST])
        return Typed(quote[2], line + quote.start(), cursor + (rest.end() if rest else 0), True)
    sign = before.rfind("@")
    while sign > 0 and before[sign - 1] not in " \t" and not _may_precede(before[sign - 1]):
        sign = before.rfind("@", 0, sign)
    query = before[sign + 1 :]
    if sign < 0 or re.search(r"[\s`\"“”<>|]", query) or before.count("`") % 2:
        return None
    rest = re.match(r"[\w./\\-]*", text[cursor : cursor + _LONGEST]) if query else None
    return Typed(query, line + sign, cursor + (rest.end() if rest else 0), False)


def _may_precede(character: str) -> bool:
    if character in "@./\\_-+%&=~$#`":
        return False
    return not character.isalnum() or "\u2e80" <= character <= "\uffdc"


def _specials(
    typed: Typed, documents: dict[str, OpenDocument], replace: tuple[int, int]
) -> list[ReferenceItem]:
    """References to what an editor or git tells, and to links, if they begin with the text typed so far."""
    chosen = [document for document in documents.values() if document.active]
    lines = sum(last - first + 1 for document in chosen for first, last in document.selected)
    described = (
        ("selection", f"{lines} selected lines" if lines else "the text selected in the editor"),
        ("diagnostics", "errors and warnings of the active file"),
        ("problems", "all errors and warnings that the editor shows"),
        ("git", "changes since the last commit"),
        ("url", "the address of a page; a step that fetches it asks you"),
    )
    return [
        ReferenceItem(
            label=f"@{name}",
            insert_text="@https://" if name == "url" else f"@{name}",
            detail=detail,
            kind="special",
            replace=replace,
        )
        for name, detail in described
        if not typed.quoted and name.startswith(typed.query.lower())
    ]


def _line_ranges(
    typed: Typed, documents: dict[str, OpenDocument], replace: tuple[int, int]
) -> list[ReferenceItem]:
    """Line ranges for the path of an open document followed by a colon."""
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
    """The matching paths, best first: by match, recency, being open, being beside the active file, and length."""
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
    ranks = {path: rank for rank, path in enumerate(recents)}

    def worth(path: str) -> tuple[bool, float, int, str]:
        points = float(scores[path])
        if path in ranks:
            points += _RECENT * (1 - ranks[path] / (len(ranks) + 1))
        if path in documents:
            points += _OPEN
        if path.rstrip("/").rpartition("/")[0] == folder:
            points += _NEAR
        name = path.rstrip("/").rpartition("/")[2].lower()
        if query.lower() in (name, name.partition(".")[0]):
            points += _EXACT
        return is_secret(path), -points, len(path), path

    return sorted((path for path in scores if not path.startswith(_OWN)), key=worth)[: limit + 1]


def _item(
    path: str, documents: dict[str, OpenDocument], recents: Sequence[str], replace: tuple[int, int]
) -> ReferenceItem:
    folder = path.endswith("/")
    is_open = "open" if path in documents else "recent" if path in recents else None
    detail = "may hold secrets; you are asked before it is attached" if is_secret(path) else is_open
    return ReferenceItem(
        label=path,
        insert_text=written(path),
        detail=detail,
        kind="folder" if folder else "file",
        replace=replace,
    )


def written(path: str) -> str:
    """A path as a reference that is read back as exactly this path, in quote marks if needed."""
    plain = f"@{path}"
    read = find_references(plain + " ")
    if (
        len(read) == 1
        and read[0].kind == "path"
        and read[0].text == plain
        and read[0].readings[0].path == path
    ):
        return plain
    # A name with a quote mark cannot be quoted.
    return plain if '"' in path else f'@"{path}"'
