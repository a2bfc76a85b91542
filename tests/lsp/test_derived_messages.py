"""The message of an event is derived from the event, unless one is declared."""

from __future__ import annotations

from typing import Literal, get_args

import pytest

from codegen import notation
from planloom.domain.events import catalog
from planloom.domain.plans.plan import Step
from planloom.domain.values import Args, EditId, Instant, StepId, Uri, Value
from planloom.lsp.wire import declared_events, plan
from planloom.lsp.wire.declared_events import OfEdit, OfPlan, OfStep
from planloom.lsp.wire.events import message, message_of, messages, type_of

PLACE = {"seq": 1, "planId": "p", "sessionId": "s", "at": "2026-01-01T00:00:00Z"}


class StepMoved(Value):
    type: Literal["step_moved"] = "step_moved"
    step_id: StepId
    step: Step
    place: int
    whole: bool = False
    args: Args | None = None
    files: tuple[Uri, ...] = ()
    why: Literal["user", "model"] | None = None


def test_a_message_has_the_fields_of_its_event_in_the_forms_of_the_wire() -> None:
    found = message_of(StepMoved)
    assert found.__name__ == "StepMoved"
    assert notation.fields(found, (*OfPlan.model_fields, "type")) == (
        "{ taskId: string, task: Step, place: int, whole: bool, args?: { [name]: any }, files?: string[], "
        'why?: "user" | "model" }'
    )
    assert notation.plain(found.model_fields["step"].annotation) is plan.Step


def test_what_is_empty_is_left_out_of_a_message() -> None:
    class Looked(Value):
        type: Literal["looked"] = "looked"
        files: tuple[Uri, ...] = ()
        why: str | None = None
        whole: bool = False

    found = message_of(Looked).of(Looked(), seq=1, plan_id="p", session_id="s", at="2026-01-01T00:00:00Z")
    assert found.json_value() == {**PLACE, "type": "looked", "whole": False}


def test_a_message_is_of_a_plan_a_step_or_an_edit() -> None:
    class Edited(Value):
        type: Literal["edited"] = "edited"
        step_id: StepId | None
        edit_id: EditId
        files: tuple[Uri, ...]

    class Said(Value):
        type: Literal["said"] = "said"
        step_id: StepId | None = None

    assert [message_of(each).__base__ for each in (Edited, StepMoved, Said)] == [OfEdit, OfStep, OfPlan]


def test_a_field_without_a_form_on_the_wire_needs_a_declared_message() -> None:
    class Waited(Value):
        type: Literal["waited"] = "waited"
        since: Instant

    with pytest.raises(TypeError, match="declare the message"):
        message_of(Waited)


def test_every_event_has_a_message() -> None:
    union, _ = get_args(catalog.Event)
    assert tuple(messages()) == tuple(type_of(event) for event in get_args(union))


def test_a_message_is_declared_only_where_it_differs_from_its_event() -> None:
    union, _ = get_args(catalog.Event)
    needless = []
    for event in get_args(union):
        known = message(event)
        # `Answer` says itself why it is declared. To derive it would put its words, in another order, into the cache
        # of Python's typing, where every later test of this process would find them.
        if known.__module__ != declared_events.__name__ or known is declared_events.Answer:
            continue
        try:
            derived = notation.fields(message_of(event))
        except TypeError:
            continue
        if derived == notation.fields(known):
            needless.append(known.__name__)
    assert not needless
