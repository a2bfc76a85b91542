"""Literal tool calls in a sentence: "create folder X", "replace "A" with "B" in F", "run `cmd`"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.values import Args
from planloom.planning.rules.literals import LINES, PLACEHOLDER, Masked, Names, written_path
from planloom.planning.rules.translations import translations
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
_NO_NAMES = frozenset(f"{_NOUNS} and called for it named that the them there this with".split())
_HERE = frozenset({"root", "workspace", "project", "repository", "repo", "here", ".", "./"})
_TOKEN = rf"(?:@?{PLACEHOLDER}|[^\s,;{PLACEHOLDER}]+)"
_FOLDER = r"(?:sub)?(?:folder|directory|dir)"
PREVIOUS = PLACEHOLDER
"""As content: the result of the call before, which reads it."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A match of a form, with access to its slots by name.

    A slot that has several positions in a form has a group for each: `path`, `path_2`. A missing argument raises
    `_NoCall`. `folder` is the one that the call before creates: "it".
    """

    found: re.Match[str]
    masked: Masked
    names: Names
    folder: str | None

    def slot(self, name: str) -> Masked:
        """The words of a slot with their literals; empty if the slot was not filled."""
        groups = self.found.groupdict()
        filled = next((each for each in (name, f"{name}_2", f"{name}_3") if groups.get(each)), None)
        return self.masked.cut(*(self.found.span(filled) if filled else (0, 0)))

    def __getitem__(self, name: str) -> str:
        return self.slot(name).text

    def paths(self, name: str, *, certain: bool = False, existing: bool = False) -> list[str]:
        """Every path of a list ("a, b and c"). `certain`: the words before it ("folder") make any word a path.

        `existing`: so does a file or folder of that name, unless it has an article: "the tests" may be a thought.
        """
        slot = self.slot(name)
        words = [found for found in re.finditer(_TOKEN, slot.text) if found[0].lower() != "and"]
        existing = existing and _ARTICLE.search(self.found[0]) is None
        named = [
            written_path(slot.cut(*word.span()), self.names, certain=certain, existing=existing)
            for word in words
        ]
        sure = [path for path in named if path is not None and path.lower() not in _NO_NAMES]
        if not sure or len(sure) < len(named):
            raise _NoCall
        return sure

    def path(self, name: str, *, certain: bool = False, existing: bool = False) -> str:
        """The first path of a slot."""
        return self.paths(name, certain=certain, existing=existing)[0]

    def target(self) -> str:
        """The new path, of any form after "to", but not after an article: "to the left"."""
        before = self.found.string[: self.found.start("new")].lower()
        certain = bool(self["into"]) and (
            bool(self["folder"]) or not before.endswith((" the ", " my ", " our "))
        )
        return self.path("new", certain=certain or self["verb"] in ("mv", "cp"))

    def value(self, name: str) -> str:
        """The text of a slot: that of its literal, or the words as written (`"port": 8080`, `foo`)."""
        slot = self.slot(name)
        if slot.text != PLACEHOLDER:
            return slot.source
        (literal,) = slot.literals
        return literal.text.removesuffix("\n") if literal.kind == "block" else literal.text

    def placed(self, path: str) -> str:
        """The path, below the folder that the words name, if any."""
        if self["place"].lower() == "it":
            if self.folder is None:
                raise _NoCall
            return f"{self.folder}/{path}"
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
    path = match.path("path", existing=True)
    old, new = match.value("old"), match.value("new")
    if not old or (not match.masked.literals and old.endswith("s")):
        # "Replace tabs with spaces" is about more than these letters.
        raise _NoCall
    every: Args = {"replace_all": True} if match["all"] else {}
    yield LiteralCall(
        "edit_file",
        {"path": path, "old_text": old, "new_text": new, **every},
        f"Replace {_short(old)!r} in {path}",
    )


def _append(match: _Match) -> _Calls:
    path, text, verb = match.path("path", existing=True), match.value("content"), match["verb"].lower()
    at_top = bool(match["top"]) or verb == "prepend"
    if not text or not (at_top or match["end"] or verb == "append" or path.endswith("ignore")):
        raise _NoCall
    added = text.removesuffix("\n").split("\n")
    lines = "".join(f"+{line}\n" for line in added)
    if at_top:
        patch, title = (
            f"--- {path}\n+++ {path}\n@@ -0,0 +1,{len(added)} @@\n{lines}",
            f"Insert at the top of {path}",
        )
    else:
        # A patch whose only hunk adds lines puts them at the end of the file.
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{lines}*** End of File\n*** End Patch"
        title = f"Append to {path}"
    yield LiteralCall("edit_file", {"path": path, "patch": patch}, title)


def _copy(match: _Match) -> _Calls:
    old, new = _from_to(match, into=match["into"].lower() == "into")
    yield LiteralCall("read_file", {"path": old}, f"Read {old}")
    yield LiteralCall("write_file", {"path": new, "content": PREVIOUS}, f"Copy {old} to {new}")


def _from_to(match: _Match, *, into: bool) -> tuple[str, str]:
    """The old path and the new one, which may be the folder above it. `into`: it certainly is."""
    old = match.path("old", certain=bool(match["noun"]), existing=True)
    new = match.target()
    base = old.rstrip("/").rpartition("/")[2]
    into = into or new.endswith("/") or bool(match["folder"])
    if into or ("." in base.lstrip(".") and "." not in new.rpartition("/")[2]):
        new = f"{new.rstrip('/')}/{base}"
    return old, new


def _rename(match: _Match) -> _Calls:
    verb = {"mv": "move"}.get(match["verb"].lower(), match["verb"].lower())
    if verb == "move":
        old, new = _from_to(match, into=match["into"].lower() == "into")
    else:
        old = match.path("old", certain=bool(match["noun"]), existing=True)
        new = match.target()
        folder = old.rstrip("/").rpartition("/")[0]
        new = f"{folder}/{new}" if folder and "/" not in new else new
    old, new = old.rstrip("/") or old, new.rstrip("/") or new
    yield LiteralCall("rename_path", {"path": old, "new_path": new}, f"{verb.capitalize()} {old} to {new}")


def _rename_symbol(match: _Match) -> _Calls:
    old, new = (match.value(name).removesuffix("()") for name in ("old", "new"))
    if not match.names.symbols or not all(map(_SYMBOL.fullmatch, (old, new))):
        raise _NoCall
    args: Args = {"symbol": old, "new_name": new}
    if match["path"]:
        args["path"] = match.path("path", existing=True)
    yield LiteralCall("rename_symbol", args, f"Rename {old} to {new}")


def _delete(match: _Match) -> _Calls:
    # "Delete the file upload" may mean a feature, "the file README" does not.
    folder = not match["noun"].lower().startswith("file") or not match["paths"].islower()
    for path in match.paths("paths", certain=bool(match["noun"]) and folder, existing=True):
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
        path = match.names.references.get(ranged[0]) or written_path(Masked(ranged["path"], ()), match.names)
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
_ARTICLE = pattern(r"^\w+ (?:the|a|an|this|my|our) ", re.IGNORECASE)
_ARTICLES = r"(?:(?:a|an|the|this|my|our|new|empty|text) )*"
_NAMED = r"(?:(?:called|named|at) )?"
_FILE = rf"{_ARTICLES}(?:file )?"
_PLACED = _in("in|inside|under|within|into")
_FOR_CONTENT = (
    r"(?:with:?|containing:?|that contains|whose contents? (?:is|are)|and put|and write) (?:only )?(?:the |this )?"
    r"(?:(?:following|exact|initial|single) )*(?:(?:contents?|text|body|code|data|lines?)(?: of)?)?"
    r" ?(?:is |are |as |=|:)? ?"
)
_TEXT = r"(?:the )?(?:(?:text|word|string|line|lines|phrase|content|following) )*"
_VALUE = rf"{PLACEHOLDER}(?:: ?[\w.+-]+)?"
_WORD_VALUE = r"(?-i:[a-z0-9_][a-z0-9_.-]*)"
_EVERY = r"(?:all|every|each)(?: (?:occurrences?|instances?))?(?: of)? "
_CHANGE = "(?:replace|change|swap|update|bump)"
_ARGUMENT = (
    rf"(?:--?[A-Za-z][\w-]*(?:=[^\s,;{PLACEHOLDER}]+)?|{PLACEHOLDER}|[\w@.~^-]*[./:][\w@./:~^*-]*|[0-9]+"
    r"|HEAD|origin|main|master|up|down|tidy|pop)"
)
_LINE = (
    rf"(?:{COMMAND_START}|yarn|(?<=[Rr]un )make(?: [\w.-]+)?)"
    rf"(?:(?<= run) [\w:.-]+|(?<= -m) [\w.]+|(?<= compose) \w+| {_ARGUMENT})*"
)

_SYMBOLS = "(?:function|method|class|constant|symbol|interface|type|struct|enum)"
"""What a search by name finds: of a variable or a field it may know nothing."""
_EVERYWHERE = (
    r"(?: everywhere| (?:in|across) (?:all|every|the whole|the entire|my|the|this) "
    r"(?:files?|code|codebase|project|workspace|repo|repository)| wherever it is used)?"
)
_SYMBOL = pattern(r"[^\W\d]\w*(?:(?:\.|::|#)[^\W\d]\w*){0,5}")

_FORMS: Mapping[Callable[[_Match], _Calls], tuple[str, ...]] = {
    _folders: (
        "create make add mkdir",
        rf"(?:create|make|add) {_ARTICLES}(?:{_FOLDER}s?|(?:sub)?directories):? {_NAMED}(?P<paths>{_TOKENS}?){_PLACED}",
        rf"mkdir (?:-p )?(?P<paths>{_TOKENS})",
        rf"(?:create|make|add) {_ARTICLES}(?P<paths>{_TOKEN}) (?P<before_noun>{_FOLDER}){_PLACED}",
    ),
    _write: (
        "write save put create make add generate overwrite touch",
        rf"(?:write|save|put) (?:the )?(?:(?:text|content|contents|line|code|string) )?(?P<content>{PLACEHOLDER})"
        rf" (?:to|into|in|as) {_ARTICLES}(?P<file>(?:file|script) )?{_NAMED}(?P<paths>{_TOKEN})",
        rf"(?:in (?:the )?(?:{_FOLDER} )?(?P<front>{_TOKEN}),? )?"
        rf"(?:create|write|make|add|generate|save|overwrite) {_ARTICLES}"
        rf"(?P<file>(?:file|script|document|module) )?{_NAMED}(?P<paths>{_TOKEN}){_PLACED}"
        rf"(?:,? {_FOR_CONTENT}|: ?| )(?P<content>{PLACEHOLDER})"
        rf"(?: (?:in|inside|under) (?:the )?{_FOLDER} (?P<behind>{_TOKEN})| inside(?: it)?| in it)?",
        rf"(?:(?:create|make|add|put) {_ARTICLES}files?:? {_NAMED}|(?:create|make|add|put) (?:an? )?empty |create )"
        rf"(?P<paths>{_TOKENS}?){_PLACED}",
        rf"touch (?P<paths>{_TOKEN}(?: {_TOKEN})*)",
    ),
    _replace: (
        "replace change swap update bump",
        rf"(?:in {_FILE}(?P<path_2>{_TOKEN}),? )?{_CHANGE} (?P<all>{_EVERY})?{_TEXT}(?P<old>{_VALUE})"
        rf" (?:with|by|to|into) {_TEXT}(?P<new>{_VALUE})(?P<all_2> everywhere)?"
        rf"(?: (?:in|inside|within) {_FILE}(?P<path>{_TOKEN}))?(?P<all_3> everywhere)?",
        rf"{_CHANGE} (?P<all>{_EVERY})?{_TEXT}(?P<old>{_VALUE}) (?:in|inside|within) {_FILE}(?P<path>{_TOKEN})"
        rf" (?:with|by|to|into) {_TEXT}(?P<new>{_VALUE})(?P<all_2> everywhere)?",
        rf"(?:in {_FILE}(?P<path_2>{_TOKEN}),? )?replace (?P<all>{_EVERY})?(?P<old>{_WORD_VALUE}) (?:with|by)"
        rf" (?P<new>{_WORD_VALUE})(?: in {_FILE}(?P<path>{_TOKEN}))?",
    ),
    _append: (
        "append prepend add insert",
        rf"(?P<verb>append|prepend|add|insert) {_TEXT}:? ?(?P<content>{PLACEHOLDER}) (?:to|at) "
        rf"(?:(?:the )?(?:(?P<end>end|bottom)|(?P<top>top|start|beginning)) of )?{_FILE}(?P<path>{_TOKEN})",
        rf"(?P<verb>append|prepend) {_TEXT}to (?:the (?:end|(?P<top>top|start|beginning)) of )?{_FILE}"
        rf"(?P<path>{_TOKEN}?):? (?P<content>{PLACEHOLDER})",
        r"(?P<verb>add|append) (?P<content>[\w./*-]+) to (?:the )?(?P<path>\.\w*ignore)",
    ),
    _copy: (
        "copy cp",
        rf"(?P<verb>copy) {_ARTICLES}(?P<noun>file )?(?P<old>{_TOKEN}) (?P<into>to|as|into) {_ARTICLES}"
        rf"(?P<folder>{_FOLDER} )?(?P<new>{_TOKEN})",
        rf"(?P<verb>(?-i:cp)) (?P<old>{_TOKEN}) (?P<new>{_TOKEN})",
    ),
    _rename_symbol: (
        "rename",
        rf"rename {_ARTICLES}{_SYMBOLS} {_NAMED}(?P<old>{_TOKEN})(?: in {_FILE}(?P<path>{_TOKEN}))?{_EVERYWHERE}"
        rf" (?:to|as|into) (?P<new>{_TOKEN})(?: in {_FILE}(?P<path_2>{_TOKEN}))?{_EVERYWHERE}",
        rf"rename {_ARTICLES}{_SYMBOLS} {_NAMED}(?P<old>{_TOKEN}){_EVERYWHERE} (?:to|as|into) (?P<new>{_TOKEN})"
        rf"{_EVERYWHERE}",
    ),
    _rename: (
        "rename move mv",
        rf"(?P<verb>rename|move) {_ARTICLES}(?P<noun>(?:file|{_FOLDER}|path) )?(?P<old>{_TOKEN}) (?P<into>to|as|into)"
        rf" {_ARTICLES}(?P<folder>{_FOLDER} )?(?P<new>{_TOKEN})",
        rf"(?P<verb>(?-i:mv)|rename|move) (?P<old>{_TOKEN}) (?P<new>{_TOKEN})",
    ),
    _delete: (
        "delete remove rm",
        rf"(?:delete|remove) {_ARTICLES}(?P<noun>(?:files?|{_FOLDER}s?|directories|path):? )?(?P<paths>{_TOKENS})",
        rf"(?-i:rm (?:-[rf]+ )?)(?P<paths>{_TOKEN}(?: {_TOKEN})*)",
    ),
    _run: (
        f"run execute make {' '.join(PROGRAMS)}",
        r"(?:run|execute):? (?:the )?(?P<noun>(?:following )?(?:shell )?(?:commands?|script|cmd) ?)?:? ?"
        rf"(?P<marked>{PLACEHOLDER}){_in('in|inside|from')}",
        # An unquoted command line must be in lower case, as in a shell.
        r"(?:(?:run|execute):? (?:(?:the (?:following )?command):? )?)?(?-i:(?P<command>"
        rf"{_LINE}(?: (?:&&|\|\|) {_LINE})*){_in('in')})",
    ),
    _read: (
        "read open view",
        r"(?:read|open|view) "
        r"(?:lines? (?P<first>[0-9]{1,9})(?: ?(?:-|–|to) ?(?P<last>[0-9]{1,9}))? (?:of|from|in) )?"
        rf"{_ARTICLES}(?:contents? of )?{_ARTICLES}(?:files? )?(?P<paths>{_TOKENS}?)"
        r"(?:,? \(?(?:from |at )?lines? (?P<first_2>[0-9]{1,9})"
        r"(?: ?(?:-|–|to) ?(?:line )?(?P<last_2>[0-9]{1,9}))?\)?)?",
    ),
    _list: (
        "list",
        r"list (?P<deep>all )?(?:of )?(?:the )?(?:files|folder contents|contents)(?: and (?:folders|directories))?"
        rf"(?P<deep_2> recursively)?{_in('in|inside|under|of|within|from')}(?P<deep_3> recursively)?",
    ),
}
"""The forms of each call, below the verbs and programs of which a text has one if a form matches it: other forms are
not even compiled. The first form that matches with all its arguments is used."""
_BY_VERBS = tuple(
    (frozenset(verbs.split()), pattern(form, re.IGNORECASE), read)
    for read, (verbs, *forms) in _FORMS.items()
    for form in forms
)
_WORD = pattern(r"\w+")

_ELLIPSIS = (
    rf"(?:an? |the )?(?:new |empty )*(?:file|{_FOLDER})s? {_NAMED}{_TOKEN}|{_TOKEN},? (?:with|containing) "
)
_BETWEEN = pattern(
    rf"(?:, | ?; ?| ?(?<!&)&(?!&) ?)(?:{CONNECTING},? )*|,? (?:{CONNECTING},? )+",
    re.IGNORECASE,
)
"""The text between two calls."""
_NEXT = pattern(
    rf"(?P<verb>(?:{'|'.join(sorted(frozenset().union(*(verbs for verbs, _, _ in _BY_VERBS))))}) |\./"
    rf"|in [^ ]+,? (?:replace|change|create|make|write|add|generate) )|{_ELLIPSIS}",
    re.IGNORECASE,
)
"""The beginning of a call after another; without a verb it has that of the one before: "and the folder b"."""
_FRONTED = pattern(rf"in (?:the )?(?:file |{_FOLDER} )?{_TOKEN},? ", re.IGNORECASE)
"""`In src/a.py, …`: the path of every following call of the sentence, up to the next such words."""
_TAIL = pattern(r"(?:,? (?:please|now|for me|too|as well|again|first|thanks|thank you))+$", re.IGNORECASE)
"""Words after a call that do not change it."""
_LEADING = pattern(rf"\A(?:{CONNECTING},? )+", re.IGNORECASE)
_SHORT = 60
_LIMIT = 2_000


def literal_calls(sentence: Masked, names: Names) -> tuple[LiteralCall, ...]:
    """The calls of a sentence that consists of calls and nothing else; empty for any other sentence.

    The sentence has no lead-in words.
    """
    if len(sentence.text) > _LIMIT:
        return ()
    line = " ".join(sentence.text.split())
    if found := _calls(Masked(line, sentence.literals), names):
        return found
    for english in translations(line):
        found = _calls(Masked(_LEADING.sub("", english), sentence.literals), names)
        if found and all(_is_written(call, sentence.source, names) for call in found):
            return found
    return ()


_NAMES = frozenset({"path", "new_path", "command", "cwd", "symbol", "new_name"})


def _is_written(call: LiteralCall, source: str, names: Names) -> bool:
    """Whether the names and the command of a call stand in the words, and are not themselves translated."""
    written = (value for name, value in call.args.items() if name in _NAMES)
    return all(
        value in names.references.values() or all(part in source for part in str(value).split("/"))
        for value in written
    )


def _calls(line: Masked, names: Names) -> tuple[LiteralCall, ...]:
    calls: list[LiteralCall] = []
    front, at, verb = line.cut(0, 0), 0, ""
    while at <= len(line.text):
        fronted = _FRONTED.match(line.text, at)
        if fronted is not None:
            front, at = line.cut(*fronted.span()), fronted.end()
        cut = next(
            (each for each in _BETWEEN.finditer(line.text, at) if _NEXT.match(line.text, each.end())), None
        )
        end = cut.start() if cut else len(line.text)
        match = line.cut(at, end)
        words = front.text + verb + _TAIL.sub("", match.text)
        folder = str(calls[-1].args["path"]) if calls and calls[-1].tool == "create_folder" else None
        found = _calls_of(Masked(words, front.literals + match.literals), names, folder)
        # "Create a.txt and b.txt with …" may give the content to both.
        if not found or (verb and match.literals and calls[-1].args.get("content") == ""):
            return ()
        calls += found
        if cut is None:
            break
        at = cut.end()
        following = _NEXT.match(line.text, at)
        repeats = following is not None and not following["verb"]
        verb = words[len(front.text) :].partition(" ")[0] + " " if repeats else ""
    return tuple(calls)


def _calls_of(match: Masked, names: Names, folder: str | None) -> tuple[LiteralCall, ...]:
    words = frozenset(_WORD.findall(match.text.casefold()))
    for verbs, form, read in _BY_VERBS:
        if (not verbs.isdisjoint(words) or (read is _run and match.text.startswith("."))) and (
            found := form.fullmatch(match.text)
        ) is not None:
            with suppress(_NoCall):
                return tuple(read(_Match(found, match, names, folder)))
    return ()
