"""The rules by which the user allows commands in a folder: `planloom trust --rules` lists, adds and takes them back.

`--import` reads those that the user has given to other agents, from the home alone: what a folder brings allows
nothing.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

from planloom.domain.safety.command_needs import needs_of
from planloom.domain.safety.command_rules import CommandRule, is_too_wide, parts_of
from planloom.domain.safety.confinement import Confinement
from planloom.storage.decisions import Decisions

_CLAUDE: Final = (".claude/settings.json", ".claude/settings.local.json")
_CODEX: Final = ".codex/rules"
_BASH: Final = re.compile(r"Bash\((.+)\)", re.DOTALL)
_MOST_BYTES: Final = 1_000_000


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
    given = Confinement(git=".git") if needs_of(words).git else Confinement()
    return CommandRule(parts[0], given, exact=not more)


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


def _rights(given: Confinement) -> str:
    network = {"none": "", "loopback": "this machine's network", "all": "the network"}[given.network]
    more = [each for each in (network, "git's folder" if given.git else "") if each]
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
            given = {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg}
            if given.get("decision", "allow") == "allow":
                choices = [[each] if isinstance(each, str) else each for each in given["pattern"]]
                yield from (([*words], True) for words in product(*choices))
    except (SyntaxError, ValueError, KeyError, TypeError, RecursionError, MemoryError):
        return


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
