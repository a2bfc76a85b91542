"""Examples of every format, from which changed texts are made, and the words that have a meaning in each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from planloom.agent.toolcalls.tokens import TOKENS
from planloom.intake.routing.words import QUESTIONS, SCOPES, VERBS
from tests.agent.toolcalls.cases import ALL
from tests.support.messy_plans import NOTHING, cases

DATA = Path(__file__).parents[1] / "data"


def _rows(name: str, key: str) -> Iterable[str]:
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)[key]


def plans() -> Iterable[str]:
    return (*_rows("plans_examples.jsonl", "text"), *NOTHING, *(case.text for case in cases(400, 3)))


def calls() -> Iterable[str]:
    return (*_rows("toolcalls_examples.jsonl", "text"), *(case.text for case in ALL))


def requests() -> Iterable[str]:
    return (
        *_rows("detection_examples.jsonl", "message"),
        'Create folder src/new, then write a.txt with content \'x y\'. Replace "a" with "b" in c.py',
        "Rename a.py to b.py and delete `c d.txt`; run `make all` and read @src/x.py:10-20.",
        "Write a.sh with <<EOF\nls\nEOF\nand append \"z\" to README.md\n```py\nprint('hi')\n```",
        '@"my file.md":3 @diagnostics:a.py @selection https://example.com/a_(b). @src/, @a.py\'s me@x.org `@no`',
        "1. Add a\n2) Fix b\n- [ ] c\n# Title\nplease build the app and also test it",
    )


def patches() -> Iterable[str]:
    return (
        "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@ def f\n a\n-b\n+c\n",
        "*** Begin Patch\n*** Update File: a.py\n@@ def f\n-x\n+y\n*** End of File\n*** End Patch",
        "*** Begin Patch\n*** Add File: b\n+1\n*** Delete File: c\n*** Move to: d\n*** End Patch",
        "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+a\n"
        "\\ No newline at end of file",
        "a.py\n```\n<<<<<<< SEARCH\n1\tx\n2\ty\n=======\n1\tx\nz\n>>>>>>> REPLACE\n```\n"
        "------- SEARCH\n:start_line:3\n-------\na\n=======\n+++++++ REPLACE",
        "def f():\n\treturn “x”\n=======\ndef g():\n    return 1\n",
    )


SIGNS = (*tuple("{}[]()\"'`:,;<>=\n\\/#-+*_1.a @|~“”‘’–—\t\r\x00\ufeff\u200b\xa0\u2028é日"), "\n\n", "\r\n")
PLAN_WORDS = (
    *("---PLAN-START---", "---PLAN-END---", "STEP 1: ", "Step 2 - ", "DO:", "INSTRUCTION:", "**", "### "),
    *("1. ", "2) ", "- ", " - ", " — ", "```", "```json\n", "~~~", '{"steps":[', '{"description":"', "//"),
    *('"instruction":"', '"plan"', '"tasks"', '"title"', '"name"', '"tool"', '"args"', '"id"', '"dependsOn"'),
    *("<think>", "</think>", "<|channel|>final<|message|>", "<|im_end|>", "null", "true", "…", "/*", "*/"),
    *("[THINK]", "[/THINK]", "Task 1. ", "\\u00", "\\ud83d", "1/3", "of 2", "`STEP", "> "),
)
CALL_WORDS = (
    *TOKENS,
    *('{"name":"read_file","arguments":{"path":"p"}}', "[read_file(path='p')]", "read_file", "list_files"),
    *(
        '"name":',
        '"arguments":',
        '"parameters":',
        "<parameter=path>",
        "</parameter>",
        "<read_file>",
        "<path>",
    ),
    *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "Action:", "Action Input:", "Observation:"),
    *("```json\n", "```", '"""', "\\u12", "\\ud83d", "[ARGS]", "[CALL_ID]", "call:", "@@ ", "e.g.", "print("),
    *('<|"|>', "<escape>", "functions.", ":0", "<...>", "functools[", "null", "True", "//", "/*", "*/"),
)
REQUEST_WORDS = (
    *VERBS,
    *SCOPES,
    *QUESTIONS,
    *("then ", "next ", "and ", "also ", "after that", "please "),
    *("hi ", " to ", " with ", " in ", " called "),
    *("folder ", "file ", "rename ", "delete ", "run ", "read ", "append ", "replace ", "content", "list "),
    *("<<EOF\n", "EOF\n", "```\n", "e.g.", "etc.", "@"),
    *("@a/b.py", ":1-2", "https://", "1. ", "2) ", "- "),
    *("?"),
)
PATCH_WORDS = (
    *("--- a/", "+++ b/", "@@ -1 +1 @@", "@@ ", "*** Begin Patch\n", "*** End Patch", "*** Update File: "),
    *(
        "*** Add File: ",
        "*** Delete File: ",
        "*** Move to: ",
        "*** End of File",
        "diff --git ",
        "=======",
        *("<<<<<<< SEARCH\n", ">>>>>>> REPLACE\n", "------- SEARCH\n", "+++++++ REPLACE\n", "1\t"),
        "…",
    ),
    *("\\ No newline at end of file", "\n-", "\n+", "\n ", "\n@@\n", "rename from ", "new file mode"),
)
