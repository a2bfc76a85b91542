"""What goes wrong when a span cannot be read."""

from __future__ import annotations


class SpanError(ValueError):
    """A text is no span of time.

    >>> SpanError("7 parsecs", 2, "unknown unit 'parsecs'").position
    2
    """

    def __init__(self, text: str, position: int, problem: str) -> None:
        super().__init__(f"{problem} at character {position + 1} of {text!r}")
        self.text = text
        self.position = position
        self.problem = problem
