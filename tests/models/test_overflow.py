"""A server's refusal of a too long prompt tells how much the model takes, and is remembered."""

from __future__ import annotations

import logging

import pytest

from planloom.domain.errors import ContextOverflow, ModelFailed
from planloom.models.http.failures import is_overflow, refusal_in, refusal_of, stated_limit
from planloom.models.http.learned import Learned, LearnedModels
from planloom.models.port import HOSTED_CONTEXT, UNKNOWN_CONTEXT, Capabilities, ModelIdentity, ModelRequest
from planloom.models.providers.editor_model import EditorModel, EditorModelAnswer
from tests.models.support import asks, events_of, model_at
from tests.support.http_server import Asked, Wire, serving

REFUSALS = {
    "openai": (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. "
        "Please reduce the length of the messages.",
        128_000,
    ),
    "openai, older": ("This model's maximum context length is 4097 tokens, however you requested 4696", 4097),
    "openai, without a number": ("Your input exceeds the context window of this model.", None),
    "anthropic": ("prompt is too long: 208310 tokens > 200000 maximum", 200_000),
    "anthropic, with its answer": (
        "input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000, decrease input length",
        200_000,
    ),
    "llama.cpp": (
        "request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it",
        8192,
    ),
    "llama.cpp, older": ("the request exceeds the available context size. try increasing it", None),
    "llama-cpp-python": ("Requested tokens (516) exceed context window of 512", 512),
    "vllm": (
        "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the "
        "messages, 10000 in the completion).",
        16_384,
    ),
    "vllm, v1": (
        "The decoder prompt (length 21535) is longer than the maximum model length of 16384.",
        16_384,
    ),
    "vllm, images": (
        "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
        4096,
    ),
    "sglang": (
        "Requested token count exceeds the model's maximum context length of 131072 tokens.",
        131_072,
    ),
    "together": (
        "The input (250000 tokens) is longer than the model's context length (200000 tokens).",
        200_000,
    ),
    "openrouter": (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens",
        131_072,
    ),
    "lm studio": (
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context "
        "length of only 32768 tokens, which is not enough.",
        32_768,
    ),
    "lm studio, n_keep": (
        "The number of tokens to keep from the initial prompt is greater than the context length "
        "(n_keep: 13055>= n_ctx: 4096).",
        4096,
    ),
    "xai": (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
        131_072,
    ),
    "gemini": (
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
        1_048_575,
    ),
    "mistral": (
        "Prompt contains 300000 tokens, too large for model with 131072 maximum context length",
        131_072,
    ),
    "copilot": ("prompt token count of 145000 exceeds the limit of 128000", 128_000),
    "kimi": ("Your request exceeded model token limit: 262144 (requested: 300000)", 262_144),
    "dashscope": ("Range of input length should be [1, 129024]", 129_024),
    "ds4": ("Prompt has 300,000 tokens, but the configured context size is 131,072 tokens", 131_072),
    "ollama, which names the excess": (
        "prompt too long; exceeded max context length by 4096 tokens",
        None,
    ),
    "visual studio code": ("Message exceeds token limit.", None),
    "groq": ("Please reduce the length of the messages or completion", None),
    "bedrock": ("Input is too long for requested model.", None),
}


@pytest.mark.parametrize(("words", "limit"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_of_a_long_prompt_is_recognised_and_its_limit_read(words: str, limit: int | None) -> None:
    assert is_overflow(words)
    assert stated_limit(words) == limit
    assert refusal_of(f'{{"error": {{"message": "{words}"}}}}').context_tokens == limit


@pytest.mark.parametrize(
    "words",
    [
        "Too many tokens per minute, please wait: the limit is 30000",
        "ThrottlingException: Too many tokens, please wait before trying again.",
        "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens",
        "invalid api key",
    ],
)
def test_other_refusals_are_no_overflow(words: str) -> None:
    assert not is_overflow(words)
    assert stated_limit(words) is None


def test_llama_cpp_states_the_size_in_a_field() -> None:
    error = {"message": "the request is too long", "type": "exceed_context_size_error", "n_ctx": 8192}
    refusal = refusal_in({"error": {"code": 400, "n_prompt_tokens": 14429, **error}})
    assert (refusal.overflow, refusal.context_tokens) == (True, 8192)


@pytest.mark.parametrize(("status", "limit"), [(400, 2000), (500, 2000), (200, 2000), (413, None)])
async def test_a_limit_is_learned_logged_and_kept_for_the_next_model(
    status: int, limit: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    words = f"This model's maximum context length is {limit} tokens." if limit else "Payload too large."

    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.method == "GET":
            await wire.json(404, {})
        else:
            await wire.json(status, {"error": {"message": words}})

    learned = LearnedModels()
    async with serving(answer) as running:
        async with model_at(running.origin, learned=learned) as model:
            assert (await model.capabilities()).context_tokens is None
            assert "16384 tokens are assumed" in caplog.text
            with pytest.raises(ContextOverflow) as caught, caplog.at_level(logging.WARNING):
                await events_of(model, asks("word " * 3000))
            assert caught.value.context_tokens == limit
            assert (await model.capabilities()).context_tokens == limit
        sent = len(running.posts())
        async with model_at(running.origin, learned=learned, context_tokens=100_000) as model:
            known = await model.capabilities()
            assert known.usable_context == (limit or 100_000), "the server knows better than the setting"
            with pytest.raises(ContextOverflow):
                await events_of(model, asks("word " * 3000))
    assert len(running.posts()) == sent + (0 if limit else 1)
    assert limit is None or f"takes {limit} tokens" in caplog.text


def test_the_smaller_size_holds() -> None:
    assert Learned().context(None) is None
    assert Learned(context_tokens=10).context(None) == 10
    assert Learned(context_tokens=10).context(8) == 8


def test_what_is_assumed_is_not_known() -> None:
    assert Capabilities().usable_context == UNKNOWN_CONTEXT
    assert Capabilities(assumed_context=HOSTED_CONTEXT).usable_context == HOSTED_CONTEXT
    assert Capabilities(context_tokens=5, assumed_context=HOSTED_CONTEXT).usable_context == 5


async def test_the_editors_refusal_of_a_long_prompt_is_an_overflow() -> None:
    class Editor:
        async def complete(self, _request_id: str, _name: str, _request: ModelRequest) -> EditorModelAnswer:
            raise ModelFailed("model_refused", "Message exceeds token limit.")

    identity = ModelIdentity(provider="editor", name="", reason="a test asks for it")
    model = EditorModel(Editor(), identity)
    assert (await model.capabilities()).usable_context == HOSTED_CONTEXT
    with pytest.raises(ContextOverflow, match="exceeds token limit"):
        await events_of(model)
