"""The bench measures other agents in the units in which it measures Planloom, and judges what they leave likewise."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench.peers.journeys import Agent, play
from tests.journeys.journey import Journey, encoded

POSTS = """
import sys, urllib.request
for body in sys.argv[2:]:
    request = urllib.request.Request(sys.argv[1], body.encode(), {"Content-Type": "application/json"})
    urllib.request.urlopen(request).read()
"""
QUESTION = {"role": "user", "content": "Grüße, 世界! " * 50}
ANSWER = {"role": "assistant", "content": "Done."}
BODIES = [{"model": "strong", "messages": [QUESTION]}, {"model": "strong", "messages": [QUESTION, ANSWER]}]
"""Requests of which the second repeats the first."""


def sending(*bodies: object) -> Agent:
    """An agent that sends these bodies and changes nothing."""
    texts = [encoded(body).decode() for body in bodies]
    return Agent(
        command=lambda _request, _home, url: [sys.executable, "-c", POSTS, url, *texts],
        variables=lambda _home: {"NO_PROXY": "127.0.0.1"},
        answer=lambda _journey, _workspace: lambda _number, _body: json.dumps({}).encode(),
        media_type="application/json",
    )


def journey(**file: object) -> Journey:
    """A request that must leave a file like this."""
    outcome = {"files": [{"path": "pyproject.toml", **file}]}
    return Journey.model_validate(
        {"name": "a", "request": "Wait.", "repository": "timespan", "turns": [], "outcome": outcome}
    )


def test_what_is_kept_of_a_request_is_counted_in_bytes_as_they_were_sent(tmp_path: Path) -> None:
    figures = play(sending(*BODIES), journey(), tmp_path)
    assert figures.problem == ""
    assert figures.sizes == tuple(len(encoded(body)) for body in BODIES)
    assert figures.kept[0] == 0
    # All of the first request but its closing brackets is the beginning of the second.
    assert figures.kept[1] == pytest.approx(figures.sizes[0], rel=0.05)


def test_a_text_that_must_be_gone_is_a_difference(tmp_path: Path) -> None:
    assert "pyproject.toml" in play(sending(), journey(lacks=["["]), tmp_path).problem


def test_an_agent_that_sends_nothing_has_kept_nothing(tmp_path: Path) -> None:
    figures = play(sending(), journey(), tmp_path)
    assert (figures.sizes, sum(figures.kept)) == ((), 0)
