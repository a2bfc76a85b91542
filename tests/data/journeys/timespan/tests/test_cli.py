import pytest

from timespan import show
from timespan.cli import main


@pytest.mark.parametrize(
    ("argv", "printed"),
    [
        (["1d 4h", "--in", "hours"], "28"),
        (["5400"], show(5400)),
        (["5400", "--short"], "1h 30m"),
        (["90m", "--in", "h"], "1.5"),
    ],
)
def test_prints(argv: list[str], printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    assert capsys.readouterr().out == printed + "\n"


@pytest.mark.parametrize("argv", [["7 parsecs"], ["1h", "--in", "parsecs"]])
def test_unknown_unit(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert "unknown unit 'parsecs'" in capsys.readouterr().err
