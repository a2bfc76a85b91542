"""`planloom trust`: shows and changes which folders are trusted, and the rules by which commands are allowed there.

`--import` reads those that the user has given to other agents, from the home alone: what a folder brings allows
nothing.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from argparse import Namespace
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

from planloom.cli.arguments import folder as checked
from planloom.cli.client.model_memory import decisions
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.plain import visible
from planloom.domain.errors import StorageFailed
from planloom.domain.safety.command_needs import needs_of
from planloom.domain.safety.command_rules import CommandRule, is_too_wide, parts_of
from planloom.domain.safety.confinement import Confinement
from planloom.domain.text.counted import counted
from planloom.storage.decisions import Decisions

_CLAUDE: Final = (".claude/settings.json", ".claude/settings.local.json")
_CODEX: Final = ".codex/rules"
_BASH: Final = re.compile(r"Bash\((.+)\)", re.DOTALL)
_MOST_BYTES: Final = 1_000_000


def trust(args: Namespace) -> int:
    """Trust a folder, so that Planloom may follow its instructions, run git in it and, if you allow it, change it."""
    decided = decisions()
    if args.rules or args.rule:
        return _rules(args, decided)
    if args.list:
        _show(decided)
        return DONE
    # What was decided on a folder that is gone can be forgotten, too.
    chosen = [path.resolve() if args.revoke else checked(path) for path in args.paths or [Path()]]
    try:
        for folder in chosen:
            if args.revoke:
                found = decided.forget_folder(folder)
                _say(f"{folder}: {'no longer decided' if found else 'nothing was decided'}.")
            else:
                decided.decide_folder(folder, trusted=True)
                _say(f"{folder} is trusted, with the folders inside.")
    except StorageFailed as error:
        _say(error.message, err=True)
        return FAILED
    return DONE


def _rules(args: Namespace, decided: Decisions) -> int:
    """Show, add or take back rules of the folders."""
    wanted = [(text, rule_of(text)) for text in args.rule]
    if args.imports:
        wanted += imported(Path.home())
    refused = [(text, rule) for text, rule in wanted if isinstance(rule, str)]
    rules = [rule for _, rule in wanted if isinstance(rule, CommandRule)]
    try:
        for folder in map(checked, args.paths or [Path()]):
            if args.revoke:
                texts = [rule.text for rule in rules] if args.rule else [None]
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
    return FAILED if args.rule and refused else DONE


def _show(found: Decisions) -> None:
    decided = found.folders()
    for each in decided:
        state = "trusted" if each.trusted else "only read"
        gone = "" if each.present else "  (gone, or replaced: asked again)"
        _say(f"{state:9}  {each.at[:10]}  {each.path}{gone}")
    if not decided:
        _say("No folder was decided on.")


def _say(text: str, *, err: bool = False) -> None:
    (sys.stderr if err else sys.stdout).write(f"{visible(text)}\n")


def rule_of(text: str) -> CommandRule | str:
    """The rule that a person writes as `pytest`, `git commit …` or `npm run test:*`; else why it is none.

    Without `…`, `*` or `:*` at the end it is exact.
    """
    words, more = re.subn(r"(?:\s*…|:\*|\s+\*)$", "", text.strip())
    parts = parts_of(words)
    if parts is None or len(parts) != 1:
        return "it is not one plain command"
    if is_too_wide(parts[0]) or "*" in words:
        return "it would allow any command"
    rights = Confinement(git=".git") if needs_of(words).git else Confinement()
    return CommandRule(parts[0], rights, exact=not more)


def imported(home: Path) -> Iterator[tuple[str, CommandRule | str]]:
    """The commands that other agents may run by the user's own files, each with its rule or why it has none."""
    for name in _CLAUDE:
        for text in _claude_rules(home / name):
            yield text, rule_of(text)
    for path in sorted((home / _CODEX).glob("*.rules")):
        for words, more in _codex_rules(path):
            text = " ".join(words) + " …" * more
            is_plain = all(re.fullmatch(r"[\w./:=@+,-]+", word) for word in words)
            yield text, rule_of(text) if is_plain else "it is not one plain command"


def lines_of(decided: Decisions, folder: Path | None) -> list[str]:
    """The rules of one folder, or of all, as a person reads them."""
    found = decided.all_rules()
    shown = [(path, rule) for path, rule in found if folder in (None, path)]
    return [f"{path}: {rule.text}{_rights(rule.confinement)}" for path, rule in shown] or [
        "No command is allowed."
    ]


def _rights(confinement: Confinement) -> str:
    network = {"none": "", "loopback": "this machine's network", "all": "the network"}[confinement.network]
    more = [each for each in (network, "git's folder" if confinement.git else "") if each]
    return f"  (with {' and '.join(more)})" if more else ""


def _claude_rules(path: Path) -> list[str]:
    """`Bash(git status)`, `Bash(npm run test:*)` of the permissions of Claude Code."""
    try:
        allowed: Any = json.loads(_text(path))["permissions"]["allow"]
        return [found[1] for each in allowed if (found := _BASH.fullmatch(each)) is not None]
    except (ValueError, KeyError, TypeError):
        return []


def _codex_rules(path: Path) -> Iterator[tuple[list[str], bool]]:
    """`prefix_rule(pattern=["git", ["add", "commit"]], decision="allow")` of Codex; a list is a choice of words."""
    try:
        calls = [node.value for node in ast.parse(_text(path)).body if isinstance(node, ast.Expr)]
        for call in calls:
            if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "prefix_rule":
                continue
            keywords = {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg}
            if keywords.get("decision", "allow") == "allow":
                choices = [[each] if isinstance(each, str) else each for each in keywords["pattern"]]
                yield from (([*words], True) for words in product(*choices))
    except (SyntaxError, ValueError, KeyError, TypeError, RecursionError, MemoryError):
        return


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
