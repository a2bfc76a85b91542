"""The recording of the terminal: a request becomes a plan, its change meets another one, and is taken back."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from pictures.animated_svg import Pane, animated
from pictures.recorder import Recorder
from tests.editors.terminal import Terminal
from tests.support.model_server import model_process

DEMO = Path(__file__).parents[1] / "demo"
COLUMNS = 84
LINES = {"planloom": 21, "colleague": 7}
TITLES = {"planloom": "planloom", "colleague": "another terminal, in the same folder"}
LOOK = "grep -A 4 'def main' tides.py"
"""The command that shows the lines that both change."""


def record(picture: Path) -> None:
    """Write the recording to this file."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        workspace = home / "tides"
        shutil.copytree(DEMO / "workspace", workspace)
        turns = json.loads((DEMO / "turns.json").read_text(encoding="utf-8"))
        with model_process(home, turns) as address:
            variables = {
                "HOME": place,
                "PATH": os.pathsep.join([str(Path(sys.executable).parent), *os.defpath.split(os.pathsep)]),
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                "PS1": "$ ",
                "PLANLOOM_CONFIG": str(_settings(home, address)),
            }
            terminals = {name: Terminal(home) for name in LINES}
            try:
                for name, terminal in terminals.items():
                    shell = ["bash", "--norc", "--noprofile"]
                    terminal.start(shell, workspace, variables, (COLUMNS, LINES[name]))
                    terminal.until("$")
                recorder = Recorder(terminals)
                _trust(terminals["planloom"])
                _story(recorder)
            finally:
                for terminal in terminals.values():
                    terminal.stop()
    panes = [Pane(name, TITLES[name], LINES[name]) for name in LINES]
    picture.write_text(animated(recorder.frames, panes, COLUMNS), encoding="utf-8")


def _settings(home: Path, address: str) -> Path:
    """The settings of a person who has chosen a model."""
    path = home / "settings.json"
    values = {
        "planloom.model.baseUrl": address,
        "planloom.planning.perspectives": "never",
        "planloom.planning.classifyWithModel": "never",
    }
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def _trust(terminal: Terminal) -> None:
    """Answer the question that a folder is asked once."""
    terminal.type("planloom trust && clear")
    terminal.keys("Enter")
    terminal.until_true(lambda shown: shown.strip() == "$")


def _story(recorder: Recorder) -> None:
    recorder.say("A request becomes a plan, and you review it")
    recorder.hold(0.8)
    recorder.type("planloom", "planloom run 'Refuse bays that are not in the table'")
    recorder.until("planloom", "Execute this plan?")
    recorder.hold(3)
    recorder.type("planloom", "y")
    recorder.say("Each change is shown before it is made")
    recorder.until("planloom", "Allow?")
    recorder.hold(2.5)
    recorder.say("Meanwhile somebody else writes into the same place")
    recorder.type("colleague", r"sed -i '/argv/a \    bay = bay.lower()' tides.py")
    recorder.hold(1.2)
    recorder.say("Nothing is overwritten: an overlap is asked, with both sides")
    recorder.type("planloom", "y")
    recorder.until("planloom", "Keep which?")
    recorder.hold(3)
    recorder.type("planloom", "b")
    recorder.until("planloom", "2 of 2 steps done", "$")
    recorder.hold(1)
    recorder.type("colleague", LOOK)
    recorder.until("colleague", "def main():", "raise")
    recorder.hold(2.5)
    recorder.say("Undo takes back what the plan wrote, and nothing else")
    recorder.type("planloom", "planloom undo")
    recorder.until("planloom", "Take this back?")
    recorder.hold(2)
    recorder.type("planloom", "y")
    recorder.until("planloom", "restored")
    recorder.type("colleague", LOOK)
    recorder.until("colleague", "for tenth")
    recorder.hold(3)
