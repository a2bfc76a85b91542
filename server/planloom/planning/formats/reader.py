"""Reads a model's whole answer as a plan: markers, JSON, labels, or a numbered list (docs/model-text.md, P1 to P8)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from planloom.domain.model_text.fences import TEXT_LANGUAGES, closes, code_lines, fences, opening
from planloom.domain.model_text.reasoning import without_reasoning
from planloom.planning.formats.draft import NoPlan, PlanText
from planloom.planning.formats.json_reader import JsonPlan, read_json
from planloom.planning.formats.line_reader import Steps, begins_step, hold_labelled, read_lines

_DASHES = r"(?<![-‐‑‒–—―])(?:[-‐‑‒–]{2,40}|[—―]{1,40})"
_GAP = r"[ \t_‐‑‒–-]{0,3}"
MARKER = re.compile(
    rf"{_DASHES}[ \t*_]{{0,8}}(?:PLAN{_GAP}(?:START|BEGIN|(?P<end>END|STOP))"
    rf"|(?:START|BEGIN|(?P<stop>END|STOP)){_GAP}(?:OF{_GAP})?PLAN)\b[ \t*_]{{0,8}}[-‐‑‒–—―]{{0,40}}[*_]{{0,3}}",
    re.IGNORECASE,
)
"""A marker. One that ends a plan has a named group."""
_AROUND = "*_#> \t"
"""The marks of bold text, headlines and quotations that may stand in front of a marker."""
_PLAN_LANGUAGES = TEXT_LANGUAGES | {"plan", "markdown", "md", "yaml", "yml"}
_NO_STEPS = re.compile(r'"steps"\s{0,20}:\s{0,20}\[\s{0,20}\]')
_CUE = re.compile(
    r"\b(?:examples?|e\.g\.|for instance|format|template|syntax|like this|as follows)\b", re.IGNORECASE
)


def read_plan(text: str, tools: Collection[str] = ()) -> PlanText | NoPlan:
    """The plan in a model's answer, or NoPlan (P1). Never raises; time is linear in the text.

    `tools` are the names of known tools: only these make the value of `action` a tool.
    """
    visible = without_reasoning(text)
    plan = _marked(visible.text, tools) or _read(visible.text, tools, marked=False)
    if plan is None and visible.unclosed is not None:
        # In reasoning that is never closed, only a marked plan counts.
        plan = _marked(visible.unclosed, tools)
    return plan or NoPlan()


def has_no_steps(text: str) -> bool:
    """Whether a text that holds no plan states an empty one."""
    return _NO_STEPS.search(text) is not None


def _marked(text: str, tools: Collection[str]) -> PlanText | None:
    """The last marked block with steps (P2)."""
    plans = (_read(block, tools, marked=True) for block in reversed(_blocks(text)))
    plan = next((plan for plan in plans if plan is not None), None)
    return plan and plan.model_copy(update={"format": "markers"})


def _blocks(text: str) -> list[str]:
    """The text of each marked block. A marker in a fence that was opened inside the block is text."""
    blocks: list[list[str]] = []
    inside: list[str] | None = None
    around = fence = ""
    for line in text.split("\n") if "PLAN" in text.upper() else ():
        if fence:
            fence = "" if closes(line, fence) else fence
            if inside is not None:
                inside.append(line)
                continue
        elif around and inside is not None and closes(line, around):
            # The fence around the whole plan ends before its end marker.
            inside, around = None, ""
            continue
        else:
            fence = opened[0] if (opened := opening(line)) is not None else ""
        offset = 0
        for marker in _markers(line):
            if inside is not None:
                inside.append(line[offset : marker.start()].rstrip(_AROUND))
                inside = None
            offset = marker.end()
            if marker.lastgroup is None:
                inside, around, fence = [], fence, ""
                blocks.append(inside)
        if inside is not None:
            inside.append(line[offset:])
    if inside is not None:
        blocks[-1] = _before_end(inside, marked=True)
    return ["\n".join(lines) for lines in blocks]


def _markers(line: str) -> Iterator[re.Match[str]]:
    """The markers on a line that are not in the middle of a quotation, such as a string of JSON."""
    quotes = offset = 0
    for marker in MARKER.finditer(line):
        quotes += line.count('"', offset, marker.start())
        offset = marker.end()
        if quotes % 2 == 0:
            yield marker


def _read(text: str, tools: Collection[str], *, marked: bool) -> PlanText | None:
    """The plan in a text. Between markers, all headers begin steps, which come before JSON."""
    lines = text.split("\n")
    if not marked and "PLAN" in text.upper():
        lines = _before_end(lines, marked=False)
    labelled, numbered = read_lines(lines)
    several = min(labelled.numbered, len(labelled.steps)) > 1
    meant = marked or labelled.labelled or (several and labelled.first < numbered.first)
    as_json = None if marked and labelled.steps else read_json(text, tools)
    if as_json is not None and (marked or not _is_content(as_json, text, labelled, numbered)):
        return as_json.plan
    if labelled.steps and meant:
        return PlanText(steps=labelled.steps, format="legacy")
    if numbered.steps:
        return PlanText(steps=numbered.steps, format="numbered")
    inner = _only_fence(lines, whole=marked)
    return None if inner is None else _read("\n".join(inner), tools, marked=marked)


def _before_end(lines: list[str], *, marked: bool) -> list[str]:
    """The lines up to the first end marker, whose start is missing, or the last, which an unclosed fence hides."""
    code = code_lines(lines, lambda rest: marked or hold_labelled(rest))
    for number in range(1, len(lines))[:: -1 if marked else 1]:
        marker = None if code[number] else next(_markers(lines[number]), None)
        if marker is not None and marker.lastgroup is not None:
            return [*lines[:number], lines[number][: marker.start()].rstrip(_AROUND)]
    return lines


def _is_content(json: JsonPlan, text: str, labelled: Steps, numbered: Steps) -> bool:
    """Whether JSON is not the plan but a part of its steps, such as the content of a file."""
    line = text.count("\n", 0, json.start)
    if labelled.labelled and labelled.first < line:
        return True
    indented = text[text.rfind("\n", 0, json.start) + 1 :][:1].isspace()
    inside = indented and numbered.first < line < numbered.end and len(numbered.steps) > 1
    return bool(numbered.steps) and (json.weak or inside)


def _only_fence(lines: Sequence[str], *, whole: bool) -> list[str] | None:
    """The lines of the only fence of a text, if it may hold a plan.

    With `whole`, no text may surround it; else the words in front must not announce an example.
    """
    all_fences = fences(lines)
    if len(all_fences) != 1 or all_fences[0].info.split(" ", 1)[0] not in _PLAN_LANGUAGES:
        return None
    fence = all_fences[0]
    before = [line for line in lines[: fence.first] if line.strip()]
    if whole and (before or any(line.strip() for line in lines[fence.last + 1 :])):
        return None
    inner = list(lines[fence.first + 1 : fence.last + (not fence.closed)])
    announced = before and _CUE.search(before[-1])
    return None if announced or not any(map(begins_step, inner)) else inner
