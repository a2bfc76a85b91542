"""The scripted model: what it does next follows from the conversation that an agent shows it, and from nothing else.

It reads, edits, runs the command and ends. What the conversation shows as done it does not do again; a command that
was begun and whose end is not shown it looks for first; after an edit that failed it reads again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.agents.tasks import COMMAND, LEDGER, PUBLISHED, Edit, Region, Task, regions
from bench.agents.wire import Answer, Call, Item

GO_ON: Final = "Go on."
"""What a person says to an agent that is started again."""
DOUBT: Final = "may have run"
"""Words by which an agent says of the command that it was interrupted."""
CHECK: Final = f"cat {LEDGER}"
END: Final = "The change is made, and the command has run."


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

    def answer(self, body: Mapping[str, Any], items: Sequence[Item]) -> Answer:
        """The model's next answer."""
        turn = len(items)
        seen = [item for item in items if item.role != "model"]
        made = [item.call for item in items if item.role == "model" and item.call]
        results = {item.call: item.text for item in seen if item.call}
        if any(PUBLISHED in item.text for item in seen):
            return self.end(body, turn)
        if any(name.startswith("run") for name in made) or any(DOUBT in item.text for item in seen):
            checks = [results.get(name, "") for name in made if name.startswith("check")]
            if not checks:
                return Answer("", self.run(body, f"check_{turn}", CHECK))
            if any("one publication" in each for each in checks):
                return self.end(body, turn)
        wanted = self._wanted(made, results, seen)
        if wanted is None:
            return Answer("", self.look(body, f"look_{turn}", self.places))
        if wanted:
            return self.change(body, turn, wanted)
        return self.publish(body, turn)

    def _wanted(
        self, made: Sequence[str], results: Mapping[str, str], seen: Sequence[Item]
    ) -> tuple[Edit, ...] | None:
        """The edits that are not made yet, as far as the conversation shows; None if it must be looked for."""
        last = next((name for name in reversed(made) if name.startswith(("look", "change"))), "")
        kind, _, turn = last.partition("_")
        of_turn = f"{kind}_{turn.partition('_')[0]}"
        said = [results.get(name) for name in made if name.startswith(of_turn)]
        if kind == "change" and all(each is not None and not self.failed(each) for each in said):
            return ()
        if self.reads and kind != "look":
            return None
        shown = self.shown(seen, [each or "" for each in said])
        return tuple(self.adapted(edit) for edit in self.task.edits if not is_made(edit, shown))

    def adapted(self, edit: Edit) -> Edit:
        """The edit for the text as it is now, which the model has just read: a person's words in it are kept."""
        return adapted(edit, self.sees(self.folder / edit.path))

    def shown(self, items: Sequence[Item], results: Sequence[str]) -> str:
        """What the model sees of the files: the results of its last reads."""
        return "\n".join(results)

    def failed(self, result: str) -> bool:
        """Whether the result of an edit says that it was not made."""
        return any(word in result.lower() for word in self.failures)

    def look(self, body: Mapping[str, Any], name: str, places: Sequence[Region]) -> tuple[Call, ...]:
        """Calls that read, with ids that begin with the name."""
        raise NotImplementedError

    def change(self, body: Mapping[str, Any], turn: int, edits: Sequence[Edit]) -> Answer:
        """An answer that edits; the ids of its calls begin with `change_TURN`."""
        raise NotImplementedError

    def run(self, body: Mapping[str, Any], name: str, command: str) -> tuple[Call, ...]:
        """Calls that run a command."""
        raise NotImplementedError

    def publish(self, body: Mapping[str, Any], turn: int) -> Answer:
        """The answer that runs the task's command."""
        return Answer("", self.run(body, f"run_{turn}", COMMAND))

    def end(self, body: Mapping[str, Any], turn: int) -> Answer:
        """The last answer."""
        return Answer(END)


def is_made(edit: Edit, text: str) -> bool:
    """Whether a text shows that an edit is made."""
    return all(line in text for line in edit.added())


def adapted(edit: Edit, text: str) -> Edit:
    """An edit with what a person has typed at the end of the first of its old lines."""
    if edit.old in text:
        return edit
    first, _, rest = edit.old.partition("\n")
    for line in text.splitlines():
        if line.startswith(first) and f"{line}\n{rest}" in text:
            typed = line.removeprefix(first)
            head, _, tail = edit.new.partition("\n")
            return Edit(path=edit.path, old=f"{line}\n{rest}", new=f"{head}{typed}\n{tail}")
    return edit
