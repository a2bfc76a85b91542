"""What is attached to a step, looked at again before it starts: a file that is gone is asked for, a new text told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from planloom.domain.events import catalog as ev
from planloom.domain.plans.attachments import Attachment, ResolvedAttachment, Unresolved
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import AttachmentId, PlanId, Sha256
from planloom.execution.plan_store import PlanStore
from planloom.execution.steps.results import Asked

Look = Callable[[Attachment], Awaitable[ResolvedAttachment | Unresolved | None]]
"""What an attachment holds now; None if that is what was attached."""
Find = Callable[[str], Awaitable[Sequence[ResolvedAttachment]]]
"""What a reference names now."""


class StepAttachments:
    """The attachments of steps as they are when a step starts."""

    def __init__(
        self,
        plan_store: PlanStore,
        look: Look,
        find: Find,
        kept: Callable[[Attachment], ResolvedAttachment],
        render: Callable[[Sequence[ResolvedAttachment]], Awaitable[str]],
    ) -> None:
        self._plan_store = plan_store
        self._look = look
        self._find = find
        self._kept = kept
        self._render = render
        self._told: set[tuple[PlanId, AttachmentId, Sha256 | None]] = set()

    async def of(self, plan: Plan, step: Step) -> str | Asked:
        """The text of a step's attachments, or the question for one that is gone.

        A step that names none is shown all of the plan's; a tool call reads none, but those that it names must
        be there.
        """
        if step.kind == "tool_call" and not step.attachments:
            return ""
        wanted = step.attachments or tuple(each.attachment_id for each in plan.attachments)
        found: list[ResolvedAttachment] = []
        for attachment in plan.attachments:
            if attachment.attachment_id not in wanted:
                continue
            now = await self._look(attachment)
            if now is None:
                found.append(self._kept(attachment))
            elif isinstance(now, ResolvedAttachment):
                self._say_changed(plan, step, now)
                found.append(now)
            elif not _went_with_us(plan, attachment):
                instead = await self._instead(step, attachment, now)
                if isinstance(instead, Asked):
                    return instead
                found += instead
        return await self._render(found) if found and step.kind != "tool_call" else ""

    async def _instead(
        self, step: Step, attachment: Attachment, gone: Unresolved
    ) -> Asked | Sequence[ResolvedAttachment]:
        """What the user named in place of what is gone; the question, where it was not asked yet."""
        question = question_for(attachment, gone)
        answer = _answer(step, question)
        if answer is None:
            return Asked(question=question)
        reference = answer if answer.startswith(("@", "http://", "https://")) else f'@"{answer}"'
        # An answer in other words stands in the instruction, where the model reads it.
        return await self._find(reference)

    def _say_changed(self, plan: Plan, step: Step, now: ResolvedAttachment) -> None:
        attachment = now.attachment
        key = (plan.plan_id, attachment.attachment_id, attachment.sha256)
        if key in self._told:
            return
        self._told.add(key)
        message = f"{attachment.reference} has changed since it was attached; the step gets it as it is now."
        self._plan_store.record(plan.plan_id, ev.Log(level="info", message=message, task_id=step.step_id))


def question_for(attachment: Attachment, gone: Unresolved) -> str:
    """What the user is asked about an attachment that is gone or cannot be read."""
    shown = attachment.reference if gone.code == "not_found" else f"{attachment.reference} ({gone.message})"
    return f"The attachment {shown} cannot be read any more. Which other path or link should be used instead?"


def _answer(step: Step, question: str) -> str | None:
    """The answer that was merged into the instruction, if the question was asked."""
    _, asked, after = step.instruction.rpartition(f"{question}\nAnswer: ")
    if not asked:
        return None
    return after.partition("\n")[0].strip()


def _went_with_us(plan: Plan, attachment: Attachment) -> bool:
    """Whether the plan itself has moved or removed the file: then nobody needs to be asked."""
    return any(
        file.uri == attachment.uri and file.change in ("delete", "rename")
        for edit in plan.edits
        if edit.state == "applied"
        for file in edit.files
    )
