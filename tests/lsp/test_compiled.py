"""The code that attrs generates is cached by its source text: an entry may be missing, but never wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
from attr import _make

from planloom.lsp.transport.compiled_types import CompileCache, cached


@pytest.fixture(autouse=True)
def _writing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def define(path: Path, **fields: Any) -> tuple[Any, CompileCache]:
    with cached(path) as code:
        made = attrs.make_class("Thing", {name: attrs.field(default=value) for name, value in fields.items()})
    code.save()
    return made, code


def test_a_class_made_from_read_code_code_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "code"
    first, _ = define(path, a=1, b="x")
    second, code = define(path, a=1, b="x")
    assert code._read_code and set(code._used) <= set(code._read_code)
    assert repr(first(a=3)) == repr(second(a=3)) == "Thing(a=3, b='x')"
    assert second(a=1) == second(a=1) != second(a=2)


def test_other_code_is_compiled_whatever_is_read_code(tmp_path: Path) -> None:
    path = tmp_path / "code"
    define(path, a=1)
    other, _ = define(path, c=1)
    assert repr(other()) == "Thing(c=1)"


@pytest.mark.parametrize("damage", [b"", b"x" * 100, None])
def test_a_damaged_file_is_passed_over_and_written_anew(tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "code"
    define(path, a=1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    made, code = define(path, a=1)
    assert code._read_code == {} and repr(made()) == "Thing(a=1)"
    assert define(path, a=1)[1]._read_code


def test_a_place_that_cannot_be_written_is_no_matter(tmp_path: Path) -> None:
    made, _ = define(tmp_path / "missing" / "code", a=1)
    assert repr(made()) == "Thing(a=1)"
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_kept_where_python_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    define(tmp_path / "code", a=1)
    assert list(tmp_path.iterdir()) == []


def test_attrs_is_left_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), cached(tmp_path / "code"):
        assert "compile" in vars(_make)
        raise ZeroDivisionError
    assert "compile" not in vars(_make)


def test_the_second_start_compiles_no_type_of_the_protocol(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from planloom.lsp.transport import compiled_types as compiled\n"
        "with compiled.cached() as code:\n"
        "    from lsprotocol import types\n"
        "code.save()\n"
        "print(len(code._used), code._changed or len(code._used) - len(code._read_code))\n"
        "assert types.Position(1, 2) == types.Position(1, 2)\n"
    )
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    runs = [
        subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert int(runs[0][0]) > 400
    assert runs[1] == [runs[0][0], "0"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")
def test_nothing_is_written_through_a_link_that_lies_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "urandom", bytes)
    (tmp_path / "other").write_text("stays")
    (tmp_path / f"code.{bytes(8).hex()}.tmp").symlink_to(tmp_path / "other")
    made, _ = define(tmp_path / "code", a=1)
    assert repr(made()) == "Thing(a=1)" and (tmp_path / "other").read_text() == "stays"
