"""The units of time, from the longest to the shortest, and the names by which people call them."""

from __future__ import annotations

from typing import NamedTuple


class Unit(NamedTuple):
    """A unit of time with its length in seconds."""

    name: str
    short: str
    seconds: int
    aliases: tuple[str, ...] = ()

    def words(self, count: int) -> str:
        """The count with the unit's name.

        >>> UNITS[1].words(2)
        '2 days'
        """
        return f"{count} {self.name}" if count == 1 else f"{count} {self.name}s"


UNITS = (
    Unit("week", "w", 7 * 24 * 3600, ("wk", "wks")),
    Unit("day", "d", 24 * 3600),
    Unit("hour", "h", 3600, ("hr", "hrs")),
    Unit("minute", "m", 60, ("min", "mins")),
    Unit("second", "s", 1, ("sec", "secs")),
)

_BY_NAME = {
    name: unit
    for unit in UNITS
    for name in (unit.name, f"{unit.name}s", unit.short, *unit.aliases)
}


def unit_named(name: str) -> Unit | None:
    """The unit of a name, whatever its case; None if there is no such unit.

    >>> unit_named("Hrs").seconds
    3600
    """
    return _BY_NAME.get(name.lower())
