"""Generates docs/command-line.md from the declaration of the commands and their options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from planloom.cli import exit_codes
from planloom.cli.arguments import COMMANDS
from planloom.providers import KEY_VARIABLES, OWN_VARIABLE

_VARIABLES = ", ".join(f"`{each}`" for each in (*KEY_VARIABLES, OWN_VARIABLE))
_PROSE = f"""\
# The command line

<!-- Written by `make generate`; a test compares it with the code. -->

`planloom COMMAND --help` says the same of one command. `planloom` alone is an [interactive session](#session), and
`planloom 'what should be done'` is `planloom run` with that text. Options stand anywhere behind the command; behind
`--` nothing is an option. `planloom serve --stdio` is the language server, for editors.

## Exit codes

| code | meaning |
|---|---|
| {exit_codes.DONE} | done, or the plan is ready for review |
| {exit_codes.FAILED} | not done |
| {exit_codes.USAGE} | the command line is wrong: nothing was started |
| {exit_codes.UNTRUSTED} | the folder is not trusted |
| {exit_codes.LEFT} | the plan is left for later: `planloom resume` |
| {exit_codes.INTERRUPTED} | interrupted before there was a plan, or cancelled by Ctrl-C |

## At the terminal

Ctrl-C pauses the plan, at every question and while it runs; once more cancels it. Esc is as Ctrl-C while a plan runs,
not at a question, where it would be part of a line, and not on Windows. A line that is typed while a plan runs goes to
it. The command line speaks English, whatever the language of the system: the words for plans and steps, which the
server has in German too for editors, would stand in English sentences.

## Keys

`planloom key set openai` asks for the key without showing it, or reads it from standard input where that is no
terminal, for example `pass show openai | planloom key set openai`. It is kept in the system's keyring, for which
Planloom needs its extra: `uv tool install '.[keyring]'`. Where there is no keyring it is kept in `keys.json`, beside
`settings.json`, which only you can read; the command says which. Every server of yours reads it, also one that runs
already. It is kept for one address, the service's own or that of `--base-url`, and is sent to no other. A key in the
environment ({_VARIABLES}) or in the editor goes before it.

## Settings

`planloom config` shows what differs from the defaults and where that is set; `planloom config set NAME VALUE` writes to
the `settings.json` that all commands and editors read. [settings.md](settings.md) has all settings.

## Completion

```sh
source <(planloom completions bash)                                  # in ~/.bashrc
planloom completions zsh > "${{fpath[1]}}/_planloom"
planloom completions fish > ~/.config/fish/completions/planloom.fish
```
"""


def page() -> str:
    """The whole page, in Markdown."""
    return _PROSE + "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for name, command in COMMANDS.choices.items():
        yield from ("", f"## {name}", "", command.description or "", "")
        yield from ("| option | |", "|---|---|")
        for action in command._actions:
            if not isinstance(action, argparse._HelpAction):
                yield f"| {_written(action)} | {_escaped(_help(command, action))} |"


def _written(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    if not action.option_strings:
        return _escaped(f"`{value}`")
    shown = "" if action.nargs == 0 else f" {value}"
    return _escaped(", ".join(f"`{each}{shown}`" for each in action.option_strings))


def _help(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    return command._get_formatter()._expand_help(action)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
