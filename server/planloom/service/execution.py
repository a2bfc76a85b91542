"""What carries plans out, and what a model needs to write them: made when a plan first needs it.

Most of the program's code is behind this module: the gate, commands, the tools of steps, the agent and its prompts.
"""

from __future__ import annotations

from functools import partial

from planloom.execution.commands.background import BackgroundCommands
from planloom.execution.commands.changes import CommandChanges
from planloom.execution.commands.running import Terminal
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.recovery_proposals import ModelProposer
from planloom.execution.steps.attached_files import StepAttachments
from planloom.execution.steps.literal_calls import LiteralCalls
from planloom.execution.steps.model_work import ModelWork, SubmittedPlans
from planloom.execution.steps.runner import Runner, Work
from planloom.execution.steps.tool_contexts import StepEffects, ToolContextFactory
from planloom.service.drafts.followup import FollowUp
from planloom.service.drafts.planning_conversations import PlanningConversations
from planloom.service.drafts.surroundings import PlanSurroundings
from planloom.service.memory import Memory
from planloom.service.parts import Parts


class Execution:
    """The gate, the runner of steps, and the conversations with models. `submitted` puts a direct run to review."""

    def __init__(self, parts: Parts, memory: Memory, submitted: SubmittedPlans) -> None:
        session, plan_store, tools = parts.session, parts.plan_store, parts.tools
        self.gate = Gate(session, plan_store, partial(parts.feed.notice, "warning"))
        staging = StagingArea(plan_store, session.view, self.gate, parts.applied_edits)
        changes = CommandChanges(session, plan_store, self.gate, parts.workspace_index)
        self.background = BackgroundCommands(session, plan_store, parts.jobs, parts.workspace_index, changes)
        terminal = Terminal(
            self.gate, staging, parts.saver, parts.workspace_index, self.background, parts.feed.waits
        )
        contexts = ToolContextFactory(
            session,
            parts.workspace_index,
            StepEffects(self.gate, staging, terminal),
            tools,
            parts.rules,
            parts.feed.stream_step,
        )
        follow_up = FollowUp(plan_store, parts.ledger)
        self.surroundings = PlanSurroundings(
            session,
            parts.workspace_index,
            parts.references,
            follow_up,
            memory,
            partial(parts.feed.notice, "warning"),
        )
        model = parts.models.current
        model_work = ModelWork(
            model, staging, contexts, self.surroundings.of, parts.feed.stream_step, submitted
        )
        self.conversations = PlanningConversations(session, contexts, model_work.threads, terminal)
        self.runner = Runner(
            session,
            plan_store,
            staging,
            StepAttachments(session, plan_store, parts.references, model),
            Work(LiteralCalls(tools, staging, contexts), model_work, self.gate, parts.templates.find),
            contexts,
        )
        self.proposer = ModelProposer(session, model, tools.before_commands(), parts.rules)
