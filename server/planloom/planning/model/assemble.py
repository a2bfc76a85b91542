"""Turns the steps that a model wrote into steps of a plan: valid ids, resolved references, defaults."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from pydantic import ValidationError

from planloom.domain.plans.agents import Agent
from planloom.domain.plans.graph import cycle, execution_order
from planloom.domain.plans.outputs import STEP_ID, renamed, renamed_in_expression, renamed_in_list
from planloom.domain.plans.plan import Check, ExpectedTool, Priority, Step, StepKind
from planloom.domain.plans.validation import ToolRules
from planloom.domain.values import Json, StepId, TemplateId
from planloom.planning.formats.draft import DraftStep
from planloom.planning.wording import active_form, agent_for, description_of

_AGENTS: Mapping[str, Agent] = {"chapo": "chapo", "koda": "koda", "devo": "devo"}
_PRIORITIES: Mapping[str, Priority] = {
    "critical": "critical",
    "urgent": "critical",
    "high": "high",
    "normal": "normal",
    "medium": "normal",
    "low": "low",
}
_KINDS: Mapping[str, StepKind] = {
    "toolcall": "tool_call",
    "tool": "tool_call",
    "processing": "processing",
    "instruction": "processing",
    "clarification": "clarification",
    "question": "clarification",
    "check": "check",
    "approval": "approval",
    "subplan": "sub_plan",
    "template": "sub_plan",
}
_NUMBER = re.compile(r"#?(?:step|task)?[ _#-]*([0-9]{1,6})", re.IGNORECASE)
_INVALID = re.compile(r"[^A-Za-z0-9_]+")
_LONGEST_ID = 60
_LONGEST_ACTIVE_FORM = 120


class StepBuilder:
    """Builds steps one by one as they are read, so that a step announced early keeps its id.

    `taken` are the ids of steps that stay in the plan; `tools` decides on approvals and agents.
    """

    def __init__(self, tools: Mapping[str, ToolRules], taken: Collection[StepId] = ()) -> None:
        self._tools = tools
        self._taken: set[str] = set(taken)
        self._ids: dict[str, StepId] = {str(step_id): step_id for step_id in taken}
        self._order: list[StepId] = []
        self._drafts: list[DraftStep] = []
        self._blocked: Mapping[StepId, Sequence[StepId]] = {}

    def add(self, draft: DraftStep) -> Step:
        """Add a step. Returns it without its references to later steps."""
        step_id = self._new_id(draft.raw_id)
        if draft.raw_id is not None:
            self._ids.setdefault(draft.raw_id, step_id)
        self._order.append(step_id)
        self._drafts.append(draft)
        return self._step(len(self._drafts) - 1, final=False)

    def steps(self) -> tuple[Step, ...]:
        """All steps with their references resolved, in topological order unless they form a cycle."""
        self._blocked = self._blocked_steps()
        built = tuple(self._step(index, final=True) for index in range(len(self._drafts)))
        return built if cycle(built) is not None else execution_order(built)

    @property
    def sequential(self) -> bool:
        """Whether no step names dependencies, so that the steps run in their order."""
        return all(draft.depends_on is None and not draft.blocks for draft in self._drafts)

    def _new_id(self, raw: str | None) -> StepId:
        step_id = _valid_id(raw) if raw is not None else ""
        if not step_id or step_id in self._taken:
            number = len(self._drafts) + 1
            while f"step_{number}" in self._taken:
                number += 1
            step_id = f"step_{number}"
        self._taken.add(step_id)
        return StepId(step_id)

    def _step(self, index: int, *, final: bool) -> Step:
        draft = self._drafts[index]
        rules = self._tools.get(draft.tool or "")
        kind = _kind(draft, known=rules is not None)
        tool = draft.tool if kind == "tool_call" else None
        args = renamed(draft.args, self._ids) if tool or kind == "sub_plan" else None
        description = description_of(draft.description)
        return Step(
            step_id=self._order[index],
            description=description,
            instruction=draft.instruction,
            active_form=_one_line(draft.active_form) or active_form(description),
            kind=kind,
            agent=self._agent(draft, rules),
            tool=tool,
            args=(args or {}) if tool else args,
            depends_on=self._dependencies(index, final=final),
            priority=_PRIORITIES.get((draft.priority or "").lower(), "normal"),
            critical=draft.critical,
            requires_approval=rules is not None and tool is not None and rules.effect != "read",
            question=(draft.question or draft.instruction) if kind == "clarification" else draft.question,
            checks=tuple(_checks(draft.checks)),
            expected_files=draft.expected_files or _written(args, rules),
            tools_to_execute=self._expected(draft, tool),
            when=renamed_in_expression(draft.when, self._ids),
            for_each=renamed_in_list(draft.for_each, self._ids),
            repeat_until=renamed_in_expression(draft.repeat_until, self._ids),
            repeat_most=draft.repeat_most if draft.repeat_until else None,
            template_id=TemplateId(draft.template) if draft.template and kind == "sub_plan" else None,
        )

    def _expected(self, draft: DraftStep, tool: str | None) -> tuple[ExpectedTool, ...]:
        """The tools that a step in words will probably use; the author may have named one without its arguments."""
        if tool is not None:
            return ()
        named = list(draft.expected_tools)
        if draft.tool is not None and all(each.tool != draft.tool for each in named):
            named.insert(0, ExpectedTool(tool=draft.tool))
        return tuple(
            each.model_copy(update={"args": renamed(each.args, self._ids)})
            for index, each in enumerate(named)
            if each.tool in self._tools and each not in named[:index]
        )

    def _agent(self, draft: DraftStep, rules: ToolRules | None) -> Agent:
        named = _AGENTS.get((draft.agent or "").strip().lower())
        if named is not None:
            return named
        if rules is not None:
            return "devo" if rules.effect == "execute" else "koda"
        effects = {self._tools[each.tool].effect for each in self._expected(draft, None)}
        writes = bool(draft.expected_files or effects & {"write", "destroy"})
        if "execute" in effects and not writes:
            return "devo"
        return agent_for(draft.description, draft.instruction, writes=writes)

    def _dependencies(self, index: int, *, final: bool) -> tuple[StepId, ...]:
        found: list[StepId] = []
        for name in self._drafts[index].depends_on or ():
            step_id = self._resolved(name)
            if step_id is not None:
                found.append(step_id)
            elif final:
                # Kept unchanged; validation reports it.
                found.append(StepId(name))
        found.extend(self._blocked.get(self._order[index], ()))
        return tuple(dict.fromkeys(found))

    def _blocked_steps(self) -> Mapping[StepId, Sequence[StepId]]:
        """The steps that others say to block, each with those others."""
        blocked: dict[StepId, list[StepId]] = {}
        for blocker, draft in zip(self._order, self._drafts, strict=True):
            for name in draft.blocks:
                step_id = self._resolved(name)
                if step_id is not None:
                    blocked.setdefault(step_id, []).append(blocker)
        return blocked

    def _resolved(self, name: str) -> StepId | None:
        """The step that a dependency names: by its id as written, its valid form, or its number from 1."""
        known = self._ids.get(name) or self._ids.get(name.lstrip("$#").strip())
        if known is not None:
            return known
        valid = _valid_id(name)
        for step_id in self._order:
            if step_id == valid:
                return step_id
        number = _NUMBER.fullmatch(name.strip())
        if number is not None and 1 <= int(number[1]) <= len(self._order):
            return self._order[int(number[1]) - 1]
        return None


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_ACTIVE_FORM]


def _valid_id(raw: str) -> str:
    """The valid form of an id: other characters become an underscore, a number gets the prefix "step_"."""
    text = _INVALID.sub("_", raw.strip()).strip("_")[:_LONGEST_ID]
    if text.isdigit():
        return f"step_{int(text)}"
    if text and not text[0].isalpha():
        text = f"step_{text}"
    return text if STEP_ID.fullmatch(text) else ""


def _kind(draft: DraftStep, *, known: bool) -> StepKind:
    """The kind of step: the one that the draft names if its fields fit it, else the one that its fields suggest."""
    named_kind = _KINDS.get(re.sub(r"[^a-z]", "", (draft.kind or "").lower()))
    if named_kind == "sub_plan" or (named_kind is None and draft.template and draft.tool is None):
        return "sub_plan"
    if named_kind == "clarification" or (named_kind is None and draft.question and draft.tool is None):
        return "clarification"
    if named_kind == "processing" or (named_kind == "check" and draft.checks) or named_kind == "approval":
        return named_kind
    if named_kind == "check":
        return "processing"
    if draft.tool is None:
        return "tool_call" if named_kind == "tool_call" else "processing"
    # A tool without arguments is only a hint.
    return "tool_call" if draft.args is not None or named_kind == "tool_call" or not known else "processing"


def _checks(raw: Sequence[Json]) -> list[Check]:
    """Those that make sense."""
    found: list[Check] = []
    for check in raw:
        given = check
        if isinstance(check, dict):
            given = {name: check.get(name) for name in ("kind", "path", "text", "command")}
            given["kind"] = given["kind"] or check.get("type")
        try:
            found.append(Check.model_validate(given))
        except ValidationError:
            continue
    return found


def _written(args: Mapping[str, Json] | None, rules: ToolRules | None) -> tuple[str, ...]:
    """The paths that a call writes, without references to results."""
    if rules is None or args is None:
        return ()
    named = [args.get(name) for name in rules.writes if name not in rules.removes]
    return tuple(path for path in named if isinstance(path, str) and path and not path.startswith("$"))
