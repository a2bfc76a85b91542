"""The features of an editor in a plan's document: lenses, actions, symbols, folds, completions, links, hints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, get_args

from lsprotocol import types

from planloom.domain.document.answers import answers_in
from planloom.domain.document.feedback import feedback_in
from planloom.domain.document.fields import FIELDS
from planloom.domain.document.reader import Written, WrittenStep
from planloom.domain.document.top import Place
from planloom.domain.plans.plan import Plan, Priority, Step, StepKind
from planloom.domain.text.positions import Encoding, LineIndex, Position
from planloom.domain.text.units import width
from planloom.domain.values import Json, StepId
from planloom.lsp.plan_documents.offers import mends
from planloom.tools.registry import Registry, schema
from planloom.view import plan_view
from planloom.view.actions import ANSWER, Button, Situation, buttons
from planloom.view.states import Around
from planloom.view.step.steps import StepView
from planloom.view.words import Words
from planloom.workspace.paths.roots import Root

_TYPED: Final = re.compile(r" {2}[-*+] ([a-z ]*)(:? *)(.*)")
_ARGUMENT: Final = re.compile(r" {4,}[-*+] (\w*)")
_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "agent": ("code", "strategy", "operations"),
    "priority": get_args(Priority),
    "critical": ("yes", "no"),
    "kind": tuple(each.replace("_", " ") for each in get_args(StepKind)),
    "check": ("file exists: ", "command: ", "no new errors"),
}
_ABOUT: Final = {
    "tool": "the tool that this step calls, with its arguments below",
    "arguments": "all arguments as one JSON object",
    "after": "the steps that this one waits for",
    "agent": "who works on it",
    "question": "what you are asked before the step goes on",
    "check": "what must hold when the step is done",
    "files": "the files that it is to change",
    "critical": "whether the plan stops when it fails",
}
_KINDS: Final = types.CompletionItemKind


@dataclass(frozen=True)
class View:
    """A document as the editor has it, and the plan that it shows. Its files are those of `folder`.

    `words` are those of the user's language. `asks_trust`: the user has yet to say that they trust the folders.
    `moved_on`: the text is of an older version.
    """

    uri: str
    text: str
    written: Written
    plan: Plan
    encoding: Encoding
    folder: Root | None
    tools: Registry
    asks_trust: bool = False
    moved_on: bool = False
    words: Words = field(default_factory=Words)

    @cached_property
    def index(self) -> LineIndex:
        """The lines of the text."""
        return LineIndex(self.text)

    @cached_property
    def shown(self) -> dict[str | None, StepView]:
        """The steps of the plan as people see them, by their ids."""
        seen = plan_view.view(self.plan, Around(self.words))
        return {each.step.step_id: each for each in seen.steps}

    def step(self, written: WrittenStep) -> Step | None:
        """The step of the plan that stands here."""
        return None if written.step_id is None else self.plan.step(StepId(written.step_id))


def range_of(index: LineIndex, place: Place, encoding: Encoding) -> types.Range:
    """A place as the editor counts it."""
    start = index.line_start(place.line)
    ends = (width(index.text, start, start + offset, encoding) for offset in (place.start, place.end))
    return types.Range(*(types.Position(place.line, each) for each in ends))


def lenses(view: View, _params: types.CodeLensParams) -> list[types.CodeLens]:
    """A lens for each thing that can be done, above the plan's title or above its step."""
    index = view.index
    return [
        types.CodeLens(range_of(index, place, view.encoding), command=command_of(button))
        for button, place in _placed(view)
    ]


def actions(view: View, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The lenses of the lines that are asked for as actions, and the mends of the diagnostics there."""
    found = mends(view.uri, params.context.diagnostics, view.words)
    found += _answers(view, params.range)
    here = _step_at(view, params.range.start.line)
    for button, _ in _placed(view):
        if button.step_id is None or (here is not None and button.step_id == here.step_id):
            found.append(types.CodeAction(f"Planloom: {button.title}", command=command_of(button)))
    return found


def _answers(view: View, span: types.Range) -> Iterator[types.CodeAction]:
    """The actions that take the selection as the answer to a question without options."""
    start, end = (_at(view, each) for each in (span.start, span.end))
    answer = view.text[start:end].strip()
    for question in view.plan.pending.questions if answer else ():
        if not question.options:
            arguments: list[Json] = [view.plan.plan_id, question.step_id, answer]
            title = view.words(ANSWER)
            command = types.Command(title, "planloom.answer", arguments=arguments)
            yield types.CodeAction(f"Planloom: {title}", command=command)


def symbols(view: View, _params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    """The steps, each with its state."""
    index, t = view.index, view.words
    return [
        types.DocumentSymbol(
            name=str(each.values["description"]) or t("(empty)"),
            detail=shown.words if (shown := view.shown.get(each.step_id)) is not None else t("new"),
            kind=types.SymbolKind.Event,
            range=_whole(index, each, view.encoding),
            selection_range=range_of(index, each.places[""], view.encoding),
        )
        for each in view.written.steps
    ]


def folds(view: View, _params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    """Each step folds to its first line."""
    return [
        types.FoldingRange(start_line=each.places[""].line, end_line=each.last)
        for each in view.written.steps
        if each.last > each.places[""].line
    ]


def completions(view: View, params: types.CompletionParams) -> list[types.CompletionItem]:
    """Fields, tools, arguments, ids of steps and the words that a field takes, where one is being typed."""
    at, tools = params.position, view.tools
    line = view.index.line_text(at.line)
    units = LineIndex(line)
    before = line[: _offset(units, at.character, view.encoding)]
    here = _step_at(view, at.line)
    if here is None:
        return []
    argument = _ARGUMENT.fullmatch(before)
    if argument is not None:
        return _argument_items(tools, here)
    typed = _TYPED.fullmatch(before)
    if typed is None:
        return []
    name, colon, _ = typed.groups()
    if not colon.strip():
        return [
            types.CompletionItem(f"{field}: ", kind=_KINDS.Field, detail=_ABOUT.get(field))
            for field in FIELDS
        ]
    match name.strip():
        case "tool":
            return [
                types.CompletionItem(tool.name, kind=_KINDS.Function, detail=tool.description)
                for tool in tools
            ]
        case "after":
            return [
                types.CompletionItem(
                    each.step_id, kind=_KINDS.Reference, detail=str(each.values["description"])
                )
                for each in view.written.steps
                if each.step_id is not None and each is not here
            ]
        case word:
            return [types.CompletionItem(each, kind=_KINDS.EnumMember) for each in _WORDS.get(word, ())]


def hints(view: View, _params: types.InlayHintParams) -> list[types.InlayHint]:
    """How long a step took, or what it waits for."""
    index = view.index
    found = []
    for each in view.written.steps:
        if label := _hint(view, view.shown.get(each.step_id)):
            end = range_of(index, each.places[""], view.encoding).end
            last = types.Position(
                end.line, index.position(_line_end(index, end.line), view.encoding).character
            )
            found.append(types.InlayHint(last, label, padding_left=True))
    return found


def links(view: View, _params: types.DocumentLinkParams) -> list[types.DocumentLink]:
    """The files that are there, of those that the plan names."""
    folder = view.folder
    if folder is None:
        return []
    return [
        types.DocumentLink(range_of(view.index, place, view.encoding), f"{folder.uri}/{name}")
        for place, name in _file_places(view)
        if (folder.path / name).is_file()
    ]


def _file_places(view: View) -> Iterator[tuple[Place, str]]:
    """The places of names of files, with the names."""
    index = view.index
    for each in view.written.steps:
        for name, place in each.places.items():
            said = index.line_text(place.line)[place.start : place.end]
            if name in ("args.path", "args.source", "args.destination") and said:
                yield place, said
            elif name == "files":
                for match in re.finditer(r"[^,\s][^,]*", said):
                    start = place.start + match.start()
                    yield Place(place.line, start, start + len(match[0].rstrip())), match[0].rstrip()


def _placed(view: View) -> Iterator[tuple[Button, Place]]:
    top = Place(view.written.title_line, 0, 0)
    places = {each.step_id: each.places[""] for each in view.written.steps}
    feedback = tuple(dict.fromkeys(each.step_id for each in feedback_in(view.written)))
    answers = answers_in(view.written)
    for button in buttons(
        Situation(view.plan, feedback, answers, view.asks_trust, view.moved_on, words=view.words)
    ):
        place = places.get(button.step_id) if button.step_id is not None else None
        yield button, place or top


def command_of(button: Button) -> types.Command:
    """The command of an action, as LSP has it."""
    return types.Command(title=button.title, command=button.command, arguments=list(button.arguments))


def _step_at(view: View, line: int) -> WrittenStep | None:
    return next(
        (
            each
            for each in reversed(view.written.steps)
            if each.places[""].line <= line <= max(each.last + 1, line)
        ),
        None,
    )


def _whole(index: LineIndex, each: WrittenStep, encoding: Encoding) -> types.Range:
    end = index.position(_line_end(index, each.last), encoding)
    return types.Range(types.Position(each.places[""].line, 0), types.Position(end.line, end.character))


def _line_end(index: LineIndex, line: int) -> int:
    return index.line_start(line) + len(index.line_text(line))


def _offset(line: LineIndex, character: int, encoding: Encoding) -> int:
    return line.offset(Position(line=0, character=character), encoding)


def _at(view: View, place: types.Position) -> int:
    return view.index.offset(Position(line=place.line, character=place.character), view.encoding)


def arguments_of(found: dict[str, Json]) -> Iterable[tuple[str, str]]:
    """The arguments of a tool by its schema, each with what it is for."""
    properties = found.get("properties")
    for name, each in properties.items() if isinstance(properties, dict) else ():
        yield name, str(each.get("description", "")) if isinstance(each, dict) else ""


def _argument_items(tools: Registry, here: WrittenStep) -> list[types.CompletionItem]:
    tool = tools.get(str(here.values.get("tool")))
    if tool is None:
        return []
    given = here.values.get("args") or {}
    return [
        types.CompletionItem(f"{name}: ", kind=_KINDS.Property, detail=about)
        for name, about in arguments_of(schema(tool.arguments))
        if name not in given
    ]


def _hint(view: View, shown: StepView | None) -> str | None:
    """How long a step took; or the decision, the other step's resource, or the steps that it waits for."""
    if shown is None:
        return None
    if shown.worked_ms is not None and shown.step.status in ("completed", "failed") and shown.waits is None:
        return view.words.duration(shown.worked_ms)
    if shown.waits is not None or shown.stalled is not None:
        return shown.words
    if shown.position is not None or view.plan.status not in ("executing", "paused"):
        return shown.position
    steps = (view.plan.step(each) for each in shown.step.depends_on)
    left = [each.step_id for each in steps if each is not None and not each.frees_dependents]
    return view.words("waits for {0}", ", ".join(left)) if left and shown.step.result is None else None
