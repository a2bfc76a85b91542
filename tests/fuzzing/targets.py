"""The readers of models' and users' words, and what must hold for every text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from planloom.agent.toolcalls.reader import CallReader, gathered
from planloom.agent.toolcalls.tokens import TOKEN_SET
from planloom.domain.model_text.surrogates import mend
from planloom.domain.plans.validation import ToolRules
from planloom.domain.text.positions import with_eol
from planloom.intake.references import find_references
from planloom.intake.routing.detection import count_items, detect
from planloom.intake.routing.qualification import qualify
from planloom.planning.formats.draft import DraftStep, NoPlan, PlanText
from planloom.planning.formats.reader import read_plan
from planloom.planning.formats.stream import PlanStream
from planloom.planning.model.assemble import StepBuilder
from planloom.planning.rules.planner import plan_by_rules
from planloom.tools.files.hunks import BadPatch
from planloom.tools.files.line_numbers import has_numbers
from planloom.tools.files.patches import read_patch
from planloom.tools.files.patching import apply_hunks
from planloom.tools.files.replacing import Replacement, replace
from planloom.tools.registry import builtin
from tests.fuzzing import seeds
from tests.scoring import offered_tools
from tests.support.small_tools import TOOL_NAMES as TOOLS

_BUILTIN = builtin()
_RULES = {name: ToolRules(effect="write", check=lambda _: ()) for name in TOOLS}


class Target(NamedTuple):
    """`check` reads a text, and raises AssertionError if the result is wrong."""

    check: Callable[[str, random.Random], None]
    seeds: Callable[[], Iterable[str]]
    words: tuple[str, ...]


def divided(text: str, chance: random.Random) -> list[str]:
    """The text in chunks: single characters, or pieces cut at random."""
    if chance.random() < 0.3:
        return list(text)
    cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randint(1, 9)))
    return [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]


def comes_from(part: str, whole: str) -> bool:
    """Whether the letters and digits of a part occur in the whole in the same order, so that nothing was invented."""
    letters = (sign for sign in whole if sign.isalnum())
    return all(sign in letters for sign in part if sign.isalnum())


def _streamed(chunks: Sequence[str]) -> tuple[list[DraftStep], PlanText | NoPlan]:
    stream = PlanStream(TOOLS)
    return [step for chunk in chunks for step in stream.feed(chunk)], stream.close()


def check_plan(text: str, chance: random.Random) -> None:
    plan = read_plan(text, TOOLS)
    steps, whole = _streamed([text])
    assert whole == plan, "the stream ends in another plan"
    assert _streamed(divided(text, chance)) == (steps, plan), "the chunks matter"
    assert read_plan(text.replace("\r\n", "\n").replace("\n", "\r\n"), TOOLS) == plan, "line ends matter"
    if isinstance(plan, NoPlan):
        return
    assert plan.steps, "a plan without steps"
    made = StepBuilder(_RULES)
    for step in plan.steps:
        assert step.description.strip() and step.instruction.strip(), "an empty step"
        assert "\n" not in step.description, "a description of several lines"
        made.add(step)
        # An escape stands for another letter, and a step without a description gets one from its tool.
        if "\\" not in text and not (plan.format == "json" and step.tool):
            assert comes_from(step.description, text), "a description that is not in the text"
            assert comes_from(step.instruction, text), "an instruction that is not in the text"
    assert len(made.steps()) == len(plan.steps), "a step is lost on the way"
    plan.model_dump_json()


def check_calls(text: str, chance: random.Random) -> None:
    def read_chunks(chunks: Sequence[str]) -> object:
        reader = CallReader(offered_tools())
        events = [event for chunk in chunks for event in reader.feed(chunk)]
        return gathered((*events, *reader.close()))

    reader = CallReader(offered_tools())
    read = gathered((*reader.feed(text), *reader.close()))
    assert read_chunks(divided(text, chance)) == read, "the chunks matter"
    text = mend(text)
    shown = iter(text)
    assert all(sign in shown for sign in read.visible_text), "visible text that is not in the text"
    assert len(read.visible_text) + len(read.reasoning) <= len(text), "text is shown twice"
    if (
        not read.calls
        and not read.problems
        and TOKEN_SET.pattern.search(text) is None
        and not text.startswith(("all\n", "all\r\n"))
        and "directly" not in text
    ):
        assert read.visible_text == text, "text without tokens or calls is not shown"
    names = {tool.name for tool in offered_tools()}
    for call in read.calls:
        assert call.name in names, "an unknown tool"
        assert None not in call.arguments.values(), "an argument that is null"
        json.dumps(call.arguments, ensure_ascii=False, allow_nan=False).encode()
        if "\\" not in text:
            assert comes_from(call.name, text), "a name that is not in the text"
            for value in call.arguments.values():
                assert not isinstance(value, str) or comes_from(value, text), "a value not in the text"
    for problem in read.problems:
        problem.model_dump_json()


def check_detection(text: str, _: random.Random) -> None:
    found = detect(text)
    assert 0 <= found.score <= 100, "a score out of bounds"
    assert found.planned == (found.rule not in ("disabled", "question", "none")), "rule and verdict differ"
    assert detect(f" \n{text}\n ") == found, "white space around matters"
    assert not detect(text, enabled=False).planned, "planned though disabled"
    if text.strip() and found.rule == "question":
        assert detect(f"Please, {text}").rule == "question", "a courtesy hides a question"
    assert count_items(text) != 1, "a list of one item"
    qualify(text, (), found)


def check_references(text: str, _: random.Random) -> None:
    end = 0
    for found in find_references(text):
        assert end <= found.start < found.end <= len(text), "references overlap"
        assert text[found.start : found.end] == found.text, "another text than the message has"
        end = found.end
        for reading in found.readings:
            assert found.start < reading.end <= len(text), "a reading out of bounds"
            assert reading.path and reading.path in text, "a path that is not in the message"
        assert (found.kind in ("selection", "link")) == (not found.readings) or found.kind == "diagnostics"


def check_rules(text: str, _: random.Random) -> None:
    steps = plan_by_rules(text, _BUILTIN)
    for step in steps:
        assert step.description.strip() and step.instruction.strip(), "an empty step"
        assert step.kind != "tool_call" or step.tool in _BUILTIN.names(), "an unknown tool"
        # A heredoc's body is put where its mark stands.
        assert "<<" in text or comes_from(step.instruction, text), "an instruction that is not in the text"
        # A patch is the text's words in the form of a patch.
        values = [value for name, value in (step.args or {}).items() if name != "patch"]
        for value in values:
            assert not isinstance(value, str) or comes_from(value, text), "an argument not in the text"
        step.model_dump_json()
    mentioned = plan_by_rules(f"Do not do any of this:\n{text}", _BUILTIN)
    assert all(step.kind != "tool_call" for step in mentioned), "a call under words that forbid it"


def _patched(text: str) -> None:
    files = read_patch(text)
    if isinstance(files, BadPatch):
        return
    lines = with_eol(text, "\n").split("\n")
    for file in files:
        for hunk in file.hunks:
            for _sign, line in hunk.ops:
                assert any(other.endswith(line) for other in lines), "a new line"
        old = [line for hunk in file.hunks for line in hunk.old]
        for other in ("", "\n", "a\n\n"):
            apply_hunks(other, file.hunks)
        result = apply_hunks("\n".join(old) + "\n", file.hunks)
        if isinstance(result, Replacement) and len(file.hunks) == 1 and old and file.hunks[0].newline is None:
            wanted = [line for sign, line in file.hunks[0].ops if sign != "-"]
            assert result.text.split("\n")[:-1] == wanted or not wanted, "not what the patch says"


def check_patches(text: str, _chance: random.Random) -> None:
    _patched(text)
    old, _, new = text.partition("=======")
    for document in (f"{old}\n{new}", f"a\n    {old}\nb\n", new):
        result = replace(document, old, new)
        numbered = has_numbers(old) or has_numbers(new)
        if isinstance(result, Replacement) and result.grade == "exact" and not numbered:
            plain, wanted, put = (with_eol(each, "\n") for each in (document, old, new))
            assert result.text == plain.replace(wanted, put), "not exact"


TARGETS = {
    "plans": Target(check_plan, seeds.plans, (*seeds.PLAN_WORDS, *seeds.SIGNS)),
    "calls": Target(check_calls, seeds.calls, (*seeds.CALL_WORDS, *seeds.SIGNS)),
    "detection": Target(check_detection, seeds.requests, (*seeds.REQUEST_WORDS, *seeds.SIGNS)),
    "references": Target(check_references, seeds.requests, (*seeds.REQUEST_WORDS, *seeds.SIGNS)),
    "rules": Target(check_rules, seeds.requests, (*seeds.REQUEST_WORDS, *seeds.SIGNS)),
    "patches": Target(check_patches, seeds.patches, (*seeds.PATCH_WORDS, *seeds.SIGNS)),
}
