"""The scripted model: what it does next follows from the conversation that an agent shows it, and from nothing else.

It reads, edits, runs the command and ends. What the conversation shows as done it does not do again; a command that
was begun and whose end is not shown it looks for first; after an edit that failed it reads again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.agents.tasks import COMMAND, LEDGER, PUBLISHED, Edit, Region, Task, regions
from bench.agents.wire import Answer, Call, Item, tools

GO_ON: Final = "Go on."
"""What a person says to an agent that is started again."""
DOUBT: Final = "may have run"
"""Words by which an agent says of the command that it was interrupted."""
CHECK: Final = f"cat {LEDGER}"
END: Final = "The change is made, and the command has run."
Uses = Iterable[tuple[str, Mapping[str, Any] | str]]
"""Tools with their arguments."""


class Speaker:
    """How one agent's model says what the script wants: a subclass for each protocol of edits."""

    reads = True
    """Whether the model has to ask for a file before it sees it."""
    runs = True
    """Whether the agent runs the commands of its model without a person."""
    failures: tuple[str, ...] = ("error", "failed")
    """Words (in small letters) by which the result of an edit says that it was not made."""

    def __init__(self, task: Task, folder: Path, sees: Callable[[Path], str]) -> None:
        self.task = task
        self.folder = folder
        self.places = regions(task, folder)
        self.sees = sees
        """The text of a file as the agent would show it now."""
        self.items: Sequence[Item] = ()
        self.offered: Mapping[str, str] = {}

    def answer(self, body: Mapping[str, Any], items: Sequence[Item]) -> Answer:
        """The model's next answer to a conversation."""
        self.items, self.offered = items, tools(body)
        seen = [item for item in items if item.role != "model"]
        made = [item.call for item in items if item.role == "model" and item.call]
        results = {item.call: item.text for item in seen if item.call}
        if any(PUBLISHED in item.text for item in seen):
            return self.end()
        if any(name.startswith("run") for name in made) or any(DOUBT in item.text for item in seen):
            checks = [results.get(name, "") for name in made if name.startswith("check")]
            if not checks:
                return Answer("", self.calls("check", [self.run(CHECK)]))
            if any("one publication" in each for each in checks):
                return self.end()
        wanted = self._wanted(made, results)
        if wanted is None:
            return Answer("", self.calls("look", self.look(self.places)))
        return self.change(wanted) if wanted else self.publish()

    def _wanted(self, made: Sequence[str], results: Mapping[str, str]) -> tuple[Edit, ...] | None:
        """The edits that are not made yet, as far as the conversation shows; None if it must be looked for."""
        last = next((name for name in reversed(made) if name.startswith(("look", "change"))), "")
        kind = last.partition("_")[0]
        said = [results.get(name, "") for name in made if name.rpartition("_")[0] == last.rpartition("_")[0]]
        if kind == "change" and not any(self.failed(each) for each in said):
            return ()
        if self.reads and (kind != "look" or self.unread()):
            return None
        shown = self.shown(said)
        return tuple(
            adapted(edit, self.sees(self.folder / edit.path))
            for edit in self.task.edits
            if not is_shown(edit.new, shown)
        )

    def calls(self, kind: str, uses: Uses) -> tuple[Call, ...]:
        """Calls with ids from which a later conversation shows what they were."""
        return tuple(Call(f"{kind}_{len(self.items)}_{index}", *use) for index, use in enumerate(uses))

    def shown(self, results: Sequence[str]) -> str:
        """What the model sees of the files: the results of its last reads."""
        return "\n".join(results)

    def unread(self) -> Sequence[str]:
        """Files that the model has asked for and not got."""
        return ()

    def failed(self, result: str) -> bool:
        """Whether the result of an edit says that it was not made; none says so, too."""
        return not result or any(word in result.lower() for word in self.failures)

    def look(self, places: Sequence[Region]) -> Uses:
        """The tools that read."""
        raise NotImplementedError

    def change(self, edits: Sequence[Edit]) -> Answer:
        """An answer that edits."""
        raise NotImplementedError

    def run(self, command: str) -> tuple[str, Mapping[str, Any]]:
        """The tool that runs a command."""
        raise NotImplementedError

    def publish(self) -> Answer:
        """The answer that runs the task's command."""
        return Answer("", self.calls("run", [self.run(COMMAND)]))

    def end(self) -> Answer:
        """The last answer."""
        return Answer(END)


def is_shown(block: str, text: str) -> bool:
    """Whether lines stand in a text, one after the other, with or without numbers, and whatever follows in each."""
    wanted = [line.strip() for line in block.splitlines()]
    lines = [re.sub(r"^\s*\d+\t", "", line).strip() for line in text.splitlines()]
    return any(
        all(map(str.startswith, lines[at : at + len(wanted)], wanted))
        for at in range(len(lines) - len(wanted) + 1)
    )


def adapted(edit: Edit, text: str) -> Edit:
    """An edit for the text as it is, with what a person has typed at the end of the first of its old lines."""
    first, _, rest = edit.old.partition("\n")
    for line in text.splitlines():
        if line.startswith(first) and f"{line}\n{rest}" in text:
            head, _, tail = edit.new.partition("\n")
            typed = line.removeprefix(first)
            return Edit(path=edit.path, old=f"{line}\n{rest}", new=f"{head}{typed}\n{tail}")
    return edit
