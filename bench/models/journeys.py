"""Measures the journeys of a strong model: requests, bytes, and the share of bytes that a prefix cache has seen.

"New" are the bytes that no cache has seen; "kept" is the part of the requests before the last with which the next
begins.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.journeys.journey import Journey, Played, encoded, journeys, play

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


def played(journey: Journey, settings: Mapping[str, Any]) -> Played:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(play(journey, Path(folder), settings))


def shown(journey: Journey, found: Played, who: str) -> str:
    """One line of the table."""
    whole = found.plan.status == journey.outcome.status and len(found.requests) == len(found.turns)
    missing = sum(len(facts) for facts in found.missing_facts)
    problem = f"without {missing} facts" if missing else "" if whole and found.passes else found.plan.status
    total = sum(found.sizes) / 1000
    new = total * (1 - found.cached_share)
    return (
        f"{journey.name:10} {who:10} {len(found.sizes):>8} {total:>8.1f} {new:>7.1f} {found.cached_share:>7.0%}"
        f" {found.kept_share:>7.0%}  {problem}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these journeys")
    parser.add_argument("--lean", action="store_true", help="also with steps that begin anew")
    args = parser.parse_args()
    parts = {}
    print(f"{'journey':10} {'steps':10} {'requests':>8} {'kB':>8} {'new kB':>7} {'cached':>7} {'kept':>7}")
    for journey in journeys():
        if args.names and journey.name not in args.names:
            continue
        found = played(journey, {})
        parts[journey.name] = parts_of(found)
        print(shown(journey, found, "shared"), flush=True)
        if args.lean:
            print(shown(journey, played(journey, LEAN), "alone"), flush=True)
    print(f"\n{'journey':10}" + "".join(f"{part:>10}" for part in PARTS) + "  (kB of all requests)")
    for name, sums in parts.items():
        print(f"{name:10}" + "".join(f"{sums[part] / 1000:>10.1f}" for part in PARTS))


if __name__ == "__main__":
    main()
