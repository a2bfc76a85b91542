"""Agents side by side: `python -m bench.agents [--agent NAME …] [--task NAME …] [--way NAME …]`.

Each run is added to `dist/agents.json` in place of an earlier one of the same agent, task and way; the tables are made
of what stands there, and `--page` writes them into docs/agents-benchmark.md. `--upstream URL` asks a real server
instead of the scripted model and records its answers in the folder of `--recording`; without `--upstream` such a
recording is replayed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from bench.__main__ import ROOT, between, machine
from bench.agents.model import Model, Recorded, Scripted, Upstream
from bench.agents.roster import AGENTS, Agent
from bench.agents.runs import WAYS, MakeModel, Outcome, Way, run
from bench.agents.tasks import Task, tasks, versions

RESULTS: Final = ROOT / "dist" / "agents.json"
PAGE: Final = ROOT / "docs" / "agents-benchmark.md"


def read(file: Path) -> list[Outcome]:
    """All outcomes that are kept."""
    if not file.exists():
        return []
    return [Outcome.model_validate(each) for each in json.loads(file.read_text(encoding="utf-8"))]


def keep(file: Path, outcome: Outcome) -> None:
    """Keep an outcome; one that is not disturbed is kept beside those of earlier rounds with the same counts."""
    key = (outcome.agent, outcome.task, outcome.way)
    others = [each for each in read(file) if (each.agent, each.task, each.way) != key]
    file.parent.mkdir(exist_ok=True)
    kept = [
        each.model_dump() for each in sorted([*others, outcome], key=lambda each: (each.agent, each.task))
    ]
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def rounds(count: int, once: Callable[[], Outcome]) -> Outcome:
    """An outcome with the median of the seconds of several runs; all else is that of the first."""
    found = [once() for _ in range(count)]
    return found[0].model_copy(update={"seconds": statistics.median(each.seconds for each in found)})


def kill_at(seed: int, task: str, requests: int) -> int:
    """The request at which a run is killed: the same part of the way for each agent, another one for each task."""
    names = [each.name for each in tasks()]
    random.Random(seed).shuffle(names)
    return 1 + int((names.index(task) + 0.5) / len(names) * requests)


Cells = Sequence[str]
HEADS: Final = (
    *("agent", "right results", "keystrokes lost", "effects doubled", "asked anew", "ended with an error"),
    *("requests", "sent kB", "new kB", "seconds beside the model's"),
)


def row(agent: str, outcomes: Iterable[Outcome]) -> Cells:
    """What all runs of an agent have in common; means of a task are those of undisturbed runs."""
    its = [each for each in outcomes if each.agent == agent]
    alone = [each for each in its if each.way == "alone"]

    def mean(values: Iterable[float]) -> str:
        found = list(values)
        return f"{statistics.mean(found):.1f}" if found else ""

    return (
        agent,
        f"{sum(each.right for each in its)} of {len(its)}",
        f"{sum(each.lost for each in its)} of {sum(each.keys for each in its)}",
        str(sum(each.doubled for each in its)),
        str(sum(each.anew for each in its)),
        str(sum(bool(each.problem) for each in its)),
        mean(each.requests for each in alone),
        mean(each.sent / 1000 for each in alone),
        mean(each.new / 1000 for each in alone),
        mean(each.seconds for each in alone),
    )


def by_way(agent: str, outcomes: Iterable[Outcome]) -> Cells:
    """Of each way, how many results are right, and how often the command has run once."""
    its = [each for each in outcomes if each.agent == agent]
    cells = [[each for each in its if each.way == way] for way in WAYS]
    return (
        agent,
        *(f"{sum(each.right for each in of)} of {len(of)}" if of else "–" for of in cells),
        f"{sum(each.published == 1 for each in its)} of {len(its)}",
    )


def markdown(heads: Cells, rows: Iterable[Cells]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def tables(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """The tables of the page, by name."""
    names = [agent.name for agent in AGENTS if any(each.agent == agent.name for each in outcomes)]
    return {
        "agents": markdown(HEADS, (row(name, outcomes) for name in names)),
        "ways": markdown(
            ("right results", *WAYS, "command run once"), (by_way(name, outcomes) for name in names)
        ),
        "given": markdown(
            ("agent", "version", "given"),
            ((each.name, each.version_of(), each.given) for each in AGENTS if each.name in names),
        ),
        "machine": f"{machine()}. Libraries: {versions()}.",
    }


def models(options: argparse.Namespace) -> MakeModel:
    """Who answers: the script, a real server, or its recording."""
    if options.recording is None:
        return lambda scripted, _: scripted

    def make(_: Scripted, name: str) -> Model:
        file = options.recording / f"{name}.jsonl"
        key = os.environ.get("BENCH_MODEL_KEY", "none")
        if options.upstream:
            return Upstream(options.upstream, key, options.upstream_model, file)
        return Recorded(file)

    return make


def wanted(options: argparse.Namespace) -> list[Agent]:
    """The agents that are asked for and installed."""
    found = [each for each in AGENTS if not options.agent or each.name in options.agent]
    for each in found:
        if each.program() is None:
            print(f"{each.name} is not installed: make agents", file=sys.stderr)
    return [each for each in found if each.program() is not None]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agent", action="append", choices=[each.name for each in AGENTS])
    parser.add_argument("--task", action="append", choices=[each.name for each in tasks()])
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1, help="of each undisturbed run, for the time")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--keep", type=Path, help="a folder for what agents print and ask")
    parser.add_argument("--recording", type=Path, help="a folder of recorded answers, one file for each run")
    parser.add_argument("--upstream", help="the base URL of a real server; its key is in BENCH_MODEL_KEY")
    parser.add_argument("--upstream-model", default="", help="the model to ask there")
    parser.add_argument("--missing", action="store_true", help="only what is not among the results yet")
    parser.add_argument("--page", action="store_true", help="write the tables into the page, and run nothing")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    for agent in () if options.page else wanted(options):
        for task in tasks():
            if not options.task or task.name in options.task:
                of_task(agent, task, options)
    found = tables(read(options.results))
    if options.page:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in found.items():
            page = between(page, name, text)
        PAGE.write_text(page, encoding="utf-8")
    print("\n\n".join(found.values()))
    return 0


def of_task(agent: Agent, task: Task, options: argparse.Namespace) -> None:
    """Run a task in all ways that are asked for, and keep the outcomes."""
    make = models(options)
    for way in WAYS:
        if (options.way and way not in options.way) or (way == "cut off" and not agent.speaker.runs):
            continue
        kept = [each for each in read(options.results) if (each.agent, each.task) == (agent.name, task.name)]
        if options.missing and any(each.way == way for each in kept):
            continue
        calm = next((each.requests for each in kept if each.way == "alone"), 1)
        at = kill_at(options.seed, task.name, calm)

        def once(way: Way = way, at: int = at) -> Outcome:
            return run(agent, task, way, options.seed, at, make, options.keep)

        outcome = rounds(options.rounds if way == "alone" else 1, once)
        keep(options.results, outcome)
        print(shown(outcome), flush=True)


def shown(outcome: Outcome) -> str:
    """One run in a line."""
    words = [
        "right" if outcome.right else "WRONG",
        f"{outcome.requests} requests",
        f"{outcome.lost} of {outcome.keys} keys lost",
        f"{outcome.doubled} doubled",
        f"{outcome.seconds:.1f} s",
        *["asked anew"] * outcome.anew,
        *[f"{outcome.drift} requests differ from the recording"] * bool(outcome.drift),
        outcome.problem,
    ]
    return f"{outcome.agent} / {outcome.task} / {outcome.way}: {', '.join(filter(None, words))}"


if __name__ == "__main__":
    sys.exit(main())
