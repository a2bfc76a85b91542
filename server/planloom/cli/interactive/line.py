"""The line in which a person writes a request or a command: with history, and completions of both."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from planloom.cli.client.messages import Json
from planloom.domain.text.units import advance, width

Complete = Callable[[str, int], Awaitable[Sequence[Json]]]
"""The completions (`ReferenceItem` of the protocol) of a text at an offset in UTF-16 units."""

_STYLE = Style.from_dict({"bottom-toolbar": "noreverse fg:ansibrightblack", "prompt": "bold ansicyan"})


class RequestLine:
    """Reads one request after the other. Enter sends it, Alt+Enter begins a new line, a paste keeps its lines.

    `commands` are the names of commands with their words, `status` is what stands below the line, `history` the file
    that keeps what was typed, None for none.
    """

    def __init__(
        self,
        complete: Complete,
        commands: Mapping[str, str],
        status: Callable[[], str],
        history: Path | None,
    ) -> None:
        keys = KeyBindings()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        self._session: PromptSession[str] = PromptSession(
            [("class:prompt", "> ")],
            completer=_Completions(complete, commands),
            complete_while_typing=True,
            history=_history(history),
            key_bindings=keys,
            bottom_toolbar=status,
            style=_STYLE,
            prompt_continuation="  ",
            reserve_space_for_menu=6,
        )

    async def read(self) -> str | None:
        """The next text, without blanks around it; "" if the line was given up by Ctrl-C, None at its end (Ctrl-D)."""
        try:
            return (await self._session.prompt_async(handle_sigint=False)).strip()
        except KeyboardInterrupt:
            return ""
        except EOFError:
            return None


class _Completions(Completer):
    """Completes commands at the start of the line, and references anywhere else."""

    def __init__(self, complete: Complete, commands: Mapping[str, str]) -> None:
        self._complete = complete
        self._commands = commands

    def get_completions(self, *_: object) -> Iterable[Completion]:
        return ()

    async def get_completions_async(self, document: Document, _: CompleteEvent) -> AsyncGenerator[Completion]:
        text = document.text_before_cursor
        if text.startswith("/") and not any(map(str.isspace, text)):
            for name, words in self._commands.items():
                if name.startswith(text[1:]):
                    yield Completion(f"/{name}", -len(text), display_meta=words)
            return
        if "@" not in text:
            return
        for item in await self._complete(document.text, width(document.text, 0, len(text), "utf-16")):
            yield _completion(item, document)


def _completion(item: Json, document: Document) -> Completion:
    start = (
        advance(document.text, 0, len(document.text), item["replace"][0], "utf-16") - document.cursor_position
    )
    detail: Any = item.get("detail") or ""
    return Completion(item["insertText"], min(start, 0), display=item["label"], display_meta=detail)


def _history(path: Path | None) -> History:
    """What was typed before; only its user can read the file."""
    if path is None:
        return InMemoryHistory()
    try:
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
