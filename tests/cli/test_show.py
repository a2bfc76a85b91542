"""What a person sees: nothing of a plan, a command or a diff is hidden, misread as markup, or cut without a word."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, Group, RenderableType

from planloom.cli.terminal import show, show_approval, show_report
from planloom.cli.terminal.diffs import Row, diff_rows
from tests.support.fake_server import view_of
from tests.support.scripts import approval, plan, step

FOLDER = Path("/w/app")


def shown(renderable: RenderableType, width: int = 100) -> str:
    """What is printed, without the white space at the end of lines."""
    console = Console(file=StringIO(), width=width, markup=False, emoji=False, highlight=False)
    console.print(renderable)
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def table(of: dict[str, Any]) -> RenderableType:
    now: Any = view_of(of)
    return show.plan_table(now)


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_plan_shows_every_step_with_what_runs() -> None:
    steps = [
        step(1, "Create folder src", tool="create_folder", args={"path": "src"}),
        step(2, "Write main", args={"path": "src/main.py", "content": "a\nb\nc\n"}, dependsOn=["s1"]),
        step(
            3, "Explain [bold]it[/bold]", kind="processing", tool=None, instruction="Say why", agent="chapo"
        ),
        step(
            4, "Ask", kind="clarification", tool=None, question="Which :smile: port?", dependsOn=["s1", "s2"]
        ),
    ]
    told = words(shown(table(plan(steps, sequential=False, overallRisk="high"))))
    for expected in (
        "4 steps · risk high · written by rules · version 1",
        "1 Create folder src create_folder src",
        "2 Write main write_file src/main.py content 1 a b c",
        "3 Explain [bold]it[/bold] a model: Say why",
        "4 Ask asks Which :smile: port? 1, 2",
    ):
        assert expected in told


@pytest.mark.parametrize("width", [20, 40, 60, 100, 300])
def test_no_step_is_cut_at_any_width(width: int) -> None:
    steps = [step(1, "A description that is " + "long " * 30 + "END", args={"path": "x" * 150 + "TAIL"})]
    told = "".join(shown(table(plan(steps)), width).split())
    assert "END" in told


def test_an_instruction_and_a_command_are_approved_whole() -> None:
    long = "word " * 200 + "END"
    steps = [
        step(1, "Think", kind="processing", tool=None, instruction=long),
        step(2, "Run", tool="run_command", args={"command": long}),
    ]
    told = words(shown(table(plan(steps))))
    assert told.count("END") == 2 and "…" not in told


def test_a_plan_with_no_steps_has_a_table_too() -> None:
    assert "0 steps" in shown(table(plan([])))


DECEIVING = "rm\u202e -rf\u200b \x1b[2J"


def test_what_hides_in_a_plan_or_an_approval_is_written_out() -> None:
    asked: Any = approval(
        1, "a\u202eb", title=DECEIVING, command=DECEIVING, cwd=DECEIVING, warning=DECEIVING, effect="execute"
    )
    asked["files"][0]["uri"] = "file:///w/app/a%E2%80%AEb"
    diff: Any = {"uri": "file:///w/app/a%E2%80%AEb", "before": None, "after": DECEIVING}
    steps = [step(1, DECEIVING, args={"path": DECEIVING, DECEIVING: DECEIVING}, instruction=DECEIVING)]
    told = shown(table(plan(steps, summary=DECEIVING))) + shown(
        show_approval.approval_panel(asked, [diff], [FOLDER])
    )
    for hidden in ("\u202e", "\u200b", "\x1b"):
        assert hidden not in told
    assert "<U+202E>" in told
    assert "a<U+202E>b" in told


def test_a_fetch_is_shown_with_its_host_and_its_whole_address() -> None:
    url = "https://xn--pple-43d.com/" + "a" * 200
    asked: Any = approval(
        1, "a", effect="fetch", url=url, host="xn--pple-43d.com (аpple\u202e.com)", files=[]
    )
    told = shown(show_approval.approval_panel(asked, [], [FOLDER]))
    assert f"GET {url}" in "".join(line.strip("│ ") for line in told.splitlines()).replace(
        "GEThttps", "GET https"
    )
    assert "from xn--pple-43d.com (аpple<U+202E>.com)" in told


def test_a_change_of_the_rest_of_the_plan_is_shown_step_by_step() -> None:
    changes = [
        {"kind": "dropped", "stepId": "c", "before": "3. Write c"},
        {"kind": "moved", "stepId": "e", "before": "5. Write e", "after": "3. Write e"},
        {
            "kind": "changed",
            "stepId": "d",
            "before": "4. Write d\nShortly.\nWrites d.py",
            "after": "4. Write d\nAt length.\nWrites d.py",
        },
        {"kind": "added", "stepId": "n", "after": '5. Run it\nCalls run_command {"command": "ma\u202eke"}'},
    ]
    asked: Any = approval(1, "a", title="Change the rest of the plan", files=[], planChanges=changes)
    told = shown(show_approval.approval_panel(asked, [], [FOLDER]))
    assert [line.strip("│").strip() for line in told.splitlines() if line.startswith("│")] == [
        "Change the rest of the plan",
        "- 3. Write c",
        "5. Write e, now 3.",
        "- 4. Write d",
        "-    Shortly.",
        "+ 4. Write d",
        "+    At length.",
        "+    Writes d.py",
        "+ 5. Run it",
        '+    Calls run_command {"command": "ma<U+202E>ke"}',
    ]


def test_an_approval_names_every_file_and_the_real_target() -> None:
    files = [
        {
            "uri": "file:///w/app/new.py",
            "change": "create",
            "added": 2,
            "removed": 0,
            "resolvedPath": "/w/app/new.py",
        },
        {
            "uri": "file:///w/app/link",
            "change": "edit",
            "added": 1,
            "removed": 1,
            "resolvedPath": "/w/app/real",
        },
        {
            "uri": "file:///w/app/old",
            "change": "rename",
            "newUri": "file:///w/app/sub/new",
            "added": 0,
            "removed": 0,
            "resolvedPath": "",
        },
        {
            "uri": "file:///w/app/gone",
            "change": "delete",
            "added": 0,
            "removed": 9,
            "resolvedPath": "/w/app/gone",
        },
    ]
    told = shown(show_approval.approval_panel(approval(1, "x", files=files, protected=True), [], [FOLDER]))  # type: ignore[arg-type]
    for expected in (
        "new new.py  +2",
        "edit link  +1  −1",
        "is really /w/app/real",
        "rename old → sub/new",
        "delete gone  −9",
        "protected name",
    ):
        assert expected in told
    assert "is really /w/app/new.py" not in told


DIFFS: list[tuple[str | None, str | None, list[str]]] = [
    (None, "a\nb\n", ["1 + a", "2 + b"]),
    ("a\nb\n", None, ["1 - a", "2 - b"]),
    ("a\nb\nc\n", "a\nB\nc\n", ["1   a", "2 - b", "2 + B", "3   c"]),
    ("a\r\nb\r\n", "a\r\nc\r\n", ["1   a", "2 - b", "2 + c"]),
    ("a\n", "a\r\n", ["1 - a", "1 + a<U+000D>"]),
    ("a\n", "a", ["1 - a", "1 + a", "None note No newline at end of file"]),
    ("", "", []),
    (None, "", []),
]


def lines(rows: list[Row]) -> list[str]:
    return [f"{row.number} {row.mark} {row.text}" for row in rows]


@pytest.mark.parametrize(("before", "after", "expected"), DIFFS)
def test_a_diff_has_the_numbers_of_its_lines(
    before: str | None, after: str | None, expected: list[str]
) -> None:
    rows, hidden = diff_rows(before, after)
    assert (lines(rows), hidden) == (expected, 0)


def test_apart_hunks_are_set_apart() -> None:
    before = "".join(f"{number}\n" for number in range(1, 41))
    after = before.replace("\n3\n", "\nthree\n").replace("\n30\n", "\nthirty\n")
    told = lines(diff_rows(before, after)[0])
    assert told.count("None gap ") == 1
    assert told[told.index("30 - 30") + 1] == "30 + thirty"


@pytest.mark.parametrize("limit", [0, 1, 5, 9, 10, 11])
def test_a_cut_diff_counts_what_it_leaves_out(limit: int) -> None:
    rows, hidden = diff_rows(None, "line\n" * 10, limit=limit)
    assert len(rows) + hidden == 10
    assert hidden == max(10 - limit, 0)


def test_a_long_line_goes_on_beside_its_number() -> None:
    diff: Any = {"uri": "file:///w/app/x", "before": None, "after": "word " * 30 + "\n"}
    asked: Any = approval(1, "x") | {"files": [{"uri": "file:///w/app/x", "change": "create"}]}
    told = shown(show_approval.approval_panel(asked, [diff], [FOLDER]), 60).splitlines()
    assert told[2].startswith("│ 1 + word word")
    assert told[3].startswith("│     word")


def test_changed_files_are_a_tree() -> None:
    changes = {
        "src": ("createFolder", "new folder"),
        "src/a%20b.py": ("create", "new file"),
        "README.md": ("edit", "edited"),
        "deep/er/x": ("delete", "deleted"),
    }
    more = {"words": "", "byCommand": False, "lasting": False}
    files: Any = [
        {"uri": f"file:///w/app/{name}", "change": change, "kind": kind, **more}
        for name, (change, kind) in changes.items()
    ]
    assert shown(show.changed_tree(files, [FOLDER])) == (
        "Changed\n"
        "├── README.md  edited\n"
        "├── deep/\n"
        "│   └── er/\n"
        "│       └── x  deleted\n"
        "└── src/  new folder\n"
        "    └── a b.py  new file"
    )


RELATIVE = [
    ("file:///w/app/a", [FOLDER], "a"),
    ("file:///w/app/a", [FOLDER, Path("/w/lib")], "app/a"),
    ("file:///elsewhere/a", [FOLDER], "/elsewhere/a"),
    ("/w/app/b/c", [FOLDER], "b/c"),
    ("untitled:x", [FOLDER], "untitled:x"),
]


@pytest.mark.parametrize(("uri", "folders", "name"), RELATIVE)
def test_a_place_is_named_from_its_folder(uri: str, folders: list[Path], name: str) -> None:
    assert show.relative(uri, folders) == name


LENGTHS = [
    (None, ""),
    (0, "0 ms"),
    (999, "999 ms"),
    (1000, "1.0 s"),
    (59_940, "59.9 s"),
    (61_000, "1 min 1 s"),
]


@pytest.mark.parametrize(("milliseconds", "words"), LENGTHS)
def test_lengths_of_time(milliseconds: int | None, words: str) -> None:
    assert show.duration(milliseconds) == words


def test_a_plan_with_an_unchecked_step_is_not_called_simply_done() -> None:
    mended = step(1, "Mend it", status="completed", result={"caveat": "unchecked"})
    done: Any = view_of(plan([mended], status="completed"))
    assert show_report.heading(done).plain == "! Done.  But not all of it is checked."


def test_the_report_names_the_problems_that_are_left() -> None:
    done: Any = view_of(plan([step(1, "Mend it", status="completed")], status="completed"))
    problem = {
        "path": "a.py",
        "line": 3,
        "severity": "error",
        "kind": "error",
        "message": "Unknown na\u202eme",
    }
    done["steps"][0]["judged"] = {"words": "12 new problems (ty)", "problems": [problem] * 12}
    told = shown(Group(*show_report.report_parts(done, [FOLDER])))
    assert told.count("  a.py:3: error: Unknown na<U+202E>me") == 10 and "and 2 more" in told


def test_the_checks_of_a_step_stand_in_the_table_that_is_reviewed() -> None:
    checks = [{"kind": "command", "command": "make test"}, {"kind": "file_exists", "path": "a.py"}]
    work: Any = {"stepId": "a", "description": "Mend it", "kind": "processing", "checks": checks}
    assert "checks make test, file exists a.py" in words(shown(table({"steps": [work]})))


def test_an_approval_says_what_is_judged_of_the_changes_below_them() -> None:
    judged: Any = {
        "by": "ty",
        "headline": "3 new problems",
        "problems": [
            {"uri": "file:///w/app/a.py", "line": 11, "severity": "error", "message": "Unknown na\u202eme"},
            {"uri": "file:///w/app/b.py", "line": 0, "severity": "warning", "message": "Unused"},
        ],
        "total": 3,
    }
    asked: Any = approval(1, "a.py", judged=judged)
    told = shown(show_approval.approval_panel(asked, [], [FOLDER]))
    lines = [line.strip("│ ") for line in told.splitlines()]
    place = lines.index("3 new problems (ty)")
    assert lines[place + 1 : place + 4] == [
        "a.py:12: error: Unknown na<U+202E>me",
        "b.py:1: warning: Unused",
        "and 1 more",
    ]
    wordy = {**judged["problems"][0], "message": "odd " * 40}
    long: Any = approval(1, "a.py", judged={**judged, "problems": [wordy]})
    narrow = shown(show_approval.approval_panel(long, [], [FOLDER]))
    assert [line[2:6] for line in narrow.splitlines() if "odd" in line] == ["  a.", "  od"]
    clean: Any = approval(1, "a.py", judged={"by": "ty", "headline": "no new problems", "total": 0})
    assert "No new problems (ty)" in shown(show_approval.approval_panel(clean, [], [FOLDER]))
    nobody: Any = approval(1, "a.py")
    assert "problems" not in shown(show_approval.approval_panel(nobody, [], [FOLDER]))
