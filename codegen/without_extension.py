"""What a client without an extension sees in place of our own notifications and requests; tests hold it to the code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

BUTTONS, MESSAGE, LOGGED, TAKEN_BACK, DOCUMENT, PROGRESS, EDIT, RESULT, NOTHING, COUNTED = (
    "a message with buttons, and lenses in the plan's document",
    "a message; an answer of more than 2,000 characters also as a file that is shown",
    "a warning as a message, the rest in the editor's log",
    "its message is taken back",
    "the plan's document",
    "the progress, and the plan's document once it is ready for review",
    "the files themselves",
    "the line with the result of its step in the document, or the reason with which the step fails",
    "nothing: it changes only what a model is told, or is the user's own request",
    "nothing while the plan runs: `planloom/stats` counts it when it has ended",
)

EVENTS: Final[Mapping[str, str]] = {
    "plan_approval_request": BUTTONS,
    "approval_request": BUTTONS,
    "edit_conflict": BUTTONS,
    "clarification_request": BUTTONS,
    "recovery_request": BUTTONS,
    "plan_paused": BUTTONS,
    "plan_completed": MESSAGE,
    "plan_failed": MESSAGE,
    "plan_cancelled": MESSAGE,
    "answer": MESSAGE,
    "log": LOGGED,
    "approval_resolved": TAKEN_BACK,
    "approval_judged": DOCUMENT,
    "conflict_resolved": TAKEN_BACK,
    "recovery_chosen": TAKEN_BACK,
    "clarification_provided": TAKEN_BACK,
    "plan_approved": TAKEN_BACK,
    "plan_resumed": TAKEN_BACK,
    "plan_edited": TAKEN_BACK,
    "plan_rejected": DOCUMENT,
    "plan_executing": DOCUMENT,
    "plan_imported": DOCUMENT,
    "plan_ready": DOCUMENT,
    "tasks_list": DOCUMENT,
    "steps_unrolled": DOCUMENT,
    "task_started": DOCUMENT,
    "task_completed": DOCUMENT,
    "task_failed": DOCUMENT,
    "task_skipped": DOCUMENT,
    "plan_start": PROGRESS,
    "plan_drafting": PROGRESS,
    "plan_direct": PROGRESS,
    "task_created": PROGRESS,
    "task_update": PROGRESS,
    "perspective_start": PROGRESS,
    "perspective_complete": PROGRESS,
    "edit_applied": EDIT,
    "edit_reverted": EDIT,
    "command_changed": EDIT,
    "files_renamed": EDIT,
    "condition_evaluated": RESULT,
    "tool_started": RESULT,
    "tool_completed": RESULT,
    "background_started": RESULT,
    "background_ended": RESULT,
    "check_completed": RESULT,
    "edit_started": RESULT,
    "edit_rejected": RESULT,
    "plan_routed": NOTHING,
    "plan_message": NOTHING,
    "messages_read": NOTHING,
    "context_compacted": NOTHING,
    "model_used": COUNTED,
}
"""What a client that does not declare `events` sees of each event of `planloom/event`."""
METHODS: Final[Mapping[str, str]] = {
    "planloom/plan/view": "the plan's document, the questions and the progress",
    "planloom/stream": "the progress while the model writes, and the whole at the end",
    "planloom/health": "each problem as a message, and another when it has passed",
    "planloom/waits": "the progress, which goes on when the other step has ended",
    "planloom/spent": COUNTED,
    "planloom/editor/diagnostics": "the check “no new errors” says that it cannot be made",
    "planloom/editor/language": "language servers that the server starts itself are asked, if there are any",
    "planloom/editor/save": "before a command, a plan with unsaved changes pauses until they are saved, and says so",
    "planloom/editor/createFolder": "the server makes an empty folder on disk",
    "planloom/editor/files": "a workspace folder that is not on this machine is left out",
    "planloom/editor/read": "a workspace folder that is not on this machine is left out",
    "planloom/editor/complete": "the model is another one",
}
"""What happens in place of each other notification and request of the server."""


def rows() -> Iterator[str]:
    """The table of the page."""
    yield "| what would tell it | what a client without it sees |"
    yield "|---|---|"
    for seen in dict.fromkeys(EVENTS.values()):
        events = ", ".join(f"`{name}`" for name, words in EVENTS.items() if words == seen)
        yield f"| {events} | {seen} |"
    for name, words in METHODS.items():
        yield f"| `{name}` | {words} |"
