"""Literal tool calls in a part of a request: "create folder X", "replace "A" with "B" in F", "run `cmd`"."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from planloom.domain.values import Args
from planloom.planning import call_patterns
from planloom.planning.literals import PLACE, Taken
from planloom.planning.written_paths import written_path


@dataclass(frozen=True, slots=True)
class LiteralCall:
    """One call that the words spell out, and what to call it."""

    tool: str
    args: Args
    description: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Clause:
    """A part with white space collapsed, its literals, and the paths that references resolve to.

    `exact` tells that there was nothing to collapse.
    """

    text: str
    literals: Sequence[Taken]
    paths: Mapping[str, str]
    exact: bool

    def literal(self, found: re.Match[str], group: str) -> Taken | None:
        """The literal that a group holds."""
        if found[group] is None or PLACE not in found[group]:
            return None
        index = self.text.count(PLACE, 0, found.start(group))
        return self.literals[index] if index < len(self.literals) else None


_STOP_WORDS = "structure structures hierarchy layout tree for and that with named called"
_NO_NAMES = frozenset(_STOP_WORDS.split())
_HERE = frozenset({"root", "workspace", "project", "repository", "repo", "here", "."})


def path_of(clause: Clause, found: re.Match[str], group: str, *, certain: bool = False) -> str | None:
    """The workspace path that a token names, or None if it does not look like one.

    `certain` says that the words before it ("folder", "file") announce a path, so that any word is one.
    """
    if found[group] is None:
        return None
    return written_path(found[group], clause.literal(found, group), clause.paths, certain)


def _all_paths(
    clause: Clause, found: re.Match[str], group: str, *, certain: bool = False
) -> list[str] | None:
    """Every path of a list ("a, b and c"), or None if one of them is none."""
    stretch = found[group]
    if stretch is None:
        return None
    at = found.start(group)
    result: list[str] = []
    for token in re.finditer(call_patterns.TOKEN, stretch):
        word = token[0]
        if word.lower() == "and" and result:
            continue
        taken = None
        if PLACE in word:
            index = clause.text.count(PLACE, 0, at + token.start())
            taken = clause.literals[index] if index < len(clause.literals) else None
        path = written_path(word, taken, clause.paths, certain)
        if path is None:
            return None
        result.append(path)
    return result or None


def _placed(clause: Clause, found: re.Match[str], path: str, *groups: str) -> str | None:
    """The path inside the folder that the words put it in; None if those words name no folder."""
    for group in groups:
        if group in found.re.groupindex and found[group] is not None:
            if found[group].lower().rstrip(".") in _HERE or found[group] in (".", "./"):
                continue
            certain = (
                bool("in_folder" in found.re.groupindex and found["in_folder"]) or group == "place_after"
            )
            folder = path_of(clause, found, group, certain=certain or "/" not in found[group])
            if folder is None or folder.lower() in ("it", "there", "them", "this", "that"):
                return None
            return f"{folder.rstrip('/')}/{path.removeprefix('./')}"
    return path


def _folders(clause: Clause) -> list[LiteralCall] | None:
    found = call_patterns.CREATE_FOLDER.fullmatch(clause.text)
    if found is not None:
        group = "made" if found["made"] else "paths"
        paths = _all_paths(clause, found, group, certain=True)
    else:
        found = call_patterns.CREATE_NAMED_FOLDER.fullmatch(clause.text)
        paths = found and _all_paths(clause, found, "paths")
    if found is None or not paths or any(path.lower() in _NO_NAMES for path in paths):
        return None
    calls = []
    for path in paths:
        whole = _placed(clause, found, path.rstrip("/") or path, "place")
        if whole is None:
            return None
        calls.append(LiteralCall("create_folder", {"path": whole}, f"Create folder {whole}"))
    return calls


def _write(clause: Clause) -> list[LiteralCall] | None:
    found = call_patterns.WRITE_TO.fullmatch(clause.text) or call_patterns.WRITE.fullmatch(clause.text)
    if found is None:
        return None
    has_word = found["word"] is not None
    path = path_of(clause, found, "path", certain=has_word)
    if path is None or path.lower() in _NO_NAMES or path.endswith("/"):
        return None
    content = None
    for group in ("content", "after_colon", "after_name"):
        if group in found.re.groupindex and found[group] is not None:
            taken = clause.literal(found, group)
            if taken is not None and found[group] == PLACE:
                content = taken.text
            elif (
                clause.exact
                and PLACE not in found[group]
                and found["said"]
                and call_patterns.DESCRIBED.match(found[group]) is None
            ):
                content = found[group].rstrip()
    whole = _placed(clause, found, path, "before", "place", "place_after")
    if content is None or whole is None:
        return None
    return [LiteralCall("write_file", {"path": whole, "content": content}, f"Write {whole}", (whole,))]


def _empty(clause: Clause) -> list[LiteralCall] | None:
    found = call_patterns.EMPTY_FILE.fullmatch(clause.text)
    paths = found and _all_paths(clause, found, "paths")
    if found is None or not paths:
        return None
    calls = []
    for path in paths:
        whole = _placed(clause, found, path, "place")
        if whole is None or whole.endswith("/"):
            return None
        calls.append(
            LiteralCall("write_file", {"path": whole, "content": ""}, f"Create empty file {whole}", (whole,))
        )
    return calls


def _replace(clause: Clause) -> list[LiteralCall] | None:
    found = call_patterns.REPLACE.fullmatch(clause.text)
    if found is None:
        return None
    group = "path" if found["path"] else "before"
    path = path_of(clause, found, group)
    old, new = clause.literal(found, "old"), clause.literal(found, "new")
    if path is None or old is None or new is None or not old.text:
        return None
    texts = [taken.text.removesuffix("\n") if taken.kind == "block" else taken.text for taken in (old, new)]
    args: Args = {"path": path, "old_text": texts[0], "new_text": texts[1]}
    if found["all"] or found["everywhere"] or found["throughout"]:
        args["replace_all"] = True
    return [LiteralCall("edit_file", args, f"Replace text in {path}", (path,))]


def _append(clause: Clause) -> list[LiteralCall] | None:
    found = call_patterns.APPEND.fullmatch(clause.text)
    if found is None:
        found = call_patterns.APPEND_TO.fullmatch(clause.text)
    elif found["add"] and not found["end"]:
        return None
    if found is None:
        return None
    path = path_of(clause, found, "path")
    taken = clause.literal(found, "content")
    if path is None or taken is None or not taken.text:
        return None
    # A patch whose only hunk adds lines puts them at the end of the file.
    added = "".join(f"+{line}\n" for line in taken.text.removesuffix("\n").split("\n"))
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{added}*** End of File\n*** End Patch"
    return [LiteralCall("edit_file", {"path": path, "patch": patch}, f"Append to {path}", (path,))]


def _rename(clause: Clause) -> list[LiteralCall] | None:
    found = call_patterns.RENAME.fullmatch(clause.text)
    if found is None:
        return None
    old = path_of(clause, found, "old", certain=found["word"] is not None)
    new = path_of(clause, found, "new", certain=old is not None)
    if old is None or new is None:
        return None
    folder, _, base = old.rstrip("/").rpartition("/")
    is_folder = new.endswith("/") or bool(found["folder"])
    if found["verb"].lower() == "move":
        bare = new.rpartition("/")[2]
        if is_folder or found["into"].lower() == "into" or ("." in base.lstrip(".") and "." not in bare):
            new = f"{new.rstrip('/')}/{base}"
    elif "/" not in new and folder:
        new = f"{folder}/{new}"
    verb = "Move" if found["verb"].lower() == "move" else "Rename"
    old, new = old.rstrip("/") or old, new.rstrip("/") or new
    return [LiteralCall("rename_path", {"path": old, "new_path": new}, f"{verb} {old} to {new}", (new,))]


def _delete(clause: Clause) -> list[LiteralCall] | None:
    found = call_patterns.DELETE.fullmatch(clause.text)
    paths = found and _all_paths(clause, found, "paths", certain=bool(found["word"]))
    if not paths or any(path.strip("./") == "" or path.lower() in _NO_NAMES for path in paths):
        return None
    return [
        LiteralCall("delete_path", {"path": path.rstrip("/")}, f"Delete {path.rstrip('/')}") for path in paths
    ]


def _run(clause: Clause) -> list[LiteralCall] | None:
    found = call_patterns.RUN.fullmatch(clause.text)
    taken = found and clause.literal(found, "command")
    if found is None or taken is None or not taken.text.strip():
        return None
    if taken.kind == "quote" and not found["word"]:
        return None
    command = taken.text.strip("\n")
    args: Args = {"command": command}
    if found["place"] and found["place"].lower() not in _HERE:
        folder = path_of(clause, found, "place", certain=True)
        if folder is None:
            return None
        args["cwd"] = folder
    line = " ".join(command.split())
    shown = line if len(line) <= 60 else line[:59] + "…"
    return [LiteralCall("run_command", args, f"Run `{shown}`")]


def _read(clause: Clause) -> list[LiteralCall] | None:
    found = call_patterns.READ.fullmatch(clause.text)
    if found is None:
        return None
    lines = _read_lines(found)
    if lines is not None:
        return lines
    paths = _all_paths(clause, found, "paths")
    if not paths or any(path.endswith("/") for path in paths):
        return None
    more: Args = {}
    first, last = found["first"] or found["first_after"], found["last"] or found["last_after"]
    if first:
        more = {"start_line": int(first), "end_line": int(last or first)}
    return [LiteralCall("read_file", {"path": path, **more}, f"Read {path}") for path in paths]


def _read_lines(found: re.Match[str]) -> list[LiteralCall] | None:
    """Read a reference that carries its own lines: `@src/a.py:10-20`."""
    token = found["paths"]
    ranged = (
        call_patterns.LINES.fullmatch(token[1:].rstrip(".!"))
        if token.startswith("@") and PLACE not in token
        else None
    )
    if ranged is None or ranged["path"] == "diagnostics" or "://" in token or " " in token:
        return None
    first = int(ranged["first"])
    args: Args = {"path": ranged["path"], "start_line": first, "end_line": int(ranged["last"] or first)}
    return [LiteralCall("read_file", args, f"Read {ranged['path']}")]


def _list(clause: Clause) -> list[LiteralCall] | None:
    found = call_patterns.LIST.fullmatch(clause.text)
    if found is None:
        return None
    args: Args = {}
    shown = "List files"
    if found["place"] and found["place"].lower() not in _HERE - {"."}:
        path = path_of(clause, found, "place", certain=True)
        if path is None:
            return None
        args["path"] = path.rstrip("/") or path
        shown = f"List files in {args['path']}"
    if found["all"] or found["deep"] or found["deeper"]:
        args["recursive"] = True
    return [LiteralCall("list_files", args, shown)]


_Reader = Callable[[Clause], list[LiteralCall] | None]
_MAKERS: Sequence[_Reader] = (_folders, _write, _empty)
_READERS: Mapping[str, Sequence[_Reader]] = {
    **dict.fromkeys(
        ("create", "make", "write", "save", "put", "generate", "overwrite", "mkdir", "touch"), _MAKERS
    ),
    "add": (*_MAKERS, _append),
    "in": (_write, _replace),
    **dict.fromkeys(("replace", "change"), (_replace,)),
    "append": (_append,),
    **dict.fromkeys(("rename", "move"), (_rename,)),
    **dict.fromkeys(("delete", "remove"), (_delete,)),
    **dict.fromkeys(("run", "execute"), (_run,)),
    **dict.fromkeys(("read", "open", "view"), (_read,)),
    "list": (_list,),
}
"""What may be read from a part, by its first word."""

_CLAUSE_LIMIT = 2_000


def literal_calls(
    masked: str, literals: Sequence[Taken], tools: Collection[str], paths: Mapping[str, str]
) -> tuple[LiteralCall, ...]:
    """The calls that a part spells out completely; empty if it does not, or if a tool for it is not there.

    `masked` is the part with its literals taken out; `paths` leads from references to workspace paths.
    """
    if len(masked) > _CLAUSE_LIMIT:
        return ()
    collapsed = " ".join(masked.split())
    text = call_patterns.TAIL.sub("", collapsed)
    clause = Clause(text=text, literals=literals, paths=paths, exact=collapsed == masked.strip())
    for reader in _READERS.get(text.partition(" ")[0].lower().rstrip(":"), ()):
        calls = reader(clause)
        if calls is not None:
            return tuple(calls) if all(call.tool in tools for call in calls) else ()
    return ()
