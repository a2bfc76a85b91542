"""Recognises refusals of too long prompts, and reads the size of the context from those that name it."""

from __future__ import annotations

import re

_NUMBER = r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,9})(?![0-9])"
_OVERFLOW = re.compile(
    r"context[ _-]?(?:length|size|window|limit)|maximum (?:context|prompt length|input length|model length)"
    r"|(?:prompt|input|request) (?:is |was )?too long|too many (?:input )?tokens|exceed_context|request_too_large"
    r"|maximum number of tokens allowed|reduce the length of the (?:messages|prompt)|too large for model"
    r"|token count of [0-9]+ exceeds|exceeded model token limit|range of input length|longer than the m"
    r"|max_new_tokens` must be <=|exceeds token limit|string_above_max_length",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate.?limit|throttl|per (?:minute|day|hour)|\b[tr]pm\b|quota", re.IGNORECASE)
_LIMITS = tuple(
    re.compile(form.replace("N", _NUMBER), re.IGNORECASE)
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


def is_overflow(words: str) -> bool:
    """Whether a server's words say that the prompt is too long, and not that there were too many of late."""
    return _OVERFLOW.search(words) is not None and _RATE.search(words) is None


def stated_limit(words: str) -> int | None:
    """The size of the context in tokens that a refusal of a too long prompt names."""
    if not is_overflow(words):
        return None
    found = next(filter(None, (form.search(words) for form in _LIMITS)), None)
    return (int(found[1].replace(",", "")) or None) if found is not None else None
