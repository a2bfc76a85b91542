"""What clients say, in the words of the domain; and there and back again."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from planloom.domain.plans import editing as ed
from planloom.lsp.wire import edits as wire_edits
from planloom.lsp.wire import from_wire, to_wire_events
from planloom.lsp.wire.methods import plans as wire_plans
from tests.lsp.samples import EDITS

wire_edit: TypeAdapter[Any] = TypeAdapter(wire_edits.StepEdit)


def read(edit: dict[str, Any]) -> ed.StepEdit:
    return from_wire.step_edit(wire_edit.validate_python(edit, by_alias=True, by_name=False))


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.op)
def test_an_edit_survives_the_way_there_and_back(edit: ed.StepEdit) -> None:
    sent = wire_edit.dump_python(to_wire_events.step_edit(edit), mode="json", by_alias=True)
    assert read(sent) == edit


def test_null_empties_and_absence_leaves() -> None:
    edit = read({"op": "update", "stepId": "a", "set": {"tool": None, "when": None, "dependsOn": []}})
    assert isinstance(edit, ed.UpdateStep)
    assert edit.set.cleared == ("tool", "when")
    assert edit.set.depends_on == ()
    assert edit.set.description is None


@pytest.mark.parametrize(
    ("step", "place"), [({}, "last"), ({"after": None}, "first"), ({"after": "b"}, "after")]
)
def test_where_a_step_goes(step: dict[str, Any], place: str) -> None:
    edit = read({"op": "add", "step": {"description": "x"}, **step})
    assert isinstance(edit, ed.AddStep)
    assert (edit.place, edit.after) == (place, step.get("after"))


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "update", "stepId": "a", "set": {"description": None}},
        {"op": "update", "stepId": "a", "set": {"dependsOn": None}},
        {"op": "update", "stepId": "a", "set": {"critical": "yes"}},
        {"op": "update", "stepId": "a"},
        {"op": "add", "step": {}},
        {"op": "add", "step": {"description": "x", "stepId": ""}},
        {"op": "add"},
        {"op": "move", "stepId": "a"},
        {"op": "skip"},
        {"stepId": "a"},
    ],
)
def test_edits_that_are_off_are_refused(edit: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        read(edit)


def test_a_request_with_everything_and_with_nothing() -> None:
    selection = {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}}
    params = wire_plans.CreateParams.model_validate(
        {
            "text": "x",
            "mode": "direct",
            "context": {"uri": "file:///a", "selections": [selection]},
            "attachments": [{"uri": "file:///b", "range": selection, "label": "b"}],
            "confirmed": ["@.env"],
            "sessionId": "s",
            "templateId": "t",
            "parameters": {"a": "b"},
        }
    )
    request = from_wire.create_request(params)
    assert request.context is not None and request.context.selections[0].end.character == 4
    assert request.attachments[0].range == request.context.selections[0]
    assert (request.mode, request.confirmed, request.session_id) == ("direct", ("@.env",), "s")
    assert (request.template_id, dict(request.parameters)) == ("t", {"a": "b"})
    plain = from_wire.create_request(wire_plans.CreateParams(text="x"))
    assert (plain.mode, plain.context, plain.attachments, plain.session_id) == ("auto", None, (), None)
