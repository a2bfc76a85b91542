"""The page of the protocol is made from the catalogue and the models of the wire."""

from __future__ import annotations

from codegen.protocol_page import CLIENT_CAN, page
from planloom.lsp.announced import COMMAND_NAMES, EVENT_TYPES
from planloom.lsp.client_options import ClientExtensions
from planloom.lsp.methods import CLIENT_REQUESTS


def test_nothing_of_the_catalogue_is_left_out() -> None:
    text = page()
    for name in (*(method.name for method in CLIENT_REQUESTS), *EVENT_TYPES, *COMMAND_NAMES):
        assert f"| `{name}` |" in text
    assert tuple(CLIENT_CAN) == ClientExtensions._fields
