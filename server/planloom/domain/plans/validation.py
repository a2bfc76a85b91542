"""Validates a plan before it is approved; every problem names its step and field."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from planloom.domain.expressions import EVERYWHERE, Malformed, Name, read
from planloom.domain.plans.agents import NAMES, may_use
from planloom.domain.plans.graph import DependencyGraph, ancestor_masks, cycle, dependency_graph
from planloom.domain.plans.outputs import (
    STEP_ID,
    NoPart,
    OutputReference,
    Part,
    as_text,
    literal,
    output_reference,
    output_references,
    part_of,
    shape_of,
)
from planloom.domain.plans.plan import SETTLED, Step
from planloom.domain.plans.templates import TemplateRefused
from planloom.domain.plans.unrolling import (
    MOST_ITEMS,
    MOST_ROUNDS,
    TemplateOf,
    filled,
    for_round,
    is_written_out,
    placeholders,
    written_out,
)
from planloom.domain.safety.approvals import Effect
from planloom.domain.safety.destructive_intent import (
    destructive_command,
    destructive_words,
    names_destruction,
)
from planloom.domain.safety.lexical_paths import escapes, normal_path
from planloom.domain.values import Args, Json, StepId, Value

MOST_STEPS = 10_000
_MOST_DEPENDENCIES = 1_000
_LONGEST_ID = 100
_LONGEST_DESCRIPTION = 2_000
_LONGEST_INSTRUCTION = 100_000
_LONGEST_ARGS = 2_000_000

ArgumentProblem = tuple[str, str]
"""The name of an argument (empty for the call as a whole) and the problem with it."""


class Problem(Value):
    """A problem of a plan. A plan with an error cannot be approved; a warning is only shown.

    `field` is the field under its name on the wire, such as `args.path`; `step_id` is None for the whole plan.
    `where` names the step, and the tool if the problem is with its arguments: "Step 2, write_file".
    """

    step_id: StepId | None
    field: str
    problem: str
    severity: Literal["error", "warning"] = "error"
    where: str = ""

    @property
    def sentence(self) -> str:
        """The problem with its place in the plan, for people."""
        return f"{self.where}: {self.problem}" if self.where else self.problem


class ToolRules(NamedTuple):
    """The facts about a tool that validation needs.

    `check` gets the arguments with dollar signs unescaped and without references to other steps. `paths` are the
    names of the arguments that are workspace paths; of these, `writes` are the files that the call changes,
    `removes` those that it deletes or renames, `replaces` those whose whole content it sets. `texts` are the arguments
    that take a text alone. `result` is an example of its result: every field, one item of a list; None if unknown.
    `of_server`: it is a tool of an MCP server or a package, and no command.
    """

    effect: Effect
    check: Callable[[Args], Sequence[ArgumentProblem]]
    paths: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()
    result: Json = None
    of_server: bool = False


def problems(
    steps: Sequence[Step],
    tools: Mapping[str, ToolRules],
    *,
    sequential: bool = False,
    request: str | None = None,
    existing: Collection[str] = frozenset(),
    template_of: TemplateOf | None = None,
) -> tuple[Problem, ...]:
    """The errors and warnings of these steps, in the order of the steps.

    `request` is the user's text; without it no step is reported as unrequested. `existing` are the relative paths of
    the workspace's files. Without `template_of` the templates of sub-plans are not looked at.
    """
    if len(steps) > MOST_STEPS:
        text = f"The plan has {len(steps)} steps; at most {MOST_STEPS} are allowed."
        return (Problem(step_id=None, field="steps", problem=text),)
    links = dependency_graph(steps)
    masks = ancestor_masks(links, sequential=sequential)
    found = [*structure(steps), *_overlapping_writes(steps, tools, links, masks), *_repeated(steps)]
    wanted = None if request is None else destructive_words(request)
    for index, step in enumerate(steps):
        found += _too_large(step)
        found += _empty_fields(step)
        found += _tool(step, tools)
        found += _references(step, index, steps, tools, links, masks)
        found += _paths(step, tools)
        found += _expressions(step, index, links, masks)
        found += _loops(step, steps, tools, links)
        if template_of is not None and step.kind == "sub_plan":
            found += _template(step, tools, template_of)
        if request is not None and wanted is not None:
            found += _unrequested(step, tools, request, wanted, existing)
    place = {step.step_id: index for index, step in reversed(list(enumerate(steps)))}
    found.sort(key=lambda problem: -1 if problem.step_id is None else place[problem.step_id])
    return located(found, steps)


def located(found: Iterable[Problem], steps: Sequence[Step]) -> tuple[Problem, ...]:
    """The problems with their places among these steps."""
    numbered = {step.step_id: (number, step) for number, step in reversed([*enumerate(steps, start=1)])}
    return tuple(
        problem.model_copy(update={"where": _where(problem, *numbered[problem.step_id])})
        if problem.step_id in numbered
        else problem
        for problem in found
    )


def _where(problem: Problem, number: int, step: Step) -> str:
    named = f", {step.tool}" if problem.field.startswith("args") and step.tool else ""
    return f"Step {number}{named}"


def errors(found: Iterable[Problem]) -> tuple[Problem, ...]:
    """Only the problems that prevent approval."""
    return tuple(problem for problem in found if problem.severity == "error")


def _error(step: Step, field: str, text: str) -> Problem:
    return Problem(step_id=step.step_id, field=field, problem=text)


def _warning(step: Step, field: str, text: str) -> Problem:
    return Problem(step_id=step.step_id, field=field, problem=text, severity="warning")


def structure(steps: Sequence[Step]) -> Iterator[Problem]:
    """The errors in ids and dependencies, which are found without knowing the tools."""
    ids: set[StepId] = set()
    for step in steps:
        if not STEP_ID.fullmatch(step.step_id):
            yield _error(
                step,
                "stepId",
                f"{step.step_id!r} is not a step id; it must be a letter, then letters, digits and underscores.",
            )
        if step.step_id in ids:
            yield _error(step, "stepId", f"Two steps have the id {step.step_id!r}.")
        ids.add(step.step_id)
    for step in steps:
        for name in step.depends_on:
            if name not in ids:
                yield _error(step, "dependsOn", f"There is no step {name!r} to depend on.")
    ring = cycle(steps)
    if ring is not None:
        circle = " → ".join([*ring, ring[0]])
        yield Problem(
            step_id=ring[0],
            field="dependsOn",
            problem=f"These steps wait for each other in a circle: {circle}.",
        )


def _too_large(step: Step) -> Iterator[Problem]:
    sizes = (
        ("stepId", len(step.step_id), _LONGEST_ID),
        ("description", len(step.description), _LONGEST_DESCRIPTION),
        ("instruction", len(step.instruction), _LONGEST_INSTRUCTION),
    )
    for field, size, most in sizes:
        if size > most:
            yield _error(step, field, f"`{field}` has {size} characters; at most {most} are allowed.")
    if len(step.depends_on) > _MOST_DEPENDENCIES:
        yield _error(step, "dependsOn", f"At most {_MOST_DEPENDENCIES} dependencies are allowed.")
    if step.args is not None:
        size = sum(
            len(argument) if isinstance(argument, str) else len(json.dumps(argument))
            for argument in step.args.values()
        )
        if size > _LONGEST_ARGS:
            yield _error(
                step, "args", f"The arguments have {size} characters; at most {_LONGEST_ARGS} are allowed."
            )


def _empty_fields(step: Step) -> Iterator[Problem]:
    if not step.description.strip():
        yield _error(step, "description", "The description is empty; say what the step does.")
    if step.kind == "tool_call" and not step.tool:
        yield _error(step, "tool", "A tool call needs a tool.")
    if step.kind == "processing" and not step.instruction.strip():
        yield _error(step, "instruction", "The instruction is empty; say what to do.")
    if step.kind == "check" and not step.checks:
        yield _error(step, "checks", "A check needs something to check.")
    if step.kind == "sub_plan":
        yield from _sub_plan(step)
    if step.kind == "clarification" and not (step.question or "").strip():
        yield _error(step, "question", "A clarification needs a question.")


def _sub_plan(step: Step) -> Iterator[Problem]:
    if not step.template_id:
        yield _error(step, "templateId", "A sub-plan needs a template.")
    if step.for_each is not None:
        yield _error(step, "forEach", "A sub-plan can be repeated until a condition holds, not for items.")
    for name, value in (step.args or {}).items():
        # They become parts of commands and paths, which a result must not.
        if not isinstance(value, str | int | float) or output_reference(value) is not None:
            yield _error(step, f"args.{name}", "The parameters of a template are written out.")


def _template(step: Step, tools: Mapping[str, ToolRules], template_of: TemplateOf) -> Iterator[Problem]:
    """The problems that would keep a sub-plan from being unrolled, or its steps from running."""
    is_unrolled = bool(step.children) and step.repeat_until is None
    if not step.template_id or is_unrolled or step.status in SETTLED:
        return
    template = template_of(step.template_id)
    if template is None:
        yield _error(step, "templateId", f"There is no template {step.template_id!r}.")
        return
    # The parameters of a loop's first round stand for those of the others.
    steps = filled(step if step.repeat_until is None else for_round(step, ()), template)
    named = f"template “{template.name}”"
    if isinstance(steps, TemplateRefused):
        for name, problem in steps.problems:
            if name:
                yield _error(step, f"args.{name}", f"`{name}` of the {named}: {problem}.")
            else:
                yield _error(step, "templateId", f"The {named} cannot be used: {problem}.")
        return
    for each in errors(problems(steps, tools, sequential=template.sequential)):
        yield _error(step, "templateId", f"In the {named}, {each.sentence}")


def _tool(step: Step, tools: Mapping[str, ToolRules]) -> Iterator[Problem]:
    expected = [expected.tool for expected in step.tools_to_execute]
    for name in expected:
        if name not in tools:
            yield _warning(step, "toolsToExecute", f"There is no tool {name!r}.")
    if not step.tool:
        return
    rules = tools.get(step.tool)
    if rules is None:
        yield _error(
            step, "tool", f"There is no tool {step.tool!r}. The tools are: {', '.join(sorted(tools))}."
        )
        return
    if not may_use(step.agent, rules.effect):
        yield _error(step, "tool", f"{NAMES[step.agent]} may not use {step.tool}.")
    if step.kind != "tool_call":
        return
    args = step.args or {}
    open_fields = {name for name, _ in output_references(args)}
    if step.for_each is not None:
        open_fields |= {name for name, argument in args.items() if any(placeholders(argument))}
    known_args = {name: literal(argument) for name, argument in args.items() if name not in open_fields}
    for field, text in rules.check(known_args):
        # An argument whose value is not known yet cannot be checked, nor can the call as a whole.
        if field.split(".")[0] in open_fields or (not field and open_fields):
            continue
        yield _error(step, f"args.{field}" if field else "args", f"{text.removesuffix('.')}.")


def _references(
    step: Step,
    index: int,
    steps: Sequence[Step],
    tools: Mapping[str, ToolRules],
    links: DependencyGraph,
    masks: Sequence[int],
) -> Iterator[Problem]:
    for name, reference in output_references(step.args):
        target = links.index.get(reference.step_id)
        if target is None:
            text = f"There is no step {reference.step_id!r}; the argument is used as literal text."
            yield _warning(step, f"args.{name}", text)
        elif target == index or not masks[index] >> target & 1:
            text = f"It uses the result of {reference.step_id}, which does not always end before this step starts."
            yield _error(step, f"args.{name}", text)

        elif (part := _known_part(reference, steps[target], tools)) is not None:
            yield from _unfit(step, name, part, tools)
    for name, argument in (step.args or {}).items():
        for word in argument if isinstance(argument, list) else ():
            inner = output_reference(word)
            if inner is not None and inner.step_id in links.index:
                text = f"{word} within a list is literal text; only a whole argument is replaced by a result."
                yield _warning(step, f"args.{name}", text)


def _known_part(
    reference: OutputReference, source: Step, tools: Mapping[str, ToolRules]
) -> Part | NoPart | None:
    """The value of a reference in the result of a call, by the example of its tool; None if that is unknown."""
    rules = tools.get(source.tool or "")
    if rules is None or rules.result is None or source.kind != "tool_call":
        return None
    if source.is_loop:
        return None
    first = tuple(0 if isinstance(part, int) else part for part in reference.path)
    part = part_of(rules.result, reference.model_copy(update={"path": first}))
    if isinstance(part, NoPart):
        return NoPart(f"{part.problem}; the result of {source.tool} is {shape_of(rules.result)}")
    return part


def _unfit(step: Step, name: str, part: Part | NoPart, tools: Mapping[str, ToolRules]) -> Iterator[Problem]:
    """The error of an argument that cannot take the result that it refers to."""
    rules = tools.get(step.tool or "")
    if isinstance(part, NoPart):
        yield _error(step, f"args.{name}", f"{part.problem}.")
    elif rules is not None and not isinstance(part.value, str):
        # A list of paths could be made text, but no path.
        value = as_text(part.value) if name in rules.texts - set(rules.paths) else part.value
        if any(field.split(".")[0] == name for field, _ in rules.check({name: value})):
            yield _error(step, f"args.{name}", f"It cannot be {shape_of(part.value)}, which this result is.")


def _expressions(step: Step, index: int, links: DependencyGraph, masks: Sequence[int]) -> Iterator[Problem]:
    """The errors in the expressions of a step, with their columns, and in the steps whose results they read."""
    for field, text, names in _texts(step):
        try:
            expression = read(text, names)
        except Malformed as error:
            yield _error(step, field, f"{error}")
            continue
        for name in expression.steps:
            target = links.index.get(name)
            if target is None:
                yield _error(step, field, f"There is no step {name!r}.")
            elif target == index or not masks[index] >> target & 1:
                late = f"It uses the outcome of {name}, which does not always end before this step starts."
                yield _error(step, field, late)


def _texts(step: Step) -> Iterator[tuple[str, str, frozenset[Name]]]:
    """The expressions of a step, each with its field and the names that it can use."""
    if step.when is not None:
        yield "when", step.when, EVERYWHERE if step.for_each is None else EVERYWHERE | {"item", "index"}
    if step.repeat_until is not None:
        yield "repeatUntil", step.repeat_until, EVERYWHERE | {"last", "index"}
    for check in step.checks:
        if check.kind == "condition":
            yield "checks", check.text or "", EVERYWHERE
    if step.for_each is not None and not is_written_out(step.for_each):
        yield "forEach", step.for_each, EVERYWHERE


def _loops(
    step: Step, steps: Sequence[Step], tools: Mapping[str, ToolRules], links: DependencyGraph
) -> Iterator[Problem]:
    """The errors of a loop that are none of its expressions."""
    if step.for_each is not None:
        try:
            listed = written_out(step.for_each)
        except ValueError:
            yield _error(step, "forEach", "It is neither a JSON list nor an expression.")
        else:
            if isinstance(listed, list) and len(listed) > MOST_ITEMS:
                yield _error(
                    step, "forEach", f"It has {len(listed)} items; at most {MOST_ITEMS} are allowed."
                )
            if isinstance(listed, OutputReference):
                yield from _listed(step, listed, steps, tools, links)
        yield from _items_in_commands(step, tools)
    if step.for_each is not None and step.repeat_until is not None:
        yield _error(step, "repeatUntil", "A step loops over a list or until a condition holds, not both.")
    if step.repeat_most is not None and not 1 <= step.repeat_most <= MOST_ROUNDS:
        yield _error(step, "repeatMost", f"It is a number from 1 to {MOST_ROUNDS}.")
    if step.repeat_most is not None and step.repeat_until is None:
        yield _error(step, "repeatMost", "It needs a condition that ends the loop.")


def _listed(
    step: Step,
    listed: OutputReference,
    steps: Sequence[Step],
    tools: Mapping[str, ToolRules],
    links: DependencyGraph,
) -> Iterator[Problem]:
    """The error of a loop whose list is the result of a step."""
    target = links.index.get(listed.step_id)
    if target is None:
        yield _error(step, "forEach", f"There is no step {listed.step_id!r}.")
        return
    part = _known_part(listed, steps[target], tools)
    if isinstance(part, NoPart):
        yield _error(step, "forEach", f"{part.problem}.")
    elif part is not None and not isinstance(part.value, list):
        yield _error(step, "forEach", f"It needs a list; the result is {shape_of(part.value)}.")


def _items_in_commands(step: Step, tools: Mapping[str, ToolRules]) -> Iterator[Problem]:
    """Items can come from files and pages: put into a command line, one could be part of the program."""
    rules = tools.get(step.tool) if step.tool else None
    texts: list[tuple[str, Json]] = [("checks", check.command) for check in step.checks]
    for name, argument in (
        (step.args or {}).items()
        if rules is not None and rules.effect == "execute" and not rules.of_server
        else ()
    ):
        if isinstance(argument, list):
            # The first word is the program; another one may be an item as a whole.
            texts += [(f"args.{name}", argument[:1]), *((f"args.{name}", word) for word in argument[1:])]
        else:
            texts.append((f"args.{name}", argument))
    for field, text in texts:
        is_word = (
            field != "checks" and isinstance(text, str) and isinstance((step.args or {})[field[5:]], list)
        )
        if any(not (is_word and whole) for _, whole in placeholders(text)):
            problem = 'An item is given to a command as a word of its own: ["program", "{{item}}"].'
            yield _error(step, field, problem)


def _path_arguments(step: Step, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The arguments among `names` that are paths, not references to a result."""
    for name in names:
        argument = (step.args or {}).get(name)
        if isinstance(argument, str) and output_reference(argument) is None:
            yield name, str(literal(argument))


def _paths(step: Step, tools: Mapping[str, ToolRules]) -> Iterator[Problem]:
    rules = tools.get(step.tool) if step.tool else None
    named = [(f"args.{name}", path) for name, path in _path_arguments(step, rules.paths if rules else ())]
    named += [("expectedFiles", path) for path in step.expected_files]
    named += [("checks", check.path) for check in step.checks if check.path is not None]
    for field, path in named:
        if escapes(path):
            yield _error(step, field, f"{path!r} is outside the workspace.")


def _overlapping_writes(
    steps: Sequence[Step], tools: Mapping[str, ToolRules], links: DependencyGraph, masks: Sequence[int]
) -> Iterator[Problem]:
    writers: dict[str, list[int]] = {}
    for index, step in enumerate(steps):
        if links.index[step.step_id] != index:
            continue
        rules = tools.get(step.tool) if step.tool else None
        written = [path for _, path in _path_arguments(step, rules.writes if rules else ())]
        written += step.expected_files
        for path in dict.fromkeys(normal_path(path) for path in written):
            writers.setdefault(path, []).append(index)
    for path, places in writers.items():
        # In a topological order it is enough to compare neighbours: if each one waits for the one before it,
        # all are in order.
        places.sort(key=lambda index: (masks[index].bit_count(), index))
        for before, after in pairwise(places):
            if not masks[after] >> before & 1:
                other = steps[before].step_id
                text = f"{other} writes {path} too, and neither waits for the other; they will run one after the other."
                yield _warning(steps[after], "dependsOn", text)


def _repeated(steps: Sequence[Step]) -> Iterator[Problem]:
    first: dict[tuple[str, str, str], StepId] = {}
    for step in steps:
        if step.kind == "tool_call" and step.tool:
            key = ("tool_call", step.tool, json.dumps(step.args or {}, sort_keys=True))
        else:
            text = " ".join((step.description + "\0" + step.instruction).split()).casefold()
            key = (step.kind, text, step.question or "")
        if key in first:
            yield _warning(step, "description", f"It is the same as {first[key]}.")
        else:
            first[key] = step.step_id


def _unrequested(
    step: Step,
    tools: Mapping[str, ToolRules],
    request: str,
    wanted: frozenset[str],
    existing: Collection[str],
) -> Iterator[Problem]:
    """Warnings about destruction and hosts that the request does not mention; weak models invent them."""
    rules = tools.get(step.tool) if step.tool else None
    if rules is None or step.kind != "tool_call":
        if names_destruction(step.description) and not wanted:
            yield _warning(step, "description", "The request does not ask to delete anything.")
        return
    for name, path in _path_arguments(step, rules.removes):
        if not wanted or not _named(path, request):
            verb = "deletes" if rules.effect == "destroy" else "moves"
            yield _warning(step, f"args.{name}", f"It {verb} {path}, which the request does not ask for.")
    for name, path in _path_arguments(step, rules.replaces):
        if normal_path(path) in existing and not _named(path, request):
            text = f"It replaces the whole of {path}, which the request does not name."
            yield _warning(step, f"args.{name}", text)
    host = str((step.args or {}).get("url", "")).partition("://")[2].partition("/")[0]
    if rules.effect == "fetch" and host.casefold() not in request.casefold():
        yield _warning(step, "args.url", f"It fetches from {host}, which the request does not name.")
    command = (step.args or {}).get("command")
    if rules.effect == "execute" and not rules.of_server and not wanted and destructive_command(command):
        yield _warning(step, "args.command", "The command deletes, which the request does not ask for.")


def _named(path: str, request: str) -> bool:
    """Whether the request contains the path, or its last part."""
    text = request.casefold()
    whole = normal_path(path).casefold()
    return bool(whole) and (whole in text or whole.rpartition("/")[2] in text)
