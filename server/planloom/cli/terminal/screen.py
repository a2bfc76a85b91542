"""Prints what happens while a plan runs: a line for each event, or the events as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.status import Status
from rich.text import Text

from planloom.cli.client.messages import (
    Approval,
    ApprovalFile,
    DiffResult,
    Json,
    PlanView,
    Step,
    StepView,
)
from planloom.cli.client.views import present_uri, step_of
from planloom.cli.plain import as_json, one_line, visible
from planloom.cli.terminal import show, show_approval, show_report
from planloom.domain.text.counted import counted
from planloom.view.words import Words

_MOST_WORDS = 600
_AFTER_WORDS = frozenset({"tool_started", "task_completed", "task_failed", "answer"})
"""The events of a step before which its model may have written words."""


class Screen:
    """Prints for people on `console` and, if `as_json`, for programs on stdout.

    A status line shows what runs at the moment; it is hidden while a question is open.
    """

    def __init__(self, console: Console, folders: Sequence[Path], *, as_json: bool = False) -> None:
        self._console = console
        self._folders = folders
        self._as_json = as_json
        self._status: Status | None = None
        self._running: dict[str, str] = {}
        self._answered: set[str] = set()
        self._tails: dict[str, str] = {}
        self._words: dict[str, str] = {}
        self._background: dict[str, str] = {}
        self._said: set[str] = set()
        self._advised = ""
        self._is_one_step = False
        self._spent: dict[str, Json] = {}

    def log_path(self, path: str) -> None:
        """Print the path of the log, as the first line."""
        self._json({"type": "cli_start", "logPath": path})
        self._console.print(Text(f"Log: {path}", "dim"), soft_wrap=True)

    def request_created(self, created: Json, *, asked: bool = False) -> None:
        """Print how the request was classified, unless its route was `asked` for, and its references."""
        for line in show.request_lines(
            created.get("detection") or {},
            created["plan"].get("attachments") or [],
            created.get("unresolved") or [],
            created["plan"].get("route", "plan"),
            asked=asked,
        ):
            self._console.print(line)

    def resumed(self, view: PlanView) -> None:
        """Print which plan goes on; one in review is shown whole, when it is asked about."""
        plan = view["plan"]
        self._console.print(
            Text.assemble(
                ("Plan ", "bold"), (plan["planId"][:8], "bold cyan"), f"  {one_line(plan['request'])}"
            )
        )
        if plan.get("approvedVersion") is not None:
            self._console.print(show.plan_table(view))

    def plan(self, view: PlanView) -> None:
        """Print the plan for review, with what it has used of which model so far."""
        self.pause()
        _, self._advised = show_report.problem_of(view) or ("", "")
        self._console.print()
        self._console.print(show_report.whole_plan(view))

    def approval(self, approval: Approval, diffs: Sequence[DiffResult]) -> None:
        """Print what an approval would change."""
        self.pause()
        self._console.print()
        self._console.print(show_approval.approval_panel(approval, diffs, self._folders))

    def change(self, file: ApprovalFile, diff: DiffResult) -> None:
        """Print a change that was made without asking."""
        self.pause()
        self._console.print(show_approval.change_panel(file, diff, self._folders))

    def made(self, file: ApprovalFile, view: PlanView) -> None:
        """Print that a change which was asked about is made."""
        uri = file.get("newUri") or file["uri"]
        kinds = {present_uri(each): each["kind"] for each in view["files"]}
        name = visible(show.relative(uri, self._folders))
        self._console.print(Text(f"  · {name}  {kinds.get(uri, '')}", "dim"))

    def note(self, sentence: str) -> None:
        """Print what a flag decided."""
        self._console.print(Text(f"  {sentence}", "dim"))

    def interrupted(self, sentence: str) -> None:
        """Print what follows from an interruption, below what was being typed."""
        self.pause()
        self._console.print()
        self.note(sentence)

    def failure(self, message: str, hint: str | None, details: Any = None) -> None:
        """Print a failure, each of its problems, and its hint; not again what the server or a plan has said already."""
        self.pause()
        is_said = any(each in message for each in self._said)
        hint = None if hint == self._advised else hint
        show.failure(self._console, "" if is_said else message, hint, details)

    def problem(self, view: PlanView) -> bool:
        """Print why the plan has failed, or cannot use a model, with what can be done; False if there is nothing."""
        problem = show_report.problem_of(view)
        if problem is not None:
            self.failure(*problem)
        return problem is not None

    def raw(self, event: Json) -> None:
        """Print an event as JSON, for programs."""
        self._json(event)

    def event(self, event: Json, view: PlanView) -> None:
        """Print an event; `view` shows the plan with it, and with later ones if a question was open meanwhile."""
        if thought := view.get("thought"):
            self._busy("draft", thought)
        else:
            self._idle("draft")
        found = step_of(view, event.get("taskId"))
        if found is not None:
            # A request that is one step is no list: its words stand above already, and its outcome comes at the end.
            self._is_one_step = view["plan"].get("route") == "direct" and len(view["steps"]) == 1
            if event["type"] in _AFTER_WORDS:
                said = event.get("text") or (event.get("result") or {}).get("summary") or ""
                self._show_words(found["step"]["stepId"], said)
            self._step_event(event, found)
        else:
            self._plan_event(event, view)

    def ended(self, view: PlanView) -> None:
        """Print how the plan ended, why, and its report; without a report its summary and the changed files."""
        self.pause()
        plan = view["plan"]
        report, error = plan.get("report"), plan.get("error")
        if report is not None and plan["status"] == "completed" and show_report.only_answers(report):
            self._show_used(view)
            return
        self._console.print()
        self._console.print(show_report.heading(view))
        if report is None and plan.get("executionSummary"):
            self._console.print(Padding(Text(visible(plan["executionSummary"])), (0, 0, 0, 2)))
        if error and not self.problem(view):
            self.failure(error.get("message", ""), error.get("hint"))
        for part in show_report.report_parts(view, self._folders):
            self._console.print(part)
        self._show_used(view)

    def left(self, view: PlanView) -> None:
        """Print how far a plan has come that is left for later, and how it is taken up again."""
        self.pause()
        plan_id, counts = view["plan"]["planId"][:8], view["progress"]
        done = (
            f", {counts['completed']} of {counted(counts['total'], 'step')} done"
            if counts["completed"]
            else ""
        )
        self._console.print()
        self._console.print(
            Text.assemble(
                (f"{view['state']}{done}. ", "bold yellow"),
                (f"`planloom resume {plan_id}` takes the plan up again; `planloom plans` lists it.", ""),
            )
        )

    def _show_used(self, view: PlanView) -> None:
        for line in show_report.used_lines(view):
            self._console.print(line)

    def result(self, outcome: Json) -> None:
        """Print the outcome as the last JSON line, for programs, with what its plan has used of models."""
        spent = self._spent.get(outcome.get("planId") or "")
        self._json({"type": "cli_result", **outcome} | ({"spent": spent} if spent else {}))

    def spent(self, params: Json) -> None:
        """Keep what a plan has used of models so far, for its end."""
        self._spent[params["planId"]] = params["spent"]

    def stream(self, params: Json) -> None:
        """Show the end of the text that a model or a command streams, in the status line; keep the words of a model."""
        key = params.get("stepId") or "draft"
        if params.get("kind") == "text":
            self._words[key] = self._words.get(key, "") + str(params.get("delta", ""))
        if key in self._running and self._status is not None:
            self._tails[key] = (self._tails.get(key, "") + str(params.get("delta", "")))[-400:]
            self._show_running()

    def pause(self) -> None:
        """Hide the status line, so that a question can be asked."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def say(self, level: str, message: str) -> None:
        """Print a message of the server for its user."""
        if level == "error":
            self._said.add(message.removeprefix("Planloom: "))
        style = {"error": "bold red", "warning": "yellow"}.get(level, "dim")
        self._console.print(Text(visible(message), style))

    def _plan_event(self, event: Json, view: PlanView) -> None:
        match event["type"]:
            case "plan_routed":
                self._console.print(Text(show.route_line(event), "dim"))
            case "perspective_complete":
                text = (event.get("perspective") or {}).get("analysis") or event.get("error") or ""
                style = "yellow" if event.get("perspective") is None else "dim"
                self._console.print(Text(f"  {_agent(event, view)}: {one_line(text, 240)}", style))
            case "plan_edited" if (event.get("plan") or {}).get("status") == "executing":
                count = counted(len(view["steps"]), "step")
                self._console.print(
                    Text(f"  A step changed the rest of the plan: it has {count} now.", "dim")
                )
            case "approval_resolved" if event.get("by") != "user":
                reason = event.get("reason") or f"by the {event.get('by')}"
                self._console.print(Text(f"  {event.get('decision')}: {visible(str(reason))}", "dim"))
            case "plan_paused":
                # The steps that ran were stopped.
                for key in tuple(self._running):
                    self._idle(key)
                if event.get("reason") == "user" and view.get("pause"):
                    self._console.print(Text(view["pause"], "yellow"))
            case "log":
                self.say(event.get("level", "info"), f"  {event.get('message', '')}")

    def _show_words(self, key: str, said: str) -> None:
        """Print what the model has written beside its calls, unless it is what it has `said` in their arguments."""
        words = one_line(self._words.pop(key, ""), _MOST_WORDS)
        if words and words.rstrip("…") not in one_line(said, 2 * _MOST_WORDS):
            self._console.print(Padding(Text(words, "dim"), (0, 0, 0, 2)))

    def _step_event(self, event: Json, shown: StepView) -> None:
        step = shown["step"]
        key = step["stepId"]
        match event["type"]:
            case "task_started":
                self._words.pop(key, None)
                self._at_work(event, step)
            case "task_update" if event.get("status") == "running":
                self._at_work(event, step)
            case "steps_unrolled":
                self._idle(key)
                self._console.print(
                    Text(f"  {shown['number']} {one_line(_unrolled(event, step), 160)}", "dim")
                )
            case "tool_started":
                words = step.get("activeForm") or step.get("description", "")
                self._busy(key, f"{words} · {event.get('tool')}")
            case "tool_completed" if step.get("kind") != "tool_call":
                # What the call has printed is not what the model writes next.
                self._tails.pop(key, None)
                self._busy(key, step.get("activeForm") or step.get("description", ""))
                if event.get("changes") and event.get("ok"):
                    # It is only proposed so far: the line comes when it is made.
                    return
                mark = Text("  · ", "dim") if event.get("ok") else Text("  ✘ ", "red")
                self._console.print(mark.append(one_line(event.get("summary", ""), 160), "dim"))
            case "background_started":
                self._background[event.get("commandId", "")] = event.get("command", "")
            case "background_ended":
                self._background_ended(event)
            case "task_completed" if self._is_one_step:
                self._idle(key)
            case "task_completed":
                said = (event.get("result") or {}).get("summary")
                said = "" if key in self._answered else show.step_summary(said, step.get("description", ""))
                self._step_ended(shown, shown["sign"], said)
            case "task_failed":
                again = " It is tried again." if event.get("willRetry") else ""
                self._step_ended(shown, "failed", f"{event.get('error', '')}{again}")
            case "task_skipped":
                self._step_ended(shown, shown["sign"], shown.get("skipped") or "")
            case "edit_rejected":
                self._console.print(Text(f"  ! {visible(event.get('reason', ''))}", "yellow"))
            case "edit_applied" if event.get("merged"):
                self._console.print(Text("  merged with what changed meanwhile", "cyan"))
            case "check_completed" if (event.get("check") or {}).get("outcome") == "failed":
                self._console.print(Text(f"  ✘ check: {visible(event['check'].get('detail') or '')}", "red"))
            case "answer":
                self.pause()
                self._console.print()
                self._console.print(Padding(show.Prose(event.get("text", "")), (0, 2)))
                if event.get("confidence") in ("low", "medium"):
                    self._console.print(Text(f"  confidence: {event['confidence']}", "yellow"))
                self._answered.add(key)

    def _background_ended(self, event: Json) -> None:
        command = self._background.pop(event.get("commandId", ""), "")
        # What the model has stopped, and what the report tells, needs no line of its own.
        if event.get("reason") in ("exit", "time_limit", "crash"):
            how = event.get("line") or "it ended"
            self._console.print(Text(f"  ! {one_line(f'{command}: {how}', 160)}", "yellow"))

    def _step_ended(self, shown: StepView, sign: str, note: str) -> None:
        self._idle(shown["step"]["stepId"])
        self._console.print(show.step_line(shown, sign, note))

    def _busy(self, key: str, words: str) -> None:
        self._running[key] = one_line(words, 80)
        self._show_running()

    def _at_work(self, event: Json, step: Step) -> None:
        words = event.get("activeForm") or step.get("activeForm") or step.get("description", "")
        self._busy(step["stepId"], Words().at_work(words, event.get("progress"), event.get("attempt") or 1))

    def _idle(self, key: str) -> None:
        self._running.pop(key, None)
        self._tails.pop(key, None)
        self._show_running()

    def _show_running(self) -> None:
        if not self._console.is_terminal:
            return
        if not self._running:
            self.pause()
            return
        text = Text(" · ".join(self._running.values()), "cyan", overflow="ellipsis", no_wrap=True)
        for tail in self._tails.values():
            text.append(f"  {one_line(tail[-120:])}", "dim")
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        else:
            self._status.update(text)

    def _json(self, value: Any) -> None:
        if self._as_json:
            sys.stdout.write(as_json(value) + "\n")
            sys.stdout.flush()


def _unrolled(event: Json, step: Step) -> str:
    """The number of steps that a loop or a sub-plan has become, or the loop's round."""
    count = sum(each.get("parent") == step["stepId"] for each in event["tasks"])
    if not step.get("repeatUntil"):
        return f"{step.get('description', '')}: {counted(count, 'step')}"
    most = f" of at most {step['repeatMost']}" if step.get("repeatMost") else ""
    return f"{step.get('description', '')}: round {count}{most}"


def _agent(event: Json, view: PlanView) -> str:
    """The name of an event's agent."""
    names = {each["agent"]: each["name"] for each in view.get("perspectives") or []}
    return str(names.get(event["agent"], event["agent"]))
