"""The deterministic planner: a request becomes steps by rules alone, without any model."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from planloom.domain.attachments import Attachment
from planloom.domain.perspectives import Agent
from planloom.domain.plan import Step
from planloom.domain.values import Args, AttachmentId, StepId
from planloom.planning.calls import LiteralCall, literal_calls
from planloom.planning.clauses import parts
from planloom.planning.literals import PLACE, Taken, mask, restored
from planloom.planning.wording import active_form, capitalized, description_of
from planloom.planning.written_paths import looks_like_path

_READ_ONLY = frozenset({"read_file", "list_files", "find_files", "search_text", "read_diagnostics"})
_ASKED_OF_USER = re.compile(
    r"(?:ask|confirm\s+with|check\s+with)\s+(?:me|us|the\s+user)\b(?:\s+(?:about|for|to\s+confirm|to\s+choose))?[,:]?\s*",
    re.IGNORECASE,
)
_QUESTION_WORD = re.compile(
    r"(?:what|why|how|when|where|who|which|whose|should|shall|do|does|is|are|can|could|would|will|may)\b",
    re.IGNORECASE,
)
_OPERATIONS = re.compile(
    r"\b(?:deploy\w*|install\w*|docker\w*|kubernetes|k8s|kubectl|helm|terraform|ansible|nginx|systemd|ci|cd|ci/cd|pipelines?"
    r"|staging|production|rollback|provision\w*|npm|pnpm|yarn|pip|cargo|apt|brew|run|execute|start|restart|launch|publish"
    r"|release|migrations?|compose|server\s+setup)\b",
    re.IGNORECASE,
)
_FIRST_FILE = re.compile(
    rf"(?:create|write|add|generate|make)\s+(?:(?:a|an|the|new|file)\s+)*(?P<path>@?{PLACE}|[^\s,;{PLACE}]*[\w-]\.[A-Za-z]\w{{0,7}})"
    r"(?=\s|$|,)",
    re.IGNORECASE,
)
_SHORT_LITERAL = 40


def plan_by_rules(
    text: str,
    tools: Collection[str],
    references: Sequence[Attachment] = (),
    paths: Mapping[str, str] | None = None,
    takes: Callable[[str, Args], bool] | None = None,
) -> tuple[Step, ...]:
    """The steps that a request spells out, in its own order; they form a sequential plan.

    `tools` are the names of the tools there are: a literal call for one that is not becomes a processing
    step. `references` are the request's attachments; each step names those that its words name. `paths`
    leads from a reference as it was written (`@a.py`) to its workspace path, where the two differ.
    `takes` tells whether a tool takes these arguments; if it does not, the part is a processing step too.
    Left out, every tool is taken to have the arguments that all have in common: `edit_file` no `patch`.
    Empty only for a text without any word. Quotations, fences and heredocs are kept byte for byte.
    """
    masked = mask(text)
    steps: list[Step] = []
    for span in parts(masked):
        words = masked.text[span.start : span.end]
        literals = masked.inside(span.start, span.end)
        found = _steps_of(
            words.rstrip("?") if span.polite else words, literals, tools, paths or {}, takes or _without_patch
        )
        attached = _attached(masked.source(span.start, span.end), references)
        steps += [step.model_copy(update={"attachments": attached}) for step in found]
    return tuple(
        step.model_copy(update={"step_id": StepId(f"step_{number}")}) for number, step in enumerate(steps, 1)
    )


def all_literal(steps: Sequence[Step]) -> bool:
    """Whether these steps are nothing but tool calls, so that no model is needed for them."""
    return bool(steps) and all(step.kind == "tool_call" for step in steps)


def _without_patch(tool: str, args: Args) -> bool:
    return tool != "edit_file" or "patch" not in args


_UNNAMED = StepId("step")


def _steps_of(
    words: str,
    literals: Sequence[Taken],
    tools: Collection[str],
    paths: Mapping[str, str],
    takes: Callable[[str, Args], bool],
) -> list[Step]:
    question = _question(words, literals)
    if question is not None:
        return [question]
    calls = literal_calls(words, literals, tools, paths)
    if calls and all(takes(call.tool, call.args) for call in calls):
        instruction = restored(words, tuple(literals)).strip()
        return [_call_step(call, instruction) for call in calls]
    return [_processing(words, literals)]


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
        requires_approval=call.tool not in _READ_ONLY,
        expected_files=call.files,
    )


def _question(words: str, literals: Sequence[Taken]) -> Step | None:
    asked = _ASKED_OF_USER.match(words)
    if asked is not None:
        rest = " ".join(restored(words[asked.end() :], tuple(literals)).split()).rstrip("?.")
        if not rest:
            return None
        question = capitalized(rest) + "?"
    elif words.rstrip().endswith("?") and _QUESTION_WORD.match(words):
        question = capitalized(" ".join(restored(words, tuple(literals)).split()))
    else:
        return None
    described = description_of(_shown(words, literals))
    return Step(
        step_id=_UNNAMED,
        description=described,
        instruction=restored(words, tuple(literals)).strip(),
        active_form="Waiting for an answer",
        kind="clarification",
        question=question,
    )


def _processing(words: str, literals: Sequence[Taken]) -> Step:
    described = description_of(_shown(words, literals))
    instruction = restored(words, tuple(literals)).strip()
    agent: Agent = "devo" if _OPERATIONS.search(words) else "koda"
    return Step(
        step_id=_UNNAMED,
        description=described,
        instruction=instruction,
        active_form=active_form(described),
        agent=agent,
        expected_files=_expected(words, literals),
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
    path = found["path"].lstrip("@")
    if path == PLACE:
        path = literals[0].text if literals and literals[0].kind != "block" else ""
    if (
        "." not in path
        or "\n" in path
        or " " in path.strip()
        or "://" in path
        or not looks_like_path(path.strip())
    ):
        return ()
    return (path.strip(),)


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
