"""What the frame of the benches says of numbers: ratios of pairs, exponents of growth, and what got worse."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

import bench.__main__ as runner
from bench.figures import Figure, Measured, fitted, in_turn, row, table

TIME = Figure(name="answer", anchor="a bare client", goal=0.5)


def test_a_ratio_is_the_median_of_pairs_that_ran_together() -> None:
    found = TIME.paired([1.0, 2.0, 30.0], [2.0, 4.0, 20.0])
    assert (found.value, found.anchor_value, found.score, found.misses) == (2.0, 4.0, 0.5, False)
    assert found.spread == pytest.approx(0.25)
    assert TIME.paired([3.0], [4.0]).misses


def test_values_without_their_pair_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        TIME.paired([1.0, 2.0], [2.0])


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_an_exponent_is_found_behind_a_cost_that_each_call_has(exponent: float) -> None:
    points = [(size, 5 + 0.01 * size**exponent) for size in (10, 100, 1_000, 10_000, 100_000)]
    assert fitted(points)[0] == pytest.approx(exponent, abs=0.15)


def test_growth_shows_the_cost_of_each_size() -> None:
    found = Figure(name="list", goal=1.1).grown([(10, 1.0), (100, 10.0), (1_000, 100.0)])
    assert found.score == pytest.approx(1.0)
    assert "1,000: 100" in row(found)[2]


def test_what_is_measured_in_turn_is_warmed_up_once() -> None:
    calls: list[str] = []

    def measure(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    found = in_turn(2, {"a": lambda: measure("a"), "b": lambda: measure("b")})
    assert calls == ["a", "b"] * 3
    assert found == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


def ratio(score: float, spread: float = 0.0) -> Measured:
    return Measured(name="answer", unit="ms", kind="ratio", value=score, score=score, spread=spread)


@pytest.mark.parametrize(
    ("before", "now", "named"),
    [
        (ratio(1.0), ratio(1.05), False),
        (ratio(1.0), ratio(1.3), True),
        (ratio(1.0), ratio(0.5), False),
        (ratio(1.0, spread=0.2), ratio(1.3, spread=0.1), False),
        (Figure(name="answer").counted(100), Figure(name="answer").counted(103), True),
        (Figure(name="answer").timed([1.0]), Figure(name="answer").timed([100.0]), False),
    ],
)
def test_only_what_is_worse_beyond_the_spread_is_named(before: Measured, now: Measured, named: bool) -> None:
    lines = runner.got_worse({"warm": [now]}, {"warm": {"answer": before}})
    assert bool(lines) is named


def test_a_figure_that_could_not_be_measured_is_named_and_not_called_worse() -> None:
    kept = {"warm": {"answer": ratio(1.0)}}
    assert runner.missing({"warm": []}, kept) == ["warm: answer"]
    assert runner.got_worse({"warm": []}, kept) == []


def test_kept_figures_are_the_baseline_and_the_table_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "performance.md"
    page.write_text("# Page\n<!-- figures: warm -->\nold\n<!-- end -->\nrest\n", encoding="utf-8")
    monkeypatch.setattr(runner, "PAGE", page)
    monkeypatch.setattr(runner, "BASELINE", tmp_path / "baseline.json")
    found = TIME.paired([1.0, 1.2], [2.0, 2.0])
    runner.keep("full", {"warm": [found]})
    assert runner.read_baseline("full")["warm"]["answer"] == found
    assert runner.read_baseline("quick") == {}
    text = page.read_text(encoding="utf-8")
    assert "| answer | 1.1 ms | a bare client 2 | 0.55 ± 0.02 | ≤ 0.5 |" in text
    assert "old" not in text and text.endswith("<!-- end -->\nrest\n")


def test_the_committed_baseline_can_be_read_and_names_benches_that_exist() -> None:
    for mode in json.loads(runner.BASELINE.read_text(encoding="utf-8")):
        assert runner.read_baseline(mode).keys() <= set(runner.BENCHES)


def test_every_bench_has_its_module() -> None:
    assert [name for name in runner.BENCHES if find_spec(runner.module_of(name)) is None] == []


def test_every_bench_has_its_table_on_the_page() -> None:
    page = runner.PAGE.read_text(encoding="utf-8")
    assert [name for name in runner.BENCHES if f"<!-- figures: {name} -->" not in page] == []


def test_a_table_is_aligned() -> None:
    lines = table([row(TIME.paired([1.0], [2.0]))]).splitlines()
    assert lines[0].index("measured") == lines[1].index("1 ms")
