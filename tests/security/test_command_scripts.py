"""An approval of a command covers the scripts that it names in a usual form, and says where they cannot be told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.safety.confinement import Abilities
from planloom.domain.safety.shell_words import simple_commands
from planloom.domain.values import ApprovalId, PlanId
from planloom.execution.effects import command_scripts
from planloom.execution.effects.command_approval import CommandProposal, command_approval
from planloom.execution.effects.command_scripts import CommandScripts, scripts_of
from planloom.tools.processes.commands import Command
from tests.support.studio import studio

NO_MEANS = Abilities(files=False, network=False, processes=False, how="nothing")
FILES = {
    "run.sh": "echo good\n",
    "a b.sh": "echo good\n",
    "deep/run.sh": "echo good\n",
    "pkg/__init__.py": "",
    "pkg/__main__.py": "print('good')\n",
    "pkg/inner/more.py": "good = 1\n",
    "src/lib/__main__.py": "print('good')\n",
    "tool.py": "print('good')\n",
    "app/__main__.py": "print('good')\n",
    "app/index.js": "1\n",
    "Makefile": "include rules.mk\nall:\n",
    "rules.mk": "x = good\n",
    "other/Makefile": "all:\n",
    "Makefile.dev": "all:\n",
    "package.json": '{"scripts": {"build": "node tools/build.js", "prebuild": "sh run.sh"}}\n',
    "web/package.json": '{"scripts": {"test": "node test.js"}}\n',
    "web/test.js": "1\n",
    "tools/build.js": "1\n",
    "cmd/main.go": "package main\n",
    "conftest.py": "\n",
    "tests/deep/test_it.py": "\n",
    "tests/helper.py": "\n",
    "web/src/it.test.ts": "1\n",
    "web/node_modules/x/x.test.js": "1\n",
    "cmd/main_test.go": "package main\n",
    "setup.py": "\n",
    "main.tf": "\n",
    "build.gradle": "\n",
    "x.js": "1\n",
    "x.sql": "select 1;\n",
}


def command(line: str | Sequence[str], folder: Path) -> Command:
    shown = {"line": line} if isinstance(line, str) else {"argv": tuple(line)}
    return Command(cwd=folder, folder="", timeout_seconds=1, **shown)


def read(line: str | Sequence[str], folder: Path) -> CommandScripts:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return scripts_of(command(line, folder), [folder])


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("sh run.sh", "run.sh"),
        ("sh ./run.sh arg", "run.sh"),
        ("./run.sh", "run.sh"),
        ("sh 'a b.sh'", "a b.sh"),
        ('sh "a b.sh"', "a b.sh"),
        ("sh a\\ b.sh", "a b.sh"),
        ("cd deep && sh run.sh", "deep/run.sh"),
        ("cd deep; ./run.sh", "deep/run.sh"),
        ("(cd deep && ./run.sh)", "deep/run.sh"),
        ("cd deep\nsh run.sh", "deep/run.sh"),
        ("pushd deep && sh run.sh", "deep/run.sh"),
        ("sh -c 'sh run.sh'", "run.sh"),
        ('bash -lc "cd deep && bash run.sh"', "deep/run.sh"),
        ("sh -c 'sh -c \"sh run.sh\"'", "run.sh"),
        ("source run.sh", "run.sh"),
        (". ./run.sh", "run.sh"),
        ("eval sh run.sh", "run.sh"),
        ("echo $(sh run.sh)", "run.sh"),
        ("echo `sh run.sh`", "run.sh"),
        ("sh < run.sh", "run.sh"),
        ("python -m pkg", "pkg/__main__.py"),
        ("python3.11 -m pkg.inner.more", "pkg/inner/more.py"),
        ("python -m lib", "src/lib/__main__.py"),
        ("python -m tool", "tool.py"),
        ("python app", "app/__main__.py"),
        ("node app", "app/index.js"),
        ("python -m pytest -q", "conftest.py"),
        ("make", "Makefile"),
        ("make", "rules.mk"),
        ("make -C other", "other/Makefile"),
        ("make --directory=other", "other/Makefile"),
        ("make -f Makefile.dev", "Makefile.dev"),
        ("make -fMakefile.dev", "Makefile.dev"),
        ("cd other && make", "other/Makefile"),
        ("npm --prefix web test", "web/package.json"),
        ("npm --prefix web test", "web/test.js"),
        ("yarn --cwd=web test", "web/test.js"),
        ("npm run build", "tools/build.js"),
        ("npm run build", "run.sh"),
        ("go run ./cmd", "cmd/main.go"),
        ("env A=1 B=2 timeout -k 5 10 sh run.sh", "run.sh"),
        ("uv run python tool.py", "tool.py"),
        ("sudo -u me nice -n 5 sh run.sh", "run.sh"),
        ("if true; then sh run.sh; fi", "run.sh"),
        ("sh *.sh", "run.sh"),
        ("tool --script=run.sh", "run.sh"),
        ("pytest", "tests/deep/test_it.py"),
        ("pytest tests -k it", "tests/deep/test_it.py"),
        ("uv run pytest -q", "tests/deep/test_it.py"),
        ("coverage run -m pytest", "tests/deep/test_it.py"),
        ("python -m unittest", "tests/deep/test_it.py"),
        ("python3 -m unittest discover -s tests", "tests/deep/test_it.py"),
        ("cd web && npx jest", "web/src/it.test.ts"),
        ("mocha", "web/src/it.test.ts"),
        ("node --test", "web/src/it.test.ts"),
        ("go test ./...", "cmd/main_test.go"),
        ("go test ./cmd/...", "cmd/main_test.go"),
        ("./gradlew test", "build.gradle"),
        ("pip install -e .", "setup.py"),
        ("python -m pip install .", "setup.py"),
        ("terraform plan", "main.tf"),
        ("env -C deep sh run.sh", "deep/run.sh"),
        ("python -c 'import os, tool'", "tool.py"),
        ("python -c \"__import__('tool')\"", "tool.py"),
        ("PYTHONPATH=. python -c 'from pkg.inner import more'", "pkg/inner/more.py"),
        ("node -e \"require('./x')\"", "x.js"),
        ("NODE_OPTIONS='-r ./x.js' node app", "x.js"),
        ("trap 'sh run.sh' EXIT", "run.sh"),
        ("alias a='sh run.sh'; a", "run.sh"),
        ("git -c alias.x='!./run.sh' x", "run.sh"),
        ("sqlite3 db '.read x.sql'", "x.sql"),
        (("python", "-m", "pkg"), "pkg/__main__.py"),
        (("sh", "-c", "cd deep && sh run.sh"), "deep/run.sh"),
        (("sh", "a b.sh"), "a b.sh"),
    ],
)
def test_a_script_in_a_usual_form_is_known(tmp_path: Path, line: str | Sequence[str], script: str) -> None:
    found = read(line, tmp_path)
    assert script in [each.name for each in found.files] and (found.is_whole or "*" in line)
    (tmp_path / script).write_text("evil\n")
    assert scripts_of(command(line, tmp_path), [tmp_path]).files != found.files


@pytest.mark.parametrize(
    "line",
    [
        "sh $SCRIPT",
        'sh "$SCRIPT"',
        'sh -c "$CODE"',
        "$PROGRAM x",
        "`cat name`",
        "$(cat name) x",
        "python $HOME/x.py",
        "python -W ignore $X",
        "python -m $MODULE",
        "source $FILE",
        "eval $CODE",
        "sh -c 'sh $1' x",
        "cd $FOLDER && sh run.sh",
        "cd && sh run.sh",
        "curl https://example.org/x | sh",
        "cat run.sh | sudo bash",
        "find . -name '*.sh' | xargs sh",
        "find . -name '*.sh' -exec sh {} \\;",
        "find . -type f -exec {} \\;",
        "for f in *.sh; do sh $f; done",
        "sh *.sh",
        "make -f $FILE",
        "sh ~+/run.sh",
        "sh {run,other}.sh",
    ],
)
def test_where_scripts_cannot_be_told_the_question_says_so(tmp_path: Path, line: str) -> None:
    found = read(line, tmp_path)
    assert not found.is_whole
    proposal = CommandProposal(
        PlanId("plan"), None, "Try it", command(line, tmp_path), NO_MEANS, scripts=found
    )
    assert "cannot be told" in (command_approval(proposal, ApprovalId("a")).warning or "")


@pytest.mark.parametrize(
    "line",
    [
        "pytest -q tests",
        "python -m pytest tests -k 'a and b'",
        "npm test -- --watch=false",
        "git status && git diff HEAD~1",
        "echo $HOME > out.txt",
        "cargo build --release && cargo test",
        "for f in *.txt; do cat $f; done",
        "ls *.py | wc -l",
        "grep -rn 'a$' src | head -5",
        "find . -name '*.py' -exec grep -l x {} +",
        "make -j$(nproc) test",
        "python -c 'print(1)' $X",
        "docker compose up",
        "cd web && npm test",
        "echo 'cost: $5' # sh $X",
    ],
)
def test_usual_commands_bring_no_warning(tmp_path: Path, line: str) -> None:
    assert read(line, tmp_path).is_whole


def test_a_test_runner_finds_only_tests_and_only_where_it_looks(tmp_path: Path) -> None:
    names = [each.name for each in read("cd web && jest", tmp_path).files]
    assert "web/src/it.test.ts" in names and not any("node_modules" in name for name in names)
    names = [each.name for each in read("pytest tests/deep", tmp_path).files]
    assert "tests/deep/test_it.py" in names and "tests/helper.py" not in names


def test_more_names_than_are_looked_at_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_scripts, "_MOST_LISTED", 3)
    assert not read("pytest", tmp_path).is_whole


def test_a_large_script_is_compared_too(tmp_path: Path) -> None:
    with (tmp_path / "large.sh").open("wb") as file:
        file.truncate(60_000_000)
    found = scripts_of(command("sh large.sh", tmp_path), [tmp_path])
    assert [each.name for each in found.files] == ["large.sh"] and found.is_whole
    with (tmp_path / "large.sh").open("r+b") as file:
        file.seek(55_000_000)
        file.write(b"evil")
    assert scripts_of(command("sh large.sh", tmp_path), [tmp_path]) != found


def test_what_is_too_much_to_compare_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_scripts, "MOST_BYTES", 10)
    (tmp_path / "run.sh").write_text("echo 1234567890\n")
    assert not scripts_of(command("sh run.sh", tmp_path), [tmp_path]).is_whole


def test_scripts_of_one_name_in_two_folders_are_both_known(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.sh").write_text(name)
    line = f"sh {tmp_path}/one/run.sh; sh {tmp_path}/two/run.sh"
    assert len(scripts_of(command(line, tmp_path / "one"), [tmp_path / "one", tmp_path / "two"]).files) == 2


async def test_a_command_whose_scripts_cannot_be_told_is_asked_each_time(tmp_path: Path) -> None:
    async with studio(tmp_path, {"run.sh": "echo good\n"}) as at:
        plan = await at.ask("run `S=run.sh; sh $S` then run `S=run.sh; sh $S`")
        if plan.status == "pending_approval":
            plan = await at.approve(plan)
        assert "cannot be told" in (plan.pending.approvals[0].warning or "")
        plan = await at.respond(plan, "allowForPlan")
        assert len(plan.pending.approvals) == 1
        assert (await at.respond(plan)).status == "completed"


@given(st.text(alphabet="ab $`'\"\\(){}|&;<>#*?[]=\n-", max_size=60))
def test_any_line_is_split(line: str) -> None:
    for each in simple_commands(line):
        assert each.words


@pytest.mark.slow
def test_a_line_built_to_be_slow_takes_linear_time() -> None:
    began = time.process_time()
    for mark in ("$(", "`", "'", '"', "\\", "(", "a ", "$(a", "|"):
        simple_commands(mark * 20_000)
    assert time.process_time() - began < 10
