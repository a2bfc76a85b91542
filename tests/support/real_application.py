"""The real application behind the protocol, with a ledger of the test's own."""

from __future__ import annotations

from pathlib import Path

from planloom.service.application import Application
from planloom.serving.opening import ApplicationContext, MakeApplication


def real_application(storage: Path | None = None) -> MakeApplication:
    """What `connected` takes. The ledger is at `storage`, in memory if None; no key is in the environment."""

    async def make(opening: ApplicationContext) -> Application:
        return await Application.open(
            opening.settings,
            opening.editor,
            opening.view,
            storage=storage,
            environment={},
            completion=opening.completion,
            record=opening.record,
        )

    return make
