import pytest

from timespan import round_to, show, total


def test_total() -> None:
    assert total(["1h", "45m", "-15m"]) == 5400
    assert total([]) == 0
    assert show(total(["0.1s"] * 600)) == "1 minute"


@pytest.mark.parametrize(
    ("seconds", "unit", "rounded"),
    [
        (5399, "minute", 5400),
        (89, "m", 60),
        (90, "m", 120),
        (-90, "m", -120),
        (12 * 3600, "days", 86_400),
    ],
)
def test_round_to(seconds: float, unit: str, rounded: float) -> None:
    assert round_to(seconds, unit) == rounded


def test_round_to_an_unknown_unit() -> None:
    with pytest.raises(ValueError, match="fortnight"):
        round_to(1, "fortnight")
