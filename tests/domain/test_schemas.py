"""Remote schemas are found however they are written; local ones are left alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.safety.remote_schemas import remote_schemas


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
        (".rc", '// a\n/* b */ {"$schema": "https://evil.example"}', True),
        ("deep.json", '{"a": [{"b": {"$schema": "https://evil.example"}}]}', True),
        ("cut.json", '{"$schema": "https://evil.example', True),
        ("a.yaml", "# yaml-language-server: $schema=https://evil.example\na: 1", True),
        ("a.toml", "#:schema https://evil.example\na = 1", True),
        ("a.json", '{"allOf": [{"$ref": "https://evil.example"}]}', True),
        ("a.json", '{"$schema": "\\\\\\\\evil\\\\share"}', True),
        ("a.json", '{"$schema": "file://evil/share"}', True),
        ("a.json", '{"$schema": "ht\\ntps://evil.example"}', True),
        ("a.yaml", "$schema: https://evil.example\na: 1", True),
        ("a.yaml", "a: 1\n'$schema' : //evil.example", True),
        ("a.yaml", '"\\x24schema": https://evil.example', True),
        ("a.yaml", 'a"b: "\\x24\\x73chema": https://evil.example', True),
        ("a.yaml", '"\\\n  $sch\\\n  ema": https://evil.example', True),
        ("a.yaml", '$schema: "\\x68ttps://evil.example"', True),
        ("a.yaml", "$schema:\n  # to\n  https://evil.example", True),
        ("a.yaml", "$schema:" + " \n" * 2000 + " https://evil.example", True),
        ("a.yaml", "$schema: >-\n  https://evil.example", True),
        ("a.yaml", "a: &a https://evil.example\n$schema: *a", True),
        ("a.yaml", "$schema: !!str https://evil.example", True),
        ("a.yaml", "? $schema\n: https://evil.example", True),
        ("a.yaml", '? "$schema"\n# to\n: https://evil.example', True),
        ("a.yaml", "a: &k $schema\n*k : https://evil.example", True),
        ("a.csproj", 'x <a x:schemaLocation="u https://evil.example"/>', True),
        ("a.yml", "{'$schema': https://evil.example}", True),
        ("a.yaml", "# yaml-language-server: a=b $schema=https://evil.example", True),
        ("a.txt", "# yaml-language-server: $schema=https://evil.example", True),
        ("a.toml", "'$schema' = 'https://evil.example'", True),
        ("a.toml", '"\\u0024schema" = """\nhttps://evil.example"""', True),
        ("Cargo.lock", "#:schema https://evil.example", True),
        ("a.xml", '<a xsi:schemaLocation="urn:a https://evil.example"/>', True),
        ("a.xml", "<a x:noNamespaceSchemaLocation = '&#104;ttps://evil.example'/>", True),
        ("a.xml", '<!DOCTYPE a [<!ENTITY u "https://evil.example">]><a x:schemaLocation="u &u;"/>', True),
        ("a.xml", '<!DOCTYPE a SYSTEM "https://evil.example">', True),
        ("a.svg", '<!DOCTYPE svg PUBLIC "-//a" "https://evil.example">', True),
        ("a.xml", '<!DOCTYPE a [<!ENTITY % e SYSTEM "https://evil.example">%e;]>', True),
        ("a.xml", '<?xml-model type="a>b" href="https://evil.example"?><a/>', True),
        ("a.xsd", '<xs:import schemaLocation="https://evil.example"/>', True),
        ("any", ' <a><xi:include href="https://evil.example"/></a>', True),
        ("a.json", '{"$schema": "./schema.json"}', False),
        ("a.yaml", "$schema: ./schema.json\nb: https://evil.example", False),
        ("a.yaml", "b: https://evil.example # not in my$schema", False),
        ("a.toml", "'$schema' = './schema.json'", False),
        ("a.xml", '<a xmlns="https://evil.example" href="https://evil.example"/>', False),
        ("a.xml", '<a xsi:schemaLocation="urn:a ./a.xsd"/>', False),
        (
            "a.html",
            '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/a.dtd">',
            False,
        ),
        ("a.json", '{"schema": "https://evil.example"}', False),
        ("a.json", '{"x": "$schema", "y": "https://evil.example"}', False),
        ("a.json", '{"x": "\\"$schema\\": \\"https://evil.example\\""}', False),
        ("a.py", 'x = {"$schema": "https://evil.example"}', False),
        ("a.yaml", "a: https://evil.example", False),
        ("a.json", "", False),
    ],
)
def test_remote_schema(name: str, text: str, remote: bool) -> None:
    assert bool(remote_schemas(name, text)) is remote


def test_what_decides_about_an_address_that_cannot_be_told_is_a_part_of_it() -> None:
    for name, text in (
        ("a.yaml", "a: &a {}\n$schema: *a"),
        ("a.xml", '<!DOCTYPE a [<!ENTITY u "{}">]><a x:schemaLocation="&u;"/>'),
    ):
        assert remote_schemas(name, text.format("./here")) != remote_schemas(
            name, text.format("http://there")
        )


UNITS = [
    '"',
    '\\"',
    '{"$schema":',
    "/*",
    "'",
    "//",
    "\\",
    "$schema:",
    "$schema:\n#",
    '"\\x24',
    "<include ",
    'SYSTEM "',
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.xml"])
def test_anything_takes_linear_time(name: str, unit: str) -> None:
    def taken(size: int) -> float:
        text = '{"schema' + unit * (size // len(unit))
        started = time.process_time()
        remote_schemas(name, text)
        return time.process_time() - started

    assert taken(200_000) < 5


@given(st.text() | st.text(alphabet="\"\\/*{}:,$schema http\n'ux0"))
def test_any_text_is_taken(text: str) -> None:
    for name in ("a.json", "a.yaml", "a", "a.xml"):
        remote_schemas(name, "{" + text + '"$schema"')
