"""The user's decisions on folders and options, which every server and the command line share."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from planloom.domain.errors import StorageFailed
from planloom.storage.decisions import FILE, Decisions


@pytest.fixture
def decisions(tmp_path: Path) -> Decisions:
    return Decisions(tmp_path / "state" / FILE)


def folder(tmp_path: Path, name: str) -> Path:
    made = tmp_path / name
    made.mkdir(parents=True)
    return made


def test_nothing_is_decided_before_somebody_decides(tmp_path: Path, decisions: Decisions) -> None:
    assert decisions.is_trusted(tmp_path) is None
    assert decisions.are_kept("0") is None
    assert decisions.folders() == () and not (tmp_path / "state").exists()


def test_a_decision_holds_for_every_reader_until_it_is_forgotten(
    tmp_path: Path, decisions: Decisions
) -> None:
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two")
    decisions.decide_folder(one, trusted=True)
    decisions.decide_folder(two, trusted=False)
    other = Decisions(tmp_path / "state" / FILE)
    assert (other.is_trusted(one), other.is_trusted(two)) == (True, False)
    assert [(each.path.name, each.trusted) for each in other.folders()] == [("one", True), ("two", False)]
    assert other.forget_folder(one) and not other.forget_folder(one)
    assert decisions.is_trusted(one) is None


def test_the_real_folder_is_decided_and_not_a_name(tmp_path: Path, decisions: Decisions) -> None:
    real = folder(tmp_path, "real")
    (tmp_path / "link").symlink_to(real)
    decisions.decide_folder(tmp_path / "link", trusted=True)
    assert decisions.is_trusted(real) is True
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(folder(tmp_path, "other"))
    assert decisions.is_trusted(tmp_path / "link") is None


def test_another_folder_in_its_place_is_not_decided(tmp_path: Path, decisions: Decisions) -> None:
    trusted, other = folder(tmp_path, "trusted"), folder(tmp_path, "other")
    decisions.decide_folder(trusted, trusted=True)
    trusted.rename(tmp_path / "away")
    other.rename(trusted)
    assert decisions.is_trusted(trusted) is None
    assert decisions.is_trusted(tmp_path / "away") is None
    assert [each.present for each in decisions.folders()] == [False]


def test_trust_covers_what_is_inside_but_no_refusal_and_no_neighbour(
    tmp_path: Path, decisions: Decisions
) -> None:
    inside, refused = folder(tmp_path, "src/a/b"), folder(tmp_path, "src/evil")
    decisions.decide_folder(tmp_path / "src", trusted=True)
    decisions.decide_folder(refused, trusted=False)
    assert (decisions.is_trusted(inside), decisions.is_trusted(refused)) == (True, False)
    assert decisions.is_trusted(folder(tmp_path, "src2")) is None
    assert decisions.is_trusted(folder(tmp_path, "src/evil/below")) is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_home_and_folders_of_anybody_cover_only_themselves(
    tmp_path: Path, decisions: Decisions, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, shared = folder(tmp_path, "users/me"), folder(tmp_path, "shared")
    monkeypatch.setenv("HOME", str(home))
    shared.chmod(0o1777)
    for each in (home, tmp_path / "users", shared):
        decisions.decide_folder(each, trusted=True)
    assert decisions.is_trusted(home) is True
    assert decisions.is_trusted(folder(tmp_path, "users/me/downloads")) is None
    assert decisions.is_trusted(folder(tmp_path, "shared/x")) is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_it_is_for_its_owner_alone(tmp_path: Path, decisions: Decisions) -> None:
    before = os.umask(0)
    try:
        decisions.decide_options("digest", kept=True)
    finally:
        os.umask(before)
    assert decisions.are_kept("digest") is True
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state", tmp_path / "state" / FILE)]
    assert modes == [0o700, 0o600]


def test_what_cannot_be_read_is_not_decided(tmp_path: Path, decisions: Decisions) -> None:
    decisions.decide_folder(tmp_path, trusted=True)
    (tmp_path / "state" / FILE).write_bytes(b"no database" * 1000)
    assert decisions.is_trusted(tmp_path) is None
    with pytest.raises(StorageFailed, match="cannot be kept"):
        decisions.decide_folder(tmp_path, trusted=True)
