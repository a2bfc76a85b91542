"""A model's regular expressions are limited in time and memory, whatever they are."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from planloom.tools.search import matching_process
from planloom.tools.search.matching_process import CannotCompile, MatchingProcess, TooSlow
from planloom.workspace.index.programs import Programs
from tests.tools.desk import Desk

needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the address space")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Every process that a pattern was matched in."""
    found: list[subprocess.Popen[bytes]] = []
    start = matching_process.own_python

    def recorded(code: str, *arguments: str) -> subprocess.Popen[bytes]:
        found.append(start(code, *arguments))
        return found[-1]

    monkeypatch.setattr(matching_process, "own_python", recorded)
    return found


@pytest.mark.slow
@needs_limits
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?:(?:a{1000}){1000}){1000}", "a\n"),
        ("(.*)(.*)(.*)(.*)(.*)(.*)[zq]$", "a" * 20_000 + "!\n"),
        ("(?R)|a", "a" * 10),
        ("(a(?1)?b)", "a" * 100_000),
        ("((a|b)*?c)*", "ab" * 1_000_000),
        ("(?e)(?:abcdefghijklmnop){e<=9}", "abxcdefyghij" * 2_000),
    ],
    ids=["compiled", "backtracking", "itself", "nested", "memory", "fuzzy"],
)
async def test_no_pattern_takes_more_than_its_limits(
    tmp_path: Path, started: list[subprocess.Popen[bytes]], pattern: str, text: str
) -> None:
    desk = Desk(tmp_path, {"a.txt": text, "b.txt": "aa\n"})
    before, begun = _peak_mb(), time.monotonic()
    result = await desk.call("search_text", pattern=pattern, path="a.txt", regex=True)
    # The time limits of a start and of one file, on a busy machine.
    assert time.monotonic() - begun < 40
    assert result.ok or "too long" in result.text or "too much memory" in result.text
    assert _peak_mb() - before < 60
    assert [process.poll() is not None for process in started] == [True]
    assert (await desk.call("search_text", pattern="a+", path="b.txt", regex=True)).ok


def test_a_process_that_is_closed_from_another_thread_ends_its_search() -> None:
    import threading

    matching = MatchingProcess("(.*)(.*)(.*)(.*)(.*)(.*)[zq]$", ignore_case=False)
    threading.Timer(0.2, matching.close).start()
    begun = time.monotonic()
    with pytest.raises(TooSlow):
        list(matching.starts("a" * 50_000, 60))
    assert time.monotonic() - begun < 30


def test_an_invalid_pattern_leaves_no_process(started: list[subprocess.Popen[bytes]]) -> None:
    with pytest.raises(CannotCompile, match="missing"):
        MatchingProcess("(", ignore_case=False)
    assert started[0].poll() is not None


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no /proc to look at")
async def test_its_process_gets_no_key_and_works_before_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    matching = MatchingProcess("x", ignore_case=True)
    process = Path(f"/proc/{started[0].pid}")
    assert b"sk-1" not in (process / "environ").read_bytes()
    assert (process / "cwd").readlink() == Path("/")
    assert list(matching.starts("aXbx😀x", 5)) == [1, 3, 5]
    matching.close()
    desk = Desk(tmp_path, {"a.txt": "one two\n"})
    desk.context.programs = Programs(lambda: False)
    result = await desk.call("search_text", pattern=r"^one\b", regex=True)
    assert result.ok and result.text == "a.txt\n1\tone two"


def _peak_mb() -> float:
    """The most memory that this process has taken so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
