"""A model without a memory: it believes every word of its prompt, and does what the prompt does not show as done."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence

from planloom.domain.values import Args
from planloom.models.offline.scripted import ScriptedModel, Turn, makes
from planloom.models.port import ModelEvent, ModelRequest

Wanted = tuple[str, Args]


class ObedientModel(ScriptedModel):
    """For each task, by its description, it makes the calls it is for, one a turn, and then says that it is done.

    A call counts as done if the last result of it in the prompt is a success, or if the user did not allow it.
    """

    def __init__(self, tasks: Mapping[str, Sequence[Wanted]]) -> None:
        super().__init__([])
        self.tasks = tasks
        self.prompts: list[str] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        prompt = "\n".join(message.text for message in request.messages)
        self.prompts.append(prompt)
        for event in self._turn(prompt).played(len(self.prompts)):
            yield event

    def _turn(self, prompt: str) -> Turn:
        task = next(name for name in self.tasks if f"CURRENT TASK\n{name}\n" in prompt)
        results = prompt.partition("TOOL RESULTS\n")[2].partition("\n\nINSTRUCTIONS")[0]
        for name, args in self.tasks[task]:
            if not _is_done(results, name, args):
                return makes((name, args))
        return makes(("task_completed", {"summary": f"Done: {task}"}))


def _is_done(results: str, name: str, args: Args) -> bool:
    head = re.escape(f"{json.dumps(args, sort_keys=True, ensure_ascii=False)}")
    found = list(re.finditer(rf"^{name} \[(SUCCESS|FAILED)\] {head}\n(.*)$", results, re.MULTILINE))
    if not found:
        return False
    return found[-1][1] == "SUCCESS" or "did not allow" in found[-1][2] or "denied" in found[-1][2]
