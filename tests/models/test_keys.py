"""Keys are sent only to their own origin, and appear nowhere else."""

from __future__ import annotations

import asyncio
import copy
import io
import logging
import pickle
import traceback
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import pytest

from planloom.domain.errors import InvalidParams, ModelFailed, PlanloomError
from planloom.models.http.endpoint import endpoint_of
from planloom.models.http.keys import Key, Keyring, RedactingFormatter
from planloom.models.http.proxies import Proxy, proxy_to
from planloom.models.offline.recording import Recording, RecordingModel
from planloom.models.selection.select import choose_model, list_models
from planloom.providers import OWN_PROXY
from planloom.settings import ModelSettings, Settings
from planloom.web.transfer import peer_check
from tests.models.protocols import PROTOCOLS, TEXT
from tests.models.support import asks, events_of, model_at, text_of
from tests.support.http_server import Answer, Asked, Wire, serving

CANARY = "sk-canary-0123456789abcdef"


def settings(base_url: str = "", provider: str = "openai", name: str = "small") -> Settings:
    return Settings(
        max_retry_attempts=0,
        model=ModelSettings.model_validate({"provider": provider, "base_url": base_url, "name": name}),
    )


@pytest.mark.parametrize(
    ("environment", "given_for", "origin", "source"),
    [
        ({"OPENAI_API_KEY": CANARY}, None, "https://api.openai.com", "`OPENAI_API_KEY`"),
        ({"OPENAI_API_KEY": CANARY}, "http://localhost:1", "http://localhost:1", None),
        ({"OPENAI_API_KEY": CANARY}, None, "http://api.openai.com", None),
        ({"OPENAI_API_KEY": CANARY}, None, "https://api.openai.com:444", None),
        ({"OPENAI_API_KEY": CANARY}, None, "https://api.openai.com.evil.net", None),
        (
            {"OPENAI_API_KEY": CANARY, "OPENAI_BASE_URL": "http://localhost:1/v1"},
            None,
            "http://localhost:1",
            "`OPENAI_API_KEY`",
        ),
        (
            {"OPENAI_API_KEY": CANARY, "OPENAI_BASE_URL": "http://localhost:1/v1"},
            None,
            "https://api.openai.com",
            None,
        ),
        ({"ANTHROPIC_API_KEY": CANARY}, None, "https://api.anthropic.com", "`ANTHROPIC_API_KEY`"),
        ({"PLANLOOM_API_KEY": CANARY}, "https://x.org/v1", "https://x.org", "`PLANLOOM_API_KEY`"),
        ({"PLANLOOM_API_KEY": CANARY}, None, "https://x.org", None),
        ({"OPENAI_API_KEY": "  "}, None, "https://api.openai.com", None),
        ({"OPENAI_API_KEY": "two words"}, None, "https://api.openai.com", None),
        ({"OPENAI_API_KEY": CANARY + "\n"}, None, "https://api.openai.com", "`OPENAI_API_KEY`"),
    ],
)
def test_a_key_is_found_for_its_origin_alone(
    environment: dict[str, str], given_for: str | None, origin: str, source: str | None
) -> None:
    key = Keyring(environment, given_for).find("openai", origin)
    assert (key.source if key is not None else None) == source
    if key is not None:
        assert key.reveal(origin) == CANARY


def test_a_key_that_was_set_goes_before_the_environment_and_can_be_forgotten() -> None:
    keys = Keyring({"OPENAI_API_KEY": "from-environment"})
    home = "https://api.openai.com"
    keys.put("openai", CANARY, home)
    found = keys.find("openai", home)
    assert found is not None
    assert found.reveal(home) == CANARY
    keys.put("openai", None, home)
    found = keys.find("openai", home)
    assert found is not None
    assert found.reveal(home) == "from-environment"
    assert CANARY not in keys.known.masked(CANARY), "a forgotten key is still taken out of texts"
    with pytest.raises(InvalidParams) as caught:
        keys.put("openai", "not a key at all", home)
    assert "not a key at all" not in str(caught.value)


def test_a_key_is_neither_shown_nor_copied_nor_sent_elsewhere() -> None:
    key = Key(CANARY, "https://a.org", "`X`")
    assert CANARY not in f"{key!r} {key} {vars(Keyring({'OPENAI_API_KEY': CANARY}))['_found']}"
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            attempt(key)
    with pytest.raises(ModelFailed) as caught:
        key.reveal("https://b.org")
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("text", [CANARY, f'{{"a": "{CANARY}"}}', f"Bearer {CANARY}, {CANARY}"])
def test_redaction_takes_every_occurrence(text: str) -> None:
    assert CANARY not in Keyring({"OPENAI_API_KEY": CANARY}).known.masked(text)


def test_dummy_keys_are_not_redacted() -> None:
    assert Keyring({"OPENAI_API_KEY": "none"}).known.masked("none of it") == "none of it"


def echoing(fault: str) -> Answer:
    """A server that echoes the key wherever it can."""

    async def answer(asked: Asked, wire: Wire) -> None:
        sent_key = asked.headers.get("authorization", "") + asked.headers.get("x-api-key", "")
        if fault == "redirect":
            await wire.head(307, location=f"http://127.0.0.1:9/{sent_key}", content_length="0")
        elif fault == "stream" and asked.method == "POST":
            await wire.head(content_type="text/event-stream", x_echo=sent_key)
            await wire.events({"error": {"message": f"bad: {sent_key}", "code": 400}})
        elif fault == "page":
            await wire.reply(200, f"<p>{sent_key}</p>".encode(), content_type=f"text/html; x={sent_key}")
        else:
            await wire.json(
                int(fault) if fault.isdigit() else 401, {"error": {"message": f"bad key {sent_key}"}}
            )

    return answer


@pytest.mark.parametrize("provider", ["openai", "anthropic", "ollama", "auto"])
@pytest.mark.parametrize("fault", ["401", "429", "500", "400", "404", "redirect", "stream", "page"])
async def test_the_key_is_in_no_log_error_trace_or_recording(
    provider: str, fault: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = io.StringIO()
    root = logging.getLogger()
    before = root.level
    handler = logging.StreamHandler(sink)
    async with serving(echoing(fault)) as running:
        environment = {"PLANLOOM_API_KEY": CANARY, "OLLAMA_HOST": "127.0.0.1:9"}
        keys = Keyring(environment, running.origin)
        handler.setFormatter(RedactingFormatter(keys))
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            told_by_user = settings(running.origin, provider)
            model = (await choose_model(told_by_user, environment, keys=keys)).model
            assert model is not None
            recorded = RecordingModel(model, Recording(tmp_path / "x.jsonl", keys.known))
            try:
                await events_of(recorded, asks(f"my key is {CANARY}"))
            except PlanloomError as error:
                logging.getLogger("test").exception("It failed: %r", error)
                seen = [repr(error), str(error), str(error.hint), str(error.details), traceback.format_exc()]
            listed = await list_models(told_by_user, environment, keys=keys)
            choice = await choose_model(told_by_user, environment, keys=keys)
            await model.close()
        finally:
            root.removeHandler(handler)
            root.setLevel(before)
        assert running.asked[0].headers.get("authorization", "") + running.asked[0].headers.get(
            "x-api-key", ""
        )
    shown = [repr(listed), repr(choice), repr(model), repr(keys), repr(vars(model))]
    sent_back = [keys.known.masked(text) for text in seen]
    for text in (sink.getvalue(), (tmp_path / "x.jsonl").read_text(), *sent_back, *shown):
        assert CANARY not in text
    # What reaches an editor or the ledger is not redacted again, so no sentence of ours may hold it.
    assert CANARY not in "".join(seen)


async def test_a_key_that_is_given_later_is_sent_from_then_on() -> None:
    async with serving(PROTOCOLS["openai"].server()) as running:
        keys = Keyring({})
        async with model_at(running.origin, find_key=lambda: keys.find("openai", running.origin)) as model:
            await events_of(model)
            keys.put("openai", CANARY, running.origin)
            assert text_of(await events_of(model)) == TEXT
    assert [asked.headers.get("authorization") for asked in running.posts()] == [None, f"Bearer {CANARY}"]


async def test_proxies_and_netrc_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password netrc-secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    async with serving(PROTOCOLS["openai"].server()) as running, serving(echoing("500")) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.origin)
        async with model_at(running.origin) as model:
            assert text_of(await events_of(model)) == TEXT
        assert proxy.asked == []
        assert "authorization" not in running.posts()[0].headers


async def test_the_proxy_of_the_user_gets_the_request_with_its_password() -> None:
    server = PROTOCOLS["openai"].server()

    async def behind(asked: Asked, wire: Wire) -> None:
        await server(replace(asked, path=asked.path.removeprefix("http://model.example:8000")), wire)

    async with serving(behind) as proxy:
        named = proxy.origin.replace("http://", "http://a%40b:pass%20w%C3%B6rd@")
        async with model_at("http://model.example:8000", proxy=Proxy(named, OWN_PROXY)) as model:
            assert text_of(await events_of(model)) == TEXT
        asked = proxy.posts()[0]
        assert asked.path == "http://model.example:8000/v1/chat/completions"
        assert asked.headers["host"] == "model.example:8000"
        scheme, _, sent = asked.headers["proxy-authorization"].partition(" ")
        assert (scheme, b64decode(sent)) == ("Basic", "a@b:pass wörd".encode())


@pytest.mark.parametrize("proxy", ["http://", "http://a:99999", "ftp://u:hidden@a", "http://[::1"])
async def test_a_proxy_that_is_none_is_named_without_its_password(proxy: str) -> None:
    async with model_at("http://model.example:8000", proxy=Proxy(proxy, OWN_PROXY)) as model:
        with pytest.raises(ModelFailed, match=r"The proxy .* cannot be used") as failed:
            await events_of(model)
    assert "hidden" not in failed.value.message
    assert failed.value.hint is not None and "PLANLOOM_PROXY" in failed.value.hint


async def refused_tunnel(environment: dict[str, str], origin: str) -> tuple[list[str], str]:
    """What a proxy that refuses all was asked for, at a request to `origin`, and the reason of the failure."""

    async def refuse(_asked: Asked, wire: Wire) -> None:
        await wire.reply(403, b"")

    async with serving(refuse) as proxy:
        variables = {name: value.replace("PROXY", proxy.origin) for name, value in environment.items()}
        choice = await choose_model(settings(origin), variables)
        assert choice.model is not None
        with pytest.raises(ModelFailed) as failed:
            await events_of(choice.model)
        await choice.model.close()
        return [f"{asked.method} {asked.path}" for asked in proxy.asked], failed.value.message


@pytest.mark.parametrize(
    "environment",
    [{"HTTPS_PROXY": "PROXY"}, {"https_proxy": "PROXY", "NO_PROXY": "other.example"}],
)
async def test_the_usual_proxy_gets_a_tunnel_and_not_what_goes_through(environment: dict[str, str]) -> None:
    asked, why = await refused_tunnel(environment, "https://models.invalid")
    assert set(asked) == {"CONNECT models.invalid:443"}
    assert "refuses the connection to https://models.invalid" in why
    assert next(iter(environment)) in why


@pytest.mark.parametrize(
    ("environment", "origin"),
    [
        ({"HTTPS_PROXY": "PROXY", "no_proxy": "127.0.0.1,.invalid"}, "https://models.invalid"),
        ({"HTTPS_PROXY": "PROXY", "NO_PROXY": "*"}, "https://models.invalid"),
        ({"HTTPS_PROXY": "PROXY"}, "http://models.invalid"),
        ({"HTTPS_PROXY": "PROXY"}, "https://127.0.0.1:9"),
        ({"HTTP_PROXY": "PROXY", "ALL_PROXY": "PROXY"}, "https://127.0.0.1:9"),
        ({"PLANLOOM_PROXY": "PROXY", "NO_PROXY": "models.invalid"}, "http://models.invalid"),
    ],
)
def test_what_goes_past_the_proxy(environment: dict[str, str], origin: str) -> None:
    assert proxy_to(endpoint_of(origin), environment) is None


async def test_a_redirect_is_not_followed() -> None:
    async with serving(PROTOCOLS["openai"].server()) as sink:

        async def answer(asked: Asked, wire: Wire) -> None:
            await wire.head(308, location=f"{sink.origin}/v1/chat/completions", content_length="0")

        key = Key(CANARY, "", "`X`")
        async with serving(answer) as running:
            key.origin = running.origin
            async with model_at(running.origin, find_key=lambda: key) as model:
                with pytest.raises(ModelFailed, match=r"redirects to http://127\.0\.0\.1"):
                    await events_of(model)
        assert sink.asked == []


@pytest.mark.parametrize("location", ["javascript:x", "mailto:x", "http://["])
async def test_a_redirect_to_no_address_is_not_followed(location: str) -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        await wire.head(308, location=location, content_length="0")

    async with serving(answer) as running, model_at(running.origin) as model:
        with pytest.raises(ModelFailed, match="not followed"):
            await events_of(model)
        assert len(running.posts()) == 1


async def test_no_cookie_is_kept() -> None:
    server = PROTOCOLS["openai"].server()

    class WithCookie(Wire):
        async def head(self, status: int = 200, **headers: str) -> None:
            await super().head(status, set_cookie="a=b; Path=/", **headers)

    async def answer(asked: Asked, wire: Wire) -> None:
        await server(asked, WithCookie(wire.writer, wire.reader))

    async with serving(answer) as running, model_at(running.origin) as model:
        for _ in range(2):
            assert text_of(await events_of(model)) == TEXT
        assert not any("cookie" in asked.headers for asked in running.asked)


async def test_a_name_that_leads_to_a_forbidden_address_gets_nothing() -> None:
    """The address is checked after the connection is made, so DNS rebinding is caught too."""
    from planloom.models.http import transport

    class Peer:
        closed = False

        def get_extra_info(self, name: str) -> tuple[str, int]:
            return ("169.254.169.254", 80)

        async def aclose(self) -> None:
            self.closed = True

    peer = Peer()
    with pytest.raises(ModelFailed, match="link-local"):
        await peer_check("http", transport._refused)(
            "connection.connect_tcp.complete", {"return_value": peer}
        )
    assert peer.closed


async def test_cancelling_while_connecting_leaves_nothing_behind() -> None:
    async with serving(PROTOCOLS["openai"].server()) as running, model_at(running.origin) as model:
        task = asyncio.ensure_future(events_of(model))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert text_of(await events_of(model)) == TEXT
