"""The extension's types are made from the catalogue and the models of the wire."""

from __future__ import annotations

import pytest

from codegen.typescript import module
from planloom.lsp import methods
from planloom.lsp.wire.events import messages


def test_nothing_of_the_catalogue_is_left_out() -> None:
    text = module()
    for each in (*methods.REQUESTS, *methods.NOTIFICATIONS):
        assert f'  "{each.name}": ' in text
    for event in messages():
        assert f'  type: "{event}";' in text


@pytest.mark.parametrize(
    "line",
    [
        "  planId: string;",
        "  stepId?: string;",
        "  plan: Plan | null;",
        "  after?: string | null;",
        "  steps: readonly Step[];",
        "  replace: readonly [number, number];",
        "  parameters?: { readonly [name: string]: string };",
    ],
)
def test_a_field_that_may_be_left_out_is_another_than_one_that_may_be_null(line: str) -> None:
    assert line in module().splitlines()
