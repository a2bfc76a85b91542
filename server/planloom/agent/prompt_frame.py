"""The frame of a prompt: its headings, and the one function that writes a text under a heading.

A prompt is read by a model, and its frame are the lines that say what each part is. No text that somebody else wrote
may add such a line or hide one. What tools, files and programs say is fenced where it is put in (`fences.fenced`) or
written on one line (`one_line`); `section` holds the rule for whatever is left, the words of plans, models and users.
"""

from __future__ import annotations

import re
from typing import Final

from planloom.domain.model_text.fences import fenced
from planloom.domain.patterns import pattern
from planloom.domain.text.hidden_characters import visible

HEADINGS: Final = frozenset(
    {
        *("ENVIRONMENT", "WORKSPACE", "PROJECT INSTRUCTIONS", "EARLIER IN THIS SESSION", "EARLIER PLANS"),
        *("USER REQUEST", "REQUEST", "USER MESSAGE", "FEEDBACK OF THE USER", "ATTACHMENTS"),
        *("PERSPECTIVES", "READ WHILE PLANNING", "RUN WHILE PLANNING", "ALREADY DONE", "THE PLAN SO FAR"),
        *("TASK LIST", "CURRENT TASK", "COMPLETED TASKS", "FAILED TASK", "BACKGROUND COMMANDS"),
        *("CONTEXT SUMMARY", "SUMMARY SO FAR", "NEW RESULTS", "EARLIER RESULTS", "TOOL RESULTS", "RESULTS"),
        *("RESULT OF THE STEP'S COMMAND", "ERROR", "TOOLS", "HOW TO WORK", "INSTRUCTIONS"),
    }
)
"""The beginnings of the headings that a user message may have; more may follow them, as in `USER MESSAGE 2 (…)`."""
_LISTED: Final = "|".join(sorted(map(re.escape, HEADINGS), key=len, reverse=True))
_HEADING: Final = pattern(rf"[\W_]*(?:{_LISTED})(?![A-Za-z])")
_MARK: Final = pattern(r" {0,3}(`{3,}|~{3,})([^`]*)\Z")


def section(heading: str, text: str) -> str:
    """The text under its heading. Raises ValueError for an unlisted heading."""
    if not _HEADING.match(heading):
        raise ValueError(f"{heading!r} is not among the headings of prompts.")
    return f"{heading}\n{framed(text)}"


def framed(text: str) -> str:
    """The text as it is, or in a fence if outside of its own fences a line could be read as a part of the frame.

    That is a line that begins like a heading, and a fence that is left open or that two readers may read differently.
    """
    return fenced(text) if _disturbs(text) else text


def one_line(text: str) -> str:
    """The text on one line, with hidden characters written out."""
    return visible(" ".join(text.split()))


def _disturbs(text: str) -> bool:
    mark = ""
    for line in text.splitlines():
        found = _MARK.match(line)
        if mark:
            if found and found[1].startswith(mark) and not found[2].strip():
                mark = ""
        elif found:
            mark = found[1]
        elif "```" in line or "~~~" in line or _HEADING.match(line):
            return True
    return mark != ""
