"""What commands change in the workspace: reported, shown as a diff, taken back, and kept in protected names only by a
yes.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from planloom.domain.plans.plan import Plan
from planloom.domain.values import Uri
from tests.support.studio import Studio, studio
from tests.workspace.test_programs import git

ALLOWED = {"approvals.write": "allow", "approvals.execute": "allow", "execution.review": "auto"}
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def rows(at: Studio, plan: Plan) -> list[tuple[str, str, bool, bool]]:
    """The report's rows of what commands have changed: path, change, whether it lasts, whether it has counts."""
    assert plan.report is not None
    folder = str(at.view.roots.folders[0].uri) + "/"
    return sorted(
        (file.uri.removeprefix(folder), file.change, file.lasting, file.added is not None)
        for file in plan.report.files
        if file.by_command
    )


def contents(at: Studio) -> Mapping[str, str]:
    """The files of the workspace as the user sees them, without git's own."""
    return {
        (name := path.relative_to(at.folder).as_posix()): at.text(name)
        for path in sorted(at.folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(at.folder).parts
    }


def committed(at: Studio) -> None:
    git(at.folder, "init", "-q", "-b", "main", ".")
    git(at.folder, "add", "-A")
    git(at.folder, "commit", "-qm", "x")


@pytest.mark.parametrize("in_git", [False, pytest.param(True, marks=needs_git)])
async def test_what_a_command_changes_is_reported_shown_and_taken_back(tmp_path: Path, in_git: bool) -> None:
    files = {
        "a.txt": "one\ntwo\n",
        "gone.txt": "g\n",
        "old/name.txt": "n\n",
        "same.txt": "s\n",
        "crlf.txt": "a\r\nb\r\n",
    }
    async with studio(tmp_path, files, settings=ALLOWED) as at:
        if in_git:
            committed(at)
        before = contents(at)
        command = (
            "sed -i s/two/TWO/ a.txt; sed -i s/b/B/ crlf.txt; rm gone.txt; mv old/name.txt new.txt; "
            "touch same.txt; echo x > made.txt"
        )
        plan = await at.run(f"Run `{command}`")
        assert rows(at, plan) == [
            ("a.txt", "edit", False, True),
            ("crlf.txt", "edit", False, True),
            ("gone.txt", "delete", False, True),
            ("made.txt", "create", False, True),
            ("new.txt", "rename", False, True),
        ]
        diff = at.app.plans.diff(plan.plan_id, Uri(at.uri("a.txt")), None)
        assert (diff.before, diff.after) == ("one\ntwo\n", "one\nTWO\n")
        assert "changed by a command" in at.app.plans.markdown(plan.plan_id)
        after = contents(at)
        await at.app.plans.undo(plan.plan_id, None, redo=False)
        assert contents(at) == before
        await at.app.plans.undo(plan.plan_id, None, redo=True)
        assert contents(at) == after


async def test_what_a_command_writes_in_protected_names_is_put_back_only_by_a_yes(tmp_path: Path) -> None:
    files = {"sub/AGENTS.md": "good\n", "Makefile": "all:\n"}
    command = (
        "mv sub sub2; mkdir -p sub/.git/hooks .claude; echo EVIL > sub/AGENTS.md; echo EVIL > sub/.git/hooks/x; "
        "echo {} > .claude/settings.json; echo EVIL > AGENTS.md; echo ok > plain.txt"
    )
    for decision in ("deny", "allow"):
        (tmp_path / decision).mkdir()
        async with studio(tmp_path / decision, files, settings=ALLOWED) as at:
            plan = await at.ask(f"Run `{command}`")
            (asked,) = plan.pending.approvals
            names = sorted(file.uri.rpartition("/workspace/")[2] for file in asked.files)
            assert names == [".claude/settings.json", "AGENTS.md", "sub/.git", "sub/AGENTS.md"]
            assert (asked.protected, asked.only_once) == (True, True)
            assert not any(
                at.path(name).exists() for name in (".claude/settings.json", "AGENTS.md", "sub/.git")
            )
            plan = await at.respond(plan, decision)
            assert plan.status == "completed" and plan.report is not None
            is_kept = decision == "allow"
            assert at.path("AGENTS.md").exists() == is_kept
            assert at.path("sub/.git/hooks/x").exists() == is_kept
            assert len(plan.report.notes) == (0 if is_kept else 4)
            assert ("AGENTS.md", "create", False, True) in rows(at, plan) if is_kept else rows(at, plan)
            assert at.path("plain.txt").read_text() == "ok\n"
