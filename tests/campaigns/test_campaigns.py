"""Random campaigns against real servers: no effect is lost, doubled or unasked, and no typed word disappears.

Each run starts real server processes, forked from a warm one, and kills them for real. A failure prints its seed.
The same seeds run each time, or with PLANLOOM_EXPLORE=1 as many from a random one on: a few of each campaign, and in
`make campaigns` two hundred of most. `python -m tests.campaigns` runs those that one names.

The moments of many faults depend on how busy the machine is. A seed that fails is run again: if it fails twice the
test fails; if it does not, its trouble is told as a warning, with the seed, so that it can be looked into.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator

import pytest

from tests.campaigns import ending, matrix
from tests.campaigns.reports import Report, table
from tests.campaigns.running import CAMPAIGNS, run_seeds
from tests.conftest import EXPLORING
from tests.depth import DEEP, rounds
from tests.support.power_cut.disk import recorder
from tests.support.warm_server import SUPPORTED, UNSUPPORTED, WarmServers, warm_servers

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.deep,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not SUPPORTED, reason=UNSUPPORTED),
]
PARTS, RUNS = rounds(1, 4), rounds(10, 50)
"""How many runs of most campaigns, in parts that the processes of a test run share."""
FOUND = {"faulty": (121,)}
"""Seeds that once showed a defect; the sample runs them, too."""
GRIDS = {"matrix": matrix.LAST, "ending": ending.LAST}
"""The last seed of the campaigns that count through all points; a sample of each is run."""
_CASES = [
    (name, part)
    for name in CAMPAIGNS
    for part in range(1 if name in {*GRIDS, "power", "names", "chains"} else PARTS)
]


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServers]:
    with warm_servers(recorder(tmp_path_factory.mktemp("recorder"))) as started:
        yield started


@pytest.mark.parametrize(("name", "part"), _CASES)
async def test_campaign(warm: WarmServers, name: str, part: int) -> None:
    if name == "power" and not warm.records:
        pytest.skip("What a disk forgets can be told on Linux with a C compiler only.")
    chance = random.Random() if EXPLORING else random.Random(name)
    first = chance.randrange(1_000_000) if EXPLORING else part * RUNS
    last = GRIDS.get(name)
    seeds = chance.sample(range(last + 1), RUNS) if last else [*range(first, first + RUNS)]
    seeds += [] if DEEP else FOUND.get(name, ())
    reports = [report for report in await run_seeds(warm, name, seeds) if report.troubles]
    again = await run_seeds(warm, name, [report.seed for report in reports]) if reports else []
    twice = {report.seed for report in again if report.troubles}
    once = [report for report in reports if report.seed not in twice]
    if once:
        warnings.warn(f"not again, but once: {_told(once)}", stacklevel=1)
    assert not twice, _told([report for report in reports if report.seed in twice])


def _told(reports: list[Report]) -> str:
    failed = [
        f"seed {report.seed}\n  " + "\n  ".join(report.lines()) for report in reports if report.troubles
    ]
    return "\n".join([table(reports), *failed])
