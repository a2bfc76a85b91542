"""Every sentence of a view has a translation, and numbers are written as the language has them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from planloom.domain.plans import graph
from planloom.lsp.plan_documents import shown_documents
from planloom.lsp.transport import outgoing
from planloom.view import actions
from planloom.view.words import LANGUAGES, Words, catalogue

TRANSLATE = {
    **dict.fromkeys(("t", "self", "words", "_words"), (0,)),
    "plural": (1, 2),
    "_of_plan": (1,),
    "_of_steps": (1,),
}
"""Functions that translate, with the places of their sentences."""
RECORDED = {
    "Context compacted from {0} to {1} tokens.",
    "The plan was imported from another machine.",
    "{0}: ended",
}
"""Sentences that events bring; `domain/events` records them with their values."""


def literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)


def sentences() -> set[str]:
    """The English sentences of the rooms that speak to the user of an editor."""
    found = {*RECORDED, *actions._RECOVERY.values(), *actions.CONFLICT.values(), actions.ANSWER}
    found |= {*graph.WAITS.values(), graph.WAITS_FOR_SEVERAL, outgoing.LATER, outgoing.CHOICES}
    found |= {shown_documents.ADOPT, shown_documents.ADOPTABLE, shown_documents.MOVED_ON}
    room = Path(str(resources.files("planloom.view")))
    for module in (*room.glob("*.py"), *(room.parent / "lsp").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            places = TRANSLATE.get(name, ())
            found.update(text for place in places for text in literals(node.args[place]))
    return {each for each in found if any(letter.isalpha() for letter in each.replace("{0}", ""))} | {"{0} %"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_has_a_translation_with_its_places(language: str) -> None:
    known = catalogue(language)
    assert {each for each in sentences() if each not in known} == set()
    for english, translated in known.items():
        assert all((f"{{{place}}}" in english) == (f"{{{place}}}" in translated) for place in range(4)), (
            english
        )


def test_numbers_and_times() -> None:
    german, english = Words("de-DE"), Words("xx")
    assert (german.number(1234.5, 1), english.number(1234.5, 1)) == ("1.234,5", "1,234.5")
    assert [english.duration(each) for each in (800, 4200, 200_000, 3_720_000)] == [
        "800 ms",
        "4.2 s",
        "3 min 20 s",
        "1 h 2 min",
    ]
    assert [english.amount(each) for each in (940, 12_400, 1_300_000)] == ["940", "12.4k", "1.3M"]
    assert [english.money(each) for each in (0.02310, 12.5, 0.00001)] == ["0.0231", "12.50", "< 0.0001"]
    assert english.list(["1", "3", "4"]) == "1, 3 and 4"
