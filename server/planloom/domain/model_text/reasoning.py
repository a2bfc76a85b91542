"""Removes a model's reasoning from its text by the tags around it (docs/model-text.md, T7)."""

from __future__ import annotations

import re
from typing import NamedTuple

from planloom.domain.model_text.token_set import TokenSet

_THINK = ("</think>", "</thinking>")
REASONING_TAGS: dict[str, tuple[str, ...]] = {
    "<think>": _THINK,
    "<thinking>": _THINK,
    "<reasoning>": ("</reasoning>",),
    "<thought>": ("</thought>",),
    "<reflection>": ("</reflection>",),
    "<analysis>": ("</analysis>",),
    "[THINK]": ("[/THINK]",),
    "<seed:think>": ("</seed:think>",),
    "<|START_THINKING|>": ("<|END_THINKING|>",),
    "◁think▷": ("◁/think▷",),
}
"""The tags that open reasoning, each with the tags that close it."""
HARMONY_ENDS = ("<|end|>", "<|start|>", "<|channel|>", "<|return|>", "<|call|>")
"""The tokens that end a message of the Harmony format (gpt-oss), whose `analysis` channel is reasoning."""

_HARMONY_ANSWER = ("<|channel|>final", "<|channel|> final")
_HARMONY_CLOSES = ("<|end|>", "<|start|>assistant", *_HARMONY_ANSWER)
_CLOSES = {
    **{opens.lower(): tuple(tag.lower() for tag in closes) for opens, closes in REASONING_TAGS.items()},
    **{f"<|channel|>{a}analysis{b}<|message|>": _HARMONY_CLOSES for a in ("", " ") for b in ("", " ")},
}
_ORPHANS = frozenset(tag.lower() for closes in REASONING_TAGS.values() for tag in closes)
_TAGS = TokenSet({*_CLOSES, *(tag for closes in _CLOSES.values() for tag in closes)}, ignore_case=True)

_TOKENS_AT_END = re.compile(r"<\|[A-Za-z_]{1,40}\|>\s*$|</s>\s*$")
_FINAL_CHANNEL = re.compile(
    r"(?:<\|start\|>\s?assistant)?<\|channel\|>\s?(?:final|commentary)\s?<\|message\|>"
)
_MOST_TOKENS = 20


class Visible(NamedTuple):
    """A text without its reasoning; `unclosed` is the text after a reasoning tag that was never closed."""

    text: str
    unclosed: str | None = None


class ReasoningSplitter:
    """Removes reasoning from a streamed text, which may be cut anywhere. Tags in inline code are plain text.

    `unclosed` is the reasoning of the tag that is open, None outside of reasoning.
    """

    def __init__(self) -> None:
        self.unclosed: list[str] | None = None
        self._closes: tuple[str, ...] = ()
        self._held = ""
        self._before = ""

    def feed(self, piece: str, *, final: bool = False) -> list[str]:
        """The visible text that the next piece adds, split at closing tags without an opening tag.

        All text before such a tag was reasoning, too.
        """
        text = self._held + piece
        if text and _TAGS.first.search(text) is None:
            self._held, self._before = "", text[-1]
            if self.unclosed is None:
                return [text]
            self.unclosed.append(text)
            return [""]
        end = len(text) if final else _TAGS.partial_at_end(text)
        visible: list[list[str]] = [[]]
        done = 0
        for tag in _TAGS.pattern.finditer(text):
            if tag.end() == len(text) and not final:
                # The next character decides whether the tag is in inline code.
                end = tag.start()
                break
            before = text[tag.start() - 1] if tag.start() else self._before
            if before == "`" and text[tag.end() : tag.end() + 1] == "`":
                continue
            name = tag[0].lower()
            if self.unclosed is not None:
                if name in self._closes:
                    self.unclosed = None
                    done = tag.start() if name in _HARMONY_ANSWER else tag.end()
            elif name in _CLOSES:
                visible[-1].append(text[done : tag.start()])
                self.unclosed, self._closes, done = [], _CLOSES[name], tag.end()
            elif name in _ORPHANS:
                visible[-1].append(text[done : tag.start()])
                visible.append([])
                done = tag.end()
        end = max(end, done)
        (visible[-1] if self.unclosed is None else self.unclosed).append(text[done:end])
        self._held = text[end:]
        self._before = text[end - 1] if end else self._before
        return ["".join(part) for part in visible]


def without_reasoning(text: str) -> Visible:
    """Remove closed reasoning, and everything before a closing tag without an opening tag.

    Line ends become LF. Time is linear.
    """
    splitter = ReasoningSplitter()
    visible = splitter.feed(text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff"), final=True)
    unclosed = None if splitter.unclosed is None else _cleaned("".join(splitter.unclosed))
    return Visible(_cleaned(visible[-1]), unclosed)


def _cleaned(text: str) -> str:
    """The text without the special tokens that some servers leave around an answer."""
    text = _FINAL_CHANNEL.sub("", text)
    for _ in range(_MOST_TOKENS):
        found = _TOKENS_AT_END.search(text, max(0, len(text) - 80))
        if found is None:
            break
        text = text[: found.start()]
    return text
