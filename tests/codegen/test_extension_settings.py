"""The extension declares and sends the server's settings as the server takes them."""

from __future__ import annotations

import json

from codegen.extension_settings import manifest, names
from planloom.settings import Settings

DECLARED = json.loads(manifest())["contributes"]["configuration"]["properties"]


def test_what_an_opened_folder_must_not_set_is_of_machine_scope_and_sent_as_the_users() -> None:
    users, shared = names().split("SHARED_SETTINGS")
    for name in ("approvals.write", "execution.review", "model.baseUrl", "storage.path"):
        assert DECLARED[f"planloom.{name}"]["scope"] == "machine" and f'"{name}"' in users
    assert "scope" not in DECLARED["planloom.model.name"] and '"model.name"' in shared


def test_a_declared_default_is_the_servers() -> None:
    execution = Settings().execution.model_dump(by_alias=True)
    for name, default in execution.items():
        assert DECLARED[f"planloom.execution.{name}"]["default"] == default


def test_the_extensions_own_settings_stay() -> None:
    assert "planloom.server.python" in DECLARED
