"""The prompts of the user's MCP servers as templates: each is one step, whose instruction its server writes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from planloom.domain.errors import InvalidParams
from planloom.domain.plans.plan import Step
from planloom.domain.plans.templates import Template, TemplateParameter
from planloom.domain.values import StepId, TemplateId
from planloom.execution.session import Session
from planloom.tools.external_tools import NotThere, RemotePrompt

_PREFIX: Final = "prompt:"
_SECONDS: Final = 15.0
"""How long a list of templates waits for servers that start."""


def is_of_server(template_id: str) -> bool:
    """Whether this is the id of a server's prompt."""
    return template_id.startswith(_PREFIX)


class ServerPrompts:
    """The prompts of a session's servers."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asking: asyncio.Task[tuple[RemotePrompt, ...]] | None = None

    async def templates(self) -> tuple[Template, ...]:
        """The prompts of the servers that run, or start in time."""
        if self._session.external is None:
            return ()
        # Who waits no longer withdraws no question to the user about a server that a folder proposes.
        asking = self._asking or asyncio.create_task(self._session.external.prompts())
        await asyncio.wait({asking}, timeout=_SECONDS)
        self._asking = None if asking.done() else asking
        return tuple(map(_template, asking.result())) if asking.done() else ()

    async def step(self, template: Template, values: Mapping[str, str]) -> Step:
        """The step that a prompt with these values is. Raises InvalidParams if its server does not answer."""
        _, server, name = template.template_id.split(":", 2)
        given = {name: value for name, value in values.items() if value}
        try:
            if self._session.external is None:
                raise NotThere("There are no servers.")
            text = await self._session.external.prompt(server, name, given)
        except NotThere as why:
            raise InvalidParams(str(why)) from None
        if not text:
            raise InvalidParams(f"The prompt {template.name} is empty.")
        return Step(
            step_id=StepId("prompt"),
            kind="processing",
            description=template.description or template.name,
            instruction=text,
        )


def _template(prompt: RemotePrompt) -> Template:
    return Template(
        template_id=TemplateId(f"{_PREFIX}{prompt.server}:{prompt.name}"),
        name=f"{prompt.server}:{prompt.name}",
        description=prompt.description or None,
        parameters=tuple(
            TemplateParameter(
                name=name, description=words or None, default=None if name in prompt.required else ""
            )
            for name, words in prompt.arguments
        ),
        steps=(),
        builtin=True,
    )
