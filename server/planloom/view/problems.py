"""Errors in the user's words: a sentence for each code and each reason why a model cannot be used, and what mends it.

The section of docs/troubleshooting.md about each says more; a test checks that none is missing.

The message of an error is for logs and programs. It is shown only where it names what the user has to find.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, assert_never

from planloom.domain.errors import FilesRefused, ModelFailed, ModelProblem, PlanloomError
from planloom.domain.plans.plan import Plan, PlanError
from planloom.domain.values import Json
from planloom.models.port import Restarted
from planloom.version import DOCUMENTATION
from planloom.view.words import Words

Mend = Literal[
    "key",
    "address",
    "models",
    "startOllama",
    "getOllamaModel",
    "again",
    "folder",
    "trust",
    "settings",
    "restart",
    "log",
]
"""What a person can do about an error; each client has its own way to it."""
_OF_MODEL: Final = frozenset(
    {
        "model_unavailable",
        "model_refused",
        "model_output_invalid",
        "budget_exhausted",
        "context_overflow",
        "internal",
    }
)
"""The codes with which a plan fails for its model; the message of another one is about the plan, and is shown."""
_LISTED: Final = 6


class Explained(NamedTuple):
    """An error in the user's words, and what mends it, the most likely first.

    `until` is when a server that takes no more requests can be asked again, `help` the address of the page about it.
    """

    words: str
    mends: tuple[Mend, ...] = ()
    until: datetime | None = None
    help: str | None = None


HelpKind = Literal["error", "model", "pause"]


def help_of(kind: HelpKind, name: str) -> str:
    """The address of the section about an error code, a cause for which a model cannot be used, or a pause."""
    return f"{DOCUMENTATION}/troubleshooting.md#{kind}-{name.replace('_', '-')}"


def of_wait(wait: Restarted, t: Words) -> str:
    """Why a model has not answered yet, and when it is asked again."""
    why = wait.problem if wait.cause is None else of_model(wait.cause, None, t).words
    return t(
        "{0} Attempt {1} follows after a wait of {2}.",
        why,
        wait.attempt,
        t.duration(wait.wait_seconds * 1000),
    )


def of_failure(error: BaseException, now: datetime, t: Words) -> Explained:
    """Why a request has failed."""
    if not isinstance(error, PlanloomError):
        return of_code("internal", "", t)
    if error.code == "model_unavailable":
        return of_model(error.problem if isinstance(error, ModelFailed) else None, now, t)
    if isinstance(error, FilesRefused):
        return Explained(error.message, help=help_of("error", error.code))
    lines = _problems(error.details, t)
    found = of_code(error.code, "" if lines else error.message, t)
    return found._replace(words="\n".join((found.words, *lines)))


def of_plan(plan: Plan, t: Words) -> Explained | None:
    """Why a plan has failed, is paused for its model, or will be; None if it goes on."""
    if plan.error is not None:
        return _of_plan_error(plan.error, plan.completed_at, t)
    if plan.status == "pending_approval" and plan.model_problem is not None:
        return _of_review(plan, plan.model_problem, t)
    if plan.status == "paused" and plan.pause_reason == "model_unavailable":
        return of_model(plan.model_problem, plan.paused_at, t)
    return None


def _of_review(plan: Plan, problem: ModelProblem, t: Words) -> Explained | None:
    """Why a plan under review was written without a model, and has steps that none can run."""
    needing = sum(step.kind == "processing" and step.status == "pending" for step in plan.steps)
    if not needing and problem.cause == "none":
        return None
    found = of_model(problem, plan.updated_at, t)
    effect = t("It was planned without a language model.")
    if needing:
        effect = t.plural(
            needing,
            "1 step needs a language model, and the plan will pause there.",
            "{0} steps need a language model, and the plan will pause there.",
        )
    why = t("None is set up.") if problem.cause == "none" else found.words
    return Explained(f"{effect} {why}", found.mends, help=found.help)


def _of_plan_error(error: PlanError, at: datetime | None, t: Words) -> Explained:
    if error.code == "model_unavailable":
        return of_model(error.model_problem, at, t)
    if error.code in _OF_MODEL:
        return of_code(error.code, error.message, t)
    return Explained(error.message, help=help_of("error", error.code))


def of_model(problem: ModelProblem | None, at: datetime | None, t: Words) -> Explained:
    """Why a model cannot be used; `at` is when it was asked."""
    if problem is None:
        why = t("The model cannot be used now.")
        return Explained(why, ("again", "models"), help=help_of("error", "model_unavailable"))
    words, mends = _of_cause(problem, t)
    if problem.said:
        words = f"{words} {t('It said: {0}', problem.said)}"
    until = at + timedelta(seconds=problem.wait_seconds) if at and problem.wait_seconds else None
    return Explained(words, mends, until, help_of("model", problem.cause))


def _of_cause(problem: ModelProblem, t: Words) -> tuple[str, tuple[Mend, ...]]:
    ollama, address = problem.provider == "ollama", problem.address
    server = address or t("The model's server")
    match problem.cause:
        case "none":
            return t("This needs a language model, and none is set up."), ("models",)
        case "unreachable" if ollama:
            words = t("Ollama does not answer at {0}.", address) if address else t("Ollama does not answer.")
            return words, ("startOllama", "again", "models")
        case "unreachable":
            without = t("The model's server does not answer.")
            return t("Nothing answers at {0}.", address) if address else without, (
                "again",
                "address",
                "models",
            )
        case "unknown_host":
            without = t("The name of the model's server is not known.")
            at = t("The name in {0} is not known: it is misspelt, or this machine is offline.", address)
            return at if address else without, ("address", "again", "models")
        case "proxy":
            without = t("The proxy does not lead to the model's server.")
            at = t("The proxy {0} does not lead to the model's server.", address)
            return at if address else without, ("again", "models")
        case "slow":
            return t("{0} did not answer in time.", server), ("again", "models")
        case "key_missing":
            return t("{0} wants a key.", server), ("key", "models")
        case "key_refused":
            return t("{0} refused the key.", server), ("key", "models")
        case "forbidden":
            return t("{0} does not allow this with your key.", server), ("key", "models")
        case "payment":
            at = t(
                "The account at {0} has no credit left. Top it up there, or choose another model.", address
            )
            without = t("The account has no credit left. Top it up at its provider, or choose another model.")
            return at if address else without, ("again", "models")
        case "model_missing":
            name = problem.model or t("the model")
            if ollama:
                return t("Ollama does not have {0}.", name), ("getOllamaModel", "models")
            return t("{0} does not have {1}.", server, name), ("models", "address")
        case "no_models" if ollama:
            return t("Ollama runs but has no model yet."), ("getOllamaModel", "again", "models")
        case "no_models" if problem.provider == "editor":
            return t("The editor has no language model."), ("models",)
        case "no_models":
            return t("{0} has no model.", server), ("address", "models")
        case "model_not_chosen":
            return t("{0} has several models.", server), ("models",)
        case "wrong_address":
            without = t("The address of the model's server cannot be used.")
            return t("No model server is at {0}.", address) if address else without, ("address", "models")
        case "certificate":
            at = t("The certificate of {0} is not trusted on this machine.", address)
            without = t("The certificate of the model's server is not trusted on this machine.")
            return at if address else without, ("again", "address")
        case "busy":
            return t("{0} takes no more requests now.", server), ("again", "models")
        case "server_failed":
            return t("{0} failed.", server), ("again", "models")
        case _:
            assert_never(problem.cause)


def of_code(code: str, message: str, t: Words) -> Explained:
    """The sentence for a code; `message` follows where the sentence ends with a colon."""
    words, mends = _sentence(code, t)
    words = f"{words} {message}".strip() if not words or words.endswith(":") else words
    return Explained(words, mends, help=help_of("error", code))


def _sentence(code: str, t: Words) -> tuple[str, tuple[Mend, ...]]:
    match code:
        case "internal":
            return t("Something inside Planloom broke; the log has the details."), ("log", "restart")
        case "invalid_params":
            return t("That cannot be done:"), ()
        case "unknown_plan":
            return t("This plan is no longer in the ledger."), ()
        case "unknown_step":
            return t("This step is no longer in the plan."), ()
        case "unknown_approval":
            return t("This question has been answered already."), ()
        case "unknown_template":
            return t("There is no such template."), ()
        case "unknown_edit":
            return t("This change is no longer open."), ()
        case "wrong_state":
            return t("That is not possible now:"), ()
        case "stale_version":
            return t("The plan has changed since. Look at it again."), ()
        case "invalid_plan":
            return t("That is not a valid plan:"), ()
        case "owned_elsewhere":
            return t("Another window runs this plan. Go on there, or close it first."), ()
        case "limit_exceeded":
            return t("A limit was reached:"), ("settings",)
        case "storage_failed":
            return t("Plans cannot be kept now:"), ("log",)
        case "model_refused":
            words = t("The model refused. Word the request in another way, or choose another model.")
            return words, ("again", "models")
        case "model_output_invalid":
            words = t("The model gave no answer that can be used. Try again, or choose a stronger model.")
            return words, ("again", "models")
        case "planner_failed":
            return t("The planner of a package wrote no plan:"), ("settings",)
        case "reference_unresolved":
            return t("What the request refers to was not found:"), ()
        case "workspace_required":
            return t("Open a folder first: a plan works on its files."), ("folder",)
        case "untrusted_workspace":
            return t("This folder is not trusted, so nothing in it is written or run."), ("trust",)
        case "path_denied":
            return t("That file is out of reach:"), ()
        case "budget_exhausted":
            return t("The plan's budget is used up. Resume grants the same amount again."), ("settings",)
        case "context_overflow":
            words = t(
                "The request is too long for the model. Attach less, or choose a model that takes more."
            )
            return words, ("models",)
        case _:
            return "", ()


def _problems(details: Json, t: Words) -> list[str]:
    """A line for each problem that an error lists, as far as they can be read at a glance."""
    listed = details if isinstance(details, list) else []
    lines = [_problem(each) for each in listed if isinstance(each, Mapping) and "problem" in each]
    left = len(lines) - _LISTED
    return [*lines[:_LISTED], t("and {0} more", left)] if left > 0 else lines


def _problem(each: Mapping[str, Json]) -> str:
    # The sentence about a step names the step, its tool and the argument.
    field = "" if each.get("stepId") else each.get("field")
    return f"{field}: {each['problem']}" if field else str(each["problem"])
