"""Measures the start of the server against that of a bare pygls server: time to answers, processor time, memory."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bench.figures import Figure, Measured, main
from bench.server_process import BARE, SERVE, initialized, own_state, warm_up

ANCHOR = "bare pygls initialize"
FIGURES = {
    "initialize": Figure(name="spawn → initialize", anchor=ANCHOR, goal=0.60),
    "processor": Figure(
        name="spawn → initialize, processor time", anchor="bare pygls, processor time", goal=0.60
    ),
    "status": Figure(name="spawn → first answer of `planloom/status`", anchor=ANCHOR, goal=1.3),
    "memory": Figure(name="memory (PSS) after loading", unit="MB", anchor="bare pygls", goal=1.35),
}


def bare_row() -> dict[str, float]:
    """What a bare server needs until the answer to `initialize`."""
    server = initialized(BARE)
    took = server.since_start()
    found = {
        "initialize": took,
        "status": took,
        "processor": server.processor(),
        "memory": server.memory(),
    }
    server.end()
    return found


def our_row() -> dict[str, float]:
    """What the server needs for the same, and until it has answered a request of its own."""
    server = initialized(SERVE)
    found = {"initialize": server.since_start(), "processor": server.processor()}
    server.tell("initialized", {})
    server.ask(2, "planloom/status", {})
    found |= {"status": server.since_start(), "memory": server.memory()}
    server.end()
    return found


def figures(quick: bool) -> Iterator[Measured]:
    """Both are started in turn, as installed, with cached bytecode."""
    with own_state():
        for command in (BARE, SERVE):
            warm_up(command)
        rows = [(our_row(), bare_row()) for _ in range(4 if quick else 12)]
    for name, figure in FIGURES.items():
        ours, anchors = [row[0][name] for row in rows], [row[1][name] for row in rows]
        # Systems without /proc tell neither memory nor processor time.
        if statistics.median(anchors):
            yield figure.paired(ours, anchors)


if __name__ == "__main__":
    main(__doc__, figures)
