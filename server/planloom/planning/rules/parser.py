"""The deterministic planner: a request becomes steps by rules alone, without any model."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planloom.domain.plans.attachments import Attachment
from planloom.domain.plans.plan import Step
from planloom.domain.values import Args, AttachmentId, StepId
from planloom.planning.rules.call_patterns import LINES
from planloom.planning.rules.calls import LiteralCall, literal_calls
from planloom.planning.rules.clauses import Part, is_plain, parts, tasks
from planloom.planning.rules.literals import PLACE, Masked, Taken, mask, restored
from planloom.planning.rules.written_paths import written_path
from planloom.planning.wording import active_form, agent_for, capitalized, description_of

_READING = frozenset({"read_file", "list_files", "find_files", "search_text", "read_diagnostics"})
_ASKED_OF_USER = re.compile(
    r"(?:ask|confirm\s+with|check\s+with)\s+(?:me|us|the\s+user)\b(?:\s+(?:about|for|to\s+confirm|to\s+choose))?[,:]?\s*",
    re.IGNORECASE,
)
_FIRST_FILE = re.compile(
    r"(?:(?:create|write|add|generate)|make\s+(?:a|an|the))\s+(?:(?:a|an|the|new|file)\s+)*"
    rf"(?P<path>@?{PLACE}|[^\s,;{PLACE}]*[\w-]\.[A-Za-z]\w{{0,7}})"
    r"(?=$|,|\s+(?:and|containing|for|from|in|that|using|which|with)\b)",
    re.IGNORECASE,
)
_SHORT_LITERAL = 40


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A part of the request as it is read. `plain` tells that it is surely a task, or only calls."""

    part: Part
    words: str
    literals: tuple[Taken, ...]
    calls: tuple[LiteralCall, ...]
    plain: bool

    @property
    def changes(self) -> bool:
        """Whether it reads as a call that does more than look."""
        return any(call.tool not in _READING for call in self.calls)


def plan_by_rules(
    text: str,
    tools: Collection[str],
    references: Sequence[Attachment] = (),
    takes: Callable[[str, Args], bool] | None = None,
) -> tuple[Step, ...]:
    """The steps that a request spells out, in its own order; they form a sequential plan.

    `tools` are the names of the tools there are; `takes` tells whether a tool takes these arguments (left out:
    whether they are those that all tools of this name have, `edit_file` no `patch`). A call that is not to be
    had becomes a processing step. `references` are the request's attachments: each step names those that its
    words name, and a literal call has the paths that they resolved to.
    Empty only for a text without any word. Quotations, fences and heredocs are kept byte for byte.

    Calls are literal only where nothing in the request puts them in doubt. If something does, and there are
    calls that change anything, the request is one step in words.
    """
    masked = mask(text)
    quoted = masked.text.strip() == PLACE and masked.literals[0].kind == "quote"
    if quoted:
        masked = mask(masked.literals[0].text)
    paths = _paths(references)
    sentences = [_read(masked, part, paths) for part in parts(masked)]
    sure = not quoted and all(sentence.plain for sentence in sentences)
    if not sure and not quoted and any(sentence.changes for sentence in sentences):
        whole = Part(0, len(masked.text.rstrip()), whole=True)
        sentences = [_Sentence(whole, masked.text.strip(), masked.literals, (), plain=False)]
    accepts = takes or _without_patch
    steps: list[Step] = []
    for sentence in sentences:
        instruction = restored(sentence.words, sentence.literals).strip()
        available = all(call.tool in tools and accepts(call.tool, call.args) for call in sentence.calls)
        if sure and sentence.calls and available:
            found = [_call_step(call, instruction) for call in sentence.calls]
        else:
            found = list(_in_words(masked, sentence))
        attached = _attached(masked.source(sentence.part.start, sentence.part.end), references)
        steps += [step.model_copy(update={"attachments": attached}) for step in found]
    return _told_apart(steps)


def _read(masked: Masked, part: Part, paths: Mapping[str, str]) -> _Sentence:
    words = masked.text[part.start : part.end]
    literals = masked.inside(part.start, part.end)
    calls = literal_calls(words.rstrip("?"), literals, paths)
    asks = words.endswith("?") and not part.polite
    plain = bool(calls) or _ASKED_OF_USER.match(words) is not None or is_plain(masked.text, part)
    words = words.rstrip("?") if part.polite else words
    return _Sentence(part, words, literals, calls, plain and not asks and not part.whole)


def _in_words(masked: Masked, sentence: _Sentence) -> Iterator[Step]:
    """The steps of a sentence that is no literal call: one for each task, or one where that is in doubt."""
    question = _question(sentence)
    if question is not None:
        yield question
        return
    read = [sentence]
    pieces = () if sentence.changes else tasks(masked.text, sentence.part)
    if len(pieces) > 1:
        split = [_read(masked, piece, {}) for piece in pieces]
        # Where one piece would be a call by itself, nobody knows whether the others belong to it.
        read = read if any(piece.changes for piece in split) else split
    for each in read:
        described = description_of(_shown(each.words, each.literals))
        yield Step(
            step_id=_UNNAMED,
            description=described,
            instruction=restored(each.words, each.literals).strip(),
            active_form=active_form(described),
            agent=agent_for(each.words),
            expected_files=_expected(each.words, each.literals),
        )


def _told_apart(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with their ids; of those with one description, the later ones are numbered."""
    seen: dict[str, int] = {}
    named: list[Step] = []
    for number, step in enumerate(steps, 1):
        seen[step.description] = count = seen.get(step.description, 0) + 1
        description = step.description if count == 1 else f"{step.description} ({count})"
        named.append(
            step.model_copy(update={"step_id": StepId(f"step_{number}"), "description": description})
        )
    return tuple(named)


def _paths(references: Sequence[Attachment]) -> Mapping[str, str]:
    """The workspace paths that references resolved to, where they were written in short: `@a.py` for `src/a.py`."""
    return {
        each.reference: each.label.rstrip("/")
        for each in references
        if each.label and each.kind in ("file", "folder", "image") and _is_short(each.reference, each.label)
    }


def _is_short(reference: str, path: str) -> bool:
    ranged = LINES.fullmatch(reference)
    name = (ranged["path"] if ranged else reference).lstrip("@").strip('"“”').rstrip("/")
    return bool(name.strip("./")) and f"/{path.rstrip('/')}".endswith(f"/{name}")


def _without_patch(tool: str, args: Args) -> bool:
    return tool != "edit_file" or "patch" not in args


_UNNAMED = StepId("step")


def _call_step(call: LiteralCall, instruction: str) -> Step:
    return Step(
        step_id=_UNNAMED,
        description=description_of(call.description),
        instruction=instruction,
        active_form=active_form(call.description),
        kind="tool_call",
        agent="devo" if call.tool == "run_command" else "koda",
        tool=call.tool,
        args=call.args,
        requires_approval=call.tool not in _READING,
        expected_files=call.files,
    )


def _question(sentence: _Sentence) -> Step | None:
    """What the request wants the user to be asked. A question of the user's own is none."""
    asked = _ASKED_OF_USER.match(sentence.words)
    if asked is None:
        return None
    rest = " ".join(restored(sentence.words[asked.end() :], sentence.literals).split()).rstrip("?.")
    if not rest or sentence.part.whole:
        return None
    return Step(
        step_id=_UNNAMED,
        description=description_of(_shown(sentence.words, sentence.literals)),
        instruction=restored(sentence.words, sentence.literals).strip(),
        active_form="Waiting for an answer",
        kind="clarification",
        question=capitalized(rest) + "?",
    )


def _shown(words: str, literals: Sequence[Taken]) -> str:
    """The words with short literals as they were written and long ones left out."""
    short = tuple(
        taken
        if taken.kind != "block" and len(taken.source) <= _SHORT_LITERAL and "\n" not in taken.source
        else Taken(taken.kind, taken.text, "…")
        for taken in literals
    )
    return restored(words, short)


def _expected(words: str, literals: Sequence[Taken]) -> tuple[str, ...]:
    """The file that a step says it creates, by name."""
    found = _FIRST_FILE.match(" ".join(words.split()))
    if found is None:
        return ()
    taken = literals[0] if PLACE in found["path"] else None
    path = written_path(found["path"], taken, {}, certain=False)
    return (path,) if path and "." in path and " " not in path else ()


def _attached(source: str, references: Sequence[Attachment]) -> tuple[AttachmentId, ...]:
    """The attachments whose reference stands in a part, as a whole word."""
    return tuple(
        attachment.attachment_id
        for attachment in references
        if attachment.reference and _stands_in(attachment.reference, source)
    )


def _stands_in(reference: str, source: str) -> bool:
    at = source.find(reference)
    while at >= 0:
        after = source[at + len(reference) :]
        if not re.match(r"[.:]?[\w/-]", after):
            return True
        at = source.find(reference, at + 1)
    return False
