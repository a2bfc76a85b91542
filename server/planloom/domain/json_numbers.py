"""Which numbers of a JSON text are taken: finite ones within the range of a float, so that every reader can hold them.

JSON has no limit: `1e999` reads as infinity, which no JSON can say again, and an integer of 400 digits as one that no
float can hold.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NoReturn

from planloom.domain.values import Json

_LARGEST: Final = int(sys.float_info.max)
_MAY_BE_TOO_LARGE: Final = re.compile(r"[0-9]{200}|[eE]\+?[0-9]{3}|NaN|Infinity")


def is_sound(number: float) -> bool:
    """Whether a number, or an integer of any size, is finite and within the range of a float."""
    return -_LARGEST <= number <= _LARGEST


def loaded(
    text: str, *, strict: bool = True, pairs: Callable[[Sequence[tuple[str, Json]]], Json] | None = None
) -> Json:
    """The value of a JSON text, as `json.loads` reads it. Raises ValueError, also for a number that is not taken.

    RecursionError is raised for a text that is nested too deeply. `pairs` makes an object of its members.
    """
    # The decoder in C calls no function for a number unless it has to.
    checked = _MAY_BE_TOO_LARGE.search(text) is not None
    value: Json = _decoder(strict, checked, pairs).decode(text)
    return value


@cache
def _decoder(
    strict: bool, checked: bool, pairs: Callable[[Sequence[tuple[str, Json]]], Json] | None
) -> json.JSONDecoder:
    """A decoder, made once: to make it takes longer than to decode a small text."""
    numbers: dict[str, Any] = (
        {"parse_int": _number, "parse_float": _number, "parse_constant": _refuse} if checked else {}
    )
    return json.JSONDecoder(strict=strict, object_pairs_hook=pairs, **numbers)


def _number(text: str) -> float:
    number = int(text) if text.lstrip("-").isdigit() else float(text)
    if not is_sound(number):
        raise ValueError("a number is too large")
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
