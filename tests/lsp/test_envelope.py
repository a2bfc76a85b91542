"""One message as bytes: what it asks, or why it cannot be taken."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.serving.envelope import Envelope, Notification, Refused, Request, Response, read_envelope


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}', Request(1, "m", {"a": 1})),
        ('{"jsonrpc":"2.0","id":"x","method":"m"}', Request("x", "m", None)),
        ('{"jsonrpc":"2.0","id":0,"method":"m","params":null}', Request(0, "m", None)),
        ('{"jsonrpc":"2.0","method":"m","params":[1]}', Notification("m", [1])),
        ('{"jsonrpc":"2.0","id":"a","result":null}', Response("a", None, None)),
        ('{"jsonrpc":"2.0","id":"a"}', Response("a", None, None)),
        ('{"jsonrpc":"2.0","id":"a","error":{"code":1}}', Response("a", None, {"code": 1})),
        (
            '{"jsonrpc":"2.0","id":1,"method":"m","params":{"file":{"jsonrpc":"2.0"}}}',
            Request(1, "m", {"file": {"jsonrpc": "2.0"}}),
        ),
    ],
)
def test_reads_what_is_well_formed(body: str, expected: Envelope) -> None:
    assert read_envelope(body.encode()) == expected


@pytest.mark.parametrize(
    ("body", "ident", "code"),
    [
        (b"", None, -32700),
        (b"{", None, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":NaN}}', None, -32700),
        (b'{"a":"\xff"}', None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"1" * 5_000, None, -32700),
        (b"[]", None, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', None, -32600),
        (b"3", None, -32600),
        (b"{}", None, -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"m"}', 1, -32600),
        (b'{"id":1,"method":"m"}', 1, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', 1, -32600),
        (b'{"jsonrpc":"2.0"}', None, -32600),
    ],
)
def test_says_why_it_refuses(body: bytes, ident: int | None, code: int) -> None:
    refused = read_envelope(body)
    assert isinstance(refused, Refused)
    assert (refused.id, refused.code) == (ident, code)
    assert refused.problem.endswith(".")


def test_an_error_without_an_id_is_answered_by_nothing() -> None:
    # Answering a client's complaint with a complaint could go on for ever.
    refused = read_envelope(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}')
    assert isinstance(refused, Refused)
    assert refused.code == 0


@given(st.binary(max_size=200))
def test_never_raises_on_bytes(body: bytes) -> None:
    read_envelope(body)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(_JSON)
def test_never_raises_on_json(message: object) -> None:
    read_envelope(json.dumps(message).encode())
