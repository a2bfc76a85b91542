"""The summary of a workspace: facts first, upper levels before deeper ones, never more than fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.planning.model.snapshot import snapshot

PATHS = (
    "README.md",
    "package.json",
    "server/pyproject.toml",
    "server/src/",
    "server/src/a.py",
    "server/src/b.py",
    "web/src/deep/er/x.ts",
)


def test_languages_manifests_and_the_tree() -> None:
    assert snapshot(PATHS, 1_000) == (
        "6 files\n"
        "Languages: python (2), markdown (1), typescript (1)\n"
        "Manifests: package.json, server/pyproject.toml\n"
        "server/\n"
        "  src/\n"
        "    a.py\n"
        "    b.py\n"
        "  pyproject.toml\n"
        "web/\n"
        "  src/\n"
        "    deep/\n"
        "      er/\n"
        "        x.ts\n"
        "README.md\n"
        "package.json\n"
    )


def test_folders_that_do_not_fit_are_counted() -> None:
    many = [f"big/{n}.py" for n in range(25)] + ["small/only.py", "top.py"]
    assert snapshot(many, 110) == (
        "27 files\nLanguages: python (27)\nbig/ (25 files)\nsmall/\n  only.py\ntop.py\n"
    )


def test_entries_of_a_wide_folder_are_cut_and_counted() -> None:
    shown = snapshot(
        [f"f{n:03}.py" for n in range(100)] + [f"g{n:03}/x.py" for n in range(40)], 8_000, whole=False
    )
    assert shown.startswith("140 files and more\n")
    assert "f029.py" in shown and "f030.py" not in shown and "g029/" in shown and "g030/" not in shown
    assert shown.endswith("… 80 more\n")


def test_an_empty_workspace_has_an_empty_snapshot() -> None:
    assert snapshot((), 1_000) == ""


@pytest.mark.parametrize("most", [0, 99, 100, 150])
def test_a_snapshot_in_very_little_space(most: int) -> None:
    assert len(snapshot([f"folder{n}/a_long_name.py" for n in range(40)], most)) <= most


names = st.text("abc.", min_size=1, max_size=3)


@given(st.lists(st.lists(names, min_size=1, max_size=4).map("/".join), max_size=60), st.integers(100, 600))
def test_it_always_fits_and_never_raises(paths: list[str], most: int) -> None:
    assert len(snapshot(sorted(paths), most)) <= most
