"""Caches the bytecode of the methods that attrs generates for lsprotocol's types, to halve the server's start-up.

The problem: importing `lsprotocol.types` makes some 400 attrs classes. For each of them attrs writes the source of
`__init__`, `__eq__` and so on, and compiles it. Python caches the bytecode of modules, but not of such source.

The trick: while the protocol is imported, a global `compile` in `attr._make` hides the built-in function. It returns
cached code for the same file name and source text, so stale code is never used, and compiles what is missing. The cache
file lies in `__pycache__` beside this module's own bytecode, is written with the same rights and trusted as much.

If attrs no longer calls `compile` there, or the file is missing, damaged or read-only, everything works as before but
starts more slowly. `lsp/server.py` uses this, and `python -m bench.startup` measures it.
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


class CompileCache:
    """Code by file name and source text; `save` writes what was used since the file was read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_code = _read(path)
        self._used: dict[Key, CodeType] = {}
        self._changed = False

    def compile(self, source: Any, filename: str, mode: str, *rest: Any) -> Any:
        """Like the built-in function of this name, from the cache if it can."""
        if mode != "exec" or rest or not isinstance(source, str):
            return builtins.compile(source, filename, mode, *rest)
        code = self._read_code.get((filename, source))
        if code is None:
            self._changed = True
            code = builtins.compile(source, filename, mode)
        self._used[filename, source] = code
        return code

    def save(self) -> None:
        """Write the cache file if code was compiled; a file that cannot be written is not an error."""
        if not self._changed or sys.dont_write_bytecode:
            return
        body = marshal.dumps(self._used)
        # A name that nobody can guess, and no file that is there already: it could be a link to another.
        temporary = self._path.with_suffix(f".{os.urandom(8).hex()}.tmp")
        try:
            with temporary.open("xb") as file:
                file.write(MAGIC_NUMBER + zlib.crc32(body).to_bytes(4, "big") + body)
            temporary.replace(self._path)
        except OSError as error:
            logger.debug("The cache of compiled types was not written: %s", error)
            with contextlib.suppress(OSError):
                temporary.unlink()
        self._changed = False


@contextlib.contextmanager
def cached(path: Path | None = None) -> Iterator[CompileCache]:
    """Let attrs use the cache while this block imports the protocol's types."""
    from attr import _make

    compiled = CompileCache(path or cache_path())
    vars(_make)["compile"] = compiled.compile
    try:
        yield compiled
    finally:
        del vars(_make)["compile"]


def cache_path() -> Path:
    """The default cache file, beside the bytecode of this module."""
    return Path(cache_from_source(__file__)).with_suffix(".types")


def _read(path: Path) -> dict[Key, CodeType]:
    head = len(MAGIC_NUMBER) + 4
    try:
        data = path.read_bytes()
        body = memoryview(data)[head:]
        if data[:head] != MAGIC_NUMBER + zlib.crc32(body).to_bytes(4, "big"):
            return {}
        code: dict[Key, CodeType] = marshal.loads(body)
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return code
