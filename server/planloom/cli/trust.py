"""Whether the folders of a run are trusted: by the flag, by an earlier decision, or by the person at the terminal.

Also the command `trust`, which shows and changes these decisions.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from planloom.cli.arguments import folder as checked
from planloom.cli.exit_codes import DONE, FAILED
from planloom.domain.text.counted import counted

if TYPE_CHECKING:
    from planloom.cli.terminal.person import Terminal
    from planloom.storage.decisions import Decisions


async def first_untrusted(folders: Sequence[Path], *, trust: bool, person: Terminal | None) -> Path | None:
    """The first folder that is not trusted; None if all are.

    Asks the person about each folder that they have not decided on, and keeps the answer.
    """
    if trust:
        return None
    decided = decisions()
    for folder in folders:
        trusted = decided.is_trusted(folder)
        if trusted is None and person is not None:
            trusted = await _asked(folder, decided, person)
        if not trusted:
            return folder
    return None


def read_only(folder: Path) -> str:
    """What it means that a folder is not trusted, and how to change that."""
    return (
        f"{folder} is not trusted: it is read, and nothing in it is written or run. "
        "Add --trust for this run, or trust it by `planloom trust`."
    )


async def _asked(folder: Path, decided: Decisions, person: Terminal) -> bool:
    from planloom.cli.plain import visible
    from planloom.cli.terminal.keyboard import EndOfInput
    from planloom.domain.errors import StorageFailed

    person.say(
        "In a trusted folder Planloom follows its instructions (AGENTS.md) and runs git by itself. Changes and "
        "commands are asked all the same."
    )
    question = f"Do you trust {visible(str(folder))}?"
    try:
        trusted = await person.choose(question, {"y": "trust it", "n": "only read in it"}) == "y"
    except EndOfInput:
        return False
    try:
        decided.decide_folder(folder, trusted=trusted)
    except StorageFailed as error:
        person.say(error.message, "yellow")
    return trusted


def trust(given: Namespace) -> int:
    """Trust a folder, so that Planloom may follow its instructions, run git in it and, if you allow it, change it."""
    from planloom.domain.errors import StorageFailed

    decided = decisions()
    if given.rules or given.rule:
        return _rules(given, decided)
    if given.list:
        _show(decided)
        return DONE
    # What was decided on a folder that is gone can be forgotten, too.
    chosen = [path.resolve() if given.revoke else checked(path) for path in given.paths or [Path()]]
    try:
        for folder in chosen:
            if given.revoke:
                found = decided.forget_folder(folder)
                _say(f"{folder}: {'no longer decided' if found else 'nothing was decided'}.")
            else:
                decided.decide_folder(folder, trusted=True)
                _say(f"{folder} is trusted, with the folders inside.")
    except StorageFailed as error:
        _say(error.message, err=True)
        return FAILED
    return DONE


def _rules(given: Namespace, decided: Decisions) -> int:
    """Show, add or take back rules of the folders."""
    from planloom.cli.rules import imported, lines_of, rule_of
    from planloom.domain.errors import StorageFailed
    from planloom.domain.safety.command_rules import CommandRule

    wanted = [(text, rule_of(text)) for text in given.rule]
    if given.imports:
        wanted += imported(Path.home())
    refused = [(text, rule) for text, rule in wanted if isinstance(rule, str)]
    rules = [rule for _, rule in wanted if isinstance(rule, CommandRule)]
    try:
        for folder in map(checked, given.paths or [Path()]):
            if given.revoke:
                texts = [rule.text for rule in rules] if given.rule else [None]
                gone = sum(decided.forget_rules(folder, text) for text in texts)
                _say(f"{folder}: {counted(gone, 'rule')} taken back.")
            elif rules:
                decided.keep_rules(folder, rules)
            for line in lines_of(decided, folder):
                _say(line)
    except StorageFailed as error:
        _say(error.message, err=True)
        return FAILED
    for text, why in refused:
        _say(f"Left out: {text}: {why}.", err=True)
    return FAILED if given.rule and refused else DONE


def _show(found: Decisions) -> None:
    decided = found.folders()
    for each in decided:
        state = "trusted" if each.trusted else "only read"
        gone = "" if each.present else "  (gone, or replaced: asked again)"
        _say(f"{state:9}  {each.at[:10]}  {each.path}{gone}")
    if not decided:
        _say("No folder was decided on.")


def _say(text: str, *, err: bool = False) -> None:
    from planloom.cli.plain import visible

    (sys.stderr if err else sys.stdout).write(f"{visible(text)}\n")


def decisions() -> Decisions:
    """What the user has decided, for every client."""
    from planloom.storage.decisions import FILE, Decisions
    from planloom.user_folders import state_folder

    return Decisions(state_folder() / FILE)
