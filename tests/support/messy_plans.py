"""Good plans, damaged the way models damage them, with what a reader should still find; all by a seed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

Pair = tuple[str, str]


class Case(NamedTuple):
    """A text and its steps as (description, instruction); `cut` is None where either answer is right."""

    format: str
    fault: str
    text: str
    expected: tuple[Pair, ...]
    cut: bool | None


TITLES = (
    "Create the parser",
    "Re-use the cache",
    "Add e-mail login",
    "Fix issue 12 in v2.1",
    "Écrire les tests",
    "Rename `old_name`",
    "Write src/app.py",
    "Update README.md",
    "Check 3.5 kB limit",
    "Ship on 2026-01-31",
    "Handle “quoted” text",
    "日本語の文書を書く",
)
LINES = (
    "Put a main() function in src/main.py.",
    "Keep the step-by-step guide, see section 1.2.",
    "Use {braces} and [brackets] as they are.",
    "Call f(a, b) with a=1; do it twice.",
    "Compare 2.0 with 10.5 and with 2023-04-05.",
    "Run the tests in tests/unit.",
    "Say 'hello' to C:\\temp\\new.",
    "Then stop. Do not go on.",
)
CODE = (
    "Write this:\n```python\n# STEP 9: no step\n1. no item - at all\nDO: nothing\n\n    x = {'a': 1}\n```",
    "Use\n```\n---PLAN-END---\nSTEP 3: no\n```\nas it is.",
)
INTRO = (
    "Sure! Here is the plan.",
    "I looked at version 2.1 of the code. It has 3 bugs.",
    "Okay:",
    "**Plan**",
)
OUTRO = ("Let me know if that works.", "That is all, good luck!", "Shall I go on?")
THOUGHT = (
    'Let me think. First I would do\n1. something - else\nor {"steps": ["no"]}. STEP 1: wrong\nDO: wrong\n'
)


class Damage(NamedTuple):
    """A fault by name: how it renders steps, and what is left of them."""

    name: str
    render: Callable[[random.Random, list[Pair]], tuple[str, list[Pair], bool | None]]


def steps(rng: random.Random, *, lines: bool = True, code: bool = True) -> list[Pair]:
    """Between two and six steps."""
    titles = rng.sample(TITLES, rng.randint(2, 6))
    made = []
    for title in titles:
        roll = rng.random()
        if code and roll < 0.2:
            text = rng.choice(CODE)
        elif lines and roll < 0.5:
            text = "\n".join(rng.sample(LINES, rng.randint(2, 3)))
        else:
            text = rng.choice(LINES)
        made.append((title, text))
    return made


def marked(body: str, *, start: str = "---PLAN-START---", end: str = "---PLAN-END---") -> str:
    return f"{start}\n{body}\n{end}"


def labelled(
    pairs: list[Pair],
    head: Callable[[int, str], str] = lambda n, title: f"STEP {n}: {title}",
    do: str = "DO: ",
    gap: str = "\n",
) -> str:
    return gap.join(f"{head(n, title)}\n{do}{text}" for n, (title, text) in enumerate(pairs, 1))


def _labelled_damages(wrap: Callable[[str], str], do: str) -> Iterator[Damage]:
    heads: dict[str, Callable[[int, str], str]] = {
        "plain": lambda n, t: f"STEP {n}: {t}",
        "bold": lambda n, t: f"**STEP {n}: {t}**",
        "bold label": lambda n, t: f"**Step {n}:** {t}",
        "bold dash": lambda n, t: f"**Step {n} -** {t}",
        "heading": lambda n, t: f"### Step {n}: {t}",
        "heading bold": lambda n, t: f"## **Step {n}:** {t}",
        "lower case": lambda n, t: f"step {n}: {t}",
        "en dash": lambda n, t: f"STEP {n} – {t}",
        "em dash": lambda n, t: f"STEP {n} — {t}",
        "hyphen": lambda n, t: f"Step {n} - {t}",
        "dot": lambda n, t: f"STEP {n}. {t}",
        "parenthesis": lambda n, t: f"STEP {n}) {t}",
        "list number in front": lambda n, t: f"{n}. STEP {n}: {t}",
        "bullet in front": lambda n, t: f"- STEP {n}: {t}",
        "no number": lambda n, t: f"STEP: {t}",
        "wrong numbers": lambda n, t: f"STEP {(n * 7) % 5}: {t}",
        "one number": lambda n, t: f"STEP 1: {t}",
        "no space": lambda n, t: f"STEP {n}:{t}",
        "indented": lambda n, t: f"  STEP {n}: {t}",
        "no-break space": lambda n, t: f"STEP\u00a0{n}:\u00a0{t}",
        "title in bold": lambda n, t: f"STEP {n}: **{t}**",
    }
    for name, head in heads.items():
        yield Damage(name, lambda rng, p, head=head: (wrap(labelled(p, head, do)), p, None))  # type: ignore[misc]
    dos = {
        "bold do": f"**{do.strip()}** ",
        "do below": f"{do.strip()}\n",
        "do with dash": f"{do.strip().rstrip(':')} - ",
        "bulleted do": f"- {do}",
        "lower do": do.lower(),
    }
    for name, label in dos.items():
        yield Damage(name, lambda rng, p, label=label: (wrap(labelled(p, do=label)), p, None))  # type: ignore[misc]
    yield Damage("blank lines", lambda rng, p: (wrap("\n" + labelled(p, do=do, gap="\n\n\n")), p, None))
    yield Damage(
        "second do",
        lambda rng, p: (
            wrap(labelled([(t, f"{i}\n{do}more") for t, i in p], do=do)),
            [(t, f"{i}\nmore") for t, i in p],
            None,
        ),
    )


def _marker_damages() -> Iterator[Damage]:
    yield from _labelled_damages(marked, "DO: ")
    edges = {
        "bold markers": ("**---PLAN-START---**", "**---PLAN-END---**"),
        "spaced markers": ("--- PLAN-START ---", "--- PLAN-END ---"),
        "markers with a space": ("---PLAN START---", "---PLAN END---"),
        "em dash markers": ("—PLAN-START—", "—PLAN-END—"),
        "lower markers": ("---plan-start---", "---plan-end---"),
    }
    for name, (start, end) in edges.items():
        yield Damage(
            name, lambda rng, p, start=start, end=end: (marked(labelled(p), start=start, end=end), p, False)
        )  # type: ignore[misc]
    yield Damage("no end", lambda rng, p: ("---PLAN-START---\n" + labelled(p), p, False))
    yield Damage(
        "two blocks",
        lambda rng, p: (marked(labelled([("Old", "old")])) + "\nBetter:\n" + marked(labelled(p)), p, False),
    )
    yield Damage(
        "no do",
        lambda rng, p: (
            marked("\n".join(f"STEP {n}: {t}" for n, (t, _) in enumerate(p, 1))),
            [(t, t) for t, _ in p],
            False,
        ),
    )
    yield Damage("instruction", lambda rng, p: (marked(labelled(p, do="INSTRUCTION: ")), p, False))
    yield Damage(
        "fenced inside", lambda rng, p: (marked("```\n" + labelled(_plain(p)) + "\n```"), _plain(p), False)
    )
    yield Damage("json inside", lambda rng, p: (marked(_json(p)), p, False))
    yield Damage("numbers inside", lambda rng, p: (marked(_numbered(_short(p))), _short(p), False))
    yield Damage(
        "fenced", lambda rng, p: (f"Plan:\n```\n{marked(labelled(_plain(p)))}\n```\nDone.", _plain(p), False)
    )
    yield Damage("cut in a word", _cut_in_a_word)


def _cut_in_a_word(rng: random.Random, pairs: list[Pair]) -> tuple[str, list[Pair], bool | None]:
    pairs = _plain(pairs)
    title, text = pairs[-1]
    short = text.split("\n")[0][: rng.randint(5, 12)].strip()
    cut = [*pairs[:-1], (title, short)]
    return "---PLAN-START---\n" + labelled(cut), cut, False


def _plain(pairs: list[Pair]) -> list[Pair]:
    return [(title, LINES[len(title) % len(LINES)] if "```" in text else text) for title, text in pairs]


def _short(pairs: list[Pair]) -> list[Pair]:
    return [(title, text.split("\n")[0]) for title, text in _plain(pairs)]


def _json(pairs: list[Pair], keys: Pair = ("description", "instruction"), indent: int | None = 2) -> str:
    return json.dumps(
        [dict(zip(keys, pair, strict=True)) for pair in pairs], indent=indent, ensure_ascii=False
    )


def _json_damages() -> Iterator[Damage]:
    yield Damage("array", lambda rng, p: (_json(p), p, False))
    yield Damage("one line", lambda rng, p: (_json(p, indent=None), p, False))
    for key in ("steps", "plan", "tasks"):
        yield Damage(f"object {key}", lambda rng, p, key=key: (f'{{"{key}": {_json(p)}}}', p, False))  # type: ignore[misc]
    yield Damage(
        "nested", lambda rng, p: (f'{{"result": {{"plan": {{"goal": "x", "steps": {_json(p)}}}}}}}', p, False)
    )
    for first, second in (
        ("title", "details"),
        ("task", "do"),
        ("name", "prompt"),
        ("step", "action"),
        ("summary", "instructions"),
    ):
        yield Damage(f"keys {first}", lambda rng, p, k=(first, second): (_json(p, k), p, False))  # type: ignore[misc]
    yield Damage("fenced", lambda rng, p: (f"Plan:\n```json\n{_json(p)}\n```\nDone.", p, False))
    yield Damage("fenced bare", lambda rng, p: (f"```\n{_json(p)}\n```", p, False))
    yield Damage("fence not closed", lambda rng, p: (f"```json\n{_json(p)}", p, False))
    yield Damage("after a colon", lambda rng, p: (f"Here is the plan: {_json(p)}", p, False))
    yield Damage("trailing commas", lambda rng, p: (re.sub(r"\n( *)([}\]])", r",\n\1\2", _json(p)), p, False))
    yield Damage("single quotes", lambda rng, p: (_single(p), p, False))
    yield Damage(
        "bare keys", lambda rng, p: (re.sub(r'"(description|instruction)":', r"\1:", _json(p)), p, False)
    )
    yield Damage(
        "comments",
        lambda rng, p: (_json(p).replace("{\n", "{ // a step\n", 1).replace("[", "[ /* all */", 1), p, False),
    )
    yield Damage("raw line breaks", lambda rng, p: (re.sub(r"(?<!\\)\\n", "\n", _json(p)), p, False))
    yield Damage("no comma between", lambda rng, p: (_json(p).replace("},\n", "}\n"), p, False))
    yield Damage("no comma after", lambda rng, p: (_json(p).replace('",\n', '"\n'), p, False))
    yield Damage("extra brace", lambda rng, p: (f'{{"steps": {_json(p)}}}}}', p, False))
    yield Damage("extra brace inside", lambda rng, p: (_json(p).replace("},", "}},", 1), p, False))
    yield Damage("no closers", lambda rng, p: (f'{{"steps": {_json(p)}'.rstrip("]").rstrip(), p, True))
    yield Damage(
        "bracket left out", lambda rng, p: (f'{{"steps": {_json(p)}'.rstrip("]").rstrip() + "}", p, False)
    )
    yield Damage(
        "python",
        lambda rng, p: (
            repr([{"description": t, "instruction": i, "critical": False, "tool": None} for t, i in p]),
            p,
            False,
        ),
    )
    yield Damage(
        "quotes not escaped",
        lambda rng, p: (
            _json([(t, f'{i} Say "hi" twice.') for t, i in _plain(p)]).replace('\\"', '"'),
            [(t, f'{i} Say "hi" twice.') for t, i in _plain(p)],
            False,
        ),
    )
    yield Damage("cut", _cut_json)
    yield Damage("strings", lambda rng, p: (json.dumps([t for t, _ in p]), [(t, t) for t, _ in p], False))
    yield Damage(
        "keyed strings",
        lambda rng, p: (json.dumps({"steps": [t for t, _ in p]}), [(t, t) for t, _ in p], False),
    )
    yield Damage(
        "phases",
        lambda rng, p: (
            f'{{"phases": [{{"name": "a", "steps": {_json(p[:1])}}}, {{"steps": {_json(p[1:])}}}]}}',
            p,
            False,
        ),
    )
    yield Damage(
        "lines",
        lambda rng, p: ("\n".join(json.dumps({"description": t, "instruction": i}) for t, i in p), p, False),
    )
    yield Damage("curly quotes", lambda rng, p: (_curly(_uncurled(p)), _uncurled(p), False))


def _single(pairs: list[Pair]) -> str:
    def quoted(text: str) -> str:
        return "'" + json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"

    return (
        "[" + ", ".join(f"{{'description': {quoted(t)}, 'instruction': {quoted(i)}}}" for t, i in pairs) + "]"
    )


def _uncurled(pairs: list[Pair]) -> list[Pair]:
    return [(title.replace("“", "").replace("”", ""), text) for title, text in _plain(pairs)]


def _curly(pairs: list[Pair]) -> str:
    text = _json(pairs)
    return re.sub(r'"((?:[^"\\]|\\.)*)"', "“\\1”", text)


def _cut_json(rng: random.Random, pairs: list[Pair]) -> tuple[str, list[Pair], bool | None]:
    text = _json(pairs)
    ends = [found.end() for found in re.finditer(r'"\n  \}', text)]
    kept = rng.randrange(len(ends) - 1) + 1
    at = rng.randint(ends[kept - 1] + 1, ends[kept] - 2)
    return text[:at], pairs[:kept], True


def _numbered(
    pairs: list[Pair],
    item: Callable[[int, str, str], str] = lambda n, t, i: f"{n}. {t} - {i}",
    gap: str = "\n",
) -> str:
    return gap.join(item(n, title, text) for n, (title, text) in enumerate(pairs, 1))


def _numbered_damages() -> Iterator[Damage]:
    items: dict[str, Callable[[int, str, str], str]] = {
        "plain": lambda n, t, i: f"{n}. {t} - {i}",
        "parenthesis": lambda n, t, i: f"{n}) {t} - {i}",
        "en dash": lambda n, t, i: f"{n}. {t} – {i}",
        "em dash": lambda n, t, i: f"{n}. {t} — {i}",
        "bold colon": lambda n, t, i: f"{n}. **{t}**: {i}",
        "bold colon inside": lambda n, t, i: f"{n}. **{t}:** {i}",
        "bold dash": lambda n, t, i: f"{n}. **{t}** - {i}",
        "bold number": lambda n, t, i: f"**{n}.** {t} - {i}",
        "bold all": lambda n, t, i: f"**{n}. {t}** - {i}",
        "heading": lambda n, t, i: f"### {n}. {t} - {i}",
        "escaped dot": lambda n, t, i: f"{n}\\. {t} - {i}",
        "wide space": lambda n, t, i: f"{n}.\u2003{t} \u2013 {i}",
        "no-break space": lambda n, t, i: f"{n}.\u00a0{t}\u00a0-\u00a0{i}",
        "wrong numbers": lambda n, t, i: f"{(n * 3) % 4 + 1}. {t} - {i}",
        "all ones": lambda n, t, i: f"1. {t} - {i}",
        "indented": lambda n, t, i: f"  {n}. {t} - {i}",
    }
    for name, item in items.items():
        yield Damage(name, lambda rng, p, item=item: (_numbered(_short(p), item), _short(p), None))  # type: ignore[misc]
    yield Damage("blank lines", lambda rng, p: (_numbered(_short(p), gap="\n\n"), _short(p), None))
    yield Damage(
        "titles only",
        lambda rng, p: (_numbered(p, lambda n, t, i: f"{n}. {t}"), [(t, t) for t, _ in p], None),
    )
    yield Damage(
        "nested bullets",
        lambda rng, p: (
            _numbered(_short(p), lambda n, t, i: f"{n}. {t} - {i}\n   - one\n   - two 1.5"),
            [(t, f"{i}\n- one\n- two 1.5") for t, i in _short(p)],
            None,
        ),
    )
    yield Damage(
        "bullets below",
        lambda rng, p: (
            _numbered(_short(p), lambda n, t, i: f"{n}. **{t}**\n- {i}"),
            [(t, f"{t}\n- {i}") for t, i in _short(p)],
            None,
        ),
    )
    yield Damage(
        "code below",
        lambda rng, p: (
            _numbered(_short(p), lambda n, t, i: f"{n}. {t} - {i}\n   ```\n   1. no\n   ```"),
            [(t, f"{i}\n```\n1. no\n```") for t, i in _short(p)],
            None,
        ),
    )
    yield Damage(
        "sections",
        lambda rng, p: (
            _numbered(_short(p), lambda n, t, i: f"## {n}. {t}\n\n{i}\n"),
            [(t, i) for t, i in _short(p)],
            None,
        ),
    )


DAMAGES: dict[str, tuple[Damage, ...]] = {
    "markers": tuple(_marker_damages()),
    "json": tuple(_json_damages()),
    "legacy": tuple(_labelled_damages(lambda body: body, "INSTRUCTION: ")),
    "numbered": tuple(_numbered_damages()),
}


def _around(rng: random.Random, format_name: str, text: str) -> tuple[str, str]:
    """What stands around an answer, or what carries it: reasoning, prose, line ends, tokens."""
    roll = rng.randrange(9)
    if roll == 0:
        return "thought before", f"<think>{THOUGHT}</think>\n\n{text}"
    if roll == 1:
        return "orphan thought", f"{THOUGHT}</think>\n{text}"
    if roll == 2:
        return "CRLF", text.replace("\n", "\r\n")
    if roll == 3:
        return "byte-order mark", f"\ufeff{text}"
    if roll == 4:
        return "tokens behind", f"{text}<|im_end|>\n"
    if roll == 5:
        return "prose before", f"{rng.choice(INTRO)}\n\n{text}"
    if roll == 6 and format_name in ("markers", "json", "numbered"):
        return "prose around", f"{rng.choice(INTRO)}\n\n{text}\n\n{rng.choice(OUTRO)}"
    if roll == 7:
        return "blank lines around", f"\n\n  \n{text}\n\n"
    return "", text


NOTHING = (
    "Version 2.1 is out. 3 bugs were fixed.",
    '{"name": "tea", "version": "1.0.0", "description": "A pot", "scripts": {"test": "jest"}}',
    "I cannot help with that.",
    "",
    "   \n\n",
    "It was released in\n2023. That was a good year.\n1.5 was the version.",
    'Use the values [1, 2, 3] and ["red", "blue"] for the colours.',
    "```python\nsteps = [{'description': 'x', 'instruction': 'y'}]\n```",
    "```js\n// STEP 1: no\n// DO: no\nconst a = {steps: []};\n```",
    "<think>1. First - think\n2. Then - stop</think>\nWhat do you mean?",
    '<think>{"steps": ["a b"]}',
    "# Title\n\nSome words.\n\n- a bullet\n- another",
    "| a | b |\n|---|---|\n| 1. | 2. |",
    "The next step: think about it. Step by step.",
    "Step-by-step guides are good.",
    "Do: not panic.",
    '{"error": {"code": 42, "message": "no"}}',
    "[]",
    "{}",
    '{"steps": []}',
    "---PLAN-START---\n---PLAN-END---",
    "see [the docs](https://example.com) and {placeholder}",
    "On 12. March we meet; at 10.30 we go.",
    "{{{{[[[[",
    '{"type": "object", "properties": {"steps": {"type": "array"}}}',
)


def cases(count: int, seed: int) -> Iterator[Case]:
    """`count` messy outputs, every fault of every format in turn, one in eight without a plan."""
    rng = random.Random(seed)
    every = [(name, damage) for name, damages in DAMAGES.items() for damage in damages]
    for number in range(count):
        if number % 8 == 7:
            text = rng.choice(NOTHING)
            yield Case("none", "no plan", text, (), None)
            continue
        name, damage = every[number % len(every)]
        text, pairs, cut = damage.render(rng, steps(rng, code=name in ("markers", "json", "legacy")))
        around, whole = _around(rng, name, text)
        if around == "prose around" and (cut or damage.name == "sections"):
            # Nothing tells such prose from the end of the last step.
            around, whole = "", text
        fault = f"{damage.name} + {around}" if around else damage.name
        yield Case(name, fault, whole, tuple(pairs), cut)
