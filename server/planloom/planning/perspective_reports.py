"""The agents' reports on a request: their fields, and readers for the forms in which models write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from planloom.domain.model_text.lenient_json import objects_in
from planloom.domain.model_text.reasoning import without_reasoning
from planloom.domain.plans.agents import (
    NAMES,
    Agent,
    ChapoPerspective,
    DevoPerspective,
    Effort,
    KodaPerspective,
    Perspective,
)
from planloom.domain.values import Args, Instant, Json
from planloom.models.port import ToolSpec
from planloom.tools.tool import shortened

LONGEST_TEXT = 4_000
"""The most characters of a text in a report; the rest is cut."""
LONGEST_ITEM = 2_000
MOST_ITEMS = 20
_FEWEST_WORDS = 4
"""An answer with fewer words is not a report."""
_ATTEMPTS = 8
"""The most braces in a text at which a report is searched for."""


class Field(NamedTuple):
    """One field of a report, by its name on the wire."""

    name: str
    kind: Literal["text", "list"]
    description: str


_COMMON = (
    Field("analysis", "text", "What the request means from your side, in a few sentences."),
    Field("concerns", "list", "What could go wrong, a sentence each."),
    Field("recommendations", "list", "What the plan should do, a sentence each."),
    Field("dependencies", "list", "What must exist or be known before the work can begin."),
)
_OWN: Mapping[Agent, tuple[Field, ...]] = {
    "chapo": (
        Field(
            "strategicAnalysis",
            "text",
            "What the change means as a whole, and in which order to do the work.",
        ),
        Field("riskAssessment", "text", "How risky it is, and why."),
        Field("impactAreas", "list", "The parts of the project that it affects."),
        Field("coordinationNeeds", "list", "Where code and operations must wait for each other."),
    ),
    "koda": (
        Field("affectedFiles", "list", "Paths of the files to change or create."),
        Field("codePatterns", "list", "Patterns and conventions of the code to follow."),
        Field("potentialBreakingChanges", "list", "What callers or users could notice."),
        Field("testingRequirements", "list", "What has to be tested, and how."),
    ),
    "devo": (
        Field("deploymentImpact", "list", "What the change means for builds, settings and deployment."),
        Field("rollbackStrategy", "text", "How to roll the change back."),
        Field("servicesAffected", "list", "Services and jobs that it affects."),
        Field("infrastructureChanges", "list", "What has to change in the infrastructure."),
    ),
}
_EFFORT = "estimatedEffort"
_EFFORTS: Mapping[str, Effort] = {
    "trivial": "trivial",
    "minimal": "trivial",
    "small": "small",
    "low": "small",
    "minor": "small",
    "medium": "medium",
    "moderate": "medium",
    "large": "large",
    "high": "large",
    "big": "large",
}
_WORD = re.compile(r"[a-z]+")
_BETWEEN = re.compile(r"(?<=[.!?])\s+")
_ITEM = re.compile(r"^[ \t]{0,12}(?:[-*+•]|[0-9]{1,3}[.)])[ \t]{1,4}")
_TITLE = re.compile(
    r"^[ \t]{0,12}(?:#{1,6}[ \t]{0,4}|[-*+•][ \t]{1,4}|[0-9]{1,3}[.)][ \t]{1,4})?[*_`\"]{0,3}"
    r"([A-Za-z][A-Za-z _/-]{2,40}?)[*_`\"]{0,3}[ \t]{0,4}(?::[*_]{0,3}|$)(.*)$"
)


def fields_of(agent: Agent) -> tuple[Field, ...]:
    """The fields of an agent's report, without the effort."""
    return (*_COMMON, *_OWN[agent])


def report_spec(agent: Agent) -> ToolSpec:
    """The tool with which an agent delivers its report."""
    properties: dict[str, Json] = {}
    for field in fields_of(agent):
        properties[field.name] = _schema(field)
    properties[_EFFORT] = {
        "type": "string",
        "enum": ["trivial", "small", "medium", "large"],
        "description": "How much work it is.",
    }
    needed: list[Json] = [field.name for field in fields_of(agent) if field.kind == "text"]
    return ToolSpec(
        name="report",
        description=f"Give your report as {NAMES[agent]} and end your work. Call it once you know enough.",
        parameters={
            "type": "object",
            "properties": properties,
            "required": [*needed, "concerns", "recommendations", _EFFORT],
            "additionalProperties": False,
        },
    )


def _schema(field: Field) -> Json:
    if field.kind == "text":
        return {"type": "string", "maxLength": 2_000, "description": field.description}
    return {
        "type": "array",
        "maxItems": MOST_ITEMS,
        "items": {"type": "string", "maxLength": 1_000},
        "description": field.description,
    }


def report_of(agent: Agent, args: Args, at: Instant) -> Perspective | str:
    """The report in a call's arguments, or a sentence about what is missing.

    Names may have any case, a list may be given as text and a text as a list; unknown fields are ignored.
    """
    values = {_key(name): value for name, value in args.items()}
    inner = [value for value in values.values() if isinstance(value, dict)]
    if len(values) == 1 and inner:
        values = {_key(name): value for name, value in inner[0].items()}
    texts = {
        each.name: _text(values.get(_key(each.name))) for each in fields_of(agent) if each.kind == "text"
    }
    lists = {
        each.name: tuple(_items(values.get(_key(each.name))))
        for each in fields_of(agent)
        if each.kind == "list"
    }
    analysis = texts["analysis"] or next(filter(None, texts.values()), "")
    if not analysis:
        return "analysis is missing; it says in a few sentences what the request means from your side"
    texts["analysis"] = analysis
    effort = _effort(_text(values.get(_key(_EFFORT)) or values.get("effort")))
    return _perspective(
        agent, {_snake(name): value for name, value in (*texts.items(), *lists.items())}, effort, at
    )


def _perspective(agent: Agent, values: Mapping[str, object], effort: Effort, at: Instant) -> Perspective:
    fields = {**values, "estimated_effort": effort, "timestamp": at}
    match agent:
        case "chapo":
            return ChapoPerspective.model_validate(fields)
        case "koda":
            return KodaPerspective.model_validate(fields)
        case "devo":
            return DevoPerspective.model_validate(fields)


def find_report(agent: Agent, text: str, at: Instant) -> Perspective | None:
    """A report that is written as a JSON object in a text, or None."""
    names = {_key(field.name) for field in fields_of(agent)}
    for value in objects_in(text, _ATTEMPTS):
        found = _report_in(value, names)
        if found is not None:
            read = report_of(agent, found, at)
            return None if isinstance(read, str) else read
    return None


def _report_in(value: Mapping[str, Json], names: set[str]) -> Args | None:
    for each in (value, *(inner for inner in value.values() if isinstance(inner, dict))):
        if len(names & {_key(str(name)) for name in each}) >= 2:
            return {str(name): part for name, part in each.items()}
    return None


def report_in_words(agent: Agent, text: str, at: Instant) -> Perspective | None:
    """An answer in prose as a report: a title that names a field begins it; the text before is the analysis."""
    visible = without_reasoning(text).text
    if len(visible.split()) < _FEWEST_WORDS:
        return None
    parts: dict[str, list[str]] = {"analysis": []}
    names = {_key(field.name): field.name for field in fields_of(agent)} | {_key(_EFFORT): _EFFORT}
    current = "analysis"
    for line in visible.splitlines():
        title = _TITLE.match(line)
        field_name = names.get(_key(title[1])) if title is not None else None
        if title is not None and field_name is not None:
            current = field_name
        content = title[2] if title is not None and field_name is not None else line
        parts.setdefault(current, []).append(content)
    values: dict[str, Json] = {name: "\n".join(lines).strip() for name, lines in parts.items()}
    if not values["analysis"]:
        values["analysis"] = next((text for text in values.values() if text), "")
    read = report_of(agent, values, at)
    return None if isinstance(read, str) else read


def _text(value: Json) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, list | dict):
        text = "; ".join(_items(value))
    else:
        text = "" if value is None or isinstance(value, bool) else str(value)
    return shortened(_once(text.strip()), LONGEST_TEXT)


def _once(text: str) -> str:
    """The text without repeated sentences, which weak models write."""
    sentences = _BETWEEN.split(text)
    once = dict.fromkeys(sentences)
    return " ".join(once) if len(once) < len(sentences) else text


def _items(value: Json) -> Iterator[str]:
    """The items of a list, or of a text with one item on each line."""
    items: set[str] = set()
    for text in _parts(value):
        item = shortened(_once(" ".join(text.split())), LONGEST_ITEM)
        if item and item not in items and item.lower().rstrip(".") not in ("none", "n/a", "null", "-"):
            yield item
            items.add(item)
        if len(items) == MOST_ITEMS:
            return


def _parts(value: Json) -> Iterable[str]:
    if isinstance(value, str):
        return (_ITEM.sub("", line) for line in value.splitlines())
    if isinstance(value, list):
        return (_flat(each) for each in value)
    if isinstance(value, dict):
        return (f"{name}: {_flat(each)}" for name, each in value.items())
    return () if value is None or isinstance(value, bool) else (str(value),)


def _flat(value: Json) -> str:
    if isinstance(value, dict):
        return ", ".join(_flat(each) for each in value.values())
    if isinstance(value, list):
        return ", ".join(_flat(each) for each in value)
    return "" if value is None else str(value)


def _effort(text: str) -> Effort:
    return next((_EFFORTS[word] for word in _WORD.findall(text.lower()) if word in _EFFORTS), "medium")


def _key(name: str) -> str:
    return "".join(_WORD.findall(name.lower()))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
