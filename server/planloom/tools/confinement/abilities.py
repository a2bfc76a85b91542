"""Finds out what this machine can hold a command to."""

from __future__ import annotations

from typing import Final

from planloom.domain.safety.confinement import Abilities

_NONE: Final = Abilities(
    files=False,
    network=False,
    processes=False,
    how="nothing",
    missing=("Commands run with all rights of the user: they are not confined on this system.",),
)


def abilities() -> Abilities:
    """What a confined command is held to on this machine. Found out once; may block for a tenth of a second."""
    return _NONE
