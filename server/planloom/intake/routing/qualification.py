"""Qualifies a request by kind of work, complexity and risk, and chooses its route."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.plans.attachments import Attachment
from planloom.domain.plans.plan import Detection, Qualification, Risk, Route
from planloom.domain.values import Value
from planloom.intake.routing import operations
from planloom.intake.routing.detection import count_items, request_body, without_paths
from planloom.intake.routing.risk import RISKS, risk_of
from planloom.intake.routing.words import JOINED_TASK, SCOPE_SET, WORD_END, WORD_START, listed
from planloom.settings import PlanningSettings

Mode = Literal["auto", "plan", "direct", "perspectives"]
TaskType = Literal["question", "code", "devops", "mixed"]
Complexity = Literal["trivial", "simple", "moderate", "complex"]

_TOKEN = pattern(r"\w+")
_EXAMINED = 8000
"""Code points of a request that the rules examine."""


class _Vocabulary:
    """Words and phrases to search for; hyphens count as spaces."""

    def __init__(self, *entries: str) -> None:
        plain = [" ".join(_TOKEN.findall(entry)) for entry in entries]
        self.words = frozenset(entry for entry in plain if " " not in entry)
        self.phrases = tuple(entry for entry in plain if " " in entry)

    def found(self, tokens: Sequence[str], spaced: str) -> tuple[str, ...]:
        """The entries that occur, each once; `spaced` is the tokens with spaces around each."""
        phrases = [phrase for phrase in self.phrases if f" {phrase} " in spaced]
        return tuple(dict.fromkeys(phrases + [token for token in tokens if token in self.words]))


_DEVOPS = _Vocabulary(*operations.TOPICS)
_CODE = _Vocabulary(
    *("function", "functions", "class", "classes", "method", "methods", "interface", "interfaces"),
    *("component", "components", "module", "modules", "page", "pages", "form", "forms", "endpoint"),
    *("endpoints", "api", "apis", "refactor", "implement", "bug", "bugs", "unit test", "unit tests", "tests"),
    *("test", "typescript", "javascript", "python", "rust", "java", "css", "html", "react", "vue", "sql"),
    *("variable", "variables", "type", "types", "import", "imports", "algorithm", "parser", "schema"),
    *("feature", "features", "app", "application", "website", "game", "ui", "frontend", "backend"),
)
_BROAD = _Vocabulary(
    *("entire", "whole codebase", "whole project", "whole application"),
    *("across the codebase", "across the project", "from scratch", "end to end"),
    *("end-to-end", "architecture", "rearchitect", "rewrite", "re-architect", "migrate", "migration"),
    *("port to", "microservices", "monorepo", "full stack", "full-stack"),
)
_LOOKS = pattern(
    rf"(?:review|audit|check|explain|inspect|assess|analy[sz]e|summari[sz]e|compare|describe|find|list|look){WORD_END}",
    re.IGNORECASE,
)
_CHANGE_NOTHING = pattern(
    rf"{WORD_START}(?:(?:change|modify|edit|touch)\s+nothing"
    r"|(?:do\s+not|don['’]t)\s+(?:change|modify|edit|touch)\s+(?:anything|any\s+(?:files?|code))"
    r"|without\s+(?:changing|modifying|editing|touching)\s+(?:anything|any\s+(?:files?|code)))"
    r"(?:\s+yet)?\s*(?:[.!?;:,)\n]|\Z)",
    re.IGNORECASE,
)
"""Says that nothing at all may change; "change nothing else" says less."""
_REVIEWS = pattern(rf"(?:review|audit){WORD_END}", re.IGNORECASE)
_MENDING = _Vocabulary(
    *listed(
        """
        fix, correct, mend, repair, improve, apply, update, rewrite, refactor, add, remove, delete, rename, replace,
        edit, write, implement, create, address, resolve, clean
        """
    )
)
_DEVOPS_FILE = pattern(
    r"(?:^|/)(?:dockerfile[^/]*|docker-compose[^/]*|compose\.ya?ml|jenkinsfile|[^/]*\.tf|\.gitlab-ci\.yml"
    r"|\.github/workflows/[^/]*|k8s/.*|helm/.*|ansible/.*|terraform/.*|nginx\.conf)$",
    re.IGNORECASE,
)


class Routing(NamedTuple):
    """The route of a request, with the classification that led to it.

    `undecided` waits for a model's classification (`refine`); nothing runs before.
    """

    route: Route
    detection: Detection
    qualification: Qualification


class Classification(Value):
    """A model's classification of a request that the rules find ambiguous."""

    planned: bool
    task_type: TaskType
    complexity: Complexity
    risk_level: Risk
    reason: str = ""


class _Features(NamedTuple):
    text: str
    tasks: int
    scopes: int
    files: int
    devops: tuple[str, ...]
    code: tuple[str, ...]
    broad: tuple[str, ...]
    only_looks: bool


_RESTRUCTURES = pattern(r"\b(?:refactor|rewrite|restructure|redesign|migrate|port|replace)\b", re.IGNORECASE)


def qualify(text: str, attachments: Sequence[Attachment], detection: Detection) -> Qualification:
    """Classify a request by rules; pure. Each reason is a sentence for the user."""
    features = _read(text, attachments)
    reasons: list[str] = []
    task_type = _task_type(features, detection, reasons)
    complexity = _complexity(features, detection, reasons)
    if task_type == "mixed" and _RESTRUCTURES.search(features.text):
        reasons.append("It restructures code and puts it into operation.")
        complexity = "complex"
    risk: Risk = "low" if detection.only_asks else _risk(features, attachments, reasons)
    return Qualification(
        task_type=task_type, complexity=complexity, risk_level=risk, reasons=tuple(reasons), by="rules"
    )


def route(
    mode: Mode,
    detection: Detection,
    qualification: Qualification,
    settings: PlanningSettings,
    *,
    model_at_hand: bool = False,
) -> Routing:
    """The route of a request; pure. An explicit mode overrides everything else.

    Only an ambiguous request of mode `auto` becomes `undecided`, if the settings and `model_at_hand` allow it, and
    unless its weight decides: then it is planned, whatever a model says.
    """
    if mode != "auto":
        return Routing(route=mode, detection=detection, qualification=qualification)
    unsure = _is_unsure(detection, qualification) and not _is_weighty(qualification)
    if unsure and settings.classify_with_model == "ambiguous" and model_at_hand:
        return Routing(route="undecided", detection=detection, qualification=qualification)
    return _decided(detection, qualification, settings)


def refine(undecided: Routing, settings: PlanningSettings, answer: Classification | None) -> Routing:
    """The route of an undecided request by a model's answer; without one the rules decide."""
    if answer is None:
        return _decided(undecided.detection, undecided.qualification, settings)
    detection = undecided.detection.model_copy(
        update={"planned": answer.planned, "rule": "model", "ambiguous": False}
    )
    qualification = Qualification(
        task_type=answer.task_type,
        complexity=answer.complexity,
        # A model's word raises the risk, and never lowers it.
        risk_level=max(undecided.qualification.risk_level, answer.risk_level, key=RISKS.index),
        reasons=(answer.reason,) if answer.reason else undecided.qualification.reasons,
        by="model",
    )
    return _decided(detection, qualification, settings)


def _is_unsure(detection: Detection, qualification: Qualification) -> bool:
    """Whether the rules leave it open; they do not where a request surely only looks, whatever its words are."""
    return detection.ambiguous and qualification.task_type != "question"


def _is_weighty(qualification: Qualification) -> bool:
    return (
        qualification.task_type == "mixed"
        or qualification.complexity == "complex"
        or qualification.risk_level == "high"
    )


def _decided(detection: Detection, qualification: Qualification, settings: PlanningSettings) -> Routing:
    is_weighty = _is_weighty(qualification)
    planned = detection.planned
    is_question = qualification.task_type == "question"
    if detection.rule != "disabled" and not planned and is_weighty and not is_question:
        planned = True
        detection = detection.model_copy(
            update={"planned": True, "rule": "qualification", "ambiguous": False}
        )
    if _is_unsure(detection, qualification) and not planned and settings.when_unsure == "plan":
        planned = True
        detection = detection.model_copy(update={"planned": True, "rule": "unsure"})
    chosen: Route = "direct"
    if planned:
        with_perspectives = settings.perspectives == "always" or (
            settings.perspectives == "auto" and is_weighty
        )
        chosen = "perspectives" if with_perspectives else "plan"
    return Routing(route=chosen, detection=detection, qualification=qualification)


def _read(text: str, attachments: Sequence[Attachment]) -> _Features:
    body, paths = without_paths(request_body(text)[:_EXAMINED])
    places = [attachment.uri or attachment.reference for attachment in attachments]
    tokens = _TOKEN.findall(body.lower())
    spaced = f" {' '.join(tokens)} "
    names = tuple(place.rsplit("/", 1)[-1] for place in places if _DEVOPS_FILE.search(place))
    return _Features(
        text=body,
        tasks=max(count_items(body), len(JOINED_TASK.findall(body)) + 1),
        scopes=len(SCOPE_SET.intersection(tokens)),
        files=max(paths, sum(attachment.kind in ("file", "folder") for attachment in attachments)),
        devops=_DEVOPS.found(tokens, spaced) + names,
        code=_CODE.found(tokens, spaced),
        broad=_BROAD.found(tokens, spaced),
        only_looks=_only_looks(body, tokens, spaced),
    )


def _only_looks(body: str, tokens: Sequence[str], spaced: str) -> bool:
    """Whether a request surely wants nothing changed: it says so, or it is a review without a word of mending."""
    if _LOOKS.match(body) is not None and _CHANGE_NOTHING.search(body) is not None:
        return True
    return _REVIEWS.match(body) is not None and not _MENDING.found(tokens, spaced)


def _task_type(features: _Features, detection: Detection, reasons: list[str]) -> TaskType:
    if detection.only_asks:
        reasons.append("It asks a question.")
        return "question"
    if features.only_looks:
        reasons.append("It asks to look at something and to change nothing.")
        return "question"
    if not features.devops:
        if features.code:
            reasons.append(f"It is about code: {_listed(features.code)}.")
        return "code"
    if features.code and (len(features.devops) + len(features.code) > 2 or features.tasks > 1):
        reasons.append(
            f"It is about code ({_listed(features.code)}) and about operations ({_listed(features.devops)})."
        )
        return "mixed"
    reasons.append(f"It is about operations: {_listed(features.devops)}.")
    return "devops"


def _complexity(features: _Features, detection: Detection, reasons: list[str]) -> Complexity:
    length = len(features.text)
    weight = (
        min(features.tasks - 1, 8) + min(features.scopes, 5) + min(features.files, 6) + min(length // 250, 6)
    )
    weight += 5 * min(len(features.broad), 2)
    if features.tasks > 1:
        reasons.append(f"It names {features.tasks} tasks.")
    if features.broad:
        reasons.append(f"It affects much of the project: {_listed(features.broad)}.")
    if features.files > 2:
        reasons.append(f"It names {features.files} files or folders.")
    if length > 1000:
        reasons.append(f"It is long: {length} characters.")
    if detection.only_asks:
        return "simple" if weight > 1 else "trivial"
    if weight >= 9:
        return "complex"
    if weight >= 4:
        return "moderate"
    return "simple" if weight > 1 or detection.planned else "trivial"


def _risk(features: _Features, attachments: Sequence[Attachment], reasons: list[str]) -> Risk:
    if features.only_looks:
        return "low"
    risk, reason = risk_of(features.text)
    if risk == "low" and any(attachment.secret for attachment in attachments):
        risk, reason = "medium", "A secret is attached."
    if reason:
        reasons.append(reason)
    return risk


def _listed(found: Sequence[str]) -> str:
    shown = [" ".join(word.split()) for word in found[:4]]
    return ", ".join(shown) + (" …" if len(found) > 4 else "")
