"""Params and results of the server's own requests to the editor, and the params of its notifications."""

from typing import Literal

from pydantic import JsonValue

from planloom.lsp.wire.base import Bool, Int, Maybe, Range, Wire
from planloom.lsp.wire.plan import Args, Spent, Usage
from planloom.workspace.editor import LanguageMethod


class StreamParams(Wire):
    """`planloom/stream`."""

    plan_id: Maybe[str] = None
    step_id: Maybe[str] = None
    call_id: Maybe[str] = None
    kind: Literal["text", "reasoning", "stdout", "stderr"]
    delta: str


class HealthParams(Wire):
    """`planloom/health`: the current problems, as in `planloom/status`."""

    health: Literal["ok", "degraded"]
    problems: tuple[str, ...]


class StepWait(Wire):
    """A step that waits for what another step uses, which may be one of another plan; `path` is that of a file.

    `usedByStep` is empty while a draft of that plan uses the model.
    """

    step_id: str
    resource: Literal["path", "model", "terminal"]
    path: Maybe[str] = None
    used_by_plan: str
    used_by_step: str


class WaitsParams(Wire):
    """`planloom/waits`: the steps of a plan that wait for what another step uses, of many the first."""

    plan_id: str
    waits: tuple[StepWait, ...]


class SpentParams(Wire):
    """`planloom/spent`: what a plan has used of models so far, after each request to one."""

    plan_id: str
    spent: Spent


class EditorDiagnosticsParams(Wire):
    """`planloom/editor/diagnostics`. No `uris` ask for every file that has diagnostics."""

    uris: tuple[str, ...]


class LspDiagnostic(Wire):
    """A diagnostic of LSP, with only the fields that are read here."""

    range: Range
    severity: Maybe[Literal[1, 2, 3, 4]] = None
    code: Maybe[int | str] = None
    source: Maybe[str] = None
    message: str


class UriDiagnostics(Wire):
    """The diagnostics of one file."""

    uri: str
    items: tuple[LspDiagnostic, ...]
    version: Maybe[Int] = None


class EditorDiagnosticsResult(Wire):
    """The diagnostics of each file."""

    diagnostics: tuple[UriDiagnostics, ...]


class EditorLanguageParams(Wire):
    """`planloom/editor/language`: a request of LSP for the user's language servers, with the params of LSP."""

    method: LanguageMethod
    params: dict[str, JsonValue]


class EditorLanguageResult(Wire):
    """What they answer, as LSP has it; if none can, null and a sentence that says why."""

    result: JsonValue
    problem: Maybe[str] = None


class EditorSaveParams(Wire):
    """`planloom/editor/save`."""

    uris: tuple[str, ...]


class SaveFailure(Wire):
    """A document that could not be saved."""

    uri: str
    reason: str


class EditorSaveResult(Wire):
    """The documents that were saved, and those that were not."""

    saved: tuple[str, ...]
    failed: tuple[SaveFailure, ...]


class EditorCreateFolderParams(Wire):
    """`planloom/editor/createFolder`."""

    uri: str


class EditorCreateFolderResult(Wire):
    """Whether the empty folder was made, and why not."""

    created: Bool
    reason: Maybe[str] = None


class EditorFilesParams(Wire):
    """`planloom/editor/files`: a folder of a file system that only the editor can reach."""

    uri: str


class FolderEntry(Wire):
    """A file or folder by its name in the folder."""

    name: str
    kind: Literal["file", "folder"]


class EditorFilesResult(Wire):
    """What is in the folder itself, without the folders below it."""

    entries: tuple[FolderEntry, ...]


class EditorReadParams(Wire):
    """`planloom/editor/read`: a file or folder of a file system that only the editor can reach."""

    uri: str


class EditorReadResult(Wire):
    """What is there. `content` is a file's bytes in base64, left out above 5 MiB; `size` is in bytes.

    A client that cannot tell answers with an error.
    """

    kind: Literal["file", "folder", "absent"]
    size: Maybe[Int] = None
    content: Maybe[str] = None


class ChatCall(Wire):
    """A tool call of the editor's model."""

    call_id: str
    name: str
    arguments: Args


class ChatMessage(Wire):
    """One message of a conversation with the editor's model."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: Maybe[tuple[ChatCall, ...]] = None
    tool_call_id: Maybe[str] = None


class ChatTool(Wire):
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


class EditorCompleteParams(Wire):
    """`planloom/editor/complete`."""

    request_id: str
    model: Maybe[str] = None
    messages: tuple[ChatMessage, ...]
    tools: Maybe[tuple[ChatTool, ...]] = None
    response_schema: Maybe[dict[str, JsonValue]] = None
    max_tokens: Maybe[Int] = None


class EditorCompleteResult(Wire):
    """The answer of the editor's model."""

    text: str
    tool_calls: Maybe[tuple[ChatCall, ...]] = None
    usage: Maybe[Usage] = None


class ApplyEditResult(Wire):
    """The answer to `workspace/applyEdit`. `applied` must be a boolean: no other value is read as one."""

    applied: Bool
    failure_reason: Maybe[str] = None
    failed_change: Maybe[Int] = None
