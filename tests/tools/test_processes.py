"""Real child processes: output, limits, and cleanup."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.tools.processes.child_process import Capture, Launch, ProcessResult, run_process, shell_argv
from planloom.tools.processes.commands import how_ended
from planloom.tools.terminal_text import Cleaner, escaped, plain
from planloom.workspace.disk import Folder
from planloom.workspace.index.programs import environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these are shell commands")


async def sh(command: str, folder: Path, seconds: float = 20, **more: Any) -> ProcessResult:
    launch = Launch(shell_argv(command), Folder(folder), environment(os.environ))
    return await run_process(launch, timeout_seconds=seconds, **more)


async def gone(pid: int) -> bool:
    """Whether a process ends within two seconds."""
    until = time.monotonic() + 2
    while alive(pid) and time.monotonic() < until:
        await asyncio.sleep(0.01)
    return not alive(pid)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("command", "code", "output"),
    [
        ("echo hi", 0, "hi\n"),
        ("echo out; echo err >&2; exit 3", 3, None),
        ("cat; read x || echo closed", 0, "closed\n"),
        ("pwd", 0, None),
        ("printf '\\033[31mred\\033[0m\\r\\n50%%\\r100%%\\n'", 0, "red\n100%\n"),
        ("printf '\\033]0;t\\007a\\033]8;;http://x\\033\\\\b\\033]52;c;eA==\\007c'", 0, "abc"),
    ],
)
async def test_commands_end_with_code_and_output(
    command: str, code: int, output: str | None, tmp_path: Path
) -> None:
    ended = await sh(command, tmp_path)
    assert ended.code == code and not ended.timed_out
    if output is not None:
        assert ended.output == output
    if command == "pwd":
        assert ended.output.strip() == str(tmp_path)


async def test_a_program_without_a_shell(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", "import sys; print(sys.argv[1])", "$HOME; `id`")
    ended = await run_process(Launch(argv, Folder(tmp_path), environment(os.environ)), timeout_seconds=20)
    assert ended.output == "$HOME; `id`\n"


async def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    ended = await run_process(Launch(("no-such-program",), Folder(tmp_path), {}), timeout_seconds=5)
    assert ended.code is None and ended.problem is not None and "cannot be started" in ended.problem


@pytest.mark.parametrize(("seconds", "told"), [(0.5, "0.5 seconds"), (1, "1 second"), (120, "2 minutes")])
def test_a_time_limit_is_told(seconds: float, told: str) -> None:
    ended = ProcessResult(code=None, output="", timed_out=True)
    assert how_ended(ended, seconds) == f"was ended after {told}"


async def test_a_signal_is_told(tmp_path: Path) -> None:
    assert (await sh("kill -9 $$", tmp_path)).signal == 9


@pytest.mark.parametrize("stubborn", ["", "trap '' TERM HUP INT; "])
@pytest.mark.slow
async def test_a_command_is_limited_in_time_and_its_process_group_ends(stubborn: str, tmp_path: Path) -> None:
    began = time.monotonic()
    ended = await sh(f"{stubborn}sleep 60 & echo $! > pid; sleep 61", tmp_path, 0.5)
    assert ended.timed_out and ended.code is None
    assert time.monotonic() - began < 5
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_what_is_left_behind_ends_with_the_command(tmp_path: Path) -> None:
    ended = await sh("sleep 60 & echo $! > pid; echo done", tmp_path)
    assert ended.code == 0 and ended.output == "done\n"
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_a_cancelled_command_is_gone(tmp_path: Path) -> None:
    started = asyncio.Event()
    running = asyncio.create_task(
        sh("trap '' TERM; sleep 60 & echo $!; wait", tmp_path, on_output=lambda _, text: seen(text))
    )
    pids: list[int] = []

    def seen(text: str) -> None:
        pids.extend(map(int, text.split()))
        started.set()

    async with asyncio.timeout(10):
        await started.wait()
    running.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - began < 5
    assert pids and all([await gone(pid) for pid in pids])


async def test_a_command_that_is_cancelled_in_the_moment_of_its_start_is_gone(tmp_path: Path) -> None:
    running = asyncio.create_task(sh("sleep 60 & echo $! > pid.new; mv pid.new pid; wait", tmp_path))
    # The task has made the process after two turns. The loop is told of it later, since nothing else goes on here.
    for _ in range(2):
        await asyncio.sleep(0)
    deadline = time.monotonic() + 10
    while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.001)  # noqa: ASYNC251
    running.cancel()
    ended, _ = await asyncio.wait({running}, timeout=8)
    assert ended and running.cancelled()
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_output_is_heard_as_it_comes(tmp_path: Path) -> None:
    outputs: list[tuple[str, str]] = []
    await sh(
        "echo a; echo b >&2; printf '\\033[1m'",
        tmp_path,
        on_output=lambda kind, text: outputs.append((kind, text)),
    )
    assert sorted(outputs) == [("stderr", "b\n"), ("stdout", "a\n")]


async def test_a_flood_is_bounded(tmp_path: Path) -> None:
    outputs: list[str] = []
    ended = await sh(
        "yes | head -c 20000000; echo end", tmp_path, on_output=lambda _, text: outputs.append(text)
    )
    assert len(ended.output) < 50_000 and ended.output.startswith("y\n") and ended.output.endswith("end\n")
    assert "bytes left out" in ended.output
    assert sum(map(len, outputs)) < 2_000_000 and "not shown" in outputs[-1] + outputs[-2]


async def test_no_secret_reaches_a_command(tmp_path: Path) -> None:
    given_ = {
        "PATH": f"relative:{os.environ['PATH']}::.",
        "HOME": "/home/x",
        "LC_ALL": "C",
        "OPENAI_API_KEY": "canary",
        "AWS_SECRET_ACCESS_KEY": "canary",
        "GITHUB_TOKEN": "canary",
        "MY_PASSWORD": "canary",
        "DATABASE_URL": "postgres://u:canary@h",
        "SSH_AUTH_SOCK": "canary",
        "HTTPS_PROXY": "http://u:canary@proxy",
        "HTTP_PROXY": "http://proxy:8080",
        "LD_PRELOAD": "canary",
        "BASH_ENV": "canary",
        "ENV": "canary",
    }
    ended = await run_process(
        Launch(shell_argv("env"), Folder(tmp_path), environment(given_)), timeout_seconds=10
    )
    assert "canary" not in ended.output
    assert "HTTP_PROXY=http://proxy:8080" in ended.output and "LC_ALL=C" in ended.output
    path = next(line for line in ended.output.splitlines() if line.startswith("PATH="))
    assert path == f"PATH={os.environ['PATH']}"


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_a_capture_keeps_the_beginning_and_the_end(pieces: list[bytes]) -> None:
    capture = Capture(head=20, tail=20)
    for piece in pieces:
        capture.add(piece)
    whole = b"".join(pieces)
    assert capture.total == len(whole)
    assert capture.left_out == max(0, len(whole) - 40)
    if len(whole) <= 40:
        assert capture.text() == plain(whole.decode("utf-8", "replace"))
    else:
        assert "bytes left out" in capture.text()


CONTROL = st.text(alphabet="ab\n\r\t\x1b[]0;m\x07\\\x9b\x9d\u202e\u200bP", max_size=60)


@given(CONTROL)
def test_cleaned_text_cannot_control_a_terminal(text: str) -> None:
    for clean in (plain(text), escaped(text)):
        assert all(char.isprintable() or char in "\n\t" for char in clean)
    assert "\n" not in escaped(text)


@given(
    st.lists(
        st.sampled_from(["a", "\x1b[31m", "\x1b]0;t\x07", "\x1b]8;;u\x1b\\", "\r\n", "b\n", "\x1b(B"]),
        max_size=12,
    ),
    st.data(),
)
def test_pieces_of_a_stream_are_cleaned_as_one(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cut = data.draw(st.integers(0, len(text)))
    cleaner = Cleaner()
    assert cleaner.clean(text[:cut]) + cleaner.clean(text[cut:]) + cleaner.clean("", last=True) == plain(text)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("echo hi", "echo hi"),
        ("ls\nrm -rf x", "ls\\nrm -rf x"),
        ("a\\nb\nc", "a\\\\nb\\nc"),
        ("echo \u202eevil\u200b", "echo <U+202E>evil<U+200B>"),
        ("x\x1b[8m", "x<U+001B>[8m"),
    ],
)
def test_a_command_is_shown_with_its_hidden_characters(command: str, shown: str) -> None:
    assert escaped(command) == shown


@pytest.mark.parametrize(
    "text", ["\x1b" * 300_000, "\x1b]" * 150_000, "\r" * 300_000, "\x1b[0" * 100_000, "\x9d" * 300_000]
)
def test_hostile_output_takes_linear_time(text: str) -> None:
    began = time.process_time()
    plain(text)
    assert time.process_time() - began < 10
