"""The tool `read_diagnostics`: errors and warnings, those of staged changes by language servers of our own."""

from __future__ import annotations

from collections.abc import Iterable

from planloom.domain.text.counted import counted
from planloom.domain.values import Json, Uri
from planloom.tools.catalog import ReadDiagnostics
from planloom.tools.context import ToolContext
from planloom.tools.terminal_text import one_line, plain
from planloom.tools.tool import ToolResult, failed, succeeded
from planloom.workspace.editor import Diagnostic, FileDiagnostics
from planloom.workspace.language import NotKnown
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.resolver import PathRefused
from planloom.workspace.paths.uris import normalized

MOST_FILES = 50
MOST_SHOWN = 200
_MOST_MESSAGE = 1_000
_MOST_NAMED = 10
_ORDER = {"error": 0, "warning": 1, "information": 2, "hint": 3}


async def read_diagnostics(args: ReadDiagnostics, context: ToolContext) -> ToolResult:
    """The current errors and warnings: what the editor shows, and for files with staged changes what they bring."""
    uris = await _requested_files(args.path, context)
    if isinstance(uris, ToolResult):
        return uris
    if not uris:
        return succeeded("No file is open", "No file is open. Give a path.", [])
    staged = {change.uri for change in context.files.changeset().changes} & uris.keys()
    # The editor does not know what is staged; where it reports nothing at all, our own servers may.
    own = await _judged(staged, context)
    others = tuple(uri for uri in uris if uri not in own)
    shown = await context.diagnostics(others) if context.diagnostics is not None and others else None
    if shown is None:
        own |= await _judged([uri for uri in others if uri not in staged], context)
    reports = (*own.values(), *(shown or ()))
    if shown is None and not own:
        return failed(
            "This editor does not provide diagnostics. Run the project's own checks with run_command instead."
        )
    found = [
        (uris[key], item) for file in reports if (key := normalized(file.uri)) in uris for item in file.items
    ]
    found.sort(key=lambda pair: (_ORDER[pair[1].severity], pair[0], pair[1].range.start.line))
    where = next(iter(uris.values())) if len(uris) == 1 else f"{len(uris)} open files"
    lines = [_line(name, item) for name, item in found[:MOST_SHOWN]]
    who = "No problems are known" if shown is None else "The editor knows of no problems"
    lines = lines or [f"{who} in {where}."]
    if len(found) > MOST_SHOWN:
        lines.append(f"[{len(found) - MOST_SHOWN} more; give a file as path]")
    unknown = [uris[uri] for uri in others if uri not in own] if shown is None else []
    if unknown:
        lines.append(f"[nobody reports on {listed(unknown, _MOST_NAMED)}]")
    if shown is not None and not staged <= own.keys():
        lines.append("[as before this step's changes, which are not made yet]")
    errors = sum(item.severity == "error" for _, item in found)
    value: list[Json] = [
        {"path": name, "line": item.range.start.line + 1, "severity": item.severity, "message": item.message}
        for name, item in found[:MOST_SHOWN]
    ]
    if not found:
        return succeeded(f"No problems in {where}", "\n".join(lines), [])
    summary = f"{counted(len(found), 'problem')} in {where}, {counted(errors, 'error')} among them"
    return succeeded(summary, "\n".join(lines), value)


async def _judged(uris: Iterable[Uri], context: ToolContext) -> dict[Uri, FileDiagnostics]:
    """The problems of files as they are staged, of those that servers of our own serve."""
    found: dict[Uri, FileDiagnostics] = {}
    if context.language is None:
        return found
    texts = context.files.texts()
    for uri in uris:
        try:
            reported = await context.language.diagnostics((uri,), texts)
        except NotKnown:
            continue
        found.update((uri, each) for each in reported if normalized(each.uri) == uri)
    return found


async def _requested_files(path: str, context: ToolContext) -> dict[Uri, str] | ToolResult:
    """The requested files by URI, with their paths to show."""
    if path:
        place = await context.resolve(path, "read")
        if isinstance(place, PathRefused):
            return failed(place.reason)
        snapshot = await context.files.peek(place.uri)
        if not snapshot.exists or snapshot.problem == "folder":
            problem = "is a folder: give a file" if snapshot.exists else "does not exist"
            return failed(f"{place.relative} {problem}.")
        return {normalized(snapshot.uri): place.relative}
    found: dict[Uri, str] = {}
    for document in context.files.view.documents.all()[-MOST_FILES:]:
        place = await context.resolve_uri(document.uri)
        if not isinstance(place, PathRefused):
            found[document.uri] = place.relative
    return found


def _line(name: str, item: Diagnostic) -> str:
    start = item.range.start
    by = f" [{plain(item.source or '')}{' ' + plain(item.code) if item.code else ''}]" if item.source else ""
    message = one_line(item.message[:_MOST_MESSAGE])
    return f"{name}:{start.line + 1}: {item.severity}: {message}{by}"
