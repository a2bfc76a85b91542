"""The grammar of references: what is one, where it ends, and what is not one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.intake.references import LineSpan, find_references

SHOWN = [
    ("look at @src/a.ts.", "path @src/a.ts"),
    ("@src/a.ts:10-20, and @b.py:5!", "path @src/a.ts:10-20 | path @b.py:5"),
    ('@"my file.md":10 and @"other file.md:3-4".', 'path @"my file.md":10 | path @"other file.md:3-4"'),
    ("@“my notes.md”", "path @“my notes.md”"),
    ("(@src/(auth)/page.tsx)", "path @src/(auth)/page.tsx"),
    ("@folder/ and @root/path", "path @folder/ | path @root/path"),
    ("@./a @../b @~/c", "path @./a | path @../b | path @~/c"),
    ("@a.ts,@b.ts;@c.ts", "path @a.ts | path @b.ts | path @c.ts"),
    ("**@src/a.ts** [@b] {@c}", "path @src/a.ts | path @b | path @c"),
    ("@src/a.ts's class", "path @src/a.ts"),
    ("@bob's.txt", "path @bob's.txt"),
    ("Is it @src/a.ts?", "path @src/a.ts"),
    ("@.env!", "path @.env"),
    ("@[id].ts", "path @[id].ts"),
    ("@src/a.ts:10:5", "path @src/a.ts:10:5"),
    ("“@src/a.ts”", "path @src/a.ts"),
    ("请看@src/main.py的函数，@b/文件.txt。", "path @src/main.py | path @b/文件.txt"),
    ("@selection, @Diagnostics.", "selection @selection | diagnostics @Diagnostics"),
    ("@diagnostics:src/a.ts.", "diagnostics @diagnostics:src/a.ts"),
    ('@diagnostics:"a b.ts"', 'diagnostics @diagnostics:"a b.ts"'),
    ("@selection/x @selections @selection.md", "path @selection/x | path @selections | path @selection.md"),
    ("@https://x.org/a(b). ", "link @https://x.org/a(b)"),
    ("see http://y.org/?q=1, (HTTPS://z.org)", "link http://y.org/?q=1 | link HTTPS://z.org"),
    ("[site](https://x.org/a)", "link https://x.org/a"),
    ("https://a.b/c@d/e", "link https://a.b/c@d/e"),
    ("@src/ünïcode.ts @😀.md", "path @src/ünïcode.ts | path @😀.md"),
    ("Look at:\n@README\n@Makefile\n@a.ts\n", "path @README | path @Makefile | path @a.ts"),
]
NONE = [
    "bob@site.com",
    "mailto:x@y.z, a.b+c@d.e",
    "a@b x/@y \\@z",
    "@ @, @@ @@x @\n",
    "`@x` and ``@y` @z``",
    "```\n@app.route\n```",
    "text\n  ```js\n@a\n  ```",
    "~~~\n@a\n~~~",
    "```\n@never closed",
    "@app.route('/')\ndef f(): pass",
    "@dataclass\n@other(1)\nclass A(B):\n",
    "    @Override\n    public void run() {",
    "@Component({\n",
    "@Input() name",
    "http:// https://",
    "xhttp://y.org",
    "@" + "a" * 5000,
    "",
]


@pytest.mark.parametrize(("text", "wanted"), SHOWN)
def test_what_is_a_reference(text: str, wanted: str) -> None:
    found = find_references(text)
    assert " | ".join(f"{reference.kind} {reference.text}" for reference in found) == wanted
    assert all(text[reference.start : reference.end] == reference.text for reference in found)


@pytest.mark.parametrize("text", NONE)
def test_what_is_none(text: str) -> None:
    assert find_references(text) == ()


def test_references_go_on_after_code() -> None:
    for code in ("`@x`", "```\n@x\n```\n", "``@x` @y``", "`not closed", "~~ ~~~"):
        assert [reference.text for reference in find_references(f"{code} @z")] == ["@z"], code


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("@a.ts", [("a.ts", None)]),
        ("@a.ts.", [("a.ts.", None), ("a.ts", None)]),
        ("@a:3-5", [("a:3-5", None), ("a", LineSpan(3, 5))]),
        ("@a:3.", [("a:3.", None), ("a:3", None), ("a", LineSpan(3, 3))]),
        ('@"a b":7', [("a b", LineSpan(7, 7))]),
        ("@a)" + "!" * 9, [("a)!!!!!!!!!", None), ("a)!!!!!!!!", None), ("a)!!!!!!!", None)]),
    ],
)
def test_a_path_is_read_as_typed_first(text: str, wanted: list[tuple[str, LineSpan | None]]) -> None:
    (reference,) = find_references(text)
    assert [(reading.path, reading.lines) for reading in reference.readings][: len(wanted)] == wanted
    if "!" in text:
        assert reference.readings[-1].path == "a"


@given(st.text(alphabet="@`~\n.a/:1-\"'“”()*_ hтtps字\r", max_size=80))
def test_any_text_is_read_and_spans_are_in_order(text: str) -> None:
    last = 0
    for reference in find_references(text):
        assert last <= reference.start < reference.end <= len(text)
        assert text[reference.start : reference.end] == reference.text
        assert all(reading.path for reading in reference.readings)
        last = reference.end


@pytest.mark.parametrize(
    "unit",
    [
        "@",
        "@ ",
        "@a",
        "@a ",
        "` ",
        '@"',
        "~~~\n",
        "```\n",
        "```x`\n",
        "http://",
        "\n",
        "@a(\n",
        "`a``b",
        "@a\n",
        "@a" + "." * 4000 + " ",
        "http://a" + ")" * 4000 + " ",
        "@a" + "(" * 2000 + ")" * 2000 + " ",
        "@a@b\t",
    ],
    ids=lambda unit: repr(unit[:8]),
)
def test_time_is_linear_on_adversarial_text(unit: str) -> None:
    started = time.process_time()
    find_references(unit * (200_000 // len(unit)))
    assert time.process_time() - started < 15


def test_a_message_has_finitely_many_references() -> None:
    assert len(find_references("@a " * 10_000)) == 1000
