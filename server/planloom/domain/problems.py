"""What language servers say of a change before it is made: the problems that it would bring."""

from __future__ import annotations

from typing import Final, Literal

from planloom.domain.text.counted import counted
from planloom.domain.values import Uri, Value

MOST_PROBLEMS: Final = 20
"""How many new problems of one change are kept; of more the number is."""


class NewProblem(Value):
    """A problem that a change would bring, at a zero-based line of the text as it would be."""

    uri: Uri
    line: int
    severity: Literal["error", "warning"]
    message: str
    source: str | None = None
    code: str | None = None


class Judged(Value):
    """The judgement of a change. `by` names who judged, `total` counts all new problems, of which `problems` are the
    first, errors before warnings.

    `unknown` says, as a sentence, why something of it is not known; then no problem may only mean that none was found.
    """

    by: str
    problems: tuple[NewProblem, ...] = ()
    total: int = 0
    unknown: str | None = None

    @property
    def errors(self) -> int:
        """How many of the named problems are errors."""
        return sum(each.severity == "error" for each in self.problems)

    @property
    def is_clean(self) -> bool:
        """Whether it is known that there are no new problems."""
        return not self.total and self.unknown is None

    @property
    def headline(self) -> str:
        """The judgement in a few words, as `2 new problems`."""
        if self.total:
            return counted(self.total, "new problem")
        return "no new problems" if self.unknown is None else "new problems are not yet known"


NOT_YET: Final = Judged(by="", unknown="It is being judged.")
"""Stands where a judgement has not come yet."""
