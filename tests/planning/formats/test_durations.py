"""How long a model says that its plan takes: every number and text has seconds or none."""

from __future__ import annotations

from typing import Any

import pytest

from planloom.planning.formats.durations import seconds_in

MONTH = 30 * 86_400


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [
        (90, 90),
        (0.2, 0),
        ("90", 90),
        ("1h 30m", 5_400),
        ("5-10 min", 600),
        (10**400, MONTH),
        (-(10**400), None),
        (1e308, MONTH),
        (float("inf"), None),
        (float("nan"), None),
        ("9" * 400, None),
        ("9" * 5_000, None),
        (True, None),
        ("soon", None),
    ],
)
def test_a_duration_is_read(stated: Any, seconds: int | None) -> None:
    assert seconds_in(stated) == seconds
