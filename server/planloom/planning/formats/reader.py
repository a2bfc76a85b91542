"""Reads a model's whole answer as a plan: markers, JSON, labels, or a numbered list (docs/model-text.md, P1 to P8)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from planloom.domain.model_text.fences import TEXT_LANGUAGES, closes, code_lines, fences, opening
from planloom.domain.model_text.reasoning import without_reasoning
from planloom.planning.formats.draft import DraftStep, NoPlan, PlanFormat, PlanText
from planloom.planning.formats.json_plan import JsonPlan, read_json
from planloom.planning.formats.labelled import LabelledSteps, header, holds_steps, read_labelled
from planloom.planning.formats.numbered import NumberedSteps, read_numbered

_DASHES = r"(?<![-‐‑‒–—―])(?:[-‐‑‒–]{2,40}|[—―]{1,40})"
_GAP = r"[ \t_‐‑‒–-]{0,3}"
MARKER = re.compile(
    rf"{_DASHES}[ \t*_]{{0,8}}(?:PLAN{_GAP}(?P<edge>START|BEGIN|END|STOP)"
    rf"|(?P<first>START|BEGIN|END|STOP){_GAP}(?:OF{_GAP})?PLAN)\b"
    r"[ \t*_]{0,8}[-‐‑‒–—―]{0,40}",
    re.IGNORECASE,
)
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
    plan = _marked(visible.text, tools) or _unmarked(visible.text, tools)
    if plan is None and visible.unclosed is not None:
        # In reasoning that is never closed, only a marked plan counts.
        plan = _marked(visible.unclosed, tools)
    return plan or NoPlan()


def has_no_steps(text: str) -> bool:
    """Whether a text that holds no plan states an empty one."""
    return _NO_STEPS.search(text) is not None


def is_end(marker: re.Match[str]) -> bool:
    """Whether a marker ends a plan."""
    return (marker["edge"] or marker["first"]).upper() in ("END", "STOP")


def _marked(text: str, tools: Collection[str]) -> PlanText | None:
    """The last marked block with steps (P2)."""
    for block in reversed(_blocks(text)):
        steps, cut = _inside(block, tools)
        if steps:
            return PlanText(steps=steps, format="markers", cut=cut)
    return None


def _blocks(text: str) -> list[str]:
    """The text of each marked block. A marker in a fence that was opened inside the block is text."""
    if MARKER.search(text) is None:
        return []
    blocks: list[str] = []
    inside: list[str] | None = None
    around = fence = ""
    for line in text.split("\n"):
        if fence:
            fence = "" if closes(line, fence) else fence
            if inside is not None:
                inside.append(line)
                continue
        elif around and inside is not None and closes(line, around):
            # The fence around the whole plan ends before its end marker.
            blocks.append("\n".join(inside))
            inside, around = None, ""
            continue
        else:
            fence = opened[0] if (opened := opening(line)) is not None else ""
        offset = 0
        for marker in MARKER.finditer(line):
            if line.count('"', offset, marker.start()) % 2:
                # In the middle of a quotation, such as a string of JSON.
                continue
            if inside is not None:
                inside.append(_bare(line[offset : marker.start()]))
                blocks.append("\n".join(inside))
                inside = None
            offset = marker.end()
            if not is_end(marker):
                inside, around, fence = [], fence, ""
        if inside is not None:
            inside.append(line[offset:].lstrip("*_ \t") if offset else line)
    return blocks if inside is None else [*blocks, _unended(inside)]


def _bare(before: str) -> str:
    """The text in front of a marker, without the bold or headline marks around the marker."""
    return before.rstrip("*_# \t>")


def _unended(lines: Sequence[str]) -> str:
    """A block without an end marker outside of code; one that only an unclosed fence hides counts after all."""
    code = [False] * len(lines)
    for fence in fences(lines):
        if fence.closed:
            code[fence.first : fence.last + 1] = [True] * (fence.last + 1 - fence.first)
    for number in range(len(lines) - 1, -1, -1):
        marker = None if code[number] else MARKER.search(lines[number])
        if marker is not None and is_end(marker):
            return "\n".join(lines[:number])
    return "\n".join(lines)


def _inside(text: str, tools: Collection[str]) -> tuple[tuple[DraftStep, ...], bool]:
    """The steps between markers: labelled, else JSON, else numbered; and whether JSON was cut."""
    lines = text.split("\n")
    read = read_labelled(lines)
    if read.steps:
        return tuple(read.steps), False
    as_json = read_json(text, tools)
    if as_json is not None:
        return as_json.steps, as_json.cut
    numbered = read_numbered(lines)
    if numbered.steps:
        return numbered.steps, False
    inner = _only_fence(lines, whole=True)
    return _inside("\n".join(inner), tools) if inner is not None else ((), False)


def _unmarked(text: str, tools: Collection[str]) -> PlanText | None:
    lines = _before_end(text.split("\n"))
    labelled = read_labelled(lines)
    numbered = read_numbered(lines)
    as_json = read_json(text, tools)
    if as_json is not None and not _is_content(as_json, text, labelled, numbered):
        return PlanText(
            steps=as_json.steps,
            format="json",
            cut=as_json.cut,
            summary=as_json.summary,
            stated_risk=as_json.stated_risk,
            stated_seconds=as_json.stated_seconds,
        )
    if labelled.steps and labelled.labels:
        return _plan(labelled.steps, "legacy")
    headed = labelled.numbered >= 2 and len(labelled.steps) >= 2
    if headed and (not numbered.steps or labelled.first_line < numbered.first_line):
        return _plan(labelled.steps, "legacy")
    if numbered.steps:
        return _plan(numbered.steps, "numbered")
    inner = _only_fence(lines, whole=False)
    return _unmarked("\n".join(inner), tools) if inner is not None else None


def _plan(steps: Sequence[DraftStep], plan_format: PlanFormat) -> PlanText:
    return PlanText(steps=tuple(steps), format=plan_format)


def _before_end(lines: list[str]) -> list[str]:
    """The lines up to an end marker whose start is missing."""
    if not any("PLAN" in line.upper() for line in lines):
        return lines
    code = code_lines(lines, holds_steps)
    for number, line in enumerate(lines):
        marker = None if code[number] else MARKER.search(line)
        if marker is not None and is_end(marker) and number:
            return [*lines[:number], _bare(line[: marker.start()])]
    return lines


def _is_content(found: JsonPlan, text: str, labelled: LabelledSteps, numbered: NumberedSteps) -> bool:
    """Whether JSON is not the plan but a part of its steps, such as the content of a file."""
    line = text.count("\n", 0, found.start)
    if labelled.labels and 0 <= labelled.first_line < line:
        return True
    if not numbered.steps:
        return False
    indented = text[text.rfind("\n", 0, found.start) + 1 :][:1].isspace()
    inside = indented and numbered.first_line < line < numbered.end_line
    return found.weak or (inside and len(numbered.steps) > 1)


def _only_fence(lines: Sequence[str], *, whole: bool) -> list[str] | None:
    """The lines of the only fence of a text, if it may hold a plan.

    With `whole`, no text may surround it; else the words in front must not announce an example.
    """
    found = fences(lines)
    if len(found) != 1 or found[0].info.split(" ", 1)[0] not in _PLAN_LANGUAGES:
        return None
    fence = found[0]
    before = [line for line in lines[: fence.first] if line.strip()]
    if whole and (before or any(line.strip() for line in lines[fence.last + 1 :])):
        return None
    if before and _CUE.search(before[-1]):
        return None
    inner = list(lines[fence.first + 1 : fence.last + (not fence.closed)])
    return (
        inner
        if holds_steps(inner) or any(header(line) for line in inner) or read_numbered(inner).steps
        else None
    )
