"""Failures of model servers: reads their refusals, and gives messages and hints for the user."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from planloom.domain.errors import ContextOverflow, ModelCause, ModelFailed, ModelProblem, PlanloomError
from planloom.domain.patterns import pattern
from planloom.domain.values import Json
from planloom.models.http.json_text import Unreadable, count_of, object_of, read_json, text_of
from planloom.models.http.proxies import Proxy

TRANSIENT_STATUSES = frozenset({408, 409, 429})
"""Statuses below 500 that a retry may resolve."""
FINAL_STATUSES = TRANSIENT_STATUSES | {401, 402, 403, 413, 503}
"""Statuses that do not concern the form of the request, so that another form would not help."""
TOO_LONG_HINT = "Attach less, or set `planloom.model.contextTokens` to the model's real context size."
"""The hint to a user whose prompt does not fit."""
SHOWN = 300
"""Most characters of a server's message that are quoted."""
UNPARSED_OUTPUT = pattern(
    r"model produced output that does not match|fail(?:ed|ure) (?:to )?pars(?:e|ing) (?:the )?(?:input|output|tool)"
    r"|could not parse (?:the )?(?:model'?s? )?(?:output|response|tool)",
    re.IGNORECASE,
)
"""Messages of servers that could not parse the output of their model (llama.cpp answers 500 then)."""
_STATED_WAIT = pattern(r"try again in ([0-9]{1,4}(?:\.[0-9]{1,6})?) ?(ms|s)\b")
"""How OpenAI says when to come back in an answer that has begun, which has no header for it."""
TAG = pattern(r"<[^<>]{0,400}>")

_NUMBER = r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,9})(?![0-9])"
_OVERFLOW = pattern(
    r"context[ _-]?(?:length|size|window|limit)|maximum (?:context|prompt length|input length|model length)"
    r"|(?:prompt|input|request) (?:is |was )?too long|too many (?:input )?tokens|exceed_context|request_too_large"
    r"|maximum number of tokens allowed|reduce the length of the (?:messages|prompt)|too large for model"
    r"|token count of [0-9]+ exceeds|exceeded model token limit|range of input length|longer than the m"
    r"|max_new_tokens` must be <=|exceeds token limit|string_above_max_length",
    re.IGNORECASE,
)
_RATE = pattern(r"rate.?limit|throttl|per (?:minute|day|hour)|\b[tr]pm\b|quota", re.IGNORECASE)
_LIMITS = tuple(
    pattern(form.replace("N", _NUMBER), re.IGNORECASE)
    for form in (
        # OpenAI, Azure, DeepSeek, vLLM, SGLang, OpenRouter, Together, LM Studio, llama.cpp and its Python server.
        r"context (?:length|size|window)(?: is| of)?(?: only)?[ :(]{1,2}N",
        # xAI, vLLM, Poolside.
        r"maximum (?:allowed )?(?:prompt|input|model) length (?:is|of) N",
        # Anthropic: a prompt, and a prompt with its answer.
        r"tokens > N maximum",
        r"context limit: [0-9]+ \+ [0-9]+ > N",
        # LM Studio.
        r"n_ctx: N",
        # Gemini.
        r"maximum number of tokens allowed \(N\)",
        # Mistral.
        r"too large for model with N maximum context",
        # GitHub Copilot.
        r"token count of [0-9]+ exceeds the limit of N",
        # Kimi.
        r"model token limit: N",
        # DashScope.
        r"input length should be \[1, N\]",
        # Text Generation Inference, Together.
        r"max_new_tokens` must be <= N",
        # Cerebras.
        r"current length is [0-9]+ while limit is N",
    )
)


_CAUSES: Mapping[int, ModelCause] = {
    402: "payment",
    403: "forbidden",
    408: "slow",
    409: "server_failed",
    429: "busy",
}


class Transient(Exception):
    """A failure that a retry may resolve; `failure` is raised if it does not. `retry_after` is in seconds."""

    def __init__(self, failure: ModelFailed, retry_after: float | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.retry_after = retry_after


class Refusal(NamedTuple):
    """An error reported by a server: its message, the kind of error, and the request field it names.

    `context_tokens` is the size of the model's context if the error names it.
    """

    words: str
    kind: str = ""
    field: str = ""
    context_tokens: int | None = None

    @property
    def overflow(self) -> bool:
        """Whether the prompt was too long."""
        return is_overflow(f"{self.kind} {self.words}")

    def redacted(self, redact: Callable[[str], str]) -> Refusal:
        """The refusal without the secrets that `redact` removes."""
        return Refusal(redact(self.words), redact(self.kind), redact(self.field), self.context_tokens)


class ErrorContext(NamedTuple):
    """The server and model that failed, and advice for the user, for use in messages.

    `has_key`: whether a key is sent to the server.
    """

    provider: str
    origin: str
    model: str
    has_key: bool
    key_advice: str
    start_advice: str
    missing_message: str
    model_advice: str
    proxy: Proxy | None = None


def unavailable(
    context: ErrorContext,
    cause: ModelCause,
    message: str,
    hint: str | None = None,
    *,
    said: Refusal | None = None,
) -> ModelFailed:
    """The model cannot be used now. `said` is quoted at the end of the message."""
    problem = ModelProblem(
        cause=cause,
        provider=context.provider,
        address=context.origin,
        model=context.model,
        said=said.words if said is not None else "",
    )
    quoted = _quoted(said) if said is not None else ""
    return ModelFailed("model_unavailable", message + quoted, hint=hint, problem=problem)


def cause_of(status: int, *, has_key: bool = True) -> ModelCause:
    """Why a server answers with this HTTP status of 400 or more."""
    if status == 401:
        return "key_refused" if has_key else "key_missing"
    return _CAUSES.get(status, "server_failed" if status >= 500 else "wrong_address")


def broken(context: ErrorContext, how: str) -> Transient:
    """The connection or the answer ended early."""
    return Transient(
        unavailable(
            context,
            "server_failed",
            f"The answer from {context.origin} broke off: {how}.",
            "Try again; if it keeps failing, look at the log of the model server.",
        )
    )


def slow(context: ErrorContext, what: str, seconds: float, setting: str) -> Transient:
    """The server exceeded a time limit."""
    return Transient(
        unavailable(
            context,
            "slow",
            f"{context.origin} sent no {what} within {seconds:g} seconds.",
            f"Raise `{setting}` if the model is just slow, else check the model server."
            if setting
            else "Choose a faster model, or one that does not write without end.",
        )
    )


def not_an_api(context: ErrorContext, content_type: str) -> ModelFailed:
    """The answer did not come from a model server."""
    shown = content_type.partition(";")[0].strip()[:60] or "no content type"
    return unavailable(
        context,
        "wrong_address",
        f"{context.origin} answered with {shown} instead of a model's answer.",
        "Check `planloom.model.baseUrl`: most servers want it to end in /v1.",
    )


def redirected(context: ErrorContext, target: str) -> ModelFailed:
    """The server redirects, which is not followed, so that a key stays with its origin."""
    return unavailable(
        context,
        "wrong_address",
        f"{context.origin} redirects to {target or 'another address'}, and redirects are not followed.",
        "Set `planloom.model.baseUrl` to the final address.",
    )


def refusal_of(body: str) -> Refusal:
    """Parse the body of an error response, in the forms of OpenAI, Anthropic, Ollama, vLLM and FastAPI."""
    value = read_json(body)
    if isinstance(value, Unreadable):
        # An HTML page: keep its text only.
        page = TAG.sub(" ", body[:4000])
        return Refusal(_shown(page), context_tokens=stated_limit(page))
    return refusal_in(object_of(value))


def refusal_in(data: Mapping[str, Json]) -> Refusal:
    """Like `refusal_of`, for a decoded object."""
    error: Json = data["error"] if "error" in data else dict(data)
    if isinstance(error, str):
        return Refusal(_shown(error), context_tokens=stated_limit(error))
    inner = object_of(error)
    words = next((text for name in ("message", "detail", "error") if (text := text_of(inner.get(name)))), "")
    if not words and inner.get("detail") is not None:
        words = str(inner["detail"])
    kind = " ".join(
        str(inner[name]) for name in ("code", "type", "status") if isinstance(inner.get(name), str | int)
    )
    # llama.cpp states the size in a field of its own.
    limit = count_of(inner.get("n_ctx")) if "exceed_context" in kind else stated_limit(f"{kind} {words}")
    return Refusal(_shown(words), kind, text_of(inner.get("param")), limit or None)


def is_overflow(words: str) -> bool:
    """Whether a server's words say that the prompt is too long, and not that there were too many of late."""
    return _OVERFLOW.search(words) is not None and _RATE.search(words) is None


def stated_limit(words: str) -> int | None:
    """The size of the context in tokens that a refusal of a too long prompt names."""
    if not is_overflow(words):
        return None
    found = next(filter(None, (form.search(words) for form in _LIMITS)), None)
    return (int(found[1].replace(",", "")) or None) if found is not None else None


def from_status(
    context: ErrorContext, status: int, refusal: Refusal, headers: Mapping[str, str], now: datetime
) -> Transient | PlanloomError:
    """The failure for an HTTP status of 400 or more."""
    quoted = _quoted(refusal)
    if status >= 500 and UNPARSED_OUTPUT.search(refusal.words):
        # Another answer may be parsable; if none is, the model is at fault, not the server.
        return Transient(
            ModelFailed(
                "model_output_invalid",
                f"{context.origin} could not read what its model wrote ({status})." + quoted,
                hint="Try again, or choose a stronger model (model.name).",
            ),
            retry_after(headers, now),
        )
    # A gateway may pass on the refusal of the server behind it as an error of its own.
    if status == 413 or (refusal.overflow and status not in {401, 402, 403, 429}):
        return ContextOverflow(
            f"The prompt does not fit the model {context.model!r} at {context.origin}." + quoted,
            hint=TOO_LONG_HINT,
            details={"contextTokens": refusal.context_tokens},
        )
    if status in TRANSIENT_STATUSES or status >= 500:
        spent = status == 429 and "quota" in f"{refusal.kind} {refusal.words}".lower()
        failure = unavailable(
            context,
            "payment" if spent else cause_of(status),
            _passing(context, status),
            _SPENT if spent else _passing_hint(status, context),
            said=refusal,
        )
        return Transient(failure, retry_after(headers, now))
    if status in {401, 403}:
        words = (
            f"{context.origin} does not allow this ({status})."
            if status == 403
            else f"{context.origin} refused the key ({status})."
            if context.has_key
            else f"{context.origin} wants a key ({status})."
        )
        cause = cause_of(status, has_key=context.has_key)
        return unavailable(context, cause, words, context.key_advice, said=refusal)
    if status == 402:
        message = f"{context.origin} requires payment ({status})."
        return unavailable(context, "payment", message, "Top up the account.", said=refusal)
    if status in {404, 405, 410}:
        if "model" in refusal.words.lower() or "model" in refusal.kind.lower():
            return unavailable(
                context, "model_missing", context.missing_message, context.model_advice, said=refusal
            )
        return unavailable(
            context,
            "wrong_address",
            f"{context.origin} has nothing at this address ({status}).",
            f"Check `planloom.model.baseUrl` (most servers want it to end in /v1). {context.model_advice}",
            said=refusal,
        )
    return ModelFailed(
        "model_refused",
        f"{context.origin} refused the request ({status})." + quoted,
        hint="Check `planloom.model.name`.",
    )


def from_stream_error(context: ErrorContext, refusal: Refusal) -> Transient | PlanloomError:
    """The failure for an error reported within an answer, where there is no HTTP status."""
    number = re.search(r"\b[45]\d\d\b", refusal.kind)
    status = int(number[0]) if number else None
    quoted = _quoted(refusal)
    if refusal.overflow:
        return from_status(context, 413, refusal, {}, datetime.now(UTC))
    if status is not None:
        return from_status(context, status, refusal, {}, datetime.now(UTC))
    if re.search(r"invalid|unsupported|permission|authentication|not_found|content", refusal.kind):
        return ModelFailed("model_refused", f"{context.origin} refused to go on." + quoted)
    failure = unavailable(
        context,
        "server_failed",
        f"{context.origin} failed in the middle of an answer.",
        "Try again in a moment.",
        said=refusal,
    )
    wait = _STATED_WAIT.search(refusal.words)
    return Transient(
        failure, float(wait[1]) / (1000.0 if wait[2] == "ms" else 1.0) if wait is not None else None
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds to wait from `Retry-After` (a number or an HTTP date; RFC 9110), or `retry-after-ms`."""
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


def _passing(context: ErrorContext, status: int) -> str:
    if status == 429:
        return f"{context.origin} got too many requests (429)."
    if status < 500:
        return f"{context.origin} cannot answer now ({status})."
    return f"{context.origin} failed with an internal error ({status})."


_SPENT = "The account's quota is used up: top it up, or choose another model."


def _passing_hint(status: int, context: ErrorContext) -> str:
    if status == 429:
        return "Wait and resume, or choose another model in `planloom.model.name`."
    if status == 503:
        return f"It may still be loading: wait and resume. {context.start_advice}"
    return "Wait and resume; if it keeps failing, look at the log of the model server."


def _quoted(refusal: Refusal) -> str:
    """The server's message, to append to a sentence."""
    if not refusal.words:
        return ""
    return f" It said: {refusal.words}" + ("" if refusal.words[-1] in ".!?…" else ".")


def _shown(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
