"""The main job on a sample workspace: a request becomes a plan, approvals and edits, without a model or network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text
from rich.tree import Tree

HERE = Path(__file__).parent
PLANLOOM = (sys.executable, "-I", "-m", "planloom")


def main() -> int:
    console = Console(markup=False, emoji=False, highlight=False)
    place = Path(tempfile.mkdtemp(prefix="planloom-demo-"))
    workspace = place / "tides"
    shutil.copytree(HERE / "workspace", workspace)
    request = (HERE / "request.txt").read_text(encoding="utf-8")

    console.print(Rule("the request", style="dim"))
    console.print(Panel(Text(request.strip()), border_style="cyan"))
    console.print(Rule("planloom run --yes", style="dim"))
    # The demo keeps its plans to itself: the ledger of the person who runs it stays as it is.
    ran = subprocess.run(
        [
            *PLANLOOM,
            "run",
            "-",
            "--yes",
            "--trust",
            "-w",
            str(workspace),
            "--set",
            f"storage.path={place / 'state'}",
        ],
        input=request.encode(),
        check=False,
    )
    console.print(Rule("the workspace now", style="dim"))
    console.print(_tree(workspace))
    console.print(Rule("the tests that the plan wrote", style="dim"))
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", workspace, "tests"],
        cwd=workspace,
        # Plugins are for our own tests; these need none.
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    console.print(Text(f"The workspace stays in {workspace}", "dim"), soft_wrap=True)
    return ran.returncode or tested.returncode


def _tree(folder: Path) -> Tree:
    def grow(tree: Tree, at: Path) -> Tree:
        for path in sorted(at.iterdir(), key=lambda path: (path.is_file(), path.name)):
            if path.is_dir():
                grow(tree.add(Text(f"{path.name}/", "bold")), path)
            else:
                tree.add(Text.assemble(path.name, (f"  {path.stat().st_size} bytes", "dim")))
        return tree

    return grow(Tree(Text(f"{folder.name}/", "bold"), guide_style="dim"), folder)


if __name__ == "__main__":
    sys.exit(main())
