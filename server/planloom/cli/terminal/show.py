"""Renders plans, requests, steps and changed files for the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from planloom.cli.client.messages import (
    Attachment,
    ChangedFile,
    Detection,
    Json,
    Plan,
    PlanView,
    ReportedFile,
    Step,
    StepView,
    Unresolved,
)
from planloom.cli.client.views import present_uri
from planloom.cli.plain import one_line, visible
from planloom.domain.text.counted import counted
from planloom.domain.text.hidden_characters import plain_spaces
from planloom.version import DOCUMENTATION
from planloom.view.figures import rule_words
from planloom.view.words import Words
from planloom.workspace.paths.uris import to_path

_WORDS = Words()
MARKS = {
    "completed": Text("✔", "bold green"),
    "failed": Text("✘", "bold red"),
    "cancelled": Text("–", "bold yellow"),
    "rejected": Text("–", "bold yellow"),
    "skipped": Text("–", "yellow"),
    "running": Text("▸", "cyan"),
    "waiting": Text("?", "bold magenta"),
    "needs_clarification": Text("?", "bold magenta"),
    "stalled": Text("…", "cyan"),
    "unchanged": Text("=", "bold"),
    "warning": Text("!", "bold yellow"),
    "partly": Text("!", "bold yellow"),
    "undone": Text("↶", "bold yellow"),
}
"""The marks for the signs of plans and steps."""
CHANGE_STYLES = {
    "create": "green",
    "createFolder": "green",
    "edit": "yellow",
    "rename": "cyan",
    "delete": "bold red",
}


_PAGE = re.compile(rf"{re.escape(DOCUMENTATION)}/([\w./#-]+)")
_CHECKS = {"file_exists": "file exists", "file_contains": "file contains", "no_new_errors": "no new errors"}
"""The words before what a check names, where that does not say what is checked."""


def plan_table(view: PlanView) -> RenderableType:
    """The plan as a table: each step, what it runs, and the steps that it depends on."""
    plan = view["plan"]
    steps = plan.get("steps") or []
    numbers = {step["stepId"]: str(number) for number, step in enumerate(steps, 1)}
    done = any(each["sign"] in MARKS for each in view["steps"])
    table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right", style="dim", no_wrap=True)
    if done:
        table.add_column("")
    table.add_column("Step", ratio=5, overflow="fold")
    table.add_column("What runs", ratio=6, overflow="fold")
    if not plan.get("sequential") and any(step.get("dependsOn") for step in steps):
        table.add_column("After", overflow="fold")
    for shown in view["steps"]:
        step = shown["step"]
        row: list[RenderableType] = [str(shown["number"])]
        row += [MARKS.get(shown["sign"], Text(" "))] if done else []
        runs = _rules(step).append_text(_what_runs(step))
        if step.get("checks") and step.get("kind") != "check":
            runs.append("\n").append_text(_checks(step))
        row += [Text(visible(step.get("description", ""))), runs]
        if len(table.columns) > len(row):
            after = (numbers.get(before, before) for before in step.get("dependsOn") or [])
            row.append(Text(visible(", ".join(after))))
        table.add_row(*row)
    return Group(_plan_title(plan), table)


def _plan_title(plan: Plan) -> Text:
    steps = plan.get("steps") or []
    title = Text.assemble(
        ("Plan", "bold"),
        f"  {counted(len(steps), 'step')}",
        f"{', one after another' if plan.get('sequential') and len(steps) > 1 else ''}",
    )
    risk = plan.get("overallRisk", "low")
    title.append(f" · risk {risk}", {"high": "bold red", "medium": "yellow"}.get(risk, ""))
    title.append(f" · written by {plan.get('author', 'rules')} · version {plan.get('version', 0)}", "dim")
    if plan.get("summary"):
        title.append(f"\n{visible(plan['summary'])}", "italic")
    for line in plan.get("commandsRun") or []:
        title.append(f"\nRun while planning: {visible(line)}")
    if plan.get("asksAgain"):
        title.append(f"\n{visible(plan['asksAgain'] or '')}")
    return title


def _rules(step: Step) -> Text:
    """The condition and the loop of a step, which are approved with it."""
    text = Text()
    rules = (
        ("if ", step.get("when")),
        ("for each of ", step.get("forEach")),
        ("again until ", step.get("repeatUntil")),
    )
    for words, rule in rules:
        if rule:
            text.append(words, "magenta").append(f"{visible(rule)}\n")
    return text


def _what_runs(step: Step) -> Text:
    if step.get("kind") == "clarification":
        return Text.assemble(
            ("asks ", "magenta"), visible(step.get("question") or step.get("instruction", ""))
        )
    if step.get("kind") == "approval":
        return Text.assemble(("waits for your yes ", "magenta"), visible(step.get("question") or ""))
    if step.get("kind") == "sub_plan":
        words = Text.assemble(("template ", "magenta"), visible(step.get("templateId") or ""), " ")
        return words.append_text(arguments(step.get("args") or {}))
    if step.get("kind") == "check":
        return _checks(step)
    if step.get("kind") == "tool_call" and step.get("tool"):
        # What is not asked again is approved as it stands here.
        whole = not step.get("requiresApproval")
        args = arguments(step.get("args") or {}, whole=whole)
        return Text.assemble((visible(step["tool"] or ""), "cyan"), " ", args)
    instruction = step.get("instruction", "")
    if instruction == step.get("description"):
        return Text("a model works it out", "magenta")
    # It is approved as it stands here, so nothing of it is cut.
    return Text.assemble(("a model: ", "magenta"), visible(instruction))


def _checks(step: Step) -> Text:
    """The checks of a step, which are approved with it."""
    checks = (
        " ".join(
            filter(None, (_CHECKS.get(each["kind"]), each.get("command"), each.get("path"), each.get("text")))
        )
        for each in step.get("checks") or []
    )
    return Text.assemble(("checks ", "magenta"), visible(", ".join(checks)))


def arguments(args: Mapping[str, Any], *, whole: bool = False) -> Text:
    """The arguments of a call: a command is shown whole, other long texts are cut or become their line count, unless
    all is to be `whole`.
    """
    text = Text()
    for key, value in args.items():
        name = one_line(key, 40)
        if not text and name in ("path", "command", "old_path"):
            text.append(visible(str(value)) if whole or name == "command" else one_line(str(value), 120))
        elif whole and isinstance(value, str):
            text.append(f" {name} ", "dim").append(
                f"\n{visible(value)}" if "\n" in value else f"“{visible(value)}”"
            )
        elif name == "new_text" and "old_text" in args:
            text.append(" → ", "dim").append_text(_value(value))
        elif name == "old_text":
            text.append(" ").append_text(_value(value))
        else:
            text.append(f" {name} ", "dim").append_text(_value(value))
    return text


def _value(value: Any) -> Text:
    if not isinstance(value, str):
        return Text(one_line(json.dumps(value, ensure_ascii=False), 60))
    lines = len(value.splitlines())
    return Text(f"({lines} lines)", "dim") if lines > 1 else Text(f"“{one_line(value, 60)}”")


def route_line(event: Json) -> str:
    """How a request that was undecided continues, and who has decided that."""
    routes = {"direct": "it goes ahead without a plan", "perspectives": "it is planned after three reports"}
    how = routes.get(str(event.get("route")), "it is planned")
    rule = (event.get("detection") or {}).get("rule", "")
    if rule == "model":
        is_open = event.get("route") == "direct"
        return (
            "It goes ahead, unless the model submits a plan." if is_open else f"The model has decided: {how}."
        )
    return f"No model has decided, so {how}: {rule_words(rule, _WORDS)}."


def request_lines(
    detection: Detection,
    attachments: Iterable[Attachment],
    unresolved: Iterable[Unresolved],
    route: str,
    *,
    asked: bool = False,
) -> Iterable[Text]:
    """How the request continues and why, and a line for each of its references. `asked`: the user has chosen how."""
    why = rule_words(detection["rule"], _WORDS) if "rule" in detection else ""
    routes = {
        "direct": "Goes ahead without a plan",
        "undecided": "Whether it needs a plan is for a model to decide",
    }
    heading = routes.get(route, "Needs a plan")
    natural = not asked and bool(detection.get("planned")) == (route != "direct")
    yield Text.assemble((heading, "bold"), f": {why}." if natural and why and route != "undecided" else ".")
    for item in attachments:
        size = f" ({_bytes(item.get('bytes', 0))}{', cut' if item.get('truncated') else ''})"
        note_text = item.get("note")
        note = f" {visible(note_text)}" if note_text else ""
        shown = size if item.get("kind") in ("file", "selection") else ""
        yield Text.assemble(("  + ", "green"), one_line(item.get("reference", "")), (f"{shown}{note}", "dim"))
    for missing in unresolved:
        yield Text.assemble(
            ("  ! ", "bold yellow"),
            one_line(missing.get("reference", "")),
            f" {visible(missing.get('message', ''))}",
        )


def step_line(shown: StepView, sign: str, note: str = "") -> Table:
    """One step: its mark, number, description and where it stands, a note below, and its time on the right."""
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(width=1)
    row.add_column(justify="right", min_width=2, style="dim")
    row.add_column(ratio=1, overflow="fold")
    row.add_column(justify="right", style="dim", no_wrap=True)
    text = Text(visible(shown["step"].get("description", "")))
    if sign == shown["sign"] != "completed":
        text.append(f"  {shown['words']}", "dim")
    if note:
        text.append(f"\n{visible(note)}", "red" if sign == "failed" else "dim")
    row.add_row(MARKS.get(sign, Text(" ")), str(shown["number"]), text, duration(shown.get("workedMs")))
    return row


def step_summary(summary: str | None, description: str) -> str:
    """The summary of a finished step; empty if it repeats the description ("Create x", "Created x.")."""
    summary_words, description_words = (
        text.casefold().rstrip(".").split()[1:] for text in (summary or "", description)
    )
    return "" if summary_words == description_words else one_line(summary or "", 300)


def changed_tree(
    files: Iterable[ChangedFile], folders: Sequence[Path], reported: Iterable[ReportedFile] = ()
) -> Tree:
    """Changed files as a tree of folders; `reported` are those of a report, with their changed lines."""
    tree = Tree(Text("Changed", "bold"), guide_style="dim")
    nodes: dict[str, Tree] = {"": tree}
    counts = {file["uri"]: file for file in reported}
    named = {relative(present_uri(file), folders): file for file in files}
    for name, file in sorted(named.items()):
        parts = name.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if folder not in nodes:
                nodes[folder] = nodes["/".join(parts[: depth - 1])].add(Text(f"{visible(parts[depth - 1])}/"))
        last = visible(parts[-1]) + ("/" if file["change"] == "createFolder" else "")
        label = Text.assemble(last, "  ", (file["kind"], CHANGE_STYLES.get(file["change"], "")))
        label.append_text(_lines(counts.get(present_uri(file), {})))
        if file["words"]:
            label.append(f"  {file['words']}", "bold yellow")
        if file["byCommand"]:
            lasting = ", which cannot be taken back" if file["lasting"] else ""
            label.append(f"  changed by a command{lasting}", "dim")
        if name in nodes:
            nodes[name].label = label
        else:
            nodes[name] = nodes["/".join(parts[:-1])].add(label)
    return tree


def _lines(file: ReportedFile) -> Text:
    """`+3 −1`, empty where the lines were not counted."""
    text = Text()
    if added := file.get("added"):
        text.append(f" +{added}", "green")
    if removed := file.get("removed"):
        text.append(f" −{removed}", "red")
    return text


def relative(uri: str, folders: Sequence[Path]) -> str:
    """A URI or path relative to its workspace folder; with several folders, the folder's name comes first."""
    path = to_path(uri) if ":" in uri else Path(uri)
    if path is None:
        return uri
    for folder in folders:
        if path.is_relative_to(folder):
            inside = path.relative_to(folder).as_posix()
            return inside if len(folders) == 1 else f"{folder.name}/{inside}"
    return str(path)


def say(text: str, style: str = "", *, stderr: bool = False) -> None:
    """Print a sentence; to stderr if it is no answer."""
    console(stderr=stderr).print(Text(visible(text), style))


def failure(console: Console, message: str, hint: str | None, details: Any = None) -> None:
    """Print what was refused or has failed, each of its problems, and what to do about it."""
    if message:
        console.print(Text(visible(message), "bold red"))
    for problem in problems(details, message):
        console.print(Text(f"  {problem}", "red"))
    if hint:
        console.print(advised(hint))


def advised(hint: str) -> RenderableType:
    """What to do about an error. The page about it is a link by its short name, which also finds it by hand."""
    text = Text(style="yellow")
    for number, part in enumerate(_PAGE.split(visible(hint))):
        text.append(
            f"docs/{part}" if number % 2 else part, f"dim link {DOCUMENTATION}/{part}" if number % 2 else ""
        )
    return Padding(text, (0, 0, 0, 2))


def problems(details: Any, message: str = "") -> list[str]:
    """The problems in an error's details that its message leaves out, one line each; none for other details."""
    listed = [
        item
        for item in (details if isinstance(details, list) else ())
        if isinstance(item, dict) and (not message or str(item.get("problem")) not in message)
    ]
    return [line for line in map(_problem, listed) if line]


def _problem(item: Mapping[str, Any]) -> str:
    """A problem of a step or a field, or an ambiguous reference with its candidates."""
    if item.get("problem"):
        where = " ".join(str(item[key]) for key in ("stepId", "field") if item.get(key))
        return visible(f"{where}: {item['problem']}")
    candidates = item.get("candidates") or []
    if candidates:
        return visible(f"{item.get('reference', '')} may be {', '.join(map(str, candidates[:20]))}")
    return ""


def duration(milliseconds: int | None) -> str:
    """A duration as text; empty for None."""
    if milliseconds is None:
        return ""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"


def _bytes(count: int) -> str:
    return f"{count} bytes" if count < 2048 else f"{count / 1024:.1f} kB"


class Prose:
    """A model's text in Markdown: rendered at a terminal, as it is written anywhere else.

    The target of each link is written out, since a terminal would hide it behind the words.
    """

    def __init__(self, text: str) -> None:
        self._text = visible(plain_spaces(text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal:
            yield Text(self._text)
            return
        # Imported here, since it takes longer than the rest of rich.
        from rich.markdown import Markdown

        yield Markdown(self._text, hyperlinks=False)


def console(*, stderr: bool = False) -> Console:
    """A console that obeys NO_COLOR, and does not interpret markup or emoji codes in untrusted text."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=False)
