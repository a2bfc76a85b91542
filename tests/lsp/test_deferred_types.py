"""The classes of lsprotocol are those that attrs always makes, whenever they are made."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

COMPARE = """
import json, re, sys
if sys.argv[1] == "deferred":
    from planloom.lsp.transport import deferred_types
    deferred_types.load()
import attrs
from lsprotocol import types
METHODS = ("__init__", "__eq__", "__ne__", "__lt__", "__gt__", "__le__", "__ge__", "__hash__", "__repr__",
           "__match_args__", "__doc__")
left = len(list(filter(deferred_types.is_deferred, vars(types).values()))) if sys.argv[1] == "deferred" else 0
from planloom.lsp.transport.codec import wire_converter
converter = wire_converter()
told = {"left": left, "module": sorted(vars(types)), "classes": {}}
for name, cls in sorted(vars(types).items()):
    if isinstance(cls, type) and attrs.has(cls):
        told["classes"][name] = [
            (field.name, str(field.type), repr(field.default),
             re.sub(" at 0x[0-9a-f]+", "", repr(field.validator)))
            for field in attrs.fields(cls)
        ] + sorted(name for name in vars(cls) if name in METHODS)
told["read"] = repr(converter.structure(json.loads(sys.argv[2]), types.InitializeParams))
told["written"] = converter.unstructure(converter.structure(json.loads(sys.argv[2]), types.InitializeParams))
print(json.dumps(told))
"""
PARAMS = {
    "processId": 1,
    "rootUri": None,
    "workspaceFolders": [{"uri": "file:///a", "name": "a"}],
    "capabilities": {
        "workspace": {"workspaceEdit": {"resourceOperations": ["create"], "failureHandling": "undo"}},
        "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": [""]}}}},
        "general": {"positionEncodings": ["utf-8", "utf-16"]},
    },
}


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.process
def test_deferred_classes_are_those_that_attrs_makes() -> None:
    told: dict[str, Any] = {
        how: json.loads(run(COMPARE, how, json.dumps(PARAMS))) for how in ("deferred", "at once")
    }
    assert told["deferred"].pop("left") > 500 and told["at once"].pop("left") == 0
    assert told["deferred"] == told["at once"]


@pytest.mark.process
def test_a_class_is_finished_by_its_first_instance_or_by_who_asks_for_its_fields() -> None:
    run(
        "import attrs\n"
        "from planloom.lsp.transport import deferred_types as deferred\n"
        "deferred.load()\n"
        "assert attrs.define is deferred._define\n"
        "from lsprotocol import types\n"
        "assert deferred.is_deferred(types.Position) and deferred.is_deferred(types.Range)\n"
        "assert types.Position(1, 2) == types.Position(1, character=2) < types.Position(2, 1)\n"
        "assert not deferred.is_deferred(types.Position) and deferred.is_deferred(types.Range)\n"
        "assert [field.type for field in attrs.fields(types.Range)] == [types.Position] * 2\n"
        "assert not deferred.is_deferred(types.Range)\n"
        "for wrong in (lambda: types.Position(-1, 0), lambda: setattr(types.Position(1, 2), 'line', -1)):\n"
        "    try:\n"
        "        wrong()\n"
        "    except ValueError:\n"
        "        continue\n"
        "    raise AssertionError\n"
    )


@pytest.mark.process
def test_a_module_that_is_imported_already_stays_as_it_is() -> None:
    run(
        "from lsprotocol import types\n"
        "from planloom.lsp.transport import deferred_types as deferred\n"
        "deferred.load()\n"
        "assert not any(map(deferred.is_deferred, vars(types).values()))\n"
        "assert deferred.converter().unstructure(types.Position(1, 2)) == {'line': 1, 'character': 2}\n"
    )
