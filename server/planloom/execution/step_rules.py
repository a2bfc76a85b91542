"""Checks the steps of plans against the tools, and marks those whose effect will be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planloom.domain.plans.covered_calls import stands_whole
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.plans.unrolling import TemplateOf
from planloom.domain.plans.validation import Problem, errors, problems
from planloom.domain.safety.confinement import Confinement
from planloom.domain.values import Json, PlanId
from planloom.execution.effects.command_approval import CommandProposal, is_harmless
from planloom.execution.effects.proposals import is_plain
from planloom.execution.session import Session
from planloom.tools.confinement.abilities import abilities
from planloom.tools.processes.commands import Command
from planloom.tools.registry import Registry
from planloom.workspace.paths.resolver import ResolvedPath, resolve


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

    def with_approvals(self, steps: Sequence[Step], *, reviewed: bool = True) -> tuple[Step, ...]:
        """The steps, each with whether the policy asks before its tool's effect, once a person has approved the plan
        if it is `reviewed`.
        """
        policy = self._session.settings.approvals.policy()
        reviewed = reviewed and policy.plan == "literal"
        marked: list[Step] = []
        written: set[Path] = set()
        for step in steps:
            tool = self._tools.get(step.tool or "")
            asks = tool is not None and policy.verdict(tool.effect) == "ask"
            asks = asks and not (reviewed and stands_whole(step) and self._is_covered(step, written))
            if step.requires_approval == asks:
                marked.append(step)
            else:
                marked.append(step.model_copy(update={"requires_approval": asks}))
        return tuple(marked)

    def _is_covered(self, step: Step, written: set[Path]) -> bool:
        """Whether the approval of the plan will cover a literal call, by what can be known before it runs.

        `written` are the files of earlier steps, to which this one's is added.
        """
        args = step.args or {}
        if step.tool == "run_command":
            return self._is_harmless(args.get("command"), in_background=bool(args.get("background")))
        if step.tool not in ("write_file", "create_folder"):
            return False
        path = str(args.get("path"))
        place = resolve(self._session.view.roots, path, for_="write")
        if not isinstance(place, ResolvedPath) or place.path in written:
            return False
        written.add(place.path)
        is_new = not place.exists or (step.tool == "create_folder" and place.path.is_dir())
        return is_new and is_plain(place, path)

    def _is_harmless(self, text: Json, *, in_background: bool) -> bool:
        line, argv = (text, ()) if isinstance(text, str) else (None, tuple(map(str, _listed(text))))
        command = Command(
            cwd=Path(),
            folder="",
            timeout_seconds=None,
            line=line,
            argv=argv,
            background=in_background,
            confinement=Confinement(network=self._session.settings.commands.network),
        )
        has = self._session.command_abilities(abilities())
        return is_harmless(CommandProposal(PlanId(""), None, "", command, has))


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
