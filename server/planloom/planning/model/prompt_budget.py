"""Fits the user prompt of a planner into the model's context: the request in full, everything else by share."""

from __future__ import annotations

from typing import NamedTuple

from planloom.agent.findings import reports_text
from planloom.agent.prompt_frame import section
from planloom.domain.errors import ContextOverflow
from planloom.intake.render import Rendered, render
from planloom.models.port import Capabilities, Image
from planloom.planning.model.prompts import request_prompt
from planloom.planning.port import PlanningRequest

CHARACTERS_PER_TOKEN = 3
"""A cautious estimate, used before the model has reported token counts."""
SMALL_CONTEXT = 8_192
"""Context sizes in tokens below this need a brief prompt."""
_REPORTS_SHARE = 0.4
_LABELS = 2_000
"""Characters reserved for headings and notes around attachments."""


class RenderedPrompt(NamedTuple):
    """A user prompt: its text and its images."""

    text: str
    images: tuple[Image, ...]


def fitting_prompt(
    request: PlanningRequest, other_characters: int, capabilities: Capabilities, *, kept_tokens: int
) -> RenderedPrompt:
    """The user prompt with the request, the reports on it, its attachments and surroundings.

    `other_characters` is the number of characters in the rest of the prompt; `kept_tokens` of the context stay free.
    Raises ContextOverflow if the request alone does not fit.
    """
    room = None
    if capabilities.context_tokens is not None:
        room = max(0, capabilities.context_tokens - kept_tokens) * CHARACTERS_PER_TOKEN - other_characters
    fixed = len(request_prompt(request, Rendered(""), ""))
    if room is not None and room < fixed:
        raise ContextOverflow(
            "The request and the planner's own prompt do not fit the model's context.",
            hint="Shorten the request, or configure a model with a larger context (model.contextTokens).",
        )
    available = None if room is None else room - fixed
    reports = reports_text(
        request.perspectives, None if available is None else int(available * _REPORTS_SHARE)
    )
    surroundings = "\n\n".join(section(*each) for each in request.surroundings.sections(available))
    left = None if available is None else max(0, available - len(reports) - len(surroundings) - _LABELS)
    rendered = render(request.attachments, most_characters=left, images=capabilities.images)
    return RenderedPrompt(request_prompt(request, rendered, surroundings, reports), rendered.images)
