"""Every setting, and which of them each source may set; docs/settings.md is generated from this module."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Set
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from planloom.domain.safety.approvals import ExecuteVerdict, PlanCovers, Policy, Verdict
from planloom.domain.safety.confinement import Network
from planloom.providers import OF_PACKAGE, ProviderChoice

Source = Literal["command_line", "environment", "user", "initialization", "workspace"]
"""Where a value comes from, strongest first; `workspace` is what the editor merged from its own sources."""

ReasoningEffort = Literal["default", "off", "low", "medium", "high"]
"""How much a model reasons; `default` leaves it to the model's server."""

STRONGEST_FIRST: tuple[Source, ...] = ("command_line", "environment", "user", "initialization", "workspace")
NO_SUCH: Final = "there is no such setting"
Sources = Mapping[Source, Mapping[str, Any]]
OF_FOLDER: Set[Source] = frozenset({"workspace"})
"""The sources whose values may be an opened folder's."""
USER_ONLY = (
    "model.baseUrl",
    "model.provider",
    "model.name",
    "model.profile",
    "model.prices",
    "approvals.",
    "fetch.",
    "commands.",
    "execution.review",
    "language.servers",
    "mcp.",
    "planning.planner",
    "planning.systemPrompt",
    "extensions.",
    "storage.",
)
"""Names, or prefixes ending in a dot, that an editor must not take from a folder: they could send keys elsewhere,
choose what is paid for, or approve the folder's own changes. Of these the server takes from `workspace` only what is in
`MADE_STRICTER`."""
LOWERED = (
    "maxRetryAttempts",
    "execution.maxParallelSteps",
    "execution.maxToolCallsPerStep",
    "execution.stepTimeoutSeconds",
    "execution.completionTimeoutSeconds",
    "execution.maxBackgroundCommands",
    "execution.backgroundMinutes",
    "budget.maxRequests",
    "budget.maxTokens",
    "budget.maxMinutes",
    "context.budgetTokens",
    "context.maxReferenceBytes",
)
"""Limits that `workspace` may lower, and not raise above the user's value, or above the default."""
_ZERO_IS_NO_LIMIT: Final = frozenset({"budget.maxTokens", "context.budgetTokens"})
MADE_STRICTER: Final[Mapping[str, tuple[Any, ...]]] = {
    **{f"approvals.{effect}": ("deny", "ask", "allow") for effect in ("read", "write", "destroy", "fetch")},
    "approvals.execute": ("deny", "ask", "confined", "allow"),
    "approvals.plan": ("none", "literal"),
    "execution.review": ("each", "end", "auto"),
    "fetch.allowInternal": (False, True),
    "commands.network": ("none", "loopback", "all"),
    "language.enabled": (False, True),
    "context.memory": (False, True),
}
"""Choices, from the strictest, that `workspace` may make stricter."""


ModelProfile = Literal["auto", "lean", "full"]


class _Group(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, strict=True
    )


def _ours_or_packaged(value: Any, ours: ValidatorFunctionWrapHandler) -> Any:
    """Take the provider of a package too, which is not known before the package is loaded."""
    return value if isinstance(value, str) and re.fullmatch(OF_PACKAGE, value) else ours(value)


_PRICE = r"\d{1,6}(\.\d{1,6})?"
PriceOfModel = Annotated[str, Field(pattern=rf"^\S+ {_PRICE} {_PRICE}( {_PRICE})?$")]
"""A model as `provider/name`, its price per million tokens read, written, and read from the cache of its server."""


class ModelSettings(_Group):
    """Which model is used, and how long to wait for it.

    The provider `auto` uses the first that answers: the base URL, a key in the environment, a local Ollama, the
    editor's own model. Without any, the embedded rules plan what a request says literally.
    """

    provider: Annotated[ProviderChoice, WrapValidator(_ours_or_packaged)] = Field(
        "auto",
        description="The provider of the model. `auto` uses the first that answers: the base URL, a key in the "
        "environment, a local Ollama, the editor's own model, the built-in planner. `openai-responses` is OpenAI's "
        "Responses API on any server that has it; `openai` uses it by itself for OpenAI's own reasoning models. "
        "`package:name` is that of an enabled package.",
        json_schema_extra={"order": 2},
    )
    base_url: str = Field(
        "",
        description="Address of an OpenAI-compatible, Ollama or Anthropic server.",
        json_schema_extra={"order": 3},
    )
    name: str = Field(
        "",
        description="Name of the model; empty uses the server's default: on OpenAI a small GPT model, elsewhere the "
        "first that it lists and that is not for embeddings.",
        json_schema_extra={"order": 4},
    )
    context_tokens: int = Field(
        0,
        ge=0,
        description="Size of the model's context in tokens; 0 asks the server. If the server does not state it, "
        "128,000 are assumed (16,384 for a lean model, see `model.profile`), until a refusal states the real size.",
    )
    profile: ModelProfile = Field(
        "auto",
        description="Whether the model is small, so that it plans with a short prompt and tools that only read, or "
        "large, so that planning and steps are one conversation with all tools.",
        json_schema_extra={
            "enumDescriptions": [
                "Lean for Ollama, and for a server on this machine that states less than 65,536 tokens of context.",
                "A small model.",
                "A large model, also behind a gateway on this machine.",
            ]
        },
    )
    parallel_requests: int = Field(
        0,
        ge=0,
        le=64,
        description="The most requests to the model at a time; 0 asks the server, and takes 1 for one on this machine "
        "that does not say, 4 for a hosted one.",
    )
    prices: tuple[PriceOfModel, ...] = Field(
        (),
        strict=False,
        description="What models cost, in your currency: the model as `provider/name`, the price of a million tokens "
        "read and of a million written, as `openai/gpt-5 1.25 10`; a third price is that of a million read from its "
        "server's cache. Plans, forecasts and `planloom stats` then show costs, too.",
    )
    reasoning_effort: ReasoningEffort = Field(
        "default",
        description="How much the model reasons before it answers; `default` leaves it to the server.",
        json_schema_extra={
            "enumDescriptions": [
                "As the server does by itself.",
                "No reasoning, or as little as the model allows.",
                "A little.",
                "More.",
                "Much.",
            ]
        },
    )
    thinking_tokens: int = Field(
        0,
        ge=0,
        description="The most tokens of reasoning in one answer, where the provider takes a number (Anthropic); 0 goes "
        "by `model.reasoningEffort`.",
    )
    temperature: float | None = Field(
        None, ge=0, le=2, description="Sampling temperature; null leaves it to the model."
    )
    connect_timeout_seconds: float = Field(10, gt=0, description="Seconds that connecting may take.")
    first_token_timeout_seconds: float = Field(
        300, gt=0, description="Seconds until the first token; a local model may need minutes."
    )
    token_timeout_seconds: float = Field(60, gt=0, description="Seconds between two tokens.")


class PlanningSettings(_Group):
    """How a plan is drafted."""

    perspectives: Literal["auto", "always", "never"] = Field(
        "auto",
        description="Whether the three perspectives are asked for before a plan is drafted.",
    )
    format: Literal["auto", "json", "markers"] = Field(
        "auto",
        description="The format in which a model writes a plan; with `auto` a model that takes tools looks into the "
        "workspace and then submits the plan by a call, another writes JSON if the provider can enforce a schema.",
    )
    classify_with_model: Literal["ambiguous", "never"] = Field(
        "ambiguous", description="Whether a model decides on requests that are ambiguous to the rules."
    )
    when_unsure: Literal["plan", "direct"] = Field(
        "plan",
        description="What becomes of a request that is ambiguous to the rules where no model decides: it is planned, "
        "or runs directly.",
    )
    planner: str = Field(
        "",
        pattern=rf"^({OF_PACKAGE})?$",
        description="The planner of an enabled package, as `package:name`, that writes plans in place of ours.",
    )
    system_prompt: str = Field(
        "",
        max_length=20_000,
        description="Text that is added after the planner's own instructions.",
        json_schema_extra={"editPresentation": "multilineText"},
    )


class ExecutionSettings(_Group):
    """How a plan is executed."""

    max_parallel_steps: int = Field(4, ge=1, le=64, description="The most steps that run in parallel.")
    max_tool_calls_per_step: int = Field(
        200,
        ge=1,
        le=10_000,
        description="The most tool calls that one step may make before the plan pauses and asks whether to go on.",
    )
    step_timeout_seconds: float = Field(
        600,
        gt=0,
        description="Seconds that one step may work; waiting for the user or the model does not count.",
    )
    completion_timeout_seconds: float = Field(
        30,
        gt=0,
        description="Seconds that one tool call may take; commands have their own limit.",
    )
    max_background_commands: int = Field(
        4, ge=1, le=32, description="The most commands that a plan has running in the background."
    )
    background_minutes: float = Field(
        60, gt=0, le=1440, description="Minutes after which a command in the background is stopped."
    )
    pause_on_clarification: bool = Field(
        True, description="Pause the whole plan when a step asks a question."
    )
    on_failure: Literal["ask", "retry", "skip", "model", "abort"] = Field(
        "ask",
        description="What happens when a step fails; `model` asks the model for a proposal.",
    )
    review: Literal["each", "end", "auto"] = Field(
        "each",
        description="When changes are reviewed; `auto` only if they delete, run commands, fetch pages or touch "
        "protected names.",
        json_schema_extra={
            "enumDescriptions": [
                "Review the changes of each step.",
                "Review all changes once, at the end.",
                "Ask only for deletions, commands, web pages and protected files.",
            ]
        },
    )


class ApprovalSettings(_Group):
    """What may happen without asking, by effect."""

    read: Literal["allow", "deny"] = Field("allow", description="Tools that read; `deny` removes them.")
    write: Verdict = Field("ask", description="Writing files.")
    destroy: Verdict = Field(
        "ask",
        description="Deleting files, and replacing files that were not read. In a request that runs without a plan, "
        "a literal call that the rules read from it always asks.",
    )
    execute: ExecuteVerdict = Field(
        "ask",
        description="Running commands. `confined` runs what gets no more than the settings give, and asks for "
        "the rest, such as the network; `allow` runs it all so, and what needs more fails. Neither runs unasked what "
        "this machine cannot confine.",
    )
    fetch: Verdict = Field("ask", description="Fetching pages from the web.")
    plan: PlanCovers = Field(
        "literal",
        description="What the approval of a plan covers. `literal`: a new file or folder, and a command that runs "
        "confined without network, if the whole call stood in the plan that you approved; `deny` is stronger. `none`: "
        "each is asked again.",
    )

    def policy(self) -> Policy:
        """These settings as a value of the domain."""
        return Policy(
            read=self.read,
            write=self.write,
            destroy=self.destroy,
            execute=self.execute,
            fetch=self.fetch,
            plan=self.plan,
        )


class FetchSettings(_Group):
    """What pages may be fetched from."""

    allow_internal: bool = Field(
        False,
        description="Pages may come from this machine and private networks, too. Link-local addresses and those that "
        "serve cloud credentials are never fetched.",
    )


PathOfFolder = Annotated[str, Field(pattern=r"^(~$|~[/\\]|/|[A-Za-z]:[/\\])")]
"""An absolute path, or one in the home."""


class CommandSettings(_Group):
    """What confined commands get without asking for more."""

    network: Network = Field(
        "none",
        description="The network that a command gets unless you choose another at its approval. A command that is "
        "known to need more asks for it.",
        json_schema_extra={
            "enumDescriptions": ["No network.", "The network of this machine only.", "The whole network."]
        },
    )
    writable: tuple[PathOfFolder, ...] = Field(
        (),
        strict=False,
        description="Folders beyond the workspace that confined commands may read and change, as absolute paths or "
        "with `~` for the home. Names that are protected in the workspace are protected there too.",
    )
    readable: tuple[PathOfFolder, ...] = Field(
        (),
        strict=False,
        description="What confined commands may read of the home beyond the workspace, development tools and copies of "
        "their caches: files and folders, as absolute paths or with `~` for the home.",
    )


class LanguageSettings(_Group):
    """What is asked of language servers."""

    enabled: bool = Field(
        True,
        description="Start language servers that are installed, to judge changes before they are made and to find and "
        "rename symbols. They start when they are first needed, in trusted folders, and cannot change files.",
    )
    servers: tuple[str, ...] = Field(
        (),
        strict=False,
        description="Language servers in the order in which they are tried: a known name as `basedpyright`, a command "
        "for some suffixes as `.py .pyi: my-server --stdio`, or `-ruff` for one that is never started; `-` stands for "
        "all others.",
    )


SERVER_LINE: Final = r"^([a-z][a-z0-9-]{0,23})(?: ?\(([a-z, ]*)\))?: (\S.*)$"
"""An MCP server in the settings: its name, words on what it may do, and its command or address."""
ServerLine = Annotated[str, Field(pattern=SERVER_LINE, max_length=4_000)]


class McpSettings(_Group):
    """MCP servers, whose tools plans may use."""

    servers: tuple[ServerLine, ...] = Field(
        (),
        strict=False,
        description="MCP servers, whose tools plans may use: `name: command` or `name: https://…`, such as `git: uvx "
        "mcp-server-git`. Behind the name may stand, in brackets, what a server gets beyond the default: `network` or "
        "`local` (the network, or that of this machine), `writes` (it may change the workspace), `unconfined`, "
        "`reads` (it is believed which of its tools only read, so that these are not asked), `folders` (it is told "
        "the workspace folders). Words `NAME=value` before a command are variables, behind an address headers; "
        "`$NAME` in a value is a variable of your environment.",
    )
    proposals: bool = Field(
        True,
        description="Ask once about an MCP server that a trusted folder proposes in `.mcp.json` or `.vscode/mcp.json`.",
    )
    call_seconds: float = Field(
        120, gt=0, le=3600, description="The most seconds of one call of a server's tool."
    )


PackageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$")]
"""The name of an installed distribution."""


class ExtensionSettings(_Group):
    """Packages of the user's own environment whose tools, model providers and planners are used."""

    enabled: tuple[PackageName, ...] = Field(
        (),
        strict=False,
        description="Installed packages whose tools, model providers and planners are used, by their names. Their code "
        "runs in the server, with all rights of the user. Holds from the next start of the server.",
    )


class BudgetSettings(_Group):
    """Limits on what one plan may use."""

    max_requests: int = Field(200, ge=1, description="The most requests of one plan to a model.")
    max_tokens: int = Field(0, ge=0, description="The most tokens of one plan; 0 for no limit.")
    max_minutes: float = Field(
        60,
        gt=0,
        description="The most minutes that the steps of one plan may work; waiting for the user or the model does not "
        "count.",
    )


class ContextSettings(_Group):
    """What goes into a prompt."""

    budget_tokens: int = Field(
        0,
        ge=0,
        description="The most tokens of a step's prompt; 0 uses the model's context size.",
    )
    share_conversation: bool = Field(
        True,
        description="A step continues the conversation of the steps before it, and with a hosted service that of the "
        "planner, if the model takes tools and has room for it; otherwise each step begins anew with the results of "
        "the others.",
    )
    max_reference_bytes: int = Field(
        262_144, ge=1, description="The most bytes of one attached file; a longer file is cut, with a note."
    )
    exclude: tuple[str, ...] = Field(
        (), strict=False, description="Globs of files that completion and search leave out."
    )
    instructions: bool = Field(
        True, description="Tell models to follow AGENTS.md and similar files of a trusted workspace."
    )
    memory: bool = Field(
        True,
        description="Keep what a plan found and did, and tell models of it where a later request in the same workspace "
        "is on the same subject.",
    )


class EditSettings(_Group):
    """When the editor is asked to save the files that a plan changed, and who makes new files."""

    save: Literal["commands", "always", "never"] = Field(
        "commands",
        description="When the editor is asked to save changed files: before commands, after every edit, or never.",
        json_schema_extra={
            "enumDescriptions": [
                "Save files that were clean before a command needs them.",
                "Save files that were clean after each edit.",
                "Never save.",
            ]
        },
    )
    new_files: Literal["auto", "editor", "disk"] = Field(
        "auto",
        description="Who makes new files: the editor, as a part of its edit, or the server, on disk.",
        json_schema_extra={
            "enumDescriptions": [
                "The editor, if it makes a file with its text or saves it when it is asked; else the server.",
                "The editor, if it can make files; its buffer may then ask before it is saved for the first time.",
                "The server.",
            ]
        },
    )


class StorageSettings(_Group):
    """Where the ledger is stored, and how long it keeps the texts of files."""

    path: str = Field("", description="Folder of the ledger; empty for the user's state folder.")
    traces: str = Field(
        "",
        description="File that gets a trace of each plan that ends, as a line of OTLP JSON, or the address of a "
        "collector that takes OTLP over HTTP, as `http://localhost:4318`; empty for none.",
    )
    keep_texts_days: int = Field(
        90,
        ge=30,
        le=36_500,
        description="How many days after a plan's end the texts of its files are kept, which an undo needs.",
    )
    max_texts_mb: int = Field(
        1000,
        ge=1,
        le=1_000_000,
        description="When the ledger has more MB of texts, those of the oldest ended plans are removed, but never"
        " within 30 days of a plan's end.",
    )


class Settings(_Group):
    """All settings, each with its default."""

    enable_task_planning: bool = Field(
        True,
        description="Plan requests that need several steps; if false, every request runs directly.",
        json_schema_extra={"order": 1},
    )
    enable_fallback_function_parsing: bool = Field(
        True, description="Parse tool calls that a model writes as text, until it has made a native call."
    )
    function_deduplication_window_seconds: float = Field(
        5, ge=0, description="Seconds within which a repeated write returns the first one's result."
    )
    max_retry_attempts: int = Field(
        2,
        ge=0,
        le=20,
        description="How often a request to a model is retried after a transient failure.",
    )
    model: ModelSettings = ModelSettings()
    planning: PlanningSettings = PlanningSettings()
    execution: ExecutionSettings = ExecutionSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    fetch: FetchSettings = FetchSettings()
    commands: CommandSettings = CommandSettings()
    language: LanguageSettings = LanguageSettings()
    mcp: McpSettings = McpSettings()
    extensions: ExtensionSettings = ExtensionSettings()
    budget: BudgetSettings = BudgetSettings()
    context: ContextSettings = ContextSettings()
    edits: EditSettings = EditSettings()
    storage: StorageSettings = StorageSettings()


class Problem(NamedTuple):
    """A value that was rejected, and why."""

    field: str
    reason: str


class _Given(NamedTuple):
    """An accepted value and its source."""

    value: Any
    source: Source


class Resolved(NamedTuple):
    """The effective settings, and the rejected values."""

    settings: Settings
    problems: tuple[Problem, ...]


def resolve(sources: Sources, *, of_folder: Set[Source] = OF_FOLDER) -> Resolved:
    """Merge the sources field by field; a stronger source wins, except that a folder's limit or choice narrows.

    Names may be nested (`{"model": {"name": …}}`) or dotted (`{"model.name": …}`), and may begin with `planloom.` as in
    an editor. An invalid value becomes a problem and leaves the field to the other sources; nothing here raises. The
    sources `of_folder` may have their values from an opened folder.
    """
    accepted, problems = _merged(sources, of_folder)
    values = {name: given.value for name, given in accepted.items()}
    return Resolved(Settings.model_validate(_nested(values)), tuple(problems))


def source_of(sources: Sources, name: str, *, of_folder: Set[Source] = OF_FOLDER) -> Source | None:
    """The source of the effective value of a field such as `model.baseUrl`; None for the default."""
    given = _merged(sources, of_folder)[0].get(name)
    return given.source if given is not None else None


def beyond_a_folder(sources: Sources, source: Source) -> dict[str, Any]:
    """The valid values of a source that an opened folder could not set beside the user's, by dotted name."""
    users = {each: values for each, values in sources.items() if each != source and each not in OF_FOLDER}
    accepted, _ = _merged(users, OF_FOLDER)
    return {
        name: value
        for name, value in dotted(sources.get(source, {}))
        if value is not None and _problem(name, value) is None and _widens(name, value, accepted)
    }


def _merged(sources: Sources, of_folder: Set[Source]) -> tuple[dict[str, _Given], list[Problem]]:
    accepted: dict[str, _Given] = {}
    problems: list[Problem] = []
    # The user's own sources first: they are what a folder is compared with.
    for source in sorted(STRONGEST_FIRST, key=lambda each: each in of_folder):
        values: dict[str, _Given] = {}
        for name, value in dotted(sources.get(source, {})):
            problem = _problem(name, value)
            if problem is None and source in of_folder and value is not None:
                problem = _widens(name, value, accepted)
            if problem is not None:
                problems.append(problem)
            elif value is not None:
                values[name] = _Given(value, source)
        narrowing = {name for name in values if source in of_folder and _is_narrowed(name)}
        accepted |= {
            name: given for name, given in values.items() if name in narrowing or name not in accepted
        }
    return accepted, problems


def _widens(name: str, value: Any, accepted: Mapping[str, _Given]) -> Problem | None:
    """Why a folder may not set this valid value beside the user's own; None if it may."""
    if not _is_narrowed(name):
        if name.startswith(USER_ONLY):
            return Problem(name, "it can be set only in user settings, not by an opened folder")
        return None
    users = accepted[name].value if name in accepted else _default(name)
    if _extent(name, value) <= _extent(name, users):
        return None
    verb = "lowered" if name in LOWERED else "made stricter"
    return Problem(name, f"an opened folder could set it here, so it can only be {verb}; it is {users!r}")


def _is_narrowed(name: str) -> bool:
    return name in LOWERED or name in MADE_STRICTER


def _extent(name: str, value: Any) -> float:
    """How much a value of a narrowed setting allows, for comparison."""
    if name in MADE_STRICTER:
        return MADE_STRICTER[name].index(value)
    return math.inf if value == 0 and name in _ZERO_IS_NO_LIMIT else value


def _default(name: str) -> Any:
    return dict(dotted(Settings().model_dump(by_alias=True)))[name]


def dotted(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values by dotted name."""
    for key, value in values.items():
        # One spelling, so that a field of USER_ONLY is recognised under each of its names.
        name = f"{prefix}{'.'.join(to_camel(part) for part in str(key).split('.'))}".removeprefix("planloom.")
        if isinstance(value, Mapping):
            yield from dotted(value, f"{name}.")
        else:
            yield name, value


def from_text(text: str) -> Any:
    """The value of a setting on a command line or in a variable; what is not JSON is a string."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        group, dot, field = name.partition(".")
        if dot:
            tree.setdefault(group, {})[field] = value
        else:
            tree[name] = value
    return tree


def _problem(name: str, value: Any) -> Problem | None:
    """Why this is not a valid value of a setting; None if it is, or if it is None."""
    if value is None:
        return None
    declared = fields()
    if name not in declared:
        near = get_close_matches(name, declared, 1)
        return Problem(name, f"{NO_SUCH}; the nearest is {near[0]}" if near else NO_SUCH)
    try:
        Settings.model_validate(_nested({name: value}))
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False, include_context=False, include_input=False)
        if first["type"] == "string_pattern_mismatch":
            return Problem(name, f"{value!r} has not the form: {declared[name].description}")
        return Problem(name, f"expected {values_words(declared[name])}")
    return None


def fields() -> dict[str, FieldInfo]:
    """Every setting by its dotted name."""
    found: dict[str, FieldInfo] = {}
    for name, field in Settings.model_fields.items():
        group, own = field.annotation, field.alias or name
        if isinstance(group, type) and issubclass(group, BaseModel):
            found |= {f"{own}.{each.alias or key}": each for key, each in group.model_fields.items()}
        else:
            found[own] = field
    return found


def values_words(field: FieldInfo) -> str:
    """The values that a setting can have, in words."""
    if get_origin(field.annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(field.annotation))
    names = {bool: "true or false", int: "whole number", float: "number", str: "text", type(None): "null"}
    if get_origin(field.annotation) is tuple:
        shown = "list of texts"
    else:
        shown = " or ".join(names[kind] for kind in get_args(field.annotation) or (field.annotation,))
    return ", ".join(filter(None, (shown, " ".join(_bounds(field)))))


def _bounds(field: FieldInfo) -> Iterator[str]:
    words = {"ge": "from", "gt": "above", "le": "to", "max_length": "at most"}
    for bound in field.metadata:
        for attribute, word in words.items():
            limit = getattr(bound, attribute, None)
            if limit is not None:
                yield f"{word} {limit}" + (" characters" if attribute == "max_length" else "")
