"""The page of the protocol is made from the catalogue and the models of the wire."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

import pytest

from codegen import without_extension
from codegen.protocol_page import CLIENT_CAN, page
from planloom.domain.events import catalog
from planloom.lsp.client_options import ClientExtensions
from planloom.lsp.commands import COMMANDS
from planloom.lsp.editor import message_prompts, notices
from planloom.lsp.methods import CLIENT_REQUESTS, SERVER_NOTIFICATIONS, SERVER_REQUESTS
from planloom.lsp.wire.events import messages


def test_nothing_of_the_catalogue_is_left_out() -> None:
    text = page()
    for name in (
        *(method.name for method in CLIENT_REQUESTS),
        *messages(),
        *(command.name for command in COMMANDS),
    ):
        assert f"| `{name}` |" in text
    assert tuple(CLIENT_CAN) == ClientExtensions._fields


def test_every_notification_and_request_has_something_in_its_place() -> None:
    assert sorted(without_extension.EVENTS) == sorted(messages()), (
        "say in codegen/without_extension.py EVENTS what a client without an extension sees of each event"
    )
    ours = [each.name for each in (*SERVER_NOTIFICATIONS, *SERVER_REQUESTS)]
    assert sorted(["planloom/event", *without_extension.METHODS]) == sorted(ours), (
        "say in codegen/without_extension.py METHODS what happens in place of each"
    )


@pytest.mark.parametrize(
    ("module", "kinds"),
    [
        (message_prompts, (without_extension.BUTTONS, without_extension.TAKEN_BACK)),
        (notices, (without_extension.MESSAGE, without_extension.LOGGED)),
    ],
)
def test_what_is_said_to_come_by_message_is_handled(module: ModuleType, kinds: tuple[str, ...]) -> None:
    """The events that the handler names are those that the table says it shows."""
    tree = ast.parse(inspect.getsource(module))
    (handler,) = [
        each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name == "on_event"
    ]
    named = {
        each.cls.attr
        for each in ast.walk(handler)
        if isinstance(each, ast.MatchClass) and isinstance(each.cls, ast.Attribute)
    }
    handled = {getattr(catalog, name).model_fields["type"].default for name in named}
    said = {name for name, seen in without_extension.EVENTS.items() if seen in kinds}
    assert handled - _RESTART == said - _AT_THE_END, (
        f"codegen/without_extension.py EVENTS and `on_event` of {module.__name__} name different events"
    )


_RESTART = {"plan_drafting", "plan_direct"}
"""These only take the message on the review back, and are seen otherwise."""
_AT_THE_END = {"answer"}
"""What the message on the end of its plan says."""
