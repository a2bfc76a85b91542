"""Three tools, one of each kind: it reads, it changes a file, it does something else."""

import asyncio
import os
from pathlib import Path

from pydantic import Field

from planloom.extending import (
    Arguments,
    Tool,
    ToolContext,
    ToolResult,
    failed,
    read_text,
    succeeded,
    write_text,
)


class CountWords(Arguments):
    """Arguments of `count_words`."""

    path: str = Field(max_length=4096)


async def count_words(args: CountWords, context: ToolContext) -> ToolResult:
    """Count the words of a file, as it stands in the editor and with what the step has changed."""
    text = await read_text(args.path, context)
    if isinstance(text, ToolResult):
        return text
    count = len(text.split())
    return succeeded(f"{args.path} has {count} words", value=count)


class NumberLines(Arguments):
    """Arguments of `number_lines`."""

    path: str = Field(max_length=4096)


async def number_lines(args: NumberLines, context: ToolContext) -> ToolResult:
    """Put its number before each line of a file. The change is only staged: Planloom asks, and makes it."""
    text = await read_text(args.path, context)
    if isinstance(text, ToolResult):
        return text
    lines = text.splitlines(keepends=True)
    numbered = "".join(f"{number} {line}" for number, line in enumerate(lines, 1))
    return await write_text(args.path, numbered, context)


class SendNote(Arguments):
    """Arguments of `send_note`."""

    text: str = Field(max_length=1_000)


async def send_note(args: SendNote, _context: ToolContext) -> ToolResult:
    """Send a note; a file stands for the service. Planloom has asked, with the arguments, before this runs."""
    notes = os.environ.get("PLANLOOM_EXAMPLE_NOTES")
    if notes is None:
        return failed("PLANLOOM_EXAMPLE_NOTES names no file for notes. Do without the note.")
    # Planloom has one thread for everything: what waits goes to another.
    await asyncio.to_thread(append, Path(notes), f"{args.text}\n")
    return succeeded("Sent the note")


def append(file: Path, text: str) -> None:
    """Write at the end of a file."""
    with file.open("a", encoding="utf-8") as opened:
        opened.write(text)


TOOLS = (
    Tool(
        name="count_words",
        description="Count the words of a text file.",
        arguments=CountWords,
        effect="read",
        run=count_words,
        paths=("path",),
        result="42",
    ),
    Tool(
        name="number_lines",
        description="Number the lines of a text file.",
        arguments=NumberLines,
        effect="write",
        run=number_lines,
        paths=("path",),
        writes=("path",),
    ),
    Tool(
        name="send_note",
        description="Send a note to the user's colleagues.",
        arguments=SendNote,
        effect="execute",
        run=send_note,
    ),
)
