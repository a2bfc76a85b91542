"""Params and results of the requests about the server itself: its models, settings and state."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from planloom.lsp.wire.base import Bool, Int, Maybe, MaybeMany, Wire
from planloom.lsp.wire.plan import ModelCause, Review
from planloom.view.problems import Mend


class StatusParams(Wire):
    """`planloom/status`. With `commands` it is found out what commands can be held to, with `languages` which language
    servers are there; both take a moment. With `mcp` the user's MCP servers are started, to say how each is."""

    commands: Maybe[Bool] = None
    languages: Maybe[Bool] = None
    mcp: Maybe[Bool] = None


class ListModelsParams(Wire):
    """`planloom/model/list`. `select` chooses the model now that would be used, and asks its server what it can do.

    Without it, no server is contacted before a person's first request that needs a model.
    """

    select: Maybe[Bool] = None


class SecretParams(Wire):
    """`planloom/secret/set`; null removes the key. The value is left out of the model's repr and errors."""

    provider: Annotated[str, Field(min_length=1)]
    value: Annotated[str | None, Field(repr=False)]


class UserSettingsParams(Wire):
    """`planloom/settings/user`: values of user scope. Each is validated on its own later, so any JSON is accepted."""

    values: dict[str, JsonValue]


class TrustParams(Wire):
    """`planloom/workspace/trust`."""

    trusted: Bool


class CommandParams(Wire):
    """`workspace/executeCommand`."""

    command: str
    arguments: Maybe[tuple[Any, ...]] = None


class ModelEntry(Wire):
    """A model that can be chosen; `reason` says why it cannot be used, `cause` for programs, `words` for people.

    `title` is the name of its service, `mends` is what mends that, `address` where its server is.
    """

    provider: str
    name: str
    context_tokens: Maybe[Int] = None
    reachable: Bool
    reason: Maybe[str] = None
    cause: Maybe[ModelCause] = None
    address: Maybe[str] = None
    title: str
    words: Maybe[str] = None
    mends: MaybeMany[Mend] = ()


class ActiveModel(Wire):
    """The model in use, and why it was chosen."""

    provider: str
    name: str
    reason: str


class ModelService(Wire):
    """Where models can be had; `title` is empty for any server. `address` is its base URL, empty for the provider's
    own; with `asksAddress` it is an example of what the user enters.
    """

    title: str
    provider: str
    address: str
    key: Literal["needed", "maybe", "none"]
    asks_address: Bool


class ModelsResult(Wire):
    """The models, and where others can be had. `active` is of the provider `auto` as long as none was needed.

    Prompts to it are made for `contextTokens`, which are assumed if its server does not say what it takes.
    """

    models: tuple[ModelEntry, ...]
    services: tuple[ModelService, ...]
    active: ActiveModel | None
    context_tokens: Maybe[Int] = None
    context_assumed: Maybe[Bool] = None


class ModelTestResult(Wire):
    """The answer of the model that is used to a question for one word, and the milliseconds that it took; `words` name
    the model.
    """

    words: str

    provider: str
    name: str
    answer: str
    took_ms: Int


class StatusPlans(Wire):
    """The ids of the plans that run, and of those that can be resumed."""

    active: tuple[str, ...]
    resumable: tuple[str, ...]


class CommandAbilities(Wire):
    """By what means commands are confined here, and a sentence for each part that is not enforced; `writable` are
    folders beyond the workspace that the user lets them change.
    """

    how: str
    missing: tuple[str, ...]
    writable: MaybeMany[str] = None


class LanguageServer(Wire):
    """A language server for files of the workspace, and how it is, and why. Of one that is missing `program` names the
    suffixes of the files that nobody serves, and `why` says how to get it."""

    name: str
    program: str
    state: Literal["ready to start", "starting", "running", "given up", "not started", "missing"]
    why: Maybe[str] = None


class McpServer(Wire):
    """One of the user's MCP servers: its command line or address, how it is, and why, with the number of its tools."""

    name: str
    program: str
    state: Literal["ready to start", "starting", "running", "given up", "wrong"]
    why: Maybe[str] = None
    tools: Int


class Extension(Wire):
    """A package that the user has enabled, and what it `brings`, such as `tool count_words`, or why it is not used."""

    name: str
    state: Literal["loaded", "failed"]
    version: Maybe[str] = None
    brings: MaybeMany[str] = None
    why: Maybe[str] = None


class ReviewChoice(Wire):
    """When changes are reviewed: what that asks under the settings, in a few words `line`, and what is not asked."""

    review: Review
    title: str
    line: str
    asks: str
    unasked: str


class StatusResult(Wire):
    """The version, model, folders, plans and health of the server. `review` is that of a plan without its own.

    `modelWords` say which model is used, or will be when one is needed.
    """

    version: str
    protocol_version: Int
    session_id: str
    model: ActiveModel
    model_words: str
    workspace_folders: tuple[str, ...]
    trusted: Bool
    plans: StatusPlans
    health: Literal["ok", "degraded"]
    problems: tuple[str, ...]
    log_path: str
    storage_path: str
    commands: Maybe[CommandAbilities] = None
    languages: Maybe[tuple[LanguageServer, ...]] = None
    mcp: Maybe[tuple[McpServer, ...]] = None
    extensions: Maybe[tuple[Extension, ...]] = None
    storage_note: Maybe[str] = None
    review: Review
    reviews: tuple[ReviewChoice, ...]
