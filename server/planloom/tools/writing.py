"""The tools that write: `write_file`, `edit_file` and `create_folder`. They stage; the gate asks and applies."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from planloom.tools.context import ToolContext
from planloom.tools.reading import unreadable
from planloom.tools.replace import NoMatch, replace
from planloom.tools.tool import Tool, ToolResult, failed, succeeded
from planloom.workspace.paths import PathRefused

MAX_CONTENT = 5_000_000


class WriteFile(BaseModel):
    """Arguments of `write_file`."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Path of the file, relative to the workspace folder.", max_length=4096)
    content: str = Field(description="The whole new content of the file.", max_length=MAX_CONTENT)


class EditFile(BaseModel):
    """Arguments of `edit_file`."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Path of the file, relative to the workspace folder.", max_length=4096)
    old_text: str = Field(
        description="Text to replace, exactly as it stands in the file, with enough lines around it to be unique.",
        max_length=MAX_CONTENT,
    )
    new_text: str = Field(description="Text to put in its place.", max_length=MAX_CONTENT)
    replace_all: bool = Field(False, description="Replace every occurrence instead of exactly one.")


class CreateFolder(BaseModel):
    """Arguments of `create_folder`."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Path of the folder, relative to the workspace folder.", max_length=4096)


async def write_file(args: WriteFile, context: ToolContext) -> ToolResult:
    """Create a file, or replace the whole of one."""
    place = await context.resolve(args.path, "write")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    known = context.files.has_read(place.uri)
    seen = await context.files.read(place.uri)
    if seen.exists and seen.text is None:
        return failed(unreadable(place.relative, seen))
    if seen.exists and seen.text == args.content:
        return succeeded(f"{place.relative} already has this content", value=place.relative)
    refused = await context.files.stage_write(place.uri, args.content, notes=place.notes)
    if refused is not None:
        return failed(refused.reason)
    if seen.exists and not known and seen.text:
        context.blind.add(place.uri)
    verb = "Replaced" if seen.exists else "Created"
    return succeeded(f"{verb} {place.relative}", value=place.relative)


async def edit_file(args: EditFile, context: ToolContext) -> ToolResult:
    """Replace text in a file."""
    place = await context.resolve(args.path, "write")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    seen = await context.files.read(place.uri)
    if not seen.exists:
        return failed(f"There is no file {place.relative}. Use write_file to create it.")
    if seen.text is None:
        return failed(unreadable(place.relative, seen))
    result = replace(seen.text, args.old_text, args.new_text, replace_all=args.replace_all)
    if isinstance(result, NoMatch):
        return failed(f"{place.relative}: {result.reason}")
    if result.text == seen.text:
        return succeeded(f"{place.relative} is already so", value=place.relative)
    refused = await context.files.stage_write(place.uri, result.text, notes=place.notes)
    if refused is not None:
        return failed(refused.reason)
    places = "1 place" if result.places == 1 else f"{result.places} places"
    return succeeded(f"Edited {place.relative} in {places}", value=place.relative)


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
EDIT_FILE = Tool(
    name="edit_file",
    description="Replace text in a file. old_text must stand in the file exactly once, or set replace_all.",
    arguments=EditFile,
    effect="write",
    run=edit_file,
    paths=("path",),
    writes=("path",),
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
