"""Judges a change by one language server: its problems with the change, beside those without it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from planloom.domain.changes import sha256
from planloom.domain.problems import NewProblem
from planloom.domain.values import Uri
from planloom.languages import spoken
from planloom.languages.comparing import Side, new_problems, rename_of, touched_lines
from planloom.languages.server import Server
from planloom.languages.texts import text_on_disk
from planloom.workspace.editor import Diagnostic
from planloom.workspace.language import NotKnown, Symbol

_MOST_KEPT: Final = 64
_MOST_USERS: Final = 12
"""How many other files that use what a change declares anew are judged with it."""
_MOST_DECLARATIONS: Final = 6
_DECLARED: Final = frozenset(
    [
        "function",
        "method",
        "class",
        "interface",
        "struct",
        "enum",
        "constant",
        "variable",
        "property",
        "field",
    ]
)


class _Known(NamedTuple):
    """What a server said of a file among certain texts."""

    state: tuple[Any, ...]
    problems: tuple[Diagnostic, ...]
    symbols: tuple[Symbol, ...]


class Change(NamedTuple):
    """What one server judges: its files, each with the name that it had before, and the texts on both sides.

    `unseen` are names of new files, which the server cannot know yet.
    """

    server: Server
    files: Mapping[Uri, Uri]
    before: Mapping[Uri, str]
    after: Mapping[Uri, str]
    unseen: frozenset[str]


class Judge:
    """Judges changes, and keeps what was said of the last texts: a step changes the same file again and again."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Server, Uri], _Known] = OrderedDict()
        self._judged: OrderedDict[tuple[Any, ...], tuple[NewProblem, ...]] = OrderedDict()

    async def problems(self, change: Change, seconds: float) -> tuple[list[NewProblem], str]:
        """The new problems, and why something is not known, as a sentence; empty if all is."""
        found: list[NewProblem] = []
        try:
            await change.server.within(seconds, lambda: self._judge(change, found))
        except NotKnown as unknown:
            # The server may still be at it.
            return [*found], str(unknown)
        return found, ""

    async def _judge(self, change: Change, found: list[NewProblem]) -> None:
        server, before, after = change.server, change.before, change.after
        await server.look_at_disk()
        state = (
            server.generation,
            *sorted((uri, sha256(text)) for uri, text in before.items() if server.serves(uri)),
        )
        key = (server, state, *((uri, sha256(after[uri])) for uri in change.files))
        if key in self._judged:
            self._judged.move_to_end(key)
            found += self._judged[key]
            return
        known = {
            name: await self._before(change, name, state) for name in change.files.values() if name in before
        }
        server.show(after)
        asked = asyncio.gather(*(spoken.problems(server.ask, uri) for uri in change.files))
        # The server works while the texts are compared.
        await asyncio.sleep(0)
        declared = _declared(change, known)
        sides = [
            (
                uri,
                Side(before[name], known[name].problems) if name in known else Side("", ()),
                Side(after[uri], problems),
            )
            for (uri, name), problems in zip(change.files.items(), await asked, strict=True)
        ]
        found += _compared(change, sides)
        found += await self._judge_users(change, declared[:_MOST_DECLARATIONS])
        self._judged[key] = tuple(found)
        _bound(self._judged)

    async def _before(self, change: Change, name: Uri, state: tuple[Any, ...]) -> _Known:
        """What the server says of a file without the change."""
        server = change.server
        kept = self._known.get((server, name))
        if kept is None or kept.state != state:
            server.show(change.before)
            problems = await spoken.problems(server.ask, name)
            symbols: tuple[Symbol, ...] = ()
            with suppress(NotKnown):
                symbols = await spoken.symbols(server.ask, name)
            kept = self._known[server, name] = _Known(state, problems, symbols)
            _bound(self._known)
        return kept

    async def _judge_users(self, change: Change, declared: Sequence[tuple[Uri, Symbol]]) -> list[NewProblem]:
        """The new problems of other files that use what the change declares anew, or no more."""
        server = change.server
        users: dict[Uri, None] = {}
        for name, symbol in declared:
            server.show(change.before)
            places = await spoken.nearby(server.ask, "references", name, symbol.name_range.start)
            users |= dict.fromkeys(each.uri for each in places if each.uri not in change.files)
        texts = {
            uri: text
            for uri in [*users][:_MOST_USERS]
            if server.serves(uri) and (text := change.after.get(uri) or await text_on_disk(uri)) is not None
        }
        if not texts:
            return []
        server.show({**texts, **change.before})
        before = {uri: await spoken.problems(server.ask, uri) for uri in texts}
        server.show({**texts, **change.after})
        for uri in texts:
            server.look_again(uri)
        return _compared(
            change,
            [
                (uri, Side(text, before[uri]), Side(text, await spoken.problems(server.ask, uri)))
                for uri, text in texts.items()
            ],
        )


def _declared(change: Change, known: Mapping[Uri, _Known]) -> list[tuple[Uri, Symbol]]:
    """The symbols whose declarations a change touches, each with its file."""
    found: list[tuple[Uri, Symbol]] = []
    for uri, name in change.files.items():
        symbols = [each for each in known[name].symbols if each.kind in _DECLARED] if name in known else []
        if symbols:
            touched = [*touched_lines(change.before[name], change.after[uri])]
            found += ((name, each) for each in symbols if any(_declares(each, lines) for lines in touched))
    return found


def _compared(change: Change, sides: Sequence[tuple[Uri, Side, Side]]) -> list[NewProblem]:
    """The problems that are new on the second of two sides. What a rename has only renamed is an old one."""
    found = [each for side in sides for each in new_problems(*side, change.unseen)]
    if not found:
        return []
    texts = ((change.before.get(name, ""), change.after[uri]) for uri, name in change.files.items())
    rename = rename_of(texts)
    if rename is None:
        return found
    return [each for side in sides for each in new_problems(*side, change.unseen, rename)]


def _declares(symbol: Symbol, lines: range) -> bool:
    """Whether changed or added lines are among those in which something is declared, with its first parameters."""
    last = min(symbol.name_range.end.line + 1, symbol.range.end.line)
    if not lines:
        return symbol.range.start.line < lines.start <= last
    return symbol.range.start.line < lines.stop and lines.start <= last


def _bound(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
