"""Parses the params of LSP's own methods into the types of lsprotocol, and names the fields that do not fit."""

from __future__ import annotations

import logging
import re
from typing import Any

import cattrs
from lsprotocol import types

logger = logging.getLogger(__name__)

_WITHOUT_PARAMS = frozenset({types.SHUTDOWN, types.EXIT})


class Unreadable(Exception):
    """Params that do not fit their method; `problems` are pairs of a field and what is wrong with it."""

    def __init__(self, method: str, problems: list[tuple[str, str]]) -> None:
        self.message = f"The params of {method} are invalid: {problems[0][0]}: {problems[0][1]}."
        self.problems = problems
        super().__init__(self.message)

    def data(self) -> dict[str, Any]:
        """The `data` of the error answer."""
        return {
            "code": "invalid_params",
            "message": self.message,
            "details": [{"field": field, "problem": problem} for field, problem in self.problems],
        }


def read(converter: cattrs.Converter, method: str, params: Any, *, ident: Any = None) -> Any:
    """The typed params of a request (which has an `ident`) or notification. Raises Unreadable."""
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
    """Parse `initialize`; a capability that lsprotocol does not know counts as not declared."""
    while True:
        try:
            return converter.structure(message, types.InitializeRequest).params
        except Exception as error:
            problems = _problems(error)
            for field, problem in reversed(problems):
                if not field.startswith("capabilities.") or not _leave_out(message["params"], field):
                    raise Unreadable(types.INITIALIZE, problems) from error
                logger.info("Ignored a capability of the client: %s: %s", field, problem)


def _leave_out(tree: Any, field: str) -> bool:
    """Delete the value at `field`, or its parent if it is missing; False if there is neither."""
    *parents, last = (int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", field))
    holder, key = None, None
    for part in parents:
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
        lines = cattrs.transform_error(error)
    except Exception:
        lines = [str(error)]
    return [_field_and_problem(line) for line in lines] or [("params", str(error))]


def _field_and_problem(line: str) -> tuple[str, str]:
    """Splits a line of cattrs, `problem @ $.params.text_document`; the field is spelled as on the wire."""
    problem, _, path = line.rpartition(" @ $")
    if not problem:
        return "params", line
    field = path.removeprefix(".").removeprefix("params").removeprefix(".")
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), field) or "params", problem
