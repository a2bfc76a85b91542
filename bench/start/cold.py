"""Measures a whole run of `planloom run` beside other agents: from the command to three files and the exit.

The agents are those that `make peers` has installed; all get the same scripted model.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figures import Figure, Measured, main
from bench.peers.endpoint import Exchange
from bench.peers.install import program
from bench.peers.three_files import REQUEST, serving, written

SECONDS = 60


class Agent(NamedTuple):
    """How an agent is started with a home of its own, against a URL, and what it needs in its environment."""

    title: str
    command: Callable[[str, Path], Sequence[str]]
    variables: Callable[[str, Path], Mapping[str, str]]


class Run(NamedTuple):
    """Milliseconds of wall time and of processor time, the latter of all its processes; requests; their kB."""

    wall: float
    processor: float
    requests: int
    prompt: float


def _continue(url: str, home: Path) -> Sequence[str]:
    config = home / "config.yaml"
    config.write_text(
        "name: bench\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: scripted\n    provider: openai\n"
        f"    model: scripted\n    apiKey: none\n    apiBase: {url}\n    roles: [chat]\n"
        "    capabilities: [tool_use]\n",
        encoding="utf-8",
    )
    return ["--config", str(config), "--auto", "-p", REQUEST]


PLANLOOM = Agent(
    "Planloom",
    lambda url, _home: [
        *(str(Path(sys.executable).with_name("planloom")), "run", REQUEST, "--yes", "--trust"),
        *("--mode", "direct", "--provider", "openai", "--base-url", url, "--model", "scripted"),
    ],
    lambda _url, home: {"XDG_STATE_HOME": str(home), "PLANLOOM_CONFIG": str(home / "none.json")},
)
PEERS = {
    "cn": Agent(
        "Continue",
        _continue,
        lambda _url, home: {
            "CONTINUE_GLOBAL_DIR": str(home / "continue"),
            "CONTINUE_TELEMETRY_ENABLED": "0",
            "CONTINUE_METRICS_ENABLED": "0",
        },
    ),
    "codex": Agent(
        "codex",
        lambda url, _home: [
            *(
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
                "-m",
                "scripted",
            ),
            *("-c", "model_provider=scripted", "-c", "analytics.enabled=false", "-c"),
            f'model_providers.scripted={{name="scripted",base_url="{url}",wire_api="responses",env_key="KEY"}}',
            REQUEST,
        ],
        lambda _url, home: {"CODEX_HOME": str(home), "KEY": "none"},
    ),
    "aider": Agent(
        "aider",
        lambda url, _home: [
            *("--model", "openai/scripted", "--openai-api-base", url, "--openai-api-key", "none"),
            *(
                "--edit-format",
                "whole",
                "--yes-always",
                "--no-git",
                "--no-check-update",
                "--analytics-disable",
            ),
            *("--no-show-model-warnings", "--no-pretty", "--map-tokens", "0", "--message", REQUEST),
        ],
        lambda _url, _home: {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    ),
    "mini": Agent(
        "mini-swe-agent",
        lambda url, home: [
            *("--yolo", "--exit-immediately", "--model", "openai/scripted", "--task", REQUEST),
            *("--output", str(home / "trajectory.json"), "--config", "mini.yaml"),
            *("--config", f"model.model_kwargs.api_base={url}"),
        ],
        lambda _url, home: {
            "OPENAI_API_KEY": "none",
            "MSWEA_GLOBAL_CONFIG_DIR": str(home),
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_SILENT_STARTUP": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    ),
}
QUICK = ("cn", "codex")
COUNTS = {
    "requests": Figure(name="requests to the model, three files, direct", unit="requests", goal=1),
    "prompt": Figure(name="prompts, three files, direct", unit="kB", goal=8.5),
}
FIELDS = (
    ("wall", "`planloom run`, to three files and the exit", "ms"),
    ("processor", "the same, processor time of all processes", "ms"),
    ("prompt", "the same, prompts", "kB"),
)
GOALS = {("cn", "wall"): 0.45}


def run(agent: Agent, path: Path | None, url: str, exchanges: list[Exchange], home: Path) -> Run:
    """One run in an empty folder. Raises RuntimeError where the agent failed or the files are not as they should be."""
    exchanges.clear()
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        command = [*([str(path)] if path else []), *agent.command(url, home)]
        variables = {**os.environ, "HOME": str(home), "NO_PROXY": "127.0.0.1", **agent.variables(url, home)}
        began = time.perf_counter()
        ended = subprocess.run(
            command,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        wall = time.perf_counter() - began
        if ended.returncode or not written(Path(folder)):
            output = ended.stdout[-1500:] + ended.stderr[-1500:]
            raise RuntimeError(f"{agent.title} ended with {ended.returncode}: {output}")
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(wall * 1000, processor * 1000, len(exchanges), sum(each.size for each in exchanges) / 1000)


def figures(quick: bool) -> Iterator[Measured]:
    """All in turn; the first run of each, which fills its caches, is dropped. Raises RuntimeError where one failed."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    paths = {name: path for name in (QUICK if quick else PEERS) if (path := program(name))}
    agents = {"planloom": PLANLOOM, **{name: PEERS[name] for name in paths}}
    rows: dict[str, list[Run]] = {name: [] for name in agents}
    failed: list[str] = []
    with serving(ends_with_calls=True) as (url, exchanges), tempfile.TemporaryDirectory() as scratch:
        for each in range(2 if quick else 6):
            for name, agent in agents.items():
                home = Path(scratch, name)
                home.mkdir(exist_ok=True)
                if agent.title in failed:
                    continue
                try:
                    found = run(agent, paths.get(name), url, exchanges, home)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    failed += [agent.title, str(error)]
                    continue
                if each:
                    rows[name].append(found)
    ours = rows.pop("planloom")
    for field, figure in COUNTS.items() if ours else ():
        yield figure.counted(getattr(ours[0], field))
    for name, theirs in rows.items():
        for field, title, unit in FIELDS:
            title_beside = f"{title}, beside {PEERS[name].title}"
            goal = GOALS.get((name, field))
            figure = Figure(name=title_beside, unit=unit, anchor=PEERS[name].title, goal=goal)
            if ours and theirs:
                yield figure.paired(*([getattr(one, field) for one in several] for several in (ours, theirs)))
    if failed:
        raise RuntimeError("\n".join(failed))


if __name__ == "__main__":
    main(__doc__, figures)
