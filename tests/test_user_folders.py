"""Where the user's own files are: what the environment says, as platformdirs reads it."""

from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from planloom.user_folders import config_folder, state_folder

ENVIRONMENTS = (
    {},
    {"XDG_STATE_HOME": "/tmp/state", "XDG_CONFIG_HOME": "/tmp/config"},
    {"XDG_STATE_HOME": "relative", "XDG_CONFIG_HOME": ""},
    {"HOME": "/home/elsewhere"},
    {"HOME": "/"},
    {"HOME": "relative"},
    {"HOME": None},
)


@pytest.mark.parametrize("changes", ENVIRONMENTS, ids=str)
def test_the_folders_are_those_that_the_library_names(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, str | None]
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in changes.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert state_folder() == Path(platformdirs.user_state_dir("planloom", appauthor=False))
    assert config_folder() == Path(platformdirs.user_config_dir("planloom", appauthor=False))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the library is asked")
def test_on_linux_the_library_is_asked_only_where_the_environment_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    monkeypatch.setenv("HOME", "/home/elsewhere")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert state_folder() == Path("/home/elsewhere/.local/state/planloom")
    monkeypatch.setenv("HOME", "relative")
    with pytest.raises(ImportError):
        state_folder()
