"""Reads the params of LSP's own methods into the library's types, or says which field is off."""

from __future__ import annotations

import logging
import re
from typing import Any

import cattrs
from lsprotocol import types

logger = logging.getLogger(__name__)

_WITHOUT_PARAMS = frozenset({types.SHUTDOWN, types.EXIT})


class Unreadable(Exception):
    """Params that do not fit their method; `problems` are pairs of field and what is off."""

    def __init__(self, method: str, problems: list[tuple[str, str]]) -> None:
        self.message = f"The params of {method} are off: {problems[0][0]}: {problems[0][1]}."
        self.problems = problems
        super().__init__(self.message)

    def data(self) -> dict[str, Any]:
        """The same as the `data` of an error answer."""
        return {
            "code": "invalid_params",
            "message": self.message,
            "details": [{"field": field, "problem": problem} for field, problem in self.problems],
        }


def read(converter: cattrs.Converter, method: str, params: Any, *, ident: Any = None) -> Any:
    """The typed params of a request (with `ident`) or notification. Raises Unreadable."""
    if method in _WITHOUT_PARAMS:
        return None
    if method == types.INITIALIZED:
        # Some clients leave the empty object out.
        return types.InitializedParams()
    message_type = types.METHOD_TO_TYPES.get(method, (None,))[0]
    if message_type is None:
        return params
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if params is None:
        del message["params"]
    if ident is not None:
        message["id"] = ident
    if method == types.INITIALIZE:
        return _initialize(converter, message)
    try:
        return converter.structure(message, message_type).params
    except Exception as error:
        raise Unreadable(method, _problems(error)) from error


def _initialize(converter: cattrs.Converter, message: dict[str, Any]) -> types.InitializeParams:
    """Read `initialize`; a capability that this library does not know yet counts as not declared."""
    while True:
        try:
            return converter.structure(message, types.InitializeRequest).params
        except Exception as error:
            problems = _problems(error)
            for field, problem in reversed(problems):
                if not field.startswith("capabilities.") or not _leave_out(message["params"], field):
                    raise Unreadable(types.INITIALIZE, problems) from error
                logger.info("Passing over a capability of the client: %s: %s", field, problem)


def _leave_out(tree: Any, field: str) -> bool:
    """Take the value at `field` out of the tree, or what holds it where it is missing; False if not found."""
    *way, last = (int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", field))
    holder, key = None, None
    for part in way:
        if not _has(tree, part):
            break
        holder, key, tree = tree, part, tree[part]
    if _has(tree, last):
        del tree[last]
        return True
    if holder is None or key == "capabilities":
        return False
    del holder[key]
    return True


def _has(tree: Any, part: int | str) -> bool:
    if isinstance(tree, dict):
        return part in tree
    return isinstance(tree, list) and isinstance(part, int) and part < len(tree)


def _problems(error: Exception) -> list[tuple[str, str]]:
    try:
        told = cattrs.transform_error(error)
    except Exception:
        told = [str(error)]
    return [_placed(line) for line in told] or [("params", str(error))]


def _placed(line: str) -> tuple[str, str]:
    """A line of cattrs, `problem @ $.params.text_document`, as field in the wire's spelling and problem."""
    problem, _, place = line.rpartition(" @ $")
    if not problem:
        return "params", line
    field = place.removeprefix(".").removeprefix("params").removeprefix(".")
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), field) or "params", problem
