"""Literal tool calls in a sentence: "create folder X", "replace "A" with "B" in F", "run `cmd`"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from planloom.domain.values import Args
from planloom.planning.rules import call_patterns as forms
from planloom.planning.rules.literals import PLACE, Taken, restored
from planloom.planning.rules.written_paths import written_path
from planloom.planning.wording import CONNECTING


@dataclass(frozen=True, slots=True)
class LiteralCall:
    """One call that the words spell out, and what to call it."""

    tool: str
    args: Args
    description: str
    files: tuple[str, ...] = ()


class _NoCall(Exception):
    """The words have the form of a call, and lack what it needs."""


_NOUNS = "contents hierarchy layout listing structure structures tree"
_NO_NAMES = frozenset(
    (*_NOUNS.split(), "and", "called", "for", "it", "named", "that", "them", "there", "this", "with")
)
_HERE = frozenset({"root", "workspace", "project", "repository", "repo", "here", ".", "./"})


@dataclass(frozen=True, slots=True)
class _Match:
    """An imperative that has the form of a call. What is asked of it and not there raises `_NoCall`."""

    found: re.Match[str]
    literals: Sequence[Taken]
    references: Mapping[str, str]

    def __getitem__(self, group: str) -> str:
        """The words of a group, empty where the form has none."""
        return self.found.groupdict().get(group) or ""

    def content(self, *groups: str) -> Taken:
        """The literal that one of these groups is."""
        for group in groups:
            if self[group] == PLACE:
                return self._taken(self.found.start(group))
        raise _NoCall

    def paths(self, group: str, *, certain: bool = False) -> list[str]:
        """Every path of a list ("a, b and c"). `certain`: words before it ("folder") make any word a path."""
        start = self.found.start(group)
        words = [token for token in re.finditer(forms.TOKEN, self[group]) if token[0].lower() != "and"]
        named = [
            written_path(
                word[0],
                self._taken(start + word.start()) if PLACE in word[0] else None,
                self.references,
                certain,
            )
            for word in words
        ]
        sure = [path for path in named if path is not None and path.lower() not in _NO_NAMES]
        if not sure or len(sure) < len(named):
            raise _NoCall
        return sure

    def path(self, group: str, *, certain: bool = False) -> str:
        """The one path that a group names."""
        return self.paths(group, certain=certain)[0]

    def placed(self, path: str, *groups: str) -> str:
        """The path inside the folder that the words put it in."""
        for group in groups:
            if self[group] and self[group].lower().rstrip(".") not in {*_HERE, ""}:
                certain = bool(self["in_folder"]) or group == "place_after" or "/" not in self[group]
                return f"{self.path(group, certain=certain).rstrip('/')}/{path.removeprefix('./')}"
        return path

    def _taken(self, at: int) -> Taken:
        return self.literals[self.found.string.count(PLACE, 0, at)]


_Calls = Iterable[LiteralCall]


def _folders(said: _Match) -> _Calls:
    # "Make the folder private" says what becomes of one that is there.
    named = PLACE in said["paths"] or re.match(r"make (?:the|this|my|our) ", said.found[0], re.I) is None
    for path in said.paths("made" if said["made"] else "paths", certain=named and not said["before_noun"]):
        whole = said.placed(path.rstrip("/") or path, "place")
        yield LiteralCall("create_folder", {"path": whole}, f"Create folder {whole}")


def _write(said: _Match) -> _Calls:
    path = said.path("path", certain=bool(said["word"]))
    whole = said.placed(path, "before", "place", "place_after")
    if whole.endswith("/"):
        raise _NoCall
    content = said.content("content", "after_colon", "after_name").text
    yield LiteralCall("write_file", {"path": whole, "content": content}, f"Write {whole}", (whole,))


def _empty(said: _Match) -> _Calls:
    for path in said.paths("paths"):
        whole = said.placed(path, "place")
        if whole.endswith("/"):
            raise _NoCall
        yield LiteralCall(
            "write_file", {"path": whole, "content": ""}, f"Create empty file {whole}", (whole,)
        )


def _replace(said: _Match) -> _Calls:
    path = said.path("path" if said["path"] else "before")
    old, new = (
        taken.text.removesuffix("\n") if taken.kind == "block" else taken.text
        for taken in (said.content("old"), said.content("new"))
    )
    if not old:
        raise _NoCall
    args: Args = {"path": path, "old_text": old, "new_text": new}
    if said["all"] or said["everywhere"] or said["throughout"]:
        args["replace_all"] = True
    yield LiteralCall("edit_file", args, f"Replace {_short(old)!r} in {path}", (path,))


def _append(said: _Match) -> _Calls:
    path, text = said.path("path"), said.content("content").text
    if not text or (said["add"] and not said["end"]):
        raise _NoCall
    # A patch whose only hunk adds lines puts them at the end of the file.
    added = "".join(f"+{line}\n" for line in text.removesuffix("\n").split("\n"))
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{added}*** End of File\n*** End Patch"
    yield LiteralCall("edit_file", {"path": path, "patch": patch}, f"Append to {path}", (path,))


def _rename(said: _Match) -> _Calls:
    old, new = said.path("old", certain=bool(said["word"])), said.path("new", certain=True)
    folder, _, base = old.rstrip("/").rpartition("/")
    if said["verb"].lower() == "move":
        into = new.endswith("/") or said["folder"] or said["into"].lower() == "into"
        if into or ("." in base.lstrip(".") and "." not in new.rpartition("/")[2]):
            new = f"{new.rstrip('/')}/{base}"
    elif "/" not in new and folder:
        new = f"{folder}/{new}"
    old, new = old.rstrip("/") or old, new.rstrip("/") or new
    title = f"{said['verb'].capitalize()} {old} to {new}"
    yield LiteralCall("rename_path", {"path": old, "new_path": new}, title, (new,))


def _delete(said: _Match) -> _Calls:
    # "Delete the file upload" may mean a feature, "the file README" does not.
    folder = bool(said["word"]) and not said["word"].lower().startswith("file")
    for path in said.paths("paths", certain=folder or (bool(said["word"]) and not said["paths"].islower())):
        if not path.strip("./"):
            raise _NoCall
        yield LiteralCall("delete_path", {"path": path.rstrip("/")}, f"Delete {path.rstrip('/')}")


def _run(said: _Match) -> _Calls:
    taken = said.content("command")
    if not taken.text.strip() or (taken.kind == "quote" and not said["word"]):
        raise _NoCall
    yield _command(said, taken.text.strip("\n"), certain=True)


def _plain_command(said: _Match) -> _Calls:
    """A command line of a well-known program: `npm test`, `git commit -m "x"`."""
    if any(taken.source[0] not in "\"'" for taken in said.literals):
        raise _NoCall
    command = restored(said["command"], tuple(said.literals))
    yield _command(said, command, certain=bool(said["folder"]))


def _command(said: _Match, command: str, *, certain: bool) -> LiteralCall:
    args: Args = {"command": command}
    if said["place"] and said["place"].lower() not in _HERE:
        args["cwd"] = said.path("place", certain=certain)
    return LiteralCall("run_command", args, f"Run `{_short(command)}`")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def _read(said: _Match) -> _Calls:
    first, last = said["first"] or said["first_after"], said["last"] or said["last_after"]
    ranged = forms.LINES.fullmatch(said["paths"].rstrip(".!"))
    if ranged is not None and PLACE not in ranged[0] and ranged["path"].startswith("@"):
        # A reference that carries its own lines: `@src/a.py:10-20`.
        first, last = ranged["first"], ranged["last"]
        paths = [said.references.get(ranged[0]) or written_path(ranged["path"], None, {}, True)]
    else:
        paths = [*said.paths("paths")]
    for path in paths:
        if path is None or path.endswith("/") or " " in (ranged[0] if ranged else ""):
            raise _NoCall
        lines: Args = {"start_line": int(first), "end_line": int(last or first)} if first else {}
        yield LiteralCall("read_file", {"path": path, **lines}, f"Read {path}")


def _list(said: _Match) -> _Calls:
    args: Args = {}
    if said["place"] and said["place"].lower() not in _HERE - {"."}:
        path = said.path("place", certain=True)
        args["path"] = path.rstrip("/") or path
    if said["all"] or said["deep"] or said["deeper"]:
        args["recursive"] = True
    yield LiteralCall("list_files", args, f"List files in {args['path']}" if "path" in args else "List files")


_FORMS: Sequence[tuple[re.Pattern[str], Callable[[_Match], _Calls]]] = (
    (forms.CREATE_FOLDER, _folders),
    (forms.CREATE_NAMED_FOLDER, _folders),
    (forms.WRITE_TO, _write),
    (forms.WRITE, _write),
    (forms.EMPTY_FILE, _empty),
    (forms.REPLACE, _replace),
    (forms.APPEND, _append),
    (forms.APPEND_TO, _append),
    (forms.RENAME, _rename),
    (forms.DELETE, _delete),
    (forms.RUN, _run),
    (forms.COMMAND, _plain_command),
    (forms.READ, _read),
    (forms.LIST, _list),
)
"""The forms that a call may have; the first that fits and has all that it needs counts."""

_BETWEEN = re.compile(
    r"(?:[,;] (?:CONNECTING,? )*|,? (?:CONNECTING,? )+)(?=CALL)".replace("CONNECTING", CONNECTING).replace(
        "CALL", forms.CALL_WORDS
    ),
    re.IGNORECASE,
)
"""What stands between two calls."""
_FRONTED = re.compile(rf"in (?:the )?(?:file |{forms.FOLDER} )?{forms.TOKEN},? ", re.IGNORECASE)
"""`In src/a.py, …`: the place of every call of the sentence, up to the next such words."""
_SHORT = 60
_LIMIT = 2_000


def literal_calls(
    masked: str, literals: Sequence[Taken], paths: Mapping[str, str]
) -> tuple[LiteralCall, ...]:
    """The calls that a sentence consists of; empty if one word of it is neither a call nor between calls.

    `masked` is the sentence with its literals taken out and without the words that lead in; `paths` leads
    from references as they are written to workspace paths.
    """
    if len(masked) > _LIMIT:
        return ()
    text = " ".join(masked.split())
    cuts = list(_BETWEEN.finditer(text))
    starts, ends = [0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(text)]
    calls: list[LiteralCall] = []
    front: tuple[int, int] = (0, 0)
    index = 0
    while index < len(starts):
        start = starts[index]
        fronted = _FRONTED.match(text, start)
        if fronted is not None:
            front = fronted.span()
            # The comma behind the place looks as if it stood between two calls.
            index += index + 1 < len(ends) and ends[index] <= fronted.end() <= starts[index + 1]
            start = fronted.end()
        place = slice(*front)
        found = _calls_of(
            text[place] + forms.TAIL.sub("", text[start : ends[index]]),
            (*_within(text, literals, *front), *_within(text, literals, start, ends[index])),
            paths,
        )
        if not found:
            return ()
        calls += found
        index += 1
    return tuple(calls)


def _within(text: str, literals: Sequence[Taken], start: int, end: int) -> Sequence[Taken]:
    """The literals between two places of a sentence."""
    return literals[text.count(PLACE, 0, start) : text.count(PLACE, 0, end)]


def _calls_of(text: str, literals: Sequence[Taken], references: Mapping[str, str]) -> tuple[LiteralCall, ...]:
    for form, read in _FORMS:
        found = form.fullmatch(text)
        if found is not None:
            with suppress(_NoCall):
                return tuple(read(_Match(found, literals, references)))
    return ()
