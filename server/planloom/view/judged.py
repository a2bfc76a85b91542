"""What language servers say of a change before it is made, in words: a line, and the problems at their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from planloom.domain.problems import NOT_YET, Judged
from planloom.domain.values import Uri
from planloom.view.words import Words
from planloom.workspace.paths.uris import shown_in

_MOST: Final = 3
"""How many problems the lines of a question name; the others are counted."""


class ProblemView(NamedTuple):
    """A new problem. `line` counts from 1 in the file as it would be, `kind` is the severity in words."""

    uri: Uri
    path: str
    line: int
    severity: Literal["error", "warning"]
    kind: str
    message: str


class JudgedView(NamedTuple):
    """A judgement: a line for all of it, and its problems; `more` says how many are not named."""

    words: str
    problems: tuple[ProblemView, ...]
    more: str | None


def judged_view(judged: Judged, folders: Sequence[Uri], t: Words) -> JudgedView:
    """The view of a judgement."""
    kinds: dict[str, str] = {"error": t("error"), "warning": t("warning")}
    problems = tuple(
        ProblemView(
            each.uri,
            shown_in(each.uri, folders),
            each.line + 1,
            each.severity,
            kinds[each.severity],
            each.message,
        )
        for each in judged.problems
    )
    more = judged.total - len(problems)
    return JudgedView(judged_words(judged, t), problems, t("and {0} more", more) if more > 0 else None)


def judged_words(judged: Judged, t: Words) -> str:
    """A judgement in a line, with who has judged."""
    if judged == NOT_YET:
        return t("New problems are not yet known")
    if not judged.total:
        if judged.unknown is not None:
            return t("New problems are not known: {0}", judged.unknown)
        return t("No new problems ({0})", judged.by)
    found = t.plural(judged.total, "1 new problem ({1})", "{0} new problems ({1})", judged.by)
    return found if judged.unknown is None else f"{found} · {judged.unknown}"


def judged_lines(judged: Judged, folders: Sequence[Uri], t: Words) -> Iterator[str]:
    """A judgement for a question: the line, and the first of its problems."""
    view = judged_view(judged, folders, t)
    yield view.words
    for each in view.problems[:_MOST]:
        yield f"{each.path}:{each.line}: {each.kind}: {each.message}"
    if (more := judged.total - len(view.problems[:_MOST])) > 0:
        yield t("and {0} more", more)
