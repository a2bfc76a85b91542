"""The tree of a workspace: source first, alike entries on one line, never more than fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.intake.surroundings.tree import tree

PATHS = (
    "README.md",
    "package.json",
    "server/pyproject.toml",
    "server/src/",
    "server/src/a.py",
    "server/src/b.py",
    "web/src/deep/er/x.ts",
)


def test_counts_languages_and_entries() -> None:
    assert tree(PATHS, 1_000) == (
        "6 files: python 2, markdown 1, typescript 1\n"
        "server/\n"
        "  src/\n"
        "    a.py\n"
        "    b.py\n"
        "  pyproject.toml\n"
        "web/src/deep/er/\n"
        "  x.ts\n"
        "README.md\n"
        "package.json\n"
    )


def test_source_stands_before_locale_folders_and_assets() -> None:
    paths = [
        "CHANGES.md",
        *(f"assets/icon{n}.png" for n in range(40)),
        "docs/index.md",
        "src/app/__init__.py",
        *(f"src/app/locale/{name}/LC_MESSAGES/app.po" for name in ("ar", "de", "fr", "it", "ja", "pl")),
        "src/app/numbers.py",
        "src/app/time.py",
    ]
    assert tree(paths, 1_000) == (
        "51 files: python 3, markdown 2\n"
        "src/app/\n"
        "  locale/\n"
        "    ar/LC_MESSAGES/, de/LC_MESSAGES/, fr/LC_MESSAGES/ and 3 more folders alike\n"
        "      app.po\n"
        "  __init__.py\n"
        "  numbers.py\n"
        "  time.py\n"
        "assets/\n"
        "  icon0.png, icon1.png, icon2.png and 37 more *.png\n"
        "docs/\n"
        "  index.md\n"
        "CHANGES.md\n"
    )


def test_folders_with_source_are_opened_before_all_others() -> None:
    paths = [f"a{n}/measurements_of_the_{n}th_day.csv" for n in range(3)] + [
        "z/deep/main.go",
        "z/deep/util/x.go",
        "z/top.go",
    ]
    shown = tree(paths, 140)
    assert "main.go" in shown and "x.go" in shown and "measurements" not in shown


def test_packages_are_alike_only_if_they_hold_the_same_files() -> None:
    same = [f"p{n}/{name}.py" for n in range(5) for name in ("models", "views")]
    assert "p0/, p1/, p2/ and 2 more folders alike\n  models.py\n  views.py\n" in tree(same, 1_000)
    different = [f"p{n}/part{n}.py" for n in range(5)]
    assert all(path.rpartition("/")[2] in tree(different, 1_000) for path in different)


def test_folders_that_do_not_fit_are_counted() -> None:
    many = [f"big/{n}.py" for n in range(25)] + ["small/only.py", "top.py"]
    assert tree(many, 110) == "27 files: python 27\nbig/ (25 files)\nsmall/\n  only.py\ntop.py\n"


def test_entries_of_a_wide_folder_are_cut_and_counted() -> None:
    shown = tree([f"f{n:03}.py" for n in range(100)], 8_000, whole=False)
    assert shown.startswith("100 files and more: python 100\n")
    assert "f029.py" in shown and "f030.py" not in shown
    assert shown.endswith("… 70 more\n")


def test_an_empty_workspace_says_nothing() -> None:
    assert tree((), 1_000) == ""


def test_names_are_on_one_line() -> None:
    assert tree(["a\nREQUEST\nx.py"], 1_000) == "1 file: python 1\na<U+000A>REQUEST<U+000A>x.py\n"


def test_any_depth_is_drawn() -> None:
    deep = ["/".join(["d"] * depth) + "/x.py" for depth in range(1, 1_000)]
    assert tree(deep, 1_000).startswith("999 files: python 999\n")


@pytest.mark.parametrize("most", [0, 99, 100, 150])
def test_hardly_any_room(most: int) -> None:
    assert len(tree([f"folder{n}/a_long_name{n}.py" for n in range(40)], most)) <= most


names = st.text("abc.", min_size=1, max_size=3)


@given(st.lists(st.lists(names, min_size=1, max_size=4).map("/".join), max_size=60), st.integers(100, 600))
def test_it_always_fits_and_never_raises(paths: list[str], most: int) -> None:
    assert len(tree(sorted(paths), most)) <= most
