"""Compares messages with docs/protocol.schema.json, and knows no field beside those that it names."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from codegen.targets import ROOT

SCHEMA = json.loads((ROOT / "docs" / "protocol.schema.json").read_text(encoding="utf-8"))


def problems(**groups: Any) -> list[str]:
    """Why messages do not fit, in their groups and by their methods: `requests={"planloom/detect": {"params": …}}`."""
    return [f"{error.json_path}: {error.message}" for error in _validator().iter_errors(groups)]


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(_closed(SCHEMA), format_checker=Draft202012Validator.FORMAT_CHECKER)


def _closed(schema: Any) -> Any:
    """The schema in which an object that names its fields has no others."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: _closed(each) for name, each in schema.items()}
    return {"additionalProperties": False, **inner} if isinstance(inner.get("properties"), dict) else inner
