"""What the pages for users say is so: commands run as printed, services and figures are those of the code."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from demo.demo import play
from planloom.cli.arguments import parsed
from planloom.providers import PROVIDERS, SERVICES

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("install", "first-plan", "models")
FENCED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_the_first_plan_goes_as_its_page_says(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    variables = {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TERM": "dumb",
        "COLUMNS": "100",
    }
    shown = []
    for block in FENCED.findall(page("first-plan")):
        code, output = play(["sh", "-ec", block], folder, variables)
        assert code == 0, output
        shown.append(output)
    planned, ran, looked, undone = shown
    (printed,) = re.findall(r"^( #   Step .*?)^```$", page("first-plan"), re.MULTILINE | re.DOTALL)
    seen = [line.split() for line in planned.splitlines()]
    assert [line for line in printed.splitlines() if line.split() not in seen] == []
    assert "Asks again for 1 of 3 steps" in ran and ran.count("Allow?") == 1
    assert "+# Hello, world" in looked
    assert "Takes back plan" in undone and "Makes again plan" in undone
    assert (folder / "notes" / "hello.md").read_text(encoding="utf-8") == "# Hello, world"


@pytest.mark.parametrize("name", PAGES)
def test_every_command_is_one_with_its_options(name: str) -> None:
    text = page(name)
    blocks = "".join(FENCED.findall(text))
    lines = re.findall(r"^planloom (?:[^'\n]|'[^']*')+$", blocks, re.MULTILINE)
    lines += [
        line for line in re.findall(r"`(planloom [^`]+)`", text) if line.split()[1] not in ("serve", "acp")
    ]
    assert lines
    for line in lines:
        _, *words = shlex.split(line)
        parsed(words)


def test_the_page_of_models_has_the_services_that_are_offered() -> None:
    table = page("models").partition("<!-- services -->")[2].partition("<!-- end -->")[0]
    listed = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", table, re.MULTILINE)[1:])
    services = {each.title: each for each in SERVICES if each.title}
    here = {name for name, each in services.items() if each.key != "needed"}
    assert set(listed) == set(services) - here
    for title, cell in listed.items():
        of = services[title]
        assert (of.address or PROVIDERS[of.provider].key_variable) in cell
    text = page("models")
    assert [name for name in here if services[name].address not in text or f"[{name}]" not in text] == []


def test_the_settings_that_pages_name_are_settings() -> None:
    named = set(re.findall(r"`(?:planloom\.)?((?:model|budget)\.\w+)`", page("models") + page("safety")))
    known = set(re.findall(r"^\| `([\w.]+)` \|", page("settings"), re.MULTILINE))
    assert named and named <= known


def test_figures_of_the_comparison_are_those_that_were_measured() -> None:
    rows = re.findall(r"^\| .*\d.* \|$", page("comparison"), re.MULTILINE)
    measured = page("performance").splitlines()
    assert len(rows) > 10 and [row for row in rows if row not in measured] == []


def shown_words() -> set[str]:
    """The words that the extension and the server show, in one form: what is filled in is `…`."""
    client = DOCS.parent / "client-vscode"
    own = (client / name for name in ("package.nls.json", "l10n/bundle.l10n.de.json"))
    words = {text for path in own for pair in json.loads(path.read_text("utf-8")).items() for text in pair}
    for path in (DOCS.parent / "server" / "planloom").rglob("*.py"):
        words |= set(re.findall(r'"([^"\n]+)"', path.read_text(encoding="utf-8")))
    sources = (path.read_text(encoding="utf-8") for path in (client / "src").rglob("*.ts"))
    words |= {text for source in sources for text in re.findall(r'"([^"\n]+)"', source)}
    return {re.sub(r"\{\w+\}", "…", text) for text in words}


def test_the_manual_of_the_extension_names_what_it_shows() -> None:
    """But for words of VS Code itself, and for three commands at once."""
    prose = re.sub(r"```.*?```|\*\*", "", page("vscode"), flags=re.DOTALL)
    labels = set(re.findall(r"(?<!\w)\*([^*\n]+)\*(?!\w)", prose))
    elsewhere = {"Extensions: Install from VSIX…", "Restricted Mode", "Add … to Planloom Request"}
    shown = shown_words()
    missing = [
        label
        for label in labels - elsewhere
        if not {
            label,
            label.removeprefix("Planloom: "),
            re.sub(r"\d+|(?<=\()\w+(?=\))", "…", label),
        }
        & shown
    ]
    assert missing == [] and len(labels) > 60


def test_the_manual_has_the_keys_and_settings_of_the_extension() -> None:
    package = json.loads((DOCS.parent / "client-vscode" / "package.json").read_text(encoding="utf-8"))
    of = package["contributes"]
    keys = {each["key"] for each in of["keybindings"]}
    assert {key.lower() for key in re.findall(r"`(Ctrl\+Alt\+[^`]+)`", page("vscode"))} == keys
    known = set(of["configuration"]["properties"])
    named = set(re.findall(r"`(planloom\.\w+\.?\w*)`", page("vscode")))
    assert named and named <= known
