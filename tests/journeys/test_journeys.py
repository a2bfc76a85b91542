"""A strong model's way through whole requests: what it is sent, how much of it, and what comes of it.

What it is sent is kept as text in `tests/golden/journeys`. After a change that is meant, `make generate` writes it
anew; `python -m bench.models.journeys` prints the figures.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.tools.confinement.abilities import abilities
from tests.journeys.journey import Journey, Played, cached_order, journeys, play
from tests.journeys.transcript import tools_text, transcript
from tests.support.golden import check_golden

GOLDEN = Path(__file__).parents[1] / "golden" / "journeys"

LONG = ("long",)
"""Journeys that take several seconds."""
KEPT = 0.95
"""The least part of a request with which the next one begins."""
LONG_ENOUGH = 4
"""The requests of a journey from which on the whole of it is held to that part, the planning included."""


@pytest.mark.parametrize(
    "journey",
    [pytest.param(each, id=each.name, marks=[pytest.mark.slow] * (each.name in LONG)) for each in journeys()],
)
async def test_a_journey(journey: Journey, tmp_path: Path) -> None:
    if journey.name == "cause" and not abilities().throwaway:
        pytest.skip("no overlays here")
    played = await play(journey, tmp_path)
    check_facts(played)
    check_outcome(played)
    check_conversation(played)
    check_goal(played)
    # Elsewhere no command is offered while planning.
    if abilities().throwaway:
        check_golden(GOLDEN / f"{journey.name}.txt", transcript(played))
        if journey.name == "bug":
            check_golden(GOLDEN / "tools.txt", tools_text(played.requests[-1].tools))


def test_every_golden_file_has_a_journey() -> None:
    names = {journey.name for journey in journeys()} | {"tools"}
    assert {path.stem for path in GOLDEN.iterdir()} == names


def check_facts(played: Played) -> None:
    """Every fact that a turn rests on stands in the request that it answers."""
    for request, missing in zip(played.requests, played.missing_facts, strict=True):
        assert not missing, "\n".join(message.text for message in request.messages)


def check_outcome(played: Played) -> None:
    expected = played.journey.outcome
    assert (played.plan.status, len(played.requests)) == (expected.status, len(played.turns)), played.plan
    for file in expected.files:
        text = (played.folder / file.path).read_text(encoding="utf-8")
        assert not [part for part in file.has if part not in text], file.path
        assert not [part for part in file.lacks if part in text], file.path
    assert not [part for part in expected.answer if part not in played.answer], played.answer
    assert played.passes
    assert not (expected.unchanged and played.changed)


def check_conversation(played: Played) -> None:
    """Each request begins with the one before, planning included, and holds all that the model wrote."""
    assert len(played.requests) < LONG_ENOUGH or played.kept_share >= KEPT
    prompts = [len(cached_order(body)) for body in played.bodies]
    for number in range(1, len(prompts)):
        assert played.kept[number] >= KEPT * prompts[number - 1], f"request {number + 1}"
        written = [
            (message.text, [(call.name, call.arguments) for call in message.tool_calls])
            for message in played.requests[number].messages
            if message.role == "assistant"
        ]
        expected = [
            (turn.text, [(call.name, call.arguments) for call in turn.calls])
            for turn in played.turns[:number]
        ]
        assert written[-len(expected) :] == expected, f"request {number + 1}"
    results = [message.text for message in played.requests[-1].messages if message.role == "tool"]
    assert not [text for text in results if text.startswith("[FAILED] The arguments are wrong")]


def check_goal(played: Played) -> None:
    goal = played.journey.goal
    assert not goal.requests or len(played.requests) <= goal.requests
    most = goal.kilobytes_now or goal.kilobytes
    assert not most or sum(played.sizes) <= most * 1000, played.sizes
