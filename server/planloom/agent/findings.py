"""The findings of agents: their reports, the files read and the commands run, as texts for the work that follows."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from pydantic.alias_generators import to_camel

from planloom.agent.prompts import Section
from planloom.domain.model_text.fences import fenced
from planloom.domain.plans.agents import NAMES, Perspective
from planloom.domain.plans.plan import CommandRun, FileRead, Step
from planloom.domain.values import Sha256, Uri
from planloom.tools.catalog import READ_FILE, ReadFile
from planloom.tools.context import ToolContext
from planloom.tools.files.reading import read_spans
from planloom.tools.tool import shortened
from planloom.workspace.paths.names import visible
from planloom.workspace.paths.resolver import PathRefused

MOST_CHARACTERS = 32_000
"""The most characters of files that are shown again, whatever the size of the model's context."""
_HEADING = "READ WHILE PLANNING (data): {path}"
_CHANGED = "It has changed since it was read: read it again if you need it."
_RUN = "RUN WHILE PLANNING (data)"
_TOO_LONG = "It has not changed since, but it is too long to be shown here: read it again if you need it."
_SMALLEST = 40
"""The fewest characters for which a part of a line is worth showing."""
_NOT_SHOWN = ("agent", "timestamp", "estimated_effort")


async def file_read(args: ReadFile, context: ToolContext) -> FileRead | None:
    """The part of a file that a successful call of `read_file` has read; None if the file is gone since."""
    place = await context.resolve(args.path, "read")
    if isinstance(place, PathRefused):
        return None
    snapshot = await context.files.peek(place.uri)
    if snapshot.sha256 is None:
        return None
    return FileRead(uri=place.uri, path=args.path, sha256=snapshot.sha256, lines=args.spans())


def with_read(reads: Sequence[FileRead], new: FileRead) -> tuple[FileRead, ...]:
    """The reads with one more; each file occurs once, with all that was read of its newest text."""
    old = next((each for each in reads if each.uri == new.uri), None)
    if old is not None and old.sha256 == new.sha256:
        whole = not old.lines or not new.lines
        lines = () if whole else tuple(sorted({*old.lines, *new.lines}, key=lambda span: span[0]))
        new = old.model_copy(update={"lines": lines})
    if old is None:
        return (*reads, new)
    return tuple(new if each is old else each for each in reads)


async def reads_of(step: Step, seen: Mapping[Uri, Sha256], context: ToolContext) -> tuple[FileRead, ...]:
    """The files that a step's calls of `read_file` have read, if the text is still that which its model has `seen`."""
    reads: tuple[FileRead, ...] = ()
    for call in step.tools_executed:
        if call.tool == READ_FILE.name and call.ok:
            read = await file_read(ReadFile.model_validate(call.args), context)
            if read is not None and seen.get(read.uri) == read.sha256:
                reads = with_read(reads, read)
    return reads


async def files_read(
    reads: Sequence[FileRead], context: ToolContext, most_characters: int
) -> tuple[Section, ...]:
    """A section for each file, so that a change of one does not send the others again.

    A file that is unchanged is shown while there is room; of any other the model is told to read it again.
    """
    left = min(most_characters, MOST_CHARACTERS)
    sections: list[Section] = []
    for each in reads:
        text = await _unchanged_text(each, context)
        if text is None:
            shown = _CHANGED
        elif len(text) > left:
            shown = _TOO_LONG
        else:
            left -= len(text)
            shown = fenced(text)
        sections.append(Section(_HEADING.format(path=visible(each.path)), shown))
    return tuple(sections)


def commands_section(runs: Sequence[CommandRun], most_characters: int = MOST_CHARACTERS) -> Section:
    """The output of the latest commands; it is empty if none was run."""
    texts: list[str] = []
    for each in reversed(runs):
        text = fenced(f"$ {each.command}\n{each.output}")
        if sum(map(len, texts)) + len(text) <= most_characters:
            texts.insert(0, text)
    return Section(_RUN, "\n".join(texts))


async def changed_files(
    reads: Sequence[FileRead], context: ToolContext, own: Container[tuple[Uri, Sha256 | None]] = ()
) -> tuple[Section, ...]:
    """A section for each file that has changed since, for a conversation that shows what was read.

    `own` are the texts that the plan itself has made of files.
    """
    now = [(each, (await context.files.peek(each.uri)).sha256) for each in reads]
    changed = [each for each, sha256 in now if sha256 != each.sha256 and (each.uri, sha256) not in own]
    return tuple(Section(_HEADING.format(path=visible(each.path)), _CHANGED) for each in changed)


async def _unchanged_text(read: FileRead, context: ToolContext) -> str | None:
    """The part that was read, as the tool shows it; None if the file is another now or cannot be read."""
    if (await context.files.peek(read.uri)).sha256 != read.sha256:
        return None
    result = await read_spans(read.path, read.lines, context)
    return result.text if result.ok else None


def reports_text(perspectives: Sequence[Perspective], most_characters: int | None = None) -> str:
    """The reports as a section of a prompt, one line for each field; empty without reports.

    With `most_characters` each report gets an equal share, and its last fields are left out first.
    """
    share = None if most_characters is None else most_characters // max(1, len(perspectives))
    texts = [_report_text(each, share) for each in perspectives]
    return "\n\n".join(filter(None, texts))


def _report_text(report: Perspective, most: int | None) -> str:
    lines = [f"{NAMES[report.agent]} (effort: {report.estimated_effort})"]
    left = None if most is None else most - len(lines[0]) - 2
    for name, text in _fields(report):
        line = f"- {name}: {text}"
        if left is not None:
            line = shortened(line, max(0, left)) if left > _SMALLEST else ""
            left -= len(line) + 1
        lines.append(line)
    return "\n".join(filter(None, lines)) if len(lines) > 1 and lines[1] else ""


def _fields(report: Perspective) -> Iterator[tuple[str, str]]:
    """The fields that say something, by their names on the wire."""
    for name, value in report.model_dump(exclude={*_NOT_SHOWN}).items():
        if value and (name == "analysis" or value != report.analysis):
            text = "; ".join(value) if isinstance(value, tuple | list) else value
            yield to_camel(name), " ".join(text.split())
