import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.text import merge as merging
from planloom.domain.text.merge import (
    Conflicted,
    Merged,
    Replacement,
    merge,
    resolve,
    with_markers,
)
from planloom.domain.text.positions import LineIndex
from tests.depth import rounds


def lines(letters: str) -> str:
    """One line a letter; a dot at the end takes away the last line's end."""
    whole = "".join(letter + "\n" for letter in letters.removesuffix("."))
    return whole.removesuffix("\n") if letters.endswith(".") else whole


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "merged"),
    [
        ("abcd", "abcd", "aXcd", "aXcd"),
        ("abcd", "aXcd", "abcd", "aXcd"),
        ("abcd", "Xbcd", "abcY", "XbcY"),
        ("abcd", "aXcd", "aXcd", "aXcd"),
        ("abcde", "aXcde", "aXcdY", "aXcdY"),
        ("abcd", "abd", "abcdX", "abdX"),
        ("abcd", "Xabcd", "abcdY", "XabcdY"),
        ("abcd", "bcd", "abc", "bc"),
        ("abcdef", "f", "abcdef", "f"),
        ("", "a", "", "a"),
        ("a", "", "a", ""),
        ("abc", "Xbc.", "Xbc.", "Xbc."),
        ("abcd.", "Xbcd.", "abcd.", "Xbcd."),
        ("abcd", "Xbcd", "abcd.", "Xbcd."),
    ],
)
def test_changes_apart_or_alike_are_merged(base: str, mine: str, theirs: str, merged: str) -> None:
    found = merge(lines(base), lines(mine), lines(theirs))
    assert found == Merged(text=lines(merged))
    assert merge(lines(base), lines(theirs), lines(mine)) == found


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "hunks"),
    [
        pytest.param("abc", "aXc", "aYc", ["1-2 b|X|Y"], id="the same line"),
        pytest.param("abcd", "aXcd", "abYd", ["1-3 bc|Xc|bY"], id="lines that touch"),
        pytest.param("abc", "ac", "aYc", ["1-1 b||Y"], id="taken away and changed"),
        pytest.param("abc", "aXbc", "aYbc", ["1-2 |X|Y"], id="two texts at one place"),
        pytest.param("", "X", "Y", ["0-1 |X|Y"], id="two new texts"),
        pytest.param("abcde", "XbcdX", "YbcdY", ["0-1 a|X|Y", "4-5 e|X|Y"], id="two conflicts"),
        pytest.param("abcdef", "aXYdef", "abcZef", ["1-4 bcd|XYd|bcZ"], id="overlap"),
        pytest.param("ab.", "aX", "aY.", ["1-2 b|X|Y"], id="the last line"),
    ],
)
def test_changes_that_overlap_or_touch_are_conflicts(
    base: str, mine: str, theirs: str, hunks: list[str]
) -> None:
    found = merge(lines(base), lines(mine), lines(theirs))
    assert isinstance(found, Conflicted)
    assert [
        f"{hunk.range.start.line}-{hunk.range.end.line} {hunk.base}|{hunk.mine}|{hunk.theirs}".replace(
            "\n", ""
        )
        for hunk in found.hunks
    ] == hunks


def test_a_conflict_is_settled_by_choices() -> None:
    found = merge("a\nb\nc\nd\ne\nf\n", "a\nM\nc\nd\ne\nN\n", "a\nT\nc\nD\ne\nU\n")
    assert isinstance(found, Conflicted)
    assert resolve(found, ["mine", "theirs"]) == "a\nM\nc\nD\ne\nU\n"
    assert resolve(found, ["theirs", Replacement(text="both\n")]) == "a\nT\nc\nD\ne\nboth\n"
    with pytest.raises(ValueError, match="2 conflicts"):
        resolve(found, ["mine"])


@pytest.mark.parametrize(
    ("mine", "theirs", "marked"),
    [
        ("a\nX\nc\n", "a\nY\nc\n", "a\n<<<<<<< you\nX\n=======\nY\n>>>>>>> step\nc\n"),
        ("a\nc\n", "a\nY\nc\n", "a\n<<<<<<< you\n=======\nY\n>>>>>>> step\nc\n"),
        ("a\nb\nX", "a\nb\nY", "a\nb\n<<<<<<< you\nX\n=======\nY\n>>>>>>> step\n"),
    ],
)
def test_a_conflict_is_written_with_markers(mine: str, theirs: str, marked: str) -> None:
    found = merge("a\nb\nc\n", mine, theirs)
    assert isinstance(found, Conflicted)
    assert with_markers(found, "you", "step") == marked


def test_markers_take_the_line_ends_of_the_text() -> None:
    found = merge("a\r\nb\r\n", "a\r\nX\r\n", "a\r\nY\r\n")
    assert isinstance(found, Conflicted)
    assert "\n" not in with_markers(found, "you", "step").replace("\r\n", "")


def test_undo_keeps_what_was_typed_since() -> None:
    before, after = "a\nb\nc\nd\n", "a\nB\nc\nd\n"
    assert merge(after, "a\nB\nc\nd\ntyped\n", before) == Merged(text="a\nb\nc\nd\ntyped\n")
    assert merge(after, after, before) == merge(after, before, before) == Merged(text=before)
    assert merge(after, "a\ntyped\nc\nd\n", before).kind == "conflicted"


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_a_large_text_is_merged_like_a_small_one(eol: str) -> None:
    base = [f"entry {number}{eol}" for number in range(100_000)]
    mine, theirs, merged = list(base), list(base), list(base)
    mine[50_000] = merged[50_000] = f"mine{eol}"
    theirs[50_100] = merged[50_100] = f"theirs{eol}"
    assert merge("".join(base), "".join(mine), "".join(theirs)) == Merged(text="".join(merged))
    theirs[50_000] = f"other{eol}"
    found = merge("".join(base), "".join(mine), "".join(theirs))
    assert isinstance(found, Conflicted)
    (hunk,) = found.hunks
    assert (hunk.range.start.line, hunk.range.end.line) == (50_000, 50_001)
    assert (hunk.base, hunk.mine, hunk.theirs) == (base[50_000], mine[50_000], theirs[50_000])
    assert resolve(found, ["mine"]) == "".join(merged)


def test_of_changes_far_apart_each_is_merged_in_its_place() -> None:
    base = [f"entry {number}\n" for number in range(100_000)]
    mine, theirs = list(base), list(base)
    mine[10:10], mine[99_000] = ["mine\n", "mine\n"], "mine too\n"
    theirs[0:5], theirs[50_000] = [], "theirs\n"
    theirs[98_993] = "other\n"
    found = merge("".join(base), "".join(mine), "".join(theirs))
    assert isinstance(found, Conflicted)
    (hunk,) = found.hunks
    assert (hunk.mine, hunk.theirs, hunk.range.start.line) == ("mine too\n", "other\n", 99_000)
    lines = resolve(found, ["theirs"]).splitlines(keepends=True)
    assert lines[:8] == [*base[5:10], "mine\n", "mine\n", base[10]]
    assert (lines[50_002], lines[98_995], len(lines)) == ("theirs\n", "other\n", 99_997)


@pytest.mark.slow
def test_a_text_compared_in_parts_is_merged_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_MARGIN", 500)
    parts = 0
    for seed in range(150):
        chance = random.Random(seed)
        kinds = chance.choice((1, 2, 3, 10, 100, 100_000))

        def some(count: int) -> list[str]:
            return [f"line {chance.randrange(kinds)}\n" for _ in range(count)]  # noqa: B023

        base = some(1_000)
        sides = []
        for _ in range(2):
            side = list(base)
            for _ in range(chance.choice((1, 2, 4))):
                start = chance.randrange(len(side))
                side[start : start + chance.randrange(4)] = some(chance.randrange(4))
            sides.append("".join(side))
        triple = ("".join(base), *sides)
        monkeypatch.setattr(merging, "_LARGE", 1 << 20)
        whole = merge(*triple)
        monkeypatch.setattr(merging, "_LARGE", 0)
        assert merge(*triple) == whole, seed
        parts += len([*merging._stretches(*triple)]) > 1
    assert parts > 20


some_lines = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d\r", "\n", "😀\n"]), max_size=12)
triples = st.tuples(some_lines, some_lines, some_lines).map(lambda three: tuple(map("".join, three)))


@given(triples)
def test_a_conflict_holds_all_of_both_sides(triple: tuple[str, str, str]) -> None:
    base, mine, theirs = triple
    found = merge(base, mine, theirs)
    if found.kind == "merged":
        return
    index = LineIndex(mine)
    assert len(found.parts) == len(found.hunks) + 1
    for hunk in found.hunks:
        start, end = (index.offset(place, "utf-16") for place in (hunk.range.start, hunk.range.end))
        assert mine[start:end] == hunk.mine
        assert hunk.mine != hunk.theirs
        assert hunk.mine in mine
        assert hunk.theirs in theirs
        assert hunk.base in base


@given(triples)
def test_the_sides_are_treated_alike(triple: tuple[str, str, str]) -> None:
    base, mine, theirs = triple
    found, mirrored = merge(base, mine, theirs), merge(base, theirs, mine)
    assert found.kind == mirrored.kind
    if found.kind == "merged":
        assert found == mirrored


@given(some_lines, some_lines)
def test_one_sided_changes_are_taken_whole(base: list[str], side: list[str]) -> None:
    old, new = "".join(base), "".join(side)
    assert merge(old, new, old) == merge(old, old, new) == merge(old, new, new) == Merged(text=new)


@given(st.randoms(use_true_random=False))
def test_every_line_that_either_side_wrote_is_in_the_result(chance: random.Random) -> None:
    base, mine, theirs = some_triple(chance, kinds=5)
    new = {f"mine {chance.random()}\n", f"theirs {chance.random()}\n"}
    mine_lines, their_lines = mine.splitlines(keepends=True), theirs.splitlines(keepends=True)
    ours, others = sorted(new)
    mine_lines.insert(chance.randint(0, len(mine_lines)), ours)
    their_lines.insert(chance.randint(0, len(their_lines)), others)
    found = merge(base, "".join(mine_lines), "".join(their_lines))
    if found.kind == "merged":
        assert all(line in found.text for line in new)
    else:
        assert ours in resolve(found, ["mine"] * len(found.hunks))
        assert others in resolve(found, ["theirs"] * len(found.hunks))


def some_triple(chance: random.Random, kinds: int) -> tuple[str, str, str]:
    """A text and two changed copies, of lines of so many kinds and of lines that occur once."""
    serial = iter(range(1_000_000))
    once = chance.choice((0.0, 0.1, 0.5, 0.9))

    def some(count: int) -> list[str]:
        return [
            f"line {next(serial)}" if chance.random() < once else f"{chance.randrange(kinds)}"
            for _ in range(count)
        ]

    def changed(lines: list[str]) -> list[str]:
        lines = list(lines)
        for _ in range(chance.randint(0, 4)):
            start = chance.randint(0, len(lines))
            lines[start : start + chance.choice((0, 1, 1, 2, 3, 10))] = some(
                chance.choice((0, 1, 1, 2, 3, 10))
            )
        return lines

    base = some(chance.choice((0, 1, 3, 8, 20, 60, 200)))
    half = chance.randint(0, len(base))
    apart = chance.random() < 0.4
    mine = [*changed(base[:half]), *base[half:]] if apart else changed(base)
    theirs = [*base[:half], *changed(base[half:])] if apart else changed(base)
    eol = chance.choice(("\n", "\n", "\r\n"))
    three = [
        eol.join(text) + (eol if text and chance.random() < 0.9 else "") for text in (base, mine, theirs)
    ]
    return three[0], three[1], three[2]


def check_against_git(folder: Path, seeds: range) -> None:
    """The same text as `git merge-file`, and a conflict exactly where git has one."""
    conflicts = 0
    for seed in seeds:
        chance = random.Random(seed)
        triple = some_triple(chance, kinds=chance.choice((1, 2, 3, 10, 1000)))
        names = ("base", "mine", "theirs")
        for name, text in zip(names, triple, strict=True):
            (folder / name).write_bytes(text.encode())
        command = ["git", "merge-file", "-p", "-q", "mine", "base", "theirs"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        assert done.returncode < 128, done.stderr
        found = merge(*triple)
        if done.returncode == 0:
            assert found == Merged(text=done.stdout.decode()), seed
        else:
            assert found.kind == "conflicted", seed
            conflicts += 1
    assert 0 < conflicts < len(seeds)


@pytest.mark.deep
@pytest.mark.parametrize("part", range(5))
def test_merges_agree_with_git(tmp_path: Path, part: int) -> None:
    first = 1_000 * part
    check_against_git(tmp_path, range(first, first + rounds(60, 1_000)))
