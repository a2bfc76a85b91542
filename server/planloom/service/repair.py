"""Repairs a damaged ledger: plans that can be read move into a fresh one, the others are exported as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from planloom.domain.errors import PlanUnreadable, StorageFailed
from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import OPEN
from planloom.domain.values import PlanId
from planloom.execution.plan_store import PlanStore
from planloom.service.actions.export import as_raw_json
from planloom.storage.backup import Backup, backup_of
from planloom.storage.event_rows import RawEvent
from planloom.storage.ledger import Ledger
from planloom.storage.opening import SQLITE, Connect
from planloom.storage.salvage import Salvage, salvaging

_FROM_BACKUP = (
    "This plan comes from the ledger's backup of {}. What it has done after that is not recorded: compare its steps"
    " with the files before you go on."
)


class Repaired(NamedTuple):
    """The outcome of a repair: the old ledger under its new name, and one file for each plan that could not be read."""

    kept: Path
    exported: tuple[Path, ...]


class Examined(NamedTuple):
    """The findings about a ledger: faults of the file, which plans can be read, and the raw events of the others.

    `lost` are the plans of the `backup` that the repair takes back.
    """

    faults: tuple[str, ...]
    readable: frozenset[PlanId]
    damaged: Mapping[PlanId, tuple[RawEvent, ...]]
    salvage: Salvage
    backup: Backup | None
    connect: Connect

    @property
    def is_sound(self) -> bool:
        return not self.faults and not self.damaged and not self.lost

    @property
    def lost(self) -> frozenset[str]:
        """The plans of the backup that are not in the ledger, if it is damaged or shares none with it.

        Of another ledger the user has deleted them.
        """
        plans = self.backup.plans if self.backup is not None else frozenset[str]()
        is_lost = self.faults or self.damaged or plans.isdisjoint(self.readable)
        return plans - self.readable if is_lost else frozenset()

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
        if self.backup is not None and self.lost:
            lost = self.lost
            self.salvage.take_back(self.backup)
            note = _FROM_BACKUP.format(f"{self.backup.made:%Y-%m-%d %H:%M}")
            _sorted_out(self.salvage.fresh, self.connect, {PlanId(each): note for each in lost})
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
        yield Examined(salvage.faults, readable, damaged, salvage, backup_of(path), connect)


def _sorted_out(
    fresh: Path, connect: Connect, notes: Mapping[PlanId, str] = MappingProxyType({})
) -> tuple[frozenset[PlanId], dict[PlanId, tuple[RawEvent, ...]]]:
    """Delete the plans that cannot be read from a copy: which are left, and the events of those deleted.

    Open plans get a warning in their events where there are `notes` for them.
    """
    ledger = Ledger(fresh, connect=connect)
    try:
        if ledger.problem is not None:
            raise StorageFailed(ledger.problem)
        plan_store = PlanStore(ledger)
        readable, damaged = set[PlanId](), dict[PlanId, tuple[RawEvent, ...]]()
        for plan_id in ledger.all_plans():
            try:
                plan = plan_store.find(plan_id)
                if plan is None:
                    raise PlanUnreadable(plan_id, "its row is missing")
            except PlanUnreadable:
                damaged[plan_id] = ledger.raw_events(plan_id)
                ledger.delete(plan_id)
            else:
                readable.add(plan_id)
                if plan_id in notes and plan.status in OPEN:
                    plan_store.load(plan_id)
                    plan = plan_store.record(plan_id, ev.Log(level="warning", message=notes[plan_id]))
                if plan.status not in ("draft", "executing"):
                    ledger.keep_state(plan)
        return frozenset(readable), damaged
    finally:
        ledger.close()
