"""A plan read while the model still writes it: each step is announced once it is sure to be over."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator

from planloom.planning.formats.draft import DraftStep, NoPlan, PlanText
from planloom.planning.formats.fences import closes, opening
from planloom.planning.formats.json_steps import steps_in
from planloom.planning.formats.labelled import Open, header, parted
from planloom.planning.formats.lenient_json import Unreadable, parse
from planloom.planning.formats.numbered import Item, item
from planloom.planning.formats.reader import MARKER, ends, read_plan

_REASONING = re.compile(
    r"(?P<open><(?:think(?:ing)?|reasoning|thought|seed:think)>|\[THINK\]|<\|START_THINKING\|>)"
    r"|(?P<close></(?:think(?:ing)?|reasoning|thought|seed:think)>|\[/THINK\]|<\|END_THINKING\|>)",
    re.IGNORECASE,
)
_JSON_BEGINS = re.compile(r"[ \t]{0,200}(?:\{|\[\s{0,200}\{)")
_MAY_BEGIN_JSON = re.compile(r"[ \t]{0,200}(?:\[\s{0,200})?\Z")
_STRUCTURE = re.compile(r"\\.|[\"{}\[\]]", re.DOTALL)


class PlanStream:
    """Reads a plan in chunks. What `feed` announces is what has been seen; what `close` returns is the plan.

    Both do not depend on where the chunks divide. An announced step may turn out not to be part of the
    plan (a second marked block replaces the first; an orphan `</think>` makes thought of all before it).
    """

    def __init__(self, tools: Collection[str] = ()) -> None:
        self._tools = tools
        self._chunks: list[str] = []
        self._line: list[str] = []
        self._plain = False
        self._lines = _Lines()
        self._json: _JsonSteps | None = None

    def feed(self, chunk: str) -> tuple[DraftStep, ...]:
        """Take more text; the steps that are over now."""
        if not self._chunks:
            chunk = chunk.removeprefix("\ufeff")
        if not chunk:
            return ()
        self._chunks.append(chunk)
        self._line.append(chunk)
        if self._plain and "\n" not in chunk:
            return ()
        rest = "".join(self._line)
        self._line.clear()
        return tuple(self._announced(rest))

    def close(self) -> PlanText | NoPlan:
        """The plan in all the text, read as a whole."""
        return read_plan("".join(self._chunks), self._tools)

    def _announced(self, text: str) -> Iterator[DraftStep]:
        """Announce what is over in `text`, and keep what has no end yet for the next chunk."""
        at = 0
        while at < len(text):
            if self._json is not None:
                at = yield from self._json.feed(text, at)
                if self._json.over:
                    self._json = None
                elif len(text) - at < 2:
                    break
                continue
            if not self._plain and self._lines.may_hold_json():
                if _JSON_BEGINS.match(text, at) is not None:
                    self._json = _JsonSteps(self._tools)
                    continue
                if _MAY_BEGIN_JSON.match(text, at) is not None:
                    break
            end = text.find("\n", at)
            self._plain = end < 0
            if end < 0:
                break
            line, at = text[at:end], end + 1
            yield from self._lines.feed(line.rstrip("\r"))
        if at < len(text):
            self._line.append(text[at:])


class _Lines:
    """The labelled or numbered steps of a text that comes line by line."""

    def __init__(self) -> None:
        self.thinking = False
        self.marked = False
        self.fence = ""
        self.open: Open | None = None
        self.item: Item | None = None
        self.blank = False
        self.doubt = False
        self.ended = False

    def may_hold_json(self) -> bool:
        """Whether the line to come may begin a plan in JSON: not in thought, and not inside a step."""
        return not self.thinking and self.open is None and self.item is None

    def feed(self, line: str) -> Iterator[DraftStep]:
        for tag in _REASONING.finditer(line):
            self.thinking = tag["open"] is not None
            line = line[tag.end() :] if not self.thinking else ""
        if self.thinking:
            return
        if self.fence:
            if closes(line, self.fence):
                self.fence = ""
            self._body(line, code=True)
            return
        for part in parted(line):
            yield from self._outside(part)

    def _outside(self, line: str) -> Iterator[DraftStep]:
        """Take a line that is no code."""
        opened = opening(line)
        marker = MARKER.search(line)
        if marker is not None:
            yield from self._finish()
            self.marked = not ends(marker)
        elif (head := header(line)) is not None and (self.marked or head.numbered):
            yield from self._finish()
            self.open = Open(head)
        elif (entry := item(line)) is not None and self._is_item(entry):
            yield from self._finish()
            self.item = entry
        else:
            # Prose behind a blank line may end a list: only the next item's number tells.
            self.doubt = self.doubt or (self.blank and bool(line[:1].strip()))
            self._body(line, code=False)
        self.blank = not line.strip()
        # A fence in which nothing has begun holds the plan itself, as models like to wrap it.
        if opened is not None and (self.open is not None or self.item is not None):
            self.fence = opened[0]

    def _is_item(self, entry: Item) -> bool:
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
        """The step that is over, if its source shows that it is one."""
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
    """The steps of a JSON text that comes in chunks: each object of its first array of objects."""

    def __init__(self, tools: Collection[str]) -> None:
        self.over = False
        self._tools = tools
        self._stack: list[str] = []
        self._quoted = False
        self._level = 0
        self._pieces: list[str] | None = None

    def feed(self, text: str, start: int) -> Generator[DraftStep, None, int]:
        """Announce the objects that end in `text` behind `start`; returns where it was used up."""
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
        parsed = parse(text, 0)
        found = None if isinstance(parsed, Unreadable) else steps_in([parsed.value], self._tools)
        if found is not None and not found.weak:
            yield from found.steps
