"""The command line has the view of a plan that the server has, in whatever order the messages are taken in."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from planloom.cli.client.connection import Connection
from planloom.cli.client.views import Views
from planloom.domain.events import catalog as ev
from planloom.lsp.wire import to_wire_view
from planloom.view.plan_view import PlanView, view
from planloom.view.states import Around
from planloom.view.words import Words
from tests.view.test_plan_view import PLAN, edited, running, step

HISTORY = running(step("a"), step("b", "a"))
SHOWN = [view(HISTORY.plan, Around(Words()))]
for event in (*edited("n.txt", "e"), ev.StepFailed(step_id=step("a").step_id, error="no", will_retry=False)):
    SHOWN.append(view(HISTORY.add(event).plan, Around(Words())))


def whole(number: int) -> dict[str, Any]:
    """The message with a whole view, as a program reads it."""
    sent = to_wire_view.whole(SHOWN[number - 1]).json_value()
    return {"planId": PLAN, "number": number, "view": sent}


def patch(number: int) -> dict[str, Any]:
    """The message with what differs from the view before."""
    before, after = SHOWN[number - 2 : number]
    found = to_wire_view.patch(before, after, to_wire_view.head(before), to_wire_view.head(after))
    assert found is not None
    return {"planId": PLAN, "number": number, "patch": found.json_value()}


class Server:
    """Answers each request with the whole view of a number."""

    def __init__(self, number: int) -> None:
        self.number = number

    async def request(self, _method: str, _params: Any) -> dict[str, Any]:
        answer = whole(self.number)
        del answer["planId"]
        return answer


async def seen(views: Views, number: int, server: int = 0) -> Any:
    """The view with the events of a number."""
    connection: Any = Server(server)
    asked: Connection = connection
    return await views.after(asked, PLAN, SHOWN[number - 1].plan.seq)


def expected(shown: PlanView) -> dict[str, Any]:
    sent = to_wire_view.whole(shown).json_value()
    return {**sent, "plan": {**sent["plan"], "steps": [each["step"] for each in sent["steps"]]}}


@pytest.mark.parametrize("order", tuple(permutations((1, 2, 3, 4))))
async def test_messages_add_up_in_any_order(order: tuple[int, ...]) -> None:
    views = Views()
    for number in order:
        views.take(whole(1) if number == 1 else patch(number))
    assert await seen(views, 4) == expected(SHOWN[3])


async def test_a_view_that_does_not_come_is_asked_for() -> None:
    views = Views(late_seconds=0)
    views.take(whole(1))
    views.take(patch(3))
    assert await seen(views, 4, server=4) == expected(SHOWN[3])
