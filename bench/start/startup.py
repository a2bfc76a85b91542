"""Measures the start of the server against that of a bare pygls server: time to answers, processor time, memory."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, Measured, in_turn, main
from bench.server_process import BARE, PARAMS, SERVE, initialized, own_state, warm_up

ANCHOR = "bare pygls initialize"
FIGURES = {
    "initialize": Figure(name="spawn → initialize", anchor=ANCHOR, goal=0.65),
    "processor": Figure(
        name="spawn → initialize, processor time", anchor="bare pygls, processor time", goal=0.65
    ),
    "status": Figure(name="spawn → first answer of `planloom/status`", anchor=ANCHOR),
    "plan": Figure(name="spawn → first `plan_ready` by rules", anchor=ANCHOR, goal=1.8),
    "memory": Figure(name="memory (PSS) after loading", unit="MB", anchor="bare pygls", goal=1.65),
}
UNCACHED = Figure(
    name="spawn → initialize, no cached bytecode",
    anchor="bare pygls initialize, no cached bytecode",
    goal=1.0,
)
OPTIONS = {
    "planloom": {"model": {"provider": "embedded"}},
    "planloomClient": {"events": True, "trusted": True},
}
REQUEST = "1. Replace `old` with `new` in a.txt\n2. Create b.txt\n3. List the files"


def bare_row() -> dict[str, float]:
    """What a bare server needs until the answer to `initialize`."""
    server = initialized(BARE)
    took = server.since_start()
    found = {
        "initialize": took,
        "status": took,
        "plan": took,
        "processor": server.processor(),
        "memory": server.memory(),
    }
    server.end()
    return found


def our_row(folder: Path) -> dict[str, float]:
    """What the server needs for the same, and until it has answered a request of its own."""
    server = initialized(SERVE)
    found = {"initialize": server.since_start(), "processor": server.processor()}
    server.tell("initialized", {})
    server.ask(2, "planloom/status", {})
    found |= {"status": server.since_start(), "memory": server.memory()}
    server.end()
    return found | {"plan": first_plan(folder)}


def first_plan(folder: Path) -> float:
    """What a server needs until a request is a plan to review, in the order in which an extension asks for it."""
    server = initialized(SERVE, PARAMS | {"rootUri": folder.as_uri(), "initializationOptions": OPTIONS})
    server.tell("initialized", {})
    server.tell("planloom/plan/create", {"text": REQUEST, "mode": "plan"}, 2)
    while ((message := server.read()).get("params") or {}).get("type") != "plan_ready":
        if "error" in message:
            raise RuntimeError(f"The request was refused: {message['error']}")
    took = server.since_start()
    server.end()
    return took


def until_initialized(command: tuple[str, ...]) -> float:
    """What a server needs until the answer to `initialize`."""
    server = initialized(command)
    took = server.since_start()
    server.end()
    return took


def figures(quick: bool) -> Iterator[Measured]:
    """Both are started in turn, as installed: with cached bytecode, then without."""
    with own_state() as folder:
        for command in (BARE, SERVE):
            warm_up(command)
        first_plan(folder)
        rows = [(our_row(folder), bare_row()) for _ in range(4 if quick else 12)]
    with own_state() as folder:
        os.environ |= {"PYTHONPYCACHEPREFIX": f"{folder}/code", "PYTHONDONTWRITEBYTECODE": "1"}
        uncached = in_turn(
            2 if quick else 5,
            {"ours": lambda: until_initialized(SERVE), "bare": lambda: until_initialized(BARE)},
        )
    for name, figure in FIGURES.items():
        ours, anchors = [row[0][name] for row in rows], [row[1][name] for row in rows]
        # Systems without /proc tell neither memory nor processor time.
        if statistics.median(anchors):
            yield figure.paired(ours, anchors)
    yield UNCACHED.paired(uncached["ours"], uncached["bare"])


if __name__ == "__main__":
    main(__doc__, figures)
