"""A row of the table of providers is all that settings, keys, discovery, command line and hint need."""

from __future__ import annotations

from typing import get_args

import pytest

from planloom.models.http.endpoint import origin_of
from planloom.models.http.keys import Keyring, key_advice
from planloom.models.providers.servers import load_adapter
from planloom.models.selection.select import list_models
from planloom.providers import (
    DISCOVERY_ORDER,
    OWN_VARIABLE,
    PROVIDERS,
    TERMINAL_PROVIDER_CHOICES,
    WAYS_TO_A_MODEL,
    Provider,
    ProviderChoice,
)
from planloom.settings import ModelSettings, Settings
from tests.models.protocols import PROTOCOLS

KEY = "sk-0123456789"
NOWHERE = "http://127.0.0.1:9"
ROWS = pytest.mark.parametrize("row", PROVIDERS.values(), ids=PROVIDERS)


@ROWS
def test_a_row_names_an_adapter_that_the_hostile_servers_test(row: Provider) -> None:
    assert row.name in PROTOCOLS, "give its protocol a row in tests/models/protocols.py PROTOCOLS"
    assert isinstance(load_adapter(row), PROTOCOLS[row.name].adapter)  # type: ignore[arg-type]
    assert load_adapter(row).endpoint(row.url).origin == origin_of(row.url)


@ROWS
def test_a_row_is_a_choice_of_the_setting_and_of_the_command_line(row: Provider) -> None:
    assert ModelSettings(provider=row.name).provider == row.name
    assert set(get_args(ProviderChoice)) - set(TERMINAL_PROVIDER_CHOICES) == {"editor"}


@ROWS
def test_the_hint_says_how_to_get_a_model_of_it(row: Provider) -> None:
    assert (row.key_variable if row.local is None else row.local.add_model) in WAYS_TO_A_MODEL


@ROWS
def test_another_url_in_the_environment_replaces_its_own(row: Provider) -> None:
    assert row.home({}) == row.url
    assert row.home({row.url_variable: NOWHERE}) == NOWHERE


@pytest.mark.parametrize(
    "row", [row for row in PROVIDERS.values() if row.key_variable], ids=lambda row: row.name
)
def test_its_key_is_for_its_own_origin(row: Provider) -> None:
    origin = origin_of(row.url)
    key = Keyring({row.key_variable: KEY}).find(row.name, origin)
    assert key is not None and key.reveal(origin) == KEY
    moved = {row.key_variable: KEY, row.url_variable: NOWHERE}
    assert Keyring(moved).find(row.name, origin) is None
    assert row.key_variable in key_advice(row.name, origin, {})
    assert OWN_VARIABLE in key_advice(row.name, origin, moved)
    assert row.key_variable in key_advice(row.name, origin_of(NOWHERE), {row.url_variable: f"{NOWHERE}/v1"})
    assert OWN_VARIABLE in key_advice(row.name, origin, {row.url_variable: "ftp://x"})


@pytest.mark.parametrize(
    "row", [row for row in DISCOVERY_ORDER if row.local is None], ids=lambda row: row.name
)
async def test_a_service_is_tried_once_there_is_a_key_for_it(row: Provider) -> None:
    nowhere = {each.url_variable: NOWHERE for each in PROVIDERS.values()}
    environment = {**nowhere, row.key_variable: KEY}
    assert [model.provider for model in await list_models(Settings(), nowhere)] == ["embedded"]
    assert row.name in [model.provider for model in await list_models(Settings(), environment)]


def test_services_with_a_key_are_tried_before_local_servers() -> None:
    assert [row.local is not None for row in DISCOVERY_ORDER] == sorted(
        row.local is not None for row in PROVIDERS.values() if not row.form_of
    )
