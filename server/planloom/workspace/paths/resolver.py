"""The only path resolver: turns a path from a model or a plan into a file in the workspace, or refuses it."""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, NamedTuple, assert_never

from planloom.domain.safety.protected import danger, is_git, is_secret, never_written
from planloom.domain.values import Uri
from planloom.workspace.disk import FolderId, HeldFolder
from planloom.workspace.paths.hard_links import OtherNames, other_names
from planloom.workspace.paths.interpretations import (
    Ambiguous,
    Interpretation,
    ambiguity_message,
    choose,
    interpretations,
)
from planloom.workspace.paths.links import REAL_DISK, FileSystem, Link, PathEnd, ResolveError, case_collisions
from planloom.workspace.paths.names import PathCode, PathProblem, quoted, too_long
from planloom.workspace.paths.roots import (
    ResolvedRoot,
    Root,
    Roots,
    below,
    owner,
    path_of,
    real_path,
    resolved_roots,
)
from planloom.workspace.paths.uris import child

_GIT_CONTENTS: Final = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))
"""The names that git looks for in a folder before it takes it, under any name, for its own: one of these sets."""

Purpose = Literal["read", "write"]


class ResolvedPath(NamedTuple):
    """A file or folder inside the workspace, with links resolved.

    `path` is the real path, `relative` the same below `root` with forward slashes ("." for the root itself),
    `uri` the root's URI plus `relative`. `notes` are shown to the person who approves. `protected` says why a
    change always needs approval; `secret` means that reading must be confirmed. Both consider the requested name,
    the real one, and the other names of the file (hard links). `is_link`: the last name of the
    request is itself a link. `held` is the innermost folder above it that exists.
    """

    path: Path
    relative: str
    root: Root
    uri: Uri
    exists: bool
    notes: tuple[str, ...] = ()
    protected: str | None = None
    secret: bool = False
    is_link: bool = False
    held: HeldFolder | None = None
    kind: Literal["resolved"] = "resolved"


class PathRefused(NamedTuple):
    """A refused path; `reason` tells the model what to do instead, `candidates` are paths to choose from."""

    code: PathCode
    reason: str
    candidates: tuple[str, ...] = ()
    kind: Literal["refused"] = "refused"


class Resolver:
    """Resolves paths as the disk is at one moment: make one for each visit to it, and use it in that thread alone.

    The links of the workspace folders, and of Planloom's own, are followed once for all paths.
    """

    def __init__(self, roots: Roots, disk: FileSystem = REAL_DISK) -> None:
        self.roots = roots
        self.disk = disk

    @cached_property
    def folders(self) -> tuple[ResolvedRoot, ...]:
        """The workspace folders with their real paths."""
        return resolved_roots(self.roots, self.disk)

    @cached_property
    def private(self) -> tuple[Path, ...]:
        """The real paths of Planloom's own folders."""
        return tuple(real_path(own, self.disk) for own in self.roots.private)

    def path(self, text: str, *, for_: Purpose, home: Root | None = None) -> ResolvedPath | PathRefused:
        """Resolve a path; never raises.

        With several folders open, a relative path that does not exist yet belongs to `home`, the plan's root.
        """
        if not self.roots.folders:
            return PathRefused(
                code="no_folder", reason="No workspace folder is open: open one, then try again."
            )
        text = text if text.strip() else ""
        if not text and for_ == "write":
            return PathRefused(code="empty", reason="The path is empty: name a file inside the workspace.")
        found = interpretations(self.folders, text, self.disk)
        if isinstance(found, PathProblem):
            return PathRefused(code=found.code, reason=found.reason)
        if not found:
            return _outside(self.roots, text)
        chosen = choose(found, home)
        if isinstance(chosen, Ambiguous):
            return PathRefused(
                code="ambiguous", reason=ambiguity_message(text, chosen), candidates=chosen.choices
            )
        return _accepted(_Request(self, text, for_), chosen)

    def uri(self, uri: str, *, for_: Purpose) -> ResolvedPath | PathRefused:
        """Like `path`, for a URI; the code is `foreign` if it is neither a file on this machine nor in a folder."""
        path = path_of(uri, self.roots.folders)
        if path is None:
            reason = (
                f"{quoted(uri)} is not a file of the workspace: only files below its folders can be used."
            )
            return PathRefused(code="foreign", reason=reason)
        return self.path(str(path), for_=for_)


def resolve(
    roots: Roots, text: str, *, for_: Purpose, home: Root | None = None, disk: FileSystem = REAL_DISK
) -> ResolvedPath | PathRefused:
    """Resolve one path, as `Resolver.path` does. Follows links on disk: call it from a thread."""
    return Resolver(roots, disk).path(text, for_=for_, home=home)


def resolve_uri(
    roots: Roots, uri: str, *, for_: Purpose, disk: FileSystem = REAL_DISK
) -> ResolvedPath | PathRefused:
    """Resolve one file URI, as `Resolver.uri` does. Follows links on disk: call it from a thread."""
    return Resolver(roots, disk).uri(uri, for_=for_)


class _Request(NamedTuple):
    """A path to resolve."""

    by: Resolver
    text: str
    purpose: Purpose


def _accepted(request: _Request, chosen: Interpretation) -> ResolvedPath | PathRefused:
    forbidden = _forbidden(chosen.parts, request.purpose)
    if forbidden is not None:
        return PathRefused(code="forbidden", reason=f"{quoted(request.text)}: {forbidden}")
    end = chosen.end
    if isinstance(end, ResolveError):
        return _unresolvable(request, end)
    owned = owner(end.path, request.by.folders)
    if owned is None:
        return _leads_outside(request.text, end.path, end.links)
    root, names = owned
    others = other_names(
        end.path, end.found, [folder.real for folder in request.by.folders], request.by.roots.private
    )
    refused = _refused(request, end, names, others)
    if refused is not None:
        return refused
    relative, as_asked = "/".join(names), "/".join(chosen.parts)
    return ResolvedPath(
        path=end.path,
        relative=relative or ".",
        root=root,
        uri=child(root.uri, relative),
        exists=end.found is not None,
        notes=_notes(request, end, relative, others),
        protected=danger(relative) or danger(as_asked) or others.danger,
        secret=is_secret(relative) or is_secret(as_asked) or others.secret,
        is_link=end.ends_in_link,
        held=_held(request.by.disk, end, len(names)),
    )


def _held(disk: FileSystem, end: PathEnd, count: int) -> HeldFolder | None:
    """The innermost folder above a path that exists; the path has `count` names below its workspace folder."""
    depth = count - max(1, len(end.missing))
    if depth < 0:
        return None
    try:
        found = disk.lstat(str(end.path.parents[count - depth - 1]))
    except OSError:
        return None
    return HeldFolder(depth, FolderId(found.st_dev, found.st_ino))


def _refused(request: _Request, end: PathEnd, names: Sequence[str], others: OtherNames) -> PathRefused | None:
    """Why a path inside the workspace is refused, or None."""
    name = quoted(request.text)
    forbidden = _forbidden(names, request.purpose)
    if forbidden is None:
        forbidden = next(
            filter(None, (_forbidden(other.split("/"), request.purpose) for other in others.inside)), None
        )
    if forbidden is None and _inside_git(end.path, len(names), request.by.disk):
        forbidden = "this folder belongs to git, whose own files are never touched."
    if forbidden is None and (
        others.own or any(below(end.path, own) is not None for own in request.by.private)
    ):
        forbidden = "this is Planloom's own state, which is never touched."
    if forbidden is not None:
        return PathRefused(code="forbidden", reason=f"{name}: {forbidden}")
    if end.found is not None and not _is_usual(end.found.st_mode):
        return PathRefused(
            code="special", reason=f"{name} is not a regular file but a device, a socket or a pipe."
        )
    if request.purpose == "write" and not names:
        reason = f"{name} is a workspace folder itself: name a file or folder inside it."
        return PathRefused(code="invalid", reason=reason)
    if any(too_long(part) for part in end.missing):
        return PathRefused(code="too_long", reason=f"The name {name} is too long: use a shorter one.")
    return None


def _is_usual(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _forbidden(names: Sequence[str], purpose: Purpose) -> str | None:
    if purpose == "write" or any(is_git(name) for name in names):
        return never_written("/".join(names))
    return None


def _inside_git(path: Path, depth: int, disk: FileSystem) -> bool:
    """Whether the path, or a folder between it and the root, has the content of a git folder."""

    def exists(inside: str) -> bool:
        try:
            disk.lstat(inside)
        except OSError:
            return False
        return True

    return any(holds_git(str(folder), exists) for folder in (path, *path.parents)[:depth])


def holds_git(folder: str, exists: Callable[[str], bool]) -> bool:
    """Whether a folder has the content of a git folder, of a repository or of a linked work tree."""
    return any(all(exists(f"{folder}/{name}") for name in names) for names in _GIT_CONTENTS)


def _notes(request: _Request, end: PathEnd, relative: str, others: OtherNames) -> tuple[str, ...]:
    notes = []
    if end.links:
        notes.append(f"It goes through a link: the file that changes is {quoted(relative)}.")
    if others.note is not None:
        notes.append(others.note)
    similar = case_collisions(end, request.by.disk) if request.purpose == "write" else ()
    if similar:
        notes.append(f"A name that differs only in case exists already: {quoted(similar[0])}.")
    return tuple(notes)


def _outside(roots: Roots, text: str) -> PathRefused:
    folders = ", ".join(quoted(root.shown) for root in roots.folders[:5])
    return PathRefused(
        code="outside", reason=f"{quoted(text)} is outside the workspace ({folders}): use a path inside it."
    )


def _leads_outside(text: str, target: Path, links: Sequence[Link]) -> PathRefused:
    link = f" through the link {quoted(str(links[0].path))}" if links else ""
    return PathRefused(
        code="outside",
        reason=f"{quoted(text)} leads{link} to {quoted(str(target))}, outside the workspace:"
        " use a path inside it.",
    )


def _unresolvable(request: _Request, error: ResolveError) -> PathRefused:
    """The refusal of a path that cannot be followed; one that left the workspace on the way reports only that."""
    if error.links and error.code != "dangling" and owner(error.path, request.by.folders) is None:
        return _leads_outside(request.text, error.path, error.links)
    name, at = quoted(request.text), quoted(str(error.path))
    match error.code:
        case "loop":
            reason = f"{name} runs into a loop of links at {at}: use the path of the file itself."
        case "dangling":
            reason = (
                f"{at} is a link to {quoted(error.detail)}, which does not exist: use the path of a file."
            )
        case "not_a_folder":
            reason = f"{at} is a file, so {name} cannot lie below it: choose another path."
        case "too_long":
            reason = f"The name {name} is too long: use a shorter one."
        case "unreadable":
            reason = f"{at} cannot be read ({error.detail}): choose another path."
        case "ambiguous" | "risky":
            reason = f"{name} cannot be used, since {error.detail}: choose another name."
        case _:
            assert_never(error.code)
    code: PathCode = "invalid" if error.code == "risky" else error.code
    return PathRefused(code=code, reason=reason)
