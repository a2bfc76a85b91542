"""What a step is besides work, and what decides whether and how often it runs: the plan is approved with it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from planloom.domain.plans.plan import Check, Step
from planloom.domain.plans.unrolling import most_rounds
from planloom.view.words import Words


class Rule(NamedTuple):
    """A rule of a step in words; `hint` says what such a rule does."""

    kind: Literal["when", "forEach", "repeatUntil"]
    words: str
    hint: str


class CheckWords(NamedTuple):
    """What a check says of its path, command or condition, and how it came out."""

    what: str
    outcome: str


def check_words(check: Check, t: Words) -> CheckWords:
    """A check in words that follow its path, command or condition."""
    return CheckWords(_checked(check, t), _outcome(check, t))


def _checked(check: Check, t: Words) -> str:
    match check.kind:
        case "file_exists":
            return t("exists")
        case "file_contains":
            return t("contains")
        case "no_new_errors":
            return t("no new errors")
        case "command":
            return t("runs")
        case "condition":
            return t("holds")


def _outcome(check: Check, t: Words) -> str:
    match check.outcome:
        case "passed":
            return t("passed")
        case "failed":
            return t("failed")
        case "unknown":
            return t("unknown")
        case None:
            return t("not checked yet")


def rules(step: Step, t: Words) -> tuple[Rule, ...]:
    """The condition of a step and the rule of its loop."""
    found = []
    if step.when is not None:
        found.append(Rule("when", t("if {0}", step.when), t("Runs only if this holds when it is due")))
    if step.for_each is not None:
        found.append(Rule("forEach", t("for each of {0}", step.for_each), t("Becomes a step for each item")))
    if step.repeat_until is not None:
        most = t("At most {0} rounds", most_rounds(step))
        found.append(Rule("repeatUntil", t("again until {0}", step.repeat_until), most))
    return tuple(found)


def node_words(step: Step, t: Words) -> str | None:
    """The kind of a step that neither calls a tool nor is work for an agent."""
    match step.kind:
        case "sub_plan":
            return t("template {0}", step.template_id or "")
        case "check":
            return t("check")
        case "approval":
            return t("asks for your yes")
        case "clarification":
            return t("question")
        case _:
            return None
