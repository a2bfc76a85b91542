"""The hover on a word of a plan's document: a tool, a step that is waited for, the result of a step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from lsprotocol import types

from planloom.domain.changes import ChangeKind
from planloom.domain.errors import PlanloomError
from planloom.domain.events.reverts import standing
from planloom.domain.model_text.fences import fenced
from planloom.domain.plans.plan import Step
from planloom.domain.text.counted import cut
from planloom.domain.text.diff import unified
from planloom.domain.text.hidden_characters import visible
from planloom.domain.values import StepId, Uri
from planloom.lsp.plan_documents.features import View, arguments_of, range_of
from planloom.service.actions.markdown_text import as_line, as_text, code
from planloom.tools.registry import Registry, schema
from planloom.view.changes import kind_words
from planloom.view.judged import judged_lines
from planloom.workspace.paths.uris import shown_in

if TYPE_CHECKING:
    from planloom.service.application import Application

_IDS: Final = re.compile(r"\^?([A-Za-z]\w*)")
_FILES: Final = 5
_LINES: Final = 40
"""Lines of one file's diff that a hover shows."""
_WIDEST: Final = 500
"""Characters of one line of a diff that a hover shows."""
_RESULT: Final = 2_000


async def hover(app: Application, view: View, params: types.HoverParams) -> types.Hover | None:
    """The purpose and arguments of a tool, the result of a step, and the changes that it proposes or has made."""
    index, at = view.index, params.position
    for each in view.written.steps:
        for name, place in each.places.items():
            where = range_of(index, place, view.encoding)
            if not (where.start <= at <= where.end):
                continue
            if name == "tool":
                text = _tool_text(view.tools, str(each.values.get("tool")))
            elif name == "after":
                text = _steps_text(view, index.line_text(place.line)[place.start : place.end])
            elif name in ("", "id", "mark"):
                text = await _step_text(app, view, view.step(each))
            else:
                continue
            if text:
                return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), where)
    return None


def _tool_text(tools: Registry, name: str) -> str | None:
    tool = tools.get(name)
    if tool is None:
        return None
    lines = [f"**{tool.name}**: {tool.description}", ""]
    lines += [f"- `{each}`: {about}" for each, about in arguments_of(schema(tool.arguments))]
    return "\n".join(lines)


def _steps_text(view: View, said: str) -> str | None:
    found = (view.plan.step(StepId(match[1])) for match in _IDS.finditer(said))
    return (
        "\n\n".join(f"`{step.step_id}`: {as_line(step.title)}" for step in found if step is not None) or None
    )


async def _step_text(app: Application, view: View, step: Step | None) -> str | None:
    if step is None:
        return None
    shown, plan, t = view.shown[step.step_id], view.plan, view.words
    said = (step.result.summary or step.result.error or "") if step.result is not None else ""
    # A state that has something to it; the sign shows the rest.
    parts = (
        [shown.words[:1].upper() + shown.words[1:]]
        if shown.waits is not None or shown.stalled is not None
        else []
    )
    parts += [as_text(cut(each, _RESULT)) for each in (said, shown.lost or "") if each]
    for approval in plan.pending.approvals:
        if approval.step_id != step.step_id:
            continue
        parts.append(f"**{t('Proposed')}**")
        if approval.command is not None:
            parts.append(fenced(visible(approval.command[:_RESULT], keep="\n\t")))
        changes = []
        try:
            for file in approval.files[:_FILES]:
                found = await app.approvals.diff(approval.approval_id, file.uri)
                changes.append(_Change(file.change, file.uri, file.new_uri, found.before, found.after))
        except PlanloomError as error:
            # It was answered a moment ago.
            parts.append(as_text(error.message))
        parts += _changes(view, changes, len(approval.files))
        if approval.judged is not None:
            parts += map(as_text, judged_lines(approval.judged, plan.workspace_folders, t))
    made = _made(app, view, step.step_id)
    return "\n\n".join([*parts, *([f"**{t('Changed')}**"] if made else []), *made]) or None


class _Change(NamedTuple):
    """One file before and after a change; a text is None if there is no file."""

    kind: ChangeKind
    uri: Uri
    new_uri: Uri | None
    before: str | None
    after: str | None
    by_command: bool = False


def _made(app: Application, view: View, step_id: StepId) -> list[str]:
    """The changes of a step that still stand."""
    plan, changes = view.plan, list[_Change]()
    files = [(edit, file) for edit in standing(plan.edits) if edit.step_id == step_id for file in edit.files]
    for edit, file in files[:_FILES]:
        try:
            found = app.plans.diff(plan.plan_id, file.new_uri or file.uri, edit.edit_id)
        except PlanloomError as error:
            return [as_text(error.message)]
        by_command = edit.command is not None
        changes.append(_Change(file.change, file.uri, file.new_uri, found.before, found.after, by_command))
    return _changes(view, changes, len(files))


def _changes(view: View, changes: list[_Change], files: int) -> list[str]:
    parts = [part for change in changes for part in _change(view, change)]
    return [*parts, view.words("and {0} more", files - len(changes))] if files > len(changes) else parts


def _change(view: View, change: _Change) -> Iterator[str]:
    t, folders = view.words, view.plan.workspace_folders
    name = shown_in(change.uri, folders)
    moved = f" → {code(shown_in(change.new_uri, folders))}" if change.new_uri is not None else ""
    by = f" · {t('by a command')}" if change.by_command else ""
    yield f"{code(name)}{moved}: {kind_words(change.kind, t)}{by}"
    lines = unified(change.before, change.after, name, name).rstrip("\n").split("\n")[2:]
    shown = [cut(line.removesuffix("\r"), _WIDEST) for line in lines[:_LINES]]
    if shown:
        yield fenced(visible("\n".join(shown), keep="\n\t"), "diff")
    if (left := len(lines) - _LINES) > 0:
        yield t.plural(left, "and 1 more line", "and {0} more lines")
