"""Keys, settings, models and shell completions at the command line."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from planloom.cli.arguments import parsed
from tests.support import command_line
from tests.support.command_line import AtTerminal, Finished
from tests.support.model_server import model_process

pytestmark = pytest.mark.process
KEY = "canary-key-0123456789"


def user(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a user whose settings and keys lie in `folder`, without a model."""
    own = {
        "PLANLOOM_CONFIG": str(folder / "config" / "settings.json"),
        "XDG_STATE_HOME": str(folder / "state"),
    }
    return own | {"OLLAMA_HOST": "127.0.0.1:9", "ANTHROPIC_API_KEY": ""} | more


def planloom(folder: Path, *arguments: str, typed: str | None = None, **more: str) -> Finished:
    return command_line.run(folder, arguments, typed=typed, **user(folder, **more))


def words(ended: Finished) -> str:
    return " ".join((ended.out + ended.err).split())


def test_a_setting_is_set_shown_and_taken_back(tmp_path: Path) -> None:
    file = tmp_path / "config" / "settings.json"
    assert "Every setting has its default" in words(planloom(tmp_path, "config"))
    assert planloom(tmp_path, "config", "path").out == f"{file}\n"
    file.parent.mkdir()
    file.write_text('{"planloom": {"model": {"name": "old", "temperature": 0.5}}, "own": 1}')
    assert planloom(tmp_path, "config", "set", "planloom.model.name", "4711").code == 0
    assert json.loads(file.read_text()) == {
        "planloom": {"model": {"temperature": 0.5}},
        "own": 1,
        "planloom.model.name": "4711",
    }
    shown = planloom(tmp_path, "config", PLANLOOM_BUDGET_MAX_REQUESTS="7")
    assert 'model.name = "4711" (settings.json)' in words(shown)
    assert "budget.maxRequests = 7 (PLANLOOM_BUDGET_MAX_REQUESTS)" in words(shown)
    assert "own: there is no such setting" in words(shown)
    assert shown.code == 1
    assert planloom(tmp_path, "config", "get", "model.name").out == "4711\n"
    assert planloom(tmp_path, "config", "unset", "model.name").code == 0
    assert planloom(tmp_path, "config", "get", "model.name").out == "\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["set", "budget.maxRequests", "many"], "expected whole number, from 1"),
        (["set", "maxRequests", "1"], "the nearest is budget.maxRequests"),
        (["set", "model.name"], "config set NAME VALUE"),
        (["get"], "config get NAME"),
    ],
)
def test_what_cannot_be_set_is_wrong_usage(tmp_path: Path, arguments: list[str], said: str) -> None:
    ended = planloom(tmp_path, "config", *arguments)
    assert (ended.code, ended.out) == (2, "") and said in words(ended)


def test_a_file_of_settings_that_is_damaged_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "config" / "settings.json"
    file.parent.mkdir()
    file.write_text("{ no json")
    assert "cannot be read" in words(planloom(tmp_path, "config"))
    assert planloom(tmp_path, "config", "set", "model.name", "x").code == 1
    assert file.read_text() == "{ no json"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of files")
def test_a_file_of_settings_keeps_who_may_read_it_and_its_link_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    folder, real = tmp_path / "config", tmp_path / "dotfiles.json"
    folder.mkdir()
    real.write_text("{}")
    real.chmod(0o600)
    (folder / "settings.json").symlink_to(real)
    assert planloom(tmp_path, "config", "set", "model.name", "x").code == 0
    # No text of a file can hold this.
    assert planloom(tmp_path, "config", "set", "model.name", "\udcff").code == 1
    assert json.loads(real.read_text()) == {"planloom.model.name": "x"}
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert [each.name for each in folder.iterdir()] == ["settings.json"]
    assert not list(tmp_path.glob("dotfiles.json?*"))


def test_a_key_is_kept_for_the_user_alone_listed_and_removed_without_being_shown(tmp_path: Path) -> None:
    file = tmp_path / "config" / "keys.json"
    kept = planloom(tmp_path, "key", "set", "openai", typed=f"{KEY}\n")
    assert kept.code == 0 and "sent to https://api.openai.com alone" in words(kept)
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    other = ("--base-url", "http://127.0.0.1:9/v1")
    assert planloom(tmp_path, "key", "set", "openai", *other, typed="sk-other").code == 0
    listed = planloom(tmp_path, "key", "list", ANTHROPIC_API_KEY="sk-third")
    for said in ("https://api.openai.com", "http://127.0.0.1:9", "ANTHROPIC_API_KEY in the environment"):
        assert said in words(listed)
    removed = planloom(tmp_path, "key", "remove", "openai", *other)
    assert removed.code == 0 and "sk-other" not in file.read_text()
    assert planloom(tmp_path, "key", "remove", "openai", *other).code == 1
    assert not any(KEY in words(ended) for ended in (kept, listed, removed))


@pytest.mark.parametrize("typed", ["\n", "two words\n", "ключ\n"])
def test_what_is_no_key_is_not_kept(tmp_path: Path, typed: str) -> None:
    assert planloom(tmp_path, "key", "set", "openai", typed=typed).code == 2
    assert not (tmp_path / "config").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal")
def test_a_key_that_is_typed_is_not_shown(tmp_path: Path) -> None:
    terminal = AtTerminal(tmp_path, ["key", "set", "anthropic"], **user(tmp_path))
    try:
        terminal.type(KEY, after="Key for https://api.anthropic.com: ")
        ended = terminal.finish()
    finally:
        terminal.close()
    assert ended.code == 0 and KEY not in ended.out
    assert KEY in (tmp_path / "config" / "keys.json").read_text()


def test_the_model_that_would_be_used_is_marked(tmp_path: Path) -> None:
    with model_process(tmp_path, []) as address:
        ended = planloom(tmp_path, "models", "--base-url", address)
        assert ended.code == 0 and "▸ openai scripted" in words(ended)
        listed = planloom(tmp_path, "models", "--base-url", address, "--json")
        assert json.loads(listed.out)["active"]["name"] == "scripted"
        missing = planloom(tmp_path, "models", "--base-url", address, "--model", "gpt")
        assert missing.code == 1 and "its server lists no such model" in words(missing)
        checked = planloom(tmp_path, "doctor", "--base-url", address, "--model", "gpt")
        assert checked.code == 1 and "1 thing is missing." in words(checked)


def test_a_kept_key_chooses_its_service_and_the_environment_goes_before_it(tmp_path: Path) -> None:
    """No service is asked: nothing answers where the keys are for."""
    dead = {"OPENAI_BASE_URL": "http://127.0.0.1:9"}
    assert planloom(tmp_path, "models", **dead).out.startswith("There is no language model")
    planloom(tmp_path, "key", "set", "openai", typed=KEY, **dead)
    listed = planloom(tmp_path, "models", **dead)
    assert listed.code == 1 and "Nothing answers at http://127.0.0.1:9." in words(listed)
    plan = planloom(tmp_path, "plan", "Write a haiku about autumn to h.md", **dead)
    assert "needs a language model" in words(plan) and "Nothing answers at http://127.0.0.1:9." in words(plan)
    log = (tmp_path / "state" / "planloom" / "planloom.log").read_text()
    assert "keys.json" in log and KEY not in log + words(plan)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_in_the_language_of_a_shell(tmp_path: Path, shell: str) -> None:
    ended = planloom(tmp_path, "completions", shell)
    assert ended.code == 0 and "planloom" in ended.out and "yes-commands" in ended.out


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("pl", {"plan", "plans"}),
        ("key se", {"set"}),
        ("run --yes-c", {"--yes-commands"}),
        ("run --mode d", {"direct"}),
    ],
)
def test_bash_completes_what_is_declared(tmp_path: Path, line: str, offered: set[str]) -> None:
    (tmp_path / "completions").write_text(planloom(tmp_path, "completions", "bash").out)
    asked = f"""
        source "$1"
        COMP_LINE="planloom {line}"; COMP_WORDS=(planloom {line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        read -ra found < <(complete -p planloom)
        for ((i = 0; i < ${{#found[@]}}; i++)); do [ "${{found[i]}}" = -F ] && "${{found[i + 1]}}"; done
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", asked, "bash", str(tmp_path / "completions")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert {each.strip() for each in done.stdout.splitlines() if each.strip()} == offered


@pytest.mark.parametrize("request_", ["fix the bug", "fix @src/calc.py", "@src/calc.py"])
def test_a_request_without_a_command_is_run(request_: str) -> None:
    args = parsed([request_, "--yes"])
    assert (args.command, args.text, args.yes) == ("run", request_, True)


@pytest.mark.parametrize(("typed", "meant"), [("rn", "run"), ("undoo", "undo"), ("model", "models")])
def test_a_mistyped_command_names_the_nearest(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed([typed])
    assert ended.value.code == 2 and f"`planloom {meant}`" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["1. Replace {key} with x in config/keys.json", "Summarise @config/keys.json"]
)
def test_the_file_of_keys_is_out_of_reach_for_plans(tmp_path: Path, text: str) -> None:
    planloom(tmp_path, "key", "set", "openai", typed=KEY)
    before = (tmp_path / "config" / "keys.json").read_text()
    ended = planloom(tmp_path, "run", text.format(key=KEY), "--yes")
    assert ended.code != 0 and "this is Planloom's own state, which is never touched" in words(ended)
    assert (tmp_path / "config" / "keys.json").read_text() == before
