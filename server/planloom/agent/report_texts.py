"""The agents' reports on a request as text, for whoever plans it and for those who carry the plan out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic.alias_generators import to_camel

from planloom.domain.plans.agents import NAMES, Perspective
from planloom.tools.tool import shortened

_SMALLEST = 40
"""The fewest characters for which a part of a line is worth showing."""
_NOT_SHOWN = ("agent", "timestamp", "estimated_effort")


def reports_text(perspectives: Sequence[Perspective], most_characters: int | None = None) -> str:
    """The reports as a section of a prompt, one line for each field; empty without reports.

    With `most_characters` each report gets an equal share, and its last fields are left out first.
    """
    share = None if most_characters is None else most_characters // max(1, len(perspectives))
    texts = [_report_text(each, share) for each in perspectives]
    return "\n\n".join(filter(None, texts))


def _report_text(report: Perspective, most: int | None) -> str:
    lines = [f"{NAMES[report.agent]} (effort: {report.estimated_effort})"]
    left = None if most is None else most - len(lines[0]) - 2
    for name, text in _fields(report):
        line = f"- {name}: {text}"
        if left is not None:
            line = shortened(line, max(0, left)) if left > _SMALLEST else ""
            left -= len(line) + 1
        lines.append(line)
    return "\n".join(filter(None, lines)) if len(lines) > 1 and lines[1] else ""


def _fields(report: Perspective) -> Iterator[tuple[str, str]]:
    """The fields that say something, by their names on the wire."""
    for name, value in report.model_dump(exclude={*_NOT_SHOWN}).items():
        if value and (name == "analysis" or value != report.analysis):
            text = "; ".join(value) if isinstance(value, tuple | list) else value
            yield to_camel(name), " ".join(text.split())
