"""Asks a model for tool calls and decodes its answer, in one of three modes: native, JSON object, or plain text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

from planloom.agent.answer import REPORTS, Malformed, Turn, readable, turn_of
from planloom.agent.call_schema import bounded, call_variants, closed, definitions
from planloom.agent.fenced_files import FENCED_FORM, fenced_files
from planloom.agent.toolcalls.events import CallRead, CallsRead, ReaderEvent
from planloom.agent.toolcalls.offered_tools import decoded, native_call
from planloom.agent.toolcalls.reader import CallReader, gathered
from planloom.agent.toolcalls.shapes import ANSWER_KEYS, BESIDE, CONTROL, control_calls, listed_calls
from planloom.domain.model_text.lenient_json import Unreadable as BrokenJson
from planloom.domain.model_text.lenient_json import read_container
from planloom.domain.values import Args, CallId, Json
from planloom.models.http.json_text import Unreadable, object_of, read_arguments, read_object
from planloom.models.port import Capabilities, Image, Message, ModelRequest, ToolCall, ToolSpec
from planloom.models.tool_lines import LEGEND, tool_line

ToolCallMode = Literal["native", "json", "text"]
MAX_CALLS = 8
"""Calls in one answer that follows the JSON schema; without a limit weak models never stop."""
_SHOWN = 500
_TEXTS = {"task_completed": 1_000, "final_answer": 20_000, "ask_user": 600}
"""The fields of an answer that are one text, each with its most characters."""
_OF_WORDS = ANSWER_KEYS - {*REPORTS}
"""The fields of an answer that makes no call but the end of its task or a question."""
_LONGEST_REASONING = 600
_PRINTED = "it is written as text: make the call itself"
_SHORT: Json = {"type": "string", "maxLength": 4_000}


def mode_of(can: Capabilities) -> ToolCallMode:
    """The most reliable mode that the model supports."""
    return "native" if can.tools else "json" if can.json_schema else "text"


def turn_request(
    mode: ToolCallMode,
    system: str,
    prompt: str,
    tools: Sequence[ToolSpec],
    images: tuple[Image, ...] = (),
) -> ModelRequest:
    """One turn's request. The answer format is explained in the system message, so that prefix caches hit."""
    question = Message(role="user", text=prompt, images=images)
    if mode == "native":
        return _request(system, question, tools=tuple(tools))
    if mode == "json":
        return _request(f"{system}\n\n{_object_form(tools)}", question, schema=answer_schema(tools))
    forms = [_TEXT_FORM, FENCED_FORM] if any(tool.name == "write_file" for tool in tools) else [_TEXT_FORM]
    return _request("\n".join([f"{system}\n", *forms, _listed(tools)]), question)


_TEXT_FORM = (
    'To call a tool, write a JSON object of the form {"name": "...", "arguments": {...}} on a line of its own, '
    "one for each call, and nothing after the last one."
)


def _object_form(tools: Sequence[ToolSpec]) -> str:
    """The fields of an answer that the schema constrains, and the tools."""
    calls = [tool for tool in tools if tool.name not in CONTROL]
    lines = ["Answer with one JSON object alone. Leave out the fields that do not apply:"]
    if calls:
        lines.append("- tool_calls: The calls to make now, in order: each its name, its arguments beside it.")
    for tool in tools:
        if tool.name in CONTROL:
            lines.append(f"- {tool.name}: {tool.description}" if tool.name in _TEXTS else tool_line(tool))
    lines.append("- reasoning: Why you do this next, in a sentence.")
    return "\n".join([*lines, *([_listed(calls)] if calls else [])])


def _request(
    system: str, question: Message, *, tools: tuple[ToolSpec, ...] = (), schema: dict[str, Json] | None = None
) -> ModelRequest:
    messages = (Message(role="system", text=system), question)
    return ModelRequest(messages=messages, tools=tools, response_schema=schema)


def _listed(tools: Sequence[ToolSpec]) -> str:
    return "\n".join([f"The tools. {LEGEND}", *map(tool_line, tools)]) if tools else ""


def answer_schema(tools: Sequence[ToolSpec]) -> dict[str, Json]:
    """The JSON schema of an answer: names and types alone, since the prompt says what each is for."""
    calls = call_variants(tool for tool in tools if tool.name not in CONTROL)
    named = {tool.name: tool for tool in tools if tool.name in CONTROL}
    properties: dict[str, Json] = {"reasoning": {"type": "string", "maxLength": _LONGEST_REASONING}}
    if calls:
        properties["tool_calls"] = {"type": "array", "maxItems": MAX_CALLS, "items": {"anyOf": calls}}
    for name, most in _TEXTS.items():
        if name not in named:
            continue
        properties[name] = {"type": "string", "maxLength": most}
        of_words = object_of(named[name].parameters.get("properties"))
        beside = (each for each in BESIDE.get(name, ()) if each in of_words)
        properties |= {each: bounded(of_words[each], _SHORT) for each in beside}
    reports = [name for name in REPORTS if name in named]
    properties |= {name: bounded(named[name].parameters, _SHORT) for name in reports}
    return {**closed(properties, ["tool_calls"] if calls else reports), "$defs": definitions()}


def checked_call(call: ToolCall, tools: Sequence[ToolSpec]) -> ToolCall | Malformed:
    """A native call after the checks that printed calls pass; the tool runner answers one of an unknown tool."""
    read = native_call(call.name, call.arguments, tools)
    if isinstance(read, CallRead):
        if (read.name, read.arguments) == (call.name, call.arguments):
            return call
        return call.model_copy(update={"name": read.name, "arguments": read.arguments})
    if read.cause == "unknown_tool":
        return call
    return Malformed(call_id=call.call_id, name=call.name, text=read.text, problem=read.problem)


class StreamChunk(NamedTuple):
    """The parts of a piece of text to show the user."""

    visible: str = ""
    reasoning: str = ""


class AnswerDecoder:
    """Decodes one answer as it streams: `feed` its text, then call `turn` once. No input raises.

    `tools` are those whose calls are read. With `fallback`, calls that the model prints as text are read in the other
    modes too. A model that is `native_only` quotes what it prints: only the end of its task is read there.
    """

    def __init__(
        self, mode: ToolCallMode, tools: Sequence[ToolSpec], *, fallback: bool, native_only: bool = False
    ) -> None:
        self._mode = mode
        self.tools = readable(tools)
        self._native_only = native_only
        self._fallback = fallback or mode == "text"
        self._text: list[str] = []
        self._events: list[ReaderEvent] = []
        self._reader: CallReader | None = None
        self._held: list[str] = []
        self._has_shown = False

    def feed(self, delta: str) -> StreamChunk:
        """Add text. Returns what to show: not an answer in JSON mode, nor an object that may be the whole answer."""
        self._text.append(delta)
        if self._mode == "json":
            return StreamChunk()
        if not self._fallback:
            return StreamChunk(visible=delta)
        return self._add(self._opened().feed(delta))

    def restart(self) -> None:
        """Discard everything so far."""
        self._text.clear()
        self._events.clear()
        self._reader = None
        self._held.clear()
        self._has_shown = False

    def _opened(self) -> CallReader:
        """The reader of calls in text, from the first text on: an answer of native calls alone needs none."""
        if self._reader is None:
            names = CONTROL if self._native_only else {tool.name for tool in self.tools}
            self._reader = CallReader([tool for tool in self.tools if tool.name in names])
        return self._reader

    def _add(self, events: Sequence[ReaderEvent]) -> StreamChunk:
        self._events.extend(events)
        visible = "".join(event.text for event in events if event.kind == "text")
        reasoning = "".join(event.text for event in events if event.kind == "reasoning")
        return StreamChunk(self._shown(visible), reasoning)

    def _shown(self, text: str) -> str:
        """The part of visible text to show. `{"answer": …}` is held back until words follow it."""
        if self._held or (not self._has_shown and self._spoken(text)):
            self._held.append(text)
            # White space and the end of a fence do not tell whether words follow.
            if len(self._held) == 1 or not text.strip(" \t\r\n`"):
                return ""
            text = "".join(self._held)
            self._held.clear()
        self._has_shown = self._has_shown or bool(text.strip())
        return text

    def turn(self, calls: Sequence[ToolCall], malformed: Sequence[Malformed], *, cut: bool) -> Turn:
        """The whole answer. Printed calls count only if there are no native ones."""
        text = "".join(self._text)
        if self._mode == "json":
            turn = self._from_json(text, cut=cut)
            if turn is not None:
                return turn
        if not self._fallback:
            return turn_of(text, calls, malformed, cut=cut)
        if calls or malformed or self._native_only:
            return self._plain_answer(self._beside(calls, malformed, cut=cut))
        if self._mode == "text":
            turn = self._from_text(text, cut=cut)
        else:
            turn = _turn(self._read(whole=text if self._mode == "json" else None), cut=cut)
        return self._plain_answer(turn)

    def _beside(self, calls: Sequence[ToolCall], malformed: Sequence[Malformed], *, cut: bool) -> Turn:
        """Native calls with what the model has printed beside them: words, and the control fields of an answer."""
        read = self._read()
        made = {call.name for call in calls}
        ends = (each for each in read.calls if each.name in CONTROL and each.name not in made)
        printed = [_call(number, each.name, each.arguments) for number, each in enumerate(ends)]
        # A printed call that is the whole answer is no quotation.
        alone = () if calls or printed or read.visible_text.strip() else read.problems
        wrong = [*malformed, *(Malformed(name=each.name, text=each.text, problem=_PRINTED) for each in alone)]
        return turn_of(read.visible_text, (*calls, *printed), wrong, cut=cut)

    def _plain_answer(self, turn: Turn) -> Turn:
        """A text that is nothing but an answer in words as the calls it stands for: beside other words it may be data.

        Its last brace may be missing, which the end of an answer that was not cut shows.
        """
        if turn.made or any(each.text != turn.text for each in turn.malformed):
            return turn
        calls = self._spoken(turn.text, may_lack_end=not turn.cut)
        return turn_of("", calls, cut=turn.cut) if calls else turn

    def _spoken(self, text: str, *, may_lack_end: bool = True) -> list[ToolCall]:
        """The calls of an object of words such as `{"answer": …}` that a text consists of; none if it is another."""
        body = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
        if not body.startswith("{"):
            return []
        for whole in (body, body + "}") if may_lack_end else (body,):
            read = read_container(whole, 0)
            if not isinstance(read, BrokenJson) and not read.cut and read.end == len(whole):
                break
        else:
            return []
        if not read.value.keys() <= _OF_WORDS or read.value.get("tool_calls"):
            return []
        offered = {tool.name for tool in self.tools}
        found = [each for each in control_calls(read.value) if each.name in offered]
        return [_call(number, each.name, each.arguments) for number, each in enumerate(found)]

    def _read(self, whole: str | None = None) -> CallsRead:
        if whole is not None:
            self.restart()
            self._add(self._opened().feed(whole))
        if self._reader is None:
            return CallsRead()
        self._add(self._reader.close())
        return gathered(self._events)

    def _from_text(self, text: str, *, cut: bool) -> Turn:
        files = fenced_files(text) if any(tool.name == "write_file" for tool in self.tools) else None
        if files is None or not (files.written or files.cut):
            return _turn(self._read(), cut=cut)
        written: list[ToolCall] = [
            _call(number, "write_file", {"path": file.path, "content": file.content})
            for number, file in enumerate(files.written)
        ]
        rest = self._read(whole=files.rest)
        wrong = [
            Malformed(
                name="write_file", text=path, problem="the file's content was cut: its fence is not closed"
            )
            for path in files.cut
        ]
        return _turn(rest, cut=cut, before=written, wrong=wrong)

    def _from_json(self, text: str, *, cut: bool) -> Turn | None:
        """The answer as a JSON object; None if it is not one and is to be read as text instead."""
        read = read_object(text.strip())
        if isinstance(read, Unreadable) or not read.keys() & ANSWER_KEYS:
            if self._fallback:
                return None
            problem = "the answer was cut" if cut else "the answer is not the JSON object that was asked for"
            return turn_of("", (), (Malformed(name="answer", text=text[:_SHOWN], problem=problem),), cut=cut)
        calls, wrong = _calls_of(listed_calls(read))
        for each in control_calls(read):
            calls.append(_call(len(calls), each.name, each.arguments))
        return turn_of(str(read.get("reasoning") or ""), calls, wrong, cut=cut)


def _calls_of(listed: Json) -> tuple[list[ToolCall], list[Malformed]]:
    calls: list[ToolCall] = []
    wrong: list[Malformed] = []
    for entry in listed if isinstance(listed, list) else []:
        each = decoded(entry) if isinstance(entry, str) else entry
        name = each.get("name") if isinstance(each, dict) else None
        if not isinstance(each, dict) or not isinstance(name, str) or not name:
            shown = json.dumps(each, ensure_ascii=False)[:_SHOWN]
            wrong.append(Malformed(name="tool_calls", text=shown, problem="a call has no name"))
            continue
        arguments = read_arguments(_arguments_in(each))
        if isinstance(arguments, Unreadable):
            shown = json.dumps(each, ensure_ascii=False)[:_SHOWN]
            wrong.append(Malformed(name=name, text=shown, problem=f"the arguments: {arguments.problem}"))
        else:
            calls.append(_call(len(calls), name, arguments))
    return calls, wrong


def _arguments_in(call: dict[str, Json]) -> Json:
    """The arguments of a call: under a key of their own, or beside its name as the schema has them."""
    for key in ("arguments", "parameters"):
        if key in call:
            return call[key]
    return {key: value for key, value in call.items() if key != "name"}


def _turn(
    read: CallsRead,
    *,
    cut: bool,
    before: Sequence[ToolCall] = (),
    wrong: Sequence[Malformed] = (),
) -> Turn:
    calls = [*before]
    for each in read.calls:
        calls.append(_call(len(calls), each.name, each.arguments))
    problems = [
        *wrong,
        *(Malformed(name=each.name, text=each.text, problem=each.problem) for each in read.problems),
    ]
    return turn_of(read.visible_text, calls, problems, cut=cut)


def _call(number: int, name: str, arguments: Args) -> ToolCall:
    return ToolCall(call_id=CallId(f"text_{number + 1}"), name=name, arguments=arguments)
