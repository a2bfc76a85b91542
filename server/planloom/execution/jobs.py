"""Owns the asyncio tasks of an application: each has a name and is referenced until it ends, and its failure is passed
to one function.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from planloom.domain.errors import PlanloomError
from planloom.domain.values import PlanId

log = logging.getLogger(__name__)


def background_jobs(plan_id: PlanId) -> str:
    """The beginning of the names of the jobs of a plan's background commands."""
    return f"background:{plan_id}:"


async def only_logged(name: str, error: Exception) -> None:
    """Do nothing more about the failure of a job on which no plan depends: `Jobs` logs it."""


class Jobs:
    """Running jobs by name. A name can be used again once its job has ended.

    A job of a plan is named `what:plan id`, or `what:plan id:more`. What a job raises goes to `failed`, with its name,
    before the job ends. `sleep` is how a job waits for a number of seconds.
    """

    def __init__(
        self,
        failed: Callable[[str, Exception], Awaitable[None]],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._failed = failed
        self.sleep = sleep
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def start(self, name: str, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a job. If a job of this name is running, `work` is closed and that job is returned."""
        running = self._tasks.get(name)
        if running is not None and not running.done():
            work.close()
            return running
        task = asyncio.get_running_loop().create_task(self._owned(name, work), name=name)
        self._tasks[name] = task
        task.add_done_callback(self._ended)
        return task

    async def _owned(self, name: str, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await work
        except Exception as error:
            await self._failed(name, error)
            raise

    def names(self, prefix: str = "") -> tuple[str, ...]:
        """The names of running jobs that begin with `prefix`."""
        return tuple(name for name in self._tasks if name.startswith(prefix))

    def cancel(self, prefix: str) -> None:
        """Ask the jobs whose names begin with `prefix` to end."""
        # A task that is cancelled before it first runs never enters its `try`, so it could not release its
        # resources. Scheduling the cancellation lets a job that was just started begin first.
        for name in self.names(prefix):
            asyncio.get_running_loop().call_soon(self._tasks[name].cancel)

    async def join(self, prefix: str) -> None:
        """Wait until no other job has a name that begins with `prefix`."""
        while others := self._others(prefix):
            await asyncio.wait(others)

    async def stop(self, prefix: str) -> None:
        """Cancel the jobs whose names begin with `prefix`, and those they start meanwhile, and wait for all to end."""
        while others := self._others(prefix):
            self.cancel(prefix)
            await asyncio.wait(others)

    def _others(self, prefix: str) -> list[asyncio.Task[Any]]:
        here = asyncio.current_task()
        return [self._tasks[name] for name in self.names(prefix) if self._tasks[name] is not here]

    def _ended(self, task: asyncio.Task[Any]) -> None:
        name = task.get_name()
        if self._tasks.get(name) is task:
            del self._tasks[name]
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, PlanloomError):
            log.warning("job %s failed: %s", name, error.message)
        elif error is not None:
            log.error("job %s failed because of a defect", name, exc_info=error)
