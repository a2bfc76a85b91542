"""Remote schemas are found however they are written; local ones are left alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.safety.remote_schemas import remote_schema


@pytest.mark.parametrize(
    ("name", "text", "remote"),
    [
        ("a.json", '{"$schema": "https://evil.example/?leak"}', True),
        ("a.json", '{"x": 1, "$schema" : "HTTP://evil.example"}', True),
        ("a.json", '{"$schema": "//evil.example/x"}', True),
        ("a.json", '{"\\u0024schema": "ht\\u0074ps://evil.example"}', True),
        ("a.jsonc", '// hi\n{ /* x */ "$schema" /* y */ : // z\n "https://evil.example" }', True),
        ("a.json5", "{$schema: 'https://evil.example'}", True),
        ("a.json5", "{'$schema': 'https://evil.example'}", True),
        ("settings", '\ufeff{"$schema": "https://evil.example"}', True),
        ("deep.json", '{"a": [{"b": {"$schema": "https://evil.example"}}]}', True),
        ("cut.json", '{"$schema": "https://evil.example', True),
        ("a.yaml", "# yaml-language-server: $schema=https://evil.example\na: 1", True),
        ("a.toml", "#:schema https://evil.example\na = 1", True),
        ("a.json", '{"$schema": "./schema.json"}', False),
        ("a.json", '{"schema": "https://evil.example"}', False),
        ("a.json", '{"x": "$schema", "y": "https://evil.example"}', False),
        ("a.json", '{"x": "\\"$schema\\": \\"https://evil.example\\""}', False),
        ("a.py", 'x = {"$schema": "https://evil.example"}', False),
        ("a.yaml", "a: https://evil.example", False),
        ("a.json", "", False),
    ],
)
def test_remote_schema(name: str, text: str, remote: bool) -> None:
    assert (remote_schema(name, text) is not None) is remote


@pytest.mark.parametrize("unit", ['"', '\\"', '{"$schema":', "/*", "'", "//", "\\", "$schema:"])
def test_a_megabyte_of_anything_takes_linear_time(unit: str) -> None:
    def taken(size: int) -> float:
        text = '{"schema' + unit * (size // len(unit))
        started = time.process_time()
        remote_schema("a.json", text)
        return time.process_time() - started

    assert taken(1_000_000) < 10


@given(st.text() | st.text(alphabet="\"\\/*{}:,$schema http\n'ux0"))
def test_any_text_is_taken(text: str) -> None:
    for name in ("a.json", "a.yaml", "a"):
        remote_schema(name, "{" + text + '"$schema"')
