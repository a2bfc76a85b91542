"""Generates docs/troubleshooting.md: a section for each error and each pause that a message can lead to.

The sentence that a person sees is taken from the code. A section that is missing here, or is here without an error or
a pause of that name, stops the generation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, get_args

from codegen.protocol_page import error_codes
from planloom.domain.errors import ModelCause, ModelProblem
from planloom.domain.plans.plan import PauseReason
from planloom.view.figures import pause_words
from planloom.view.problems import HelpKind, help_of, of_code, of_model
from planloom.view.words import Words

_ENGLISH: Final = Words()
_ADDRESS: Final = "http://localhost:8080"
_OF_PLANS: Final = ("step_failed", "deadlock", "interrupted", "check_failed")
"""The codes of plans and steps that have failed, which no request answers with."""


class Section(NamedTuple):
    """What a person sees, in a few words; why; and what to do."""

    title: str
    why: str
    do: str


_INTRODUCTION: Final = """\
# Troubleshooting

<!-- Written by `make generate`; a test compares it with the code. -->

What you see, why, and what to do. A message about an error or a pause leads to its section here: *Learn More* in VS
Code, a link below the message in a terminal, the address at its end in other editors.

`planloom doctor` looks at everything that Planloom needs and says what to do about what is missing.
`planloom doctor --report report.txt` writes that into a file for an issue, without keys, names of files or your own
name; read it before you send it.

## Before anything runs

### `planloom` is not found

The folder of the installed command is not on your PATH: `uv tool update-shell` or `pipx ensurepath` adds it, for the
next terminal. An editor that was started from a menu may have another PATH than your terminal: give it the whole path,
which `command -v planloom` says.

### The editor does not start the server

Editors start `planloom serve --stdio`. Typed into a terminal it says that it is not for people, and that is well: the
command is there. If it says something else, that is the cause. `planloom doctor` starts a server in the same way, and
names the log. In VS Code *Planloom: Show Log* has what the extension did; it needs a Python from 3.11 on, and
`planloom.server.python` names one it has not found by itself.

### Nothing happens in a folder

A folder that you have not decided on is only read: [trust it](#error-untrusted-workspace). A plan under review waits
for you; `planloom plans` lists those that wait.

### A step seems to hang

Where it stands says what it waits for: you, a file or a terminal that another step uses, or the model. A local model
may need minutes for its first word (`model.firstTokenTimeoutSeconds`); a model that is too large for the memory of the
graphics card is slower by far. Ctrl-C, or *Pause*, loses nothing.
"""

_MODEL: Final[Mapping[str, Section]] = {
    "none": Section(
        "No model is set up",
        "A step has to be written, and neither a setting, a key nor a local server leads to a model.",
        "Install [Ollama](https://ollama.com) and run `ollama pull qwen3:8b`; or keep the key of a service by"
        " `planloom key set openai`; or name a server by `planloom config set model.baseUrl URL`. In VS Code,"
        " *Choose Model…*. What a request says literally needs no model.",
    ),
    "unreachable": Section(
        "Nothing answers at the model's address",
        "The server is not running, listens on another port, or is on a machine that cannot be reached from here.",
        "Start it (`ollama serve`), or correct `model.baseUrl`. `curl ADDRESS/v1/models` shows whether it answers."
        " From a container or WSL, `localhost` is not the host: use the host's address, and let the server listen"
        " on more than the loopback (`OLLAMA_HOST=0.0.0.0`).",
    ),
    "unknown_host": Section(
        "The name of the model's server is not known",
        "The name in the address is misspelt, or this machine is offline or needs a VPN for it.",
        "Correct `model.baseUrl`, or connect.",
    ),
    "proxy": Section(
        "The proxy does not lead to the model's server",
        "`PLANLOOM_PROXY` or `HTTPS_PROXY` names a proxy that refuses, or does not answer.",
        "Correct the variable, or except the server by `NO_PROXY=host`. An editor must be started with it, too.",
    ),
    "slow": Section(
        "The model's server did not answer in time",
        "It is loading the model, works on other requests, or is too weak for this one.",
        "Try again. `model.firstTokenTimeoutSeconds` lets it take longer; a smaller model answers sooner.",
    ),
    "key_missing": Section(
        "The service wants a key",
        "No key is kept for this address. A key is sent to the one address that it was given for, and to no other.",
        "`planloom key set openai` (with `--base-url URL` for another address), or *Enter a Key…* in VS Code.",
    ),
    "key_refused": Section(
        "The service refused the key (401)",
        "The key was revoked, is incomplete, or belongs to another service. One in the environment goes before one"
        " that is kept.",
        "Enter it again by `planloom key set`, and look for an old one in `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or"
        " `PLANLOOM_API_KEY`.",
    ),
    "forbidden": Section(
        "The key may not do this (403)",
        "The account or the key has no right to this model, this project or this region.",
        "Choose another model (`planloom models`), or give the key the right at its service.",
    ),
    "payment": Section(
        "The account has no credit left",
        "The service wants to be paid before it answers again.",
        "Top it up there, then resume the plan; or choose another model.",
    ),
    "model_missing": Section(
        "The server does not have this model",
        "`model.name` names a model that is not installed there, was renamed or was switched off.",
        "`planloom models` lists what it has. For Ollama, `ollama pull NAME` gets it.",
    ),
    "no_models": Section(
        "The server has no model",
        "It runs, but nothing is loaded or installed.",
        "Load one: `ollama pull qwen3:8b`; in LM Studio load a model; start `llama-server` or vLLM with one.",
    ),
    "model_not_chosen": Section(
        "The server has several models",
        "None was chosen, and Planloom does not guess between them.",
        "`planloom config set model.name NAME`, or *Choose Model…*.",
    ),
    "wrong_address": Section(
        "No model server is at this address",
        "Something answers, but not as a model server does: often the part behind the host is wrong.",
        "An OpenAI-compatible server is named with its `/v1`, such as `http://localhost:8080/v1`. A web page in a"
        " browser is not its address.",
    ),
    "certificate": Section(
        "The certificate of the server is not trusted",
        "It is self-signed or of a company's own authority, or a proxy opens the connection.",
        "`SSL_CERT_FILE=/path/to/authority.pem` in the environment of the command or the editor names the authority.",
    ),
    "busy": Section(
        "The service takes no more requests now (429)",
        "A limit of your account for a minute or a day is reached, or the service is overloaded.",
        "Wait until the time that it names, then resume. `model.parallelRequests` and `execution.maxParallelSteps`"
        " lower how much is asked at once.",
    ),
    "server_failed": Section(
        "The model's server failed (5xx)",
        "It crashed, ran out of memory, or cannot read what was sent; what it said stands behind the message.",
        "Try again. Where it is yours, its own log says why; a smaller model or a smaller context often helps.",
    ),
}

_ERRORS: Final[Mapping[str, Section]] = {
    "model_unavailable": Section(
        "The model cannot be used now",
        "It did not answer; the message or one of the sections above says why.",
        "Resume the plan when it answers again; what was done stays.",
    ),
    "model_refused": Section(
        "The model refused",
        "The model, or a filter before it, does not want to do this.",
        "Word the request in another way, or choose another model.",
    ),
    "model_output_invalid": Section(
        "The model gave no answer that can be used",
        "Its answer was empty, broke off, or was no plan even after one repair. *What the model wrote* in VS Code shows"
        " it. Small models do so when a request is large.",
        "Try again, ask for less at once, or choose a stronger model.",
    ),
    "context_overflow": Section(
        "The request is too long for the model",
        "What the model has to read does not fit its context, even when it is compacted.",
        "Attach less, split the request, or choose a model that takes more. If the model takes more than Planloom"
        " believes, `model.contextTokens` says so; Ollama's own limit is `OLLAMA_CONTEXT_LENGTH`.",
    ),
    "budget_exhausted": Section(
        "The budget is used up",
        "`budget.maxRequests`, `budget.maxTokens`, `budget.maxMinutes` or `execution.maxToolCallsPerStep` is reached.",
        "Resume: the same amount is granted again. If the steps do the same again and again, say to the plan what is"
        " wrong, or cancel it.",
    ),
    "untrusted_workspace": Section(
        "This folder is not trusted",
        "In a folder that you have not decided on, nothing is written or run, and its instructions are not followed.",
        "If you trust whoever wrote it: `planloom trust`, or `--trust` for one command; in VS Code *Manage Workspace"
        " Trust*.",
    ),
    "workspace_required": Section(
        "No folder is open",
        "A plan works on the files of a folder.",
        "Open one in the editor, or name it by `--workspace DIR`.",
    ),
    "path_denied": Section(
        "That file is out of reach",
        "It is outside the workspace, is reached by a link that leads outside, or is one that is never touched, such"
        " as `.git`.",
        "Open the folder that holds it as a workspace of its own. [security.md](security.md) says what is never"
        " touched.",
    ),
    "planner_failed": Section(
        "The planner of a package has failed",
        "`planning.planner` names a planner that no enabled package brings, that ended with an error, or whose plan"
        " cannot be carried out.",
        "`planloom doctor` says how each package is. Without `planning.planner` Planloom plans by itself.",
    ),
    "reference_unresolved": Section(
        "What the request refers to was not found",
        "No `@path` or `@name` in it leads to a file or a symbol, or one leads to several.",
        "Type `@` and take what is completed. A path begins at the workspace's folder.",
    ),
    "limit_exceeded": Section(
        "A limit was reached",
        "The request, an attachment, the plan or a setting is larger than is allowed; the message names the limit.",
        "Make it smaller or split it.",
    ),
    "storage_failed": Section(
        "Plans cannot be kept now",
        "The ledger cannot be written or read: the disk is full, the folder is read-only, or the file is damaged."
        " Nothing runs that could not be recorded.",
        "Make room, or choose another folder by `storage.path`. `planloom doctor --repair` checks the ledger and"
        " repairs it; the old file is kept.",
    ),
    "owned_elsewhere": Section(
        "Another window runs this plan",
        "One server at a time runs a plan, so that no effect is made twice.",
        "Go on in the other editor or terminal, or close it: this one can then resume the plan.",
    ),
    "wrong_state": Section(
        "That is not possible now",
        "The plan or the step is not where the action belongs, for example it has ended meanwhile. For an undo: the"
        " files or the editor did not take the change.",
        "Look at the plan again; the message says where it stands.",
    ),
    "stale_version": Section(
        "The plan has changed since",
        "You approved or changed a version that is not the latest: a step, another window or you changed it.",
        "Look at it again, then decide.",
    ),
    "invalid_plan": Section(
        "That is not a valid plan",
        "A step waits for itself, names a tool that does not exist, or lacks an argument; each is listed.",
        "Correct the step that is named. [plan-document.md](plan-document.md) has the form.",
    ),
    "invalid_params": Section(
        "That cannot be done",
        "A field of the request is missing or has a value that is not allowed; it is named.",
        "Correct it. From an extension of your own: [protocol.md](protocol.md) has every field.",
    ),
    "unknown_plan": Section(
        "This plan is not there",
        "It was deleted, or belongs to another folder.",
        "`planloom plans --all` lists the plans of all folders.",
    ),
    "unknown_step": Section(
        "This step is no longer in the plan",
        "The plan was revised.",
        "Look at the plan again.",
    ),
    "unknown_approval": Section(
        "This question has been answered already",
        "You answered it elsewhere, or it was withdrawn since the change has become another one.",
        "Nothing; what still waits is shown.",
    ),
    "unknown_template": Section(
        "There is no such template",
        "Its name is misspelt, or it was deleted.",
        "`planloom templates` lists them.",
    ),
    "unknown_edit": Section(
        "This change is no longer open",
        "It was answered or undone meanwhile, or its texts are no longer kept (`storage.keepTextsDays`).",
        "Look at the plan again.",
    ),
    "internal": Section(
        "Something inside Planloom broke",
        "That is a defect of Planloom. Nothing is lost: what was recorded stays.",
        "Try again, or restart the server. Please report it with what `planloom doctor --report report.txt` writes.",
    ),
    "step_failed": Section(
        "A step failed, and the plan with it",
        "A step that the others need could not be done.",
        "`planloom show` has its error. Correct the cause, then *Plan the rest*, or `planloom run --continue`.",
    ),
    "check_failed": Section(
        "A check of a step does not hold",
        "What the step should have made is not there, a test failed, or the change brought new problems. A model's word"
        " is not enough.",
        "Retry it, hand it to the model, or skip it. A check that is wrong can be changed while the plan is under"
        " review.",
    ),
    "deadlock": Section(
        "No step can start any more",
        "What is left waits for steps that will not come.",
        "Plan the rest as a new request.",
    ),
    "interrupted": Section(
        "The server ended while a new version was drafted",
        "It was stopped or killed, or the machine was switched off. A first draft is only paused by that.",
        "Say once more what should change: it is drafted anew, with all that you said before.",
    ),
}

_PAUSES: Final[Mapping[str, Section]] = {
    "user": Section(
        "Paused by you",
        "You paused it, or did not let it go on at a gate. The edit in hand was finished.",
        "`planloom resume`, or *Resume*.",
    ),
    "clarification": Section(
        "A step has a question",
        "The model cannot know something that matters.",
        "Answer it; the plan goes on by itself. `execution.pauseOnClarification` lets other steps run meanwhile.",
    ),
    "recovery": Section(
        "A step failed and waits for your choice",
        "`execution.onFailure` is `ask`.",
        "Retry it, hand it to the model, skip it with what depends on it, or end the plan.",
    ),
    "conflict": Section(
        "Your typing and an edit overlap",
        "You and the step changed the same lines. Nothing was written over yours.",
        "Choose which text stays, or merge both. [edits.md](edits.md) says how they are compared.",
    ),
    "budget": Section(
        "Paused since the budget is used up",
        "`budget.maxRequests`, `budget.maxTokens`, `budget.maxMinutes`, `execution.maxToolCallsPerStep` or"
        " `execution.stepTimeoutSeconds` is reached; the message says which.",
        "Look at what was done. Resume grants the same amount again.",
    ),
    "model_unavailable": Section(
        "Paused since the model cannot be used",
        "It could not be reached, or refused to be asked; the message says why.",
        "See [Models](#models). Resume tries again, with another model if you have chosen one.",
    ),
    "unsaved_files": Section(
        "Paused for files that are not saved",
        "A command reads files from the disk, where your unsaved text is not.",
        "Save them and resume. `edits.save` says when Planloom asks the editor to save the files that it changed.",
    ),
    "restart": Section(
        "The server was restarted",
        "It ended while the plan ran: the editor was closed, or it was killed. Nothing runs by itself after that.",
        "Resume. No effect is repeated; a command that was cut off is asked about.",
    ),
    "error": Section(
        "The plan could not continue",
        "Changes could not be made, or something broke; the message says what.",
        "Remove the cause and resume.",
    ),
    "storage": Section(
        "Stopped since the plan ledger could not be written",
        "The disk is full or read-only, or another program holds the file. What cannot be recorded is not done.",
        "See [Plans cannot be kept now](#error-storage-failed), then resume.",
    ),
}


def page() -> str:
    """The whole page, in Markdown."""
    parts: tuple[tuple[str, HelpKind, tuple[str, ...], Mapping[str, Section]], ...] = (
        ("Models", "model", get_args(ModelCause), _MODEL),
        ("Errors", "error", (*error_codes(), *_OF_PLANS), _ERRORS),
        ("Pauses", "pause", get_args(PauseReason), _PAUSES),
    )
    lines = [_INTRODUCTION]
    for heading, kind, names, sections in parts:
        if set(names) != set(sections):
            raise ValueError(f"sections and code differ: {set(names) ^ set(sections)}")
        lines.append(f"## {heading}\n")
        for name, section in sections.items():
            lines += _lines(kind, name, section)
    return "\n".join(lines).rstrip() + "\n"


def _lines(kind: HelpKind, name: str, section: Section) -> Iterator[str]:
    anchor = help_of(kind, name).partition("#")[2]
    yield f'<a id="{anchor}"></a>\n'
    yield f"### {section.title}\n"
    shown = [each for each in _shown(kind, name) if each]
    if shown:
        yield f"You see: {' or '.join(f'“{each}”' for each in dict.fromkeys(shown))}\n"
    yield f"**Why.** {section.why}\n"
    yield f"**What to do.** {section.do}\n"


def _shown(kind: HelpKind, name: str) -> Iterable[str]:
    """The sentences that a person sees, from the code."""
    match kind:
        case "model":
            return (
                of_model(
                    ModelProblem.model_validate({"cause": name, "provider": provider, "address": _ADDRESS}),
                    None,
                    _ENGLISH,
                ).words
                for provider in ("openai", "ollama")
            )
        case "pause":
            return (pause_words(next(each for each in get_args(PauseReason) if each == name), _ENGLISH),)
        case "error":
            return (of_code(name, "", _ENGLISH).words.replace(":", " …"),)
