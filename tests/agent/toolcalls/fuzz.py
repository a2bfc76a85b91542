"""A coverage-guided run of the reader of calls, in a process of its own since the fuzzer ends it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[3]


def run(seconds: int) -> None:
    """Fuzz for a while. Raises CalledProcessError with the fuzzer's report if anything raises."""
    subprocess.run(
        [sys.executable, "-m", "tests.agent.toolcalls.fuzz", f"-max_total_time={seconds}"],
        check=True,
        cwd=_ROOT,
    )


def _main() -> None:
    import atheris

    with atheris.instrument_imports(include=["planloom.agent.toolcalls"]):
        from tests.scoring import stream_tool_calls

    def one(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        assert stream_tool_calls([text]) == stream_tool_calls(list(text))

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    _main()
