"""Names the arguments of a call as its tool does, where a model knows them by another common name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from planloom.domain.patterns import pattern
from planloom.domain.values import Args, Json
from planloom.tools.files.hunks import BadPatch
from planloom.tools.files.patches import read_patch

SYNONYMS: Final = {
    "path": (
        "file_path",
        "filename",
        "file_name",
        "file",
        "absolute_path",
        "target_file",
        "directory",
        "folder",
    ),
    "new_path": ("destination", "new_file_path", "target_path"),
    "content": ("contents", "file_text", "text"),
    "old_text": ("old_string", "old_str", "search"),
    "new_text": ("new_string", "new_str", "replace", "replacement"),
    "patch": ("diff", "input"),
    "command": ("cmd", "script"),
    "cwd": ("workdir", "working_dir", "working_directory", "directory"),
    "background": ("run_in_background", "is_background"),
    "command_id": ("bash_id", "shell_id", "task_id", "id"),
    "pattern": ("query", "regexp", "search_pattern", "glob_pattern", "regex", "text", "name"),
    "symbol": ("name", "symbol_name", "old_name", "identifier"),
    "files": ("include", "glob", "file_pattern", "include_pattern"),
    "ignore_case": ("case_insensitive", "i"),
    "context": ("context_lines", "c"),
    "max_results": ("head_limit", "limit", "max_count"),
    "url": ("uri", "link"),
    "start_line": ("offset", "line_start", "from_line", "start"),
    "end_line": ("line_end", "to_line", "end"),
}
"""Names that models use for arguments, by the name that our tools have for it; all in snake case."""
_DIGITS: Final = 10
_LONGEST_IN_SECONDS: Final = 3_600
"""A `timeout` above this is meant in milliseconds."""
_CAPITAL: Final = pattern(r"(?<=[a-z0-9])(?=[A-Z])")


def with_own_names(args: Args, known: Collection[str]) -> Args:
    """The arguments under the names that a tool has for them, `known`.

    A name that the tool knows stays, and so does one whose meaning the call gives already. `offset` with `limit`, and a
    time limit in milliseconds, are converted. A patch that names its files needs no path.
    """
    if args.keys() <= set(known) and "patch" not in args:
        return args
    given: Args = {}
    for name, value in args.items():
        if name in known:
            given[name] = value
    for name, value in args.items():
        if name not in known:
            own = _own_name(_snake(name), known, given)
            given[own or name] = _in_seconds(name, value) if own == "timeout_seconds" else value
    count = _number(given.get("limit"))
    if "end_line" in known and "end_line" not in given and count is not None:
        del given["limit"]
        given["end_line"] = int((_number(given.get("start_line")) or 1) + count) - 1
    if {"path", "patch"} <= set(known) and not given.get("path"):
        given |= _path_of(given.get("patch"))
    return given


def _own_name(name: str, known: Collection[str], given: Args) -> str | None:
    """The tool's name for an argument; None if there is none, or it is given already."""
    if name in ("timeout", "timeout_ms"):
        own: str | None = "timeout_seconds"
    elif name in known:
        own = name
    else:
        own = next((own for own, names in SYNONYMS.items() if name in names and own in known), None)
    return own if own in known and own not in given else None


def _snake(name: str) -> str:
    return _CAPITAL.sub("_", name).lower().lstrip("-")


def _in_seconds(name: str, value: Json) -> Json:
    """A time limit in seconds."""
    number = _number(value)
    if number is None:
        return value
    return number / 1_000 if _snake(name) == "timeout_ms" or number > _LONGEST_IN_SECONDS else number


def _number(value: Json) -> float | None:
    """A number, which models that print calls as XML write as text."""
    if isinstance(value, str) and value.isdecimal() and len(value) < _DIGITS:
        return int(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _path_of(patch: Json) -> Args:
    """The first file that a patch names, as the `path` of its call; nothing if it names none."""
    files = read_patch(patch) if isinstance(patch, str) else BadPatch("")
    if isinstance(files, BadPatch) or files[0].path is None:
        return {}
    return {"path": files[0].path}
