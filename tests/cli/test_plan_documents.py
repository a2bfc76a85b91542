"""A plan that is kept as a document is put to review from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_history import Machine

pytestmark = pytest.mark.process

KEPT = """# Greet everybody

## Steps

- [ ] Write the greeting ^greet
  - tool: write_file
    - path: hello.txt
    - content: hello
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    (tmp_path / "kept.plan.md").write_text(KEPT)
    return machine


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_plan_from_a_document_is_shown_and_run_by_resume(machine: Machine, encoding: str) -> None:
    document = f"---\nplan: of-elsewhere\nversion: 3\n---\n\n{KEPT}"
    (machine.root / "kept.plan.md").write_text(document, encoding=encoding)
    ended = machine.run("plan", "--from", "kept.plan.md")
    assert (ended.code, ended.err) == (0, "")
    assert "Write the greeting" in ended.out and not (machine.work / "hello.txt").exists()
    (listed,) = machine.plans()
    assert (listed["status"], listed["request"]) == ("pending_approval", "Greet everybody")
    assert machine.run("resume", listed["planId"], "--yes").code == 0
    assert (machine.work / "hello.txt").read_text() == "hello"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Only a title\n", "The text is no plan: it has no steps"),
        (KEPT.replace("  - tool", "  - tol"), "line 6: Did you mean “tool”?"),
        (KEPT.replace("write_file", "wrte_file"), "There is no tool 'wrte_file'"),
        ("## Steps\n\n- [ ] Do it\n", "What the plan is for is missing"),
    ],
)
def test_what_keeps_a_document_from_being_a_plan_is_said(machine: Machine, text: str, said: str) -> None:
    (machine.root / "kept.plan.md").write_text(text)
    ended = machine.run("plan", "--from", "kept.plan.md")
    assert ended.code == 1 and said in " ".join(ended.err.split() + ended.out.split())
    assert machine.plans() == []


@pytest.mark.parametrize(
    "arguments", [("plan",), ("plan", "Do it", "--from", "kept.plan.md"), ("plan", "--from", "none.plan.md")]
)
def test_either_a_request_or_a_document_is_given(machine: Machine, arguments: tuple[str, ...]) -> None:
    ended = machine.run(*arguments)
    assert ended.code == 2 and ended.err
