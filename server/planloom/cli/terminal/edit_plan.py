"""Lets a person edit a plan at the terminal before it runs, one step edit at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rich.console import Console

from planloom.cli.client.connection import ServerError
from planloom.cli.client.messages import Json, Plan, PlanView, Step
from planloom.cli.terminal import keyboard, show
from planloom.cli.terminal.person import Terminal

Send = Callable[[PlanView, Json], Awaitable[PlanView]]
"""Sends one StepEdit for this version of the plan and returns the view of the edited plan. Raises ServerError."""

_HELP = (
    "<n> changes step n · r <n> removes · s <n> skips or takes back a skip · "
    "m <n> <k> moves n behind k (0: first) · a adds · Enter ends"
)


async def edit_plan(terminal: Terminal, console: Console, view: PlanView, send: Send) -> None:
    """Edit the plan until the person enters an empty line; the server validates each edit at once."""
    terminal.say(_HELP, "dim")
    while True:
        try:
            typed = (await terminal.line("edit> ")).split()
            if not typed:
                return
            edit = await _edit(terminal, view["plan"], typed)
        except keyboard.EndOfInput:
            return
        if edit is None:
            continue
        try:
            view = await send(view, edit)
        except ServerError as error:
            show.failure(console, error.message, error.hint, error.details)
            continue
        console.print(show.plan_table(view))


async def _edit(terminal: Terminal, plan: Plan, typed: list[str]) -> Json | None:
    word, numbers = typed[0].lower(), [_number(part) for part in typed[1:]]
    if word.isascii() and word.isdigit():
        word, numbers = "c", [_number(word)]
    steps = plan.get("steps") or []
    if word == "a":
        description = (await terminal.line("What should be done? ")).strip()
        last = steps[-1]["stepId"] if steps else None
        return {"op": "add", "after": last, "step": {"description": description}} if description else None
    step = _step(steps, numbers[0] if numbers else None)
    if step is None or word not in ("c", "r", "s", "m"):
        terminal.say(_HELP, "dim")
        return None
    match word:
        case "r":
            return {"op": "remove", "stepId": step["stepId"]}
        case "s":
            return {"op": "unskip" if step.get("status") == "skipped" else "skip", "stepId": step["stepId"]}
        case "m":
            target = _step(steps, numbers[1]) if len(numbers) > 1 else None
            if target is None and numbers[1:] != [0]:
                terminal.say("Behind which step? For example: m 3 1, or m 3 0 for the first place.", "dim")
                return None
            return {"op": "move", "stepId": step["stepId"], "after": target["stepId"] if target else None}
        case _:
            return await _change(terminal, step)


async def _change(terminal: Terminal, step: Step) -> Json | None:
    choices = {"d": "description", "i": "instruction"}
    if step.get("kind") == "tool_call":
        choices["a"] = "arguments"
    if step.get("kind") == "clarification":
        choices["q"] = "question"
    match await terminal.choose("Change its", choices | {"n": "nothing"}):
        case "d":
            changed = {"description": await terminal.text("description", step.get("description", ""))}
        case "i":
            changed = {"instruction": await terminal.text("instruction", step.get("instruction", ""))}
        case "q":
            changed = {"question": await terminal.text("question", step.get("question") or "")}
        case "a":
            args = await terminal.arguments(step.get("args") or {})
            return None if args is None else {"op": "update", "stepId": step["stepId"], "set": {"args": args}}
        case _:
            return None
    if None in changed.values():
        return None
    return {"op": "update", "stepId": step["stepId"], "set": changed}


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _step(steps: list[Step], number: int | None) -> Step | None:
    return steps[number - 1] if number is not None and 0 < number <= len(steps) else None
