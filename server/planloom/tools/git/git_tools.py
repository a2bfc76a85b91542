"""The tools `git_status`, `git_log` and `git_diff`, which read git's state and history without a shell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from planloom.domain.safety.protected import is_secret
from planloom.domain.text.counted import counted
from planloom.tools.catalog import GitDiff, GitLog, GitStatus
from planloom.tools.context import ToolContext
from planloom.tools.git.repository import GitOutput, Repository, open_repository
from planloom.tools.git.unsaved_changes import UnsavedChange, unsaved_changes
from planloom.tools.terminal_text import plain
from planloom.tools.tool import ToolResult, failed, succeeded
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.uris import child

_HEAD: Final = 30_000
_TAIL: Final = 10_000
"""Bytes of a diff that are shown from its beginning, and from its end."""
_MOST_PATHS: Final = 1_000
_MOST_NAMED: Final = 50
_NO_PROGRAMS: Final = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")


async def git_status(args: GitStatus, context: ToolContext) -> ToolResult:
    """The branch, and the files that differ from the last commit."""
    repository = await open_repository(context, args.path)
    if isinstance(repository, ToolResult):
        return repository
    found = await repository.output(
        *("status", "--short", "--branch", "--untracked-files=normal", "--ignore-submodules=all"),
        *("--", repository.path),
        head=_TAIL,
        tail=_TAIL,
    )
    if found.code != 0:
        return _unreadable(found)
    lines = found.text.splitlines()
    unsaved = [each.path async for each in unsaved_changes(context, repository.place)]
    text = "\n".join(lines) + ("" if len(lines) > 1 else "\n(no changes)") + _not_on_disk(unsaved)
    return succeeded(f"Read git's status: {_lines(found, 'file', heading=1)} changed", text, text)


async def git_log(args: GitLog, context: ToolContext) -> ToolResult:
    """The commits before a revision or in a range, newest first."""
    repository = await open_repository(context, args.path)
    if isinstance(repository, ToolResult):
        return repository
    commits = await repository.range(args.revision or "HEAD")
    if isinstance(commits, ToolResult):
        return commits
    # A pathspec leaves out merges, so there is none for the whole of a repository.
    below = () if repository.path == "." and repository.is_whole else ("--", repository.path)
    found = await repository.output(
        *("log", "--no-color", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--date=short"),
        *("--format=%h %ad %an: %s", f"--max-count={args.max_results}", commits, *below),
        head=_HEAD,
        tail=_TAIL,
    )
    if found.code != 0:
        return _unreadable(found)
    text = found.text.rstrip("\n") or "(no commits)"
    if found.cut:
        text += "\n[there may be more: give a path or a range]"
    elif len(found.text.splitlines()) == args.max_results:
        text += "\n[there may be more: raise max_results, or give a path or a range]"
    return succeeded(f"Listed {_lines(found, 'commit')}", text, text)


async def git_diff(args: GitDiff, context: ToolContext) -> ToolResult:
    """The changes between two commits, or between a commit and the files as the step sees them."""
    repository = await open_repository(context, args.path)
    if isinstance(repository, ToolResult):
        return repository
    if repository.place.secret:
        return failed(f"{repository.path} may hold secrets, so its changes are not shown. Do without them.")
    commits = await repository.range(args.revision or "HEAD")
    if isinstance(commits, ToolResult):
        return commits
    files = await _changed_files(repository, commits)
    if files is None:
        return failed("Git could not compare these, or too many files changed. Give a path or another range.")
    shown = [file for file in files if not await _may_be_secret(context, repository, file)]
    found = await _diff(repository, commits, files, shown)
    if isinstance(found, ToolResult):
        return found
    parts = [found.text.rstrip("\n")]
    if found.cut:
        parts.append(f"[cut; give a path for the rest of: {_named([file.counted for file in shown])}]")
    if len(shown) < len(files):
        parts.append(f"[not shown, since they may hold secrets: {counted(len(files) - len(shown), 'file')}]")
    count = len(files)
    if ".." not in commits:
        unsaved = [each async for each in unsaved_changes(context, repository.place)]
        count = len({path for file in files for path in file.paths[-1:]} | {each.path for each in unsaved})
        parts += [await _untracked(repository), _unsaved_diff(unsaved)]
    text = "\n".join(part for part in parts if part) or "(no changes)"
    return succeeded(f"Compared: {counted(count, 'file')} changed", text, text)


class _ChangedFile(NamedTuple):
    """A file of a diff with its path, or its old and new path; `counted` is its path with its lines."""

    paths: tuple[str, ...]
    counted: str


async def _may_be_secret(context: ToolContext, repository: Repository, file: _ChangedFile) -> bool:
    """Whether a name of a file suggests secrets, before or after the changes, or on disk."""
    if any(map(is_secret, file.paths)):
        return True
    return await context.holds_secret(child(repository.place.root.uri, file.paths[-1]))


async def _changed_files(repository: Repository, commits: str) -> tuple[_ChangedFile, ...] | None:
    """The files that differ; None if git fails."""
    fields = await repository.names(
        "diff", *_NO_PROGRAMS, "--numstat", "-z", "-M", "--relative", commits, "--", repository.path
    )
    if fields is None:
        return None
    files: list[_ChangedFile] = []
    rest = iter(fields)
    for field in rest:
        added, removed, path = field.split("\t", 2)
        # Git lists a rename as empty path, old path, new path.
        paths = (path,) if path else (next(rest), next(rest))
        files.append(_ChangedFile(paths, f"{paths[-1]} +{added} -{removed}"))
    return tuple(files)


async def _diff(
    repository: Repository, commits: str, files: Sequence[_ChangedFile], shown: Sequence[_ChangedFile]
) -> GitOutput | ToolResult:
    """The diff of the files that may be shown."""
    if not shown:
        return GitOutput("", 0, cut=False)
    paths: Sequence[str] = (repository.path,)
    if len(shown) < len(files):
        paths = [path for file in shown for path in file.paths]
        if len(paths) > _MOST_PATHS:
            return failed(f"{len(files)} files differ. Give a path or another range.")
    found = await repository.output(
        "diff", *_NO_PROGRAMS, "-M", "--relative", commits, "--", *paths, head=_HEAD, tail=_TAIL
    )
    return found if found.code == 0 or found.cut else _unreadable(found)


async def _untracked(repository: Repository) -> str:
    names = await repository.names("ls-files", "-z", "--others", "--exclude-standard", "--", repository.path)
    return f"[new files that git does not track yet: {_named(names)}]" if names else ""


def _unsaved_diff(unsaved: Sequence[UnsavedChange]) -> str:
    """The differences that are not on disk, in the same bounds as git's."""
    if not unsaved:
        return ""
    text = "\n".join(each.diff.rstrip("\n") for each in unsaved if each.diff)
    if len(text) > _HEAD:
        text = text[: text.rfind("\n", 0, _HEAD)] + "\n[cut; give a path for the rest]"
    names = [each.path for each in unsaved]
    return f"{_not_on_disk(names).strip()}\n{plain(text)}".rstrip()


def _not_on_disk(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    return f"\n[besides, staged by this plan or unsaved in the editor, not on disk yet: {_named(paths)}]"


def _named(names: Sequence[str]) -> str:
    return plain(listed(names, _MOST_NAMED)).replace("\n", " ")


def _lines(found: GitOutput, noun: str, *, heading: int = 0) -> str:
    """How many lines git printed after the heading; the least number if its output was cut."""
    count = max(0, len(found.text.splitlines()) - heading)
    # A line in the middle says how much was left out.
    return f"at least {counted(count - 1, noun)}" if found.cut else counted(count, noun)


def _unreadable(found: GitOutput) -> ToolResult:
    how = "took too long or printed too much" if found.code is None else "failed"
    return failed(f"Git {how}. Give a path or a smaller range.")
