"""The private names of pygls are there, and one module alone uses them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from planloom.lsp.transport.codec import PlanloomProtocol
from planloom.lsp.transport.pygls_private import PRIVATE_NAMES

ROOM = Path(__file__).parents[2] / "server" / "planloom"
STOCK = LanguageServer("stock", "1", text_document_sync_kind=types.TextDocumentSyncKind.Incremental)
THEIRS = {name for name in dir(STOCK.protocol) if name.startswith("_") and not name.startswith("__")}


@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_pygls_has_the_private_name(name: str) -> None:
    assert hasattr(STOCK.protocol, name), f"pygls has no {name} any more. {PRIVATE_NAMES[name]}"


def private_names(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return used & THEIRS


def test_one_module_uses_them_all_and_no_other_uses_any() -> None:
    using = [path for room in ("lsp", "cli", "languages") for path in (ROOM / room).rglob("*.py")]
    users = {path.name: names for path in using if (names := private_names(path))}
    assert users == {"pygls_private.py": set(PRIVATE_NAMES)}


def test_no_method_of_ours_replaces_a_private_one_of_pygls() -> None:
    classes = PlanloomProtocol.__mro__
    ours = classes[: classes.index(LanguageServerProtocol)]
    assert not THEIRS & {name for kind in ours for name in vars(kind)}
