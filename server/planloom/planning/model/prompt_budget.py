"""What of a request fits a model's context beside its system prompt: all of the words, the rest as there is room."""

from __future__ import annotations

from typing import NamedTuple

from planloom.domain.errors import ContextOverflow
from planloom.intake.render import Rendered, render
from planloom.models.port import Capabilities, Image
from planloom.planning.model.prompts import request_prompt
from planloom.planning.model.snapshot import shortened_lines
from planloom.planning.perspective_reports import told_of
from planloom.planning.port import PlanningRequest

CHARACTERS_PER_TOKEN = 3
"""A cautious estimate for prompts before a model's own counts are known."""
SMALL_CONTEXT = 8_192
"""Tokens of a context below which a prompt has to be brief."""
_SNAPSHOT_SHARE = 0.15
_VIEWS_SHARE = 0.4
_SNAPSHOT_CHARACTERS = 8_000
_LABELS = 2_000
"""Characters kept for what stands around attachments."""


class RenderedPrompt(NamedTuple):
    """The text that tells of a request, and the images beside it."""

    text: str
    images: tuple[Image, ...]


def fitting_prompt(
    request: PlanningRequest, around: int, capabilities: Capabilities, *, kept_tokens: int
) -> RenderedPrompt:
    """Tell of a request, the reports on it, its attachments and the workspace.

    `around` is how many characters the prompt has beside this; `kept_tokens` of the context are left free.
    Raises ContextOverflow where the user's words alone do not fit.
    """
    room = None
    if capabilities.context_tokens is not None:
        room = max(0, capabilities.context_tokens - kept_tokens) * CHARACTERS_PER_TOKEN - around
    fixed = len(request_prompt(request, Rendered(""), ""))
    if room is not None and room < fixed:
        raise ContextOverflow(
            "The request does not fit the model's context beside the planner's own prompt.",
            hint="Shorten the request, or configure a model with a larger context (model.contextTokens).",
        )
    spare = None if room is None else room - fixed
    views = told_of(request.perspectives, None if spare is None else int(spare * _VIEWS_SHARE))
    snapshot = shortened_lines(request.snapshot, None if spare is None else int(spare * _SNAPSHOT_SHARE))
    left = None if spare is None else max(0, spare - len(views) - len(snapshot) - _LABELS)
    attached = [*([request.instructions] if request.instructions else []), *request.attachments]
    rendered = render(attached, most_characters=left, images=capabilities.images)
    return RenderedPrompt(request_prompt(request, rendered, snapshot, views), rendered.images)


def snapshot_characters(context_tokens: int | None) -> int:
    """How much of a workspace is worth telling a model with this context; None if that is unknown."""
    if context_tokens is None:
        return _SNAPSHOT_CHARACTERS
    return min(_SNAPSHOT_CHARACTERS, int(context_tokens * CHARACTERS_PER_TOKEN * _SNAPSHOT_SHARE))
