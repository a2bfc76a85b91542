"""Every setting (docs/settings.md is made from them), and which of them each source may give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from planloom.domain.safety.approvals import Policy, Verdict

Source = Literal["command_line", "environment", "user", "initialization", "workspace"]
"""Where a value comes from, strongest first; `workspace` is whatever the editor merged."""

STRENGTH: tuple[Source, ...] = ("workspace", "initialization", "user", "environment", "command_line")
USER_ONLY = (
    "model.baseUrl",
    "model.provider",
    "approvals.",
    "execution.review",
    "planning.systemPrompt",
    "storage.path",
)
"""Names, or their beginnings, closed to an opened folder: it could redirect keys or approve itself."""


class _Group(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, strict=True
    )


class ModelSettings(_Group):
    """Which model answers, and how long to wait for it.

    The provider `auto` takes the first that answers: the base URL, a key of the environment, a local Ollama, the
    editor's own model. Without any, the embedded rules plan what a request says literally.
    """

    provider: Literal["auto", "openai", "ollama", "anthropic", "editor", "embedded", "replay"] = Field(
        "auto",
        description="Who answers. `auto` takes the first that does: the base URL, a key in the environment, a local "
        "Ollama, the editor's own model, the built-in planner.",
        json_schema_extra={"order": 2},
    )
    base_url: str = Field(
        "",
        description="Address of an OpenAI-compatible, Ollama or Anthropic server.",
        json_schema_extra={"order": 3},
    )
    name: str = Field(
        "",
        description="Name of the model; empty takes the first that the server lists.",
        json_schema_extra={"order": 4},
    )
    context_tokens: int = Field(0, ge=0, description="Tokens that the model takes; 0 asks the server.")
    temperature: float | None = Field(
        None, ge=0, le=2, description="Sampling temperature; null leaves it to the model."
    )
    connect_timeout_seconds: float = Field(10, gt=0, description="How long a connection may take.")
    first_token_timeout_seconds: float = Field(
        300, gt=0, description="How long the first token may take; a local model may need minutes."
    )
    token_timeout_seconds: float = Field(60, gt=0, description="How long the next token may take.")


class PlanningSettings(_Group):
    """How a plan is written."""

    perspectives: Literal["auto", "always", "never"] = Field(
        "auto",
        description="Whether the three perspectives are asked before a plan is written.",
    )
    format: Literal["auto", "json", "markers"] = Field(
        "auto",
        description="The form in which a model writes a plan; `auto` takes JSON where the engine can be held to it.",
    )
    classify_with_model: Literal["ambiguous", "never"] = Field(
        "ambiguous", description="Whether a model decides about requests of which the rules are not sure."
    )
    system_prompt: str = Field(
        "",
        max_length=20_000,
        description="Text after the planner's own instructions.",
        json_schema_extra={"editPresentation": "multilineText"},
    )


class ExecutionSettings(_Group):
    """How a plan is carried out."""

    max_parallel_steps: int = Field(4, ge=1, le=64, description="Steps that may run side by side.")
    max_tool_calls_per_step: int = Field(25, ge=1, le=1000, description="Tool calls that one step may make.")
    step_timeout_seconds: float = Field(
        600,
        gt=0,
        description="How long one step may take; the time in which it waits for a person does not count.",
    )
    completion_timeout_seconds: float = Field(
        30,
        gt=0,
        description="How long a tool call may take that a step waits for; commands have their own limit.",
    )
    pause_on_clarification: bool = Field(
        True, description="Pause the whole plan when a step asks a question."
    )
    on_failure: Literal["ask", "retry", "skip", "model", "abort"] = Field(
        "ask",
        description="What happens when a step fails; `model` lets the model propose what to do.",
    )
    review: Literal["each", "end", "auto"] = Field(
        "each",
        description="When changes are reviewed; `auto` only where they delete, run or touch protected names.",
        json_schema_extra={
            "enumDescriptions": [
                "Review the changes of each step.",
                "Review all changes once, at the end.",
                "Ask only for deletions, commands and protected files.",
            ]
        },
    )


class ApprovalSettings(_Group):
    """What may happen unasked, by effect."""

    read: Literal["allow", "deny"] = Field("allow", description="Tools that read; `deny` takes them away.")
    write: Verdict = Field("ask", description="Writing files.")
    destroy: Verdict = Field(
        "ask",
        description="Deleting files, and replacing files that were not read. In a request that runs without a plan, "
        "what the rules read as a literal call is always asked.",
    )
    execute: Verdict = Field("ask", description="Running commands.")

    def policy(self) -> Policy:
        """The same as a value of the domain."""
        return Policy(read=self.read, write=self.write, destroy=self.destroy, execute=self.execute)


class BudgetSettings(_Group):
    """Caps on what one plan may use; 0 tokens stands for no cap."""

    max_requests: int = Field(200, ge=1, description="Requests to a model that one plan may make.")
    max_tokens: int = Field(0, ge=0, description="Tokens that one plan may use; 0 for no cap.")
    max_minutes: float = Field(60, gt=0, description="Minutes that one plan may run.")


class ContextSettings(_Group):
    """What a prompt may hold. A budget of 0 tokens is taken from the model."""

    budget_tokens: int = Field(
        0,
        ge=0,
        description="Tokens that a step's prompts may have; 0 takes it from the model, 16,384 where it does not tell.",
    )
    max_reference_bytes: int = Field(
        262_144, ge=1, description="Bytes of one attached file; what is longer is cut and says so."
    )
    exclude: tuple[str, ...] = Field(
        (), strict=False, description="Globs of files that completion and search leave out."
    )
    instructions: bool = Field(True, description="Read AGENTS.md or its likes of a trusted workspace.")


class EditSettings(_Group):
    """When the editor is asked to save what a plan changed."""

    save: Literal["commands", "always", "never"] = Field(
        "commands",
        description="When changed files are saved. Files with unsaved typing of yours are never saved.",
        json_schema_extra={
            "enumDescriptions": [
                "Save files that were clean before a command needs them.",
                "Save files that were clean after each edit.",
                "Never save.",
            ]
        },
    )


class StorageSettings(_Group):
    """Where the ledger lives; empty stands for the user's state folder."""

    path: str = Field("", description="Folder of the ledger; empty for the user's state folder.")


class Settings(_Group):
    """Everything a user can set, each with its default."""

    enable_task_planning: bool = Field(
        True,
        description="Plan requests that look like several steps; off, every request runs directly.",
        json_schema_extra={"order": 1},
    )
    enable_fallback_function_parsing: bool = Field(
        True, description="Read tool calls that a model prints as text."
    )
    function_deduplication_window_seconds: float = Field(
        5, ge=0, description="For how many seconds the same write gets the result of the first one."
    )
    max_retry_attempts: int = Field(
        2,
        ge=0,
        le=20,
        description="How often a request to a model is sent again after a failure that may pass.",
    )
    model: ModelSettings = ModelSettings()
    planning: PlanningSettings = PlanningSettings()
    execution: ExecutionSettings = ExecutionSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    budget: BudgetSettings = BudgetSettings()
    context: ContextSettings = ContextSettings()
    edits: EditSettings = EditSettings()
    storage: StorageSettings = StorageSettings()


class Problem(NamedTuple):
    """A value that was not taken."""

    field: str
    reason: str


class Resolved(NamedTuple):
    """The settings that hold, and what could not be taken from whom."""

    settings: Settings
    problems: tuple[Problem, ...]


def resolve(sources: Mapping[Source, Mapping[str, Any]]) -> Resolved:
    """Merge what the sources say, field by field, the strongest source last.

    Names may be nested (`{"model": {"name": …}}`) or dotted (`{"model.name": …}`). A bad value leaves the
    field as the weaker sources have it and is told as a problem; nothing here raises.
    """
    taken: dict[str, Any] = {}
    problems: list[Problem] = []
    for source in STRENGTH:
        for name, value in _flat(sources.get(source, {})):
            problem = _problem(name, value, source)
            if problem is not None:
                problems.append(problem)
            elif value is not None:
                taken[name] = value
    return Resolved(Settings.model_validate(_nested(taken)), tuple(problems))


def given_by(sources: Mapping[Source, Mapping[str, Any]], name: str) -> Source | None:
    """The source whose value of a field holds, the field named as `model.baseUrl`; None where none gave one."""
    holder: Source | None = None
    for source in STRENGTH:
        for given, value in _flat(sources.get(source, {})):
            if given == name and value is not None and _problem(given, value, source) is None:
                holder = source
    return holder


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        # One spelling, so that no field is kept from a source under one name and taken under another.
        name = f"{prefix}{'.'.join(to_camel(part) for part in str(key).split('.'))}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        else:
            yield name, value


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        group, dot, field = name.partition(".")
        if dot:
            tree.setdefault(group, {})[field] = value
        else:
            tree[name] = value
    return tree


def _problem(name: str, value: Any, source: Source) -> Problem | None:
    if source == "workspace" and any(name == own or name.startswith(own) for own in USER_ONLY):
        return Problem(name, "it is read only from user settings: a folder that is opened must not set it")
    if value is None:
        return None
    try:
        Settings.model_validate(_nested({name: value}))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        reason = "there is no such setting" if first["type"] == "extra_forbidden" else first["msg"]
        return Problem(name, reason)
    return None
