"""Every picture of README.md, docs and the walkthrough, with the script that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
IMAGES: Final = ROOT / "docs" / "images"

TERMINAL: Final = "terminal.svg"
"""Made by `pictures/terminal.py`."""
FILM: Final = "panel.webp"
"""Made by `pictures/film.py` from what the last of the journeys below records."""
JOURNEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "palette to disk, beside unsaved typing": ("review-dark.png", "diff-dark.png"),
    "typing into the lines of a waiting change is a conflict with both sides": ("conflict-dark.png",),
    "hunks are left out, all files are reviewed at once, and no tab is left open": ("hunks-420-dark.png",),
    "a plan drawn as a graph, walked by keys, followed while it runs": ("graph-420-light.png",),
    "who is thinking, who failed, what was said": ("thinking-light.png",),
    "every card at once": ("cards-light.png",),
    "a first run without a model: a server's address with its key, automatic, then without": (
        "first-run-dark.png",
        "guide-model-dark.png",
        "guide-model-light.png",
    ),
    "the demo's request, its change in the panel and in the editor's diff": (
        "guide-review-dark.png",
        "guide-review-light.png",
        "guide-apply-dark.png",
        "guide-apply-light.png",
        "panel-dark.png",
    ),
    "the film: a plan, its review, an overlap, an undo": (FILM,),
}
"""The journeys of client-vscode/e2e through a real workbench, and the pictures that each takes."""
