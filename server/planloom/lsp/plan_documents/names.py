"""How the file of a plan's document is called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from planloom.domain.plans.plan import Plan

ENDING: Final = ".plan.md"
_TITLE: Final = 40
_NO_WORD: Final = re.compile(r"[^a-z0-9]+")


def name_of(plan: Plan) -> str:
    """The name of a plan's document: words of its request, and the beginning of its id."""
    words = _NO_WORD.sub("-", plan.request.strip().lower()[:_TITLE]).strip("-")
    return f"{words or 'plan'}{ending_of(plan)}"


def ending_of(plan: Plan) -> str:
    """The end of the name, by which a plan's document is found again."""
    return f"-{plan.plan_id[:8]}{ENDING}"
