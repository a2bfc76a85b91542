"""The row of a step: the one thing that it says besides its title, and the facts for who opens it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, get_args

from planloom.domain.plans.plan import Review, Step
from planloom.domain.values import Json
from planloom.view.figures import agent_name, usage_words
from planloom.view.step.nodes import node_words, rules
from planloom.view.words import Words

_WRITING: Final = frozenset(
    {"write_file", "edit_file", "create_folder", "rename_path", "rename_symbol", "code_action"}
)
"""Tools whose effects are not asked about where only risky changes are reviewed."""
_TELLING: Final = ("symbol", "path", "command", "old_path", "pattern", "query", "url")
"""The most telling arguments of calls, the first that a call has."""


def asks(step: Step) -> tuple[Review, ...]:
    """The choices of review under which a step asks before its effect."""
    if not step.requires_approval or step.status == "completed":
        return ()
    return tuple(each for each in get_args(Review) if each != "auto" or step.tool not in _WRITING)


def call_words(tool: str, args: Mapping[str, Json] | None) -> str:
    """A call by its tool and its most telling argument."""
    values = args or {}
    about = next((str(values[name]) for name in _TELLING if isinstance(values.get(name), str)), "")
    return f"{tool} {about}".strip()


def facts(step: Step, after: str, changed: int, background: str | None, t: Words) -> Iterator[str]:
    """What is known of a step, for its details."""
    if step.tool is not None:
        yield call_words(step.tool, step.args)
    else:
        yield node_words(step, t) or agent_name(step.agent, t)
    if after:
        yield t("after {0}", after)
    if step.status != "completed":
        yield from (f"{each.words} ({each.hint})" for each in rules(step, t))
    if step.critical:
        yield t("if it fails, the plan fails")
    if background is not None:
        yield t("runs in the background: {0}", background)
    if changed:
        yield t.plural(changed, "1 file changed", "{0} files changed")
    if step.attempts > 1:
        yield t("attempt {0}", step.attempts)
    if step.usage is not None and (words := usage_words(step.usage, t)):
        yield words


def note(waiting: str | None, retry: str | None, position: str | None, t: Words) -> str | None:
    """What a row says besides its title: what the step waits for, what has failed before, how far it has come."""
    if waiting is not None:
        return waiting
    if retry is not None:
        return t("retrying: {0}", retry.split("\n", 1)[0])
    return position
