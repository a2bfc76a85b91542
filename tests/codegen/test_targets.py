"""Generated files are what the code says."""

from __future__ import annotations

import pytest

from codegen.settings_page import page as settings_page
from codegen.targets import ROOT, TARGETS


@pytest.mark.parametrize("path", TARGETS)
def test_a_generated_file_is_up_to_date(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == TARGETS[path](), "run `make generate`"


def test_every_setting_has_words() -> None:
    assert "| None" not in settings_page()
