"""A coverage-guided fuzzer over everything that reads texts of models and users.

`python -m bench.fuzz --target plans|calls|detection|references|rules|patches --seconds 60` needs atheris
(`pip install -e '.[fuzz]'`), which guides by the edges of the readers' own code. Texts grow from the tests' own
examples and messy outputs by splicing, repeating and the words of the formats. `bench/fuzz_targets.py` says what
must hold. The first text of each failure is made smaller and printed as a test case; time is tried afterwards, by
blowing up the slowest texts and all that reached new code, against prose of the same size read in the same run.

Figures of the last long runs, on a busy machine: target, seconds, executions, edges, lines of the readers reached.

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

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.fuzz_texts import chance_of, changed, decoded, encoded, signature_of

PACKAGES = {
    "plans": ("planloom.domain.model_text", "planloom.planning.formats", "planloom.planning.model.assemble"),
    "calls": ("planloom.domain.model_text", "planloom.agent.toolcalls"),
    "detection": ("planloom.intake.detection", "planloom.intake.qualification", "planloom.intake.words"),
    "references": ("planloom.intake.references",),
    "rules": ("planloom.planning.rules", "planloom.planning.wording"),
    "patches": tuple(
        f"planloom.tools.files.{name}" for name in ("patches", "patching", "replacing", "fuzzy_match")
    ),
}
"""The code that each target is guided by."""
LONGEST = 1_500
"""Bytes of a text."""
KEPT = 12
"""How many of the slowest texts are kept."""


def main() -> None:
    """Fuzz one target in a process of its own, then minimise and print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", choices=tuple(PACKAGES), required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, help="a folder that keeps texts between runs")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        _fuzz(given.target, given.seconds, given.corpus, given.child)
    else:
        sys.exit(run(given.target, given.seconds, given.corpus))


def run(target: str, seconds: int, corpus: Path | None = None) -> int:
    """Fuzz a target and print what was found; the number of findings."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        corpus = corpus or out / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        arguments = (f"--target={target}", f"--seconds={seconds}", f"--corpus={corpus}", f"--child={folder}")
        child = subprocess.run(
            [sys.executable, "-m", "bench.fuzz", *arguments],
            check=False,
            cwd=Path(__file__).parents[1],
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        # Only here, since in the child the readers must be loaded by the fuzzer.
        from bench.fuzz_findings import report

        return report(target, PACKAGES[target], corpus, out, child)


def _fuzz(name: str, seconds: int, corpus: Path, out: Path) -> None:
    """The process that fuzzes: it notes what it finds and goes on, until the fuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=list(PACKAGES[name])):
        from bench.fuzz_targets import TARGETS
    target = TARGETS[name]
    seen: set[str] = set()
    slowest = [0.0] * KEPT

    def one(data: bytes) -> None:
        text = decoded(data)
        began = time.thread_time()
        try:
            target.read(text)
            pace = (time.thread_time() - began) / (len(text) + 200)
            target.check(text, chance_of(text))
        except Exception as error:
            signature = signature_of(error)
            if signature not in seen:
                seen.add(signature)
                (out / f"found-{len(seen)}").write_bytes(data)
            return
        if pace > slowest[0]:
            slowest[0] = pace
            slowest.sort()
            (out / f"slow-{int(pace * 1e9):012}").write_bytes(data)

    seeds = tuple(target.seeds())
    for text in seeds:
        data = encoded(text)
        (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)

    def mutate(data: bytes, size: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.3:
            return bytes(atheris.Mutate(data, size))
        return encoded(changed(decoded(data), seeds, target.words, chance))[:size]

    flags = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=60", "-print_final_stats=1"]
    atheris.Setup(["fuzz", *flags, f"-artifact_prefix={out}/", str(corpus)], one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
