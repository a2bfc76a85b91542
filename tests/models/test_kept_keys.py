"""Keys that are kept for all servers: where they lie, and what a server makes of them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from planloom.models.kept_keys import SERVICE, KeptKey, KeptKeys
from planloom.service.models import Models
from tests.models.protocols import PROTOCOLS
from tests.models.support import events_of
from tests.support.http_server import serving
from tests.support.studio import a_session

KEY, OTHER = "canary-key-0123456789", "canary-key-9876543210"
ORIGIN = "https://api.example"


class KeyringLocked(Exception):
    """The user did not unlock it."""


class FakeKeyring:
    """Stands for the library `keyring` on a system with a keyring."""

    def __init__(self, *, priority: float = 5, locked: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = locked
        self.errors = SimpleNamespace(KeyringError=KeyringLocked)
        self._backend = SimpleNamespace(priority=priority)

    def get_keyring(self) -> SimpleNamespace:
        return self._backend

    def set_password(self, service: str, user: str, value: str) -> None:
        if self.locked:
            raise KeyringLocked
        self.kept[service, user] = value

    def get_password(self, service: str, user: str) -> str | None:
        if self.locked:
            raise KeyringLocked
        return self.kept.get((service, user))

    def delete_password(self, service: str, user: str) -> None:
        self.kept.pop((service, user), None)


def with_keyring(monkeypatch: pytest.MonkeyPatch, keyring: FakeKeyring) -> FakeKeyring:
    monkeypatch.setitem(sys.modules, "keyring", keyring)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "keyring.errors", keyring.errors)
    return keyring


@pytest.fixture
def _no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    with_keyring(monkeypatch, FakeKeyring(priority=0))


def test_the_keyring_of_the_system_gets_the_key_and_the_file_only_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = with_keyring(monkeypatch, FakeKeyring())
    kept = KeptKeys(tmp_path / "keys.json")
    assert kept.put("openai", ORIGIN, KEY) == "keyring"
    assert keyring.kept == {(SERVICE, ORIGIN): KEY}
    assert KEY not in kept.path.read_text()
    assert kept.listed() == (KeptKey("openai", ORIGIN, "keyring"),)
    assert kept.changed() == {ORIGIN: (KEY, "the system's keyring")}
    assert kept.changed() is None
    assert kept.remove(ORIGIN) and not keyring.kept
    assert kept.changed() == {}


@pytest.mark.parametrize("keyring", [FakeKeyring(priority=0.5), FakeKeyring(locked=True)])
def test_without_a_keyring_that_takes_it_the_key_is_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keyring: FakeKeyring
) -> None:
    with_keyring(monkeypatch, keyring)
    kept = KeptKeys(tmp_path / "config" / "keys.json")
    assert kept.put("openai", ORIGIN, KEY) == "file"
    assert kept.put("openai", ORIGIN, OTHER) == "file"
    assert kept.changed() == {ORIGIN: (OTHER, str(kept.path))}


@pytest.mark.parametrize("text", ["{", "[]", '{"keys": [{"origin": 3}]}', '{"keys": {}}'])
async def test_a_damaged_file_is_named_and_not_overwritten(tmp_path: Path, text: str) -> None:
    kept = KeptKeys(tmp_path / "keys.json")
    kept.path.write_text(text)
    with pytest.raises(ValueError):
        kept.put("openai", ORIGIN, KEY)
    assert kept.path.read_text() == text
    models = Models(a_session({"model.provider": "embedded"}), {}, kept_keys=kept)
    assert await models.current() is None


@pytest.mark.usefixtures("_no_keyring")
@pytest.mark.parametrize(
    ("environment", "sent"), [({}, f"Bearer {KEY}"), ({"PLANLOOM_API_KEY": OTHER}, f"Bearer {OTHER}")]
)
async def test_a_kept_key_goes_to_its_origin_unless_the_environment_has_one(
    tmp_path: Path, environment: dict[str, str], sent: str
) -> None:
    kept = KeptKeys(tmp_path / "keys.json")
    async with serving(PROTOCOLS["openai"].server()) as running:
        kept.put("openai", running.origin, KEY)
        kept.put("openai", ORIGIN, OTHER)
        chosen = {"model.baseUrl": running.origin, "model.name": "small", "model.provider": "openai"}
        models = Models(a_session(chosen), environment, kept_keys=kept)
        model = await models.current()
        assert model is not None
        await events_of(model)
        assert running.posts()[0].headers["authorization"] == sent
        assert models.known_keys.masked(f"a {KEY} b") == "a [key] b"
        await models.forget()


@pytest.mark.usefixtures("_no_keyring")
async def test_a_key_that_is_kept_while_the_server_runs_is_used_and_one_that_is_removed_is_not(
    tmp_path: Path,
) -> None:
    kept = KeptKeys(tmp_path / "keys.json")
    async with serving(PROTOCOLS["openai"].server()) as running:
        chosen = {"model.baseUrl": running.origin, "model.name": "small", "model.provider": "openai"}
        models = Models(a_session(chosen), {}, kept_keys=KeptKeys(kept.path))
        for change in (
            lambda: None,
            lambda: kept.put("openai", running.origin, KEY),
            lambda: kept.remove(running.origin),
        ):
            change()
            model = await models.current()
            assert model is not None
            await events_of(model)
        sent = [asked.headers.get("authorization") for asked in running.posts()]
        assert sent == [None, f"Bearer {KEY}", None]
        await models.forget()


def test_the_library_itself_keeps_a_key(tmp_path: Path) -> None:
    """With a keyring in memory; `make keyring` installs the library."""
    library = pytest.importorskip("keyring")
    keys: dict[tuple[str, str], str] = {}

    class InMemory(library.backend.KeyringBackend):  # type: ignore[misc,name-defined]
        priority = 5

        def set_password(self, service: str, user: str, value: str) -> None:
            keys[service, user] = value

        def get_password(self, service: str, user: str) -> str | None:
            return keys.get((service, user))

        def delete_password(self, service: str, user: str) -> None:
            if keys.pop((service, user), None) is None:
                raise library.errors.PasswordDeleteError

    before = library.get_keyring()
    library.set_keyring(InMemory())
    try:
        kept = KeptKeys(tmp_path / "keys.json")
        assert kept.put("openai", ORIGIN, KEY) == "keyring"
        assert kept.changed() == {ORIGIN: (KEY, "the system's keyring")}
        keys.clear()
        assert kept.remove(ORIGIN) and kept.listed() == ()
    finally:
        library.set_keyring(before)
