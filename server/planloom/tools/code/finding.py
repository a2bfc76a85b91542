"""The tools `find_symbol` and `find_references`: where the code declares and uses a name."""

from __future__ import annotations

from collections import Counter
from typing import Final

from planloom.domain.text.counted import counted
from planloom.domain.text.hidden_characters import visible
from planloom.domain.text.positions import LineIndex
from planloom.domain.values import Json
from planloom.tools.catalog import FindReferences, FindSymbol
from planloom.tools.code.symbols import asking, declarations, meant, parts_of, path_in, shown_place, text_of
from planloom.tools.context import ToolContext
from planloom.tools.search.search_files import Hit, SearchResult, rendered
from planloom.tools.tool import ToolResult, succeeded
from planloom.workspace.language import Language

_MOST_SYMBOLS: Final = 50
_MOST_HITS: Final = 100
_LONGEST_LINE: Final = 300
_NARROWER: Final = "search_text finds the others"


@asking
async def find_symbol(args: FindSymbol, context: ToolContext, language: Language) -> ToolResult:
    """Find where a name is declared: each symbol with its kind, its lines, and the first of them."""
    found = await declarations(args, context, language)
    if isinstance(found, ToolResult):
        return found
    lines: list[str] = []
    value: list[Json] = []
    for each in found[:_MOST_SYMBOLS]:
        index = LineIndex(await text_of(each.place.uri, context))
        symbol = each.symbol
        first, line, last = symbol.range.start.line, symbol.name_range.start.line, symbol.range.end.line
        text = index.line_text(line).strip()[:_LONGEST_LINE]
        span = f"{first + 1}-{last + 1}" if last > first else f"{line + 1}"
        lines.append(f"{visible(each.path)}:{span} {each.words}: {visible(text)}")
        value.append({"path": each.path, "line": line + 1, "text": text})
    if len(found) > len(lines):
        lines.append(f"[{len(found) - len(lines)} more; give a path]")
    return succeeded(f"Found {_name(args.symbol)} in {counted(len(found), 'place')}", "\n".join(lines), value)


@asking
async def find_references(args: FindReferences, context: ToolContext, language: Language) -> ToolResult:
    """Find where a symbol is used, its declaration included."""
    spot = await meant(args, context, language)
    if isinstance(spot, ToolResult):
        return spot
    places = await language.nearby("references", spot.place.uri, spot.position, context.files.texts())
    hits: dict[tuple[str, int], Hit] = {}
    indexes: dict[str, tuple[str, LineIndex] | None] = {}
    hidden = 0
    for each in places:
        if each.uri not in indexes:
            place = await shown_place(each.uri, context)
            indexes[each.uri] = (
                (path_in(place, context), LineIndex(await text_of(place.uri, context))) if place else None
            )
        file = indexes[each.uri]
        if file is None or each.range.start.line >= file[1].line_count:
            hidden += 1
            continue
        line = each.range.start.line + 1
        text = file[1].line_text(line - 1)[:_LONGEST_LINE]
        hits[file[0], line] = Hit(file[0], line, text, {line: text})
    shown = sorted(hits.values(), key=lambda hit: (hit.name, hit.line))
    counts = Counter(hit.name for hit in shown)
    notes = [f"[{counted(hidden, 'place')} outside of what can be shown]"] if hidden else []
    name = _name(parts_of(args.symbol)[-1])
    if not shown:
        return succeeded(
            f"Found no use of {name}", "\n".join([f"Nothing is known to use {name}.", *notes]), []
        )
    text, value = rendered(SearchResult(shown[:_MOST_HITS], counts), "", _NARROWER, notes)
    lines = counted(len(shown), "line")
    return succeeded(f"Found {name} in {lines} of {counted(len(counts), 'file')}", text, value)


def _name(name: str) -> str:
    return f"`{visible(name[:_LONGEST_LINE])}`"
