"""What a step would bring as a whole: all that it has changed in this run, made or staged, judged as one change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from planloom.domain.changes import Changeset, CreateFile, DeleteFile, EditFile, FileChange, sides
from planloom.domain.problems import Judged, NewProblem
from planloom.domain.text.counted import counted
from planloom.domain.values import Uri
from planloom.execution.judging import JUDGE_SECONDS, is_judged, judged
from planloom.execution.step_run import StepRun
from planloom.tools.context import ToolContext
from planloom.workspace.language import Texts
from planloom.workspace.paths.resolver import PathRefused
from planloom.workspace.staged.overlay import Overlay

_MOST_TOLD: Final = 10
_TRIES: Final = 2
"""How often the same texts are judged if the judgement does not come: a server may have been starting."""


class StepJudging:
    """The judgements of one run of a step. `committing` must be called with all changes before they are made.

    They have no problems of files that a step must not read.
    """

    def __init__(self, run: StepRun, context: ToolContext) -> None:
        self._run = run
        self._context = context
        self._before: dict[Uri, str | None] = {}
        self._told: Counter[tuple[str, ...]] = Counter()
        self._last: tuple[Changeset, Texts, Judged | None] | None = None
        self._tries = 0

    def committing(self, changes: Changeset) -> None:
        """Keep the texts that the files have before changes that are about to be made."""
        for uri, text in _befores(changes).items():
            self._before.setdefault(uri, text)

    def prepare(self) -> None:
        """Have whoever judges the files that the step has read start by the time it writes one."""
        if self._context.language is not None:
            for uri in self._context.files.hashes():
                self._context.language.prepare(uri)

    async def now(self, seconds: float = JUDGE_SECONDS) -> Judged | None:
        """The judgement of what the step has changed by now; None if it has changed nothing that anybody judges."""
        if self._reads_denied:
            return None
        changes, under = await self._whole()
        if self._last is None or self._last[:2] != (changes, under):
            self._last, self._tries = None, 0
        known = None if self._last is None else self._last[2]
        if self._last is not None and (known is None or known.unknown is None or self._tries >= _TRIES):
            return known
        self._tries += 1
        found = await self._readable(await judged(self._context.language, changes, under, seconds))
        self._last = (changes, under, found)
        return found

    async def is_judged(self) -> bool:
        """Whether somebody can probably judge something that the step has changed."""
        return not self._reads_denied and is_judged(self._context.language, (await self._whole())[0])

    @property
    def _reads_denied(self) -> bool:
        return self._run.session.settings.approvals.read == "deny"

    async def told(self, seconds: float) -> str:
        """The problems by now for the model, those that it was told before by their number; empty if there are none."""
        found = await self.now(seconds)
        told, self._told = self._told, Counter(map(_key, found.problems if found is not None else ()))
        if found is None or not found.total:
            return ""
        left = Counter(told)
        fresh: list[NewProblem] = []
        for each in found.problems:
            if left[_key(each)] > 0:
                left[_key(each)] -= 1
            else:
                fresh.append(each)
        if not fresh:
            return f"Still {found.headline}."
        known = len(found.problems) - len(fresh)
        still = [f"{known} that you know {'is' if known == 1 else 'are'} still there."] if known else []
        return "\n".join(
            [f"{counted(found.total - known, 'new problem')}:", *lines(fresh, found, self._run.shown), *still]
        )

    async def _readable(self, found: Judged | None) -> Judged | None:
        if found is None:
            return None
        hidden = {
            uri
            for uri in {each.uri for each in found.problems}
            if isinstance(await self._context.resolve_uri(uri), PathRefused)
            or await self._context.holds_secret(uri)
        }
        problems = tuple(each for each in found.problems if each.uri not in hidden)
        total = found.total - (len(found.problems) - len(problems))
        return found.model_copy(update={"problems": problems, "total": total})

    async def _whole(self) -> tuple[Changeset, Texts]:
        """All that the step has changed as one change, and the texts under it."""
        files = self._context.files
        staged = files.changeset()
        under = files.under.texts() if isinstance(files.under, Overlay) else {}
        if not self._before:
            return staged, under
        changes: list[FileChange] = []
        for uri, before in {**_befores(staged), **self._before}.items():
            found = await files.peek(uri)
            after = found.text if found.exists else None
            if before is None and after is not None:
                changes.append(CreateFile(uri=uri, after=after))
            elif before is not None and after is not None and before != after:
                changes.append(EditFile(uri=uri, before=before, after=after))
            elif before is not None and after is None and not found.exists:
                changes.append(DeleteFile(uri=uri, before=before))
        return Changeset(changes=tuple(changes)), {**under, **self._before}


def lines(problems: Iterable[NewProblem], found: Judged, shown: Callable[[str], str]) -> list[str]:
    """Problems in lines, as compilers write them: the first of them, and how many more there are."""
    listed = list(problems)[:_MOST_TOLD]
    written = [
        f"{shown(each.uri)}:{each.line + 1}: {each.severity}: {each.message}"
        + (f" [{each.source or found.by}]" if each.source or found.by else "")
        for each in listed
    ]
    more = found.total - (len(found.problems) - len(list(problems))) - len(listed)
    return [*written, f"and {more} more"] if more > 0 else written


def _befores(changes: Changeset) -> dict[Uri, str | None]:
    """The text of each file of some changes before them, None for a file that is not there then."""
    found: dict[Uri, str | None] = {}
    for change in changes.changes:
        before, after = sides(change)
        if (before, after) != (None, None):
            found.setdefault(change.uri, before)
            if change.kind == "rename":
                found.setdefault(change.new_uri, None)
    return found


def _key(problem: NewProblem) -> tuple[str, ...]:
    """A problem without its line, which changes when text is inserted above it."""
    return problem.uri, problem.severity, problem.message
