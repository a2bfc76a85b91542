"""Renders an approval with everything that a person must see before allowing it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from planloom.cli.client.messages import (
    Approval,
    ApprovalFile,
    ConfinementRequest,
    DiffResult,
    Json,
    PlanView,
)
from planloom.cli.plain import one_line, visible
from planloom.cli.terminal import show
from planloom.cli.terminal.diffs import diff_rows
from planloom.domain.text.counted import counted
from planloom.workspace.paths.uris import to_path

DIFF_LINES = 120
"""Lines of one diff that are shown where no person is asked."""
_MOST_LINES = 4000
"""Lines of one diff that a person can look through."""

_DIFF_STYLES = {"+": "green", "-": "red", " ": "dim"}
_CREATED = {"create": "new", "createFolder": "new folder"}
_EFFECTS = {"write": "yellow", "destroy": "bold red", "execute": "magenta", "fetch": "magenta"}


def approval_panel(
    approval: Approval,
    diffs: Sequence[DiffResult],
    folders: Sequence[Path],
    *,
    limit: int = DIFF_LINES,
) -> Panel:
    """The title, warnings, command and address of an approval, the steps that change, and each file with its diff.

    At most `limit` lines of each diff are shown.
    """
    parts: list[RenderableType] = []
    if approval.get("warning"):
        parts.append(Text(f"! {visible(approval.get('warning') or '')}", "bold red"))
    if approval.get("protected"):
        parts.append(
            Text("! It touches a protected name: such a file can run code or configure tools.", "bold red")
        )
    if approval.get("command") is not None:
        parts.append(Text(f"$ {visible(approval.get('command') or '')}", "bold"))
        parts.append(Text(f"  in {visible(_folder(approval, folders))}", "dim"))
    confinement = approval.get("confinement")
    if confinement is not None:
        parts.append(Text(f"  {visible(confinement['line'])}", _confinement_style(confinement)))
    if approval.get("url") is not None:
        parts.append(Text(f"GET {visible(approval.get('url') or '')}", "bold", overflow="fold"))
        parts.append(Text(f"  from {visible(approval.get('host') or '')}", "dim"))
    plan_changes = approval.get("planChanges") or []
    if plan_changes or approval.get("goesOn"):
        # The title ends with the model's reason, which the border may cut.
        parts.append(Text(visible(approval.get("title", "")), "dim", overflow="fold"))
    for change in plan_changes:
        parts += _plan_change(change)
    by_uri = {diff["uri"]: diff for diff in diffs}
    for file in approval.get("files") or []:
        parts.append(_file_title(file, folders))
        if file["uri"] in by_uri:
            parts.append(_diff(by_uri[file["uri"]], limit))
    parts += _judged(approval, folders)
    effect = approval.get("effect", "write")
    return Panel(
        Group(*parts),
        title=Text(one_line(approval.get("title", "Approval"), 90), "bold"),
        title_align="left",
        border_style=_EFFECTS.get(effect, "red"),
        box=box.ROUNDED,
        padding=(0, 1),
    )


def _judged(approval: Approval, folders: Sequence[Path]) -> list[RenderableType]:
    """What language servers say of the changes: a line, and the problems at their lines of the changed text."""
    judged = approval.get("judged")
    if judged is None:
        return []
    problems, total = judged.get("problems") or [], judged["total"]
    by, unknown = judged.get("by"), judged.get("unknown")
    headline = judged["headline"][:1].upper() + judged["headline"][1:]
    line = f"{headline}{f' ({by})' if by else ''}{f': {unknown}' if unknown else ''}"
    found: list[RenderableType] = [Text(visible(line), "yellow" if total else "dim", overflow="fold")]
    for each in problems:
        place = f"{show.relative(each['uri'], folders)}:{each['line'] + 1}"
        style = "red" if each["severity"] == "error" else "yellow"
        text = Text(f"{visible(place)}: ", overflow="fold").append(f"{each['severity']}: ", style)
        found.append(Padding(text.append(visible(each["message"])), (0, 0, 0, 2)))
    if (more := total - len(problems)) > 0:
        found.append(Text(f"  and {more} more", "dim"))
    return found


def _folder(approval: Approval, folders: Sequence[Path]) -> str:
    """The folder of a command, the workspace folder by its whole path; or the server or package of a tool."""
    if server := approval.get("server"):
        return f"the MCP server {server}"
    if package := approval.get("package"):
        return f"the package {package}"
    folder = approval.get("cwd") or "."
    return str(folders[0]) if folder == "." and len(folders) == 1 else folder


def _confinement_style(confinement: ConfinementRequest) -> str:
    if not confinement["confined"]:
        return "bold red"
    # Without means to confine it, there is nothing else to choose.
    return "yellow" if confinement.get("asksNetwork") or not confinement.get("offers") else "dim"


def whole_approval(
    approval: Approval, diffs: Sequence[DiffResult], folders: Sequence[Path]
) -> tuple[Panel, int]:
    """An approval with all that a person can look through, and the number of lines that are too many for that."""
    left_out = sum(diff_rows(diff.get("before"), diff.get("after"), limit=_MOST_LINES)[1] for diff in diffs)
    return approval_panel(approval, diffs, folders, limit=_MOST_LINES), left_out


def changes_of_plan(view: PlanView, changes: Sequence[Json]) -> RenderableType:
    """The changes of a version under review since the one before it."""
    title = Text(f"Version {view['plan']['version']} of the plan", "bold")
    steps = counted(len(view["steps"]), "step")
    title.append(f", {steps}, changed in {counted(len(changes), 'step')}:", "not bold")
    return Group(title, *(line for change in changes for line in _plan_change(change)))


def _plan_change(change: Json) -> list[Text]:
    """A step of the rest of the plan before and after the change; `+` and `-` stand as in a diff."""
    before, after = (visible(change.get(name) or "").splitlines() for name in ("before", "after"))
    match change.get("kind"):
        case "added":
            return _lines("+", after)
        case "dropped":
            return _lines("-", before)
        case "moved":
            text = f"  {' '.join(before)}, now {' '.join(after).partition('. ')[0]}."
            return [Text(text, "cyan")]
        case _:
            kept = [line for line in after[1:] if line in before]
            old = [line for line in before if line not in kept]
            return [*_lines("-", old), *_lines("+", after)]


def _lines(sign: str, lines: Sequence[str]) -> list[Text]:
    """The lines of a step, those after the first indented."""
    return [
        Text(f"{sign} {line}" if number == 0 else f"{sign}    {line}", _DIFF_STYLES[sign], overflow="fold")
        for number, line in enumerate(lines)
    ]


def change_panel(file: ApprovalFile, diff: DiffResult, folders: Sequence[Path]) -> Panel:
    """One file that was changed without asking, with its diff."""
    return Panel(
        _diff(diff, DIFF_LINES),
        title=_file_title(file, folders),
        title_align="left",
        border_style="dim",
        box=box.ROUNDED,
        padding=(0, 1),
    )


def _file_title(file: ApprovalFile, folders: Sequence[Path]) -> Text:
    change = file.get("change", "edit")
    word, style = _CREATED.get(change, change), show.CHANGE_STYLES.get(change, "red")
    name = show.relative(file["uri"], folders)
    title = Text.assemble((f"{word} ", style), (visible(name), "bold"))
    if file.get("newUri"):
        title.append(f" → {visible(show.relative(file.get('newUri') or '', folders))}", "bold")
    if file.get("added"):
        title.append(f"  +{file['added']}", "green")
    if file.get("removed"):
        title.append(f"  −{file['removed']}", "red")
    ends = ((file["uri"], file.get("resolvedPath")), (file.get("newUri"), file.get("newResolvedPath")))
    for uri, resolved in ends:
        if uri and resolved and not _same_path(resolved, uri):
            title.append(f"\n  is really {visible(resolved)}", "bold red")
    return title


def _diff(diff: DiffResult, limit: int) -> RenderableType:
    rows, hidden = diff_rows(diff.get("before"), diff.get("after"), limit=limit)
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for number, mark, text in rows:
        match mark:
            case "gap":
                grid.add_row("⋮")
            case "note":
                grid.add_row("", "", Text(text, "dim italic"))
            case _:
                style = _DIFF_STYLES[mark]
                grid.add_row(str(number), Text(mark, style), Text(text, style))
    if not hidden:
        return grid
    return Group(
        grid,
        Text(f"… {counted(hidden, 'more line')} {'is' if hidden == 1 else 'are'} not shown", "bold yellow"),
    )


def _same_path(resolved: str, uri: str) -> bool:
    path = to_path(uri)
    return path is not None and Path(resolved) == path
