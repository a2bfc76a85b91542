"""Remembers the code that attrs makes for the protocol's types: to compile it is half of the server's start.

It is kept where Python keeps the compiled code of this very module, and trusted as that is. What is remembered
is found by its source text, so it can be missing but never wrong; without it all works, only later.
"""

from __future__ import annotations

import builtins
import contextlib
import logging
import marshal
import os
import sys
import zlib
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from types import CodeType
from typing import Any

logger = logging.getLogger(__name__)

Key = tuple[str, str]


class Compiled:
    """Code by file name and source text; `save` keeps what was asked for since it was read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _read(path)
        self._used: dict[Key, CodeType] = {}
        self._new = False

    def compile(self, source: Any, filename: str, mode: str, *rest: Any) -> Any:
        """What the built-in function of this name gives."""
        if mode != "exec" or rest or not isinstance(source, str):
            return builtins.compile(source, filename, mode, *rest)
        code = self._known.get((filename, source))
        if code is None:
            self._new = True
            code = builtins.compile(source, filename, mode)
        self._used[filename, source] = code
        return code

    def save(self) -> None:
        """Keep the code for the next start, if there is any that was not kept; where that cannot be, do not."""
        if not self._new or sys.dont_write_bytecode:
            return
        body = marshal.dumps(self._used)
        beside = self._path.with_suffix(f".{os.getpid()}.tmp")
        try:
            beside.write_bytes(MAGIC_NUMBER + zlib.crc32(body).to_bytes(4, "big") + body)
            beside.replace(self._path)
        except OSError as error:
            logger.debug("The types' code is not kept: %s", error)
            with contextlib.suppress(OSError):
                beside.unlink()
        self._new = False


@contextlib.contextmanager
def remembered(path: Path | None = None) -> Iterator[Compiled]:
    """While this block imports the protocol's types, attrs is given code that is known."""
    # It is here that attrs looks for the built-in function; if it should not any more, nothing is remembered.
    from attr import _make

    compiled = Compiled(path or place())
    vars(_make)["compile"] = compiled.compile
    try:
        yield compiled
    finally:
        del vars(_make)["compile"]


def place() -> Path:
    """Beside the compiled code of this module."""
    return Path(cache_from_source(__file__)).with_suffix(".types")


def _read(path: Path) -> dict[Key, CodeType]:
    head = len(MAGIC_NUMBER) + 4
    try:
        data = path.read_bytes()
        body = memoryview(data)[head:]
        if data[:head] != MAGIC_NUMBER + zlib.crc32(body).to_bytes(4, "big"):
            return {}
        known: dict[Key, CodeType] = marshal.loads(body)
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return known
