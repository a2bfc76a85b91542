"""Why a model cannot be used, for programs: the same cause over every protocol, and how to find out by a test."""

from __future__ import annotations

import asyncio
import socket
from typing import get_args

import pytest

from planloom.domain.errors import ModelCause, ModelFailed, ModelProblem
from planloom.lsp.wire import plan as wire
from planloom.models.http.endpoint import endpoint_of
from planloom.models.http.keys import Key
from planloom.service.models import Models
from tests.models.protocols import PROTOCOLS
from tests.models.support import PATIENT, Waits, events_of, model_at
from tests.support.http_server import Answer, Asked, Wire, serving
from tests.support.studio import a_session

every_protocol = pytest.mark.parametrize("protocol", list(PROTOCOLS))


def refusing(status: int, said: str, **headers: str) -> Answer:
    """A server that answers everything like this."""

    async def answer(_asked: Asked, wire: Wire) -> None:
        await wire.json(status, {"error": {"message": said}}, **headers)

    return answer


async def problem_of(protocol: str, answer: Answer, *, key: bool = True) -> ModelProblem:
    """The problem with a model whose server answers so."""
    spoken = PROTOCOLS[protocol]
    async with serving(answer) as running:
        known = Key("a-key", running.origin, "a test") if key else None
        async with model_at(
            running.origin, spoken.adapter(), waits=Waits(), timeouts=PATIENT, find_key=lambda: known
        ) as model:
            with pytest.raises(ModelFailed) as caught:
                await events_of(model)
        problem = caught.value.problem
        assert problem is not None
        assert problem.address == running.origin
        assert (problem.provider, problem.model) == ("a provider", "small")
    return problem


@every_protocol
@pytest.mark.parametrize(
    ("status", "said", "cause"),
    [
        (401, "Bad key.", "key_refused"),
        (402, "Pay.", "payment"),
        (403, "Not you.", "forbidden"),
        (404, "The model small does not exist.", "model_missing"),
        (404, "Nothing here.", "wrong_address"),
        (429, "Too fast.", "busy"),
        (429, "You exceeded your current quota.", "payment"),
        (500, "It broke.", "server_failed"),
        (503, "Loading.", "server_failed"),
    ],
)
async def test_a_status_tells_its_cause(protocol: str, status: int, said: str, cause: ModelCause) -> None:
    problem = await problem_of(protocol, refusing(status, said))
    assert (problem.cause, problem.said) == (cause, said)


@every_protocol
async def test_a_key_that_is_missing_is_not_called_refused(protocol: str) -> None:
    problem = await problem_of(protocol, refusing(401, "Who are you?"), key=False)
    assert problem.cause == "key_missing"


@every_protocol
async def test_how_long_the_server_wants_to_be_left_alone(protocol: str) -> None:
    problem = await problem_of(protocol, refusing(429, "Too fast.", retry_after="300"))
    assert (problem.cause, problem.wait_seconds) == ("busy", 300)


@every_protocol
async def test_nothing_listens(protocol: str) -> None:
    async with serving(refusing(500, "")) as running:
        gone = running.origin
    async with model_at(gone, PROTOCOLS[protocol].adapter(), waits=Waits()) as model:
        with pytest.raises(ModelFailed) as caught:
            await events_of(model)
    assert caught.value.problem is not None and caught.value.problem.cause == "unreachable"


async def test_a_name_that_leads_nowhere_is_no_closed_port(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    async with model_at("http://no-such-host.invalid:8000", waits=Waits()) as model:
        with pytest.raises(ModelFailed) as caught:
            await events_of(model)
    assert caught.value.message.startswith("No host has the name no-such-host.invalid")
    assert caught.value.problem is not None and caught.value.problem.cause == "unknown_host"


@pytest.mark.parametrize("url", ["foo", "ftp://localhost", "http://8.8.8.8", "http://localhost/?key=1"])
def test_an_address_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ModelFailed) as caught:
        endpoint_of(url)
    assert caught.value.problem is not None and caught.value.problem.cause == "wrong_address"


def test_the_wire_has_every_cause() -> None:
    assert get_args(wire.ModelCause) == get_args(ModelCause)


class Ollama:
    """An Ollama-like server that has the models of `names`."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        if asked.path == "/api/tags":
            await wire.json(200, {"models": [{"name": name} for name in self.names]})
        elif asked.path == "/api/chat":
            await wire.head(content_type="application/x-ndjson")
            await wire.send(b'{"message":{"content":"Ready."},"done":true,"done_reason":"stop"}\n')
        else:
            await wire.json(200, {})


async def test_a_test_asks_the_model_and_notices_what_was_mended() -> None:
    server = Ollama()
    async with serving(server) as running:
        models = Models(a_session({"model.provider": "ollama"}), {"OLLAMA_HOST": running.origin})
        with pytest.raises(ModelFailed) as caught:
            await models.test()
        assert caught.value.problem == ModelProblem(
            cause="no_models", provider="ollama", address=running.origin
        )
        listed = {model.provider: model.cause for model in (await models.list(select=True)).models}
        assert listed["ollama"] == "no_models"
        server.names.append("tiny")
        tested = await models.test()
        await models.forget()
    assert (tested.model.name, tested.answer) == ("tiny", "Ready.")
    assert 0 <= tested.took_ms < 20_000


@pytest.mark.parametrize(("key", "cause"), [(None, "key_missing"), ("a-key", "key_refused")])
async def test_a_server_that_lists_nothing_without_a_key_wants_one(key: str | None, cause: str) -> None:
    async with serving(refusing(401, "Who are you?")) as running:
        models = Models(a_session({"model.baseUrl": f"{running.origin}/v1"}), {})
        await models.set_secret("openai", key)
        with pytest.raises(ModelFailed) as caught:
            await models.test()
        await models.forget()
    assert caught.value.problem is not None and caught.value.problem.cause == cause


async def test_without_a_model_a_test_says_that_there_is_none() -> None:
    models = Models(a_session({"model.provider": "embedded"}), {})
    with pytest.raises(ModelFailed) as caught:
        await models.test()
    assert caught.value.problem == ModelProblem(cause="none")
