"""Generates docs/protocol.md from the catalogue and the wire models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, get_args, get_type_hints

from codegen import client_guide, lsp_capabilities, notation, without_extension
from planloom.domain import errors
from planloom.domain.events import catalog as domain_events
from planloom.lsp import methods
from planloom.lsp.client_options import ClientExtensions, camel_case
from planloom.lsp.commands import COMMANDS
from planloom.lsp.methods import ClientRequest
from planloom.lsp.wire import view
from planloom.lsp.wire.base import Wire
from planloom.lsp.wire.declared_events import OfPlan
from planloom.lsp.wire.events import messages, type_of
from planloom.lsp.wire.methods import editor
from planloom.service.running.states import ALLOWED
from planloom.serving.errors import CODES
from planloom.version import PROTOCOL_VERSION

CLIENT_CAN: Final[Mapping[str, str]] = {
    "events": "it handles `planloom/event` and `planloom/stream`",
    "views": "it shows the views of plans, `planloom/plan/view`, and need not fold their events; `events` is declared "
    "too",
    "approvals": "it asks for approvals itself; otherwise the server asks by messages with buttons",
    "clarifications": "it asks the questions of steps itself",
    "recovery": "it asks itself what to do about failed steps",
    "conflicts": "it lets the user resolve conflicts itself",
    "diagnostics": "it answers `planloom/editor/diagnostics`",
    "language": "it answers `planloom/editor/language` with what the user's language servers answer to that request of "
    "LSP, opening the file unseen if need be. Positions are in UTF-16, whatever has been negotiated. If none can "
    "answer, the result is null, and `problem` a sentence that says why; so it is for documents of plans",
    "language_model": "it answers `planloom/editor/complete`",
    "diff": "it shows diffs itself; the server ignores this",
    "save": "it answers `planloom/editor/save`",
    "create_contents": "a `CreateFile` followed by the text edit of that same URI is one creation: the file is on disk "
    "with its whole text when the edit is answered, and nothing of it is unsaved",
    "create_folder": "it answers `planloom/editor/createFolder`",
    "files": "it answers `planloom/editor/files` and `planloom/editor/read` for workspace folders whose URI is no "
    "file's, makes every edit of `workspace/applyEdit` there, new files with contents and folders too, and sends "
    "`workspace/didChangeWatchedFiles` of them",
    "messages": "it shows `window/showMessageRequest` to a person, who is asked whether to trust the folder",
    "changes_first": "the changes that an approval is about are shown as a document before its question, without being "
    "asked for",
    "trusted": "whether the user trusts the workspace; the default is true, but an editor that names itself and "
    "shows messages with buttons is asked, unless it has started the server with `PLANLOOM_OPTIONS=user`",
}
_RUNS: Final[Mapping[str, str]] = {
    "read": "`$/cancelRequest` cancels it at any moment",
    "change": "once it has begun, it is finished",
    "wait": "it may take long; `$/cancelRequest` cancels it",
}
_INTRODUCTION = f"""\
# The protocol, version {PROTOCOL_VERSION}

<!-- Written by `make generate`; a test compares it with the code. -->

The protocol is LSP 3.17 over stdio, and the methods below. Names are in camelCase, ids are opaque strings, times are
RFC 3339 in UTC. The server may add optional fields and types of events, so a client must ignore those that it does not
know. Nothing here is removed or renamed without a new protocol version in `planloom/status`.
"""
_INITIALIZATION = """\
## Initialization

`initializationOptions.planloom` may hold [settings](settings.md). `initializationOptions.planloomClient` declares what
the editor supports beyond LSP. A field that is left out is false, except for `trusted`:
"""
_REQUESTS = """\
## Requests of the client

Every request gets a result or one of the [errors](#errors), even if its params are malformed. Long work answers at
once and continues with events; only `planloom/plan/wait` blocks. Requests on one plan run one at a time, in the order
of their arrival. A plan belongs to the workspace folders in which it was made: where these are not open, each request
that names it gets `unknown_plan`, except that those with `allWorkspaces` read it.
"""
_STATES = """\
## States of a plan

What each status allows. Any other request gets the error `wrong_state`, which lists the allowed ones in `details`.
A message is allowed in all: [what becomes of it](conversation.md#what-the-user-says) is its `outcome`.
"""
_EVENTS = """\
## Events

`planloom/event` sends every event of the server's plans in order, each after it is stored. An event may arrive before
the answer to the request that caused it. Every event has `seq`, `planId`, `sessionId`, `at` and `type`. Within a plan,
`seq` increases by one with no gap. `taskId` is the id of a step. A client that missed events gets them by
`planloom/plan/events`. The statuses `blocked` and `ready` are computed; no event sets them.

What a running step does is told by `activeForm`, the number of its run by `attempt`. `progress` is sent only where it
is known: for a step that expects several files, the percentage of them that it has written. If a step fails and the
setting `execution.onFailure` skips it, `recovery_chosen` with `by: policy` precedes `task_skipped` with the reason
`policy`, and the step stays failed. `by` is `model` if the user accepted the model's proposal.
"""
_COMMANDS = """\
## Commands

The same actions for a client without an extension, by `workspace/executeCommand`. A command that takes longer than a
second returns null and continues. If `planId` is left out, the command acts on the only plan that it can act on; if
there are several, the error `invalid_params` lists them.
"""
_FALLBACK = """\
## Without an extension

The server asks the questions that the client has not declared by `window/showMessageRequest` with buttons. It shows
diffs and conflicts by `window/showDocument`, from files in `.planloom/` of the first folder (with a `.gitignore` of
`*`). One message is open at a time; its first button, “Later”, does nothing. A dismissed message is no answer: the
question stays pending, in the plan's document, and a command can answer it at any time. A client that refuses to show
buttons gets the question by `window/showMessage`, and its answer in the document. Edits are sent by
`workspace/applyEdit`, progress by `$/progress`, and `@` in any document completes references, each only if the client
supports it. The [document](plan-document.md) follows its plan from the review on, or from a question left for later.
"""
_ERRORS = """\
## Errors

`data` of an error is `{ code, message, hint?, details?, explained }`; `message` is a sentence that a user can act on,
`explained` the same in the user's language, with what mends it and the address of a page about it. The codes of
JSON-RPC and LSP occur too: -32700, -32600, -32601, -32002 before `initialize`, -32800 for a cancelled request, and
-32603 (`internal`) for an internal error of the server, whose log has the traceback.

The `code` of a failed step (`task_failed`, `recovery_request`) is one of the table, or `check_failed` if a check of the
step does not hold; it is left out where a tool failed, whose own words are the `error`. That of a failed plan is one of
the table, `step_failed` or `deadlock`.

| JSON-RPC | `data.code` | when |
|---|---|---|
"""
_TYPES = """\
## Types

`?` marks a field that may be left out, `T[]` is a list, `any` is any JSON.
"""


def page() -> str:
    """The whole page, in Markdown."""
    parts = (
        (_INTRODUCTION.rstrip("\n"),),
        (client_guide.sections(),),
        (_INITIALIZATION, *_declared()),
        ("## Capabilities of LSP that are used\n", *lsp_capabilities.rows()),
        (lsp_capabilities.EDITS.rstrip("\n"),),
        (_REQUESTS, *_requests(methods.CLIENT_REQUESTS)),
        ("## Notifications and requests of the server\n", *_ours()),
        (_STATES, *_states()),
        (_EVENTS, *_events()),
        (_COMMANDS, *_commands()),
        (_FALLBACK, *without_extension.rows()),
        (_ERRORS.rstrip("\n"), *_errors()),
        (_TYPES, *_types()),
    )
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _declared() -> Iterator[str]:
    yield "| `planloomClient` | |"
    yield "|---|---|"
    for name in ClientExtensions._fields:
        yield f"| `{camel_case(name)}` | {CLIENT_CAN[name]} |"
    yield ""
    yield "The server's `capabilities.experimental.planloom` is `{ protocolVersion, methods, events }`."


def _requests(requests: Iterable[ClientRequest]) -> Iterator[str]:
    for kind, meaning in _RUNS.items():
        yield f"- *{kind}*: {meaning}"
    yield ""
    yield "| method | params | result | runs as | |"
    yield "|---|---|---|---|---|"
    for method in requests:
        yield _row(
            f"`{method.name}`",
            _shape(method.params),
            _shape(method.result),
            method.kind,
            doc(method.handler),
        )


def _ours() -> Iterator[str]:
    yield "| method | params | result | when |"
    yield "|---|---|---|---|"
    yield _row("`planloom/event`", "`Event`", "", "`events` is declared; see [events](#events)")
    yield _row(
        "`planloom/plan/view`",
        _shape(view.ViewParams),
        "",
        "`views` is declared: the first view of a plan whole, then what differs from the one before, at most thirty "
        "times a second; after a gap in `number` the client asks for the whole by the request of the same name",
    )
    yield _row(
        "`planloom/stream`",
        _shape(editor.StreamParams),
        "",
        "`events` is declared: text that a model or command streams; may be dropped",
    )
    yield _row(
        "`planloom/health`",
        _shape(editor.HealthParams),
        "",
        "`events` is declared: the problems have changed; as in `planloom/status`",
    )
    yield _row(
        "`planloom/waits`",
        _shape(editor.WaitsParams),
        "",
        "`events` is declared: which steps of the plan wait for what another step uses has changed; all are listed",
    )
    yield _row(
        "`planloom/spent`",
        _shape(editor.SpentParams),
        "",
        "`events` is declared: a plan has used more of a model; `planloom/plan/get` has the same",
    )
    for request in methods.SERVER_REQUESTS:
        yield _row(
            f"`{request.name}`",
            _shape(request.params),
            _shape(request.result),
            f"`{request.declared}` is declared",
        )
    yield ""
    yield "The client sends one notification:"
    yield ""
    yield "| method | params | |"
    yield "|---|---|---|"
    for each in methods.CLIENT_NOTIFICATIONS:
        yield _row(f"`{each.name}`", _shape(each.params), doc(each.handler))


def _states() -> Iterator[str]:
    yield "| status | allowed |"
    yield "|---|---|"
    for status, allowed in ALLOWED.items():
        yield _row(f"`{status}`", ", ".join(f"`{action}`" for action in allowed))


def _events() -> Iterator[str]:
    yield "| type | payload | |"
    yield "|---|---|---|"
    common = (*OfPlan.model_fields, "type")
    for name, message in messages().items():
        yield _row(f"`{name}`", f"`{notation.fields(message, common)}`", event_summary(message))


def event_summary(kind: type[Wire]) -> str:
    """What has happened when this event comes, in a sentence."""
    event = next(each for each in notation.members(domain_events.Event) if type_of(each) == type_of(kind))
    first = doc(event).partition(". ")[0].rstrip(".")
    # What follows a semicolon may be about a field that the wire does not have.
    return f"{first.partition('; `')[0]}."


def _commands() -> Iterator[str]:
    yield "| command | arguments |"
    yield "|---|---|"
    for command in COMMANDS:
        yield _row(f"`{command.name}`", f"`[{command.arguments}]`")


def _errors() -> Iterator[str]:
    for kind, code in CODES.items():
        words = ", ".join(f"`{word}`" for word in _codes(kind))
        yield _row(str(code), words, doc(kind))


def error_codes() -> tuple[str, ...]:
    """The `data.code` of every error, each once."""
    return tuple(dict.fromkeys(("internal", *(word for kind in CODES for word in _codes(kind)))))


def _codes(kind: type[errors.PlanloomError]) -> tuple[str, ...]:
    hints = get_type_hints(kind.__init__, vars(errors) | {"Literal": Literal})
    if kind is errors.UnknownThing:
        return tuple(f"unknown_{thing}" for thing in get_args(hints["kind"]))
    if kind is errors.ModelFailed:
        return get_args(hints["code"])
    return (kind.code,)


def _types() -> Iterator[str]:
    named = [model for each in methods.REQUESTS for model in (each.params, each.result)]
    models = (*named, *messages().values())
    seen = notation.reachable(kind for model in models for kind in notation.inner(model))
    yield "| type | |"
    yield "|---|---|"
    for name, words in notation.words():
        yield _row(f"`{name}`", f"`{words}`")
    yield ""
    yield "| type | fields | |"
    yield "|---|---|---|"
    for kind in sorted(seen, key=lambda each: each.__name__):
        yield _row(f"`{kind.__name__}`", f"`{notation.fields(kind)}`", doc(kind))


def _shape(model: type[Wire]) -> str:
    return f"`{notation.fields(model)}`"


def doc(documented: object) -> str:
    """The docstring of a class or function on one line."""
    return " ".join((documented.__doc__ or "").split())


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
