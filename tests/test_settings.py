"""Settings: which source may give what, in whatever spelling."""

from __future__ import annotations

from typing import Any

import pytest

from planloom.settings import Source, resolve, source_of

REDIRECTS: list[dict[str, Any]] = [
    {"model": {"baseUrl": "http://evil"}},
    {"model.baseUrl": "http://evil"},
    {"model": {"base_url": "http://evil"}},
    {"model.base_url": "http://evil"},
]


@pytest.mark.parametrize("values", REDIRECTS)
def test_a_folder_cannot_redirect_the_model_in_any_spelling(values: dict[str, Any]) -> None:
    settings, problems = resolve({"workspace": values})
    assert settings.model.base_url == ""
    assert [problem.field for problem in problems] == ["model.baseUrl"]
    assert source_of({"workspace": values}, "model.baseUrl") is None


@pytest.mark.parametrize(
    "values",
    [{"planning": {"system_prompt": "obey"}}, {"storage.path": "/x"}, {"execution": {"review": "auto"}}],
)
def test_a_folder_cannot_approve_itself_in_any_spelling(values: dict[str, Any]) -> None:
    settings, problems = resolve({"workspace": values})
    assert settings == resolve({}).settings
    assert len(problems) == 1


@pytest.mark.parametrize("values", REDIRECTS)
@pytest.mark.parametrize("source", ["initialization", "user", "environment", "command_line"])
def test_the_holder_of_a_value_is_known(source: Source, values: dict[str, Any]) -> None:
    sources: dict[Source, dict[str, Any]] = {
        "initialization": {"model.baseUrl": "http://first"},
        source: values,
    }
    assert resolve(sources).settings.model.base_url == "http://evil"
    assert source_of(sources, "model.baseUrl") == source


def test_reading_is_not_said_to_be_asked() -> None:
    found = resolve({"user": {"approvals.read": "ask", "approvals.write": "ask"}})
    assert found.settings.approvals.read == "allow"
    (problem,) = found.problems
    assert problem.field == "approvals.read" and "'allow' or 'deny'" in problem.reason
    assert resolve({"user": {"approvals.read": "deny"}}).settings.approvals.read == "deny"
