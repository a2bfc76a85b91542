"""Paths and URIs by the rules of Windows, which can be tried without it: `tests/workspace/test_paths.py` has more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import PureWindowsPath

import pytest

from planloom.domain.safety.lexical_paths import escapes, normal_path
from planloom.domain.safety.protected import danger, never_written

OUTSIDE = (
    *("C:\\x", "C:x", "c:/x", "\\\\server\\share\\x", "//server/share/x", "\\\\?\\C:\\x", "\\\\.\\COM1"),
    *("..\\x", "a\\..\\..\\x", "\\x", "~\\x"),
)
INSIDE = ("a\\b", "a\\..\\b", ".\\a", "a/b\\c", "a b\\c.txt")


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_leads_out_on_windows_leads_out_everywhere(path: str) -> None:
    assert escapes(path)


@pytest.mark.parametrize("path", INSIDE)
def test_what_stays_inside_is_the_same_path_as_on_windows(path: str) -> None:
    assert not escapes(path)
    pure = PureWindowsPath("C:/work") / path
    parts: list[str] = []
    for part in pure.relative_to("C:/work").parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    assert normal_path(path) == "/".join(parts)


@pytest.mark.parametrize(
    "path", [".git\\hooks\\pre-commit", ".GIT/config", ".Git\\config", ".vscode\\tasks.json"]
)
def test_a_protected_name_is_one_in_any_spelling(path: str) -> None:
    plain = normal_path(path)
    assert danger(plain) is not None or never_written(plain) is not None


URIS = (
    ("C:\\work\\a b.txt", "file:///c%3A/work/a%20b.txt"),
    ("c:\\work\\ü#.txt", "file:///c%3A/work/%C3%BC%23.txt"),
)


def test_a_path_of_windows_becomes_a_uri_and_back() -> None:
    """In a process that takes itself for Windows as far as paths go."""
    program = (
        "from planloom.workspace.paths import uris\n"
        "uris._WINDOWS = True\n"
        f"for path, uri in {URIS!r}:\n"
        "    made = uris.from_path(path)\n"
        "    print(made == uri, str(uris.to_path(uri)).replace('/', chr(92)).lower() == path.lower())\n"
    )
    said = subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True)
    assert said.stdout.splitlines() == ["True True"] * len(URIS)
