"""Names, addresses and files that must not be reached without a question, or at all."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from planloom.web.addresses import refused_address
from tests.service.test_execution_rules import tool_step, with_steps
from tests.service.test_renames import a_plan
from tests.support import command_line
from tests.support.studio import studio

RUN_BY_THEMSELVES = [
    ".venv/bin/activate",
    "lib/python3.11/site-packages/x.py",
    "node_modules/eslint/index.js",
    "tsconfig.json",
    "Cargo.toml",
    ".flake8",
    "launch.vs.json",
    "skills/a/SKILL.md",
    ".storybook/main.js",
    "buildSrc/x.kt",
    "phpstan.neon",
]


@pytest.mark.parametrize("name", RUN_BY_THEMSELVES)
async def test_what_runs_by_itself_is_asked_in_auto(tmp_path: Path, name: str) -> None:
    model = a_plan(("write_file", {"path": name, "content": "x\n"}))
    async with studio(tmp_path, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"), review="auto")
        (asked,) = plan.pending.approvals
        assert asked.protected and asked.warning
        await at.respond(plan, "deny")
        assert not at.path(name).exists()


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"])
def test_a_store_of_cloud_credentials_is_no_model_server(scheme: str, host: str) -> None:
    assert refused_address(scheme, host) is not None


@pytest.mark.parametrize("guess", ["KEY=1", "KEY=2"])
async def test_a_check_does_not_tell_what_a_secret_contains(tmp_path: Path, guess: str) -> None:
    check = {"kind": "file_contains", "path": ".env", "text": guess}
    async with studio(tmp_path, {".env": "KEY=1\n"}) as at:
        plan = await with_steps(at, tool_step("create_folder", {"path": "out"}, checks=[check]))
        plan = await at.approve(plan)
        while plan.pending.approvals:
            plan = await at.respond(plan)
        (seen,) = plan.steps[0].checks
        assert seen.outcome == "unknown"


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("left", [False, True], ids=["new", "left by an older version"])
def test_the_state_folder_and_the_log_are_for_their_owner_alone(tmp_path: Path, left: bool) -> None:
    state = tmp_path / "state"
    if left:
        state.mkdir(mode=0o700)
        (state / "planloom").mkdir()
        (state / "planloom" / "planloom.log").write_text("old\n")
        (state / "planloom").chmod(0o777)
        (state / "planloom" / "planloom.log").chmod(0o666)
    (tmp_path / "work").mkdir()
    arguments = ["run", "--yes", "--provider", "embedded", "-w", str(tmp_path / "work"), "List files"]
    subprocess.run(
        ["sh", "-c", 'umask 000; exec "$0" "$@"', *command_line.command(tmp_path, arguments, None)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
        env=command_line.environment(
            HOME=str(tmp_path), XDG_STATE_HOME=str(state), XDG_CONFIG_HOME=str(tmp_path / "config")
        ),
    )
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.rglob("*")}
    assert "planloom.log" in found
    assert {name: mode & 0o077 for name, mode in found.items()} == dict.fromkeys(found, 0)
