"""Generates docs/tools.md from the registry of tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planloom.domain.plans.agents import NAMES, may_use
from planloom.tools.registry import Registry, builtin, schema
from planloom.tools.tool import SUMMARY_LIMIT, Tool

_EFFECTS = {
    "read": "Only reads, and runs without asking.",
    "write": "Changes files. The change is staged, shown as a diff, and applied once it is allowed.",
    "destroy": "Deletes something. It always asks, unless `planloom.approvals.destroy` says otherwise; "
    "a literal call of a request that runs without a plan asks even then.",
    "execute": "Runs a program. It asks each time, unless the approval of the plan covers it or "
    "`planloom.approvals.execute` says otherwise; `allowForPlan` covers the identical command, "
    "and what its [rule](confinement.md#rules) says.",
    "fetch": "Sends a request to the web. It asks each time, unless `planloom.approvals.fetch` says otherwise;"
    " `allowForPlan` covers the pages of the same scheme, host and port.",
}
_FOLLOWS = "Concerns only commands that the plan was allowed to start, and runs without asking."

MOST_BYTES = 6_350
"""The bytes within which all tools stay as models are shown them."""

_NOTES = f"""\
- **Line numbers.** `read_file` and `search_text` show each line as `12<tab>text`, the form of `cat -n`,
  which models know from Claude Code and from shells; Codex (`L12: text`) and Roo (`12 | text`) show numbers too, and
  Aider shows none. With numbers a model can ask for a range and name a place. A model may copy them, so `edit_file` and
  `write_file` remove copied numbers, also those of the other forms. Later steps get the text without numbers.
- **Several files at once** are several calls in one answer, which run in one turn: a list of paths would make the
  schema of every request longer.
- **Patches.** `edit_file` takes a unified diff, `*** Begin Patch` of Codex, and the SEARCH/REPLACE blocks of Aider,
  Cline and Roo, so each model can write the form that it was trained on.
- **Git** is read without a shell and only in trusted folders. Filters, text converters and other programs that the
  repository's own settings name do not run; files that may hold secrets are left out of diffs. What is staged or
  unsaved, which git cannot see, is added.
- **Symbols** are named, never counted to: a model knows names and lines, not columns. `rename_symbol` and
  `find_references` take the one symbol with a name; if several have it, the answer lists them as `path:line`, and the
  next call gives one of these as its path. `code_action` lists what a language server offers, and makes what has a
  title. Edits that a language server computes are staged like any others, all of them or none: an answer with edits
  outside of the workspace or of the text, with edits that overlap, with renames of files, or against a text in which
  the same lines have changed, changes nothing. What one call saves is [measured](conversation.md#figures).
- **Tools that cannot work** are not shown to models: git's where no workspace folder lies in a repository, the four
  for symbols where no language server is known for any file of the workspace, `read_diagnostics` where neither the
  editor nor such a server reports problems, as on the command line. That is looked up once for each plan, so
  that its requests begin alike. A call of such a tool is still taken, and says what is lacking.
- **Commands in the background** are for servers and watchers, which `run_command` would wait for in vain: three tools
  with the parts that Codex and Claude Code have, without input. `read_output` gives only what is new, waits for it, and
  saves the files that the plan has changed before, so that a watcher sees them.
- **Pages of the web.** `fetch_url` shows text only (for images see [planning.md](planning.md#looking-first)): at most
  2 MB in 30 seconds, HTML as Markdown, without cookies, keys or any proxy. A redirect is followed on the same host
  alone. This machine and private networks are refused unless `planloom.fetch.allowInternal` is set. A planner that
  looks into the workspace cannot fetch.
- **Length.** The tools stand in every request to a model, so names, descriptions and schemas together stay below
  {MOST_BYTES:,} bytes."""


def page() -> str:
    """The whole page, in Markdown."""
    return "\n".join(_lines(builtin())) + "\n"


def _lines(tools: Registry) -> Iterator[str]:
    yield "# The tools"
    yield ""
    yield "<!-- Written by `make generate`; a test compares it with the code. -->"
    yield ""
    yield "The tools that the steps of a plan, and the models that work on them, can call. Paths are relative to the"
    yield "workspace folder, or, if several are open, `folder-name/path`. A failed call says what to do instead."
    yield f"A result has a summary of at most {SUMMARY_LIMIT} characters for people, and a text for the model."
    yield ""
    yield from _NOTES.splitlines()
    yield ""
    yield "| tool | effect | for |"
    yield "|---|---|---|"
    for tool in tools:
        yield f"| [`{tool.name}`](#{tool.name}) | {tool.effect} | {_agents(tool)} |"
    for tool in tools:
        yield from _section(tool)


def _section(tool: Tool) -> Iterator[str]:
    yield ""
    yield f"## {tool.name}"
    yield ""
    yield tool.description
    yield ""
    yield _FOLLOWS if tool.follows_commands else _EFFECTS[tool.effect]
    yield ""
    yield "| argument | type | | |"
    yield "|---|---|---|---|"
    described = schema(tool.arguments)
    required = described.get("required") or []
    properties = described.get("properties")
    assert isinstance(required, list) and isinstance(properties, dict)
    for name, argument in properties.items():
        assert isinstance(argument, dict)
        need = "required" if name in required else _default(argument)
        text = str(argument.get("description", "")).replace("|", "\\|")
        yield f"| `{name}` | {_type(argument)} | {need} | {text} |"


def _agents(tool: Tool) -> str:
    return ", ".join(NAMES[agent] for agent in NAMES if may_use(agent, tool.effect))


def _default(argument: dict[str, Any]) -> str:
    default = argument.get("default")
    return "optional" if default in (None, "") else f"default {default!r}".replace("False", "false")


def _type(argument: dict[str, Any]) -> str:
    if "anyOf" in argument:
        return " or ".join(_type(each) for each in argument["anyOf"])
    if argument.get("type") == "array":
        return f"list of {_type(argument.get('items', {}))}"
    return str(argument.get("type", "any"))
