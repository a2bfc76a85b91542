"""What allows a command without a question: settings and rules, for what the machine can confine alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planloom.cli.app import main
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.confinement import Abilities, Confinement
from planloom.settings import resolve
from planloom.storage.decisions import FILE, Decisions
from tests.support.studio import Studio, studio

WHOLE = Abilities(files=True, network=True, processes=True, how="all means")
LESS = {
    "no means": Abilities(files=False, network=False, processes=False, how="nothing"),
    "no files": Abilities(files=False, network=True, processes=True, how="seccomp"),
    "no network": Abilities(files=True, network=False, processes=True, how="Landlock"),
}


def machine(has: Abilities, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("planloom.execution.commands.running.abilities", lambda: has)


async def answered(room: Studio, text: str, decision: str = "allow") -> tuple[int, Plan]:
    """Put a request and give each of its questions the same answer: how many there were, and the plan."""
    plan, asked = await room.ask(text), 0
    if plan.status == "pending_approval":
        plan = await room.approve(plan)
    while plan.pending.approvals:
        asked += 1
        plan = await room.respond(plan, decision)
    return asked, plan


@pytest.mark.parametrize("setting", ["allow", "confined"])
@pytest.mark.parametrize("has", LESS.values(), ids=LESS)
async def test_no_setting_runs_unasked_what_is_not_confined(
    setting: str, has: Abilities, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(has, monkeypatch)
    async with studio(tmp_path, settings={"approvals.execute": setting}) as room:
        asked, plan = await answered(
            room, "run `touch a` then run `touch b` then run `touch a`", "allowForPlan"
        )
        assert asked == 3 and plan.status == "completed", "an answer covers only what is confined, too"
        said = [message for _, message in room.notices if "cannot confine commands" in message]
        assert len(said) == 1 and f"“{setting}”" in said[0]


async def test_what_is_not_confined_is_allowed_once_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(LESS["no files"], monkeypatch)
    async with studio(tmp_path) as room:
        (approval,) = (await room.ask("run `touch a`")).pending.approvals
        assert approval.only_once and approval.confinement is not None and not approval.confinement.held


@pytest.mark.parametrize(
    ("setting", "command", "asked"),
    [
        ("ask", "echo a", 1),
        ("confined", "echo a", 0),
        ("allow", "echo a", 0),
        ("confined", "curl -s --version", 1),
        ("allow", "curl -s --version", 0),
        ("confined", "rm -f nothing", 0),
    ],
)
async def test_a_setting_allows_what_is_confined(
    setting: str, command: str, asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(WHOLE, monkeypatch)
    async with studio(tmp_path, settings={"approvals.execute": setting, "approvals.plan": "literal"}) as room:
        found, plan = await answered(room, f"run `{command}`")
        assert found == asked
        if not asked:
            (call,) = plan.steps[0].tools_executed
            assert call.confinement is not None and call.confinement.network == "none"


def test_an_opened_folder_makes_the_setting_only_stricter() -> None:
    def value(user: str, workspace: str) -> str:
        sources = {
            "user": {"approvals": {"execute": user}},
            "workspace": {"approvals": {"execute": workspace}},
        }
        return resolve(sources).settings.approvals.execute  # type: ignore[arg-type]

    assert [value("confined", "allow"), value("allow", "confined"), value("ask", "confined")] == [
        "confined",
        "confined",
        "ask",
    ]


async def test_a_rule_of_the_folder_holds_in_every_plan_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(WHOLE, monkeypatch)
    decisions = Decisions(tmp_path / FILE)
    async with studio(tmp_path, decisions=decisions) as room:
        (approval,) = (plan := await room.ask("run `make one || true`")).pending.approvals
        assert approval.rules == ()
        await room.respond(plan, "cancel")
        (approval,) = (plan := await room.ask("run `git status --short`")).pending.approvals
        assert approval.rules == ("git status …",)
        await room.respond(plan, "allowInFolder")
        assert (await answered(room, "run `git status`"))[0] == 0
        assert (await answered(room, "run `git status; id`"))[0] == 1
        assert (await answered(room, "run `git status > a`"))[0] == 1
        (rule,) = await room.app.rules.list_rules()
        assert rule.text == "git status …" and rule.line.startswith("Confined: ")
    (tmp_path / "other").mkdir()
    async with studio(tmp_path / "other", decisions=decisions) as room:
        assert (await answered(room, "run `git status`"))[0] == 1, "it is another folder"
    async with studio(tmp_path, decisions=decisions) as room:
        assert (await answered(room, "run `git status`"))[0] == 0
        assert await room.app.rules.revoke(room.view.roots.folders[0].uri, "git status …") == 1
        assert (await answered(room, "run `git status`"))[0] == 1


@pytest.mark.slow
async def test_a_rule_gives_no_more_than_was_allowed_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(WHOLE, monkeypatch)
    decisions = Decisions(tmp_path / FILE)
    async with studio(tmp_path, decisions=decisions) as room:
        plan = await room.ask("run `npm test`")
        plan = await room.respond(plan, "allowInFolder", confinement=Confinement(network="loopback"))
        asked, plan = await answered(room, "run `npm test -- a`")
        (call,) = plan.steps[0].tools_executed
        assert asked == 0 and call.confinement is not None and call.confinement.network == "loopback"
    machine(LESS["no files"], monkeypatch)
    async with studio(tmp_path, decisions=decisions) as room:
        assert (await answered(room, "run `npm test`"))[0] == 1


@pytest.mark.slow
async def test_an_answer_for_the_plan_covers_what_its_rule_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(WHOLE, monkeypatch)
    async with studio(tmp_path) as room:
        await answered(room, "run `git init -q .`")
        text = "run `git diff; true` then run `git status` then run `git status -s` then run `git status -s | cat`"
        assert (await answered(room, text, "allowForPlan"))[0] == 3
        assert (await answered(room, "run `git status`"))[0] == 1, "it is another plan"


CLAUDE = json.dumps(
    {
        "permissions": {
            "allow": ["Bash(npm run test:*)", "Bash(git status)", "Bash(python *)", "Read(*)", "Bash(a | b)"]
        }
    }
)
CODEX = """
prefix_rule(pattern=["git", ["add", "commit"]], decision="allow", justification="x")
prefix_rule(pattern=["rm"], decision="prompt")
prefix_rule(pattern=["bash"], decision="allow")
"""


def test_rules_are_listed_added_imported_and_taken_back_by_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, folder = tmp_path / "home", tmp_path / "home" / "work"
    for place in (home / ".claude", home / ".codex" / "rules", folder / ".claude"):
        place.mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text(CLAUDE)
    (home / ".codex" / "rules" / "default.rules").write_text(CODEX)
    (folder / ".claude" / "settings.local.json").write_text(CLAUDE.replace("git status", "evil"))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))

    def told(*arguments: str) -> tuple[list[str], list[str]]:
        main(["trust", str(folder), *arguments])
        out, err = capsys.readouterr()
        return [line.removeprefix(f"{folder}: ") for line in out.splitlines()], err.splitlines()

    assert told("--rules") == (["No command is allowed."], [])
    assert told("--rule", "pytest …") == (["pytest …"], [])
    out, err = told("--rules", "--import")
    assert out == [
        "git add …  (with git's folder)",
        "git commit …  (with git's folder)",
        "git status",
        "npm run test …",
        "pytest …",
    ]
    assert err == [
        "Left out: python *: it would allow any command.",
        "Left out: a | b: it is not one plain command.",
        "Left out: bash …: it would allow any command.",
    ]
    assert told("--rule", "pytest …", "--revoke")[0][0] == "1 rule taken back."
    assert told("--rules", "--revoke")[0] == ["4 rules taken back.", "No command is allowed."]
    assert (home / "state" / "planloom" / FILE).stat().st_mode & 0o077 == 0
