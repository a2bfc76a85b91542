"""Settings: which source may give what, in whatever spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from planloom.settings import LOWERED, MADE_STRICTER, Settings, Source, resolve, source_of

PACKAGE = Path(__file__).parents[1] / "server/planloom"
REDIRECTS: list[dict[str, Any]] = [
    {"model": {"baseUrl": "http://evil"}},
    {"model.baseUrl": "http://evil"},
    {"model": {"base_url": "http://evil"}},
    {"model.base_url": "http://evil"},
    {"planloom.model.baseUrl": "http://evil"},
    {"planloom": {"model.base_url": "http://evil"}},
]


@pytest.mark.parametrize("values", REDIRECTS)
def test_a_user_may_write_a_name_in_any_spelling(values: dict[str, Any]) -> None:
    settings, problems = resolve({"user": values})
    assert (settings.model.base_url, problems) == ("http://evil", ())


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


@pytest.mark.parametrize("field", ["writable", "readable"])
def test_only_the_user_names_folders_that_commands_may_write_by_paths_that_hold_everywhere(
    field: str,
) -> None:
    name = f"commands.{field}"
    found = resolve({"user": {name: ["~/x", "/y"]}, "workspace": {name: ["/z"]}})
    assert getattr(found.settings.commands, field) == ("~/x", "/y")
    assert [problem.field for problem in found.problems] == [name]
    for path in ("x", "./x", "~user/x", ""):
        assert getattr(resolve({"user": {name: [path]}}).settings.commands, field) == ()


def test_a_folder_cannot_choose_the_model() -> None:
    settings, (problem,) = resolve({"workspace": {"model": {"name": "dear"}}, "user": {"model.name": "mine"}})
    assert settings.model.name == "mine" and problem.field == "model.name"


USERS = {"budget.maxRequests": 300, "execution.review": "end", "approvals.write": "allow"}


@pytest.mark.parametrize(
    ("name", "narrower", "wider"),
    [
        ("budget.maxRequests", 5, 301),
        ("budget.maxTokens", 1000, None),
        ("maxRetryAttempts", 0, 3),
        ("execution.maxToolCallsPerStep", 3, 201),
        ("execution.review", "each", "auto"),
        ("approvals.write", "ask", None),
        ("approvals.execute", "deny", "allow"),
        ("fetch.allowInternal", False, True),
    ],
)
def test_a_folder_narrows_what_the_user_has_set_and_never_widens_it(
    name: str, narrower: object, wider: object
) -> None:
    def value(sources: dict[Source, dict[str, Any]]) -> object:
        group, _, own = name.rpartition(".")
        found = resolve(sources).settings.model_dump(by_alias=True)
        return (found[group] if group else found)[own]

    users: dict[Source, dict[str, Any]] = {"user": USERS}
    assert value({**users, "workspace": {name: narrower}}) == narrower
    assert source_of({**users, "workspace": {name: narrower}}, name) == "workspace"
    if wider is not None:
        assert value({**users, "workspace": {name: wider}}) == value(users)
        (problem,) = resolve({**users, "workspace": {name: wider}}).problems
        assert problem.field == name and "can only be" in problem.reason


def test_no_limit_is_more_than_any() -> None:
    sources: dict[Source, dict[str, Any]] = {
        "user": {"budget.maxTokens": 1000},
        "workspace": {"budget.maxTokens": 0},
    }
    assert resolve(sources).settings.budget.max_tokens == 1000
    assert [problem.field for problem in resolve(sources).problems] == ["budget.maxTokens"]


def test_what_a_folder_may_only_narrow_are_settings() -> None:
    names = {
        *Settings().model_dump(by_alias=True),
        *(
            f"{group}.{name}"
            for group, values in Settings().model_dump(by_alias=True).items()
            if isinstance(values, dict)
            for name in values
        ),
    }
    assert names.issuperset(LOWERED) and names.issuperset(MADE_STRICTER)


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
    assert problem.field == "approvals.read" and "`allow`, `deny`" in problem.reason
    assert resolve({"user": {"approvals.read": "deny"}}).settings.approvals.read == "deny"


def reads() -> Iterator[tuple[str, str]]:
    """Every attribute that the package reads, with the name of that whose attribute it is."""
    for path in PACKAGE.rglob("*.py"):
        code = re.sub(r"`[^`\n]*`", "", path.read_text(encoding="utf-8"))
        for owner, name in re.findall(r"(\w+)\.(?=(\w+))", code):
            # A group may read its own fields.
            if owner != "self" or path.name == "settings.py":
                yield owner.lstrip("_"), name


def test_every_setting_is_read() -> None:
    found = set(reads())
    unread = []
    for name, value in Settings():
        group = type(value).model_fields if isinstance(value, BaseModel) else ()
        fields = [(name, field) for field in group] or [("settings", name)]
        unread += [
            f"{owner}.{field}"
            for owner, field in fields
            if found.isdisjoint((each, field) for each in (owner, "settings", "chosen", "self"))
        ]
    assert not unread, f"nobody reads these as `settings.GROUP.FIELD`: use them, or delete them: {unread}"
