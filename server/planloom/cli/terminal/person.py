"""Asks the person at the terminal, one question at a time."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.text import Text

from planloom.cli.client.connection import ServerError
from planloom.cli.client.messages import (
    Approval,
    Conflict,
    DiffResult,
    Json,
    PlanView,
    Question,
    Recovery,
    Step,
)
from planloom.cli.client.views import first_to_skip, offers
from planloom.cli.plain import one_line, visible
from planloom.cli.terminal import keyboard, show, show_approval, show_report
from planloom.cli.terminal.ask_approval import ask_approval, ask_list
from planloom.cli.terminal.decisions import (
    Leave,
    PauseChoice,
    RecoveryChoice,
    ReviewChoice,
    Reviewed,
    Verdict,
)
from planloom.cli.terminal.pages import Pages
from planloom.domain.text.counted import counted

Send: TypeAlias = Callable[[str], Awaitable[object]]
"""Sends an edited text to the server. Raises ServerError if it refuses it."""
_REVIEW: Mapping[str, tuple[str, ReviewChoice]] = {
    "y": ("execute", "execute"),
    "r": ("revise: say what should change", "revise"),
    "d": ("drop the plan: the model works on the request at once", "direct"),
    "e": ("edit it as a document in your editor", "edit"),
    "c": ("cancel", "cancel"),
}
_LATER = {"l": "leave it for later"}
_WORDS_OF_A_SENTENCE = 3
"""Words from which an answer at the review says what should change; `yes please` does not."""
_PAUSES: Mapping[str, PauseChoice] = {"r": "resume", "s": "skip", "b": "review", "c": "cancel"}
_OF_A_STEP = ("model_unavailable", "error")
"""The reasons of a pause by which one step could not go on."""
_RECOVERIES = {
    "retry": ("r", "retry"),
    "skip": ("s", "skip it and what depends on it"),
    "go_on": ("g", "skip only it and go on"),
    "model": ("m", "let the model propose"),
    "accept": ("p", "take the proposal"),
    "abort": ("c", "cancel the plan"),
}


class Terminal:
    """Prints questions on a console and reads the answers. A closed input leaves the plan for later."""

    def __init__(self, console: Console, folders: Sequence[Path]) -> None:
        self.console = console
        self.folders = folders

    async def choose(self, question: str, choices: Mapping[str, str]) -> str:
        """Ask until the answer is a key of `choices`, or its label; returns the key. Raises EndOfInput."""
        while (chosen := await self._chosen(question, choices)) not in choices:
            if chosen:
                self.say(f"Answer with one of: {', '.join(choices)}", "dim")
        return chosen

    async def choose_or_leave(self, question: str, choices: Mapping[str, str]) -> str:
        """As `choose`, with the choice to leave the plan for later, for which it raises Leave."""
        if (chosen := await self.choose(question, {**choices, **_LATER})) in _LATER:
            raise Leave
        return chosen

    async def _chosen(self, question: str, choices: Mapping[str, str]) -> str:
        """Ask once: the key of the choice, else what was typed. Raises EndOfInput."""
        prompt = Text(f"{question}  ", "bold")
        for key, words in choices.items():
            prompt.append(f"[{key}] ", "bold cyan").append(f"{words}   ")
        typed = (await self.line(prompt.append("\n> ", "bold cyan"))).strip()
        for key, words in choices.items():
            if typed.lower() in (key, words.lower(), words.lower().split()[0]):
                return key
        return typed

    async def agrees(self, question: str, choices: Mapping[str, str]) -> bool:
        """Whether the person chooses the first of two choices; not if the input is closed."""
        try:
            return await self.choose(question, choices) == next(iter(choices))
        except keyboard.EndOfInput:
            return False

    async def line(self, prompt: str | Text) -> str:
        """The line that is typed after a prompt. Raises EndOfInput."""
        keyboard.forget_typed()
        self.console.print(prompt if isinstance(prompt, Text) else Text(prompt, "bold cyan"), end="")
        self.console.file.flush()
        return await keyboard.read_line()

    async def one_of(self, options: Sequence[str], prompt: str) -> str:
        """The option whose number is typed, else what is typed. Raises EndOfInput."""
        for number, option in enumerate(options, 1):
            self.say(f"  {number}  {option}")
        typed = (await self.line(prompt)).strip()
        chosen = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 4 else 0
        return options[chosen - 1] if 0 < chosen <= len(options) else typed

    def say(self, text: str, style: str = "") -> None:
        """Print a sentence between questions."""
        self.console.print(Text(visible(text), style))

    async def review(self, view: PlanView, changes: Sequence[Json]) -> Reviewed:
        whole, part = show_report.whole_plan(view), show_approval.changes_of_plan(view, changes)
        pages = Pages(self.console, part if changes else whole)
        self.console.print()
        pages.show_next()
        while (answer := await self._reviewed(pages, whole_next=bool(changes))) is None:
            if not pages.unseen:
                pages, changes = Pages(self.console, whole), ()
            pages.show_next()
        return answer

    async def _reviewed(self, pages: Pages, *, whole_next: bool) -> Reviewed | None:
        """One question on the plan; None to be shown more of it. Raises Leave."""
        more: dict[str, str] = {}
        if pages.unseen:
            more = {"v": f"view {counted(pages.unseen, 'more line')}"}
        elif whole_next:
            more = {"v": "view the whole plan"}
        choices = more | {key: words for key, (words, _) in _REVIEW.items()} | {"l": "keep it for later"}
        while (chosen := await self._chosen("Execute this plan?", choices)) not in choices:
            if len(chosen.split()) >= _WORDS_OF_A_SENTENCE:
                return Reviewed("revise", chosen)
            if chosen:
                self.say(
                    f"Answer with one of: {', '.join(choices)}, or say in a sentence what should change",
                    "dim",
                )
        if chosen in _LATER:
            raise Leave
        return None if chosen in more else Reviewed(_REVIEW[chosen][1])

    async def revision(self) -> str:
        return (await self.line("What should change? (empty for nothing) ")).strip()

    async def typed(self) -> str:
        while not (line := (await keyboard.read_while_running()).strip()):
            pass
        return line

    async def approval(self, approval: Approval, diffs: Sequence[DiffResult]) -> Verdict:
        return await ask_approval(self, approval, diffs)

    async def approvals(self, listed: Sequence[Approval]) -> Sequence[Verdict] | None:
        return await ask_list(self, listed)

    async def question(self, question: Question) -> str:
        self.say(question.get("question", ""), "bold magenta")
        options = question.get("options") or []
        while not (typed := await self.one_of(options, "Answer (Ctrl-D leaves it for later): ")):
            pass
        return typed

    async def recovery(self, step: Step, recovery: Recovery) -> RecoveryChoice:
        proposal = recovery.get("proposal")
        several = recovery.get("code") == "several_matches"
        if proposal and not several:
            self.say(f"The model proposes to {proposal.get('action')}: {proposal.get('why')}", "cyan")
        options = [
            option
            for option in _RECOVERIES
            if option in (recovery.get("options") or ("retry", "skip", "abort"))
        ]
        choices = {_RECOVERIES[option][0]: _RECOVERIES[option][1] for option in options}
        if recovery.get("code") == "lacked_network" and "retry" in options:
            choices["r"] = "retry, to be asked for the network"
        if recovery.get("code") == "lacked_rights" and "retry" in options:
            choices["r"] = "retry, to be asked for more rights"
        if several and "accept" in options:
            choices["p"] = "replace all of them"
        if "retry" in options and step.get("kind") == "tool_call":
            choices["a"] = "change its arguments and retry"
        by_key = {_RECOVERIES[option][0]: option for option in options}
        while True:
            key = await self.choose_or_leave("What now?", choices)
            if key != "a":
                return RecoveryChoice(by_key[key])
            args = await self.arguments(step.get("args") or {})
            if args is not None:
                return RecoveryChoice("retry", args)

    async def conflict(self, conflict: Conflict) -> dict[str, str] | None:
        choices: dict[str, str] = {}
        for file in conflict.get("files") or []:
            self.say(f"{show.relative(file['uri'], self.folders)} was changed at the same lines", "bold red")
            for hunk in file.get("hunks") or []:
                self.say(f"  on disk:  {one_line(hunk.get('mine', ''))}", "green")
                self.say(f"  the step: {one_line(hunk.get('theirs', ''))}", "yellow")
            key = await self.choose_or_leave(
                "Keep which?",
                {"m": "mine, on disk", "t": "theirs, the step's", "b": "both", "c": "cancel the plan"},
            )
            if key == "c":
                return None
            choices[file["uri"]] = {"m": "mine", "t": "theirs"}.get(key, "both")
        return choices

    async def pause(self, view: PlanView) -> PauseChoice:
        choices = {}
        if resume := next((each for each in view["actions"] if each["command"] == "planloom.resume"), None):
            choices["r"] = str(resume["title"]).lower()
        if view["plan"].get("pauseReason") in _OF_A_STEP and (step := first_to_skip(view)) is not None:
            choices["s"] = f"skip step {step['number']}, then review the plan again"
        if offers(view, "planloom.review"):
            choices["b"] = "back to review"
        key = await self.choose_or_leave("The plan is paused.", choices | {"c": "cancel the plan"})
        return _PAUSES[key]

    async def attach_secret(self, reference: str, message: str) -> bool:
        prompt = f"{visible(message)} Attach {visible(reference)}?"
        return await self.agrees(prompt, {"y": "attach", "n": "leave out"})

    async def in_editor(self, text: str, suffix: str) -> str | None:
        """The text as the person edited it in their editor; None if that failed, which is said."""
        try:
            return await keyboard.edit_text(text, suffix)
        except keyboard.EditorFailed as failure:
            self.say(str(failure), "yellow")
            return None

    async def edited(self, text: str, suffix: str, send: Send) -> bool:
        """Let the person edit a text, again while it is refused; whether another one was sent. Raises Leave."""
        written = text
        while True:
            edited = await self.in_editor(written, suffix)
            if edited is None:
                return False
            if edited == text:
                self.say("Nothing was changed.", "dim")
                return False
            try:
                await send(edited)
            except ServerError as error:
                show.failure(self.console, error.words, error.hint, error.details)
            else:
                return True
            written = edited
            again = {"e": "edit it again", "b": "back, without these changes"}
            if await self.choose_or_leave("What now?", again) == "b":
                return False

    async def arguments(self, current: Mapping[str, Any]) -> dict[str, Any] | None:
        """Ask for new arguments of a call as JSON; None keeps the old ones. Raises EndOfInput."""
        written = json.dumps(current, indent=2, ensure_ascii=False)
        edited = await self.in_editor(written + "\n", ".json")
        if edited is None or not edited.strip():
            return None
        try:
            value = json.loads(edited)
        except (ValueError, RecursionError) as error:
            self.say(f"That is not JSON: {error}", "red")
            return None
        if not isinstance(value, dict):
            self.say("The arguments must be a JSON object.", "red")
            return None
        return value
