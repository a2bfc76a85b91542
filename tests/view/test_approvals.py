"""The buttons of an approval, what is dangerous about it, and what an answer covers, in words."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from planloom.domain.changes import ChangeKind
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.plan import Pending
from planloom.domain.problems import NOT_YET, Judged, NewProblem
from planloom.domain.safety.approvals import Approval, ApprovalFile, PlanChange
from planloom.domain.safety.confinement_choices import ConfinementRequest
from planloom.domain.values import ApprovalId, Sha256, Uri
from planloom.view import questions
from planloom.view.approvals import ApprovalView
from planloom.view.judged import judged_view
from planloom.view.plan_view import view
from planloom.view.states import causes
from planloom.view.words import Words
from tests.view.test_plan_view import AROUND, PLAN, A, plan, step

CHANGES = (PlanChange(kind="dropped", step_id=A, before="2. Do b"),)


def an_approval(**more: Any) -> Approval:
    return Approval.model_validate(
        {
            "approval_id": ApprovalId("x"),
            "plan_id": PLAN,
            "step_id": A,
            "proposal": Sha256(""),
            "effect": "write",
            "title": "t",
            **more,
        }
    )


def shown(**more: Any) -> ApprovalView:
    """The view of an approval of a step on which another one depends."""
    approval = an_approval(**more)
    folders = (Uri("file:///home/me/app"),)
    steps = IndexedTuple((step("a", status="running"), step("b", "a")))
    now = plan(steps=steps, pending=Pending(approvals=(approval,)), workspace_folders=folders)
    (only,) = view(now, AROUND).approvals
    return only


@pytest.mark.parametrize(
    ("asked", "buttons", "danger"),
    [
        ({}, ("Allow once", "No…", "Skip these changes"), None),
        ({"effect": "destroy"}, ("Allow once", "No…", "Skip these changes"), "deletes or replaces files"),
        ({"effect": "execute"}, ("Allow once", "No…", "Do not run it"), "runs a command"),
        ({"effect": "fetch"}, ("Allow once", "No…", "Do not fetch it"), "sends a request to the web"),
        ({"tool": "run_command"}, ("Put back", "Leave it aside…", "Leave it aside"), None),
        ({"goes_on": True}, ("Go on", "Not yet…", "Pause the plan here"), None),
        (
            {"plan_changes": CHANGES},
            ("Change the plan", "Keep the plan…", "Keep the plan"),
            "goes beyond what you approved",
        ),
    ],
)
def test_the_buttons_say_what_they_do(
    asked: dict[str, Any], buttons: tuple[str, ...], danger: str | None
) -> None:
    found = shown(**asked)
    assert (found.allow, found.refuse, found.deny) == buttons
    assert (None if found.danger is None else found.danger.words) == danger


@pytest.mark.parametrize(
    ("asked", "ahead", "in_folder"),
    [
        ({}, "All changes, for this version of the plan", None),
        ({"effect": "execute"}, "This command, for this version of the plan", None),
        (
            {"effect": "execute", "rules": ("npm test", "npm run")},
            "npm test, npm run, for this version of the plan",
            "npm test, npm run, in every plan of this folder, confined as here",
        ),
        ({"effect": "fetch"}, "All pages of this host, for this version of the plan", None),
        ({"effect": "destroy"}, None, None),
        ({"protected": True}, None, None),
        ({"plan_changes": CHANGES}, None, None),
        ({"goes_on": True}, None, None),
    ],
)
def test_what_an_answer_covers_is_said_where_it_covers_more(
    asked: dict[str, Any], ahead: str | None, in_folder: str | None
) -> None:
    assert (shown(**asked).ahead, shown(**asked).in_folder) == (ahead, in_folder)


def test_a_command_that_is_not_held_is_allowed_once_only() -> None:
    loose = ConfinementRequest(confined=True, network="none", line="Not confined.", held=False)
    found = shown(effect="execute", rules=("npm test",), confinement=loose)
    assert (found.ahead, found.in_folder) == (None, None)


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [(".", "the workspace folder /home/me/app"), (None, "the workspace folder /home/me/app"), ("web", "web")],
)
def test_the_folder_of_a_command_is_named(cwd: str | None, folder: str) -> None:
    assert shown(effect="execute", command="npm install", cwd=cwd).folder == folder
    assert shown(effect="write").folder is None


def test_what_a_denial_skips_is_said_unless_the_plan_goes_on() -> None:
    assert shown().lost is not None
    others: list[dict[str, Any]] = [{"goes_on": True}, {"plan_changes": CHANGES}, {"tool": "run_command"}]
    assert [shown(**each).lost for each in others] == [None, None, None]


def test_each_file_has_what_happens_to_it() -> None:
    changes = get_args(ChangeKind)
    files = tuple(
        ApprovalFile(uri=Uri(f"file:///{each}"), change=each, added=1, removed=0, resolved_path=f"/{each}")
        for each in changes
    )
    assert dict(zip(changes, shown(files=files).kinds, strict=True)) == {
        "create": "new file",
        "edit": "edited",
        "delete": "deleted",
        "rename": "renamed",
        "createFolder": "new folder",
    }


APP = "file:///home/me/app"
BROKEN = Judged(
    by="ty",
    problems=tuple(
        NewProblem(uri=Uri(f"{APP}/src/a.py"), line=line, severity=severity, message=f"No {line}")
        for line, severity in ((11, "error"), (3, "error"), (0, "warning"), (1, "warning"))
    ),
    total=5,
)


@pytest.mark.parametrize(
    ("judged", "english", "german"),
    [
        (Judged(by="ty"), "No new problems (ty)", "Keine neuen Probleme (ty)"),
        (BROKEN, "5 new problems (ty)", "5 neue Probleme (ty)"),
        (NOT_YET, "New problems are not yet known", "Neue Probleme sind noch nicht bekannt"),
        (
            Judged(by="ty", unknown="It has crashed."),
            "New problems are not known: It has crashed.",
            "Neue Probleme sind nicht bekannt: It has crashed.",
        ),
    ],
)
def test_what_is_judged_is_a_line_in_the_language_of_the_user(
    judged: Judged, english: str, german: str
) -> None:
    for language, words in (("en", english), ("de", german)):
        assert judged_view(judged, (), Words(language)).words == words


def test_each_problem_has_its_place_in_the_changed_text() -> None:
    found = shown(judged=BROKEN).judged
    assert found is not None and found.more == "and 1 more"
    first, *_, last = found.problems
    assert (first.path, first.line, first.severity, first.message) == ("src/a.py", 12, "error", "No 11")
    assert (last.line, last.kind) == (2, "warning")


def test_files_that_nobody_judges_have_no_word_about_it() -> None:
    assert shown().judged is None


def test_a_step_has_the_judgement_of_its_changes_as_long_as_they_stand() -> None:
    def judged(**more: Any) -> str | None:
        now = plan(steps=IndexedTuple((step("a", judged=BROKEN, **more),)))
        (found,) = view(now, AROUND).steps
        return None if found.judged is None else found.judged.words

    assert judged(status="completed") == "5 new problems (ty)"
    assert judged(status="pending") is None
    assert judged(status="completed", reverted="whole") is None


def test_the_question_of_a_plain_editor_says_what_is_judged() -> None:
    approval = an_approval(judged=BROKEN)
    now = plan(
        steps=IndexedTuple((step("a", status="running"),)),
        pending=Pending(approvals=(approval,)),
        workspace_folders=(Uri(APP),),
    )
    (cause,) = causes(now)
    text = questions.asked(view(now, AROUND), cause, Words()).text
    assert text.endswith(
        "5 new problems (ty)\nsrc/a.py:12: error: No 11\nsrc/a.py:4: error: No 3\nsrc/a.py:1: warning: No 0\nand 2 more"
    )
