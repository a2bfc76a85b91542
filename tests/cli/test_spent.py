"""What a plan has used of models, as the command line prints it at its end."""

from __future__ import annotations

from typing import Any

from planloom.cli.terminal.show_spent import spent_lines


def usage(requests: int, read: int, written: int, **more: int) -> dict[str, int]:
    return {"requests": requests, "promptTokens": read, "completionTokens": written, **more}


def lines(spent: dict[str, Any]) -> list[str]:
    return [line.plain for line in spent_lines(spent)]


def test_one_model_is_named_in_the_line() -> None:
    used = usage(3, 12_000, 900, cachedTokens=8_000)
    models = [{"model": "ollama/qwen3", "usage": used, "seconds": 9}]
    assert lines({"usage": used, "models": models, "costs": {}}) == [
        "Used 3 requests, 12,000 tokens read (8,000 from the cache), 900 written  ollama/qwen3"
    ]


def test_each_of_several_models_has_its_share_and_its_cost() -> None:
    models = [
        {"model": "openai/a", "usage": usage(1, 2_900, 100), "seconds": 1},
        {"model": "ollama/b", "usage": usage(2, 900, 100), "seconds": 1},
    ]
    spent = {"usage": usage(4, 3_800, 200), "models": models, "costs": {"openai/a": 0.0125}}
    assert lines(spent) == [
        "Used 4 requests, 3,800 tokens read, 200 written; 0.0125 at your prices",
        "  openai/a: 1 request, 2,900 tokens read, 100 written; 0.0125 at your prices  75 %",
        "  ollama/b: 2 requests, 900 tokens read, 100 written  25 %",
    ]


def test_a_server_that_counts_no_tokens_leaves_the_requests() -> None:
    models = [{"model": "other/x", "usage": usage(2, 0, 0), "seconds": 1}]
    assert lines({"usage": usage(2, 0, 0), "models": models, "costs": {}}) == ["Used 2 requests  other/x"]
