"""The command line: prints a span in words, or as a number of one unit."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from timespan.errors import SpanError
from timespan.formatting import show
from timespan.parsing import parse
from timespan.units import unit_named


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    >>> main(["1d 4h", "--in", "hours"])
    28
    0
    """
    parser = argparse.ArgumentParser(prog="timespan", description=__doc__)
    parser.add_argument("span", help="a span such as '2h 30m', or a number of seconds")
    parser.add_argument("--in", dest="unit", help="print the number of this unit")
    parser.add_argument("--short", action="store_true", help="print '2h 30m' instead of words")
    args = parser.parse_args(argv)
    try:
        seconds = _seconds(args.span)
    except SpanError as error:
        print(f"timespan: {error}", file=sys.stderr)
        return 2
    if args.unit is None:
        print(show(seconds, style="short" if args.short else "long"))
        return 0
    unit = unit_named(args.unit)
    if unit is None:
        print(f"timespan: unknown unit {args.unit!r}", file=sys.stderr)
        return 2
    print(f"{seconds / unit.seconds:g}")
    return 0


def _seconds(span: str) -> float:
    try:
        return float(span)
    except ValueError:
        return parse(span)
