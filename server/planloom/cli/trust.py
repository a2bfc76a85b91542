"""Whether the folders of a run are trusted: by the flag, by an earlier decision, or by the person at the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from planloom.cli.client.model_memory import decisions
from planloom.cli.plain import visible
from planloom.cli.terminal.keyboard import EndOfInput

if TYPE_CHECKING:
    from planloom.cli.terminal.person import Terminal
    from planloom.storage.decisions import Decisions


async def first_untrusted(folders: Sequence[Path], *, trust: bool, person: Terminal | None) -> Path | None:
    """The first folder that is not trusted; None if all are.

    Asks the person about each folder that they have not decided on, and keeps the answer.
    """
    if trust:
        return None
    decided = decisions()
    for folder in folders:
        trusted = decided.is_trusted(folder)
        if trusted is None and person is not None:
            trusted = await _asked(folder, decided, person)
        if not trusted:
            return folder
    return None


def read_only(folder: Path) -> str:
    """The consequences for a folder that is not trusted, and how to change that."""
    return (
        f"{folder} is not trusted: it is read, and nothing in it is written or run. "
        "Add --trust for this run, or trust it by `planloom trust`."
    )


async def _asked(folder: Path, decided: Decisions, person: Terminal) -> bool:
    from planloom.domain.errors import StorageFailed

    person.say(
        "In a trusted folder Planloom follows its instructions (AGENTS.md) and runs git by itself. Changes and "
        "commands are asked all the same."
    )
    question = f"Do you trust {visible(str(folder))}?"
    try:
        trusted = await person.choose(question, {"y": "trust it", "n": "only read in it"}) == "y"
    except EndOfInput:
        return False
    try:
        decided.decide_folder(folder, trusted=trusted)
    except StorageFailed as error:
        person.say(error.message, "yellow")
    return trusted
