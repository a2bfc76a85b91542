"""What a person at a terminal reads of an error: what is wrong, and what they can type."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from rich.console import Console

from planloom.cli.arguments import parsed
from planloom.cli.remedies import WAYS_TO_A_MODEL, advice
from planloom.cli.terminal import show
from planloom.domain.errors import ModelCause, ModelProblem
from planloom.view.problems import Mend, of_model
from planloom.view.words import Words
from tests.support import command_line

AT_A_TERMINAL = re.compile(r"`planloom (\w+)|`ollama |--[a-z-]+|It can be asked again at ")
OF_THE_PROTOCOL = re.compile(r"planloom/|planloom\.[a-z]|Input should be")
NEEDS_NO_WORDS = {"again", "restart"}
"""What a person does anyway."""


@pytest.mark.parametrize("mend", sorted({*get_args(Mend)} - NEEDS_NO_WORDS))
def test_each_thing_that_mends_has_a_way_at_the_terminal(mend: str) -> None:
    line = advice({"mends": [mend]}, {"provider": "openai", "cause": "key_refused"})
    assert AT_A_TERMINAL.search(line) and not OF_THE_PROTOCOL.search(line)
    for command in re.findall(r"`planloom (\w+)", line):
        with pytest.raises(SystemExit) as ended:
            parsed([command, "--help"])
        assert ended.value.code == 0


@pytest.mark.parametrize("cause", get_args(ModelCause))
def test_why_a_model_cannot_be_used_comes_with_a_way(cause: ModelCause) -> None:
    problem = ModelProblem(cause=cause, provider="openai", address="https://api.openai.com")
    explained = of_model(problem, None, Words("en"))
    assert advice(explained._asdict(), problem.model_dump())


def test_a_key_for_another_address_is_kept_for_that_one() -> None:
    problem = {"provider": "openai", "cause": "key_missing", "address": "https://gateway.example"}
    assert "key set openai --base-url https://gateway.example" in advice({"mends": ["key"]}, problem)


def test_a_server_that_wants_to_be_left_alone_says_until_when() -> None:
    line = advice({"mends": [], "until": "2030-01-01T12:00:00Z"}, {"cause": "busy"})
    assert re.fullmatch(r"It can be asked again at \d\d:\d\d:\d\d\.", line)


def test_the_page_about_an_error_is_a_link_by_its_short_name() -> None:
    explained = of_model(ModelProblem(cause="slow"), None, Words("en"))._asdict()
    hint = advice({"mends": [], "help": explained["help"]}, {}, "Do this.")
    written, plain = io.StringIO(), io.StringIO()
    Console(force_terminal=True, width=80, file=written).print(show.advised(hint))
    first, second = written.getvalue().splitlines()
    assert "Do this." in first
    assert f"{explained['help']}\x1b\\" in second and "docs/troubleshooting.md#model-slow\x1b" in second
    Console(width=80, file=plain).print(show.advised(hint))
    assert plain.getvalue().split() == ["Do", "this.", "docs/troubleshooting.md#model-slow"]


def nothing_set_up(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a user without any model."""
    state = str(folder / "state")
    none = {"OLLAMA_HOST": "127.0.0.1:9", "PLANLOOM_CONFIG": str(folder / "settings.json")}
    return none | {"XDG_STATE_HOME": state, "XDG_CONFIG_HOME": str(folder / "config")} | more


TEXT = "1. Create folder q3\n2. Write a haiku about autumn to q3/haiku.md"
UNREACHABLE = {"OPENAI_API_KEY": "sk-wrong", "OPENAI_BASE_URL": "http://127.0.0.1:9"}


@pytest.mark.process
@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_key_whose_service_cannot_be_reached_is_told_before_anything_runs(
    tmp_path: Path, command: str
) -> None:
    flags = ["--yes"] if command == "run" else []
    ended = command_line.run(tmp_path, [command, TEXT, *flags], **nothing_set_up(tmp_path, **UNREACHABLE))
    words = " ".join(ended.out.partition("\n")[2].split())
    assert "1 step needs a language model, and the plan will pause there." in words
    assert "Nothing answers at http://127.0.0.1:9." in words
    assert "--base-url URL names another server" in words
    assert not OF_THE_PROTOCOL.search(words)
    assert "is configured" not in words


@pytest.mark.process
def test_without_any_model_the_review_says_so(tmp_path: Path) -> None:
    ended = command_line.run(tmp_path, ["plan", TEXT], **nothing_set_up(tmp_path))
    assert "the plan will pause there. None is set up." in " ".join(ended.out.split())
    assert WAYS_TO_A_MODEL.partition(";")[0] in " ".join(ended.out.split())


WRONG: Any = [
    (["plans", "--status", "bogus"], "is none of draft"),
    (["plan", "--set", "foo=1", "x"], "--set foo: there is no such setting"),
    (["plan", "--set", "execution.review=often", "x"], "expected `each`, `end`, `auto`"),
    (["plan", "--set", "modl.name=x", "x"], "the nearest is model.name"),
    (["plan", "--set", 'commands.writable=["here"]', "x"], "has not the form"),
    (["plan", "--base-url", "foo", "x"], "neither http:// or https:// nor a port"),
    (["doctor", "--base-url", "ftp://x"], "must begin with https:// or http://"),
]


@pytest.mark.process
@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=str)
def test_a_wrong_value_is_wrong_usage_in_one_sentence(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    ended = command_line.run(tmp_path, arguments, **nothing_set_up(tmp_path))
    assert (ended.code, ended.out) == (2, "")
    said = " ".join(ended.err.split())
    assert said.count(words) == 1 and not OF_THE_PROTOCOL.search(said.replace("planloom.view", ""))
