"""Qualification: what kind of work a request is, how much of it, how risky, and the route that follows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from planloom.domain.plans.attachments import Attachment
from planloom.domain.plans.plan import Detection, Qualification, Risk, Route
from planloom.domain.values import Value
from planloom.intake.detection import count_items, request_body, without_paths
from planloom.intake.words import JOINED_TASK, SCOPE_SET, WORD_END, WORD_START
from planloom.settings import PlanningSettings

Mode = Literal["auto", "plan", "direct", "perspectives"]
TaskType = Literal["question", "code", "devops", "mixed"]
Complexity = Literal["trivial", "simple", "moderate", "complex"]

_TOKEN = re.compile(r"\w+")
_LOOKED_AT = 8000
"""Code points of a request that the rules look at."""


class _Vocabulary:
    """Words and phrases to look for, hyphens being as good as blanks."""

    def __init__(self, *entries: str) -> None:
        plain = [" ".join(_TOKEN.findall(entry)) for entry in entries]
        self.words = frozenset(entry for entry in plain if " " not in entry)
        self.phrases = tuple(entry for entry in plain if " " in entry)

    def found(self, tokens: Sequence[str], spaced: str) -> tuple[str, ...]:
        """The different entries that are there; `spaced` is the tokens with a blank around each."""
        phrases = [phrase for phrase in self.phrases if f" {phrase} " in spaced]
        return tuple(dict.fromkeys(phrases + [token for token in tokens if token in self.words]))


_DEVOPS = _Vocabulary(
    *("deploy", "deploys", "deployed", "deploying", "deployment", "deployments", "docker", "dockerfile"),
    *("docker compose", "docker-compose", "container", "containers", "kubernetes", "k8s", "kubectl", "helm"),
    *("terraform", "ansible", "pulumi", "nginx", "systemd", "jenkins", "github actions", "gitlab ci"),
    *("ci", "ci pipeline", "pipeline", "pipelines", "continuous integration", "infrastructure", "cluster"),
    *("load balancer", "reverse proxy", "ingress", "prometheus", "grafana", "monitoring", "staging"),
    *("production", "prod", "rollback", "roll back", "backup", "backups", "certificate", "tls", "dns"),
    *("aws", "azure", "gcp", "ec2", "s3", "lambda", "cron", "cronjob", "provision", "hosting", "devops"),
)
_CODE = _Vocabulary(
    *("function", "functions", "class", "classes", "method", "methods", "interface", "interfaces"),
    *("component", "components", "module", "modules", "page", "pages", "form", "forms", "endpoint"),
    *("endpoints", "api", "apis", "refactor", "implement", "bug", "bugs", "unit test", "unit tests", "tests"),
    *("test", "typescript", "javascript", "python", "rust", "java", "css", "html", "react", "vue", "sql"),
    *("variable", "variables", "type", "types", "import", "imports", "algorithm", "parser", "schema"),
    *("feature", "features", "app", "application", "website", "game", "ui", "frontend", "backend"),
)
_BROAD = _Vocabulary(
    *("entire", "whole codebase", "whole project", "whole application", "all files", "every file"),
    *("everywhere", "across the codebase", "across the project", "across all", "from scratch", "end to end"),
    *("end-to-end", "architecture", "rearchitect", "rewrite", "re-architect", "migrate", "migration"),
    *("port to", "microservices", "monorepo", "full stack", "full-stack", "all modules", "all services"),
)
_DESTRUCTIVE = _Vocabulary(
    *("delete", "remove", "drop", "wipe", "erase", "purge", "truncate", "destroy", "overwrite", "reset")
)
_PRECIOUS = _Vocabulary(
    *("all", "everything", "every", "database", "databases", "table", "tables", "production", "prod", "data"),
    *("users", "accounts", "history", "branch", "branches", "repository", "backups", "bucket", "volume"),
)
_DANGEROUS = re.compile(
    rf"\brm\s+-\w*[rf]|\bforce[- ]push|push\s+(?:--force|-f\b)|drop\s+(?:table|database)|reset\s+--hard"
    rf"|{WORD_START}(?:on|in|to)\s+(?:production|prod){WORD_END}|{WORD_START}(?:live|customer)\s+data{WORD_END}",
    re.IGNORECASE,
)
_DELICATE = _Vocabulary(
    *("authentication", "authorization", "auth", "login", "permissions", "permission", "security", "secret"),
    *("secrets", "credentials", "password", "passwords", "encryption", "payment", "payments", "billing"),
    *("migrate", "migration", "migrations", "schema", "deploy", "deployment", "dependencies", "upgrade"),
    *("rename", "configuration", "environment variables", "breaking change", "public api", "rollback"),
)
_DEVOPS_FILE = re.compile(
    r"(?:^|/)(?:dockerfile[^/]*|docker-compose[^/]*|compose\.ya?ml|jenkinsfile|[^/]*\.tf|\.gitlab-ci\.yml"
    r"|\.github/workflows/[^/]*|k8s/.*|helm/.*|ansible/.*|terraform/.*|nginx\.conf)$",
    re.IGNORECASE,
)


class Routing(Value):
    """Where a request goes, and the verdict that is shown for it.

    `undecided` waits for a model's verdict (`refine`), before which nothing runs.
    """

    route: Route
    detection: Detection
    qualification: Qualification


class Classification(Value):
    """A model's verdict on a request that the rules find ambiguous."""

    planned: bool
    task_type: TaskType
    complexity: Complexity
    risk_level: Risk
    reason: str = ""


class Classifier(Protocol):
    """A model that is asked about ambiguous requests. None stands for no usable answer; it never raises."""

    async def classify(self, text: str, qualification: Qualification) -> Classification | None: ...


class _Signs(NamedTuple):
    text: str
    tasks: int
    scopes: int
    files: int
    devops: tuple[str, ...]
    code: tuple[str, ...]
    broad: tuple[str, ...]
    destructive: tuple[str, ...]
    precious: tuple[str, ...]
    delicate: tuple[str, ...]


def qualify(text: str, attachments: Sequence[Attachment], detection: Detection) -> Qualification:
    """Judge a request by rules; pure. Each reason is a sentence that can be shown."""
    signs = _read(text, attachments)
    reasons: list[str] = []
    task_type = _task_type(signs, detection, reasons)
    complexity = _complexity(signs, detection, reasons)
    risk = _risk(signs, attachments, detection, reasons)
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
    """Where a request goes; pure. An explicit mode wins over everything.

    Only an ambiguous request of mode `auto` becomes `undecided`, if the settings and `model_at_hand` allow it.
    """
    if mode != "auto":
        return Routing(route=mode, detection=detection, qualification=qualification)
    if detection.ambiguous and settings.classify_with_model == "ambiguous" and model_at_hand:
        return Routing(route="undecided", detection=detection, qualification=qualification)
    return _decided(detection, qualification, settings)


async def refine(
    text: str, undecided: Routing, settings: PlanningSettings, classifier: Classifier
) -> Routing:
    """The route of an undecided request after a model was asked; without an answer the rules' verdict holds."""
    answer = await classifier.classify(text, undecided.qualification)
    if answer is None:
        return _decided(undecided.detection, undecided.qualification, settings)
    detection = undecided.detection.model_copy(
        update={"planned": answer.planned, "rule": "model", "ambiguous": False}
    )
    qualification = Qualification(
        task_type=answer.task_type,
        complexity=answer.complexity,
        risk_level=answer.risk_level,
        reasons=(answer.reason,) if answer.reason else undecided.qualification.reasons,
        by="model",
    )
    return _decided(detection, qualification, settings)


def _decided(detection: Detection, qualification: Qualification, settings: PlanningSettings) -> Routing:
    weighty = (
        qualification.task_type == "mixed"
        or qualification.complexity == "complex"
        or qualification.risk_level == "high"
    )
    asked = detection.rule == "question" or qualification.task_type == "question"
    planned = detection.planned
    if detection.rule != "disabled" and not planned and weighty and not asked:
        planned = True
        detection = detection.model_copy(
            update={"planned": True, "rule": "qualification", "ambiguous": False}
        )
    chosen: Route = "direct"
    if planned:
        many = settings.perspectives == "always" or (settings.perspectives == "auto" and weighty)
        chosen = "perspectives" if many else "plan"
    return Routing(route=chosen, detection=detection, qualification=qualification)


def _read(text: str, attachments: Sequence[Attachment]) -> _Signs:
    body, paths = without_paths(request_body(text)[:_LOOKED_AT])
    places = [attachment.uri or attachment.reference for attachment in attachments]
    tokens = _TOKEN.findall(body.lower())
    spaced = f" {' '.join(tokens)} "
    names = tuple(place.rsplit("/", 1)[-1] for place in places if _DEVOPS_FILE.search(place))
    return _Signs(
        text=body,
        tasks=max(count_items(body), len(JOINED_TASK.findall(body)) + 1),
        scopes=len(SCOPE_SET.intersection(tokens)),
        files=max(paths, sum(attachment.kind in ("file", "folder") for attachment in attachments)),
        devops=_DEVOPS.found(tokens, spaced) + names,
        code=_CODE.found(tokens, spaced),
        broad=_BROAD.found(tokens, spaced),
        destructive=_DESTRUCTIVE.found(tokens, spaced),
        precious=_PRECIOUS.found(tokens, spaced),
        delicate=_DELICATE.found(tokens, spaced),
    )


def _task_type(signs: _Signs, detection: Detection, reasons: list[str]) -> TaskType:
    if detection.rule == "question":
        reasons.append("It asks a question.")
        return "question"
    if not signs.devops:
        if signs.code:
            reasons.append(f"It is about code: {_told(signs.code)}.")
        return "code"
    if signs.code and (len(signs.devops) + len(signs.code) > 2 or signs.tasks > 1):
        reasons.append(
            f"It is about code ({_told(signs.code)}) and about operations ({_told(signs.devops)})."
        )
        return "mixed"
    reasons.append(f"It is about operations: {_told(signs.devops)}.")
    return "devops"


def _complexity(signs: _Signs, detection: Detection, reasons: list[str]) -> Complexity:
    length = len(signs.text)
    weight = min(signs.tasks - 1, 8) + min(signs.scopes, 5) + min(signs.files, 6) + min(length // 250, 6)
    weight += 5 * min(len(signs.broad), 2)
    if signs.tasks > 1:
        reasons.append(f"It names {signs.tasks} tasks.")
    if signs.broad:
        reasons.append(f"It reaches far: {_told(signs.broad)}.")
    if signs.files > 2:
        reasons.append(f"It names {signs.files} files or folders.")
    if length > 1000:
        reasons.append(f"It is long: {length} characters.")
    if detection.rule == "question":
        return "simple" if weight > 1 else "trivial"
    if weight >= 9:
        return "complex"
    if weight >= 4:
        return "moderate"
    return "simple" if weight > 1 or detection.planned else "trivial"


def _risk(signs: _Signs, attachments: Sequence[Attachment], detection: Detection, reasons: list[str]) -> Risk:
    if detection.rule == "question":
        return "low"
    dangerous = tuple(match.group() for match in _DANGEROUS.finditer(signs.text))
    if dangerous or (signs.destructive and signs.precious):
        named = dangerous or (*signs.destructive, *signs.precious)
        reasons.append(f"What it asks may not be taken back: {_told(named)}.")
        return "high"
    delicate = signs.delicate + signs.destructive
    if any(attachment.secret for attachment in attachments):
        reasons.append("A secret is attached.")
        return "medium"
    if delicate:
        reasons.append(f"It touches what others rely on: {_told(delicate)}.")
        return "medium"
    return "low"


def _told(found: Sequence[str]) -> str:
    shown = [" ".join(word.split()) for word in found[:4]]
    return ", ".join(shown) + (" …" if len(found) > 4 else "")
