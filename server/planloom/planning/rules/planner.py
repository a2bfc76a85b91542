"""Plans a request by rules alone, without a model."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from planloom.domain.errors import ModelFailed
from planloom.domain.patterns import pattern
from planloom.domain.plans.attachments import Attachment
from planloom.domain.plans.plan import Step
from planloom.domain.plans.validation import Problem, problems
from planloom.domain.text.counted import counted
from planloom.domain.values import AttachmentId, StepId
from planloom.planning.estimates import estimated_duration, overall_risk
from planloom.planning.port import PlanDrafted, PlannerEvent, PlanningRequest, StepDrafted
from planloom.planning.rules.calls import LiteralCall, literal_calls
from planloom.planning.rules.clauses import Part, is_plain, parts, tasks
from planloom.planning.rules.literals import LINES, PLACEHOLDER, LiteralText, Masked, mask, written_path
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
_SHORT_LITERAL = 40


class RulesPlanner:
    """The planner that needs no model. `note` is a warning of every plan, for whoever reviews it."""

    def __init__(self, tools: Registry, *, note: str = "") -> None:
        self._tools = tools
        self._note = note

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Yield every step, then the plan. Raises ModelFailed if the request contains no word."""
        rules = self._tools.rules()
        attached = tuple(each.attachment for each in request.attachments)
        # In threads, since a long request takes tens of milliseconds, for which nobody else would be answered.
        written = await asyncio.to_thread(plan_by_rules, request.text, self._tools, attached)
        steps = _without_finished(written, request.finished)
        if not steps:
            raise ModelFailed("model_output_invalid", "The request holds nothing that could become a step.")
        for step in steps:
            yield StepDrafted(step=step)
            # Nobody is to wait until all the steps of a long plan are recorded.
            await asyncio.sleep(0)
        note = Problem(step_id=None, field="", problem=self._note, severity="warning")
        noted = (note,) if self._note else ()
        found = await asyncio.to_thread(problems, steps, rules, sequential=True, request=request.text)
        literal = sum(step.kind == "tool_call" for step in steps)
        by_model = len(steps) - literal
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


def plan_by_rules(text: str, tools: Registry, references: Sequence[Attachment] = ()) -> tuple[Step, ...]:
    """The steps that a request spells out, in its own order; they form a sequential plan.

    A call of a tool that is not among `tools`, or does not accept the arguments, becomes a processing step.
    `references` are the request's attachments: each step has those that its words mention, and a literal call
    uses the paths to which they resolved. Quotations, fences and heredocs are kept byte for byte. The result is
    empty only for a text without any word.

    Calls are literal only where nothing in the request puts them in doubt. If something does, and there are
    calls that change anything, the request is one step in words.
    """
    masked = mask(text)
    quoted = masked.text.strip() == PLACEHOLDER and masked.literals[0].kind == "quote"
    if quoted:
        masked = mask(masked.literals[0].text)
    paths = _paths(references)
    sentences = [_read(masked, part, paths) for part in parts(masked)]
    sure = not quoted and all(sentence.plain for sentence in sentences)
    if not sure and not quoted and any(sentence.changes for sentence in sentences):
        blank = len(masked.text) - len(masked.text.lstrip())
        whole = Part(blank, len(masked.text.rstrip()), whole=True)
        sentences = [_Sentence(whole, masked.cut(whole.start, whole.end), (), plain=False)]
    steps: list[Step] = []
    for sentence in sentences:
        calls = sentence.calls if sure else ()
        available = all(_is_available(call, tools) for call in calls)
        literal = [_call_step(call, sentence.words) for call in calls if available]
        found = literal or list(_in_words(masked, sentence))
        attached = _attached(masked.cut(sentence.part.start, sentence.part.end).source, references)
        steps += [step.model_copy(update={"attachments": attached}) for step in found]
    return _with_ids(steps)


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
    def changes(self) -> bool:
        """Whether it contains a call that changes something."""
        return any(call.tool not in _READING for call in self.calls)


def _read(masked: Masked, part: Part, paths: Mapping[str, str]) -> _Sentence:
    words = masked.cut(part.start, part.end)
    statement = Masked(words.text.rstrip("?"), words.literals)
    calls = literal_calls(statement, paths)
    asks = words.text.endswith("?") and not part.polite
    plain = bool(calls) or _ASKED_OF_USER.match(words.text) is not None or is_plain(masked.text, part)
    return _Sentence(part, statement if part.polite else words, calls, plain and not asks and not part.whole)


def _in_words(masked: Masked, sentence: _Sentence) -> Iterator[Step]:
    """The steps of a sentence that is not a literal call: one for each task, or a single one if that is in doubt."""
    question = _question(sentence)
    if question is not None:
        yield question
        return
    read = [sentence]
    pieces = () if sentence.changes else tasks(masked.text, sentence.part)
    if len(pieces) > 1:
        split = [_read(masked, piece, {}) for piece in pieces]
        # If one piece would be a call by itself, the others may belong to it.
        read = read if any(piece.changes for piece in split) else split
    for each in read:
        described = description_of(_shown(each.words))
        yield Step(
            step_id=_UNNAMED,
            description=described,
            instruction=each.words.source.strip(),
            active_form=active_form(described),
            agent=agent_for(each.words.text),
            expected_files=_expected(each.words),
        )


def _without_finished(steps: tuple[Step, ...], finished: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps without the finished ones, with ids that no finished step has."""
    done = [(step.instruction, step.tool, step.args) for step in finished]
    used = {step.step_id for step in finished}
    free = (ident for number in count(1) if (ident := StepId(f"step_{number}")) not in used)
    left: list[Step] = []
    for step in steps:
        key = (step.instruction, step.tool, step.args)
        if key in done:
            done.remove(key)
        else:
            left.append(step.model_copy(update={"step_id": next(free)}))
    return tuple(left)


def _with_ids(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with ids; steps with equal descriptions get a number from the second on."""
    seen: Counter[str] = Counter()
    named: list[Step] = []
    for number, step in enumerate(steps, 1):
        seen[step.description] += 1
        again = f" ({seen[step.description]})" if seen[step.description] > 1 else ""
        update = {"step_id": StepId(f"step_{number}"), "description": step.description + again}
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


def _question(sentence: _Sentence) -> Step | None:
    """The step that asks the user what the request wants asked; None for a question of the user's own."""
    words = sentence.words
    asked = _ASKED_OF_USER.match(words.text)
    if asked is None or sentence.part.whole:
        return None
    rest = " ".join(words.cut(asked.end(), len(words.text)).source.split()).rstrip("?.")
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
    path = written_path(line.cut(*found.span("path")), {}) if found else None
    return (path,) if path and "." in path and " " not in path else ()


def _attached(source: str, references: Sequence[Attachment]) -> tuple[AttachmentId, ...]:
    """The attachments whose reference occurs in the text as a whole word."""
    return tuple(
        each.attachment_id
        for each in references
        if each.reference and re.search(re.escape(each.reference) + r"(?![.:]?[\w/-])", source)
    )
