"""A language server in memory: it knows names by their letters, and judges as it is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from planloom.domain.changes import Changeset
from planloom.domain.problems import Judged
from planloom.domain.text.positions import LineIndex, Position, Range, TextEdit
from planloom.domain.values import Uri
from planloom.workspace.editor import Diagnostic, FileDiagnostics
from planloom.workspace.language import (
    ENCODING,
    CodeAction,
    CodeChange,
    FileEdits,
    Nearby,
    NotKnown,
    Place,
    ServerReport,
    Symbol,
    Texts,
)
from planloom.workspace.paths.uris import from_path, normalized, to_path

_DECLARED = re.compile(r"^([ \t]*)(def|class|function)\s+(\w+).*\n?((?:\1[ \t]+.*\n?|\s*\n)*)", re.MULTILINE)

_NOT_CODE = r"\"\"\"(?s:.*?)\"\"\"|\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*"
"""Strings and comments, whose words are no names."""


class FakeLanguage:
    """Answers for the files with one suffix in a folder. A name is a symbol where a line declares it.

    `judgement` says what changes would bring; `offered` are the actions of any stretch; `renamed` turns the answer to
    each rename into another; `reported` are the problems of a text; `problem` makes every question fail. `asked` are
    the questions in their order.
    """

    def __init__(self, folder: Path, suffix: str = ".py") -> None:
        self.folder = folder
        self.suffix = suffix
        self.judgement: Callable[[Changeset, Texts], Judged | None] = lambda changes, under: Judged(by="fake")
        self.offered: tuple[CodeAction, ...] = ()
        self.renamed: Callable[[CodeChange], CodeChange] = lambda change: change
        self.reported: Callable[[str], tuple[Diagnostic, ...]] = lambda text: ()
        self.problem = ""
        self.asked: list[str] = []

    def serves(self, uri: Uri) -> bool:
        return uri.endswith(self.suffix)

    def judges(self, uri: Uri) -> bool:
        return self.serves(uri)

    def prepare(self, uri: Uri) -> None:
        """It is always ready."""

    async def symbols(self, uri: Uri, texts: Texts) -> tuple[Symbol, ...]:
        self._ask("symbols")
        return tuple(self._declared(normalized(uri), self._text(uri, texts)))

    async def named(self, name: str, texts: Texts) -> tuple[Symbol, ...]:
        self._ask("named")
        found = [each for uri in self._uris(texts) for each in self._declared(uri, self._text(uri, texts))]
        return tuple(each for each in found if name.lower() in each.name.lower())

    async def nearby(self, what: Nearby, uri: Uri, position: Position, texts: Texts) -> tuple[Place, ...]:
        self._ask(what)
        name = self._name_at(uri, position, texts)
        return tuple(
            Place(each, found)
            for each in self._uris(texts)
            for found in _words(self._text(each, texts), name)
            if what != "definition"
            or f"def {name}" in LineIndex(self._text(each, texts)).line_text(found.start.line)
        )

    async def hover(self, uri: Uri, position: Position, texts: Texts) -> str:
        self._ask("hover")
        return self._name_at(uri, position, texts)

    async def rename(self, uri: Uri, position: Position, new_name: str, texts: Texts) -> CodeChange:
        self._ask("rename")
        name = self._name_at(uri, position, texts)
        if not name:
            raise NotKnown("There is nothing to rename here.")
        known = {each: self._text(each, texts) for each in self._uris(texts)}
        files = tuple(
            FileEdits(each, tuple(TextEdit(found, new_name) for found in _words(text, name)))
            for each, text in known.items()
            if _words(text, name)
        )
        return self.renamed(CodeChange(files, known))

    async def actions(self, uri: Uri, range_: Range, texts: Texts) -> tuple[CodeAction, ...]:
        self._ask("actions")
        return self.offered

    async def formatted(self, uri: Uri, texts: Texts) -> CodeChange:
        self._ask("formatted")
        return CodeChange((), {})

    async def diagnostics(self, uris: tuple[Uri, ...], texts: Texts) -> tuple[FileDiagnostics, ...]:
        self._ask("diagnostics")
        if not all(map(self.serves, uris)):
            raise NotKnown("No language server of ours serves such a file.")
        return tuple(FileDiagnostics(uri, self.reported(self._text(uri, texts))) for uri in uris)

    async def judge(self, changes: Changeset, under: Texts, seconds: float) -> Judged | None:
        self.asked.append("judge")
        return self.judgement(changes, under)

    def reports(self) -> tuple[ServerReport, ...]:
        return (ServerReport("fake", "fake", "running"),)

    async def close(self) -> None:
        """Nothing was started."""

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.problem:
            raise NotKnown(self.problem)

    def _uris(self, texts: Texts) -> list[Uri]:
        found = self.folder.rglob(f"*{self.suffix}")
        files = {normalized(from_path(path)) for path in found if path.is_file() and ".git" not in path.parts}
        files |= {uri for uri, text in texts.items() if text is not None and self.serves(uri)}
        return sorted(uri for uri in files if texts.get(uri, "") is not None)

    def _text(self, uri: str, texts: Texts) -> str:
        staged = texts.get(normalized(uri))
        path = to_path(uri)
        return staged if staged is not None else "" if path is None else path.read_text("utf-8")

    def _declared(self, uri: Uri, text: str) -> Iterator[Symbol]:
        index = LineIndex(text)
        at, around = 0, list[tuple[int, str]]()
        while match := _DECLARED.search(text, at):
            at = match.start(4)
            around = [each for each in around if match.start() < each[0]]
            container = around[-1][1] if around else ""
            around.append((match.end(), match[3]))
            name, whole = (_range(index, *match.span(each)) for each in (3, 0))
            kind = "class" if match[2] == "class" else "method" if container else "function"
            yield Symbol(match[3], kind, uri, whole, name, container)

    def _name_at(self, uri: Uri, position: Position, texts: Texts) -> str:
        text = self._text(uri, texts)
        offset = LineIndex(text).offset(position, ENCODING)
        return next(
            (each[0] for each in re.finditer(r"\w+", text) if each.start() <= offset <= each.end()), ""
        )


def _range(index: LineIndex, start: int, end: int) -> Range:
    """The range of a stretch of a text, without the blanks at its end."""
    end = start + len(index.text[start:end].rstrip())
    return Range(start=index.position(start, ENCODING), end=index.position(end, ENCODING))


def _words(text: str, name: str) -> list[Range]:
    index = LineIndex(text)
    found = re.finditer(rf"{_NOT_CODE}|\b({re.escape(name)})\b", text)
    return [_range(index, *each.span(1)) for each in found if each[1] is not None]
