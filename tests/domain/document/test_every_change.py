"""Each change that can be typed, in each state of plan and step, is taken or refused where it stands, never lost."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Final, get_args

import pytest

from planloom.domain.document.difference import Difference, difference, refusals, signs_of
from planloom.domain.document.fields import FIELDS
from planloom.domain.document.reader import Written, read_document
from planloom.domain.document.render import render
from planloom.domain.document.top import Place
from planloom.domain.document.update import taken, up_to_date
from planloom.domain.events.folding import updated
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.editing import EditRefused, edit_plan
from planloom.domain.plans.plan import Check, Plan, PlanStatus, Step, StepResult, StepStatus
from planloom.domain.plans.validation import Problem
from planloom.domain.values import StepId
from planloom.service.running.states import ALLOWED
from tests.domain.document.test_round_trip import plan_of

LOOK = Step(step_id=StepId("step_1"), description="Look", instruction="Look")
WRITE = Step(
    step_id=StepId("step_2"),
    description="Write it",
    instruction="Write it well.\n\nIn two lines.",
    kind="tool_call",
    tool="write_file",
    args={"path": "a.py", "content": "x = 1\ny = 2"},
    depends_on=(StepId("step_1"),),
    agent="devo",
    priority="high",
    critical=True,
    question="Which?",
    checks=(Check(kind="file_exists", path="a.py"),),
    expected_files=("a.py",),
    when="it is there",
    for_each="file",
)
RUN = Step(step_id=StepId("step_3"), description="Run", instruction="Run")

CHANGES: Final = {
    "title": ("# Do it", "# Do it soon"),
    "quotation": ("> in two lines", "> in three lines"),
    "title and quotation": ("# Do it\n\n> Do it\n> in two lines", "# Do this\n\n> Do this\n> in three"),
    "another title than quotation": ("# Do it\n\n> Do it\n", "# Do this\n\n> Do that\n"),
    "no title": ("# Do it", "Do it soon"),
    "summary": ("All of it.", "Most of it."),
    "more summary": ("## Steps", "And this.\n\n## Steps"),
    "heading of steps": ("## Steps", "## My steps"),
    "plan": ("plan: p", "plan: q"),
    "version": ("version: 2", "version: 9"),
    "status": ("status: ", "status: very "),
    "begin of values": ("---\nplan", "My own ---\nplan"),
    "end of values": ("\n---\n\n#", "\n--\n\n#"),
    "description": ("Write it ^", "Write this ^"),
    "no description": ("Write it ^", "^"),
    "id": ("^step_2", "^step_8"),
    "id that others wait for": ("^step_1", "^step_8"),
    "instruction": ("In two lines.", "In three lines."),
    "more instruction": ("In two lines.", "In two lines.\n  - foo: bar"),
    "instruction as a field": ("  - tool: ", "  - instruction: Well.\n  - tool: "),
    "tool": ("tool: write_file", "tool: edit_file"),
    "no tool": ("  - tool: write_file\n", "  - tool:\n"),
    "argument": ("path: a.py", "path: b.py"),
    "line of an argument": ("y = 2", "y = 3"),
    "new argument": ("    - path: a.py", "    - mode: 7\n    - path: a.py"),
    "arguments": ("  - after", '  - arguments: {"path": "b.py"}\n  - after'),
    "after": ("after: step_1", "after: step_3"),
    "after itself": ("after: step_1", "after: step_2"),
    "agent": ("agent: operations", "agent: strategy"),
    "no agent": ("agent: operations", "agent: nobody"),
    "kind": ("  - agent", "  - kind: processing\n  - agent"),
    "priority": ("priority: high", "priority: low"),
    "critical": ("critical: yes", "critical: no"),
    "question": ("question: Which?", "question: Which one?"),
    "check": ("check: file exists: a.py", "check: file exists: b.py"),
    "second check": ("  - check", "  - check: no new errors\n  - check"),
    "files": ("files: a.py", "files: a.py, b.py"),
    "attached": ("  - files", "  - attached: attachment_1\n  - files"),
    "when": ("when: it is there", "when: it is not there"),
    "for each": ("for each: file", "for each: folder"),
    "tools": ("  - when", "  - tools: run_command\n  - when"),
    "repeat until": ("  - when", "  - repeat until: it is there\n  - when"),
    "at most": ("  - when", "  - at most: 7\n  - when"),
    "not a number": ("  - when", "  - at most: many\n  - when"),
    "template": ("  - when", "  - template: tests\n  - when"),
    "template without a tool": (
        "[ ] Run ^step_3\n",
        "[ ] Run ^step_3\n  - template: tests\n    - file: a.py\n",
    ),
    "template of another kind": (
        "[ ] Run ^step_3\n",
        "[ ] Run ^step_3\n  - template: tests\n  - kind: check\n",
    ),
    "new step with a template of another kind": (
        "- [ ] Run",
        "- Then this\n  - template: tests\n  - kind: check\n- [ ] Run",
    ),
    "in the indentation": ("    - path: a.py", "x    - path: a.py"),
    "in the box": ("] Write it", "x ] Write it"),
    "field twice": ("is there\n", "is there\n  - when: ever\n"),
    "unknown field": ("  - when", "  - whn: ever\n  - when"),
    "skip": ("] Write it", "-] Write it"),
    "done": ("] Write it", "x] Write it"),
    "result": ("  - when", "  → Mine.\n  - when"),
    "new step": ("- [ ] Run", "- Then this\n  - priority: low\n- [ ] Run"),
    "new step that is skipped": ("- [ ] Run", "- [-] Not this\n- [ ] Run"),
    "new step that is done": ("- [ ] Run", "- [x] Done this\n- [ ] Run"),
    "moved step": ("- [ ] Run ^step_3\n", ""),
}
"""What is typed, as the old and the new words of the document. A sign is put in place of the one that stands there."""
STAYS: Final = {
    "own value": ("version: ", "owner: Ada\nversion: "),
    "note": ("- [ ] Run", "My own thoughts.\n\n- [ ] Run"),
    "text above the title": ("# Do it", "Mine.\n\n# Do it"),
    "value that is the default": ("- [ ] Run ^step_3\n", "- [ ] Run ^step_3\n  - priority: normal\n"),
    "list sign": ("- [ ] Run", "* [ ] Run"),
}
"""What is typed and changes nothing of the plan."""
PLAN_STATUSES = get_args(PlanStatus)
STEP_STATUSES = tuple(status for status in get_args(StepStatus) if status not in ("blocked", "ready"))
RESULT = StepResult(ok=True, summary="It is so.", duration_ms=1, timestamp=datetime(2026, 1, 1, tzinfo=UTC))


def shown(plan_status: PlanStatus, step_status: StepStatus) -> Plan:
    """A plan with one step in this state."""
    result = RESULT if step_status in ("completed", "failed") else None
    step = WRITE.model_copy(update={"status": step_status, "result": result})
    words = {"request": "Do it\nin two lines", "summary": "All of it."}
    return plan_of([LOOK, step, RUN], status=plan_status, **words)


def typed_into(text: str, old: str, new: str) -> str:
    if old == "] Write it":
        at = text.index(old)
        return text[: at - 1] + new + text[at + len(old) :]
    assert text.count(old) >= 1
    changed = text.replace(old, new, 1)
    # What is taken away from its place stands in another one.
    return changed if new else changed.replace("## Steps\n", "## Steps\n\n" + old)


def problems(plan: Plan, found: Difference) -> tuple[Problem, ...]:
    if "edit" not in ALLOWED[plan.status]:
        return (Problem(step_id=None, field="status", problem="Not in this state."),)
    edited = edit_plan(plan.steps, found.edits)
    return edited.problems if isinstance(edited, EditRefused) else ()


def changed_lines(before: str, after: str) -> set[int]:
    """The numbers of the lines that are not as they were, or stand beside lines that are gone."""
    old, new = before.split("\n"), after.split("\n")
    same = list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    end = list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old[::-1], new[::-1], strict=False)))
    return set(range(len(same), max(len(new) - len(end), len(same) + 1)))


def later(plan: Plan) -> Plan:
    """The plan when much has happened to it, and nothing to the words of its author."""
    states = {"pending": "running", "running": "completed", "completed": "completed"}
    steps = [
        step.model_copy(update={"status": states.get(step.status, step.status), "result": RESULT})
        for step in plan.steps
    ]
    return updated(plan, version=plan.version + 1, status="executing", steps=IndexedTuple(steps))


def own_lines(before: str, after: str) -> list[str]:
    """The lines that were typed, without the sign in the box, which may follow the plan once it is taken."""
    return [line for line in after.split("\n") if line not in before.split("\n")]


def without_sign(line: str) -> str:
    head, sign, rest = line.partition("] ")
    return head[:-1] + sign + rest if sign and head[:-1] in ("- [", "* [") else line


def holds(text: str, lines: list[str]) -> bool:
    """Whether the lines stand in a text. A new step may have got a box and an id."""
    found = [without_sign(line) for line in text.split("\n")]
    wanted = [without_sign(line) for line in lines]
    return all(
        any(line == each or (line.startswith("- ") and line[2:] in each and "^" in each) for each in found)
        for line in wanted
    )


def places(plan: Plan, written: Written, found: Difference) -> list[Place]:
    """Where the diagnostics stand."""
    troubles = [each.place for each in (*written.troubles, *found.troubles)]
    if troubles or not found.changes:
        return troubles
    return [place for _, place in refusals(problems(plan, found), written, found)]


def test_every_field_is_in_the_table() -> None:
    named = {
        line.strip(" -").partition(":")[0]
        for row in CHANGES.values()
        for text in row
        for line in text.split("\n")
    }
    assert FIELDS.keys() <= named


def test_a_line_that_is_taken_away_is_a_change() -> None:
    plan = shown("pending_approval", "pending")
    lines = render(plan).split("\n")
    first = next(number for number, line in enumerate(lines) if "^step_2" in line)
    end = next(number for number, line in enumerate(lines) if "^step_3" in line)
    for number in (number for number in range(first, end) if lines[number].strip()):
        written = read_document("\n".join([*lines[:number], *lines[number + 1 :]]))
        found = difference(plan, written)
        assert found.changes or found.troubles or written.troubles, lines[number]


@pytest.mark.parametrize("change", CHANGES)
def test_it_is_taken_or_refused_where_it_stands(change: str) -> None:
    for plan_status, step_status in itertools.product(PLAN_STATUSES, STEP_STATUSES):
        check_change(change, plan_status, step_status)


def check_change(change: str, plan_status: PlanStatus, step_status: StepStatus) -> None:
    plan = shown(plan_status, step_status)
    before = render(plan)
    text = typed_into(before, *CHANGES[change])
    if text == before:
        return
    typed = own_lines(before, text)
    written = read_document(text)
    found = difference(plan, written)
    refused = places(plan, written, found)
    if refused:
        assert {place.line for place in refused} & changed_lines(before, text), refused
        update = up_to_date(text, plan, later(plan))
        assert holds(update.text, typed), update.text
        # It is refused as before, and what the server itself has written is none of it.
        again = read_document(update.text)
        still = difference(update.shows, again, signs_of(plan))
        is_so_by_now = change == "done" and step_status == "running"
        assert bool(again.troubles or still.troubles or still.changes) is not is_so_by_now
        return
    assert found.changes
    steps = edit_plan(plan.steps, found.edits)
    assert not isinstance(steps, EditRefused)
    words = {name: value for name, value in found.words if value is not None}
    changed = updated(plan, version=3, status="pending_approval", steps=IndexedTuple(steps), **words)
    after = taken(text, found.ids, changed, signs_of(plan))
    assert holds(after, typed), after
    nothing = difference(changed, read_document(after))
    assert not nothing.changes and not nothing.troubles and not read_document(after).troubles, nothing
    assert holds(up_to_date(after, changed, later(changed)).text, typed)


@pytest.mark.parametrize("plan_status", PLAN_STATUSES)
@pytest.mark.parametrize("change", STAYS)
def test_what_says_nothing_of_the_plan_stays(change: str, plan_status: PlanStatus) -> None:
    plan = shown(plan_status, "pending")
    text = typed_into(render(plan), *STAYS[change])
    written = read_document(text)
    found = difference(plan, written)
    assert not found.changes and not found.troubles and not written.troubles
    typed = own_lines(render(plan), text)
    revised = RUN.model_copy(update={"step_id": StepId("step_4"), "description": "Another"})
    for new in (later(plan), updated(plan, steps=IndexedTuple([LOOK, revised, WRITE, RUN]), summary="New.")):
        update = up_to_date(text, plan, new)
        assert holds(update.text, typed), update.text
        assert not difference(update.shows, read_document(update.text)).changes
