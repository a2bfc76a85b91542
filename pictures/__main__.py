"""Makes the pictures of README.md, docs and the walkthrough anew, all or the named ones: `make pictures`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Collection

from pictures import film, terminal
from pictures.makers import FILM, IMAGES, JOURNEYS, ROOT, TERMINAL


def main() -> None:
    """Make the pictures that are named as arguments, or all."""
    every = [TERMINAL, *(name for names in JOURNEYS.values() for name in names)]
    wanted = sys.argv[1:] or every
    if unknown := set(wanted) - set(every):
        sys.exit(f"No script makes {', '.join(sorted(unknown))}; pictures/makers.py lists what is made.")
    if TERMINAL in wanted:
        terminal.record(IMAGES / TERMINAL)
    drive([journey for journey, names in JOURNEYS.items() if {*names} & {*wanted}], wanted)
    for name in wanted:
        print(f"{(IMAGES / name).stat().st_size / 1000:7.0f} kB  {name}")


def drive(journeys: Collection[str], wanted: Collection[str]) -> None:
    """Go through journeys in the workbench, and keep the wanted ones of their pictures."""
    if not journeys:
        return
    shots = ROOT / "dist" / "e2e" / "shots"
    shutil.rmtree(shots, ignore_errors=True)
    names = "|".join(re.escape(journey) for journey in journeys)
    subprocess.run([ROOT / "client-vscode" / "e2e" / "run.sh", f"^({names})$"], check=True)
    for picture in {name for journey in journeys for name in JOURNEYS[journey]} & {*wanted}:
        if picture == FILM:
            film.encode(shots / picture, IMAGES / picture)
        else:
            shutil.copyfile(shots / picture, IMAGES / picture)


if __name__ == "__main__":
    main()
