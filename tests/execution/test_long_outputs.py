"""What commands leave behind for their plan: long outputs and temporary files. It goes with the plan."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from planloom.models.offline.scripted import Turn, makes
from tests.execution.test_background import ALLOWED, ANSWER, Player, direct, studio

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these are shell commands")
LINES = "for n in range(10_000): print('line', n, 'FAILED' if n == 5_000 else 'passed')"
RUN = makes(("run_command", {"command": [sys.executable, "-c", LINES]}))


def read(**args: object) -> Turn:
    return makes(("read_output", {"command_id": "o1", **args}))


@pytest.mark.slow
async def test_a_long_output_is_read_again_by_pattern_and_by_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[str] = []

    def outputs() -> list[Path]:
        # A folder may be removed while it is looked into.
        with suppress(FileNotFoundError):
            return list(tmp_path.glob("planloom-*/*/o*"))
        return outputs()

    def kept(_result: str) -> Turn:
        seen.extend(each.name for each in outputs())
        return ANSWER

    reads = [read(pattern=r"FAIL\w+$"), read(lines="5000-5002"), read(pattern="nothing("), read(), kept]
    model = Player([RUN, *reads])
    async with studio(tmp_path, model=model, settings=ALLOWED) as room:
        plan = await direct(room)
        assert plan.status == "completed"
        ran, matching, lines, nothing, new = model.results
        assert len(ran) < 16_500 and "read_output with command_id o1" in ran
        assert ran.startswith("The command ended with exit code 0.\nline 0 passed\n") and "line 9999" in ran
        assert matching == "o1\n5001\tline 5000 FAILED"
        assert lines.startswith("5000\tline 4999 passed\n5001\tline 5000 FAILED\n5002\tline 5001 passed\n")
        assert nothing == "No line of o1 matches “nothing(”."
        assert new == "[FAILED] o1 has ended: give pattern or lines to read what it has printed."
        assert seen == ["o1"]
        async with asyncio.timeout(10):
            while outputs():
                await asyncio.sleep(0)


async def test_temporary_files_are_there_for_the_next_command_of_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    write = makes(("run_command", {"command": "echo passed > $TMPDIR/out.txt"}))
    model = Player([write, makes(("run_command", {"command": "cat $TMPDIR/out.txt"})), ANSWER])

    def left() -> list[Path]:
        return list(tmp_path.glob("planloom-*/*"))

    async with studio(tmp_path, model=model, settings=ALLOWED) as room:
        assert (await direct(room)).status == "completed"
        assert model.results[1].endswith("passed\n")
        assert "as long as the plan" in str(model.sent[0])
        async with asyncio.timeout(10):
            while left():
                await asyncio.sleep(0)
