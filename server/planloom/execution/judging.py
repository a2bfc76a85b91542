"""Asks language servers what problems a change would bring: within bounds of time, and never a failure of who asks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Final, TypeVar

from planloom.domain.changes import Changeset
from planloom.domain.problems import Judged, NewProblem
from planloom.domain.text.counted import cut
from planloom.domain.values import Uri
from planloom.tools.terminal_text import one_line
from planloom.workspace.language import Language, NotKnown, Texts

JUDGE_SECONDS: Final = 3.0
"""How long a judgement is waited for, at most."""
ASK_SECONDS: Final = 1.0
"""How long a question to a person, and the end of a literal step, wait for a judgement; a question gets it later."""
_GRACE_SECONDS: Final = 0.5
"""How much longer is waited for who should have ended by then, and may say what is known so far."""
_MOST_CHARACTERS: Final = 300
_T = TypeVar("_T")
log = logging.getLogger(__name__)


def is_judged(language: Language | None, changes: Changeset) -> bool:
    """Whether somebody can probably judge one of the files that changes leave."""
    return language is not None and any(language.judges(uri) for uri in left_files(changes))


def left_files(changes: Changeset) -> tuple[Uri, ...]:
    """The files that are there after changes of their text or name."""
    found: dict[Uri, None] = {}
    for change in changes.changes:
        if change.kind in ("create", "edit", "rename"):
            found[change.ends[-1]] = None
    return tuple(found)


async def judged(
    language: Language | None, changes: Changeset, under: Texts, seconds: float = JUDGE_SECONDS
) -> Judged | None:
    """The problems that changes would bring over what is staged `under` them; None if nobody judges such files.

    The words of servers come out of files of the workspace, so they are shortened, and cleaned of what is not seen.
    """
    if language is None or not is_judged(language, changes):
        return None
    found = await _within(language.judge(changes, under, seconds), seconds)
    if isinstance(found, str):
        return Judged(by="", unknown=found)
    if found is None:
        return None
    problems = tuple(
        each.model_copy(
            update={
                "message": _clean(each.message),
                "source": _clean(each.source or "") or None,
                "code": _clean(each.code or "") or None,
            }
        )
        for each in found.problems
    )
    unknown = None if found.unknown is None else _clean(found.unknown)
    return found.model_copy(update={"by": _clean(found.by), "problems": problems, "unknown": unknown})


async def still_there(
    language: Language | None, problems: tuple[NewProblem, ...], texts: Texts
) -> tuple[NewProblem, ...] | None:
    """Those of some problems that files still have as they are staged; None if that is not known."""
    if language is None:
        return None
    uris = tuple(dict.fromkeys(each.uri for each in problems))
    found = await _within(language.diagnostics(uris, texts), ASK_SECONDS)
    if isinstance(found, str):
        return None
    now = {(file.uri, _clean(item.message)) for file in found for item in file.items}
    return tuple(each for each in problems if (each.uri, each.message) in now)


async def _within(work: Awaitable[_T], seconds: float) -> _T | str:
    """The answer of a language server; else why there is none, as a sentence."""
    limit = asyncio.timeout(seconds + _GRACE_SECONDS)
    try:
        async with limit:
            return await work
    except NotKnown as unknown:
        return _clean(str(unknown))
    except TimeoutError:
        if limit.expired():
            return f"No answer came within {seconds:g} s."
        log.warning("a language server gives no answer", exc_info=True)
    except Exception:
        # Whatever fails behind the port must cost a plan nothing but the judgement.
        log.warning("a language server could not be asked", exc_info=True)
    return "The language server could not be asked."


def _clean(text: str) -> str:
    """Words of a server on one line."""
    return cut(one_line(text), _MOST_CHARACTERS)
