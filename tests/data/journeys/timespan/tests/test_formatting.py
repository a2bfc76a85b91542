import pytest

from timespan import parse, show


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (59.9, "59 seconds"),
        (9000, "2 hours, 30 minutes"),
        (93_784, "1 day, 2 hours"),
        (-5400, "-1 hour, 30 minutes"),
    ],
)
def test_long(seconds: float, text: str) -> None:
    assert show(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (9000, "2h 30m"), (694_861, "1w 1d")])
def test_short(seconds: float, text: str) -> None:
    assert show(seconds, style="short") == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00:00"), (93_784, "26:03:04"), (-61, "-0:01:01")])
def test_clock(seconds: float, text: str) -> None:
    assert show(seconds, style="clock") == text


def test_most() -> None:
    assert show(93_784, most=4) == "1 day, 2 hours, 3 minutes, 4 seconds"
    assert show(93_784, most=1) == "1 day"
    with pytest.raises(ValueError):
        show(1, most=0)


@pytest.mark.parametrize("seconds", [1, 61, 3661, 90_061, 694_861])
def test_what_is_shown_can_be_parsed(seconds: int) -> None:
    assert parse(show(seconds, most=5)) == seconds
    assert parse(show(seconds, style="clock")) == seconds
