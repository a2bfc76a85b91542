"""Turns the signals that ask this process to stop into a cancellation of its work, which then pauses the plan."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from types import FrameType
from typing import Any

_CLOSING = ("SIGTERM", "SIGHUP")
"""The signals after which nobody is there to be asked; Windows has no SIGHUP."""


class Signals:
    """While it is entered, Ctrl-C, SIGTERM and SIGHUP cancel the task that has entered it.

    `closing`: the terminal is gone, or the process is to end. What was ignored before, as by `nohup`, stays so.
    """

    def __init__(self) -> None:
        self.closing = False
        self._before: dict[int, Any] = {}
        self._terminals = [number for number in range(3) if os.isatty(number)]

    def __enter__(self) -> Signals:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        for name in ("SIGINT", *_CLOSING):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before = signal.getsignal(number)
                # A signal that comes just before the loop waits must wake it. The loop of Windows always wakes.
                with contextlib.suppress(NotImplementedError):
                    self._loop.add_signal_handler(number, lambda: None)
                signal.signal(number, self._received)
                self._before[number] = before
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            with contextlib.suppress(NotImplementedError):
                self._loop.remove_signal_handler(number)
            signal.signal(number, handler)

    def clear(self) -> None:
        """Let the task go on after its cancellation."""
        if self._task is not None:
            self._task.uncancel()

    def _received(self, number: int, _: FrameType | None) -> None:
        if self.closing:
            return
        self.closing = number != signal.SIGINT
        if self.closing and number != signal.SIGTERM:
            self._leave_terminal()
        if self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)

    def forget_lost_terminal(self) -> None:
        """Write nothing any more to a terminal that is gone: each write would fail. Not every one sends SIGHUP."""
        if not all(map(os.isatty, self._terminals)):
            self._leave_terminal()

    def _leave_terminal(self) -> None:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in self._terminals:
            os.dup2(nothing, number)
        self._terminals = []
        os.close(nothing)
