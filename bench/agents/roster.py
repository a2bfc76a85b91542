"""The agents: how each is installed, started and resumed, and in which words its model speaks. One entry adds one.

Everything is given to an agent by its command line, its environment and a home of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

from bench.agents import install
from bench.agents.script import GO_ON, Speaker
from bench.agents.speakers import Aider, Codex, Continue, MiniSwe, Planloom
from bench.peers import install as peers

MODEL: Final = "scripted"


_LITELLM: Final = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Without it the library fetches a list of prices at each start."""


class Given(NamedTuple):
    """What a run gives to its agent: the model's address, an empty home, the folder, the request, files that matter."""

    url: str
    home: Path
    folder: Path
    prompt: str
    files: Sequence[str]


Command = Callable[[Given], Sequence[str | Path]]


@dataclass(frozen=True)
class Agent:
    """One row of the table. Without `resume` the agent cannot go on after a kill, and is started anew."""

    name: str
    program: Callable[[], Path | None]
    speaker: type[Speaker]
    start: Command
    resume: Command | None = None
    environment: Callable[[Given], Mapping[str, str]] = lambda _: {}
    talks: Literal["command line", "ACP"] = "command line"
    version: Sequence[str] = ("--version",)
    go_on: str = GO_ON
    """What a person says to it when it is started again, if it speaks ACP."""
    given: str = ""
    """What it was given, for the page."""
    prepare: Callable[[Given], None] = field(default=lambda _: None)

    def version_of(self) -> str:
        """The first version that the program prints."""
        command = [str(self.program()), *self.version]
        said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        found = re.search(r"\d+(?:\.\d+)+", said.stdout + said.stderr)
        return found[0] if found else "?"


def planloom() -> Path | None:
    """The program beside the Python that runs this."""
    path = Path(sys.executable).with_name("planloom")
    return path if path.exists() else None


def _planloom(word: str, *rest: str) -> Command:
    def command(given: Given) -> Sequence[str | Path]:
        model = ("--base-url", given.url, "--model", MODEL)
        asked = (given.prompt,) if word == "run" else ()
        return (planloom() or "", word, *rest, "--yes", "--yes-commands", "--trust", *model, *asked)

    return command


def _planloom_acp(given: Given) -> Sequence[str | Path]:
    settings = (f"model.baseUrl={given.url}", f"model.name={MODEL}")
    return (planloom() or "", "acp", *(word for each in settings for word in ("--set", each)))


def _codex(*words: str) -> Command:
    def command(given: Given) -> Sequence[str | Path]:
        provider = {
            "name": MODEL,
            "base_url": given.url,
            "wire_api": "responses",
            "env_key": "OPENAI_API_KEY",
        }
        table = ",".join(f"{name}={json.dumps(value)}" for name, value in provider.items())
        options = (
            *("--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "-m", MODEL),
            *("-c", f"model_provider={MODEL}", "-c", f"model_providers.{MODEL}={{{table}}}"),
            *("-c", "analytics.enabled=false"),
        )
        return (peers.codex() or "", "exec", *words, *options, GO_ON if words else given.prompt)

    return command


def _mini(given: Given) -> Sequence[str | Path]:
    settings = ("mini.yaml", f"model.model_kwargs.api_base={given.url}", "model.cost_tracking=ignore_errors")
    options = ("-y", "--exit-immediately", "-m", f"openai/{MODEL}", "-o", given.home / "trajectory.json")
    return (
        install.mini() or "",
        *options,
        *(w for each in settings for w in ("-c", each)),
        "-t",
        given.prompt,
    )


def _aider(*words: str) -> Command:
    def command(given: Given) -> Sequence[str | Path]:
        options = (
            *("--model", f"openai/{MODEL}", "--openai-api-base", given.url, "--edit-format", "diff"),
            *("--yes-always", "--analytics-disable", "--no-check-update", "--no-show-release-notes"),
            *("--no-show-model-warnings", "--no-pretty"),
        )
        return (install.aider() or "", *options, *words, "--message", given.prompt, *given.files)

    return command


def _continue(*words: str) -> Command:
    def command(given: Given) -> Sequence[str | Path]:
        options = ("--config", given.home / "config.yaml", "--auto")
        return (install.cn() or "", *options, *words, "-p", GO_ON if words else given.prompt)

    return command


def _continue_config(given: Given) -> None:
    # A model is taken for a capable one by its name, and is then offered `MultiEdit`.
    address = {"provider": "openai", "model": MODEL, "apiBase": given.url, "apiKey": "none"}
    model = {"name": "gpt", **address, "roles": ["chat"], "capabilities": ["tool_use"]}
    config = {"name": "bench", "version": "1.0.0", "schema": "v1", "models": [model]}
    (given.home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")


AGENTS: Final = (
    Agent(
        "planloom",
        planloom,
        Planloom,
        _planloom("run", "--mode", "plan"),
        _planloom("resume"),
        given="`run --mode plan --yes --yes-commands --trust`, then `resume` with the same",
    ),
    Agent(
        "planloom, direct",
        planloom,
        Planloom,
        _planloom("run", "--mode", "direct"),
        _planloom("resume"),
        given="the same with `--mode direct`",
    ),
    Agent(
        "planloom acp",
        planloom,
        Planloom,
        _planloom_acp,
        _planloom_acp,
        talks="ACP",
        go_on="/resume",
        given="mode `plan`; each question is answered by its first option that allows, but one that says the command "
        "may have run already after a look at its effect; then `session/load` and `/resume`",
    ),
    Agent(
        "codex",
        peers.codex,
        Codex,
        _codex(),
        _codex("resume", "--last"),
        lambda given: {"CODEX_HOME": str(given.home)},
        given="`exec --dangerously-bypass-approvals-and-sandbox`, then `exec resume --last`",
    ),
    Agent(
        "Continue",
        install.cn,
        Continue,
        _continue(),
        _continue("--resume"),
        lambda given: {"CONTINUE_GLOBAL_DIR": str(given.home), "CONTINUE_TELEMETRY_ENABLED": "0"},
        given="`cn --auto -p`, then `cn --auto --resume -p`",
        prepare=_continue_config,
    ),
    Agent(
        "aider",
        install.aider,
        Aider,
        _aider(),
        _aider("--restore-chat-history"),
        lambda _: _LITELLM,
        given="`--edit-format diff --yes-always --message`, with the files that are to change; then the same with "
        "`--restore-chat-history`",
    ),
    Agent(
        "mini-swe-agent",
        install.mini,
        MiniSwe,
        _mini,
        None,
        lambda given: {**_LITELLM, "MSWEA_CONFIGURED": "true", "MSWEA_GLOBAL_CONFIG_DIR": str(given.home)},
        version=("--help",),
        given="`mini -y --exit-immediately` with `mini.yaml`; it cannot be resumed, so it is started anew",
    ),
)
