"""Every message of the wire as JSON on file: what is sent stays what it was, and no file is unclaimed.

After a change that is meant, `make generate` writes the results and events anew; params and what editors answer are
written by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from planloom.lsp import methods
from planloom.lsp.methods import ClientNotification, ClientRequest, ServerNotification, ServerRequest
from planloom.lsp.wire.base import Wire
from planloom.lsp.wire.events import any_event, messages
from planloom.lsp.wire.methods.plans import DocumentResult
from planloom.lsp.wire.to_wire_events import event as to_wire
from tests.lsp import samples
from tests.support.golden import check_golden
from tests.support.lsp_client import connected

GOLDEN = Path(__file__).parent.parent / "golden" / "wire"
MESSAGE: TypeAdapter[Any] = TypeAdapter(any_event())


def file_of(kind: str, name: str) -> Path:
    return GOLDEN / kind / (name.removeprefix("planloom/").replace("/", "_") + ".json")


CLAIMED = {
    *(file_of("requests", each.name) for each in methods.CLIENT_REQUESTS),
    *(file_of("notes", each.name) for each in methods.NOTIFICATIONS),
    *(file_of("asks", each.name) for each in methods.SERVER_REQUESTS),
    *(file_of("events", name) for name in messages()),
}


def read(path: Path) -> Any:
    assert path.exists(), f"write what is sent into {path}; `make generate` adds the result of a request"
    return json.loads(path.read_text(encoding="utf-8"))


def check_file(path: Path, value: Any) -> None:
    check_golden(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def check_round_trip(model: type[Wire], value: Any) -> None:
    parsed = model.model_validate(value, by_alias=True, by_name=False)
    assert parsed.json_value() == value


def test_every_golden_file_is_of_a_message() -> None:
    unclaimed = set(GOLDEN.rglob("*.json")) - CLAIMED
    assert not unclaimed, f"delete the files of messages that are gone: {unclaimed}"


def test_every_event_has_a_sample() -> None:
    assert tuple(samples.EVENTS) == tuple(messages()), (
        "run `make generate`, and give each event a sample in tests/lsp/samples.py EVENTS, in the catalogue's order"
    )


@pytest.mark.parametrize("method", methods.CLIENT_REQUESTS, ids=lambda method: method.name)
async def test_a_request_answers_as_its_file_says(method: ClientRequest, tmp_path: Path) -> None:
    path = file_of("requests", method.name)
    golden = read(path)
    app = samples.application()
    # A document is written into the folder, which the file calls /work.
    folders = [tmp_path] if method.result is DocumentResult else []
    async with connected(app.make, folders=folders) as client:
        result = await client.request(method.name, golden["params"])
    if folders:
        result = json.loads(json.dumps(result).replace(tmp_path.as_uri(), "file:///work"))
    check_file(path, {**golden, "result": result})
    check_round_trip(method.params, golden["params"])
    check_round_trip(method.result, result)


@pytest.mark.parametrize("name", samples.EVENTS)
def test_an_event_stands_on_the_wire_as_its_file_says(name: str) -> None:
    sent = to_wire(samples.recorded(samples.EVENTS[name]), samples.PLAN).json_value()
    check_file(file_of("events", name), sent)
    assert MESSAGE.validate_python(sent, by_alias=True, by_name=False).json_value() == sent


@pytest.mark.parametrize("notification", methods.NOTIFICATIONS, ids=lambda each: each.name)
def test_a_notification_stands_as_its_file_says(
    notification: ClientNotification | ServerNotification,
) -> None:
    value = read(file_of("notes", notification.name))
    if notification.params is None:
        assert MESSAGE.validate_python(value, by_alias=True, by_name=False).json_value() == value
    else:
        check_round_trip(notification.params, value)


@pytest.mark.parametrize("ask", methods.SERVER_REQUESTS, ids=lambda each: each.name)
def test_a_request_to_the_editor_stands_as_its_file_says(ask: ServerRequest) -> None:
    golden = read(file_of("asks", ask.name))
    check_round_trip(ask.params, golden["params"])
    check_round_trip(ask.result, golden["result"])
