"""Models that work on the steps of a world: one looks at the workspace, the other believes every word it is told.

Both make one call a turn, or in half of the worlds all the changes of files that are left. `Careful` leaves out what
the workspace shows as done. `Obedient` goes by its prompt alone, which is what a weak model does: what the prompt says
was done it does not do, what it says was lost, or says nothing of, it does.

What a prompt says is read by `told_done`, the one place that knows the words of prompts:

- a line `<tool> [SUCCESS] <arguments>` of TOOL RESULTS; the arguments hold the effect's word;
- the same with `[FAILED]`, if the line after it says that the edit seems to be made already;
- a call in an assistant message of the conversation, and the tool message that answers it;
- a note that begins with `Already done`: `<tool>: <summary>` separated by semicolons, the summary naming the file
  (a command's need not, since a step of a world has one command).

Both take the name that a file has now from a failure that says it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, Literal

from planloom.models.offline.scripted import Turn, makes, says
from tests.campaigns.worlds import Effect, World
from tests.support.model_server import ScriptedServer

Mind = Literal["careful", "obedient"]
Look = Callable[[Effect], bool]
"""Whether the workspace shows an effect as made."""

_MARKER = re.compile(r"SCRIPT-\w+")
_RESULT = re.compile(r"^(\w+) \[(?:SUCCESS\] (.*)|FAILED\] (.*)\n.*made already)", re.MULTILINE)
_RENAMED = re.compile(r"There is no file (\S+): this plan has renamed it to (\S+)\.")
_NOTE = re.compile(r"^.*\balready done\b[^:\n]*: (.*)$", re.MULTILINE | re.IGNORECASE)


class ModelOfWorld(ScriptedServer):
    """An OpenAI-compatible server whose model writes the plan of a world and works on its steps."""

    def __init__(self, world: World, mind: Mind, look: Look) -> None:
        super().__init__(())
        self.world = world
        self.mind = mind
        self.look = look
        # By the name, so that what is drawn for a seed stays the same.
        self.at_once = sum(world.key.encode()) % 2 == 0

    def choose(self, body: Any) -> Turn:
        """The plan for a planner; for a step its next call, or that it is completed."""
        messages = body.get("messages", ())
        names = [tool["function"]["name"] for tool in body.get("tools") or ()]
        text = "\n".join(_text(message) for message in messages)
        if "task_completed" not in names and "CURRENT TASK" not in text:
            return says(json.dumps(self.world.plan))
        current = text.rpartition("CURRENT TASK\n")[2].partition("\n\n")[0]
        marker = _MARKER.search(current)
        if marker is None:
            # A literal step that the orchestrator hands over: there is nothing that a model should add.
            return makes(("task_completed", {"summary": "There is nothing to add."}))
        left = [
            effect
            for effect in self.world.scripts[marker[0]]
            if not (self.mind == "careful" and self.look(effect)) and not told_done(messages, effect)
        ]
        if not left:
            return makes(("task_completed", {"summary": f"Did {marker[0]}"}))
        together = list(takewhile(lambda effect: effect.kind != "command", left)) if self.at_once else []
        names_now = dict(_RENAMED.findall(text))
        return makes(*((effect.tool, _placed(effect, names_now)) for effect in together or left[:1]))


def _placed(effect: Effect, names_now: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of a call, with the name that its file has now."""
    args = dict(effect.args)
    return args | {"path": names_now[args["path"]]} if args.get("path") in names_now else args


def told_done(messages: Any, effect: Effect) -> bool:
    """Whether the messages of a request say that an effect was made."""
    text = "\n".join(_text(message) for message in messages)
    if any(tool == effect.tool and _names(good or bad, effect) for tool, good, bad in _RESULT.findall(text)):
        return True
    for note in _NOTE.findall(text):
        for item in re.split(r"; |\. ", note):
            tool, _, summary = item.partition(": ")
            if tool.strip().rpartition(" ")[2] == effect.tool and _summarizes(summary, effect):
                return True
    return _answered(messages, effect)


def _answered(messages: Any, effect: Effect) -> bool:
    """Whether the conversation holds a call for the effect, and an answer to it that is no failure."""
    calls = {
        call["id"]
        for message in messages
        for call in message.get("tool_calls") or ()
        if call["function"]["name"] == effect.tool and _names(call["function"]["arguments"], effect)
    }
    return any(
        message.get("tool_call_id") in calls and "[FAILED]" not in _text(message)
        for message in messages
        if message.get("role") == "tool"
    )


def _names(arguments: str, effect: Effect) -> bool:
    word = effect.token if effect.token in json.dumps(dict(effect.args)) else str(effect.args.get("path"))
    return word in arguments


def _summarizes(summary: str, effect: Effect) -> bool:
    if effect.kind == "command":
        return True
    return str(effect.args["path"]).rpartition("/")[2] in summary


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""
