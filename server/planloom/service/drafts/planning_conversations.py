"""Begins the conversation in which a model plans, so that the steps of the plan can continue it."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from planloom.agent.answer_decoder import mode_of
from planloom.agent.conversation import NEW_THREAD, Thread
from planloom.agent.investigation import Opening
from planloom.agent.loop import controls_of, frame_of
from planloom.agent.prompts import user_messages
from planloom.domain.plans.plan import Plan
from planloom.domain.plans.templates import Template
from planloom.execution.commands.planning import Answers, PlanningCommands, offered
from planloom.execution.commands.running import Terminal
from planloom.execution.prompting.context_window import opening_sections, shared_characters, shares_of
from planloom.execution.prompting.threads import PlanThreads
from planloom.execution.session import Session
from planloom.execution.steps.tool_contexts import ToolContextFactory
from planloom.intake.render import render
from planloom.intake.surroundings.runners import named_commands
from planloom.intake.surroundings.sections import PROJECT_INSTRUCTIONS
from planloom.models.port import Model
from planloom.models.tokens import TokenCounter
from planloom.planning.model.prompts import planning_rules
from planloom.planning.port import PlanningRequest
from planloom.tools.context import ToolContext
from planloom.tools.registry import Registry


class PlanningConversations:
    """Builds the openings of planning conversations, and keeps what becomes of them for the steps."""

    def __init__(
        self,
        session: Session,
        context_factory: ToolContextFactory,
        threads: PlanThreads,
        terminal: Terminal,
    ) -> None:
        self._session = session
        self._context_factory = context_factory
        self._threads = threads
        self._terminal = terminal
        self._answers: Answers = {}

    def context(self, plan: Plan, runs: Sequence[str] = ()) -> ToolContext:
        """The context of tools before the plan is approved: those that read, and these commands."""
        context = self._context_factory.reading(plan)
        if runs:
            context.commands = PlanningCommands(self._session, self._terminal, plan, runs, self._answers)
        return context

    async def for_models(self, plan: Plan, tools: Registry) -> Registry:
        """The tools, of which the plan's models are shown those that can work in this workspace and editor."""
        return await self._context_factory.for_models(plan, tools)

    async def opening(
        self, model: Model, plan: Plan, request: PlanningRequest, templates: Sequence[Template]
    ) -> Opening | None:
        """The opening for a plan that is drafted next; None if its steps would not continue the conversation.

        They do if the model takes tools, has the room, and the settings share conversations. A lean model plans with
        tools that read alone: it is small, and calls what it is offered.
        """
        settings, can = self._session.settings, await model.capabilities()
        mode = mode_of(can)
        if mode != "native" or can.lean or not settings.context.share_conversation:
            return None
        of_plan = self._context_factory.offered_tools(plan)
        tools = await self.for_models(plan, of_plan)
        shares = shares_of(can, settings)
        attached = render(request.attachments, most_characters=shares.attached_characters, images=can.images)
        sections = opening_sections(plan, request.surroundings, shares, attached)
        shown = tuple(section for section in sections if section.text)
        frame = TokenCounter().request(frame_of(plan, tools, can))
        most = shared_characters(shares_of(can, settings, frame).room)
        if sum(len(section.shown) for section in shown) > most:
            return None
        messages = user_messages(plan, unread=True)

        def keep(thread: Thread) -> None:
            # The planner has read these as feedback, so that the steps need not be sent them again.
            sent = MappingProxyType({**thread.sent, **{each.name: each for each in messages}})
            planned = thread._replace(sent=sent, planned=plan.version + 1)
            self._threads.planned(plan.plan_id, planned, model.identity)

        thread = self._threads.planning(plan.plan_id, model.identity, most)
        if PROJECT_INSTRUCTIONS in thread.sent and PROJECT_INSTRUCTIONS not in {each.name for each in shown}:
            # The workspace is no longer trusted, so nothing in it may instruct the model any more.
            thread = NEW_THREAD
        commands = (*request.surroundings.tests, *named_commands(plan.request))
        runs = await offered(self._session, commands)
        rules = planning_rules(tools, settings.planning.system_prompt, templates, runs)
        return Opening(rules, tools, controls_of(plan, tools, mode), shown, keep, thread, runs)
