"""Reads a plan while the model writes it, and announces each step as soon as it is complete."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator
from typing import TypeVar

from planloom.domain.model_text.fences import closes, opening
from planloom.domain.model_text.lenient_json import Unreadable, read_container
from planloom.domain.model_text.reasoning import ReasoningSplitter
from planloom.planning.formats.draft import DraftStep, NoPlan, PlanText
from planloom.planning.formats.json_steps import steps_in
from planloom.planning.formats.labelled import OpenStep, header, split_headers
from planloom.planning.formats.numbered import ListItem, item
from planloom.planning.formats.reader import MARKER, is_end, read_plan

_JSON_BEGINS = re.compile(r"[ \t]{0,200}(?:\{|\[\s{0,200}\{)")
_MAY_BEGIN_JSON = re.compile(r"[ \t]{0,200}(?:\[\s{0,200})?\Z")
_WORDS = re.compile(r"\s{0,20}[^\s#`~]")
Read = TypeVar("Read")
_STRUCTURE = re.compile(r"\\.|[\"{}\[\]]", re.DOTALL)


class PlanStream:
    """Reads a plan in chunks. `feed` returns the steps that are complete so far; `close` returns the plan.

    Neither depends on where the chunks divide. Nothing is announced while the text may be reasoning whose tag nothing
    has opened: more than one line of words stands in front of the plan. An announced step may turn out not to be part
    of the plan, since a second marked block replaces the first.
    """

    def __init__(self, tools: Collection[str] = ()) -> None:
        self._tools = tools
        self._chunks: list[str] = []
        self._reasoning = ReasoningSplitter()
        self._reasoned = False
        self._begin()

    def _begin(self) -> None:
        self._line: list[str] = []
        self._plain = False
        self._lines = _LineSteps()
        self._json: _JsonSteps | None = None

    def feed(self, chunk: str) -> tuple[DraftStep, ...]:
        """Take more text; returns the steps that are complete now."""
        if not self._chunks:
            chunk = chunk.removeprefix("\ufeff")
        if not chunk:
            return ()
        self._chunks.append(chunk)
        first, *others = self._reasoning.feed(chunk)
        steps = list(self._announced(first))
        for visible in others:
            # All text before was reasoning: drop what has begun in it.
            self._begin()
            self._reasoned = True
            steps += self._announced(visible)
        return tuple(steps)

    def close(self) -> PlanText | NoPlan:
        """The plan in all the text, read as a whole."""
        return read_plan("".join(self._chunks), self._tools)

    def _announced(self, text: str) -> Iterator[DraftStep]:
        """Return the steps that are complete, and keep the rest for the next text."""
        self._line.append(text)
        if not text or (self._plain and "\n" not in text):
            return
        text = "".join(self._line)
        self._line.clear()
        offset = 0
        while offset < len(text):
            if self._json is not None:
                offset = yield from self._surely(self._json.feed(text, offset))
                if self._json.over:
                    self._json = None
                elif len(text) - offset < 2:
                    break
                continue
            if not self._plain and self._lines.may_hold_json():
                if _JSON_BEGINS.match(text, offset) is not None:
                    self._json = _JsonSteps(self._tools)
                    continue
                if _MAY_BEGIN_JSON.match(text, offset) is not None:
                    break
            end = text.find("\n", offset)
            self._plain = end < 0
            if end < 0:
                break
            line, offset = text[offset:end], end + 1
            yield from self._surely(self._lines.feed(line.rstrip("\r")))
        if offset < len(text):
            self._line.append(text[offset:])

    def _surely(self, found: Generator[DraftStep, None, Read]) -> Generator[DraftStep, None, Read]:
        """Pass on the steps that are found, unless they may be reasoning; returns what finding them returns."""
        while True:
            try:
                step = next(found)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if self._reasoned or self._lines.words <= 1:
                yield step


class _LineSteps:
    """Reads labelled or numbered steps line by line."""

    def __init__(self) -> None:
        self.marked = False
        self.fence = ""
        self.open: OpenStep | None = None
        self.item: ListItem | None = None
        self.blank = False
        self.doubt = False
        self.ended = False
        self.words = 0

    def may_hold_json(self) -> bool:
        """Whether the next line may begin a plan in JSON, which it may not inside a step."""
        return self.open is None and self.item is None

    def feed(self, line: str) -> Generator[DraftStep, None, None]:
        if self.fence:
            if closes(line, self.fence):
                self.fence = ""
            self._body(line, code=True)
            return
        for part in split_headers(line):
            yield from self._outside(part)

    def _outside(self, line: str) -> Iterator[DraftStep]:
        """Take a line that is not code."""
        opened = opening(line)
        marker = MARKER.search(line)
        if marker is not None:
            yield from self._finish()
            self.marked = not is_end(marker)
        elif (head := header(line)) is not None and (self.marked or head.numbered):
            yield from self._finish()
            self.open = OpenStep(head, [head.work] if head.work else [])
        elif (entry := item(line)) is not None and self._is_item(entry):
            yield from self._finish()
            self.item = entry
        else:
            # Prose after a blank line may end a list; the number of the next item decides.
            self.doubt = self.doubt or (self.blank and bool(line[:1].strip()))
            self._body(line, code=False)
            self.words += self.may_hold_json() and not self.marked and _WORDS.match(line) is not None
        self.blank = not line.strip()
        # A fence that opens before the first step holds the whole plan, so its lines are read.
        if opened is not None and (self.open is not None or self.item is not None):
            self.fence = opened[0]

    def _is_item(self, entry: ListItem) -> bool:
        if self.open is not None or self.marked:
            return False
        if self.item is None:
            return not self.ended
        if entry.indent > self.item.indent + 1:
            return False
        if self.doubt and entry.number != self.item.number + 1:
            self.item, self.ended = None, True
            return False
        return True

    def _body(self, line: str, *, code: bool) -> None:
        if self.open is not None:
            self.open.add(line, code=code)
        elif self.item is not None:
            self.item.lines.append(line)

    def _finish(self) -> Iterator[DraftStep]:
        """The current step, if it is labelled, marked or an item of a list."""
        step = None
        if self.open is not None and (self.open.labelled or self.marked):
            step = self.open.step()
        elif self.item is not None:
            step = self.item.step()
        self.open = self.item = None
        self.doubt = False
        if step is not None:
            yield step


class _JsonSteps:
    """Reads the steps of a JSON text in chunks: each object of its first array of objects."""

    def __init__(self, tools: Collection[str]) -> None:
        self.over = False
        self._tools = tools
        self._stack: list[str] = []
        self._quoted = False
        self._level = 0
        self._pieces: list[str] | None = None

    def feed(self, text: str, start: int) -> Generator[DraftStep, None, int]:
        """Yield the steps that end in `text` after `start`; returns the position up to which the text was used."""
        begin = end = start
        for token in _STRUCTURE.finditer(text, start):
            sign, end = token[0], token.end()
            if sign == '"':
                self._quoted = not self._quoted
            elif self._quoted or sign[0] == "\\":
                continue
            elif sign in "{[":
                self._stack.append(sign)
                if self._begins_step():
                    self._pieces, begin = [], token.start()
            else:
                if self._pieces is not None and len(self._stack) == self._level:
                    yield from self._steps("".join([*self._pieces, text[begin:end]]))
                    self._pieces = None
                self._stack.pop()
                if not self._stack:
                    self.over = True
                    return end
        # A backslash at the very end waits for the character that it escapes.
        used = len(text) - (text.endswith("\\") and end < len(text))
        if self._pieces is not None:
            self._pieces.append(text[begin:used])
        return used

    def _begins_step(self) -> bool:
        if self._stack[-2:] != ["[", "{"] or self._level not in (0, len(self._stack)):
            return False
        self._level = len(self._stack)
        return True

    def _steps(self, text: str) -> Iterator[DraftStep]:
        parsed = read_container(text, 0)
        found = None if isinstance(parsed, Unreadable) else steps_in([parsed.value], self._tools)
        if found is not None and not found.weak:
            yield from found.steps
