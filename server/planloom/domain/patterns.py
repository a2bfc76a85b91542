"""Regular expressions that are compiled when they are first used: a process uses few of those that it declares."""

from __future__ import annotations

import re
from typing import Any, cast


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but an error in `source` is raised at the first use. A test uses every pattern of a module."""
    return cast("re.Pattern[str]", Uncompiled(source, flags))


class Uncompiled:
    """Stands for a pattern: it takes over the methods of the compiled one when somebody asks for the first of them."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        vars(self).update(
            {each: getattr(compiled, each) for each in dir(compiled) if not each.startswith("_")}
        )
        return getattr(compiled, name)
