"""Requests and notifications on the server as a whole: status, models, settings, secrets and trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.errors import ModelProblem
from planloom.lsp.wire.base import Empty, NoParams
from planloom.lsp.wire.methods import server as wire
from planloom.providers import SERVICES, title_of
from planloom.version import PROTOCOL_VERSION
from planloom.view import problems
from planloom.view.models import model_words
from planloom.view.reviews import before_trust, review_choices

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection
    from planloom.models.selection.select import ListedModel
    from planloom.view.problems import Explained
    from planloom.view.words import Words


async def status(connection: Connection, params: wire.StatusParams) -> wire.StatusResult:
    """The server's version, model, folders and health, and the plans that run or can be resumed."""
    held_to = await connection.app.command_abilities() if params.commands else None
    servers = await connection.app.language_servers() if params.languages else None
    mcp = await connection.app.mcp_servers() if params.mcp else None
    now = connection.app.status(str(connection.log_path or ""))
    reviews = review_choices(now.approvals, connection.words)
    return wire.StatusResult.of(
        now,
        protocol_version=PROTOCOL_VERSION,
        model=wire.ActiveModel(provider=now.model_provider, name=now.model_name, reason=now.model_reason),
        model_words=_model_words(connection),
        plans=wire.StatusPlans(active=now.active, resumable=now.resumable),
        commands=None if held_to is None else wire.CommandAbilities.of(held_to),
        languages=None
        if servers is None
        else tuple(
            wire.LanguageServer(name=each.name, program=each.program, state=each.state, why=each.why or None)
            for each in servers
        ),
        mcp=None
        if mcp is None
        else tuple(
            wire.McpServer(
                name=each.name,
                program=each.program,
                state=each.state,
                why=each.why or None,
                tools=each.tools,
            )
            for each in mcp
        ),
        extensions=tuple(
            wire.Extension(
                name=each.name,
                state=each.state,
                version=each.version or None,
                brings=each.brings,
                why=each.why or None,
            )
            for each in connection.app.extensions()
        )
        or None,
        reviews=reviews if now.trusted else before_trust(reviews, connection.words),
    )


async def list_models(connection: Connection, params: wire.ListModelsParams) -> wire.ModelsResult:
    """The models that can be chosen, and the one in use."""
    found = await connection.app.models.list(select=params.select or False)
    return wire.ModelsResult.of(
        found,
        services=tuple(wire.ModelService.of(each) for each in SERVICES),
        models=tuple(_entry(each, connection.words) for each in found.models),
    )


def _model_words(connection: Connection) -> str:
    models = connection.app.models
    return model_words(models.identity, models.chosen, connection.words)


def _entry(listed: ListedModel, t: Words) -> wire.ModelEntry:
    why = _why_not(listed, t)
    return wire.ModelEntry.of(
        listed,
        address=listed.address or None,
        title=title_of(listed.provider, listed.address),
        words=why and why.words,
        mends=why.mends if why is not None else (),
    )


def _why_not(listed: ListedModel, t: Words) -> Explained | None:
    """Why a model cannot be used; None if it can."""
    if listed.reachable:
        return None
    if listed.cause is None:
        return problems.of_model(None, None, t)
    named = {"provider": listed.provider, "address": listed.address, "model": listed.name}
    return problems.of_model(ModelProblem(cause=listed.cause, **named), None, t)


async def test_model(connection: Connection, _params: NoParams) -> wire.ModelTestResult:
    """Ask the model that is used for one word. Fails as every request to it would."""
    tested = await connection.app.models.test()
    words = _model_words(connection)
    return wire.ModelTestResult.of(
        tested, provider=tested.model.provider, name=tested.model.name, words=words
    )


async def set_secret(connection: Connection, params: wire.SecretParams) -> Empty:
    """Keep the key of a provider in memory, or remove it; it is never logged or stored."""
    await connection.app.set_secret(params.provider, params.value)
    return Empty()


async def set_user_settings(connection: Connection, params: wire.UserSettingsParams) -> Empty:
    """Set values of user scope, which an extension reads where only the user can set them."""
    connection.configuration.add("user", params.values)
    connection.configure()
    return Empty()


async def trust(connection: Connection, params: wire.TrustParams) -> None:
    """The user trusts the workspace, or does not; without trust nothing in it is changed."""
    connection.trust(params.trusted)
