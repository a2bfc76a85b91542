"""The manners of editors: how they answer an edit, well-behaved or not."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any, Literal

from tests.support.memory_editor import MemoryEditor
from tests.support.process_client import Failed, NeverAnswered, ProcessClient

Manner = Literal[
    "honest",
    "refuse",
    "refuse_with_reason",
    "error",
    "done_says_no",
    "idle_says_yes",
    "half_says_no",
    "half_says_yes",
    "half_names_change",
    "twice",
    "slow",
    "silent",
    "silent_done",
    "late",
    "late_unanswered",
]
WELL_BEHAVED: frozenset[Manner] = frozenset({"honest", "slow", "twice"})
"""Those that do what they say, within the server's patience."""
PATIENCE = 1.0
"""Seconds that a server waits for an answer to an edit where editors are not all honest."""


def first_half(params: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The first half of an edit's changes, and how many they are."""
    edit = params["edit"]
    if edit.get("documentChanges") is not None:
        changes = edit["documentChanges"]
        count = len(changes) // 2
        return {"edit": {"documentChanges": changes[:count]}}, count
    changed = list(edit.get("changes", {}).items())
    return {"edit": {"changes": dict(changed[: len(changed) // 2])}}, len(changed) // 2


async def answer_edit(
    editor: MemoryEditor, client: ProcessClient, params: dict[str, Any], manner: Manner, rng: random.Random
) -> Any:
    """Answer one edit in this manner; a preview, which may wait for a person, is refused instead of forgotten."""
    if manner in ("silent", "silent_done", "late_unanswered") and "needsConfirmation" in json.dumps(params):
        manner = "refuse"
    answer: dict[str, Any] = {"applied": True}
    match manner:
        case "refuse":
            return {"applied": False}
        case "refuse_with_reason":
            return {"applied": False, "failureReason": "The editor would rather not."}
        case "error":
            raise Failed({"code": -32603, "message": "The editor is confused."})
        case "done_says_no":
            editor.apply(params)
            return {"applied": False}
        case "idle_says_yes":
            return answer
        case "half_says_no" | "half_says_yes" | "half_names_change":
            half, count = first_half(params)
            done = editor.apply(half)
            if manner == "half_says_yes":
                return answer
            return {"applied": False} | (
                {"failedChange": count} if manner == "half_names_change" and done["applied"] else {}
            )
        case "silent":
            raise NeverAnswered
        case "silent_done":
            editor.apply(params)
            raise NeverAnswered
        case "late" | "late_unanswered":
            # After the server has given the edit up, and at times after it has waited once more.
            await asyncio.sleep(PATIENCE * rng.choice((1.3, 2.6)))
            answer = editor.apply(params)
            if manner == "late_unanswered":
                raise NeverAnswered
        case "slow":
            answer = editor.apply(params)
            await asyncio.sleep(rng.random() * PATIENCE / 3)
        case "twice":
            client.again = answer = editor.apply(params)
        case "honest":
            answer = editor.apply(params)
    return answer
