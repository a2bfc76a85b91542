"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re

import pytest

import planloom
from planloom.domain.patterns import Uncompiled, pattern


def test_it_is_used_like_a_compiled_one() -> None:
    word = pattern(r"(?P<first>[a-z])\w*", re.IGNORECASE)
    found = word.fullmatch("Ab")
    assert found is not None and found["first"] == "A"
    assert word.sub("-", "a bc") == "- -"
    assert [each[0] for each in word.finditer("x ab c", 1, 4)] == ["ab"]
    assert word.pattern == r"(?P<first>[a-z])\w*" and word.flags & re.IGNORECASE


def test_an_error_is_raised_at_the_first_use() -> None:
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.search("a")


def test_every_declared_pattern_compiles() -> None:
    for module in pkgutil.walk_packages(planloom.__path__, "planloom."):
        if "windows" not in module.name and "confinement.linux" not in module.name:
            importlib.import_module(module.name)
    declared = [each for each in gc.get_objects() if type(each) is Uncompiled and each._source != "("]
    assert len(declared) > 50
    for each in declared:
        re.compile(each._source, each._flags)
