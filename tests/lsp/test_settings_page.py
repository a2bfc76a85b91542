"""The page of the settings is made from their models."""

from __future__ import annotations

from pathlib import Path

from planloom.lsp.settings_page import page

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_is_that_of_the_settings() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "write it anew: python -m planloom.lsp.settings_page > docs/settings.md"
    )


def test_every_setting_has_words() -> None:
    assert "| None" not in page()
