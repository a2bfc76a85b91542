"""An event store in memory, for tests that are not about the disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId, Sha256


class MemoryStore:
    """Keeps what it is given. `read` are the plans whose events were read, in order."""

    def __init__(self) -> None:
        self.read: list[PlanId] = []
        self.recorded: dict[PlanId, list[ev.Recorded]] = {}
        self.texts: dict[Sha256, str] = {}

    async def ready(self) -> None:
        """Memory is always ready."""

    def append(self, recorded: Sequence[ev.Recorded], plan: Plan, *, durable: bool = False) -> None:
        self.recorded.setdefault(plan.plan_id, []).extend(recorded)

    def seq(self, plan_id: PlanId) -> int | None:
        found = self.recorded.get(plan_id)
        return found[-1].seq if found else None

    def events(self, plan_id: PlanId, after: int = 0, limit: int | None = None) -> Iterable[ev.Recorded]:
        self.read.append(plan_id)
        found = [each for each in self.recorded.get(plan_id, []) if each.seq > after]
        return found if limit is None else found[:limit]

    def keep(self, plan_id: PlanId, texts: Iterable[tuple[Sha256, str]]) -> None:
        self.texts.update(texts)

    def text(self, digest: Sha256) -> str | None:
        return self.texts.get(digest)
