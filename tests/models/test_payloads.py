"""An answer is read the same however its bytes are cut into pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from planloom.domain.values import Json
from planloom.models.http.payloads import DONE, payloads
from planloom.models.http.transport import Answer, bounded, sniffed
from planloom.web.transfer import AnswerBroken

EVENTS = [
    pytest.param('data: {"a": 1}\n\ndata: {"a": 2}\n\n', [{"a": 1}, {"a": 2}], id="line feeds"),
    pytest.param('data: {"a": 1}\r\n\r\ndata: {"a": 2}\r\n\r\n', [{"a": 1}, {"a": 2}], id="both"),
    pytest.param('data: {"a": 1}\r\rdata: {"a": 2}\r\r', [{"a": 1}, {"a": 2}], id="carriage returns"),
    pytest.param('\ufeffdata:{"a": "é计😀"}\n\n', [{"a": "é计😀"}], id="letters of several bytes"),
    pytest.param('data: {"a":\ndata:  1}\n\n', [{"a": 1}], id="an event of two lines"),
    pytest.param('data: {"a": 1}\ndata: {"a": 2}\n\n', [{"a": 1}, {"a": 2}], id="no blank line between"),
    pytest.param('data: {"a": "x\u2028y\x0cz"}\n\n', [{"a": "x\u2028y\x0cz"}], id="other line separators"),
    pytest.param('data: {"a": 1}', [{"a": 1}], id="no blank line at the end"),
    pytest.param(
        ': hello\nid: 7\nevent: delta\nretry: 5\ndata: {"a": 1}\nother\n\ndata:\n\n\n',
        [{"a": 1}],
        id="other fields",
    ),
    pytest.param(
        'data: {"a": 1}\n\ndata: [DONE]\n\ndata: {"a": 2}\n\n', [{"a": 1}, {DONE: True}], id="end marker"
    ),
    pytest.param('{"a": 1}\n\n {"a": "x\u2028y"}\r\n', [{"a": 1}, {"a": "x\u2028y"}], id="lines of JSON"),
    pytest.param('\ufeff \n{"a":\n 1}\n', [{"a": 1}], id="one document of several lines"),
]


async def read(*pieces: bytes) -> list[dict[str, Json]]:
    async def arriving() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    form, texts = await sniffed(bounded(arriving(), ""))
    answer = Answer(200, {}, form or "", texts)
    return [data async for data in payloads(answer)]


@pytest.mark.parametrize(("text", "objects"), EVENTS)
async def test_an_answer_is_read_the_same_wherever_it_is_cut(
    text: str, objects: list[dict[str, Json]]
) -> None:
    body = text.encode()
    assert await read(body) == objects
    assert await read(*(body[at : at + 1] for at in range(len(body)))) == objects
    for cut in range(len(body)):
        assert await read(body[:cut], body[cut:]) == objects


@pytest.mark.parametrize(
    "pieces",
    [
        [b'data: {"a": "\xff"}\n\n'],
        [b'data: {"a": 1}\n\n\xe2', b"\x28\n"],
        [b'data: {"a": 1}\n\n\xe2\x80'],
        [b"data: {\n\n"],
        [b'{"a": 1}\n{"a"\n'],
    ],
)
async def test_damage_is_never_passed_over(pieces: list[bytes]) -> None:
    with pytest.raises(AnswerBroken):
        await read(*pieces)
