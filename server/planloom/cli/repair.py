"""`planloom doctor --repair`: shows what is damaged in the plan ledger, asks, and repairs it."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from planloom.cli.client.server_process import Server
from planloom.cli.client.session import session
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.failures import Failure, reported
from planloom.cli.plain import visible
from planloom.cli.terminal import show
from planloom.cli.terminal.keyboard import EndOfInput, forget_typed, read_line
from planloom.domain.errors import StorageFailed
from planloom.domain.text.counted import counted
from planloom.service.repair import Examined, examined


async def repair_ledger(process: Server, *, yes: bool, terminal: bool) -> int:
    """Repair the ledger that the server's settings name. Returns 1 if it is damaged and was not repaired, else 0.

    The server is asked for the place of the ledger only, and has ended before the ledger is opened. Without `yes` a
    person at the terminal is asked first; without a terminal nothing is changed.
    """
    console = show.console()
    failure, path = Failure(), Path()
    with reported(failure, partial(show.failure, console)):
        async with session(process, []) as opened:
            path = Path(opened.status.get("storagePath") or "")
    if failure.error is not None:
        return failure.code
    try:
        with examined(path) as found:
            if found.is_sound:
                _say(
                    console,
                    f"The plan ledger {path} is in order: {counted(found.readable, 'plan')}.",
                    "green",
                )
                return DONE
            _describe(console, path, found)
            if not yes and not (terminal and await _agreed(console)):
                _say(console, "Nothing was changed. --yes repairs it without asking.", "yellow")
                return FAILED
            repaired = found.repair(datetime.now())
    except StorageFailed as error:
        show.failure(console, error.message, error.hint)
        return FAILED
    _say(console, "The ledger is repaired.", "bold green")
    _say(console, f"The old file is {repaired.kept}.")
    for file in repaired.exported:
        _say(console, f"A damaged plan is in {file}.")
    return DONE


def _describe(console: Console, path: Path, found: Examined) -> None:
    _say(console, f"The plan ledger {path} is damaged.", "bold red")
    for fault in found.faults:
        _say(console, f"  {fault}", "dim")
    _say(console, f"{counted(found.readable, 'plan')} can be read and will be in a new ledger.")
    if found.damaged:
        _say(
            console,
            f"{counted(len(found.damaged), 'plan')} cannot: what is left of the events will be in JSON files"
            " beside it.",
        )
    _say(console, "The old file will be kept under another name.")


async def _agreed(console: Console) -> bool:
    forget_typed()
    console.print("Repair it? [y/N] ", end="", markup=False)
    try:
        return (await read_line()).strip().lower() in ("y", "yes")
    except EndOfInput:
        return False


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(visible(text), style))
