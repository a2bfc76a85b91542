"""The one path resolver: what a model or a plan names becomes a place in the workspace here, or nothing."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, assert_never

from planloom.domain.safety.protected import danger, is_git, is_secret, never_written
from planloom.domain.values import Uri, Value
from planloom.workspace.paths.interpretations import Ambiguous, Interpretation, candidates, choose, told
from planloom.workspace.paths.links import REAL_DISK, FileSystem, Link, PathEnd, ResolveError, twins
from planloom.workspace.paths.names import PathCode, Problem, shown, too_long
from planloom.workspace.paths.roots import ResolvedRoot, Root, Roots, below, grounds, owner, real_path
from planloom.workspace.paths.uris import child, to_path

Purpose = Literal["read", "write"]


class ResolvedPath(Value):
    """A place inside the workspace, behind every link.

    `path` is the real path, `relative` the same below `root` with forward slashes ("." for the root itself),
    `uri` the root's URI and `relative`. `notes` are said to the person who approves. `protected` says why a
    change is always asked, `secret` that reading must be confirmed; both look at the name that was asked as
    well as at the real one. `is_link` says that the last name asked is itself a link.
    """

    kind: Literal["resolved"] = "resolved"
    path: Path
    relative: str
    root: Root
    uri: Uri
    exists: bool
    notes: tuple[str, ...] = ()
    protected: str | None = None
    secret: bool = False
    is_link: bool = False


class PathRefused(Value):
    """A path that is not used; `reason` tells the model what to do instead."""

    kind: Literal["refused"] = "refused"
    code: PathCode
    reason: str
    candidates: tuple[str, ...] = ()


def resolve(
    roots: Roots, text: str, *, for_: Purpose, home: Root | None = None, disk: FileSystem = REAL_DISK
) -> ResolvedPath | PathRefused:
    """Where `text` leads; never raises. Touches the disk to follow links, so call it from a thread.

    If several folders are open, a relative path that is not there yet belongs to `home`, the plan's root.
    """
    if not roots.folders:
        return PathRefused(code="no_folder", reason="No workspace folder is open: open one, then try again.")
    text = text if text.strip() else ""
    if not text and for_ == "write":
        return PathRefused(code="empty", reason="The path is empty: name a file inside the workspace.")
    folders = grounds(roots, disk)
    found = candidates(folders, text, disk)
    if isinstance(found, Problem):
        return PathRefused(code=found.code, reason=found.reason)
    if not found:
        return _outside(roots, text)
    chosen = choose(found, home)
    if isinstance(chosen, Ambiguous):
        return PathRefused(code="ambiguous", reason=told(text, chosen), candidates=chosen.written)
    return _accepted(_Question(roots, folders, text, for_, disk), chosen)


def resolve_uri(
    roots: Roots, uri: str, *, for_: Purpose, disk: FileSystem = REAL_DISK
) -> ResolvedPath | PathRefused:
    """The same for a file URI; `code` is `foreign` for what is no file of this machine."""
    path = to_path(uri)
    if path is None:
        reason = f"{shown(uri)} is no file of the workspace: only files below its folders can be used."
        return PathRefused(code="foreign", reason=reason)
    return resolve(roots, str(path), for_=for_, disk=disk)


class _Question(NamedTuple):
    """What is asked of the resolver, with the folders as they really are."""

    roots: Roots
    folders: tuple[ResolvedRoot, ...]
    text: str
    purpose: Purpose
    disk: FileSystem


def _accepted(asked: _Question, chosen: Interpretation) -> ResolvedPath | PathRefused:
    forbidden = _forbidden(chosen.parts, asked.purpose)
    if forbidden is not None:
        return PathRefused(code="forbidden", reason=f"{shown(asked.text)}: {forbidden}")
    place = chosen.place
    if isinstance(place, ResolveError):
        return _stuck(asked, place)
    owned = owner(place.path, asked.folders)
    if owned is None:
        return _leads_outside(asked.text, place.path, place.links)
    root, names = owned
    refused = _refused(asked, place, names)
    if refused is not None:
        return refused
    relative, as_asked = "/".join(names), "/".join(chosen.parts)
    return ResolvedPath(
        path=place.path,
        relative=relative or ".",
        root=root,
        uri=child(root.uri, relative),
        exists=place.found is not None,
        notes=_notes(asked, place, relative),
        protected=danger(relative) or danger(as_asked),
        secret=is_secret(relative) or is_secret(as_asked),
        is_link=place.ends_in_link,
    )


def _refused(asked: _Question, place: PathEnd, names: Sequence[str]) -> PathRefused | None:
    """Why a place inside the workspace is not used after all."""
    name = shown(asked.text)
    private = (real_path(own, asked.disk) for own in asked.roots.private)
    forbidden = _forbidden(names, asked.purpose)
    if forbidden is None and _inside_git(place.path, len(names), asked.disk):
        forbidden = "this folder belongs to git, whose own files are never touched."
    if forbidden is None and any(below(place.path, own) is not None for own in private):
        forbidden = "this is Planloom's own state, which is never touched."
    if forbidden is not None:
        return PathRefused(code="forbidden", reason=f"{name}: {forbidden}")
    if place.found is not None and not _is_usual(place.found.st_mode):
        return PathRefused(
            code="special", reason=f"{name} is no regular file but a device, a socket or a pipe."
        )
    if asked.purpose == "write" and not names:
        reason = f"{name} is a workspace folder itself: name a file or folder inside it."
        return PathRefused(code="invalid", reason=reason)
    if any(too_long(part) for part in place.missing):
        return PathRefused(code="too_long", reason=f"The name {name} is too long: use a shorter one.")
    return None


def _is_usual(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _forbidden(names: Sequence[str], purpose: Purpose) -> str | None:
    if purpose == "write" or any(is_git(name) for name in names):
        return never_written("/".join(names))
    return None


def _inside_git(path: Path, depth: int, disk: FileSystem) -> bool:
    """Whether a folder between the root and the path, or the path itself, is a git folder by its content."""
    for folder in (path, *path.parents)[:depth]:
        inside = str(folder)
        if _holds(inside, ("HEAD", "objects", "refs"), disk) or _holds(
            inside, ("HEAD", "commondir", "gitdir"), disk
        ):
            return True
    return False


def _holds(folder: str, names: Sequence[str], disk: FileSystem) -> bool:
    try:
        for name in names:
            disk.lstat(f"{folder}/{name}")
    except OSError:
        return False
    return True


def _notes(asked: _Question, place: PathEnd, relative: str) -> tuple[str, ...]:
    notes = []
    if place.links:
        notes.append(f"It goes through a link: what changes is {shown(relative)}.")
    if place.found is not None and stat.S_ISREG(place.found.st_mode) and place.found.st_nlink > 1:
        notes.append(
            f"The file has {place.found.st_nlink} names on this disk (hard links), perhaps outside the"
            " workspace: a change may show under each of them."
        )
    others = twins(place, asked.disk) if asked.purpose == "write" else ()
    if others:
        notes.append(f"A name that differs only in case is there already: {shown(others[0])}.")
    return tuple(notes)


def _outside(roots: Roots, text: str) -> PathRefused:
    folders = ", ".join(shown(str(root.path)) for root in roots.folders[:5])
    return PathRefused(
        code="outside", reason=f"{shown(text)} is outside the workspace ({folders}): use a path inside it."
    )


def _leads_outside(text: str, target: Path, links: Sequence[Link]) -> PathRefused:
    link = f" through the link {shown(str(links[0].path))}" if links else ""
    return PathRefused(
        code="outside",
        reason=f"{shown(text)} leads{link} to {shown(str(target))}, outside the workspace:"
        " use a path inside it.",
    )


def _stuck(asked: _Question, stuck: ResolveError) -> PathRefused:
    """The sentence for a path that ends nowhere; one that left the workspace on its way says only that."""
    if stuck.links and stuck.code != "dangling" and owner(stuck.at, asked.folders) is None:
        return _leads_outside(asked.text, stuck.at, stuck.links)
    name, at = shown(asked.text), shown(str(stuck.at))
    match stuck.code:
        case "loop":
            reason = f"{name} goes round in links at {at}: use the path of the file itself."
        case "dangling":
            reason = f"{at} is a link to {shown(stuck.detail)}, which does not exist: use the path of a file."
        case "not_a_folder":
            reason = f"{at} is a file, so {name} cannot lie below it: choose another path."
        case "too_long":
            reason = f"The name {name} is too long: use a shorter one."
        case "unreadable":
            reason = f"{at} cannot be read ({stuck.detail}): choose another path."
        case "ambiguous" | "doubtful":
            reason = f"{name} cannot be used, since {stuck.detail}: choose another name."
        case _:
            assert_never(stuck.code)
    code: PathCode = "invalid" if stuck.code == "doubtful" else stuck.code
    return PathRefused(code=code, reason=reason)
