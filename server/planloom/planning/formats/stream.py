"""Reads a plan while the model writes it, and announces each step as soon as it is complete."""

from __future__ import annotations

import re
from collections.abc import Collection

from planloom.domain.model_text.fences import fences
from planloom.domain.model_text.reasoning import without_reasoning
from planloom.planning.formats.draft import DraftStep, NoPlan, PlanText
from planloom.planning.formats.line_reader import begins_step
from planloom.planning.formats.reader import MARKER, read_plan

_MAY_END_STEP = re.compile(r"[\n}]")
_JSON_BEGINS = re.compile(r"[ \t]{0,200}(?:\{|\[\s{0,200}\{)")
_WORDS = re.compile(r"\s{0,20}[^\s#`~]")
_LONG = 16_000
"""Characters from which a text is read again less often."""


class PlanStream:
    """Reads a plan in chunks. `feed` returns the steps that are complete so far; `close` returns the plan.

    Neither depends on where the chunks divide. Nothing is announced while the text may be reasoning whose tag nothing
    has opened: more than one line of words stands in front of the plan. An announced step may turn out not to be part
    of the plan, since a second marked block replaces the first.
    """

    def __init__(self, tools: Collection[str] = ()) -> None:
        self._tools = tools
        self._chunks: list[str] = []
        self._size = self._read = self._announced = 0

    def feed(self, chunk: str) -> tuple[DraftStep, ...]:
        """Take more text; returns the steps that are complete now."""
        before = self._size
        found: list[DraftStep] = []
        self._chunks.append(chunk)
        self._size += len(chunk)
        for end in _MAY_END_STEP.finditer(chunk):
            size = before + end.end()
            # Read again once it has grown by a part of itself, so that the time for the whole text is linear.
            if size > self._read + self._read // (32 if self._read < _LONG else 2):
                self._read = size
                steps = self._complete("".join(self._chunks)[:size])
                found += steps[self._announced :]
                self._announced = max(self._announced, len(steps))
        return tuple(found)

    def close(self) -> PlanText | NoPlan:
        """The plan in all the text, read as a whole."""
        return read_plan("".join(self._chunks), self._tools)

    def _complete(self, text: str) -> tuple[DraftStep, ...]:
        """The steps of a beginning of the text that more text does not change."""
        plan = read_plan(text, self._tools)
        if isinstance(plan, NoPlan):
            return ()
        visible = without_reasoning(text).text
        lines = visible.split("\n")
        begin = next((number for number, line in enumerate(lines) if _begins_plan(line)), len(lines))
        words = sum(_WORDS.match(line) is not None for line in lines[:begin])
        if len(visible) == len(text) and words > 1:
            return ()
        if any(fence.first > begin and not fence.closed for fence in fences(lines)):
            # What an open fence holds is only known at its end.
            return ()
        # Of JSON that is cut, only whole steps are read.
        return plan.steps if plan.cut or plan.format == "json" else plan.steps[:-1]


def _begins_plan(line: str) -> bool:
    return bool(MARKER.search(line) or _JSON_BEGINS.match(line) or begins_step(line))
