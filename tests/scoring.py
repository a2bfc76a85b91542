"""How the readers of requests and of model output are scored against files of cases."""

from __future__ import annotations

from planloom.intake.detection import detect


def planned(message: str) -> bool:
    """Whether the rules want a plan for this message."""
    return detect(message).planned
