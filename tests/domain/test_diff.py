import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.text.diff import changed_lines, hunks, text_edits, unified
from planloom.domain.text.lines import split_lines
from planloom.domain.text.positions import Encoding, LineIndex, adapt_eol, apply_edits, decode, encode
from tests.depth import rounds
from tests.domain.reference import ATOMS, ENCODINGS, Client, changed, some_text

pairs = st.builds(
    lambda text, chance, apart: (text, some_text(chance) if apart else changed(text, chance)),
    st.lists(st.sampled_from(ATOMS), max_size=25).map("".join),
    st.randoms(use_true_random=False),
    st.booleans(),
)


def check(before: str, after: str, encoding: Encoding) -> None:
    """A client that applies the edits has the new text, and no edit is larger than it must be."""
    edits = text_edits(before, after, encoding)
    client = Client(before, encoding)
    places = [client.place(place) for edit in edits for place in (edit.range.start, edit.range.end)]
    client.apply(edits)
    assert client.text == after
    assert places == sorted(places)
    assert apply_edits(before, edits, encoding) == after
    assert (edits == ()) == (before == after)
    for edit, hunk in zip(edits, hunks(before, after), strict=True):
        old = before[hunk.before_start : hunk.before_end]
        assert edit.new_text == after[hunk.after_start : hunk.after_end]
        assert old != edit.new_text
        for text, start, end in (
            (before, hunk.before_start, hunk.before_end),
            (after, hunk.after_start, hunk.after_end),
        ):
            assert text[max(start - 1, 0) : start + 1] != "\r\n"
            assert text[max(end - 1, 0) : end + 1] != "\r\n"


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(pair=pairs)
def test_a_client_that_applies_the_edits_has_the_new_text(pair: tuple[str, str], encoding: Encoding) -> None:
    check(*pair, encoding)


@pytest.mark.deep
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_random_changes_are_applied_exactly(encoding: Encoding) -> None:
    for seed in range(rounds(1_000, 10_000)):
        chance = random.Random(seed)
        before = some_text(chance)
        check(before, changed(before, chance), encoding)


EXOTIC = "one\ftwo\nthree\vfour\nfive\x85six\nseven\u2028eight\u2029nine\x1cten\neleven\n"
CRLF = "".join(f"line {number}\r\n" for number in range(200))
MIXED = "".join(f"line {number}\nline {number + 1}\r\n" for number in range(0, 20, 2))


@pytest.mark.parametrize(
    ("before", "after", "edits"),
    [
        pytest.param("a😀b\n", "a😁b\n", [("0:1-0:3", "😁")], id="astral inside"),
        pytest.param("😀😀x\n", "😀😀y\n", [("0:4-0:5", "y")], id="astral before"),
        pytest.param("e\u0301x\n", "ex\n", [("0:1-0:2", "")], id="a mark taken away"),
        pytest.param("e\u0301\n", "é\n", [("0:0-0:2", "é")], id="not the same in another form"),
        pytest.param("👩\u200d💻\n", "👩\n", [("0:2-0:5", "")], id="a joined emoji"),
        pytest.param(EXOTIC, EXOTIC.replace("eleven", "11"), [("4:0-4:6", "11")], id="other line ends"),
        pytest.param("a\rb\nc", "a\rB\nc", [("1:0-1:1", "B")], id="lone CR"),
        pytest.param("a\rb", "a\nb", [("0:1-1:0", "\n")], id="lone CR made LF"),
        pytest.param("a\r\nb", "a\nb", [("0:1-1:0", "\n")], id="CRLF made LF is not cut"),
        pytest.param("a\rb", "a\r\nb", [("0:1-1:0", "\r\n")], id="CR made CRLF is not cut"),
        pytest.param(
            CRLF,
            adapt_eol(CRLF.replace("\r\n", "\n").replace("line 77\n", "LINE 77\n"), CRLF),
            [("77:0-77:4", "LINE")],
            id="one line of CRLF",
        ),
        pytest.param(
            MIXED,
            adapt_eol(MIXED.replace("\r\n", "\n").replace("line 7\n", "new 7\n"), MIXED),
            [("7:0-7:4", "new")],
            id="one line of mixed line ends",
        ),
        pytest.param("a\n", "a", [("0:1-1:0", "")], id="final newline dropped"),
        pytest.param("a", "a\n", [("0:1-0:1", "\n")], id="final newline added"),
        pytest.param("a", "b", [("0:0-0:1", "b")], id="none before, none after"),
        pytest.param("a\n", "b\n", [("0:0-0:1", "b")], id="one before, one after"),
        pytest.param("", "a\nb", [("0:0-0:0", "a\nb")], id="into an empty file"),
        pytest.param("a\nb", "", [("0:0-1:1", "")], id="everything away"),
        pytest.param("\n\n\n", "", [("0:0-3:0", "")], id="newlines away"),
        pytest.param("", "\n\n\n", [("0:0-0:0", "\n\n\n")], id="newlines only"),
        pytest.param("a\nb\nc\n", "a\nc\n", [("1:0-2:0", "")], id="a line away is a whole line"),
        pytest.param("a\nc\n", "a\nb\nc\n", [("1:0-1:0", "b\n")], id="a new line is a whole line"),
        pytest.param("ab\nac\n", "ab\nax\nac\n", [("1:0-1:0", "ax\n")], id="a new line like its neighbours"),
    ],
)
def test_edits_are_the_smallest_in_whole_lines_or_within_them(
    before: str, after: str, edits: list[tuple[str, str]]
) -> None:
    check(before, after, "utf-16")
    found = [
        (f"{start.line}:{start.character}-{end.line}:{end.character}", edit.new_text)
        for edit in text_edits(before, after, "utf-16")
        for start, end in [(edit.range.start, edit.range.end)]
    ]
    assert found == edits


@pytest.mark.parametrize(
    "data", [b"\xef\xbb\xbfone\r\ntwo\r\n", b"one\r\ntwo\r\n"], ids=["marked", "unmarked"]
)
def test_the_byte_order_mark_is_neither_counted_nor_lost_nor_doubled(data: bytes) -> None:
    found = decode(data)
    assert found.kind == "decoded"
    (edit,) = text_edits(found.text, found.text.replace("one", "One"), "utf-8")
    assert (edit.range.start.line, edit.range.start.character) == (0, 0)
    assert encode(found, apply_edits(found.text, [edit], "utf-8")) == data.replace(b"one", b"One")


def _fewest_changed_lines(before: list[str], after: list[str]) -> int:
    row = list(range(len(after) + 1))
    for number, line in enumerate(before, 1):
        above, row = row, [number]
        for place, other in enumerate(after, 1):
            row.append(above[place - 1] if line == other else 1 + min(above[place], row[-1]))
    return row[-1]


@given(pairs)
def test_no_fewer_lines_could_have_changed(pair: tuple[str, str]) -> None:
    before, after = map(split_lines, pair)
    assert sum(changed_lines(*pair)) == _fewest_changed_lines(before, after)


def _numbered(count: int) -> list[str]:
    return [f"    value_{number} = compute({number % 7})\n" for number in range(count)]


@pytest.mark.parametrize("place", [0, 2500, 4999])
def test_one_changed_line_in_5000_is_one_edit_of_one_line(place: int) -> None:
    lines = _numbered(5000)
    before = "".join(lines)
    lines[place] = "    another\n"
    (edit,) = text_edits(before, "".join(lines), "utf-16")
    assert edit.range.end.line - edit.range.start.line <= 1
    assert len(edit.new_text) <= len("    another\n")


def test_changes_far_apart_stay_apart() -> None:
    lines = _numbered(5000)
    before = "".join(lines)
    for place in range(0, 5000, 500):
        lines[place] = "changed\n"
    assert len(text_edits(before, "".join(lines), "utf-16")) == 10


def test_repetitive_lines_are_no_trap() -> None:
    chance = random.Random(1)
    before = [f"{chance.randrange(3)}\n" for _ in range(6000)]
    after = [f"{chance.randrange(3)}\n" for _ in range(6000)]
    old, new = "".join(before), "".join(after)
    assert apply_edits(old, text_edits(old, new, "utf-16"), "utf-16") == new


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [1, 2, 5, 1000], ids="{} kinds of lines".format)
def test_texts_too_large_to_compare_in_full_are_divided(kinds: int) -> None:
    chance = random.Random(kinds)
    lines = [f"{chance.randrange(kinds)}\n" for _ in range(40_000)]
    before = "".join(lines)
    for place in chance.sample(range(len(lines)), 2000):
        lines[place] = "x\n" if chance.random() < 0.5 else ""
    after = "".join(lines)
    edits = text_edits(before, after, "utf-16")
    assert apply_edits(before, edits, "utf-16") == after
    assert sum(len(edit.new_text) for edit in edits) < len(after) / 4


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_changes_all_over_a_large_text_stay_apart(eol: str) -> None:
    chance = random.Random(1)
    lines = [f"entry {number} {'x' * chance.randrange(60)}{eol}" for number in range(30_000)]
    before = "".join(lines)
    places = sorted(chance.sample(range(1, 15_000), 40))
    for place in places:
        lines[2 * place] = chance.choice(("changed" + eol, "", "one" + eol + "two" + eol))
    after = "".join(lines)
    edits = text_edits(before, after, "utf-16")
    assert apply_edits(before, edits, "utf-16") == after
    assert [edit.range.start.line for edit in edits] == [2 * place for place in places]


def test_a_large_text_with_a_large_part_moved_is_two_edits() -> None:
    lines = [f"entry {number}\n" for number in range(100_000)]
    before, after = "".join(lines), "".join((*lines[:100], *lines[50_000:], *lines[100:50_000]))
    edits = text_edits(before, after, "utf-16")
    assert apply_edits(before, edits, "utf-16") == after
    assert len(edits) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * 20_000_000, id="one line"),
        pytest.param("é😀" + "x" * 20_000_000, id="one line, not ASCII"),
        pytest.param("some line of text\n" * 1_100_000, id="many lines"),
        pytest.param("\n" * 20_000_000, id="nothing but lines"),
    ],
)
def test_a_huge_text_with_one_change_is_one_small_edit(text: str) -> None:
    middle = len(text) // 2
    after = text[:middle] + "changed" + text[middle + 1 :]
    (edit,) = text_edits(text, after, "utf-16")
    assert len(edit.new_text) <= 40
    assert apply_edits(text, [edit], "utf-16") == after
    assert LineIndex(after).line_count >= 1


@pytest.mark.parametrize(
    ("before", "after", "context", "diff"),
    [
        ("a\n", "a\n", 3, ""),
        (None, None, 3, ""),
        ("a\nb\nc\n", "a\nB\nc\n", 3, "--- old\n+++ new\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
        ("a\nb\nc\n", "a\nB\nc\n", 0, "--- old\n+++ new\n@@ -2 +2 @@\n-b\n+B\n"),
        ("a\nc\n", "a\nb\nc\n", 0, "--- old\n+++ new\n@@ -1,0 +2 @@\n+b\n"),
        (None, "a\nb\n", 3, "--- /dev/null\n+++ new\n@@ -0,0 +1,2 @@\n+a\n+b\n"),
        ("a\n", None, 3, "--- old\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
        (None, "", 3, "--- /dev/null\n+++ new\n"),
        (
            "a\nb",
            "a\nb\n",
            3,
            "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
        ),
        ("a\r\n", "b\r\n", 3, "--- old\n+++ new\n@@ -1 +1 @@\n-a\r\n+b\r\n"),
        (
            "1\n2\n3\n4\n5\n",
            "x\n2\n3\n4\ny\n",
            1,
            "--- old\n+++ new\n@@ -1,2 +1,2 @@\n-1\n+x\n 2\n@@ -4,2 +4,2 @@\n 4\n-5\n+y\n",
        ),
        (
            "1\n2\n3\n4\n",
            "x\n2\n3\ny\n",
            1,
            "--- old\n+++ new\n@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n-4\n+y\n",
        ),
    ],
)
def test_unified(before: str | None, after: str | None, context: int, diff: str) -> None:
    assert unified(before, after, "old", "new", context) == diff


@pytest.mark.slow
@pytest.mark.deep
def test_git_applies_unified_diffs(tmp_path: Path) -> None:
    for seed in range(rounds(60, 200)):
        chance = random.Random(seed)
        before = some_text(chance, 60)
        after = changed(before, chance)
        diff = unified(before, after, "file", "file", context=chance.randint(1, 4))
        assert bool(diff) == (before != after)
        file, patch = tmp_path / "file", tmp_path / "patch"
        file.write_bytes(before.encode())
        patch.write_bytes(diff.encode())
        if diff and before and after:
            subprocess.run(["git", "apply", "-p0", "-q", str(patch)], cwd=tmp_path, check=True)
            assert file.read_bytes() == after.encode()


@given(pairs)
def test_changed_lines_are_those_of_the_unified_diff(pair: tuple[str, str]) -> None:
    before, after = (text.replace("\r", "") for text in pair)
    body = unified(before, after, "old", "new").split("\n")[2:]
    assert changed_lines(before, after) == (
        sum(line.startswith("+") for line in body),
        sum(line.startswith("-") for line in body),
    )
