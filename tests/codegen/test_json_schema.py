"""The schema of the wire is one, and every golden message of the wire fits it with all its fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from planloom.lsp import methods
from planloom.lsp.wire.events import messages
from tests.docs.test_session import client_messages
from tests.lsp.test_golden import file_of, read
from tests.support.wire_schema import SCHEMA, problems

NOTIFICATIONS = {each.name: "notifications" for each in methods.CLIENT_NOTIFICATIONS} | {
    each.name: "serverNotifications" for each in methods.SERVER_NOTIFICATIONS
}


def golden() -> Iterator[tuple[str, Any]]:
    """Every message on file, in its place in the schema's one instance."""
    for request in methods.CLIENT_REQUESTS:
        yield request.name, {"requests": {request.name: read(file_of("requests", request.name))}}
    for ask in methods.SERVER_REQUESTS:
        yield ask.name, {"editorRequests": {ask.name: read(file_of("asks", ask.name))}}
    for name, group in NOTIFICATIONS.items():
        yield name, {group: {name: read(file_of("notes", name))}}
    for event in messages():
        yield event, {"serverNotifications": {"planloom/event": read(file_of("events", event))}}


GOLDEN = dict(golden())


@pytest.mark.slow
def test_it_is_a_schema_of_its_draft() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    known = {f"#/$defs/{name}" for name in SCHEMA["$defs"]}
    named = {value for each in _objects(SCHEMA) for name, value in each.items() if name == "$ref"}
    assert named <= known


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(each)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_message_on_file_fits_it(name: str) -> None:
    assert problems(**GOLDEN[name]) == []


@pytest.mark.parametrize(
    ("request_", "params"),
    [
        ("planloom/plan/create", {}),
        ("planloom/plan/create", {"text": 1}),
        ("planloom/plan/create", {"text": "Add it", "mode": "later"}),
        ("planloom/plan/create", {"text": "Add it", "context": {"selections": [{"start": {"line": 0}}]}}),
        ("planloom/plan/approve", {"planId": "p1", "version": "1"}),
        ("planloom/plan/edit", {"planId": "p1", "version": 1, "edits": [{"op": "paint", "stepId": "s"}]}),
        ("planloom/plan/list", {"limit": 0}),
    ],
)
def test_what_the_server_refuses_does_not_fit(request_: str, params: Any) -> None:
    (method,) = (each for each in methods.CLIENT_REQUESTS if each.name == request_)
    with pytest.raises(ValueError, match="validation error"):
        method.params.model_validate(params, by_alias=True, by_name=False)
    assert problems(requests={request_: {"params": params}}) != []


def test_the_messages_of_the_printed_session_fit_it() -> None:
    sent = list(client_messages())
    options = next(
        each["params"]["initializationOptions"] for each in sent if each.get("method") == "initialize"
    )
    ours = [each for each in sent if each.get("method", "").startswith("planloom/")]
    assert len(ours) > 3
    assert problems(initializationOptions=options) == []
    assert [problems(requests={each["method"]: {"params": each["params"]}}) for each in ours] == [[]] * len(
        ours
    )
