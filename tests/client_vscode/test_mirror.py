"""The extension's mirror of the protocol is equal to what the server speaks."""

import re
from pathlib import Path

from planloom.lsp import methods

CLIENT = Path(__file__).parents[2] / "client-vscode"
PROTOCOL = (CLIENT / "src" / "protocol.ts").read_text(encoding="utf-8")


def strings(name: str) -> list[str]:
    """The strings of a `const NAME = [...] as const` of the mirror."""
    found = re.search(rf"const {name} = \[(.*?)\] as const", PROTOCOL, re.DOTALL)
    assert found is not None
    return re.findall(r'"([^"]+)"', found[1])


def test_the_mirror_names_every_method_and_event() -> None:
    assert strings("METHODS") == [each.name for each in (*methods.REQUESTS, *methods.NOTES_IN)]
    assert strings("SERVER_METHODS") == [each.name for each in (*methods.NOTES_OUT, *methods.ASKS)]
    assert strings("EVENTS") == list(methods.EVENTS)
    assert f"PROTOCOL_VERSION = {methods.PROTOCOL_VERSION};" in PROTOCOL
