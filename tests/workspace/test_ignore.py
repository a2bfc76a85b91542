"""Ignore patterns match as in git, and in bounded time."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.workspace.index.ignore import IgnoreChain, Rules, read_rules
from planloom.workspace.index.ignore_globs import read_glob

PATTERNS = """
*.log
!keep.log
/top
deep/only
a/**/z
**/any
inside/**
folder/
wild?ard[0-9]
b[!x]d
sp\\ ace
trailing\\{blank}
\\#hash
\\!bang
st*r*t
[[:digit:]]num
""".replace("{blank}", " ")
PATHS = """
x.log a/x.log keep.log a/keep.log top a/top top/x deep/only x/deep/only a/z a/b/z a/b/c/z a/zz any q/any q/any/r
inside inside/x inside/y/z folder folder/x q/folder/x wild1ard2 wildXard9 wildard2 bad bxd sp\u00a0ace #hash !bang
start stXrYt srt 1num xnum
"""


def hidden(rules: Rules, path: str) -> bool:
    """Whether the path, or a folder on the way to it, is hidden."""
    chain = IgnoreChain().within("", (rules,))
    names = path.split("/")
    return any(
        chain.inside("".join(f"{name}/" for name in names[: depth - 1]))(names[depth - 1], depth < len(names))
        for depth in range(1, len(names) + 1)
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
@pytest.mark.parametrize(
    "patterns",
    [
        PATTERNS,
        PATTERNS.replace("!keep.log\n", ""),
        "*\n!*/\n!*.log\n",
        "inside/**\n!inside/y\na/*\n!a/b\n",
        "/*\n!/a\n[^x]d\nb[\\!x]d\n",
    ],
)
def test_patterns_mean_what_git_says(tmp_path: Path, patterns: str) -> None:
    git = str(shutil.which("git"))
    subprocess.run([git, "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text(patterns)
    paths = [*PATHS.split(), "sp ace", "trailing ", "trailing"]
    asked = "\0".join(paths).encode() + b"\0"
    command = [git, "-C", str(tmp_path), "check-ignore", "-z", "--no-index", "--stdin"]
    output = subprocess.run(command, input=asked, stdout=subprocess.PIPE, check=False).stdout
    rules = read_rules(tmp_path / ".gitignore")
    assert [path for path in paths if hidden(rules, path)] == output.decode().split("\0")[:-1]


@pytest.mark.parametrize("line", ["", "#x", "  ", "[a-", "\\", "!", "/", "a" * 5000])
def test_lines_that_are_no_pattern(line: str) -> None:
    glob = read_glob(line)
    assert glob is None or not glob.matches("a", folder=True)


@given(st.text(alphabet="ab*?[]!/\\. #-^:", max_size=20), st.text(alphabet="ab/.", max_size=12))
def test_any_pattern_is_read(line: str, path: str) -> None:
    hidden(Rules([line]), path)


@pytest.mark.parametrize("line", ["*a" * 100 + "b", "**/a/" * 100 + "b", "a*" * 1000, "[!b]*" * 100 + "c"])
def test_hostile_patterns_take_bounded_time(line: str) -> None:
    rules = Rules([line])
    started = time.process_time()
    for _ in range(20):
        IgnoreChain().within("", (rules,)).inside("a/" * 2000)("a" * 255, False)
    assert time.process_time() - started < 5


def test_a_missing_or_strange_ignore_file_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "huge").write_bytes(b"a\n" * 600_000)
    (tmp_path / "raw").write_bytes(b"\xff\xfe*\x00\n*.x\n")
    assert not read_rules(tmp_path / "missing")
    assert not read_rules(tmp_path / "folder")
    assert not read_rules(tmp_path / "huge")
    assert hidden(read_rules(tmp_path / "raw"), "a.x")
