"""Every failure has its code on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from planloom.domain import errors
from planloom.lsp.wire.plan import ModelProblem
from planloom.serving.errors import CODES, to_wire


def kinds(root: type[errors.PlanloomError]) -> Iterator[type[errors.PlanloomError]]:
    for kind in root.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_the_table_has_every_failure_of_the_domain() -> None:
    assert set(CODES) == set(kinds(errors.PlanloomError))


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        (
            errors.InvalidParams("Off.", details=[{"field": "a", "problem": "b"}]),
            -32602,
            {"code": "invalid_params", "message": "Off.", "details": [{"field": "a", "problem": "b"}]},
        ),
        (
            errors.UnknownThing("approval", "x"),
            -32803,
            {"code": "unknown_approval", "message": "There is no approval 'x'."},
        ),
        (
            errors.WrongState("No.", status="draft", allowed=["cancel"]),
            -32803,
            {"code": "wrong_state", "message": "No.", "details": {"status": "draft", "allowed": ["cancel"]}},
        ),
        (
            errors.ModelFailed("model_output_invalid", "Odd.", hint="Try.", raw_text="???"),
            -32803,
            {
                "code": "model_output_invalid",
                "message": "Odd.",
                "hint": "Try.",
                "details": {"rawText": "???"},
            },
        ),
    ],
)
def test_a_failure_as_it_goes_out(error: Exception, code: int, data: dict[str, Any]) -> None:
    sent = to_wire(error, "x")
    assert sent == {"code": code, "message": data["message"], "data": data}


@pytest.mark.parametrize("wait_seconds", [None, 300])
def test_why_a_model_cannot_be_used_is_sent_as_in_plans(wait_seconds: int | None) -> None:
    problem = errors.ModelProblem(cause="busy", address="https://x", wait_seconds=wait_seconds)
    sent = to_wire(errors.ModelFailed("model_unavailable", "Busy.", problem=problem), "x")
    assert sent["data"]["details"] == ModelProblem.of(problem).json_value()


def test_a_stale_version_names_the_version() -> None:
    assert to_wire(errors.StaleVersion(4), "x")["data"]["details"]["version"] == 4


@pytest.mark.parametrize("error", [ValueError("secret"), errors.PlanloomError("secret"), KeyError("secret")])
def test_a_defect_is_logged_and_not_shown(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    sent = to_wire(error, "planloom/x")
    assert (sent["code"], sent["data"]["code"]) == (-32603, "internal")
    assert "secret" not in str(sent)
    assert "planloom/x" in caplog.text and "secret" in caplog.text
