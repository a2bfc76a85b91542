"""The rules of pydantic's models that the page on the architecture states."""

from __future__ import annotations
import __future__

import importlib
import pkgutil
import sys
from collections import Counter
from collections.abc import Iterator

from pydantic import BaseModel

import planloom

FEW = 5


def models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in base.__subclasses__():
        yield each
        yield from models(each)


def test_the_annotations_of_many_models_are_evaluated_with_their_module() -> None:
    for module in pkgutil.walk_packages(planloom.__path__, "planloom."):
        if "windows" not in module.name and "confinement.linux" not in module.name:
            importlib.import_module(module.name)
    written = {each for each in models(BaseModel) if each.__qualname__ in vars(sys.modules[each.__module__])}
    counts = Counter(each.__module__ for each in written if each.__module__.startswith("planloom."))
    assert counts["planloom.domain.events.catalog"] > FEW
    # pydantic compiles each annotation that is kept as text, which is a tenth of what a class costs.
    as_text = [
        name
        for name, count in counts.items()
        if count > FEW and getattr(sys.modules[name], "annotations", None) is __future__.annotations
    ]
    assert not as_text
