"""Re-reads a step's attachments before it starts: asks the user about missing ones, and logs changed ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from planloom.domain.events import catalog as ev
from planloom.domain.plans.attachments import Attachment, ResolvedAttachment, Unresolved, images_of, not_shown
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import AttachmentId, PlanId, Sha256
from planloom.execution.plan_store import PlanStore
from planloom.execution.prompting.context_window import shares_of
from planloom.execution.session import Session
from planloom.execution.step_outcomes import Asked
from planloom.execution.steps.fetches import LinkedImages
from planloom.intake.render import Rendered, render
from planloom.models.port import Capabilities, Model
from planloom.tools.fetch_url import Fetcher


class AttachmentSource(Protocol):
    """Where attachments come from: the workspace as it is now, and the texts kept when they were attached."""

    async def look_again(self, attachment: Attachment) -> ResolvedAttachment | Unresolved | None:
        """Re-read an attachment; None if its text is unchanged. Images are read each time."""
        ...

    async def find(self, reference: str) -> Sequence[ResolvedAttachment]:
        """Resolve a reference to attachments."""
        ...

    def attached(self, attachments: Sequence[Attachment]) -> tuple[ResolvedAttachment, ...]:
        """The attachments with their texts at the time when they were attached."""
        ...


class StepAttachments:
    """The attachments of steps, as they are when the step starts."""

    def __init__(
        self,
        session: Session,
        plan_store: PlanStore,
        source: AttachmentSource,
        model: Callable[[], Awaitable[Model | None]],
    ) -> None:
        """`model` is the one whose context the attachments must fit."""
        self._session = session
        self._plan_store = plan_store
        self._source = source
        self._model = model
        self._linked_images = LinkedImages(plan_store)
        self._logged: set[tuple[PlanId, AttachmentId, Sha256 | None]] = set()

    async def of(self, plan: Plan, step: Step, pages: Fetcher) -> Rendered | Asked:
        """A step's attachments as a prompt shows them, or the question about a missing one. Raises CancelledByUser.

        A step without attachments of its own gets all of the plan's. Only a step for a model gets their text, but the
        attachments that another names must exist.
        """
        for_model = step.kind == "processing"
        all_of_plan = (each.attachment_id for each in plan.attachments if for_model)
        wanted = frozenset(step.attachments or all_of_plan)
        if not wanted:
            return Rendered("")
        found: list[ResolvedAttachment] = []
        model = await self._model() if for_model else None
        capabilities = await model.capabilities() if model is not None else Capabilities()
        for attachment in plan.attachments:
            if attachment.attachment_id not in wanted:
                continue
            if capabilities.images and attachment.kind == "image" and attachment.of_web:
                found.append(await self._linked_images.of(plan, attachment, pages))
                continue
            now = await self._source.look_again(attachment)
            if now is None:
                found += self._source.attached((attachment,))
            elif isinstance(now, ResolvedAttachment):
                if now.attachment != attachment:
                    self._log_change(plan, step, now)
                found.append(now)
            elif not _removed_by_plan(plan, attachment):
                replacement = await self._replacement(plan, step, attachment, now)
                if isinstance(replacement, Asked):
                    return replacement
                found += replacement
        if not found or not for_model:
            return Rendered("")
        unseen = () if model is None or capabilities.images else images_of(found)
        # The draft of a plan says it too.
        if unseen and plan.route == "direct":
            self._plan_store.record(
                plan.plan_id, ev.Log(level="warning", message=not_shown(unseen), step_id=step.step_id)
            )
        shares = shares_of(capabilities, self._session.settings)
        return render(tuple(found), most_characters=shares.attached_characters, images=capabilities.images)

    async def _replacement(
        self, plan: Plan, step: Step, attachment: Attachment, gone: Unresolved
    ) -> Asked | Sequence[ResolvedAttachment]:
        """The attachments that the user named instead of a missing one; the question, if no step has asked it yet."""
        question = question_for(attachment, gone)
        answers = {each.step_id: each.answer for each in plan.asked if each.question == question}
        answer = answers.get(step.step_id) or next(filter(None, answers.values()), None)
        if answer is None:
            return Asked(question=question)
        answer = answer.strip().partition("\n")[0]
        reference = answer if answer.startswith(("@", "http://", "https://")) else f'@"{answer}"'
        # An answer that is not a reference stands in the task, where the model reads it.
        return await self._source.find(reference)

    def _log_change(self, plan: Plan, step: Step, now: ResolvedAttachment) -> None:
        attachment = now.attachment
        key = (plan.plan_id, attachment.attachment_id, attachment.sha256)
        if key in self._logged:
            return
        self._logged.add(key)
        message = (
            f"{attachment.reference} has changed since it was attached; the step uses its current content."
        )
        self._plan_store.record(plan.plan_id, ev.Log(level="info", message=message, step_id=step.step_id))


def question_for(attachment: Attachment, gone: Unresolved) -> str:
    """The question to the user about an attachment that is missing or cannot be read."""
    shown = attachment.reference if gone.code == "not_found" else f"{attachment.reference} ({gone.message})"
    return f"The attachment {shown} cannot be read any more. Which other path or link should be used instead?"


def _removed_by_plan(plan: Plan, attachment: Attachment) -> bool:
    """Whether the plan itself has renamed or deleted the file, so that the user need not be asked."""
    return any(
        file.uri == attachment.uri and file.change in ("delete", "rename")
        for edit in plan.edits
        if edit.state == "applied"
        for file in edit.files
    )
