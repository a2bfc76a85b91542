"""What goes wrong between us and a model server, in sentences that say what mends it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from planloom.domain.errors import ContextOverflow, ModelFailed, PlanloomError
from planloom.domain.values import Json
from planloom.models.http.json_text import Unreadable, object_of, read_json, text_of

TRANSIENT_STATUSES = frozenset({408, 409, 429})
"""Statuses below 500 that may pass by themselves."""
SHOWN = 300
"""Characters of a server's own words that a message repeats."""
OVERFLOW = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|prompt is too long|exceeds? the available context"
    r"|too many (?:input )?tokens|exceed_context",
    re.IGNORECASE,
)
UNREAD = re.compile(
    r"model produced output that does not match|fail(?:ed|ure) (?:to )?pars(?:e|ing) (?:the )?(?:input|output|tool)"
    r"|could not parse (?:the )?(?:model'?s? )?(?:output|response|tool)",
    re.IGNORECASE,
)
"""How servers say that they could not read what their own model wrote (llama.cpp answers 500 then)."""
TAG = re.compile(r"<[^<>]{0,400}>")


class Transient(Exception):
    """A failure that may pass: what it comes to if it does not, and when the server wants to be asked again.

    `retry_after` is in seconds.
    """

    def __init__(self, failure: ModelFailed, retry_after: float | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.retry_after = retry_after


class Refusal(NamedTuple):
    """What a server said instead of an answer: its own words, its word for the kind, and its field."""

    words: str
    kind: str = ""
    field: str = ""


class ErrorContext(NamedTuple):
    """Who failed, for the sentences: the server's origin, the model asked for, how to give a key,
    start the server, say that it lacks the model, and get one."""

    origin: str
    model: str
    key_advice: str
    start_advice: str
    missing: str
    model_advice: str


def unavailable(message: str, hint: str | None = None) -> ModelFailed:
    """The model cannot be had now."""
    return ModelFailed("model_unavailable", message, hint=hint)


def broken(place: ErrorContext, how: str) -> Transient:
    """The connection or the answer ended where it should not have."""
    return Transient(
        unavailable(
            f"The answer from {place.origin} broke off: {how}.",
            "Try again; if it stays so, look at the log of the model server.",
        )
    )


def slow(place: ErrorContext, what: str, seconds: float, setting: str) -> Transient:
    """The server took longer than a time limit allows."""
    return Transient(
        unavailable(
            f"{place.origin} sent no {what} within {seconds:g} seconds.",
            f"Raise `{setting}` if the model is just slow, else look at the model server.",
        )
    )


def not_an_api(place: ErrorContext, content_type: str) -> ModelFailed:
    """Something answered that is no model server."""
    shown = content_type.partition(";")[0].strip()[:60] or "no content type"
    return unavailable(
        f"{place.origin} answered with {shown} instead of a model's answer.",
        "Check `model.baseUrl`: most servers want it to end in /v1.",
    )


def redirected(place: ErrorContext, target: str) -> ModelFailed:
    """The server points elsewhere; a key does not follow."""
    return unavailable(
        f"{place.origin} redirects to {target or 'another address'}, and redirects are not followed.",
        "Set `model.baseUrl` to the address that answers itself.",
    )


def refusal_of(body: str) -> Refusal:
    """What an error's body says, in the forms that OpenAI, Anthropic, Ollama, vLLM and FastAPI use."""
    value = read_json(body)
    if isinstance(value, Unreadable):
        # A page for people: its tags say nothing, and it may be long.
        return Refusal(_shown(TAG.sub(" ", body[:4000])))
    return refusal_in(object_of(value))


def refusal_in(data: Mapping[str, Json]) -> Refusal:
    """As `refusal_of`, for an object."""
    error: Json = data["error"] if "error" in data else dict(data)
    if isinstance(error, str):
        return Refusal(_shown(error))
    inner = object_of(error)
    words = next((text for name in ("message", "detail", "error") if (text := text_of(inner.get(name)))), "")
    if not words and inner.get("detail") is not None:
        words = str(inner["detail"])
    kind = " ".join(
        str(inner[name]) for name in ("code", "type", "status") if isinstance(inner.get(name), str | int)
    )
    return Refusal(_shown(words), kind, text_of(inner.get("param")))


def of_status(
    place: ErrorContext, status: int, refusal: Refusal, headers: Mapping[str, str], now: datetime
) -> Transient | PlanloomError:
    """What an HTTP status of 400 or more comes to."""
    said = _quoted(refusal)
    if status >= 500 and UNREAD.search(refusal.words):
        # Another answer may be readable; if none is, the server is there all the same.
        return Transient(
            ModelFailed(
                "model_output_invalid",
                f"{place.origin} could not read what its model wrote ({status})." + said,
                hint="Try again, or choose a stronger model (model.name).",
            ),
            retry_after(headers, now),
        )
    if status in TRANSIENT_STATUSES or status >= 500:
        failure = unavailable(_passing(place, status) + said, _passing_hint(status, refusal, place))
        return Transient(failure, retry_after(headers, now))
    if status in {401, 403}:
        return unavailable(
            f"{place.origin} refused the key ({status})." + said
            if status == 401
            else f"{place.origin} does not allow this ({status})." + said,
            place.key_advice,
        )
    if status == 402:
        return unavailable(f"{place.origin} wants to be paid ({status})." + said, "Top up the account.")
    if status == 413 or OVERFLOW.search(f"{refusal.kind} {refusal.words}"):
        return ContextOverflow(
            f"The prompt does not fit the model {place.model!r} at {place.origin}." + said,
            hint="Attach less, or set `model.contextTokens` to what the model really takes.",
        )
    if status in {404, 405, 410}:
        if "model" in refusal.words.lower() or "model" in refusal.kind.lower():
            return unavailable(place.missing + said, place.model_advice)
        return unavailable(
            f"{place.origin} has nothing at this address ({status})." + said,
            f"Check `model.baseUrl` (most servers want it to end in /v1). {place.model_advice}",
        )
    return ModelFailed(
        "model_refused", f"{place.origin} refused the request ({status})." + said, hint="Check `model.name`."
    )


def in_stream(place: ErrorContext, refusal: Refusal) -> Transient | PlanloomError:
    """What an error that arrives within an answer comes to; it carries no status of its own."""
    number = re.search(r"\b[45]\d\d\b", refusal.kind)
    status = int(number[0]) if number else None
    said = _quoted(refusal)
    if OVERFLOW.search(f"{refusal.kind} {refusal.words}"):
        return of_status(place, 413, refusal, {}, datetime.now(UTC))
    if status is not None:
        return of_status(place, status, refusal, {}, datetime.now(UTC))
    if re.search(r"invalid|unsupported|permission|authentication|not_found|content", refusal.kind):
        return ModelFailed("model_refused", f"{place.origin} refused to go on." + said)
    return Transient(
        unavailable(f"{place.origin} failed in the middle of an answer." + said, "Try again in a moment.")
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds that a server asks to be left alone, from `Retry-After` (a number or an HTTP date)."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", text):
            return float(text) / scale
    try:
        then = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - now).total_seconds())


def _passing(place: ErrorContext, status: int) -> str:
    if status == 429:
        return f"{place.origin} has had too many requests (429)."
    if status < 500:
        return f"{place.origin} could not answer just now ({status})."
    return f"{place.origin} failed on its side ({status})."


def _passing_hint(status: int, refusal: Refusal, place: ErrorContext) -> str:
    if status == 429 and "quota" in f"{refusal.kind} {refusal.words}".lower():
        return "The account's quota is used up: top it up, or choose another model."
    if status == 429:
        return "Wait and resume, or choose another model in `model.name`."
    if status == 503:
        return f"It may still be loading: wait and resume. {place.start_advice}"
    return "Wait and resume; if it stays so, look at the log of the model server."


def _quoted(refusal: Refusal) -> str:
    """The server's own words, to be put behind a sentence of ours."""
    if not refusal.words:
        return ""
    return f" It said: {refusal.words}" + ("" if refusal.words[-1] in ".!?…" else ".")


def _shown(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
