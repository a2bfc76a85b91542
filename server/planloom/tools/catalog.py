"""The declarations of all tools: names, descriptions, arguments and effects. Their code is imported at the first call.

Whoever drafts, validates or shows a plan needs no more of a tool than this.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from planloom.tools.tool import Later, Tool
from planloom.web.addresses import AddressRefused, web_address

MAX_PATTERN: Final = 1_000
MAX_RESULTS: Final = 1_000
MAX_CONTEXT: Final = 20
MAX_COMMITS: Final = 200
MAX_CONTENT: Final = 5_000_000
MAX_NAME: Final = 500
DEFAULT_SECONDS: Final = 120.0
MOST_SECONDS: Final = 3600.0
MAX_COMMAND: Final = 20_000
LONGEST_WAIT: Final = 60.0
_PATHS: Final = '["src/app.py"]'
_LINES: Final = '[{"path": "src/app.py", "line": 1, "text": "import sys"}]'
_BACKGROUND: Final = '{"output": "done", "exit_code": 0, "running": false, "command_id": "c1"}'
_AT_LINE: Final = re.compile(r"(.+?):(\d{1,7})(?:[:-]\d{1,7})?")
_RANGE: Final = re.compile(r"(\d{1,7})(?: ?(-|–|:|\.\.) ?(\d{1,7})?)?")


class Arguments(BaseModel):
    """Arguments of a tool. Unknown ones are refused; the validator is built when it is first used.

    A number above its limit counts as the limit: models are not shown limits, and mean "as much as you can".
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _within_limits(cls, given: dict[str, Any]) -> dict[str, Any]:
        limits = _limits(cls)
        return {
            name: min(value, limit)
            if isinstance(value, int | float) and (limit := limits.get(name)) is not None
            else value
            for name, value in given.items()
        }


@cache
def _limits(arguments: type[Arguments]) -> Mapping[str, float]:
    """The largest values of the numbers that have one."""
    return {
        name: limit
        for name, field in arguments.model_fields.items()
        for each in field.metadata
        if isinstance(limit := getattr(each, "le", None), int | float)
    }


def _place(path: str) -> tuple[str, int | None]:
    found = _AT_LINE.fullmatch(path)
    return (path, None) if found is None else (found[1], int(found[2]) or None)


def _of_ranges(ranges: str | None) -> str | None:
    if ranges and not all(_RANGE.fullmatch(each.strip()) for each in ranges.split(",")):
        raise ValueError("give ranges of lines such as 1-40,90-120")
    return ranges


def _spans(ranges: str | None) -> Iterator[tuple[int, int | None]]:
    for each in (ranges or "").split(","):
        match = _RANGE.fullmatch(each.strip())
        if match is not None:
            first = int(match[1]) or 1
            yield first, (int(match[3]) or None) if match[3] else None if match[2] else first


class ReadFile(Arguments):
    """Arguments of `read_file`."""

    path: str = Field(max_length=4096)
    start_line: int | None = Field(None, ge=0)
    end_line: int | None = Field(None, ge=0)
    ranges: str | None = Field(None, description="Instead, such as 1-40,90-120.", max_length=1_000)

    _readable = field_validator("ranges")(_of_ranges)

    def spans(self) -> tuple[tuple[int, int | None], ...]:
        """First and last lines of the wanted ranges, None for the end of the file; empty for the whole file."""
        # Some models fill in 0, or an empty text, where they want no limit.
        limits = self.start_line or self.end_line
        first = ((self.start_line or 1, self.end_line or None),) if limits else ()
        return (*first, *_spans(self.ranges))


class ListFiles(Arguments):
    """Arguments of `list_files`."""

    path: str = Field("", max_length=4096)
    recursive: bool = False
    pattern: str | None = Field(None, description="Such as *.{ts,tsx}.", max_length=500)


READ_FILE = Tool(
    name="read_file",
    description="Read a text file, with unsaved changes. Lines are numbered.",
    arguments=ReadFile,
    effect="read",
    run=Later("files.reading", "read_file"),
    paths=("path",),
)
LIST_FILES = Tool(
    name="list_files",
    description="List a folder, by default the workspace. Ignored files are left out.",
    arguments=ListFiles,
    effect="read",
    run=Later("files.reading", "list_files"),
    paths=("path",),
    wide=True,
    result=_PATHS,
)


class FindFiles(Arguments):
    """Arguments of `find_files`."""

    pattern: str = Field(
        description="Part of the name, or a glob such as src/**/*.ts.",
        min_length=1,
        max_length=500,
    )
    path: str = Field("", max_length=4096)
    max_results: int = Field(200, ge=1, le=MAX_RESULTS)


FIND_FILES = Tool(
    name="find_files",
    description="Find files by name.",
    arguments=FindFiles,
    effect="read",
    run=Later("search.find_files", "find_files"),
    paths=("path",),
    wide=True,
    result=_PATHS,
)


class SearchText(Arguments):
    """Arguments of `search_text`."""

    pattern: str = Field(max_length=MAX_PATTERN)
    path: str = Field("", max_length=4096)
    regex: bool = Field(True, description="False: a plain text.")
    ignore_case: bool = False
    files: str | None = Field(None, description="Only such as *.{ts,tsx}.", max_length=500)
    context: int = Field(0, ge=0, le=MAX_CONTEXT, description="Lines around each match, instead of a read.")
    max_results: int = Field(100, ge=1, le=MAX_RESULTS)


SEARCH_TEXT = Tool(
    name="search_text",
    description="Search files for a regular expression, or a text.",
    arguments=SearchText,
    effect="read",
    run=Later("search.search_files", "search_text"),
    paths=("path",),
    wide=True,
    result=_LINES,
)


class ReadDiagnostics(Arguments):
    """Arguments of `read_diagnostics`."""

    path: str = Field("", max_length=4096)


READ_DIAGNOSTICS = Tool(
    name="read_diagnostics",
    description="Read errors and warnings, by default for all open files.",
    arguments=ReadDiagnostics,
    effect="read",
    run=Later("diagnostics", "read_diagnostics"),
    paths=("path",),
    wide=True,
    result='[{"path": "src/app.py", "line": 1, "severity": "error", "message": "invalid syntax"}]',
    needs="diagnostics",
)


class OfSymbol(Arguments):
    """A symbol by its name, which may be that of a class before it: `Class.method`. A `path` as `src/app.py:12`, the
    form in which candidates are shown, says a line too, on which the name stands.

    It is not called `name`: that is the tool in the calls that models write as JSON.
    """

    symbol: str = Field(min_length=1, max_length=MAX_NAME)
    path: str = Field("", max_length=4096)

    def place(self) -> tuple[str, int | None]:
        """The path, and the line, counted from 1."""
        return _place(self.path)


class FindSymbol(OfSymbol):
    """Arguments of `find_symbol`."""


class FindReferences(OfSymbol):
    """Arguments of `find_references`."""


FIND_SYMBOL = Tool(
    name="find_symbol",
    description="Find declarations.",
    arguments=FindSymbol,
    effect="read",
    run=Later("code.finding", "find_symbol"),
    paths=("path",),
    wide=True,
    needs="language",
    result=_LINES,
)
FIND_REFERENCES = Tool(
    name="find_references",
    description="Find all uses.",
    arguments=FindReferences,
    effect="read",
    run=Later("code.finding", "find_references"),
    paths=("path",),
    wide=True,
    needs="language",
    result=_LINES,
)


class RenameSymbol(OfSymbol):
    """Arguments of `rename_symbol`."""

    new_name: str = Field(min_length=1, max_length=MAX_NAME)


class TakeCodeAction(Arguments):
    """Arguments of `code_action`: without a title, it lists."""

    path: str = Field(max_length=4096)
    title: str = Field("", max_length=MAX_NAME)

    def place(self) -> tuple[str, int | None]:
        """The path, and the line, counted from 1."""
        return _place(self.path)


RENAME_SYMBOL = Tool(
    name="rename_symbol",
    description="Rename it everywhere.",
    arguments=RenameSymbol,
    effect="write",
    run=Later("code.changing", "rename_symbol"),
    paths=("path",),
    wide=True,
    needs="language",
)
CODE_ACTION = Tool(
    name="code_action",
    description="List fixes for path:line, or make one.",
    arguments=TakeCodeAction,
    effect="write",
    run=Later("code.changing", "code_action"),
    paths=("path",),
    wide=True,
    needs="language",
)


class GitStatus(Arguments):
    """Arguments of `git_status`."""

    path: str = Field("", max_length=4096)


class GitLog(Arguments):
    """Arguments of `git_log`."""

    path: str = Field("", max_length=4096)
    revision: str = Field("", description="Or a range such as main..HEAD.", max_length=500)
    max_results: int = Field(20, ge=1, le=MAX_COMMITS)


class GitDiff(Arguments):
    """Arguments of `git_diff`."""

    path: str = Field("", max_length=4096)
    revision: str = Field("", description="Or a range such as HEAD~1..HEAD.", max_length=500)


GIT_STATUS = Tool(
    name="git_status",
    description="Show git's branch and changed files.",
    arguments=GitStatus,
    effect="read",
    run=Later("git.git_tools", "git_status"),
    paths=("path",),
    wide=True,
    needs="repository",
)
GIT_LOG = Tool(
    name="git_log",
    description="List git's commits, newest first.",
    arguments=GitLog,
    effect="read",
    run=Later("git.git_tools", "git_log"),
    paths=("path",),
    wide=True,
    needs="repository",
)
GIT_DIFF = Tool(
    name="git_diff",
    description="Show changes as a diff, by default all since the last commit.",
    arguments=GitDiff,
    effect="read",
    run=Later("git.git_tools", "git_diff"),
    paths=("path",),
    wide=True,
    needs="repository",
)


class WriteFile(Arguments):
    """Arguments of `write_file`."""

    path: str = Field(max_length=4096)
    content: str = Field(max_length=MAX_CONTENT)


class CreateFolder(Arguments):
    """Arguments of `create_folder`."""

    path: str = Field(max_length=4096)


WRITE_FILE = Tool(
    name="write_file",
    description="Create a file or replace it whole: leave nothing out.",
    arguments=WriteFile,
    effect="write",
    run=Later("files.writing", "write_file"),
    paths=("path",),
    writes=("path",),
    replaces=("path",),
)
CREATE_FOLDER = Tool(
    name="create_folder",
    description="Create a folder and its missing parents.",
    arguments=CreateFolder,
    effect="write",
    run=Later("files.writing", "create_folder"),
    paths=("path",),
    writes=("path",),
)


class EditFile(Arguments):
    """Arguments of `edit_file`: `old_text` and `new_text`, or `patch`."""

    path: str = Field(max_length=4096)
    old_text: str | None = Field(None, description="Exactly as in the file.", max_length=MAX_CONTENT)
    new_text: str | None = Field(None, max_length=MAX_CONTENT)
    replace_all: bool = False
    patch: str | None = Field(
        None,
        description="Instead: a unified diff, or *** Begin Patch to *** End Patch, of one file or several.",
        max_length=MAX_CONTENT,
    )

    @model_validator(mode="after")
    def _texts_or_patch(self) -> Self:
        texts = (self.old_text, self.new_text)
        if self.patch is not None:
            # Some models fill in every argument of the schema.
            if any(texts):
                raise ValueError("give old_text and new_text, or patch, not both")
        elif None in texts:
            raise ValueError("give old_text and new_text, or patch")
        return self


EDIT_FILE = Tool(
    name="edit_file",
    description="Replace old_text, unique unless replace_all is set, by new_text; or apply a patch.",
    arguments=EditFile,
    effect="write",
    run=Later("files.editing", "edit_file"),
    paths=("path",),
    writes=("path",),
)


class RenamePath(Arguments):
    """Arguments of `rename_path`."""

    path: str = Field(max_length=4096)
    new_path: str = Field(max_length=4096, description="Or a folder to move it into.")


class DeletePath(Arguments):
    """Arguments of `delete_path`."""

    path: str = Field(max_length=4096)


RENAME_PATH = Tool(
    name="rename_path",
    description="Rename or move a file or folder, never over a file.",
    arguments=RenamePath,
    effect="write",
    run=Later("files.moving", "rename_path"),
    paths=("path", "new_path"),
    writes=("path", "new_path"),
    removes=("path",),
)
DELETE_PATH = Tool(
    name="delete_path",
    description="Delete a file or a whole folder.",
    arguments=DeletePath,
    effect="destroy",
    run=Later("files.moving", "delete_path"),
    paths=("path",),
    writes=("path",),
    removes=("path",),
)


class RunCommand(Arguments):
    """Arguments of `run_command`."""

    command: str | tuple[str, ...] = Field(description="For a shell, or a list of program and arguments.")
    cwd: str = Field("", max_length=4096)
    timeout_seconds: float = Field(DEFAULT_SECONDS, gt=0, le=MOST_SECONDS)
    background: bool = Field(False, description="For what does not end by itself.")

    @field_validator("command")
    @classmethod
    def _usable(cls, command: str | tuple[str, ...]) -> str | tuple[str, ...]:
        words = (command,) if isinstance(command, str) else command
        if not words or not words[0].strip():
            raise ValueError("it is empty: give the command to run")
        if any("\0" in word for word in words):
            raise ValueError("it contains a NUL character, which no command can")
        if sum(map(len, words)) > MAX_COMMAND:
            raise ValueError(f"it is longer than {MAX_COMMAND} characters: write a script and run that")
        return command


RUN_COMMAND = Tool(
    name="run_command",
    description="Run a command, which gets no input. Read and change files with the other tools.",
    arguments=RunCommand,
    effect="execute",
    run=Later("processes.run_command", "run_command"),
    paths=("cwd",),
    result='{"output": "done", "exit_code": 0, "timed_out": false, "command_id": "c1"}',
    needs="commands",
)


class ReadOutput(Arguments):
    """Arguments of `read_output`."""

    command_id: str = Field(max_length=40, description="Such as c1.")
    wait_seconds: float = Field(5, ge=0, le=LONGEST_WAIT, description="Longest wait for output.")
    pattern: str | None = Field(None, max_length=MAX_PATTERN)
    lines: str | None = Field(None, description="Such as 1-40,90-.", max_length=1_000)
    _readable = field_validator("lines")(_of_ranges)

    def spans(self) -> tuple[tuple[int, int | None], ...]:
        """First and last lines of the wanted ranges, None for the end of the output."""
        return tuple(_spans(self.lines))


class StopCommand(Arguments):
    """Arguments of `stop_command`."""

    command_id: str = Field(max_length=40)


READ_OUTPUT = Tool(
    name="read_output",
    description="Read a background command's new output; by pattern or lines, any long output.",
    arguments=ReadOutput,
    effect="read",
    run=Later("running_commands", "read_output"),
    result=_BACKGROUND,
    follows_commands=True,
    needs="commands",
)
STOP_COMMAND = Tool(
    name="stop_command",
    description="End a background command.",
    arguments=StopCommand,
    effect="read",
    run=Later("running_commands", "stop_command"),
    result=_BACKGROUND,
    follows_commands=True,
    needs="commands",
)


class FetchUrl(Arguments):
    """Arguments of `fetch_url`."""

    url: str = Field(max_length=4096)
    start: int = Field(0, ge=0, description="Character to begin at.")

    @field_validator("url")
    @classmethod
    def _usable(cls, url: str) -> str:
        address = web_address(url)
        if isinstance(address, AddressRefused):
            raise ValueError(address.reason)
        return url


FETCH_URL = Tool(
    name="fetch_url",
    description="Get a web page as text.",
    arguments=FetchUrl,
    effect="fetch",
    run=Later("fetch_url", "fetch_url"),
)

ALL: Final = (
    READ_FILE,
    LIST_FILES,
    FIND_FILES,
    SEARCH_TEXT,
    FIND_SYMBOL,
    FIND_REFERENCES,
    READ_DIAGNOSTICS,
    GIT_STATUS,
    GIT_DIFF,
    GIT_LOG,
    WRITE_FILE,
    EDIT_FILE,
    RENAME_SYMBOL,
    CODE_ACTION,
    CREATE_FOLDER,
    RENAME_PATH,
    DELETE_PATH,
    RUN_COMMAND,
    READ_OUTPUT,
    STOP_COMMAND,
    FETCH_URL,
)
"""In the order in which models are shown them."""
