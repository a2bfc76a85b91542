"""Repairs a damaged ledger: plans that can be read move into a fresh one, the others are exported as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from planloom.domain.errors import PlanUnreadable, StorageFailed
from planloom.domain.values import PlanId
from planloom.execution.plan_store import PlanStore
from planloom.service.actions.export import as_raw_json
from planloom.storage.event_rows import RawEvent
from planloom.storage.ledger import Ledger
from planloom.storage.opening import SQLITE, Connect
from planloom.storage.salvage import Salvage, salvaging


class Repaired(NamedTuple):
    """The outcome of a repair: the old ledger under its new name, and one file for each plan that could not be read."""

    kept: Path
    exported: tuple[Path, ...]


class Examined(NamedTuple):
    """The findings about a ledger: faults of the file, how many plans can be read, and the raw events of the others."""

    faults: tuple[str, ...]
    readable: int
    damaged: Mapping[PlanId, tuple[RawEvent, ...]]
    salvage: Salvage

    @property
    def is_sound(self) -> bool:
        return not self.faults and not self.damaged

    def repair(self, now: datetime) -> Repaired:
        """Export the damaged plans beside the ledger, and replace it. Raises StorageFailed."""
        path, stamp = self.salvage.path, f"{now:%Y%m%d-%H%M%S}"
        exported = []
        for plan_id, events in self.damaged.items():
            name = re.sub(r"[^A-Za-z0-9_-]", "_", plan_id)[:80]
            file = path.with_name(f"plan-{name}.{stamp}.json")
            try:
                with file.open("x", encoding="utf-8") as out:
                    file.chmod(0o600)
                    out.write(as_raw_json(plan_id, events))
            except OSError as error:
                raise StorageFailed(
                    f"The damaged plans cannot be exported ({error}). The ledger was left as it is."
                ) from error
            exported.append(file)
        kept = path.with_name(f"{path.name}.damaged-{stamp}")
        self.salvage.replace(kept)
        return Repaired(kept, tuple(exported))


@contextmanager
def examined(path: Path, *, connect: Connect = SQLITE) -> Iterator[Examined]:
    """Check a ledger, and prepare its repair. No server can use it until the block is left.

    Raises StorageFailed: a server has it open, it is of a newer version, or it cannot be read or copied.
    """
    with salvaging(path, connect) as salvage:
        salvage.copy()
        readable, damaged = _sorted_out(salvage.fresh, connect)
        yield Examined(salvage.faults, readable, damaged, salvage)


def _sorted_out(fresh: Path, connect: Connect) -> tuple[int, dict[PlanId, tuple[RawEvent, ...]]]:
    """Delete the plans that cannot be read from a copy: how many are left, and the events of those deleted."""
    ledger = Ledger(fresh, connect=connect)
    try:
        if ledger.problem is not None:
            raise StorageFailed(ledger.problem)
        plan_store = PlanStore(ledger)
        readable, damaged = 0, dict[PlanId, tuple[RawEvent, ...]]()
        for plan_id in ledger.all_plans():
            try:
                plan = plan_store.find(plan_id)
                if plan is None:
                    raise PlanUnreadable(plan_id, "its row is missing")
            except PlanUnreadable:
                damaged[plan_id] = ledger.raw_events(plan_id)
                ledger.delete(plan_id)
            else:
                readable += 1
                if plan.status not in ("draft", "executing"):
                    ledger.keep_state(plan)
        return readable, damaged
    finally:
        ledger.close()
