"""Plans a request by rules alone, without a model."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from itertools import count, groupby
from typing import NamedTuple

from planloom.domain.errors import ModelFailed
from planloom.domain.patterns import pattern
from planloom.domain.plans.attachments import Attachment
from planloom.domain.plans.outputs import escaped
from planloom.domain.plans.plan import Step
from planloom.domain.plans.validation import Problem, problems
from planloom.domain.text.counted import counted
from planloom.domain.values import AttachmentId, StepId
from planloom.planning.estimates import estimated_duration, overall_risk
from planloom.planning.port import PlanDrafted, PlannerEvent, PlanningRequest, StepDrafted
from planloom.planning.rules.calls import PREVIOUS, LiteralCall, literal_calls
from planloom.planning.rules.clauses import Part, is_plain, parts, tasks
from planloom.planning.rules.literals import (
    LINES,
    PLACEHOLDER,
    LiteralText,
    Masked,
    Names,
    mask,
    nothing_exists,
    written_path,
)
from planloom.planning.rules.translations import translations
from planloom.planning.wording import active_form, agent_for, capitalized, description_of
from planloom.tools.registry import READ_ONLY, Registry, argument_problems, builtin

_READING = frozenset(builtin().only(READ_ONLY).names())
_ASKED_OF_USER = pattern(
    r"(?:ask|confirm\s+with|check\s+with)\s+(?:me|us|the\s+user)\b(?:\s+(?:about|for|to\s+confirm|to\s+choose))?[,:]?\s*",
    re.IGNORECASE,
)
_FIRST_FILE = pattern(
    r"(?:(?:create|write|add|generate)|make\s+(?:a|an|the))\s+(?:(?:a|an|the|new|file)\s+)*"
    rf"(?P<path>@?{PLACEHOLDER}|[^\s,;{PLACEHOLDER}]*[\w-]\.[A-Za-z]\w{{0,7}})"
    r"(?=$|,|\s+(?:and|containing|for|from|in|that|using|which|with)\b)",
    re.IGNORECASE,
)
_DECISION = pattern(r"(?:which|what|where|when|who|whether|should|shall|do|does|is|are)\b", re.IGNORECASE)
_SHORT_LITERAL = 40


class RulesPlanner:
    """The planner that needs no model. `exists` says whether a path is in the workspace; `note` is a warning of every
    plan, for whoever reviews it.
    """

    def __init__(
        self, tools: Registry, exists: Callable[[str], bool] = nothing_exists, *, note: str = ""
    ) -> None:
        self._tools = tools
        self._exists = exists
        self._note = note

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Yield every step, then the plan. Raises ModelFailed if the request contains no word."""
        rules = self._tools.rules()
        attached = tuple(each.attachment for each in request.attachments)
        # In threads, since a long request takes tens of milliseconds, for which nobody else would be answered.
        steps = await asyncio.to_thread(
            plan_by_rules, request.text, self._tools, attached, self._exists, request.finished
        )
        if not steps:
            raise ModelFailed("model_output_invalid", "The request holds nothing that could become a step.")
        for step in steps:
            yield StepDrafted(step=step)
            # Nobody is to wait until all the steps of a long plan are recorded.
            await asyncio.sleep(0)
        note = Problem(step_id=None, field="", problem=self._note, severity="warning")
        noted = (note,) if self._note else ()
        found = await asyncio.to_thread(problems, steps, rules, sequential=True, request=request.text)
        by_model = sum(step.kind == "processing" for step in steps)
        needs = f"{by_model} of them by a model" if by_model else "nothing that needs a model"
        yield PlanDrafted(
            steps=steps,
            summary=f"{counted(len(steps), 'step')}, {needs}.",
            sequential=True,
            author="rules",
            estimated_duration=estimated_duration(steps, rules, sequential=True),
            overall_risk=overall_risk(steps, rules, request.qualification),
            warnings=(*noted, *(each for each in found if each.severity == "warning")),
        )


def plan_by_rules(
    text: str,
    tools: Registry,
    references: Sequence[Attachment] = (),
    exists: Callable[[str], bool] = nothing_exists,
    finished: Sequence[Step] = (),
) -> tuple[Step, ...]:
    """The steps that a request spells out but for the `finished`, in its own order; they form a sequential plan.

    A call of a tool that is not among `tools`, or does not accept the arguments, becomes a processing step. A symbol is
    renamed by a call where `tools` has a way to know symbols.
    `references` are the request's attachments: each step has those that its words mention, and a literal call
    uses the paths to which they resolved. `exists` says whether a path is in the workspace. Quotations, fences and
    heredocs are kept byte for byte. The result is empty only for a text without any word.

    Calls are literal only where nothing puts them in doubt: for an item of a list only its own words can, for all
    others each sentence outside of lists. If one does, and there are calls that change anything, the item or the
    request is one step in words.
    """
    masked = mask(text)
    quoted = masked.text.strip() == PLACEHOLDER and masked.literals[0].kind == "quote"
    if quoted:
        masked = mask(masked.literals[0].text)
    symbols = any(tool.needs == "language" for tool in tools.shown())
    names = Names(_paths(references), exists, symbols)
    read = [_read(masked, part, names) for part in parts(masked)]
    sure = not quoted and all(sentence.plain for sentence in read if sentence.part.list_item is None)
    if not sure and not quoted and any(sentence.changes for sentence in read):
        blank = len(masked.text) - len(masked.text.lstrip())
        read = [_whole(masked, blank, len(masked.text.rstrip()))]
    works = any(not sentence.asks for sentence in read)
    steps: list[Step] = []
    for item, group in groupby(read, lambda sentence: sentence.part.list_item):
        sentences = list(group)
        if item is not None and not quoted:
            sentences = _of_item(masked, sentences, item, names)
        for sentence in sentences:
            calls = sentence.calls if sure else ()
            available = all(_is_available(call, tools) for call in calls)
            literal = [_call_step(call, sentence.words) for call in calls if available]
            found = literal or list(_in_words(masked, sentence, decides=works and item is not None))
            attached = _attached(masked.cut(sentence.part.start, sentence.part.end).source, references)
            steps += [step.model_copy(update={"attachments": attached}) for step in found]
    return _with_ids(steps, finished)


def _of_item(
    masked: Masked, sentences: list[_Sentence], item: tuple[int, int], names: Names
) -> list[_Sentence]:
    """The sentences of a list item: with the items below it if all are calls, or as one if its calls are in doubt."""
    nested = [_read(masked, part, names) for part in sentences[0].part.nested]
    if nested and all(sentence.calls for sentence in nested):
        return nested
    if not nested and all(sentence.plain for sentence in sentences):
        return sentences
    if any(sentence.changes for sentence in (*sentences, *nested)):
        first = sentences[0].part
        return [_whole(masked, first.start, item[1], first.heading)]
    return [sentence._replace(calls=()) for sentence in sentences] if nested else sentences


def _whole(masked: Masked, start: int, end: int, heading: tuple[int, int] | None = None) -> _Sentence:
    part = Part(start, end, whole=True, heading=heading)
    return _Sentence(part, masked.cut(start, end), (), plain=False)


def _is_available(call: LiteralCall, tools: Registry) -> bool:
    tool = tools.get(call.tool)
    return tool is not None and not argument_problems(tool, call.args)


class _Sentence(NamedTuple):
    """A part of the request with the calls in it. `plain`: it is certainly a task, or consists of calls."""

    part: Part
    words: Masked
    calls: tuple[LiteralCall, ...]
    plain: bool

    @property
    def asks(self) -> bool:
        """Whether it ends as a question does, and asks for nothing to be done."""
        return self.words.text.endswith("?")

    @property
    def changes(self) -> bool:
        """Whether it contains a call that changes something."""
        return any(call.tool not in _READING for call in self.calls)


def _read(masked: Masked, part: Part, names: Names) -> _Sentence:
    words = masked.cut(part.start, part.end)
    statement = Masked(words.text.rstrip("?"), words.literals)
    calls = literal_calls(statement, names) if part.heading is None else ()
    if part.order:
        calls = literal_calls(statement, names) or literal_calls(
            Masked(part.order + statement.text, words.literals), names
        )
    asks = words.text.endswith("?") and not part.polite
    plain = bool(calls) or _ASKED_OF_USER.match(words.text) is not None or is_plain(masked.text, part)
    return _Sentence(part, statement if part.polite else words, calls, plain and not asks and not part.whole)


def _in_words(masked: Masked, sentence: _Sentence, *, decides: bool) -> Iterator[Step]:
    """The steps of a sentence that is not a literal call: one for each task, or a single one if that is in doubt.

    `decides`: it is an item among others that ask for work, so that its question is one for the user.
    """
    question = _question(sentence, decides=decides)
    if question is not None:
        yield question
        return
    read = [sentence]
    pieces = () if sentence.changes else tasks(masked.text, sentence.part)
    if len(pieces) > 1:
        split = [_read(masked, piece, Names()) for piece in pieces]
        # If one piece would be a call by itself, the others may belong to it.
        read = read if any(piece.changes for piece in split) else split
    heading = (
        "" if sentence.part.heading is None else masked.cut(*sentence.part.heading).source.strip("*_:# \n")
    )
    for each in read:
        described = description_of(f"{heading}: {_shown(each.words)}" if heading else _shown(each.words))
        words, files = each.words.source.strip(), _expected(each.words)
        yield Step(
            step_id=_UNNAMED,
            description=described,
            instruction=f"{heading}:\n{words}" if heading else words,
            active_form=active_form(described),
            agent=agent_for(each.words.text, writes=bool(files)),
            expected_files=files,
        )


def _with_ids(steps: Sequence[Step], finished: Sequence[Step]) -> tuple[Step, ...]:
    """The steps without the finished ones, with ids that no finished step has.

    Steps with equal descriptions get a number from the second on.
    """
    done = list(finished)
    used = {step.step_id for step in finished}
    free = (ident for number in count(1) if (ident := StepId(f"step_{number}")) not in used)
    seen: Counter[str] = Counter()
    named: list[Step] = []
    before = _UNNAMED
    for step in steps:
        args = step.args and {
            key: f"${before}" if each == PREVIOUS else escaped(each) for key, each in step.args.items()
        }
        work = (step.instruction, step.tool, args)
        seen[step.description] += 1
        same = next((each for each in done if (each.instruction, each.tool, each.args) == work), None)
        if same is not None:
            done.remove(same)
            before = same.step_id
            continue
        again = f" ({seen[step.description]})" if seen[step.description] > 1 else ""
        before = next(free)
        update = {"step_id": before, "description": step.description + again, "args": args}
        named.append(step.model_copy(update=update))
    return tuple(named)


def _paths(references: Sequence[Attachment]) -> Mapping[str, str]:
    """The workspace path of each reference, which may be shorter: `@a.py` for `src/a.py`."""
    paths: dict[str, str] = {}
    for each in references:
        ranged = LINES.fullmatch(each.reference)
        name = (ranged["path"] if ranged else each.reference).lstrip("@").strip('"“”').rstrip("/")
        path = (each.label or "").rstrip("/")
        if each.kind in ("file", "folder", "image") and name.strip("./") and f"/{path}".endswith(f"/{name}"):
            paths[each.reference] = path
    return paths


_UNNAMED = StepId("step")


def _call_step(call: LiteralCall, words: Masked) -> Step:
    return Step(
        step_id=_UNNAMED,
        description=description_of(call.description),
        instruction=words.source.strip(),
        active_form=active_form(call.description),
        kind="tool_call",
        agent="devo" if call.tool == "run_command" else "koda",
        tool=call.tool,
        args=call.args,
        requires_approval=call.tool not in _READING,
        expected_files=call.files,
    )


def _question(sentence: _Sentence, *, decides: bool) -> Step | None:
    """The step that asks the user what the request wants asked; None for a question of the user's own."""
    words = sentence.words
    asked = _ASKED_OF_USER.match(words.text)
    if sentence.part.whole or (
        asked is None and not (decides and sentence.asks and _is_decision(words.text))
    ):
        return None
    rest = " ".join(words.cut(asked.end() if asked else 0, len(words.text)).source.split()).rstrip("?.")
    if not rest:
        return None
    return Step(
        step_id=_UNNAMED,
        description=description_of(_shown(words)),
        instruction=words.source.strip(),
        active_form="Waiting for an answer",
        kind="clarification",
        question=capitalized(rest) + "?",
    )


def _is_decision(text: str) -> bool:
    """Whether a question is about what is wanted; why and how something is can be found out."""
    return any(_DECISION.match(each) for each in (text, *translations(text)))


def _shown(words: Masked) -> str:
    """The words with short literals as written; long ones become an ellipsis."""
    shown = (
        LiteralText(each.kind, each.text, "…")
        if each.kind == "block" or len(each.source) > _SHORT_LITERAL or "\n" in each.source
        else each
        for each in words.literals
    )
    return Masked(words.text, tuple(shown)).source


def _expected(words: Masked) -> tuple[str, ...]:
    """The path of the file that the words create, if they name one."""
    line = Masked(" ".join(words.text.split()), words.literals)
    found = _FIRST_FILE.match(line.text)
    path = written_path(line.cut(*found.span("path")), Names()) if found else None
    return (path,) if path and "." in path and " " not in path else ()


def _attached(source: str, references: Sequence[Attachment]) -> tuple[AttachmentId, ...]:
    """The attachments whose reference occurs in the text as a whole word."""
    return tuple(
        each.attachment_id
        for each in references
        if each.reference and re.search(re.escape(each.reference) + r"(?![.:]?[\w/-])", source)
    )
