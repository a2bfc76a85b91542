"""The questions of the port in the words of LSP 3.17, and the reader of its answers, whoever gives them.

Answers are not trusted: what does not have the form of the specification is left out, and so is what is too much.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from lsprotocol import types

from planloom.domain.text.positions import Position, Range, TextEdit
from planloom.domain.values import Uri
from planloom.languages.texts import text_on_disk
from planloom.workspace.editor import Diagnostic
from planloom.workspace.language import (
    MOST_PLACES,
    CodeAction,
    CodeChange,
    FileEdits,
    Nearby,
    NotKnown,
    Place,
    Symbol,
)
from planloom.workspace.paths.uris import normalized, scheme

Ask = Callable[[str, Any], Awaitable[Any]]
"""Sends a request of LSP with its params, and returns its result as JSON. Raises NotKnown."""

MOST_DIAGNOSTICS: Final = 5_000
MOST_NAME: Final = 200
MOST_TEXT: Final = 20_000
MOST_ACTIONS: Final = 50
_DEEPEST: Final = 30
_SEVERITIES: Final = ("error", "warning", "information", "hint")
_NEARBY: Final[Mapping[Nearby, str]] = {
    "definition": types.TEXT_DOCUMENT_DEFINITION,
    "implementation": types.TEXT_DOCUMENT_IMPLEMENTATION,
    "references": types.TEXT_DOCUMENT_REFERENCES,
    "callers": types.CALL_HIERARCHY_INCOMING_CALLS,
    "callees": types.CALL_HIERARCHY_OUTGOING_CALLS,
}


async def symbols(ask: Ask, uri: Uri) -> tuple[Symbol, ...]:
    """The symbols of a file."""
    answer = await ask(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _document(uri))
    found = [*_symbols(answer, uri)]
    return tuple(sorted(found, key=lambda each: _order(each.range)))


async def named(ask: Ask, name: str) -> tuple[Symbol, ...]:
    """The symbols of the workspace that a name finds; those that are called just that come first."""
    answer = await ask(types.WORKSPACE_SYMBOL, {"query": name})
    return tuple(sorted(_symbols(answer, None), key=lambda each: each.name != name))


async def nearby(ask: Ask, what: Nearby, uri: Uri, position: Position) -> tuple[Place, ...]:
    """The places that have to do with the name at a position."""
    at = {**_document(uri), "position": _of_position(position)}
    if what in ("callers", "callees"):
        items = await ask(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, at)
        found = [
            place
            for item in _list(items)[:3]
            for place in _calls(await ask(_NEARBY[what], {"item": item}), what)
        ]
    else:
        more = {"context": {"includeDeclaration": True}} if what == "references" else {}
        answer = await ask(_NEARBY[what], {**at, **more})
        found = [*_places(answer)]
    unique = dict.fromkeys(found[:MOST_PLACES])
    return tuple(sorted(unique, key=lambda place: (place.uri, _order(place.range))))


async def hover(ask: Ask, uri: Uri, position: Position) -> str:
    """What is known of the name at a position."""
    answer = await ask(types.TEXT_DOCUMENT_HOVER, {**_document(uri), "position": _of_position(position)})
    return "\n".join(_marked(answer.get("contents") if isinstance(answer, dict) else None))[
        :MOST_TEXT
    ].strip()


async def rename(
    ask: Ask, uri: Uri, position: Position, new_name: str, texts: Mapping[Uri, str]
) -> CodeChange:
    """The edits that rename the name at a position. `texts` are those that are open at the asked."""
    params = {**_document(uri), "position": _of_position(position), "newName": new_name}
    answer = await ask(types.TEXT_DOCUMENT_RENAME, params)
    if answer is None:
        raise NotKnown("There is no name here that can be renamed.")
    return await change_of(answer, texts)


async def actions(ask: Ask, uri: Uri, range_: Range, texts: Mapping[Uri, str]) -> tuple[CodeAction, ...]:
    """What is offered for a stretch of a file, for the problems there and for the whole file."""
    at = {**_document(uri), "range": _of_range(range_)}
    problems = await _problems_in(ask, uri, range_)
    found: list[CodeAction] = []
    for only in (None, ["source"]):
        context: dict[str, Any] = {"diagnostics": problems, "triggerKind": 1}
        if only is not None:
            context["only"] = only
        for each in _list(await ask(types.TEXT_DOCUMENT_CODE_ACTION, {**at, "context": context}))[
            :MOST_ACTIONS
        ]:
            if not isinstance(each, dict) or not isinstance(title := each.get("title"), str):
                continue
            if any(title[:MOST_NAME] == known.title for known in found) or each.get("disabled"):
                continue
            edit = each.get("edit")
            if edit is None and "data" in each:
                resolved = await ask(types.CODE_ACTION_RESOLVE, each)
                edit = resolved.get("edit") if isinstance(resolved, dict) else None
            change = await change_of(edit, texts) if edit is not None else None
            kind = each.get("kind")
            found.append(
                CodeAction(
                    title[:MOST_NAME],
                    kind if isinstance(kind, str) else "",
                    change,
                    bool(each.get("isPreferred")),
                )
            )
    return tuple(found[:MOST_ACTIONS])


async def problems(ask: Ask, uri: Uri) -> tuple[Diagnostic, ...]:
    """The problems of a text that is open, of many the first."""
    return diagnostics_of(await _reported(ask, uri), MOST_DIAGNOSTICS)


async def _reported(ask: Ask, uri: Uri) -> list[Any]:
    answer = await ask(types.TEXT_DOCUMENT_DIAGNOSTIC, _document(uri))
    return _list(answer.get("items")) if isinstance(answer, dict) else []


async def _problems_in(ask: Ask, uri: Uri, range_: Range) -> list[Any]:
    """The diagnostics of a stretch, which a server wants to be told before it offers to mend them."""
    try:
        items = await _reported(ask, uri)
    except NotKnown:
        return []
    return [
        each
        for each in items[:MOST_PLACES]
        if isinstance(each, dict)
        and (where := _range(each.get("range"))) is not None
        and where.start.line <= range_.end.line
        and where.end.line >= range_.start.line
    ][:MOST_ACTIONS]


async def formatted(ask: Ask, uri: Uri, texts: Mapping[Uri, str], tab: int = 4) -> CodeChange:
    """The edits that format a file."""
    options = {"tabSize": tab, "insertSpaces": True}
    answer = await ask(types.TEXT_DOCUMENT_FORMATTING, {**_document(uri), "options": options})
    return await change_of({"changes": {uri: answer or []}}, texts)


async def change_of(edit: Any, texts: Mapping[Uri, str]) -> CodeChange:
    """The edits of a `WorkspaceEdit`, with the texts that they refer to: those that are open, else those on disk."""
    files: list[FileEdits] = []
    beside: list[str] = []
    edit = edit if isinstance(edit, dict) else {}
    documents = edit.get("documentChanges")
    if not isinstance(documents, list):
        changes = edit.get("changes")
        named_files = changes.items() if isinstance(changes, dict) else ()
        documents = [{"textDocument": {"uri": uri}, "edits": edits} for uri, edits in named_files]
    for each in documents:
        if not isinstance(each, dict):
            continue
        document = each.get("textDocument")
        if isinstance(document, dict) and isinstance(uri := document.get("uri"), str):
            version = document.get("version")
            edits = tuple(_edits(each.get("edits")))
            files.append(FileEdits(normalized(uri), edits, version if isinstance(version, int) else None))
        elif isinstance(kind := each.get("kind"), str):
            place = each.get("newUri") or each.get("uri")
            beside.append(f"{kind} {str(place).rpartition('/')[2][:MOST_NAME]}")
    if sum(len(each.edits) for each in files) > MOST_PLACES:
        raise NotKnown(f"This would change more than {MOST_PLACES} places.")
    known: dict[Uri, str] = {}
    for file in files:
        text = texts.get(file.uri)
        text = await text_on_disk(file.uri) if text is None else text
        if text is not None:
            known[file.uri] = text
    return CodeChange(tuple(files), known, tuple(beside))


def diagnostics_of(items: Any, most: int) -> tuple[Diagnostic, ...]:
    """The diagnostics in an answer or a publication; the first line of a message is what it says."""
    found: list[Diagnostic] = []
    for each in _list(items):
        if not isinstance(each, dict) or (where := _range(each.get("range"))) is None:
            continue
        severity, message, code = each.get("severity", 1), each.get("message"), each.get("code")
        if not isinstance(message, str) or severity not in (1, 2, 3, 4):
            continue
        source = each.get("source")
        found.append(
            Diagnostic(
                range=where,
                severity=_SEVERITIES[severity - 1],
                message=message.strip().partition("\n")[0][:1_000],
                source=source[:MOST_NAME] if isinstance(source, str) else None,
                code=str(code)[:MOST_NAME] if isinstance(code, int | str) else None,
            )
        )
        if len(found) == most:
            break
    return tuple(found)


def _document(uri: Uri) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}}


def _of_position(position: Position) -> dict[str, int]:
    return {"line": position.line, "character": position.character}


def _of_range(range_: Range) -> dict[str, Any]:
    return {"start": _of_position(range_.start), "end": _of_position(range_.end)}


def _order(range_: Range) -> tuple[int, int]:
    return range_.start.line, range_.start.character


def _list(raw: Any) -> list[Any]:
    return raw if isinstance(raw, list) else []


def _position(raw: Any) -> Position | None:
    if not isinstance(raw, dict):
        return None
    line, character = raw.get("line"), raw.get("character")
    if not isinstance(line, int) or not isinstance(character, int) or line < 0 or character < 0:
        return None
    return Position(line=line, character=character)


def _range(raw: Any) -> Range | None:
    if not isinstance(raw, dict):
        return None
    start, end = _position(raw.get("start")), _position(raw.get("end"))
    return None if start is None or end is None else Range(start=start, end=end)


def _edits(raw: Any) -> Iterator[TextEdit]:
    """The edits of one file. Raises NotKnown if one cannot be read: half of a change would be wrong."""
    for each in _list(raw):
        where = _range(each.get("range")) if isinstance(each, dict) else None
        text = each.get("newText") if isinstance(each, dict) else None
        if where is None or not isinstance(text, str):
            raise NotKnown("The answer is no change that can be read.")
        yield TextEdit(where, text)


def _symbols(raw: Any, uri: Uri | None) -> Iterator[Symbol]:
    """Symbols of either form: with children, or flat with a location."""
    waiting = [(each, "", 0) for each in reversed(_list(raw))]
    count = 0
    while waiting and count < MOST_PLACES:
        each, container, depth = waiting.pop()
        if not isinstance(each, dict) or not isinstance(name := each.get("name"), str):
            continue
        location = each.get("location")
        where = location.get("uri") if isinstance(location, dict) else uri
        whole = _range(location.get("range") if isinstance(location, dict) else each.get("range"))
        if not isinstance(where, str) or scheme(where) != "file" or (whole is None and location is None):
            continue
        whole = whole or Range(start=Position(line=0, character=0), end=Position(line=0, character=0))
        own = _range(each.get("selectionRange")) or whole
        given = each.get("containerName")
        container = container or (given[:MOST_NAME] if isinstance(given, str) else "")
        kind = each.get("kind")
        count += 1
        yield Symbol(
            name[:MOST_NAME],
            _kinds().get(kind, "symbol") if isinstance(kind, int) else "symbol",
            normalized(where),
            whole,
            own,
            container,
        )
        if depth < _DEEPEST:
            inside = f"{container}.{name}" if container else name
            waiting += [
                (child, inside[:MOST_NAME], depth + 1) for child in reversed(_list(each.get("children")))
            ]


@cache
def _kinds() -> Mapping[int, str]:
    """The kinds of symbols of LSP, in words."""
    return {
        each.value: "".join(
            f" {letter.lower()}" if letter.isupper() else letter for letter in each.name
        ).strip()
        for each in types.SymbolKind
    }


def _places(raw: Any) -> Iterator[Place]:
    """Locations, or links to them, one or several."""
    for each in raw if isinstance(raw, list) else [raw]:
        if not isinstance(each, dict):
            continue
        uri = each.get("uri") or each.get("targetUri")
        where = _range(each.get("range") or each.get("targetSelectionRange") or each.get("targetRange"))
        if isinstance(uri, str) and where is not None and scheme(uri) == "file":
            yield Place(normalized(uri), where)


def _calls(raw: Any, what: Nearby) -> Iterator[Place]:
    """The places of calls in the callers, or the callees themselves."""
    for each in _list(raw):
        if not isinstance(each, dict):
            continue
        other = each.get("from" if what == "callers" else "to")
        uri = other.get("uri") if isinstance(other, dict) else None
        if what == "callees":
            target = _range(other.get("selectionRange")) if isinstance(other, dict) else None
            if isinstance(uri, str) and target is not None:
                yield Place(normalized(uri), target)
            continue
        for where in map(_range, _list(each.get("fromRanges"))):
            if where is not None and isinstance(uri, str):
                yield Place(normalized(uri), where)


def _marked(raw: Any) -> Iterator[str]:
    """The texts of a hover, of any of its forms."""
    if isinstance(raw, str):
        yield raw
    elif isinstance(raw, dict) and isinstance(value := raw.get("value"), str):
        yield value
    elif isinstance(raw, list):
        for each in raw[:20]:
            yield from _marked(each)
