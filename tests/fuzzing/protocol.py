"""Sends a server wrong requests without end: `python -m tests.fuzzing.protocol --hours 24 --seed 1`.

Each request must get exactly one answer, and none may be an internal error (−32603). After every thousand cases the
server has to carry out a plan, and its memory is looked at. A finding is printed with the seed of its thousand and
the request; the exit code is the number of findings, at most 100. Without `--hours` ten thousand cases run.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from planloom.lsp.methods import CLIENT_REQUESTS
from tests.fuzzing.protocol_cases import Case, Cases, Known
from tests.support.lsp_client import Failed, LspClient, connected
from tests.support.real_application import real_application

BATCH: Final = 20
"""Requests that are under way together."""
ROUND: Final = 1_000
SECONDS: Final = 30.0
"""The longest that a request may take; one that waits by its nature is cancelled after the others."""
MOST_GROWTH: Final = 300
"""The most that the memory of the process may grow, in MB."""
USER: Final = {"model": {"provider": "embedded"}, "approvals": {"execute": "deny"}}
_WAITING: Final = {each.name for each in CLIENT_REQUESTS if each.kind == "wait"}
_SHOWN: Final = 400


class Finding(NamedTuple):
    """What went wrong, and the request after which it did."""

    problem: str
    request: str


async def send(client: LspClient, cases: Cases, known: Known, count: int) -> list[Finding]:
    """Send so many cases, and look at all answers."""
    findings: list[Finding] = []
    for start in range(0, count, BATCH):
        batch = [cases.next() for _ in range(min(BATCH, count - start))]
        findings += await _sent(client, batch, known)
    return findings


async def _sent(client: LspClient, batch: list[Case], known: Known) -> list[Finding]:
    waiting: dict[int, tuple[Case, asyncio.Task[object]]] = {}
    malformed = 0
    for case in batch:
        if not case.is_json:
            malformed += 1
        if not case.is_json or not case.is_request:
            client.raw(case.text(0))
            continue
        ident, answer = client.start_text(case.text)
        waiting[ident] = case, asyncio.ensure_future(answer)
    tasks = {task for _, task in waiting.values()}
    patient = {ident for ident, (case, _) in waiting.items() if case.method in _WAITING}
    prompt = {task for ident, (_, task) in waiting.items() if ident not in patient}
    if prompt:
        await asyncio.wait(prompt, timeout=SECONDS)
    for ident in patient:
        client.cancel(ident)
    _, lost = await asyncio.wait(tasks, timeout=SECONDS) if tasks else (set(), set())
    findings = []
    for ident, (case, task) in waiting.items():
        if task in lost:
            task.cancel()
            findings.append(Finding("no answer", case.text(ident)[:_SHOWN]))
        elif isinstance(error := task.exception(), Failed):
            if error.code == -32603:
                findings.append(Finding(f"{error}"[:_SHOWN], case.text(ident)[:_SHOWN]))
        else:
            known.see(task.result())
    known.see(client.events)
    with suppress(TimeoutError):
        await client.until(lambda: len(client.unaddressed) >= malformed, SECONDS)
    unaddressed = len(client.unaddressed)
    client.unaddressed.clear()
    if unaddressed != malformed:
        findings.append(Finding(f"{unaddressed} answers to {malformed} messages that are no JSON", ""))
    findings += [Finding(fault[:_SHOWN], "") for fault in client.taken_faults()]
    return findings


async def works(client: LspClient, folder: Path) -> list[Finding]:
    """Whether the server still carries out a plan of its user."""
    name = f"made_{time.monotonic_ns()}"
    client.notify("planloom/workspace/trust", {"trusted": True})
    try:
        await client.request("planloom/settings/user", {"values": {**USER, "approvals": {"write": "allow"}}})
        asked = {"text": f"Create the folder {name}", "mode": "plan"}
        plan = (await client.request("planloom/plan/create", asked, timeout=SECONDS))["plan"]
        wait = {"planId": plan["planId"], "timeoutSeconds": SECONDS}
        plan = (await client.request("planloom/plan/wait", {**wait, "until": "ready"}, timeout=SECONDS))[
            "plan"
        ]
        approval = {"planId": plan["planId"], "version": plan["version"]}
        await client.request("planloom/plan/approve", approval, timeout=SECONDS)
        await client.request("planloom/plan/wait", {**wait, "until": "ended"}, timeout=SECONDS)
        if not (folder / name).is_dir():
            return [Finding("the plan of a user was not carried out", str(asked))]
        await client.request("planloom/settings/user", {"values": USER})
    except (Failed, TimeoutError) as error:
        return [Finding(f"the server is of no use any more: {error!r} {client.sent[-3:]}"[:_SHOWN], "")]
    finally:
        client.taken_faults()
    return []


@asynccontextmanager
async def server(folder: Path) -> AsyncIterator[LspClient]:
    """A server in this process with the real application, and a client of it."""
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    (workspace / "a.txt").write_text("a\n")
    make = real_application(folder / "ledger.sqlite3")
    async with connected(make, folders=[workspace], settings=USER) as client:
        yield client
        client.taken_faults()


async def run(seed: int, count: int) -> list[Finding]:
    """Send so many cases to a new server, in rounds with seeds of their own."""
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory() as folder:
        async with server(Path(folder)) as client:
            before = 0.0
            for number, start in enumerate(range(0, count, ROUND)):
                known = Known()
                sent = await send(client, Cases(seed + number, known), known, min(ROUND, count - start))
                sent += await works(client, Path(folder) / "workspace")
                findings += [Finding(f"seed {seed + number}: {each.problem}", each.request) for each in sent]
                before = before or _megabytes()
            if _megabytes() - before > MOST_GROWTH:
                findings.append(Finding(f"the memory grew by {_megabytes() - before:.0f} MB", f"seed {seed}"))
    return findings


def _megabytes() -> float:
    """The memory of this process."""
    gc.collect()
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * 4096 / 1e6 if statm.exists() else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    end = time.monotonic() + args.hours * 3600
    seed, found, cases = args.seed, 0, 0
    while True:
        for finding in asyncio.run(run(seed, 10 * ROUND)):
            found += 1
            print(f"{finding.problem}\n    {finding.request}", flush=True)
        seed, cases = seed + 10, cases + 10 * ROUND
        if time.monotonic() >= end:
            break
    print(f"{cases:,} cases, {found} findings.")
    sys.exit(min(found, 100))


if __name__ == "__main__":
    main()
