"""Fuzzes every parser of texts from models and users, guided by coverage.

`python -m bench.fuzzing.fuzz --target plans|calls|detection|references|rules|patches --seconds 60` needs atheris
(`pip install -e '.[fuzz]'`), which is guided by the edges reached in the parsers. Texts are made from the tests'
examples by splicing, repeating and inserting words of the formats. `bench/fuzzing/targets.py` states what must hold.
The first text of each failure is minimised and printed as a test case. Then the slowest texts, and all that reached new
code, are repeated to a large size and timed against prose of the same size.

Figures of the last long runs, on a busy machine: target, seconds, executions, edges, lines of the parsers reached.

    calls       480   25,379  1,332  1,609 of 1,687
    plans       480    6,991    944    962 of 1,053
    rules       330   12,299    578    636 of   711
    patches     110    8,945    314    367 of   384
    detection   300   14,025    170    221 of   271 (the rest asks a model)
    references  110    4,810    166    165 of   172 (170 in an earlier run of 40 s and 11,951 executions)

"""

from __future__ import annotations

import argparse
import hashlib
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.fuzzing.texts import chance_of, changed, decoded, encoded, signature_of

PACKAGES = {
    "plans": ("planloom.domain.model_text", "planloom.planning.formats", "planloom.planning.model.assemble"),
    "calls": ("planloom.domain.model_text", "planloom.agent.toolcalls"),
    "detection": ("planloom.intake.detection", "planloom.intake.qualification", "planloom.intake.words"),
    "references": ("planloom.intake.references",),
    "rules": ("planloom.planning.rules", "planloom.planning.wording"),
    "patches": tuple(
        f"planloom.tools.files.{name}"
        for name in ("patches", "search_blocks", "patching", "replacing", "fuzzy_match", "line_numbers")
    ),
}
"""The modules that each target instruments."""
MAX_BYTES = 1_500
"""The most bytes of a text."""
SLOWEST = 12
"""How many of the slowest texts are kept."""


def main() -> None:
    """Fuzz one target in a child process, then minimise and print the findings."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", choices=tuple(PACKAGES), required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, help="a folder that keeps texts between runs")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child is not None:
        _fuzz(args.target, args.seconds, args.corpus, args.child)
    else:
        sys.exit(run(args.target, args.seconds, args.corpus))


def run(target: str, seconds: int, corpus: Path | None = None) -> int:
    """Fuzz a target and print the findings; returns their number."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        corpus = corpus or out / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        arguments = (f"--target={target}", f"--seconds={seconds}", f"--corpus={corpus}", f"--child={folder}")
        child = subprocess.run(
            [sys.executable, "-m", "bench.fuzzing.fuzz", *arguments],
            check=False,
            cwd=Path(__file__).parents[2],
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        # Imported here, since in the child the fuzzer must instrument the parsers as it imports them.
        from bench.fuzzing.findings import report

        return report(target, PACKAGES[target], corpus, out, child)


def _fuzz(name: str, seconds: int, corpus: Path, out: Path) -> None:
    """The child process: writes each finding to a file and continues, until the fuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=list(PACKAGES[name])):
        from bench.fuzzing.targets import TARGETS
    target = TARGETS[name]
    signatures: set[str] = set()
    slowest = [0.0] * SLOWEST

    def one(data: bytes) -> None:
        text = decoded(data)
        began = time.thread_time()
        try:
            target.read(text)
            seconds_per_character = (time.thread_time() - began) / (len(text) + 200)
            target.check(text, chance_of(text))
        except Exception as error:
            signature = signature_of(error)
            if signature not in signatures:
                signatures.add(signature)
                (out / f"found-{len(signatures)}").write_bytes(data)
            return
        if seconds_per_character > slowest[0]:
            slowest[0] = seconds_per_character
            slowest.sort()
            (out / f"slow-{int(seconds_per_character * 1e9):012}").write_bytes(data)

    seeds = tuple(target.seeds())
    for text in seeds:
        data = encoded(text)
        (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)

    def mutate(data: bytes, size: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.3:
            return bytes(atheris.Mutate(data, size))
        return encoded(changed(decoded(data), seeds, target.words, chance))[:size]

    flags = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-timeout=60", "-print_final_stats=1"]
    atheris.Setup(["fuzz", *flags, f"-artifact_prefix={out}/", str(corpus)], one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
