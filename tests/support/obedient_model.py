"""A model without a memory: it believes every word of its prompt, and does what the prompt does not show as done."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

from planloom.domain.values import Args
from planloom.models.offline.scripted import ScriptedModel, Turn, makes
from planloom.models.port import Message, ModelEvent, ModelRequest

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
        prompt = "\n".join(_shown(request.messages))
        self.prompts.append(prompt)
        for event in self._turn(prompt).played(len(self.prompts)):
            yield event

    def _turn(self, prompt: str) -> Turn:
        current = prompt.rpartition("CURRENT TASK\n")[2]
        task = next(name for name in self.tasks if current.startswith(f"{name}\n"))
        for name, args in self.tasks[task]:
            if not _is_done(current, name, args):
                return makes((name, args))
        return makes(("task_completed", {"summary": f"Done: {task}"}))


def _shown(messages: Sequence[Message]) -> Iterator[str]:
    """The text of each message; a result in a conversation as a prompt of one message shows it."""
    calls = {call.call_id: call for message in messages for call in message.tool_calls}
    for message in messages:
        call = calls.get(message.tool_call_id) if message.tool_call_id is not None else None
        if call is None:
            yield message.text
            continue
        failed = message.text.startswith("[FAILED] ")
        text = message.text.removeprefix("[FAILED] ")
        args = json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)
        yield f"{call.name} [{'FAILED' if failed else 'SUCCESS'}] {args}\n{text}"


def _is_done(prompt: str, name: str, args: Args) -> bool:
    head = re.escape(f"{json.dumps(args, sort_keys=True, ensure_ascii=False)}")
    found = list(re.finditer(rf"^{name} \[(SUCCESS|FAILED)\] {head}\n(?:`+\n)?(.*)$", prompt, re.MULTILINE))
    if not found:
        return False
    return found[-1][1] == "SUCCESS" or "did not allow" in found[-1][2] or "denied" in found[-1][2]
