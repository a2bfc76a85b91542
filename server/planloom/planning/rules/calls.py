"""Literal tool calls in a sentence: "create folder X", "replace "A" with "B" in F", "run `cmd`"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from planloom.domain.values import Args
from planloom.planning.rules.literals import LINES, PLACE, Masked, written_path
from planloom.planning.wording import COMMAND_START, CONNECTING, PROGRAMS


@dataclass(frozen=True, slots=True)
class LiteralCall:
    """One call that the words spell out, and what to call it."""

    tool: str
    args: Args
    description: str

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it leaves written, by their paths."""
        written = {"write_file": "path", "edit_file": "path", "rename_path": "new_path"}.get(self.tool)
        return () if written is None else (str(self.args[written]),)


class _NoCall(Exception):
    """The words have the form of a call, and lack what it needs."""


_NOUNS = "contents hierarchy layout listing structure structures tree"
_NO_NAMES = frozenset(f"{_NOUNS} and called for it named that them there this with".split())
_HERE = frozenset({"root", "workspace", "project", "repository", "repo", "here", ".", "./"})
_TOKEN = rf"(?:@?{PLACE}|[^\s,;{PLACE}]+)"
_FOLDER = r"(?:folder|directory|dir|subfolder|subdirectory)"


@dataclass(frozen=True, slots=True)
class _Match:
    """An imperative that has the form of a call, read by the names of its slots.

    A slot that may stand at several places of a form has a group for each: `path`, `path_2`. What is asked of
    the words and not there raises `_NoCall`.
    """

    found: re.Match[str]
    masked: Masked
    references: Mapping[str, str]

    def slot(self, name: str) -> Masked:
        """The words of a slot with their literals, empty where the form has none."""
        groups = self.found.groupdict()
        filled = next((each for each in (name, f"{name}_2", f"{name}_3") if groups.get(each)), None)
        return self.masked.cut(*(self.found.span(filled) if filled else (0, 0)))

    def __getitem__(self, name: str) -> str:
        return self.slot(name).text

    def paths(self, name: str, *, certain: bool = False) -> list[str]:
        """Every path of a list ("a, b and c"). `certain`: words before it ("folder") make any word a path."""
        slot = self.slot(name)
        words = [found for found in re.finditer(_TOKEN, slot.text) if found[0].lower() != "and"]
        named = [written_path(slot.cut(*word.span()), self.references, certain=certain) for word in words]
        sure = [path for path in named if path is not None and path.lower() not in _NO_NAMES]
        if not sure or len(sure) < len(named):
            raise _NoCall
        return sure

    def path(self, name: str, *, certain: bool = False) -> str:
        """The one path that a slot names."""
        return self.paths(name, certain=certain)[0]

    def placed(self, path: str) -> str:
        """The path inside the folder that the words put it in."""
        for slot in ("front", "place", "behind"):
            if self[slot] and self[slot].lower().rstrip(".") not in {*_HERE, ""}:
                certain = bool(self["in_folder"]) or slot == "behind" or "/" not in self[slot]
                return f"{self.path(slot, certain=certain).rstrip('/')}/{path.removeprefix('./')}"
        return path


_Calls = Iterable[LiteralCall]


def _folders(said: _Match) -> _Calls:
    # "Make the folder private" says what becomes of one that is there.
    named = PLACE in said["paths"] or re.match(r"make (?:the|this|my|our) ", said.found[0], re.I) is None
    for path in said.paths("paths", certain=named and not said["before_noun"]):
        whole = said.placed(path.rstrip("/") or path)
        yield LiteralCall("create_folder", {"path": whole}, f"Create folder {whole}")


def _write(said: _Match) -> _Calls:
    content = said.slot("content").literals
    for path in said.paths("paths", certain=bool(said["file"])):
        whole = said.placed(path)
        if whole.endswith("/"):
            raise _NoCall
        title = f"Write {whole}" if content else f"Create empty file {whole}"
        yield LiteralCall("write_file", {"path": whole, "content": content[0].text if content else ""}, title)


def _replace(said: _Match) -> _Calls:
    path = said.path("path")
    old, new = (
        taken.text.removesuffix("\n") if taken.kind == "block" else taken.text
        for taken in (*said.slot("old").literals, *said.slot("new").literals)
    )
    if not old:
        raise _NoCall
    every: Args = {"replace_all": True} if said["all"] else {}
    yield LiteralCall(
        "edit_file",
        {"path": path, "old_text": old, "new_text": new, **every},
        f"Replace {_short(old)!r} in {path}",
    )


def _append(said: _Match) -> _Calls:
    path, text = said.path("path"), said.slot("content").literals[0].text
    if not text or (said["add"] and not said["end"]):
        raise _NoCall
    # A patch whose only hunk adds lines puts them at the end of the file.
    added = "".join(f"+{line}\n" for line in text.removesuffix("\n").split("\n"))
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{added}*** End of File\n*** End Patch"
    yield LiteralCall("edit_file", {"path": path, "patch": patch}, f"Append to {path}")


def _rename(said: _Match) -> _Calls:
    old, new = said.path("old", certain=bool(said["noun"])), said.path("new", certain=True)
    folder, _, base = old.rstrip("/").rpartition("/")
    if said["verb"].lower() == "move":
        into = new.endswith("/") or said["folder"] or said["into"].lower() == "into"
        if into or ("." in base.lstrip(".") and "." not in new.rpartition("/")[2]):
            new = f"{new.rstrip('/')}/{base}"
    elif "/" not in new and folder:
        new = f"{folder}/{new}"
    old, new = old.rstrip("/") or old, new.rstrip("/") or new
    title = f"{said['verb'].capitalize()} {old} to {new}"
    old, new = old.rstrip("/") or old, new.rstrip("/") or new
    yield LiteralCall("rename_path", {"path": old, "new_path": new}, title)


def _delete(said: _Match) -> _Calls:
    # "Delete the file upload" may mean a feature, "the file README" does not.
    folder = not said["noun"].lower().startswith("file") or not said["paths"].islower()
    for path in said.paths("paths", certain=bool(said["noun"]) and folder):
        if not path.strip("./"):
            raise _NoCall
        yield LiteralCall("delete_path", {"path": path.rstrip("/")}, f"Delete {path.rstrip('/')}")


def _run(said: _Match) -> _Calls:
    if (marked := said.slot("marked").literals) and marked[0].text.strip():
        command = marked[0].text.strip("\n")
        clear = marked[0].kind != "quote" or bool(said["noun"])
    else:
        command = said.slot("command").source
        clear = bool(command) and all(taken.source[0] in "\"'" for taken in said.masked.literals)
    if not clear:
        raise _NoCall
    args: Args = {"command": command}
    if said["place"] and said["place"].lower() not in _HERE:
        args["cwd"] = said.path("place", certain=bool(marked or said["in_folder"]))
    yield LiteralCall("run_command", args, f"Run `{_short(command)}`")


def _read(said: _Match) -> _Calls:
    first, last = said["first"], said["last"]
    ranged = LINES.fullmatch(said["paths"].rstrip(".!"))
    if ranged is not None and PLACE not in ranged[0] and ranged["path"].startswith("@"):
        # A reference that carries its own lines: `@src/a.py:10-20`.
        first, last = ranged["first"], ranged["last"]
        path = said.references.get(ranged[0]) or written_path(Masked(ranged["path"], ()), {})
        paths = [path or "/"]
    else:
        paths = said.paths("paths")
    if any(path.endswith("/") for path in paths) or (ranged is not None and " " in ranged[0]):
        raise _NoCall
    for path in paths:
        lines: Args = {"start_line": int(first), "end_line": int(last or first)} if first else {}
        yield LiteralCall("read_file", {"path": path, **lines}, f"Read {path}")


def _list(said: _Match) -> _Calls:
    deep: Args = {"recursive": True} if said["deep"] else {}
    if not said["place"] or said["place"].lower() in _HERE - {"."}:
        yield LiteralCall("list_files", deep, "List files")
    else:
        path = said.path("place", certain=True)
        path = path.rstrip("/") or path
        yield LiteralCall("list_files", {"path": path, **deep}, f"List files in {path}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def _in(prepositions: str) -> str:
    """The folder of a call, which may be left out."""
    return rf"(?: (?:{prepositions}) (?:the )?(?P<in_folder>{_FOLDER} )?(?P<place>{_TOKEN})(?: {_FOLDER})?)?"


_TOKENS = rf"{_TOKEN}(?:(?:, and |, | and ){_TOKEN})*"
_ARTICLES = r"(?:(?:a|an|the|this|my|our|new|empty|text) )*"
_NAMED = r"(?:(?:called|named|at) )?"
_FILE = rf"{_ARTICLES}(?:file )?"
_PLACED = _in("in|inside|under|within|into")
_FOR_CONTENT = (
    r"(?:with:?|containing:?|that contains|whose contents? (?:is|are)|and put|and write) (?:only )?(?:the )?"
    r"(?:(?:following|exact|initial|single) )*(?:(?:contents?|text|body|code|data|lines?)(?: of)?)?"
    r" ?(?:is |are |as |=|:)? ?"
)
_TEXT = r"(?:the )?(?:(?:text|word|string|line|lines|phrase|content|following) )*"
_ARGUMENT = (
    rf"(?:--?[A-Za-z][\w-]*(?:=[^\s,;{PLACE}]+)?|{PLACE}|[\w@.~^-]*[./:][\w@./:~^*-]*|[0-9]+"
    r"|HEAD|origin|main|master|up|down|tidy|pop)"
)

_FORMS: Mapping[Callable[[_Match], _Calls], tuple[str, ...]] = {
    _folders: (
        rf"(?:create|make|add) {_ARTICLES}{_FOLDER}s? {_NAMED}(?P<paths>{_TOKENS}?){_PLACED}",
        rf"mkdir (?:-p )?(?P<paths>{_TOKENS})",
        rf"(?:create|make|add) {_ARTICLES}(?P<paths>{_TOKEN}) (?P<before_noun>{_FOLDER}){_PLACED}",
    ),
    _write: (
        rf"(?:write|save|put) (?:the )?(?:(?:text|content|contents|line|code|string) )?(?P<content>{PLACE})"
        rf" (?:to|into|in|as) {_ARTICLES}(?P<file>(?:file|script) )?{_NAMED}(?P<paths>{_TOKEN})",
        rf"(?:in (?:the )?(?:{_FOLDER} )?(?P<front>{_TOKEN}),? )?"
        rf"(?:create|write|make|add|generate|save|overwrite) {_ARTICLES}"
        rf"(?P<file>(?:file|script|document|module) )?{_NAMED}(?P<paths>{_TOKEN}){_PLACED}"
        rf"(?:,? {_FOR_CONTENT}|: ?| )(?P<content>{PLACE})"
        rf"(?: (?:in|inside|under) (?:the )?{_FOLDER} (?P<behind>{_TOKEN}))?",
        rf"(?:(?:create|make|add) {_ARTICLES}files? {_NAMED}|touch |(?:create|make|add) (?:an? )?empty )"
        rf"(?P<paths>{_TOKENS}?){_PLACED}",
    ),
    _replace: (
        rf"(?:in {_FILE}(?P<path_2>{_TOKEN}),? )?(?:replace|change) "
        rf"(?P<all>(?:all|every|each)(?: (?:occurrences?|instances?))?(?: of)? )?{_TEXT}(?P<old>{PLACE})"
        rf" (?:with|by|to|into) {_TEXT}(?P<new>{PLACE})(?P<all_2> everywhere)?"
        rf"(?: (?:in|inside|within) {_FILE}(?P<path>{_TOKEN}))?(?P<all_3> everywhere)?",
    ),
    _append: (
        rf"(?:append|(?P<add>add)) {_TEXT}:? ?(?P<content>{PLACE}) (?:to|at) "
        rf"(?P<end>(?:the )?(?:end|bottom) of )?{_FILE}(?P<path>{_TOKEN})",
        rf"append {_TEXT}to (?:the end of )?{_FILE}(?P<path>{_TOKEN}?):? (?P<content>{PLACE})",
    ),
    _rename: (
        rf"(?P<verb>rename|move) {_ARTICLES}(?P<noun>(?:file|{_FOLDER}|path) )?(?P<old>{_TOKEN}) (?P<into>to|as|into)"
        rf" {_ARTICLES}(?P<folder>{_FOLDER} )?(?P<new>{_TOKEN})",
    ),
    _delete: (
        rf"(?:delete|remove) {_ARTICLES}(?P<noun>(?:files?|{_FOLDER}|directories|folders|path) )?(?P<paths>{_TOKENS})",
    ),
    _run: (
        r"(?:run|execute):? (?:the )?(?P<noun>(?:following )?(?:shell )?(?:commands?|script|cmd) ?)?:? ?"
        rf"(?P<marked>{PLACE}){_in('in|inside|from')}",
        # A command line without marks is read in small letters only, as a shell would.
        r"(?:(?:run|execute):? (?:(?:the (?:following )?command):? )?)?(?-i:(?P<command>"
        rf"(?:{COMMAND_START}|yarn|(?<=[Rr]un )make(?: [\w.-]+)?)"
        rf"(?:(?<= run) [\w:.-]+|(?<= -m) [\w.]+|(?<= compose) \w+| {_ARGUMENT})*){_in('in')})",
    ),
    _read: (
        r"(?:read|open|view) "
        r"(?:lines? (?P<first>[0-9]{1,9})(?: ?(?:-|–|to) ?(?P<last>[0-9]{1,9}))? (?:of|from|in) )?"
        rf"{_ARTICLES}(?:contents? of )?{_ARTICLES}(?:files? )?(?P<paths>{_TOKENS}?)"
        r"(?:,? \(?(?:from |at )?lines? (?P<first_2>[0-9]{1,9})"
        r"(?: ?(?:-|–|to) ?(?:line )?(?P<last_2>[0-9]{1,9}))?\)?)?",
    ),
    _list: (
        r"list (?P<deep>all )?(?:of )?(?:the )?(?:files|folder contents|contents)(?: and (?:folders|directories))?"
        rf"(?P<deep_2> recursively)?{_in('in|inside|under|of|within|from')}(?P<deep_3> recursively)?",
    ),
}
"""The forms that calls may have; the first that fits and has all that it needs counts."""
_COMPILED = [(re.compile(form, re.IGNORECASE), read) for read, forms in _FORMS.items() for form in forms]

_BETWEEN = re.compile(
    rf"(?:[,;] (?:{CONNECTING},? )*|,? (?:{CONNECTING},? )+)(?="
    r"(?:create|make|write|save|put|generate|overwrite|mkdir|touch|add|replace|change|append|rename|move|delete"
    rf"|remove|run|execute|read|open|view|list|{'|'.join(PROGRAMS)}) "
    r"|in [^ ]+,? (?:replace|change|create|make|write|add|generate) )",
    re.IGNORECASE,
)
"""What stands between two calls, with the beginning of the second."""
_FRONTED = re.compile(rf"in (?:the )?(?:file |{_FOLDER} )?{_TOKEN},? ", re.IGNORECASE)
"""`In src/a.py, …`: the place of every call of the sentence, up to the next such words."""
_TAIL = re.compile(r"(?:,? (?:please|now|for me|too|as well|again|first|thanks|thank you))+$", re.IGNORECASE)
"""Words behind a call that say nothing of the work."""
_SHORT = 60
_LIMIT = 2_000


def literal_calls(sentence: Masked, references: Mapping[str, str]) -> tuple[LiteralCall, ...]:
    """The calls that a sentence consists of; empty if one word of it is neither a call nor between calls.

    The words that lead in are left out of the sentence; `references` leads from references as they are written
    to workspace paths.
    """
    if len(sentence.text) > _LIMIT:
        return ()
    line = Masked(" ".join(sentence.text.split()), sentence.literals)
    calls: list[LiteralCall] = []
    front, at = line.cut(0, 0), 0
    while at <= len(line.text):
        fronted = _FRONTED.match(line.text, at)
        if fronted is not None:
            front, at = line.cut(*fronted.span()), fronted.end()
        cut = _BETWEEN.search(line.text, at)
        end, following = cut.span() if cut else (len(line.text), len(line.text) + 1)
        said = line.cut(at, end)
        words = front.text + _TAIL.sub("", said.text)
        found = _calls_of(Masked(words, front.literals + said.literals), references)
        if not found:
            return ()
        calls += found
        at = following
    return tuple(calls)


def _calls_of(said: Masked, references: Mapping[str, str]) -> tuple[LiteralCall, ...]:
    for form, read in _COMPILED:
        found = form.fullmatch(said.text)
        if found is not None:
            with suppress(_NoCall):
                return tuple(read(_Match(found, said, references)))
    return ()
