"""Long outputs: what is shown of them, what is folded, and what can be read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.tools.processes import kept_output
from planloom.tools.processes.child_process import HEAD_BYTES, TAIL_BYTES
from planloom.tools.processes.kept_output import KeptOutput, folded

ERROR = (
    "____ ERROR at setup of {} ____\n    def fixture():\n>       raise OSError\nE       OSError\n\n"
    "conf.py:{}: OSError\n"
)
TRACEBACK = (
    "Traceback (most recent call last):\n  File 'a'\n    f(<x at 0x7f00{:04x}>)\n  File 'b'\n    g()\n"
    "KeyError: 1\n"
)


def of(text: str, folder: Path) -> KeptOutput:
    output = KeptOutput(folder / "outputs")
    data = text.encode()
    for start in range(0, len(data), 1_000):
        output.add(data[start : start + 1_000])
    return output


def test_a_short_output_is_shown_whole_and_needs_no_file(tmp_path: Path) -> None:
    assert of("one\ntwo", tmp_path).text() == "one\ntwo"
    assert not (tmp_path / "outputs").exists()


def test_a_long_output_is_shown_in_part_and_kept_whole(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    output = of(text, tmp_path)
    shown = output.text()
    assert len(shown) < HEAD_BYTES + TAIL_BYTES + 200
    assert shown.startswith("line 0\n") and shown.endswith("line 9999\n")
    assert (
        "bytes left out: read_output with command_id o1 and pattern or lines reads all 10001 lines" in shown
    )
    assert output.kept() == text.encode() == (tmp_path / "outputs" / "o1").read_bytes()
    assert (tmp_path / "outputs").stat().st_mode & 0o077 == 0


def test_each_long_output_gets_its_own_name_and_only_the_latest_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_output, "_MOST_FILES", 2)
    for _ in range(3):
        of("x" * 20_000, tmp_path).text()
    assert sorted(each.name for each in (tmp_path / "outputs").iterdir()) == ["o2", "o3"]


def test_a_flood_is_kept_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_output, "MOST_BYTES", 50_000)
    output = of("x\n" * 50_000 + "end", tmp_path)
    assert len(output.kept()) == 50_000
    assert output.text().endswith("\nend") and "bytes left out" in output.text()


def test_an_output_that_cannot_be_written_is_shown_in_part(tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("")
    assert "bytes left out" in of("x\n" * 20_000, tmp_path).text()


def test_equal_sections_stand_once_with_their_count() -> None:
    errors = "".join(ERROR.format(f"test_{number}", 7) for number in range(23)) + ERROR.format("other", 8)
    text = folded(f"head\n{errors}==== 24 errors ====\n")
    assert text.count("def fixture") == 2 and text.count("ERROR at setup") == 24
    assert "[these 5 lines come 22 more times: of those only the heading is left]" in text
    assert text.startswith("head\n") and text.endswith("==== 24 errors ====\n")


def test_errors_that_differ_by_the_file_in_their_heading_are_equal(tmp_path: Path) -> None:
    error = (
        "____ ERROR collecting tests/test_{0}.py ____\nImportError while importing '/x/tests/test_{0}.py'.\n"
        "Traceback:\ntests/__init__.py:5: in <module>\n    import cachetools\nE   ModuleNotFoundError\n"
    )
    text = of(
        "".join(error.format(name) for name in ("a", "b", "c")) + "==== 3 errors ====\n", tmp_path
    ).text()
    assert text.count("ModuleNotFoundError") == 1 and "2 more times" in text
    assert "ERROR collecting tests/test_c.py" in text


def test_equal_tracebacks_stand_once_wherever_objects_lie() -> None:
    text = folded("a\n" + "b\n".join(TRACEBACK.format(number) for number in range(3)) + "c\n")
    assert text.count("KeyError") == 1 and "2 more times" in text
    assert [line for line in text.split("\n") if line in ("a", "b", "c")] == ["a", "b", "b", "c"]


def test_what_does_not_repeat_is_left_as_it_is() -> None:
    text = "".join(ERROR.format(f"test_{number}", number) for number in range(5))
    assert folded(text) == text
