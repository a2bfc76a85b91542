"""The tools `rename_symbol` and `code_action`, which stage the edits that a language server computes.

An answer is taken whole or not at all: of a rename in half of its places no code is left that works.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, NamedTuple

from planloom.domain.text.counted import counted
from planloom.domain.text.hidden_characters import visible
from planloom.domain.text.positions import LineIndex, Position, Range, TextEdit, apply_edits
from planloom.domain.values import Uri
from planloom.tools.catalog import RenameSymbol, TakeCodeAction
from planloom.tools.code.symbols import asking, file_of, meant, parts_of, path_in
from planloom.tools.context import ToolContext
from planloom.tools.files.reading import unreadable
from planloom.tools.terminal_text import one_line, plain
from planloom.tools.tool import ToolResult, failed, succeeded
from planloom.workspace.language import ENCODING, CodeAction, CodeChange, FileEdits, Language
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.staged.overlay import Overlay
from planloom.workspace.staged.rebase import three_way

_MOST_NAMED: Final = 20
_MOST_ACTIONS: Final = 50
_LONGEST_TITLE: Final = 200
_NOTHING: Final = " Nothing was changed."
_ANEW: Final = "call it again once that is done, or use edit_file"


class _Refused(NamedTuple):
    """Why a change cannot be taken, as a sentence."""

    reason: str


@asking
async def rename_symbol(args: RenameSymbol, context: ToolContext, language: Language) -> ToolResult:
    """Rename a symbol in all files that use it."""
    spot = await meant(args, context, language)
    if isinstance(spot, ToolResult):
        return spot
    new_name = args.new_name.strip()
    # Some models qualify the new name as the old one: A.b to A.c.
    new_name = parts_of(new_name)[-1] if len(parts_of(args.symbol)) > 1 else new_name
    if spot.name == new_name:
        return failed(f"`{visible(spot.name)}` is called that already. Give another new_name.")
    change = await language.rename(spot.place.uri, spot.position, new_name, context.files.texts())
    return await _taken(f"Renamed {visible(spot.name)} to {visible(new_name)}", change, context)


@asking
async def code_action(args: TakeCodeAction, context: ToolContext, language: Language) -> ToolResult:
    """List what is offered for a file or one of its lines, or do what has the title."""
    path, line = args.place()
    file = await file_of(path, context)
    if isinstance(file, ToolResult):
        return file
    place, text = file
    index = LineIndex(text)
    if line is not None and line > index.line_count:
        return failed(f"{place.relative} has {counted(index.line_count, 'line')}: give one of them.")
    first, last = (0, index.line_count - 1) if line is None else (line - 1, line - 1)
    start = Position(line=first, character=0)
    end = index.position(index.line_start(last) + len(index.line_text(last)), ENCODING)
    offered = await language.actions(place.uri, Range(start=start, end=end), context.files.texts())
    usable = [each for each in offered if each.change is not None and not each.change.beside]
    where = f"{place.relative}:{line}" if line is not None else place.relative
    if not args.title.strip():
        return _offers(where, usable, len(offered) - len(usable))
    action = _titled(args.title, usable)
    if action is None or action.change is None:
        commands = _titled(args.title, offered) is not None
        why = (
            "is done by a command of its language server, or renames files, so it cannot be taken here"
            if commands
            else "is not offered"
        )
        return failed(f"“{plain(args.title)}” {why}. {_offers(where, usable, 0).text}")
    return await _taken(_title(action), action.change, context)


def _offers(where: str, usable: list[CodeAction], others: int) -> ToolResult:
    if not usable:
        return succeeded(f"No code action for {where}", f"Nothing that can be taken is offered for {where}.")
    ordered = sorted(usable, key=lambda each: not each.preferred)
    lines = [f"- {_title(each)}" for each in ordered[:_MOST_ACTIONS]]
    if len(ordered) > len(lines):
        lines.append(f"[{len(ordered) - len(lines)} more; give a line]")
    if others:
        lines.append(f"[{others} more need commands of the language server and cannot be taken here]")
    text = "\n".join((f"Offered for {where}, each taken by its title:", *lines))
    return succeeded(f"{counted(len(usable), 'code action')} for {where}", text)


def _title(action: CodeAction) -> str:
    return one_line(action.title[:_LONGEST_TITLE])


def _titled(title: str, actions: list[CodeAction] | tuple[CodeAction, ...]) -> CodeAction | None:
    """The action with a title, else the only one that has it in another case, or begins so."""
    wanted = " ".join(title.split())
    same = [each for each in actions if _title(each) == wanted[:_LONGEST_TITLE]]
    if same:
        return same[0]
    like = [each for each in actions if _title(each).casefold().startswith(wanted.casefold())]
    return like[0] if len(like) == 1 else None


async def _taken(done: str, change: CodeChange, context: ToolContext) -> ToolResult:
    """Stage a whole change, or none of it. The result says how many places of which files it changes."""
    if change.beside:
        beside = plain("; ".join(change.beside))[:500]
        return failed(f"It is more than edits: {beside}. Do that with the other tools.{_NOTHING}")
    trial = Overlay(context.files)
    places: dict[str, int] = {}
    seen: set[Uri] = set()
    for file in change.files:
        if not file.edits:
            continue
        staged = await _staged(file, change, context, trial)
        if isinstance(staged, _Refused):
            return failed(f"{staged.reason}{_NOTHING}")
        if staged.uri in seen:
            return failed(f"The answer changes {staged.relative} under two names: use edit_file.{_NOTHING}")
        seen.add(staged.uri)
        places[visible(staged.relative)] = len(file.edits)
    if not trial.changeset().changes:
        return failed("The language server changes nothing for that. Use search_text and edit_file instead.")
    await trial.merge_down()
    files = [f"{name} ({count})" for name, count in sorted(places.items())]
    total = counted(sum(places.values()), "place")
    head = f"{done}: {total} in {counted(len(files), 'file')}"
    return succeeded(
        f"{head}: {listed(files, _MOST_NAMED)}", f"{head}: {', '.join(islice(files, 500))}", head
    )


async def _staged(
    file: FileEdits, change: CodeChange, context: ToolContext, trial: Overlay
) -> ResolvedPath | _Refused:
    """Stage the edits of one file, merged with what has changed since they were computed."""
    place = await context.resolve_uri(file.uri, "write")
    if isinstance(place, PathRefused):
        return _Refused(place.reason)
    if place.secret or await context.holds_secret(place.uri):
        return _Refused(
            f"It would change {place.relative}, which may hold secrets: only a person can do that."
        )
    place = place._replace(relative=path_in(place, context))
    found = await trial.read(place.uri)
    if found.text is None:
        missing = f"There is no file {place.relative} any more."
        return _Refused(unreadable(place.relative, found) if found.exists else missing)
    base = change.texts.get(file.uri)
    if base is None:
        return _Refused(f"It is unknown to which text of {place.relative} the edits belong: use edit_file.")
    opened = context.files.view.documents.get(found.uri)
    is_other = file.version is not None and opened is not None and opened.version != file.version
    if found.text != base and is_other:
        return _Refused(f"{place.relative} has changed since the edits were computed: {_ANEW}.")
    index = LineIndex(base)
    wrong = next((each for each in file.edits if not _fits(each, index)), None)
    if wrong is not None:
        line = wrong.range.start.line + 1
        return _Refused(
            f"An edit of {place.relative} lies outside of its text, at line {line}: use edit_file."
        )
    try:
        text = apply_edits(base, file.edits, ENCODING)
    except ValueError:
        return _Refused(f"Edits of {place.relative} overlap: use edit_file.")
    merged = three_way(base, found.text, text)
    if merged.kind == "conflicted":
        return _Refused(
            f"What is changed in {place.relative} already, by this step or the user, touches the same lines: {_ANEW}."
        )
    refused = await trial.stage_write(found, merged.text, notes=place.notes)
    return place if refused is None else _Refused(refused.reason)


def _fits(edit: TextEdit, index: LineIndex) -> bool:
    """Whether the range of an edit lies in the text, and its end not before its start."""
    ends = (edit.range.start, edit.range.end)
    offsets = [index.offset(each, ENCODING) for each in ends]
    return offsets == sorted(offsets) and all(
        index.position(offset, ENCODING) == end for offset, end in zip(offsets, ends, strict=True)
    )
