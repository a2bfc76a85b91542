"""A signature that grows too long hides which of its parameters belong together."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "server/planloom"
MOST = 6
"""The most parameters of a function or method, without `self` or `cls`."""
PUBLIC = {"service/application.py:open"}
"""Functions that programs outside this repository call, with their parameters by name."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    """Every function of the package, as `module.py:name`."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield f"{path.relative_to(PACKAGE).as_posix()}:{node.name}", node


def parameters(function: Function) -> list[str]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    rest = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return [each.arg for each in (*named, *rest) if each.arg not in ("self", "cls")]


def test_no_signature_has_more_than_six_parameters() -> None:
    long = {
        name: parameters(function)
        for name, function in functions()
        if len(parameters(function)) > MOST and name not in PUBLIC
    }
    assert long == {}
