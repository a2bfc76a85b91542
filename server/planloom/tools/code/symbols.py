"""Finds the symbol that a call means: by its name, and by a line if several have that name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, Final, NamedTuple

from planloom.domain.text.hidden_characters import visible
from planloom.domain.text.positions import LineIndex, Position
from planloom.domain.values import Uri
from planloom.tools.catalog import OfSymbol
from planloom.tools.context import ToolContext
from planloom.tools.tool import ToolResult, failed
from planloom.workspace.language import ENCODING, Language, NotKnown, Symbol
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.paths.uris import normalized

NO_LANGUAGE: Final = "Nothing here knows the symbols of the code. Use search_text and edit_file instead."
_MOST_FILES: Final = 10
"""Files whose symbols are asked for, to know where those of a workspace begin and end."""
_MOST_CANDIDATES: Final = 20
_MOST_COMPARED: Final = 500
_MOST_NEAR: Final = 3
_BEGINNING: Final = 3
"""Letters of a name by which others like it are looked for."""
_LONGEST_LINE: Final = 200
_WORD: Final = re.compile(r"[\w$]+")
_PARAMETERS: Final = re.compile(r"(?<=[\w$>])[(<].*")
_GENERICS: Final = re.compile(r"<[^<>]*>")

_Run = Callable[[Any, ToolContext], Awaitable[ToolResult]]
_Ask = Callable[[Any, ToolContext, Language], Awaitable[ToolResult]]


class Declared(NamedTuple):
    """A symbol with its file, which a person may see, and the path by which a call names that."""

    symbol: Symbol
    place: ResolvedPath
    path: str

    @property
    def at(self) -> str:
        """Its file and line, in the form in which a call can name it."""
        return f"{visible(self.path)}:{self.symbol.name_range.start.line + 1}"

    @property
    def words(self) -> str:
        """Its kind, and what it stands in."""
        container = f" in {visible(self.symbol.container)}" if self.symbol.container else ""
        return f"{visible(self.symbol.kind)}{container}"


class Spot(NamedTuple):
    """Where a language server is asked about a name, which is the last part of a dotted one."""

    name: str
    place: ResolvedPath
    position: Position


def asking(ask: _Ask) -> _Run:
    """A tool that asks about the code; it fails with the reason where nobody knows."""

    @wraps(ask)
    async def run(args: Any, context: ToolContext) -> ToolResult:
        if context.language is None:
            return failed(NO_LANGUAGE)
        try:
            return await ask(args, context, context.language)
        except NotKnown as unknown:
            return failed(f"{unknown} Use search_text and edit_file instead.")

    return run


async def file_of(path: str, context: ToolContext) -> tuple[ResolvedPath, str] | ToolResult:
    """The file that a call names, and its text as the step sees it."""
    place = await context.resolve(path, "read")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    if place.secret:
        return failed(f"{place.relative} may hold secrets, so nobody is asked about it.")
    found = await context.files.peek(place.uri)
    if found.text is None:
        if found.exists:
            return failed(f"{place.relative} is no text file: give a file of code.")
        return failed(await context.no_such_file(place, "Use find_files to see what is there."))
    return place._replace(uri=found.uri), found.text


async def declarations(
    args: OfSymbol, context: ToolContext, language: Language
) -> tuple[Declared, ...] | ToolResult:
    """The symbols with just this name, in a file or the workspace; if there is none, names like it."""
    path, _ = args.place()
    texts = context.files.texts()
    *outer, name = parts_of(args.symbol)
    if path:
        file = await file_of(path, context)
        if isinstance(file, ToolResult):
            return file
        place, text = file
        known: Sequence[Symbol] = await language.symbols(place.uri, texts)
        found = tuple(
            Declared(each, place, path_in(place, context)) for each in known if _is_called(each, name, outer)
        )
        if not found and (lines := _lines_with(text, name)):
            at = listed([str(line) for line in lines], _MOST_CANDIDATES)
            return failed(
                f"{place.relative} does not declare {_quoted(args.symbol)}, which stands there in line {at}. "
                f"Give path as {path_in(place, context)}:{lines[0]}."
            )
        where = f" in {place.relative}"
    else:
        known = await language.named(name, texts)
        same = [each for each in known if _is_called(each, name)]
        same = await _refined(same, context, language)
        found = await shown([each for each in same if _is_called(each, name, outer)], context)
        where = ""
        if not found and len(name) > _BEGINNING:
            known = [*known, *await language.named(name[:_BEGINNING], texts)]
    if found:
        return found
    near = _near(name, await shown(known[:_MOST_COMPARED], context))
    like = f" Names like it: {', '.join(map(_quoted, near))}." if near else " Use search_text to look for it."
    return failed(f"There is no symbol {_quoted(args.symbol)}{where}.{like}")


async def meant(args: OfSymbol, context: ToolContext, language: Language) -> Spot | ToolResult:
    """The one symbol that a call means. If several have its name, the answer lists them."""
    path, line = args.place()
    name = parts_of(args.symbol)[-1]
    if path and line is not None:
        file = await file_of(path, context)
        if isinstance(file, ToolResult):
            return file
        place, text = file
        index = LineIndex(text)
        whole = index.line_text(line - 1)
        word = word_of(name).search(whole)
        if word is None:
            reads = f" reads “{visible(whole.strip()[:_LONGEST_LINE])}”" if whole.strip() else " is empty"
            return failed(f"{_quoted(name)} does not stand in line {line} of {place.relative}, which{reads}.")
        return Spot(name, place, index.position(index.line_start(line - 1) + word.start(), ENCODING))
    found = await declarations(args, context, language)
    if isinstance(found, ToolResult):
        return found
    if len(found) > 1:
        shown = listed([f"{each.at} ({each.words})" for each in found], _MOST_CANDIDATES, "; ")
        return failed(f"{len(found)} symbols are called {_quoted(name)}. Give path as one of: {shown}")
    (only,) = found
    return Spot(name, only.place, await _position(only, name, context))


async def text_of(uri: Uri, context: ToolContext) -> str:
    """The text of a file as the step sees it; empty if it has none."""
    return (await context.files.peek(uri)).text or ""


async def shown_place(uri: str, context: ToolContext) -> ResolvedPath | None:
    """The place of a file that an answer names; None for one outside of the workspace, or that may hold secrets."""
    place = await context.resolve_uri(uri)
    if isinstance(place, PathRefused) or place.secret or await context.holds_secret(place.uri):
        return None
    return place


def path_in(place: ResolvedPath, context: ToolContext) -> str:
    """The path by which a call names a place, also if several folders are open."""
    several = len(context.roots.folders) > 1
    return f"{place.root.name}/{place.relative}" if several else place.relative


def parts_of(name: str) -> list[str]:
    """The parts of a dotted name, the last of which is that of the symbol."""
    return [part for part in re.split(r"\.|::|#", name.strip().removesuffix("()")) if part] or [name]


def word_of(name: str) -> re.Pattern[str]:
    """The pattern of a name as a whole word."""
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


def _is_called(symbol: Symbol, name: str, outer: Sequence[str] = ()) -> bool:
    """Whether a symbol has this name, and stands in what is called `outer`, as far as that is known."""
    if symbol.name != name and _own_name(symbol) != name:
        return False
    around = _words(symbol)[:-1]
    compared = min(len(outer), len(around))
    return not compared or around[-compared:] == list(outer[-compared:])


def _own_name(symbol: Symbol) -> str:
    return _words(symbol)[-1]


def _words(symbol: Symbol) -> list[str]:
    """The names in that of a symbol and of what it stands in, of which servers make `area(int)`, `(*Square).Area` or
    `impl Shape for Square`."""
    name = _PARAMETERS.sub("", symbol.name)
    return [*_WORD.findall(_GENERICS.sub("", symbol.container)), *(_WORD.findall(name) or [symbol.name])]


async def _refined(found: Sequence[Symbol], context: ToolContext, language: Language) -> list[Symbol]:
    """Symbols of the workspace as their files have them, each once: a search by name may not know their whole range."""
    texts = context.files.texts()
    exact: dict[tuple[Uri, str, int], Symbol] = {}
    for uri in [*dict.fromkeys(normalized(each.uri) for each in found)][:_MOST_FILES]:
        if await shown_place(uri, context) is None:
            continue
        with suppress(NotKnown):
            for each in await language.symbols(uri, texts):
                for line in (each.name_range.start.line, each.range.start.line):
                    exact.setdefault((uri, _own_name(each), line), each)
    keys = {(normalized(each.uri), _own_name(each), each.name_range.start.line): each for each in found}
    refined = [exact.get(key, each) for key, each in keys.items()]
    return list({(each.uri, each.name_range.start): each for each in refined}.values())


async def shown(found: Iterable[Symbol], context: ToolContext) -> tuple[Declared, ...]:
    """The symbols in files that a person may see."""
    places: dict[Uri, ResolvedPath | None] = {}
    visible_ones: list[Declared] = []
    for each in found:
        if each.uri not in places:
            places[each.uri] = await shown_place(each.uri, context)
        place = places[each.uri]
        if place is not None:
            visible_ones.append(Declared(each, place, path_in(place, context)))
    return tuple(visible_ones)


async def _position(declared: Declared, name: str, context: ToolContext) -> Position:
    """The position of a symbol's name, which does not always stand at the beginning of its range."""
    index = LineIndex(await text_of(declared.place.uri, context))
    start = index.offset(declared.symbol.name_range.start, ENCODING)
    end = index.offset(declared.symbol.range.end, ENCODING)
    word = word_of(name).search(index.text, start, max(start, end))
    return declared.symbol.name_range.start if word is None else index.position(word.start(), ENCODING)


def _lines_with(text: str, name: str) -> list[int]:
    """The lines with a name, counted from 1."""
    index = LineIndex(text)
    found = (index.position(word.start(), ENCODING).line + 1 for word in word_of(name).finditer(text))
    return list(dict.fromkeys(found))


def _near(name: str, known: Iterable[Declared]) -> list[str]:
    """The names that are most like one."""
    names = {own.casefold(): own for each in known for own in [_own_name(each.symbol)]}
    return [names[each] for each in difflib.get_close_matches(name.casefold(), names, _MOST_NEAR)]


def _quoted(name: str) -> str:
    return f"`{visible(name[:_LONGEST_LINE])}`"
