"""The extension declares the server's settings as the server takes them."""

from __future__ import annotations

import json

from codegen.extension_settings import manifest
from planloom.settings import LOWERED, Settings

DECLARED = json.loads(manifest())["contributes"]["configuration"]["properties"]


def test_what_an_opened_folder_must_not_set_is_of_machine_scope() -> None:
    """The extension sends settings of this scope from the user's own values alone."""
    for name in (
        "approvals.write",
        "execution.review",
        "model.baseUrl",
        "model.name",
        "storage.path",
        "storage.keepTextsDays",
        "server.command",
    ):
        assert DECLARED[f"planloom.{name}"]["scope"] == "machine"
    assert "scope" not in DECLARED["planloom.planning.perspectives"]


def test_what_an_opened_folder_may_lower_is_sent_from_the_users_own_values_too() -> None:
    for name in LOWERED:
        assert DECLARED[f"planloom.{name}"]["scope"] == "machine-overridable"


def test_a_declared_default_is_the_servers() -> None:
    execution = Settings().execution.model_dump(by_alias=True)
    for name, default in execution.items():
        assert DECLARED[f"planloom.execution.{name}"]["default"] == default


def test_the_extensions_own_settings_stay() -> None:
    assert "planloom.server.python" in DECLARED


def test_at_most_thirty_settings_are_shown_to_who_does_not_ask_for_advanced_ones() -> None:
    assert len([each for each in DECLARED.values() if "advanced" not in each.get("tags", ())]) <= 30
