"""Records programs in real terminals: each change of a screen is a frame, a wait is shortened, a pause is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from tests.editors.terminal import SECONDS, Terminal

KEY_SECONDS = 0.04
LONGEST_WAIT = 0.4
"""How long a wait for a program is shown at most."""
_LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Screen:
    """What one terminal shows: lines with escape sequences of their colours, and the caret's column and line."""

    lines: tuple[str, ...]
    caret: tuple[int, int] | None


@dataclass(frozen=True)
class Frame:
    """All terminals at one moment, by their names, for so many seconds, and what is said about them."""

    seconds: float
    caption: str
    screens: Mapping[str, Screen]


@dataclass
class Recorder:
    """Presses keys in terminals that have been started, and keeps what they show."""

    terminals: Mapping[str, Terminal]
    frames: list[Frame] = field(default_factory=list)
    caption: str = ""

    def type(self, name: str, text: str) -> None:
        """Type a text as a person does, and press Enter."""
        for letter in text:
            before = self._look()
            self.terminals[name].type(letter)
            self._wait_for(partial(self._differs, before), letter)
            # A blank takes a finger longer than a letter.
            self._keep(KEY_SECONDS * (2 if letter == " " else 1))
        self.hold(0.3)
        self.terminals[name].keys("Enter")

    def until(self, name: str, *parts: str) -> None:
        """Record until a terminal shows all of the parts in its last lines."""
        began = time.monotonic()

        def shown() -> bool:
            nonlocal began
            if self._look() != (self.frames[-1].screens if self.frames else None):
                self.hold(min(time.monotonic() - began, LONGEST_WAIT))
                began = time.monotonic()
                self._keep(0)
            text = "".join(self.terminals[name].screen().split())
            return all("".join(part.split()) in text for part in parts)

        self._wait_for(shown, parts)

    def hold(self, seconds: float) -> None:
        """Show the latest frame for longer."""
        if self.frames:
            self.frames[-1] = replace(self.frames[-1], seconds=self.frames[-1].seconds + seconds)

    def say(self, caption: str) -> None:
        """Set what is said from the next frame on."""
        self.caption = caption
        self._keep(0)

    def _differs(self, before: Mapping[str, Screen]) -> bool:
        return self._look() != before

    def _look(self) -> dict[str, Screen]:
        return {name: Screen(*terminal.drawn()) for name, terminal in self.terminals.items()}

    def _keep(self, seconds: float) -> None:
        self.frames.append(Frame(seconds, self.caption, self._look()))

    def _wait_for(self, holds: Callable[[], bool], wanted: object) -> None:
        end = time.monotonic() + SECONDS
        while not holds():
            if time.monotonic() > end:
                shown = "\n".join(terminal.screen() for terminal in self.terminals.values())
                raise TimeoutError(f"The terminal never showed {wanted}:\n{shown}")
            time.sleep(_LOOK_SECONDS)
