"""The choice of the model, and its reasons for the user."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.domain.values import CallId
from planloom.models.offline.replay import ReplayModel
from planloom.models.offline.scripted import ScriptedModel, fails, says
from planloom.models.port import Finished, ModelRequest, TextDelta, ToolCall
from planloom.models.providers.editor_model import EditorModelAnswer
from planloom.models.selection.candidates import Choice, UnavailableModel
from planloom.models.selection.select import ReselectingModel, choose_model, list_models
from planloom.providers import PROVIDERS, WAYS_TO_A_MODEL
from planloom.service.models import Models
from planloom.settings import ModelSettings, Settings
from tests.models.protocols import PROTOCOLS, TEXT
from tests.models.support import PATIENT, asks, calls_of, events_of, model_at, text_of
from tests.support.http_server import Answer, Asked, Wire, serving
from tests.support.studio import a_session

NOWHERE = "http://127.0.0.1:9"


def settings(**model: object) -> Settings:
    return Settings(max_retry_attempts=0, model=ModelSettings.model_validate(model))


class Editor:
    """An editor that offers a model."""

    def __init__(self, answer: EditorModelAnswer | None = None) -> None:
        self.asked: list[tuple[str, ModelRequest]] = []
        self._answer = answer

    async def complete(self, request_id: str, name: str, request: ModelRequest) -> EditorModelAnswer:
        self.asked.append((name, request))
        if self._answer is None:
            await asyncio.Event().wait()
        assert self._answer is not None
        return self._answer


def spec(kind: str, names: list[str], status: int = 200) -> Answer:
    """A server of this kind that lists these models."""

    async def answer(asked: Asked, wire: Wire) -> None:
        if status != 200:
            error = {"message": "no", "type": "authentication_error"}
            wrapped = {"type": "error", "error": error} if kind == "anthropic" else {"error": error}
            await wire.json(status, wrapped)
        elif asked.path == "/api/tags" and kind == "ollama":
            await wire.json(200, {"models": [{"name": name} for name in names]})
        elif asked.path == "/v1/models":
            owner = "library" if kind == "ollama" else "me"
            await wire.json(
                200, {"data": [{"id": name, "owned_by": owner, "max_model_len": 99} for name in names]}
            )
        else:
            await PROTOCOLS[kind].server()(asked, wire)

    return answer


@contextlib.asynccontextmanager
async def around(**kinds: Answer) -> AsyncIterator[dict[str, str]]:
    """An environment with these servers, and with keys for the services among them."""
    async with contextlib.AsyncExitStack() as stack:
        environment = {"OLLAMA_HOST": NOWHERE}
        for kind, answer in kinds.items():
            origin = (await stack.enter_async_context(serving(answer))).origin
            if kind == "ollama":
                environment["OLLAMA_HOST"] = origin
            elif kind == "base":
                environment["BASE"] = origin
            else:
                environment[f"{kind.upper()}_API_KEY"] = "sk-0123456789"
                environment[f"{kind.upper()}_BASE_URL"] = f"{origin}/v1"
        yield environment


async def closed(choice: Choice) -> Choice:
    if choice.model is not None:
        await choice.model.close()
    return choice


async def test_without_any_model_the_rules_are_chosen() -> None:
    choice = await choose_model(settings(), {"OLLAMA_HOST": NOWHERE})
    assert choice.model is None
    assert choice.identity.provider == "embedded"
    assert choice.rejected == ("no Ollama answers at http://127.0.0.1:9",)
    assert (await choose_model(settings(), {"OLLAMA_HOST": NOWHERE})).model is None


async def test_auto_chooses_the_first_that_answers() -> None:
    everything = {
        "base": spec("openai", ["local"]),
        "openai": spec("openai", ["a-model"]),
        "anthropic": spec("anthropic", ["b-model"]),
        "ollama": spec("ollama", ["embed-x", "c-model:latest"]),
    }
    picked = []
    while True:
        async with around(**everything) as environment:
            base = environment.get("BASE", "")
            choice = await closed(await choose_model(settings(base_url=base), environment, Editor()))
            picked.append((choice.identity.provider, choice.identity.name))
        if not everything:
            break
        everything.pop(next(iter(everything)))
    assert picked == [
        ("openai", "local"),
        ("openai", "a-model"),
        ("anthropic", "b-model"),
        ("ollama", "c-model:latest"),
        ("editor", ""),
    ]


async def test_auto_skips_a_dead_base_url_and_names_it() -> None:
    async with around(ollama=spec("ollama", ["m"])) as environment:
        choice = await closed(await choose_model(settings(base_url=NOWHERE, name="other"), environment))
    assert (choice.identity.provider, choice.identity.name) == ("ollama", "m")
    assert NOWHERE in choice.identity.reason
    assert "model.baseUrl" in choice.identity.reason


async def test_a_dead_base_url_with_nothing_else_fails_by_its_name() -> None:
    model = (await choose_model(settings(base_url=NOWHERE, name="m"), {"OLLAMA_HOST": NOWHERE})).model
    assert model is not None
    with pytest.raises(ModelFailed, match=r"Nothing answers at http://127\.0\.0\.1:9") as caught:
        await events_of(model)
    assert caught.value.code == "model_unavailable"
    assert "model.baseUrl" in (caught.value.hint or "")


@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
async def test_the_provider_at_a_base_url_is_detected_by_its_replies(kind: str) -> None:
    status = 401 if kind == "anthropic" else 200
    async with around(base=spec(kind, ["small"], status)) as environment:
        choice = await closed(
            await choose_model(settings(base_url=environment["BASE"] + "/v1", name="small"), environment)
        )
    assert choice.identity.provider == kind


async def test_ollama_answers_at_its_own_path_even_where_the_url_names_the_other() -> None:
    async with around(base=spec("ollama", ["small"])) as environment:
        model = (await choose_model(settings(base_url=environment["BASE"] + "/v1"), environment)).model
        assert model is not None
        assert text_of(await events_of(model)) == TEXT
        await model.close()


@pytest.mark.parametrize("provider", ["auto", "openai"])
async def test_a_server_without_a_list_of_models_is_still_used(provider: str) -> None:
    async with around(base=PROTOCOLS["openai"].server()) as environment:
        model = (
            await choose_model(settings(base_url=environment["BASE"], provider=provider), environment)
        ).model
        assert model is not None
        assert text_of(await events_of(model)) == TEXT
        await model.close()


async def test_a_provider_that_refuses_the_key_is_skipped() -> None:
    async with around(openai=spec("openai", [], 401)) as environment:
        choice = await choose_model(settings(), environment)
    assert choice.model is None
    assert any("401" in reason and "OPENAI_API_KEY" in reason for reason in choice.rejected)


async def test_a_service_that_the_user_has_a_key_for_is_not_passed_over_in_silence() -> None:
    environment = {"OPENAI_API_KEY": "sk-a", "OPENAI_BASE_URL": NOWHERE, "OLLAMA_HOST": NOWHERE}
    models = Models(a_session(), environment)
    assert await models.current() is None
    failure = models.no_model()
    assert f"Nothing answers at {NOWHERE}" in failure.message and "OPENAI_API_KEY" in failure.message
    problem = ModelProblem(cause="unreachable", provider="openai", address=NOWHERE)
    assert failure.problem == problem == (await models.outlook()).problem


@pytest.mark.parametrize(
    ("chosen", "key"),
    [({}, {"OPENAI_API_KEY": "sk-a", "OPENAI_BASE_URL": NOWHERE}), ({"model.baseUrl": NOWHERE}, {})],
)
async def test_another_model_in_place_of_the_one_that_was_set_up_is_named(
    chosen: dict[str, str], key: dict[str, str]
) -> None:
    async with around(ollama=spec("ollama", ["m"])) as environment:
        models = Models(a_session(chosen), environment | key)
        problem, replaces = await models.outlook()
        await models.forget()
    assert problem is None
    assert f"Nothing answers at {NOWHERE}" in (replaces or "")


async def test_an_ollama_without_models_names_the_command() -> None:
    async with around(ollama=spec("ollama", [])) as environment:
        choice = await choose_model(settings(), environment)
    assert any("ollama pull" in reason for reason in choice.rejected)


@pytest.mark.parametrize(
    ("model", "message", "hint"),
    [
        ({"provider": "openai", "base_url": "ftp://x", "name": "m"}, "cannot be used", "model.baseUrl"),
        ({"provider": "openai", "base_url": NOWHERE}, "names no model", "model.name"),
        ({"provider": "ollama", "base_url": NOWHERE}, "names no model", "ollama pull"),
        ({"provider": "editor"}, "no language model", "ollama pull"),
        ({"provider": "replay", "base_url": "/nowhere.jsonl"}, "cannot be replayed", "model.baseUrl"),
    ],
)
async def test_a_configured_model_that_cannot_be_used_fails_with_its_reason(
    model: dict[str, object], message: str, hint: str
) -> None:
    chosen = (await choose_model(settings(**model), {})).model
    assert chosen is not None
    await chosen.capabilities()
    with pytest.raises(ModelFailed, match=message) as caught:
        await events_of(chosen)
    assert caught.value.code == "model_unavailable"
    assert hint in (caught.value.hint or "")
    await chosen.close()


async def test_embedded_is_no_model() -> None:
    assert (
        await choose_model(settings(provider="embedded"), {"OPENAI_API_KEY": "sk-0123456789"})
    ).model is None


async def test_replay_reads_the_base_url_as_a_path(tmp_path: Path) -> None:
    script = tmp_path / "a.jsonl"
    script.write_text(json.dumps({"text": "hello"}))
    model = (await choose_model(settings(provider="replay", base_url=str(script)), {})).model
    assert isinstance(model, ReplayModel)
    assert text_of(await events_of(model)) == "hello"


async def test_the_editors_model_answers_as_any_other() -> None:
    call = ToolCall(call_id=CallId(""), name="f", arguments={})
    editor = Editor(EditorModelAnswer(text="hi", tool_calls=(call,), prompt_tokens=3))
    model = (await choose_model(settings(provider="editor", name="fast"), {}, editor)).model
    assert model is not None
    events = await events_of(model)
    assert events[0] == TextDelta(text="hi")
    assert calls_of(events) == [("f", {})]
    assert events[-1] == Finished(reason="tool_calls")
    assert editor.asked == [("fast", asks())]


@pytest.mark.parametrize(
    ("answer", "code"), [(EditorModelAnswer(), "model_output_invalid"), (None, "model_unavailable")]
)
async def test_an_editor_without_an_answer_is_a_failure(answer: EditorModelAnswer | None, code: str) -> None:
    slow = settings(provider="editor", first_token_timeout_seconds=0.05)
    model = (await choose_model(slow, {}, Editor(answer))).model
    assert model is not None
    with pytest.raises(ModelFailed) as caught:
        await events_of(model)
    assert caught.value.code == code


async def test_auto_chooses_again_after_a_failure() -> None:
    first = ScriptedModel([says("one"), fails("unavailable")])
    second = ScriptedModel([says("two")], identity=first.identity._replace(name="other"))

    async def again() -> Choice:
        return Choice(second, second.identity)

    model = ReselectingModel(Choice(first, first.identity), again)
    assert text_of(await events_of(model)) == "one"
    with pytest.raises(ModelFailed):
        await events_of(model)
    assert text_of(await events_of(model)) == "two"
    assert first.closed
    assert model.identity.name == "other"


async def test_a_running_answer_is_read_to_its_end_when_another_model_is_chosen() -> None:
    go_on = asyncio.Event()

    async def slow(asked: Asked, wire: Wire) -> None:
        if asked.method == "GET":
            await wire.json(404, {"error": "not found"})
        elif "fail" in str(asked.json()["messages"]):
            await wire.json(404, {"error": {"message": "model 'small' not found"}})
        else:
            await wire.head(content_type="text/event-stream")
            await wire.events({"choices": [{"index": 0, "delta": {"content": "one "}}]})
            await go_on.wait()
            await wire.events(
                {"choices": [{"index": 0, "delta": {"content": "two"}, "finish_reason": "stop"}]}
            )

    async with serving(slow) as running, model_at(running.origin, timeouts=PATIENT, parallelism=2) as first:
        second = ScriptedModel([says("other")], identity=first.identity._replace(name="other"))

        async def again() -> Choice:
            return Choice(second, second.identity)

        model = ReselectingModel(Choice(first, first.identity), again)
        answer = model.stream(asks())
        assert await anext(answer) == TextDelta(text="one ")
        with pytest.raises(ModelFailed):
            await events_of(model, asks("fail"))
        assert text_of(await events_of(model)) == "other"
        go_on.set()
        assert text_of([event async for event in answer]) == "two"
        async with asyncio.timeout(20):
            await running.all_left()


async def test_models_are_listed_with_what_is_known_of_them() -> None:
    async with around(base=spec("openai", ["local"]), ollama=spec("ollama", ["m"])) as environment:
        listed = await list_models(settings(base_url=environment["BASE"]), environment, Editor())
    assert [(model.provider, model.name, model.context_tokens, model.reachable) for model in listed] == [
        ("openai", "local", 99, True),
        ("ollama", "m", None, True),
        ("editor", "", None, True),
        ("embedded", "rules", None, True),
    ]


async def test_a_configured_server_that_is_down_is_listed_as_such() -> None:
    listed = await list_models(settings(base_url=NOWHERE, name="m"), {"OLLAMA_HOST": NOWHERE})
    assert [(model.name, model.reachable) for model in listed] == [("m", False), ("rules", True)]
    assert "Nothing answers" in (listed[0].reason or "")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:5000", "http://127.0.0.1:5000"),
        (":5000", "http://127.0.0.1:5000"),
        ("http://box:5000/", "http://box:5000"),
        ("https://box", "https://box"),
        ("[::1]:5000", "http://[::1]:5000"),
        ("[::1]", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("https://[::1]", "https://[::1]"),
        ("https://[::1]:5000", "https://[::1]:5000"),
        ("http://box:8080/ollama", "http://box:8080/ollama"),
        ("box:8080/ollama/", "http://box:8080/ollama"),
        ("box/ollama", "http://box:11434/ollama"),
        ("https://box/ollama", "https://box/ollama"),
        ("[::1]:8080/ollama", "http://[::1]:8080/ollama"),
    ],
)
def test_ollamas_own_variable_is_read_as_ollama_does(host: str, url: str) -> None:
    assert PROVIDERS["ollama"].home({"OLLAMA_HOST": host}) == url


@pytest.mark.parametrize("host", ["[::1]:9", "localhost:99999", "[::1", "a:b:c", "[::1]]:9", "box\x00"])
@pytest.mark.parametrize("provider", ["auto", "ollama"])
async def test_no_value_of_ollamas_variable_breaks_the_choice(provider: str, host: str) -> None:
    environment = {"OLLAMA_HOST": host}
    choice = await closed(await choose_model(settings(provider=provider), environment))
    assert choice.identity.provider == ("embedded" if provider == "auto" else "ollama")
    assert [model.reachable for model in await list_models(settings(provider=provider), environment)][-1]


@pytest.mark.parametrize(
    "url",
    [
        "http://me:sesame@127.0.0.1:9/v1",
        "me:sesame@127.0.0.1:9",
        "ftp://me:sesame@host",
        "http://me:sesame@host:99999",
        "http://me:ses ame@host/v1",
        "http://me:se/sa?sesame#me@host",
        "http://127.0.0.1:9/v1?key=sesame",
    ],
)
@pytest.mark.parametrize("provider", ["auto", "openai", "ollama"])
async def test_a_password_in_an_address_is_never_shown(
    provider: str, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    for model, given in (({"base_url": url}, {}), ({}, {"OLLAMA_HOST": url})):
        chosen = settings(provider=provider, **model)
        environment = {"OLLAMA_HOST": NOWHERE, **given}
        choice = await choose_model(chosen, environment)
        told = [*choice.identity, *choice.rejected]
        told += [model.reason or "" for model in await list_models(chosen, environment)]
        if choice.model is not None:
            with pytest.raises(ModelFailed) as caught:
                await events_of(choice.model)
            told += [caught.value.message, caught.value.hint or ""]
            await choice.model.close()
        shown = "\n".join([*told, caplog.text])
        assert "sesame" not in shown and "ses ame" not in shown


def test_the_ways_to_a_model_are_commands() -> None:
    assert "ollama pull" in WAYS_TO_A_MODEL
    assert "OPENAI_API_KEY" in WAYS_TO_A_MODEL
    assert "model.baseUrl" in WAYS_TO_A_MODEL


async def test_a_model_that_cannot_be_used_is_not_looked_for_again_at_once() -> None:
    identity = ScriptedModel([]).identity
    unavailable = UnavailableModel(identity, ModelFailed("model_unavailable", "It is away."))
    looked = 0

    async def slowly() -> Choice:
        nonlocal looked
        looked += 1
        await asyncio.sleep(0.3)
        return Choice(unavailable, identity)

    model = ReselectingModel(Choice(unavailable, identity), slowly)
    for _ in range(5):
        await model.capabilities()
    with pytest.raises(ModelFailed):
        await events_of(model)
    assert looked == 1


async def test_among_several_models_of_a_server_a_person_chooses() -> None:
    async with around(base=spec("openai", ["vendor/cheap", "vendor/dear", "text-embed"])) as environment:
        url = environment["BASE"] + "/v1"
        model = (await closed(await choose_model(settings(base_url=url), environment))).model
        assert model is not None
        with pytest.raises(ModelFailed, match="several models") as caught:
            await events_of(model)
        assert caught.value.problem is not None and caught.value.problem.cause == "model_not_chosen"
    async with around(base=spec("openai", ["only", "text-embed"])) as environment:
        url = environment["BASE"] + "/v1"
        choice = await closed(await choose_model(settings(base_url=url), environment))
    assert choice.identity.name == "only"
