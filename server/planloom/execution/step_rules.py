"""Checks the steps of plans against the tools, and marks those whose effect will be asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

from planloom.domain.plans.covered_calls import stands_whole
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.plans.unrolling import TemplateOf
from planloom.domain.plans.validation import Problem, errors, problems
from planloom.domain.safety.confinement import Confinement
from planloom.domain.values import Json, PlanId, StepId
from planloom.execution.effects.command_approval import CommandProposal, is_harmless
from planloom.execution.effects.proposals import is_plain
from planloom.execution.session import Session
from planloom.tools.confinement.abilities import abilities
from planloom.tools.processes.commands import Command
from planloom.tools.registry import Registry
from planloom.workspace.paths.resolver import ResolvedPath, Resolver


class StepRules:
    """The rules for steps that follow from the tools of this version, the templates that there are, and the approval
    policy of the settings.

    The mark of a step is for the person who reviews the plan; the gate decides anew when the effect is due.
    """

    def __init__(self, session: Session, tools: Registry, template_of: TemplateOf) -> None:
        self._session = session
        self._tools = tools
        self._template_of = template_of

    def problems(self, plan: Plan, steps: Sequence[Step]) -> tuple[Problem, ...]:
        """The errors and warnings of steps that are to replace those of the plan."""
        return self._problems(steps, sequential=plan.sequential)

    def errors(self, plan: Plan, steps: Sequence[Step]) -> tuple[Problem, ...]:
        """Only the problems that prevent approval."""
        return errors(self.problems(plan, steps))

    def errors_of_new(self, steps: Sequence[Step]) -> tuple[Problem, ...]:
        """The problems that prevent approval of steps which are to become a new plan."""
        return errors(self._problems(steps, sequential=False))

    def _problems(self, steps: Sequence[Step], *, sequential: bool) -> tuple[Problem, ...]:
        return problems(steps, self._tools.rules(), sequential=sequential, template_of=self._template_of)

    def with_approvals(self, steps: Sequence[Step], covered: Collection[StepId] = ()) -> tuple[Step, ...]:
        """The steps, each with whether the policy asks before its tool's effect, which it does not if it is covered."""
        policy = self._session.settings.approvals.policy()
        marked: list[Step] = []
        for step in steps:
            tool = self._tools.get(step.tool or "")
            asks = tool is not None and policy.verdict(tool.effect) == "ask" and step.step_id not in covered
            if step.requires_approval == asks:
                marked.append(step)
            else:
                marked.append(step.model_copy(update={"requires_approval": asks}))
        return tuple(marked)

    async def for_review(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """The steps, each with whether the policy still asks once a person has approved the plan."""
        literal = self._session.settings.approvals.policy().plan == "literal"
        whole = [step for step in steps if literal and stands_whole(step)]
        covered = {step.step_id for step in whole if step.tool == "run_command" and self._is_harmless(step)}
        if writing := [step for step in whole if step.tool in ("write_file", "create_folder")]:
            covered |= await asyncio.to_thread(_new_places, Resolver(self._session.view.roots), writing)
        return self.with_approvals(steps, covered)

    def _is_harmless(self, step: Step) -> bool:
        args = step.args or {}
        text = args.get("command")
        line, argv = (text, ()) if isinstance(text, str) else (None, tuple(map(str, _listed(text))))
        command = Command(
            cwd=Path(),
            folder="",
            timeout_seconds=None,
            line=line,
            argv=argv,
            background=bool(args.get("background")),
            confinement=Confinement(network=self._session.settings.commands.network),
        )
        has = self._session.command_abilities(abilities())
        return is_harmless(CommandProposal(PlanId(""), None, "", command, has))


def _new_places(resolver: Resolver, steps: Sequence[Step]) -> set[StepId]:
    """The steps that make a plain file or folder where the disk has none yet and no earlier step writes."""
    new: set[StepId] = set()
    written: set[Path] = set()
    for step in steps:
        path = str((step.args or {}).get("path"))
        place = resolver.path(path, for_="write")
        if not isinstance(place, ResolvedPath) or place.path in written:
            continue
        written.add(place.path)
        is_new = not place.exists or (step.tool == "create_folder" and place.path.is_dir())
        if is_new and is_plain(place, path):
            new.add(step.step_id)
    return new


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
