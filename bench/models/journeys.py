"""Measures the journeys of a strong model: requests, bytes, and the share of bytes that a prefix cache has seen.

"New" are the bytes that no cache has seen; "kept" is the part of the requests before the last with which the next
begins. With `--others`, codex and mini-swe-agent are measured beside it on the same turns, where `make peers` was run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.peers import journeys as other_agents
from bench.peers.install import program
from bench.peers.journeys import Figures, scaled
from tests.journeys.journey import Journey, Played, cached_order, encoded, journeys, play

PARTS = ("tools", "schema", "system", "user", "assistant", "tool")
"""The parts of a body: what it offers, and its messages by role; `tool` are the results."""


def size(value: Any) -> int:
    """The bytes of a value as JSON."""
    return len(encoded(value))


def parts_of(played: Played) -> dict[str, int]:
    """The bytes of all requests by part."""
    sums = dict.fromkeys(PARTS, 0)
    for body in played.bodies:
        sums["tools"] += size(body["tools"]) if "tools" in body else 0
        sums["schema"] += size(body["response_format"]) if "response_format" in body else 0
        for message in body["messages"]:  # type: ignore[union-attr]
            sums[message["role"]] += size(message)  # type: ignore[call-overload,index]
    return sums


LEAN = {"context.shareConversation": False}
"""Settings under which each step begins anew."""


def ours(journey: Journey, settings: Mapping[str, Any]) -> tuple[Figures, dict[str, int]]:
    """The figures of Planloom, and the bytes by part."""
    with tempfile.TemporaryDirectory() as folder:
        played = asyncio.run(play(journey, Path(folder), settings))
    whole = played.plan.status == journey.outcome.status and len(played.requests) == len(played.turns)
    kept = scaled(played.kept, [cached_order(body) for body in played.bodies], played.sizes)
    missing = sum(len(facts) for facts in played.missing_facts)
    problem = f"without {missing} facts" if missing else "" if whole and played.passes else played.plan.status
    return Figures(played.sizes, kept, problem), parts_of(played)


def theirs(agent: other_agents.Agent, journey: Journey) -> Figures:
    """The figures of another agent."""
    with tempfile.TemporaryDirectory() as folder:
        return other_agents.play(agent, journey, Path(folder))


def shown(name: str, who: str, figures: Figures) -> str:
    """One line of the table."""
    total = sum(figures.sizes)
    cached = sum(figures.kept) / total if total else 0
    followed = sum(figures.sizes[:-1])
    kept = sum(figures.kept) / followed if followed else 0
    new = (total - sum(figures.kept)) / 1000
    return (
        f"{name:10} {who:10} {len(figures.sizes):>8} {total / 1000:>8.1f} {new:>7.1f} {cached:>7.0%} {kept:>7.0%}"
        f"  {figures.problem}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these journeys")
    parser.add_argument("--lean", action="store_true", help="also with steps that begin anew")
    parser.add_argument(
        "--others", action="store_true", help="also codex and mini, where `make peers` was run"
    )
    args = parser.parse_args()
    agents = {
        name: made(path)
        for name, made in (("mini", other_agents.mini), ("codex", other_agents.codex))
        if args.others and (path := program(name))
    }
    rows = []
    parts = {}
    print(f"{'journey':10} {'agent':10} {'requests':>8} {'kB':>8} {'new kB':>7} {'cached':>7} {'kept':>7}")
    for journey in journeys():
        if args.names and journey.name not in args.names:
            continue
        figures, parts[journey.name] = ours(journey, {})
        found = {"planloom": figures}
        if args.lean:
            found["lean"], _ = ours(journey, LEAN)
        if not journey.answers:
            # The others run without asking, so nothing can be denied.
            found |= {who: theirs(agent, journey) for who, agent in agents.items()}
        for who, each in found.items():
            print(shown(journey.name, who, each), flush=True)
            rows.append({"journey": journey.name, "agent": who, **each._asdict()})
    print(f"\n{'journey':10}" + "".join(f"{part:>10}" for part in PARTS) + "  (kB of all requests)")
    for name, sums in parts.items():
        print(f"{name:10}" + "".join(f"{sums[part] / 1000:>10.1f}" for part in PARTS))
    print(json.dumps({"bench": "journeys", "rows": rows, "parts": parts}))


if __name__ == "__main__":
    main()
