"""The model's reasoning, which is never read for a plan once it is closed."""

from __future__ import annotations

import re

from planloom.domain.values import Value

_PAIRS = (
    (r"<think(?:ing)?>", r"</think(?:ing)?>"),
    (r"<(?:reasoning|thought|reflection|analysis)>", r"</(?:reasoning|thought|reflection|analysis)>"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"<seed:think>", r"</seed:think>"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (
        r"<\|channel\|>\s?analysis\s?<\|message\|>",
        r"<\|end\|>|<\|start\|>assistant|(?=<\|channel\|>\s?final)",
    ),
    (r"◁think▷", r"◁/think▷"),
)
_TAG = re.compile(
    "(?=[<[◁])(?:"
    + "|".join(f"(?P<open{n}>{opens})|(?P<close{n}>{closes})" for n, (opens, closes) in enumerate(_PAIRS))
    + ")",
    re.IGNORECASE,
)
_HARMONY = 5
_TOKENS_AT_END = re.compile(r"<\|[A-Za-z_]{1,40}\|>\s*$|</s>\s*$")
_FINAL_CHANNEL = re.compile(
    r"(?:<\|start\|>\s?assistant)?<\|channel\|>\s?(?:final|commentary)\s?<\|message\|>"
)
_MOST_TOKENS = 20


class Visible(Value):
    """A text without its reasoning; `unclosed` is what follows a reasoning tag that was never closed."""

    text: str
    unclosed: str | None = None


def without_reasoning(text: str) -> Visible:
    """Leave the reasoning out (T7): closed stretches, and everything before an orphan closing tag.

    Tags in inline code are text. Line ends become LF. Time is linear.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    kept: list[str] = []
    done = 0
    open_kind: int | None = None
    open_end = 0
    for tag in _TAG.finditer(text):
        kind = next(
            n for n in range(len(_PAIRS)) if tag[f"open{n}"] is not None or tag[f"close{n}"] is not None
        )
        opens = tag[f"open{kind}"] is not None
        if text[tag.start() - 1 : tag.start()] == "`" and text[tag.end() : tag.end() + 1] == "`":
            continue
        if open_kind is None:
            if opens:
                kept.append(text[done : tag.start()])
                open_kind, open_end, done = kind, tag.end(), tag.start()
            elif kind != _HARMONY:
                # An orphan: all that came before was thought, whatever it looked like.
                kept.clear()
                done = tag.end()
        elif kind == open_kind and not opens:
            open_kind, done = None, tag.end()
    if open_kind is not None:
        return Visible(text=_cleaned("".join(kept)), unclosed=_cleaned(text[open_end:]))
    kept.append(text[done:])
    return Visible(text=_cleaned("".join(kept)))


def _cleaned(text: str) -> str:
    """The text without the tokens that some servers leave around an answer."""
    text = _FINAL_CHANNEL.sub("", text)
    for _ in range(_MOST_TOKENS):
        found = _TOKENS_AT_END.search(text, max(0, len(text) - 80))
        if found is None:
            break
        text = text[: found.start()]
    return text
