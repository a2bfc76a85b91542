"""Measures the error of the token estimate for English, code and CJK, against a real tokenizer (`make real-model`)."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

import httpx

from planloom.models.port import Message, ModelRequest
from planloom.models.tokens import TokenCounter
from tests.support.real_model import MISSING, model_file, real_model

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = {"English": 1200, "code": 1200, "CJK": 300}
"""Characters of one sample, by kind."""
CJK = (
    "计划是一本事件的账本，其余的一切都是它的投影。用户先阅读计划，再修改，最后批准；批准之前，没有任何工具可以写入文件。"
    "如果缓冲区已经改变，三方合并会同时保留两边的内容，重叠的部分会作为冲突显示出来，绝不靠猜测来解决。"
    "モデルが次に何をするかを決めることはありません。手順の状態は、道具の結果や検査といった記録された事実から決まります。"
    "停止した後でも、計画は元の場所から再開され、副作用が二度起こることはありません。小さなモデルでも十分です。"
    "계획은 사건의 장부이며 나머지는 모두 그 투영입니다. 사용자는 계획을 읽고 고치고 승인합니다."
    "승인 전에는 쓰기 도구가 없습니다. 버퍼가 바뀌었다면\n"
    "세 방향 병합이 양쪽을 모두 지키고, 겹치는 부분은 충돌로 보여 줍니다."
)


class Row(NamedTuple):
    """One kind of text: tokens per character, and the estimate's error before and after calibration."""

    kind: str
    samples: int
    tokens_per_character: float
    first_median: float
    first_worst: float
    learned_median: float
    learned_worst: float
    at_most_bounded: int


def corpora() -> dict[str, str]:
    """The texts: this project's own prose and code, and a page of Chinese, Japanese and Korean."""
    prose = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("**/*.md")) + [ROOT / "LICENSE"]
    docstrings = "\n".join(
        part
        for path in sorted(ROOT.glob("server/**/*.py"))
        for part in path.read_text(encoding="utf-8").split('"""')[1::2]
    )
    code = "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("server/**/*.py")))
    english = "\n".join(path.read_text(encoding="utf-8") for path in prose if path.exists()) + docstrings
    return {"English": english[:24_000], "code": code[:24_000], "CJK": (CJK * 12)[:9_600]}


def samples(text: str, size: int) -> list[ModelRequest]:
    pieces = [text[start : start + size] for start in range(0, len(text) - size // 2, size)]
    return [ModelRequest(messages=(Message(role="user", text=piece),)) for piece in pieces]


async def counted(client: httpx.AsyncClient, request: ModelRequest, template: int) -> int:
    """The tokenizer's count, plus the tokens of the chat template."""
    answer = await client.post("/tokenize", json={"content": request.messages[0].text})
    return len(answer.json()["tokens"]) + template


async def template_tokens(client: httpx.AsyncClient) -> int:
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    answer = await client.post("/v1/chat/completions", json=body)
    tokens = await client.post("/tokenize", json={"content": "Hi"})
    return int(answer.json()["usage"]["prompt_tokens"]) - len(tokens.json()["tokens"])


async def measure(origin: str) -> list[Row]:
    rows = []
    async with httpx.AsyncClient(base_url=origin, timeout=60, trust_env=False) as client:
        template = await template_tokens(client)
        texts = {kind: samples(text, SAMPLES[kind]) for kind, text in corpora().items()}
        real = {
            kind: [await counted(client, request, template) for request in requests]
            for kind, requests in texts.items()
        }
    counter = TokenCounter()
    # The counter learns from every other sample, with the kinds mixed as in a session; the rest is tested.
    for number in range(0, max(map(len, texts.values())), 2):
        for kind, requests in texts.items():
            if number < len(requests):
                counter.learn(requests[number], real[kind][number])
    for kind, requests in texts.items():
        tested = list(zip(requests[1::2], real[kind][1::2], strict=True))
        first = [abs(TokenCounter().request(request) / count - 1) for request, count in tested]
        learned = [abs(counter.request(request) / count - 1) for request, count in tested]
        bounded = sum(TokenCounter().at_most(request) >= count for request, count in tested)
        characters = sum(len(request.messages[0].text) for request, _ in tested)
        rows.append(
            Row(
                kind,
                len(tested),
                sum(count for _, count in tested) / characters,
                statistics.median(first),
                max(first),
                statistics.median(learned),
                max(learned),
                round(100 * bounded / len(tested)),
            )
        )
    return rows


def main() -> None:
    if model_file() is None:
        sys.exit(f"There is no tokenizer: {MISSING}")
    with real_model() as origin:
        rows = asyncio.run(measure(origin))
    heads = (
        "text",
        "samples",
        "tokens/char",
        "first median",
        "worst",
        "learned median",
        "worst",
        "bound held",
    )
    print("".join(f"{head:>16}" for head in heads))
    for row in rows:
        shares = (row.first_median, row.first_worst, row.learned_median, row.learned_worst)
        print(
            f"{row.kind:>16}{row.samples:>16}{row.tokens_per_character:>16.2f}"
            + "".join(f"{share:>15.1%} " for share in shares)
            + f"{row.at_most_bounded:>15}%"
        )
    print(json.dumps({"bench": "tokens", "rows": [row._asdict() for row in rows]}))


if __name__ == "__main__":
    main()
