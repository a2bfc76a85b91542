"""Literal tool calls in a sentence: "create folder X", "replace "A" with "B" in F", "run `cmd`"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.values import Args
from planloom.planning.rules.literals import LINES, PLACEHOLDER, Masked, written_path
from planloom.planning.wording import COMMAND_START, CONNECTING, PROGRAMS


class LiteralCall(NamedTuple):
    """A tool call that the words spell out, with the description of its step."""

    tool: str
    args: Args
    description: str

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the files that it writes."""
        written = {"write_file": "path", "edit_file": "path", "rename_path": "new_path"}.get(self.tool)
        return () if written is None else (str(self.args[written]),)


class _NoCall(Exception):
    """The words have the form of a call but lack an argument."""


_NOUNS = "contents hierarchy layout listing structure structures tree"
_NO_NAMES = frozenset(f"{_NOUNS} and called for it named that them there this with".split())
_HERE = frozenset({"root", "workspace", "project", "repository", "repo", "here", ".", "./"})
_TOKEN = rf"(?:@?{PLACEHOLDER}|[^\s,;{PLACEHOLDER}]+)"
_FOLDER = r"(?:folder|directory|dir|subfolder|subdirectory)"


@dataclass(frozen=True, slots=True)
class _Match:
    """A match of a form, with access to its slots by name.

    A slot that has several positions in a form has a group for each: `path`, `path_2`. A missing argument raises
    `_NoCall`.
    """

    found: re.Match[str]
    masked: Masked
    references: Mapping[str, str]

    def slot(self, name: str) -> Masked:
        """The words of a slot with their literals; empty if the slot was not filled."""
        groups = self.found.groupdict()
        filled = next((each for each in (name, f"{name}_2", f"{name}_3") if groups.get(each)), None)
        return self.masked.cut(*(self.found.span(filled) if filled else (0, 0)))

    def __getitem__(self, name: str) -> str:
        return self.slot(name).text

    def paths(self, name: str, *, certain: bool = False) -> list[str]:
        """Every path of a list ("a, b and c"). `certain`: the words before it ("folder") make any word a path."""
        slot = self.slot(name)
        words = [found for found in re.finditer(_TOKEN, slot.text) if found[0].lower() != "and"]
        named = [written_path(slot.cut(*word.span()), self.references, certain=certain) for word in words]
        sure = [path for path in named if path is not None and path.lower() not in _NO_NAMES]
        if not sure or len(sure) < len(named):
            raise _NoCall
        return sure

    def path(self, name: str, *, certain: bool = False) -> str:
        """The first path of a slot."""
        return self.paths(name, certain=certain)[0]

    def placed(self, path: str) -> str:
        """The path, below the folder that the words name, if any."""
        for slot in ("front", "place", "behind"):
            if self[slot] and self[slot].lower().rstrip(".") not in {*_HERE, ""}:
                certain = bool(self["in_folder"]) or slot == "behind" or "/" not in self[slot]
                return f"{self.path(slot, certain=certain).rstrip('/')}/{path.removeprefix('./')}"
        return path


_Calls = Iterable[LiteralCall]


def _folders(match: _Match) -> _Calls:
    # "Make the folder private" says what becomes of one that is there.
    named = (
        PLACEHOLDER in match["paths"] or re.match(r"make (?:the|this|my|our) ", match.found[0], re.I) is None
    )
    for path in match.paths("paths", certain=named and not match["before_noun"]):
        whole = match.placed(path.rstrip("/") or path)
        yield LiteralCall("create_folder", {"path": whole}, f"Create folder {whole}")


def _write(match: _Match) -> _Calls:
    content = match.slot("content").literals
    for path in match.paths("paths", certain=bool(match["file"])):
        whole = match.placed(path)
        if whole.endswith("/"):
            raise _NoCall
        title = f"Write {whole}" if content else f"Create empty file {whole}"
        yield LiteralCall("write_file", {"path": whole, "content": content[0].text if content else ""}, title)


def _replace(match: _Match) -> _Calls:
    path = match.path("path")
    old, new = (
        literal.text.removesuffix("\n") if literal.kind == "block" else literal.text
        for literal in (*match.slot("old").literals, *match.slot("new").literals)
    )
    if not old:
        raise _NoCall
    every: Args = {"replace_all": True} if match["all"] else {}
    yield LiteralCall(
        "edit_file",
        {"path": path, "old_text": old, "new_text": new, **every},
        f"Replace {_short(old)!r} in {path}",
    )


def _append(match: _Match) -> _Calls:
    path, text = match.path("path"), match.slot("content").literals[0].text
    if not text or (match["add"] and not match["end"]):
        raise _NoCall
    # A patch whose only hunk adds lines puts them at the end of the file.
    added = "".join(f"+{line}\n" for line in text.removesuffix("\n").split("\n"))
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{added}*** End of File\n*** End Patch"
    yield LiteralCall("edit_file", {"path": path, "patch": patch}, f"Append to {path}")


def _rename(match: _Match) -> _Calls:
    old, new = match.path("old", certain=bool(match["noun"])), match.path("new", certain=True)
    folder, _, base = old.rstrip("/").rpartition("/")
    if match["verb"].lower() == "move":
        into = new.endswith("/") or match["folder"] or match["into"].lower() == "into"
        if into or ("." in base.lstrip(".") and "." not in new.rpartition("/")[2]):
            new = f"{new.rstrip('/')}/{base}"
    elif "/" not in new and folder:
        new = f"{folder}/{new}"
    old, new = old.rstrip("/") or old, new.rstrip("/") or new
    title = f"{match['verb'].capitalize()} {old} to {new}"
    yield LiteralCall("rename_path", {"path": old, "new_path": new}, title)


def _delete(match: _Match) -> _Calls:
    # "Delete the file upload" may mean a feature, "the file README" does not.
    folder = not match["noun"].lower().startswith("file") or not match["paths"].islower()
    for path in match.paths("paths", certain=bool(match["noun"]) and folder):
        if not path.strip("./"):
            raise _NoCall
        yield LiteralCall("delete_path", {"path": path.rstrip("/")}, f"Delete {path.rstrip('/')}")


def _run(match: _Match) -> _Calls:
    if (marked := match.slot("marked").literals) and marked[0].text.strip():
        command = marked[0].text.strip("\n")
        clear = marked[0].kind != "quote" or bool(match["noun"])
    else:
        command = match.slot("command").source
        clear = bool(command) and all(literal.source[0] in "\"'" for literal in match.masked.literals)
    if not clear:
        raise _NoCall
    args: Args = {"command": command}
    if match["place"] and match["place"].lower() not in _HERE:
        args["cwd"] = match.path("place", certain=bool(marked or match["in_folder"]))
    yield LiteralCall("run_command", args, f"Run `{_short(command)}`")


def _read(match: _Match) -> _Calls:
    first, last = match["first"], match["last"]
    ranged = LINES.fullmatch(match["paths"].rstrip(".!"))
    if ranged is not None and PLACEHOLDER not in ranged[0] and ranged["path"].startswith("@"):
        # A reference with line numbers: `@src/a.py:10-20`.
        first, last = ranged["first"], ranged["last"]
        path = match.references.get(ranged[0]) or written_path(Masked(ranged["path"], ()), {})
        paths = [path or "/"]
    else:
        paths = match.paths("paths")
    if any(path.endswith("/") for path in paths) or (ranged is not None and " " in ranged[0]):
        raise _NoCall
    for path in paths:
        lines: Args = {"start_line": int(first), "end_line": int(last or first)} if first else {}
        yield LiteralCall("read_file", {"path": path, **lines}, f"Read {path}")


def _list(match: _Match) -> _Calls:
    deep: Args = {"recursive": True} if match["deep"] else {}
    if not match["place"] or match["place"].lower() in _HERE - {"."}:
        yield LiteralCall("list_files", deep, "List files")
    else:
        path = match.path("place", certain=True)
        path = path.rstrip("/") or path
        yield LiteralCall("list_files", {"path": path, **deep}, f"List files in {path}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def _in(prepositions: str) -> str:
    """The pattern of the optional folder of a call."""
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
    rf"(?:--?[A-Za-z][\w-]*(?:=[^\s,;{PLACEHOLDER}]+)?|{PLACEHOLDER}|[\w@.~^-]*[./:][\w@./:~^*-]*|[0-9]+"
    r"|HEAD|origin|main|master|up|down|tidy|pop)"
)

_FORMS: Mapping[Callable[[_Match], _Calls], tuple[str, ...]] = {
    _folders: (
        rf"(?:create|make|add) {_ARTICLES}{_FOLDER}s? {_NAMED}(?P<paths>{_TOKENS}?){_PLACED}",
        rf"mkdir (?:-p )?(?P<paths>{_TOKENS})",
        rf"(?:create|make|add) {_ARTICLES}(?P<paths>{_TOKEN}) (?P<before_noun>{_FOLDER}){_PLACED}",
    ),
    _write: (
        rf"(?:write|save|put) (?:the )?(?:(?:text|content|contents|line|code|string) )?(?P<content>{PLACEHOLDER})"
        rf" (?:to|into|in|as) {_ARTICLES}(?P<file>(?:file|script) )?{_NAMED}(?P<paths>{_TOKEN})",
        rf"(?:in (?:the )?(?:{_FOLDER} )?(?P<front>{_TOKEN}),? )?"
        rf"(?:create|write|make|add|generate|save|overwrite) {_ARTICLES}"
        rf"(?P<file>(?:file|script|document|module) )?{_NAMED}(?P<paths>{_TOKEN}){_PLACED}"
        rf"(?:,? {_FOR_CONTENT}|: ?| )(?P<content>{PLACEHOLDER})"
        rf"(?: (?:in|inside|under) (?:the )?{_FOLDER} (?P<behind>{_TOKEN}))?",
        rf"(?:(?:create|make|add) {_ARTICLES}files? {_NAMED}|touch |(?:create|make|add) (?:an? )?empty )"
        rf"(?P<paths>{_TOKENS}?){_PLACED}",
    ),
    _replace: (
        rf"(?:in {_FILE}(?P<path_2>{_TOKEN}),? )?(?:replace|change) "
        rf"(?P<all>(?:all|every|each)(?: (?:occurrences?|instances?))?(?: of)? )?{_TEXT}(?P<old>{PLACEHOLDER})"
        rf" (?:with|by|to|into) {_TEXT}(?P<new>{PLACEHOLDER})(?P<all_2> everywhere)?"
        rf"(?: (?:in|inside|within) {_FILE}(?P<path>{_TOKEN}))?(?P<all_3> everywhere)?",
    ),
    _append: (
        rf"(?:append|(?P<add>add)) {_TEXT}:? ?(?P<content>{PLACEHOLDER}) (?:to|at) "
        rf"(?P<end>(?:the )?(?:end|bottom) of )?{_FILE}(?P<path>{_TOKEN})",
        rf"append {_TEXT}to (?:the end of )?{_FILE}(?P<path>{_TOKEN}?):? (?P<content>{PLACEHOLDER})",
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
        rf"(?P<marked>{PLACEHOLDER}){_in('in|inside|from')}",
        # An unquoted command line must be in lower case, as in a shell.
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
"""The forms of calls; the first that matches with all its arguments is used."""
_VERBS: Mapping[Callable[[_Match], _Calls], str] = {
    _folders: "create make add mkdir",
    _write: "write save put create make add generate overwrite touch",
    _replace: "replace change",
    _append: "append add",
    _rename: "rename move",
    _delete: "delete remove",
    _run: f"run execute {' '.join(PROGRAMS)}",
    _read: "read open view",
    _list: "list",
}
"""The verbs and programs of which a text has one if one of these forms matches it: the others are not even compiled."""
_BY_VERBS = tuple(
    (frozenset(_VERBS[read].split()), pattern(form, re.IGNORECASE), read)
    for read, forms in _FORMS.items()
    for form in forms
)
_WORD = pattern(r"\w+")

_BETWEEN = pattern(
    rf"(?:[,;] (?:{CONNECTING},? )*|,? (?:{CONNECTING},? )+)(?="
    rf"(?:{'|'.join(' '.join(_VERBS.values()).split())}) "
    r"|in [^ ]+,? (?:replace|change|create|make|write|add|generate) )",
    re.IGNORECASE,
)
"""The text between two calls; a lookahead requires the beginning of the second."""
_FRONTED = pattern(rf"in (?:the )?(?:file |{_FOLDER} )?{_TOKEN},? ", re.IGNORECASE)
"""`In src/a.py, …`: the path of every following call of the sentence, up to the next such words."""
_TAIL = pattern(r"(?:,? (?:please|now|for me|too|as well|again|first|thanks|thank you))+$", re.IGNORECASE)
"""Words after a call that do not change it."""
_SHORT = 60
_LIMIT = 2_000


def literal_calls(sentence: Masked, references: Mapping[str, str]) -> tuple[LiteralCall, ...]:
    """The calls of a sentence that consists of calls and nothing else; empty for any other sentence.

    The sentence has no lead-in words. `references` maps references as written to workspace paths.
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
        match = line.cut(at, end)
        words = front.text + _TAIL.sub("", match.text)
        found = _calls_of(Masked(words, front.literals + match.literals), references)
        if not found:
            return ()
        calls += found
        at = following
    return tuple(calls)


def _calls_of(match: Masked, references: Mapping[str, str]) -> tuple[LiteralCall, ...]:
    words = frozenset(_WORD.findall(match.text.casefold()))
    for verbs, form, read in _BY_VERBS:
        if not verbs.isdisjoint(words) and (found := form.fullmatch(match.text)) is not None:
            with suppress(_NoCall):
                return tuple(read(_Match(found, match, references)))
    return ()
