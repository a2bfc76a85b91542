"""The conversation with a model about one task: what it is sent each turn, and what it has answered.

A provider that takes tools gets an append-only conversation: the sections of the task, then the model's own messages
and every result under its call. A section is sent again only when its text has changed. Any other provider gets one
message a turn, with the same sections and results written anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from planloom.agent.answer import Malformed, Turn, call_key
from planloom.agent.answer_decoder import ToolCallMode, turn_request
from planloom.agent.prompt_frame import framed
from planloom.agent.prompts import Brief, CallFate, Section, ToolNote, tool_result, tool_results
from planloom.agent.result_budget import beginning, bounded
from planloom.agent.toolcalls.shapes import CONTROL
from planloom.domain.values import CallId, Sha256, StepId, Uri
from planloom.models.port import Image, Message, ModelRequest, ToolCall, ToolSpec
from planloom.tools.tool import ToolResult

ARGS_SHOWN = 200
"""Most characters of a call's arguments in a prompt that is written anew; a native conversation has them whole."""
_INSTRUCTIONS = "INSTRUCTIONS"
_ACCEPTED = "Done."
_ASKED = "The user has answered: see CURRENT TASK."
FAILED = "[FAILED]"
"""The beginning of a failed call's result."""
_NOT_COUNTED = f"{FAILED} It does not count. Call it when the CURRENT TASK is done."
_NOT_RUN = f"{FAILED} It was not run. Make the call again if the CURRENT TASK needs it."
_IMAGES_FOLLOW = "(Its images come with the next message.)"
_NO_IMAGES = "(Its images are not shown, since you take none.)"
_IMAGES = "These are the images of the results, in their order."
_MOST_IMAGES = 8
"""The newest images of results that are sent with a request."""


class ContextWindow(Protocol):
    """Keeps prompts within the model's context. All sizes are in tokens."""

    @property
    def room(self) -> int:
        """The largest request that is sent as it is; a longer conversation is compacted first."""
        ...

    def size(self, request: ModelRequest) -> int:
        """The size of a whole request."""
        ...

    def text(self, text: str) -> int:
        """The size of a text."""
        ...

    def learn(self, request: ModelRequest, prompt_tokens: int) -> None:
        """Correct the sizes by the server's count for a request."""
        ...

    def overflowed(self, request: ModelRequest, limit: int | None) -> None:
        """Take note that a request was refused as too long, by a model that takes `limit` tokens if that is known."""
        ...

    async def fit(self, results: Sequence[ToolNote]) -> Sequence[ToolNote]:
        """The results to show in a prompt that is written anew. Those left out, and older tasks, are summarized."""
        ...

    async def summarize(self, notes: Sequence[str]) -> None:
        """Add to the summary that later sections show."""
        ...


class Ahead(NamedTuple):
    """The rest of an answer that has ended a task: the model's work on the first of the tasks in `steps`.

    These were the tasks to come of that `version` of the plan when the model wrote the answer. `messages` is how many
    of the user's messages the model had been sent by then.
    """

    turn: Turn
    steps: tuple[StepId, ...]
    version: int
    messages: int


class Thread(NamedTuple):
    """A native conversation that a later task of the plan can continue.

    `sent` has the sections by name as they were last sent, without those of one run of a task; `open` the calls of
    the model that have no result yet, by the ids that the model gave them; `steps` the tasks that were worked on in
    it; `ahead` what the model has written for the next task; `seen` the hashes of the texts that were read in it;
    `planned` the version of the plan that was submitted in it, None if it does not show the planning; `calls_natively`
    says that the model has made a native call in it.
    """

    messages: tuple[Message, ...] = ()
    sent: Mapping[str, Section] = MappingProxyType({})
    open: Mapping[CallId, ToolCall] = MappingProxyType({})
    steps: frozenset[StepId] = frozenset()
    ahead: Ahead | None = None
    seen: Mapping[Uri, Sha256] = MappingProxyType({})
    planned: int | None = None
    calls_natively: bool = False


NEW_THREAD = Thread()


class Conversation:
    """One task's conversation. It continues `thread`; `results` are those of earlier, interrupted runs of the task.

    `fate_of` returns what has become of a call's changes. A result says it as of the time when it is sent. Images of
    results go to a model that `sees` them.
    """

    def __init__(
        self,
        window: ContextWindow,
        thread: Thread = NEW_THREAD,
        results: Sequence[ToolNote] = (),
        fate_of: Callable[[CallId], CallFate] = lambda _: CallFate(),
        *,
        sees: bool = False,
    ) -> None:
        self.window = window
        self.steps = thread.steps
        self._planned = thread.planned
        self.calls_natively = thread.calls_natively
        self.last_note = ""
        self.is_native = True
        self._messages = list(thread.messages)
        self._sent = dict(thread.sent)
        self._open = dict(thread.open)
        self.ahead = thread.ahead
        self._earlier = tuple(results)
        self._results = list(results)
        self._notes: list[str] = []
        self._fate_of = fate_of
        self._unsent: dict[int, ToolNote] = {}
        self._sees = sees
        self._images: tuple[Image, ...] = ()

    @property
    def thread(self) -> Thread:
        """The conversation so far."""
        sent = {name: section for name, section in self._sent.items() if not section.of_run}
        still_open = MappingProxyType(dict(self._open))
        thread = Thread(tuple(self._messages), MappingProxyType(sent), still_open, self.steps, self.ahead)
        return thread._replace(planned=self._planned, calls_natively=self.calls_natively)

    def has_shown(self, text: str) -> bool:
        """Whether the text stands in a message, or in the arguments of a call of the model."""
        as_json = json.dumps(text, ensure_ascii=False)[1:-1]
        return any(
            text in message.text
            or any(as_json in json.dumps(call.arguments, ensure_ascii=False) for call in message.tool_calls)
            for message in self._messages
        )

    def tell(self, note: str) -> None:
        """Say something in the next request: in the answer to the model's control call, if it made one."""
        self._notes.append(framed(note))
        self.last_note = note

    def add_failure(self, what: str, text: str) -> None:
        """Say that something failed that no call shows; a prompt that is written anew keeps it among the results."""
        self._results.append(ToolNote(name=what, args="", ok=False, text=text))
        self.tell(text)

    def add_answer(self, turn: Turn) -> None:
        """Add the model's answer. Its calls keep their ids, unless the conversation has used them already."""
        if not self.is_native:
            return
        self.calls_natively = self.calls_natively or turn.native
        used = {call.call_id for message in self._messages for call in message.tool_calls}
        self._open = {}
        for call in turn.made:
            call_id = f"{call.call_id}_{len(self._messages)}" if call.call_id in used else call.call_id
            self._open[call.call_id] = call.model_copy(update={"call_id": CallId(call_id)})
        calls = tuple(self._open.values())
        # No provider takes a message without content.
        text = turn.text if turn.text.strip() or calls else "…"
        self._messages.append(
            Message(role="assistant", text=text, reasoning=turn.reasoning, tool_calls=calls)
        )

    def add_result(self, call: ToolCall, result: ToolResult, *, remark: str = "") -> None:
        """Add the result of a call; `remark` is a sentence for the model after it."""
        text = f"{result.text}\n{remark}" if remark else result.text
        if result.images:
            text += f"\n{_IMAGES_FOLLOW if self._sees else _NO_IMAGES}"
            self._images = (*self._images, *result.images)[-_MOST_IMAGES:] if self._sees else ()
        note = ToolNote(name=call.name, args=_args(call), ok=result.ok, text=text, call_id=result.call_id)
        self._results.append(note)
        # A command that ran to its end has not failed, whatever its exit code: the model judges it.
        is_result = result.ok or result.ended
        is_open = call.call_id in self._open
        self._answer(call.call_id, text if is_result else f"{FAILED} {text}", tool_result(note))
        if is_open and result.ok:
            self._unsent[len(self._messages) - 1] = note
            self.tell_fates()

    def accept(self, name: str) -> None:
        """Answer the call by which the model has ended its task; an end that does not count never gets this answer."""
        end = next((call_id for call_id, call in self._open.items() if call.name == name), None)
        if end is not None:
            self._answer(end, _ACCEPTED, _ACCEPTED)

    def add_malformed(self, call: Malformed) -> None:
        """Say why a call cannot be run."""
        text = f"Not run: {call.problem}."
        self._results.append(ToolNote(name=call.name, args=call.text[:ARGS_SHOWN], ok=False, text=text))
        written = f" You wrote:\n{call.text}" if call.text else ""
        answer = f"{FAILED} {text}{written}"
        self._answer(call.call_id, answer, framed(answer))

    def _answer(self, call_id: CallId, text: str, note: str) -> None:
        """Answer the model's call by the text; what is no call of its message is answered by the note."""
        call = self._open.pop(call_id, None)
        if call is not None:
            self._messages.append(Message(role="tool", text=text, tool_call_id=call.call_id))
        elif self.is_native:
            self._notes.append(note)

    def _with_fate(self, note: ToolNote) -> ToolNote:
        """The note with what has become of the call's changes by now."""
        if note.call_id is None:
            return note
        return note._replace(fate=self._fate_of(note.call_id))

    def tell_fates(self) -> None:
        """Write into the results that are not sent yet what has become of the calls' changes."""
        for index, note in self._unsent.items():
            now = self._with_fate(note)
            text = now.shown if now.stands else f"{FAILED} {now.shown}"
            if text != self._messages[index].text:
                self._messages[index] = self._messages[index].model_copy(update={"text": text})

    async def request(
        self, mode: ToolCallMode, brief: Callable[[], Brief], tools: Sequence[ToolSpec]
    ) -> ModelRequest:
        """The next request. `brief` is asked again after a compaction, which changes the summary in it."""
        self.is_native = mode == "native"
        if not self.is_native:
            self._messages, self._sent, self._open, self._unsent = [], {}, {}, {}
            return await self._written_anew(mode, brief, tools)
        self.tell_fates()
        self._unsent = {}
        self._answer_open_calls()
        await self.window.fit(())
        now = brief()
        self._add_user_message(now)
        request = self._native(now.system, tools)
        if self.window.size(request) > self.window.room:
            await self._compact(brief, lambda: self.window.size(self._native(now.system, tools)))
            request = self._native(now.system, tools)
        return request

    async def _written_anew(
        self, mode: ToolCallMode, brief: Callable[[], Brief], tools: Sequence[ToolSpec]
    ) -> ModelRequest:
        self._results = list(await self.window.fit([self._with_fate(note) for note in self._results]))
        now = brief()
        parts = [section.shown for section in now.sections]
        if self._results:
            parts.append(tool_results(self._results).shown)
        parts.append("\n".join([_INSTRUCTIONS, *self._notes, now.instructions]))
        self._notes = []
        # Each of these requests stands alone.
        images = (*(image for section in now.sections for image in section.images), *self._images)
        system = f"{now.system}\n\n{now.rules.shown}" if now.rules.text else now.system
        return turn_request(mode, system, "\n\n".join(parts), tools, images)

    def _native(self, system: str, tools: Sequence[ToolSpec]) -> ModelRequest:
        return ModelRequest(
            messages=(Message(role="system", text=system), *self._messages), tools=tuple(tools)
        )

    def _answer_open_calls(self) -> None:
        """Give every call a result, as all providers demand. The notes answer the first control call."""
        for call in self._open.values():
            if call.name not in CONTROL:
                text = _NOT_RUN
            elif self._notes:
                text, self._notes = "\n".join(self._notes), []
            else:
                text = _ASKED if call.name == "ask_user" else _NOT_COUNTED
            self._messages.append(Message(role="tool", text=text, tool_call_id=call.call_id))
        self._open = {}

    def _add_user_message(self, brief: Brief) -> None:
        """Send the sections that are new or have changed, with the notes and what to do now."""
        sections = list(brief.sections)
        if self._earlier:
            sections.append(tool_results(self._earlier))
        sections += [brief.rules] if brief.rules.text else []
        changed = [section for section in sections if self._sent.get(section.name) != section]
        parts = [section.since(self._sent.get(section.name)) for section in changed]
        self._sent.update((section.name, section) for section in changed)
        instructions = Section(_INSTRUCTIONS, brief.instructions, of_run=True)
        # After words of the model there must be a message that it answers.
        is_answerable = bool(self._messages) and self._messages[-1].role != "assistant"
        repeats = is_answerable and not changed and self._sent.get(_INSTRUCTIONS) == instructions
        self._notes += [_IMAGES] if self._images else []
        if repeats and not self._notes:
            return
        self._sent[_INSTRUCTIONS] = instructions
        lines = "\n".join([*self._notes, *([] if repeats else [brief.instructions])])
        self._notes = []
        parts.append(f"{_INSTRUCTIONS}\n{lines}" if changed else lines)
        images = (*(image for section in changed for image in section.images), *self._images)
        self._images = ()
        self._messages.append(Message(role="user", text="\n\n".join(parts), images=images))

    async def _compact(self, brief: Callable[[], Brief], size: Callable[[], int]) -> None:
        """Make room: shorten old results first, then summarize old turns. What was not seen yet is kept.

        `size` is that of the next request, in tokens.
        """
        newest = self._newest_turn()
        if newest is None:
            return
        for index in range(newest):
            message = self._messages[index]
            text = beginning(message.text) if message.role == "tool" else message.text
            if text != message.text:
                self._messages[index] = message.model_copy(update={"text": text})
                if size() <= self.window.room // 2:
                    return
        if size() > self.window.room:
            await self._summarize(newest, brief)
        if size() > self.window.room:
            self._bound_newest(size)

    def _newest_turn(self) -> int | None:
        """The index of the model's newest message; None if there is none."""
        found = (
            index
            for index in reversed(range(len(self._messages)))
            if self._messages[index].role == "assistant"
        )
        return next(found, None)

    async def _summarize(self, newest: int, brief: Callable[[], Brief]) -> None:
        """Move all turns but the newest into the summary, and begin again with every section."""
        calls = {call.call_id: call for message in self._messages for call in message.tool_calls}
        notes: list[str] = []
        for message in self._messages[:newest]:
            if message.role == "assistant" and message.text.strip():
                notes.append(message.text)
            elif message.role == "tool" and message.tool_call_id is not None:
                call = calls.get(message.tool_call_id)
                notes.append(f"{call.name} {_args(call)}: {message.text}" if call else message.text)
        kept = self._messages[newest:]
        self._messages, self._sent, self.steps, self._planned = [], {}, frozenset(), None
        if notes:
            await self.window.summarize(notes)
        self._add_user_message(brief())
        self._messages += kept

    def _bound_newest(self, size: Callable[[], int]) -> None:
        """Cut new results that alone do not fit, and say in them how to get the rest."""
        results = [index for index, message in enumerate(self._messages) if message.role == "tool"]
        texts = [self._messages[index].text for index in results]
        frame = size() - sum(map(self.window.text, texts))
        share = max(100, (self.window.room - frame) // max(1, len(results)))
        for index, text in zip(results, texts, strict=True):
            cut = bounded(text, share, self.window.text)
            self._messages[index] = self._messages[index].model_copy(update={"text": cut})


def _args(call: ToolCall) -> str:
    args = call_key(call).removeprefix(f"{call.name} ")
    return args if len(args) <= ARGS_SHOWN else args[:ARGS_SHOWN] + "…"
