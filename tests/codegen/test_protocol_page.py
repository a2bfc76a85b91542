"""The page of the protocol is made from the catalogue and the models of the wire."""

from __future__ import annotations

from codegen import without_extension
from codegen.protocol_page import CLIENT_CAN, page
from planloom.lsp.client_options import ClientExtensions
from planloom.lsp.commands import COMMANDS
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
