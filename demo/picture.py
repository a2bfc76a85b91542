"""Writes what a terminal shows during the demo as a picture (SVG) into the file that is named."""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from demo import HERE, play

PIECE = re.compile(r"([^\x1b\r\n]+|\x1b\[[\d;]*m)|(\n|\x1b\[[?\d;]*[A-Za-z])")
"""A piece of a line with its colours, or what moves or clears."""


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        workspace = Path(place) / "tides"
        shutil.copytree(HERE / "workspace", workspace)
        state = {"XDG_STATE_HOME": str(Path(place) / "state"), "TERM": "xterm-256color", "COLUMNS": "100"}
        request = (HERE / "request.txt").read_text(encoding="utf-8")
        code, shown = play(
            [sys.executable, "-I", "-m", "planloom", "run", "--trust", request], workspace, state
        )
    if code == 0:
        # The first line is the path of the log.
        Path(sys.argv[1]).write_text(picture(on_screen(shown)[1:]), encoding="utf-8")
    sys.exit(code)


def on_screen(output: str) -> list[str]:
    """The lines that a terminal shows of an output, with their colours; a status line that is cleared is gone."""
    lines, row = [""], 0
    for text, control in PIECE.findall(output):
        lines[row] += text
        if control == "\n":
            row += 1
            lines[row:] = lines[row:] or [""]
        elif control.endswith("A"):
            row -= int(control[2:-1] or 1)
        elif control == "\x1b[2K":
            lines[row] = ""
    return lines


def picture(lines: list[str]) -> str:
    """An SVG of the lines, without the fonts that it would load from the network."""
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(Text.from_ansi("\n".join(lines).rstrip()))
    drawn = console.export_svg(title="planloom run")
    return re.sub(r"<!--.*?-->\s*|@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)


if __name__ == "__main__":
    main()
