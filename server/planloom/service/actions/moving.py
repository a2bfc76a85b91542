"""Moves a plan to another machine: writes it with its events and texts as one document, and reads such a document."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from pydantic import ValidationError

from planloom.domain.changes import sha256
from planloom.domain.errors import InvalidParams, WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.events.lifecycle import apply
from planloom.domain.plans.plan import Plan, has_open_work
from planloom.domain.values import Instant, Sha256, Uri
from planloom.workspace.paths.uris import to_path

FORMAT = 1
"""The form of the document. It rises when an older Planloom could no longer read it."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_AT_WORK = ("draft", "approved", "executing")


class MovedPlan(NamedTuple):
    """A plan that was read from a document, with its events and the texts that its undo and its diffs need."""

    plan: Plan
    events: tuple[ev.Recorded, ...]
    texts: tuple[tuple[Sha256, str], ...]


def as_document(plan: Plan, events: Iterable[ev.Recorded], texts: Iterable[str]) -> str:
    """A plan at rest with all that the ledger holds of it, as JSON in ASCII. Raises WrongState if it is at work.

    `sha256` is that of the other fields, so that a document which was cut or changed is recognized.
    """
    _require_rest(plan)
    content = {
        "planloom": "plan",
        "format": FORMAT,
        "planId": plan.plan_id,
        "sessionId": plan.session_id,
        "workspaceFolders": list(plan.workspace_folders),
        "events": [
            {
                "seq": each.seq,
                "at": each.at.isoformat(),
                "event": ev.events.dump_python(each.event, mode="json"),
            }
            for each in events
        ],
        # Lone surrogates, which some editors send, survive as escapes.
        "texts": sorted(texts),
    }
    return json.dumps(content | {"sha256": _digest(content)}) + "\n"


def read_document(text: str, folders: Sequence[Uri], now: Instant) -> MovedPlan:
    """The plan of a document, with its workspace folders replaced by `folders`, in their order.

    A plan that has not ended comes back to its review: an approval holds only where it was given. Raises
    InvalidParams for a document that is damaged, newer, of a plan at work, or for another number of folders.
    """
    content = _checked(text)
    moves = _moves(content, folders)
    texts = tuple((sha256(each), each) for each in content["texts"])
    events = tuple(_events(content, moves))
    plan: Plan | None = None
    try:
        for each in events:
            plan = apply(plan, each)
    except Exception as error:
        raise _refused("its events do not follow from each other") from error
    if plan is None:
        raise _refused("it has no events")
    try:
        _require_rest(plan)
    except WrongState as error:
        raise InvalidParams(error.message) from error
    happened: list[ev.Event] = [ev.PlanImported()]
    if plan.status == "paused" and plan.version > 0:
        happened.insert(0, ev.PlanEdited(version=plan.version + 1, edits=(), steps=plan.steps))
    for event in happened:
        events = (*events, events[-1]._replace(seq=plan.seq + 1, at=now, event=event))
        plan = apply(plan, events[-1])
    return MovedPlan(plan, events, texts)


def _require_rest(plan: Plan) -> None:
    """Raise WrongState for a plan that a server runs, or whose server has ended in its middle."""
    if plan.status in _AT_WORK or has_open_work(plan):
        raise WrongState(
            "The plan is at work. Pause it, or open its folder if its server has died, and move it then.",
            status=plan.status,
        )


def _checked(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refused("it is no JSON, or was cut") from error
    if not isinstance(content, dict) or content.get("planloom") != "plan":
        raise _refused("it is not what a full export writes")
    written = content.get("format")
    if isinstance(written, int) and written > FORMAT:
        raise InvalidParams("The plan was exported by a newer Planloom. Update this one to import it.")
    digest = content.pop("sha256", None)
    if written != FORMAT or digest != _digest(content):
        raise _refused("it was changed or cut after it had been written")
    # What has a right digest can still be made by hand.
    texts, events = content.get("texts"), content.get("events")
    identity = [content.get("planId"), content.get("sessionId")]
    if (
        not all(isinstance(each, str) and _ID.fullmatch(each) for each in identity)
        or not isinstance(texts, list)
        or not all(isinstance(each, str) for each in texts)
        or not isinstance(events, list)
        or not isinstance(content.get("workspaceFolders"), list)
    ):
        raise _refused("it is not what a full export writes")
    return content


def _digest(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()


def _events(content: Mapping[str, Any], moves: Sequence[tuple[str, str]]) -> Iterator[ev.Recorded]:
    for number, row in enumerate(content["events"], start=1):
        try:
            if row["seq"] != number:
                raise _refused(f"its event {number} is missing")
            at = datetime.fromisoformat(row["at"])
            if at.tzinfo is None:
                raise _refused(f"its event {number} has no time zone")
            event = ev.events.validate_json(json.dumps(_moved(row["event"], moves)))
        except ValidationError as error:
            raise InvalidParams(
                f"The event {number} of the plan is unknown here: it was exported by a newer Planloom, or is damaged."
            ) from error
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise _refused(f"its event {number} is damaged") from error
        yield ev.Recorded(
            seq=number, plan_id=content["planId"], session_id=content["sessionId"], at=at, event=event
        )


def _moves(content: Mapping[str, Any], folders: Sequence[Uri]) -> tuple[tuple[str, str], ...]:
    """The names here of the plan's workspace folders, as URI and as path, the longest first."""
    before = cast(list[Any], content["workspaceFolders"])
    if len(before) != len(folders) or not all(isinstance(uri, str) for uri in before):
        raise InvalidParams(
            f"The plan works in {len(before)} folder{'s' * (len(before) != 1)}: {', '.join(map(str, before))}."
            " Open as many, in the same order, to import it."
        )
    moves: list[tuple[str, str]] = []
    for old, new in zip(before, folders, strict=True):
        if old != new:
            old_path, new_path = to_path(Uri(old)), to_path(new)
            moves.append((old, new))
            if old_path is not None and new_path is not None and old_path != old_path.parent:
                moves.append((str(old_path), str(new_path)))
    return tuple(sorted(moves, key=lambda move: -len(move[0])))


def _moved(value: Any, moves: Sequence[tuple[str, str]]) -> Any:
    """A value of an event in which every URI and path in a moved folder is the one here."""
    if isinstance(value, str):
        for old, new in moves:
            if value == old or value.startswith((f"{old}/", f"{old}\\")):
                return new + value[len(old) :]
        return value
    if isinstance(value, list):
        return [_moved(each, moves) for each in value]
    if isinstance(value, dict):
        return {_moved(key, moves): _moved(each, moves) for key, each in value.items()}
    return value


def _refused(why: str) -> InvalidParams:
    return InvalidParams(f"This is no full export of a plan, or it is damaged: {why}. Nothing was imported.")
