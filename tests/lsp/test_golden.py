"""Every message of the wire as JSON on file: what is sent stays what it was, and no file is unclaimed.

After a change that is meant, `PLANLOOM_UPDATE_GOLDEN=1 pytest tests/lsp/test_golden.py` writes the results and
events anew; params and what editors answer are written by hand.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, get_args

import pytest

from planloom.domain.events import catalog as ev
from planloom.lsp import methods
from planloom.lsp.methods import Ask, Method, Note
from planloom.lsp.wire import lookup as wire
from planloom.lsp.wire.events import events as wire_events
from planloom.lsp.wire.to_wire_events import event as to_wire
from tests.lsp import samples
from tests.support.lsp_client import connected

GOLDEN = Path(__file__).parent.parent / "golden" / "wire"
UPDATE = bool(os.environ.get("PLANLOOM_UPDATE_GOLDEN"))


def file_of(kind: str, name: str) -> Path:
    return GOLDEN / kind / (name.removeprefix("planloom/").replace("/", "_") + ".json")


CLAIMED = {
    *(file_of("requests", each.name) for each in methods.REQUESTS),
    *(file_of("notes", each.name) for each in (*methods.NOTES_IN, *methods.NOTES_OUT)),
    *(file_of("asks", each.name) for each in methods.ASKS),
    *(file_of("events", name) for name in methods.EVENTS),
}


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def check_round_trip(model: str, value: Any) -> None:
    parsed = wire.model(model).model_validate(value, by_alias=True, by_name=False)
    assert parsed.json_value() == value


def test_every_message_has_a_golden_file_and_every_file_a_message() -> None:
    found = set(GOLDEN.rglob("*.json"))
    assert {path.relative_to(GOLDEN) for path in CLAIMED} == {path.relative_to(GOLDEN) for path in found}


def test_the_catalogue_has_exactly_the_events_of_the_domain() -> None:
    union = get_args(get_args(ev.Event)[0])
    assert tuple(kind.model_fields["type"].default for kind in union) == methods.EVENTS
    assert tuple(samples.EVENTS) == methods.EVENTS


@pytest.mark.parametrize("method", methods.REQUESTS, ids=lambda method: method.name)
async def test_a_request_answers_as_its_file_says(method: Method) -> None:
    path = file_of("requests", method.name)
    golden = read(path)
    app = samples.application()
    async with connected(app.make) as client:
        result = await client.request(method.name, golden["params"])
    if UPDATE:
        write(path, {"params": golden["params"], "result": result})
    assert result == golden["result"]
    check_round_trip(method.params, golden["params"])
    check_round_trip(method.result, golden["result"])


@pytest.mark.parametrize("name", methods.EVENTS)
def test_an_event_stands_on_the_wire_as_its_file_says(name: str) -> None:
    path = file_of("events", name)
    sent = to_wire(samples.recorded(samples.EVENTS[name]), samples.PLAN)
    if UPDATE:
        write(path, sent)
    assert sent == read(path)
    assert wire_events.validate_python(sent, by_alias=True, by_name=False).json_value() == sent


@pytest.mark.parametrize("note", (*methods.NOTES_IN, *methods.NOTES_OUT), ids=lambda note: note.name)
def test_a_notification_stands_as_its_file_says(note: Note) -> None:
    value = read(file_of("notes", note.name))
    if note.params == "Event":
        assert wire_events.validate_python(value, by_alias=True, by_name=False).json_value() == value
    else:
        check_round_trip(note.params, value)


@pytest.mark.parametrize("ask", methods.ASKS, ids=lambda ask: ask.name)
def test_a_request_to_the_editor_stands_as_its_file_says(ask: Ask) -> None:
    golden = read(file_of("asks", ask.name))
    check_round_trip(ask.params, golden["params"])
    check_round_trip(ask.result, golden["result"])
