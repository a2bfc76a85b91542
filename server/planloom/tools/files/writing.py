"""The tools that make files and folders. They stage; the gate asks and applies."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from planloom.tools.context import ToolContext
from planloom.tools.files.elision import left_out, without_fence
from planloom.tools.files.reading import unreadable
from planloom.tools.files.replacing import with_lf
from planloom.tools.tool import Tool, ToolResult, failed, succeeded
from planloom.workspace.paths.resolver import PathRefused

MAX_CONTENT = 5_000_000


class WriteFile(BaseModel):
    """Arguments of `write_file`."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Path of the file, relative to the workspace folder.", max_length=4096)
    content: str = Field(description="The whole new content of the file.", max_length=MAX_CONTENT)


class CreateFolder(BaseModel):
    """Arguments of `create_folder`."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Path of the folder, relative to the workspace folder.", max_length=4096)


def names_folder(path: str) -> ToolResult | None:
    """The refusal of a path of a file that ends as that of a folder; None if it does not."""
    if not path.endswith(("/", "\\")):
        return None
    return failed(
        f"{path} ends in a slash, so it names a folder: use create_folder to make one, or add the file's name."
    )


async def write_file(args: WriteFile, context: ToolContext) -> ToolResult:
    """Create a file, or replace the whole of one."""
    folder = names_folder(args.path)
    if folder is not None:
        return folder
    place = await context.resolve(args.path, "write")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    known = context.files.has_read(place.uri)
    seen = await context.files.read(place.uri)
    if seen.exists and seen.text is None:
        return failed(unreadable(place.relative, seen))
    if seen.text and not args.content:
        return succeeded(
            f"{place.relative} is there already and is left as it is",
            f"{place.relative} is there already and is left as it is: an empty write_file makes a new file, it "
            "empties none. Use edit_file to take text out.",
            place.relative,
        )
    content = without_fence(place.relative, args.content)
    if seen.text is not None and with_lf(seen.text) == with_lf(content):
        return succeeded(f"{place.relative} already has this content", value=place.relative)
    omission = left_out(seen.text or "", content)
    notes = place.notes if omission is None else (*place.notes, _doubt(seen.text or "", content, omission))
    refused = await context.files.stage_write(place.uri, content, notes=notes)
    if refused is not None:
        return failed(refused.reason)
    if seen.exists and not known and seen.text:
        context.blind.add(place.uri)
    context.doubtful.discard(place.uri)
    if omission is not None:
        context.doubtful.add(place.uri)
        return succeeded(
            f"Replaced {place.relative}, which may have lost a part",
            f"{notes[-1]} The user is asked whether that is meant. If it is not, call write_file again with the "
            "complete content, or edit_file for the part that changes.",
            place.relative,
        )
    verb = "Replaced" if seen.exists else "Created"
    return succeeded(f"{verb} {place.relative}", value=place.relative)


def _doubt(before: str, after: str, omission: str) -> str:
    return (
        f"The new text is {100 - 100 * len(after) // len(before)} % shorter than the old one and has the line "
        f"{omission[:120]!r}: a part seems to be left out."
    )


async def create_folder(args: CreateFolder, context: ToolContext) -> ToolResult:
    """Create a folder and its parents; one that is there already is fine."""
    place = await context.resolve(args.path, "write")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    refused = await context.files.stage_create_folder(place.uri)
    if refused is not None:
        return failed(refused.reason)
    return succeeded(f"Created folder {place.relative}", value=place.relative)


WRITE_FILE = Tool(
    name="write_file",
    description="Create or replace a whole file. Give the complete content, never a part with a placeholder.",
    arguments=WriteFile,
    effect="write",
    run=write_file,
    paths=("path",),
    writes=("path",),
    replaces=("path",),
)
CREATE_FOLDER = Tool(
    name="create_folder",
    description="Create a folder, with its parents.",
    arguments=CreateFolder,
    effect="write",
    run=create_folder,
    paths=("path",),
    writes=("path",),
)
