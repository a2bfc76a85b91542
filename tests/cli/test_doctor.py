"""What is found, what is missing, and what to do about it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from planloom.cli.setup import doctor
from tests.support import command_line

REACHABLE = {"provider": "ollama", "name": "small", "contextTokens": 8192, "reachable": True}
UNREACHABLE = {
    "provider": "openai",
    "name": "large",
    "reachable": False,
    "address": "https://api.openai.com",
    "cause": "key_missing",
    "words": "https://api.openai.com wants a key.",
    "mends": ["key", "models"],
}
RULES = {"provider": "embedded", "name": "rules", "reachable": True, "reason": "plans what is literal"}
ACTIVE = {"provider": "ollama", "name": "small", "reason": "it answers"}


def test_an_old_python_is_missing() -> None:
    assert doctor.python((3, 10, 9)).state == "missing"
    assert doctor.python((3, 11, 0)).state == "found"


def test_the_packages_of_this_environment_are_found() -> None:
    (found,) = doctor.packages()
    assert found.state == "found"


@pytest.mark.parametrize(
    ("models", "needed", "states"),
    [
        ([REACHABLE], True, ["found"]),
        ([REACHABLE, UNREACHABLE, RULES], False, ["found", "optional", "found"]),
        ([UNREACHABLE, RULES], False, ["optional", "found"]),
        ([UNREACHABLE], True, ["missing"]),
        ([RULES], False, ["found", "optional"]),
        ([RULES], True, ["found", "missing"]),
        ([], True, ["missing"]),
    ],
)
def test_a_model_is_missing_only_where_one_is_needed(models: Any, needed: bool, states: list[str]) -> None:
    found = list(doctor.model({"models": models, "active": None}, needed=needed))
    assert [finding.state for finding in found] == states
    assert all(finding.advice for finding in found if finding.state != "found")


def test_the_model_in_use_is_told() -> None:
    (found,) = doctor.model({"models": [REACHABLE], "active": ACTIVE}, needed=True)
    assert found.found == "ollama small, 8192 tokens, in use"


@pytest.mark.parametrize(
    ("name", "states"),
    [("gpt", ["found", "missing"]), ("small-2026", ["found", "missing"]), ("sma", ["found", "missing"])],
)
def test_a_model_that_its_server_does_not_list_is_missing(name: str, states: list[str]) -> None:
    found = list(doctor.model({"models": [REACHABLE], "active": ACTIVE | {"name": name}}, needed=True))
    assert [finding.state for finding in found] == states
    assert found[-1].found == f"ollama {name}"


@pytest.mark.parametrize("listed", ["small:latest", "small-2026-01-01"])
def test_a_model_is_found_by_the_name_without_its_tag_or_date(listed: str) -> None:
    found = list(doctor.model({"models": [REACHABLE | {"name": listed}], "active": ACTIVE}, needed=True))
    assert [finding.state for finding in found] == ["found"]


def test_an_assumed_context_is_told_as_one() -> None:
    known = {"models": [REACHABLE], "active": ACTIVE, "contextTokens": 4096, "contextAssumed": False}
    (found,) = doctor.model(known, needed=True)
    assert (found.state, found.found) == ("found", "ollama small, 4096 tokens, in use")
    (found,) = doctor.model({**known, "contextTokens": 128_000, "contextAssumed": True}, needed=True)
    assert (found.state, found.found) == ("optional", "ollama small, 128000 tokens assumed, in use")
    assert "config set model.contextTokens" in found.advice


def test_a_ledger_may_lie_in_a_folder_that_is_still_to_be_made(tmp_path: Path) -> None:
    assert doctor.ledger(str(tmp_path / "a" / "b" / "ledger.db")).state == "found"
    assert doctor.ledger("").state == "optional"


def test_a_workspace_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert doctor.workspace(tmp_path, lambda _: True).state == "found"
    assert "planloom trust" in doctor.workspace(tmp_path, lambda _: None).advice
    assert doctor.workspace(tmp_path / "file", lambda _: True).state == "missing"
    assert doctor.workspace(tmp_path / "none", lambda _: True).state == "missing"


def server(tmp_path: Path, models: Any, problems: tuple[str, ...] = ()) -> dict[str, Any]:
    status = {
        "version": "0",
        "protocolVersion": 1,
        "logPath": "/l",
        "storagePath": str(tmp_path),
        "model": ACTIVE,
        "problems": list(problems),
    }
    return {
        "planloom/status": [[{"reply": status}]],
        "planloom/model/list": [[{"reply": {"models": models, "active": ACTIVE}}]],
    }


@pytest.mark.process
def test_all_is_well(tmp_path: Path) -> None:
    ended = command_line.run(tmp_path, ["doctor"], server(tmp_path, [REACHABLE], ("disk nearly full",)))
    assert ended.code == 0
    for told in (
        "Python",
        "workspace",
        "ledger",
        "ollama small, 8192 tokens",
        "disk nearly full",
        "is there. Look at the lines marked !.",
    ):
        assert told in ended.out


@pytest.mark.process
def test_a_missing_model_that_was_named_ends_with_one(tmp_path: Path) -> None:
    ended = command_line.run(tmp_path, ["doctor", "--model", "large"], server(tmp_path, [UNREACHABLE]))
    assert ended.code == 1
    assert "planloom key set openai" in ended.out


@pytest.mark.process
def test_a_server_that_does_not_start_and_a_folder_that_is_none(tmp_path: Path) -> None:
    ended = command_line.run(tmp_path, ["doctor", "-w", "/nowhere/at/all"], {"initialize": [[{"exit": 1}]]})
    assert ended.code == 1
    assert "not a folder" in ended.out
    assert "2 things are missing." in ended.out


def test_what_commands_are_held_to_is_told() -> None:
    held = doctor.commands({"how": "namespaces", "missing": []})
    assert (held.state, held.found, held.advice) == ("found", "confined by namespaces", "")
    free = doctor.commands({"how": "nothing", "missing": ["A command can do all.", "It stays."]})
    assert (free.state, free.found) == ("optional", "not confined: they have all rights of the user")
    assert free.advice == "A command can do all. It stays."
    wider = doctor.commands({"how": "namespaces", "missing": [], "writable": ["~/cache", "/data"]})
    assert wider.found == "confined by namespaces; they may also write in ~/cache, /data"


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, []),
        ({"HTTPS_PROXY": "http://u:secret@p"}, ["found HTTPS_PROXY, for model servers over https"]),
        ({"HTTPS_PROXY": "x", "PLANLOOM_PROXY": "y"}, ["found PLANLOOM_PROXY, for all model servers"]),
        ({"http_proxy": "x"}, ["optional http_proxy is not used"]),
    ],
)
def test_the_proxy_to_models_is_named(environment: dict[str, str], found: list[str]) -> None:
    named = [f"{each.state} {each.found}".partition(" but")[0] for each in doctor.proxy(environment)]
    assert named == found


def test_language_servers_are_named_with_how_to_get_one_that_is_missing() -> None:
    listed = [
        {"name": "ty", "program": "/bin/ty", "state": "running"},
        {"name": "clangd", "program": "/bin/clangd", "state": "given up", "why": "It has ended: no memory."},
        {"name": "gopls", "program": ".go", "state": "missing", "why": "go install gopls"},
    ]
    assert [tuple(each) for each in doctor.language_servers(listed)] == [
        ("found", "languages", "ty, running  /bin/ty", ""),
        ("optional", "languages", "clangd, given up  /bin/clangd", "It has ended: no memory."),
        ("optional", "languages", "none for .go files", "gopls: go install gopls"),
    ]


def test_mcp_servers_are_named_with_their_tools_or_why_they_do_not_run() -> None:
    listed = [
        {"name": "git", "program": "uvx mcp-server-git", "state": "running", "tools": 12},
        {"name": "box", "program": "box", "state": "ready to start", "tools": 0, "why": "It has ended."},
    ]
    assert [tuple(each) for each in doctor.mcp_servers(listed)] == [
        ("found", "mcp", "git, running, 12 tools  uvx mcp-server-git", ""),
        ("optional", "mcp", "box, ready to start  box", "It has ended."),
    ]


def test_git_and_an_editor_are_found_or_it_is_said_what_they_are_for() -> None:
    assert doctor.git("/usr/bin/git").state == "found"
    assert "Install it" in doctor.git(None).advice
    assert doctor.editor([sys.executable, "-w"]).found == f"{sys.executable}, for `e` at a review"
    for command in (None, [], ["no-such-editor"]):
        assert (doctor.editor(command).state, "Set EDITOR" in doctor.editor(command).advice) == (
            "optional",
            True,
        )


def test_what_there_is_none_of_is_told_too() -> None:
    assert [each.found for each in doctor.mcp_servers([])] == ["no servers are set"]
    assert [each.found for each in doctor.language_servers([])] == ["no file here needs a language server"]
