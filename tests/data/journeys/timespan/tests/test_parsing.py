import pytest

from timespan import SpanError, parse


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1.5 hours", 5400),
        ("2 weeks", 1_209_600),
        ("1d 4h", 100_800),
        ("2 hours, 30 minutes", 9000),
        ("2 hours and 30 minutes", 9000),
        ("2H30M", 9000),
        ("-15m", -900),
        (" +1 min ", 60),
    ],
)
def test_parts(text: str, seconds: float) -> None:
    assert parse(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("1:30:00", 5400), ("02:30", 150), ("-0:01.5", -1.5), ("100:00:00", 360_000)]
)
def test_clock(text: str, seconds: float) -> None:
    assert parse(text) == seconds


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 0, "nothing to read"),
        ("  ", 2, "nothing to read"),
        ("7 parsecs", 2, "unknown unit 'parsecs'"),
        ("1h x", 3, "a number with a unit is missing"),
    ],
)
def test_what_cannot_be_read(text: str, position: int, problem: str) -> None:
    with pytest.raises(SpanError) as raised:
        parse(text)
    assert (raised.value.position, raised.value.problem) == (position, problem)
