"""Characters that a reader cannot see: the one definition for questions, screens, messages, prompts and file names.

Hidden are control and format characters, surrogates, private and unassigned code points, separators of lines and
paragraphs, every space but the blank, the code points that Unicode says a display may ignore
(`Default_Ignorable_Code_Point`), and letters that are drawn as nothing. The panel's own list
(`client-vscode/src/webview/hiddenCharacters.ts`) is compared with this one by a test.

Text behind very many blanks is hidden, too: it stands beyond the edge of every window.
"""

from __future__ import annotations

import unicodedata
from typing import Final, NamedTuple

from planloom.domain.patterns import pattern

IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""The characters of `Default_Ignorable_Code_Point` (Unicode 17), as the inside of a class of a regular expression."""
SPACES: Final = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""Spaces other than the blank, in the same form."""
_DRAWN_AS_NOTHING: Final = pattern(f"[{IGNORABLE}{SPACES}\u2800]")
_SPACE: Final = pattern(f"[{SPACES}]")
_FAR: Final = pattern(r"(?<![ \t])[ \t]{80,}+(?=[^\r\n])")
"""So many blanks before text that no window is as wide."""
_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_EMOJI_SELECTOR: Final = "\ufe0f"
_SYMBOLS: Final = frozenset({"So", "Sm", "Sk"})
_OTHER_EMOJI: Final = frozenset("#*0123456789‼⁉ℹ〰〽")


def is_hidden(char: str) -> bool:
    """Whether a reader cannot see this character, or not tell it from a blank."""
    if char.isascii():
        return not char.isprintable()
    return unicodedata.category(char) in _CATEGORIES or _DRAWN_AS_NOTHING.match(char) is not None


def hides(text: str) -> bool:
    """Whether a text contains hidden characters other than line ends and tabs."""
    return visible(text, keep="\n\t") != text


def visible(text: str, keep: str = "") -> str:
    """The text with its hidden characters written as `<U+202E>`, except those in `keep`.

    The selector that draws the symbol before it as an emoji stays. Linear in time.
    """
    if text.isascii() and text.isprintable():
        return text
    hidden = {char for char in set(text) if char not in keep and is_hidden(char)}
    if not hidden:
        return text
    table = {char: f"<U+{ord(char):04X}>" for char in hidden}
    if _EMOJI_SELECTOR not in hidden:
        return text.translate({ord(char): code for char, code in table.items()})
    before = ["", *text]
    return "".join(
        char if char == _EMOJI_SELECTOR and _takes_selector(previous) else table.get(char, char)
        for previous, char in zip(before, text, strict=False)
    )


class FarText(NamedTuple):
    """Text behind `blanks` blanks in line `line`, which counts from 1."""

    line: int
    blanks: int


def far_text(text: str, known: str = "") -> FarText | None:
    """The first line with text behind very many blanks that is no line of `known`. Linear in time."""
    if _FAR.search(text) is None:
        return None
    old = frozenset(known.splitlines())
    for number, line in enumerate(text.splitlines(), 1):
        found = _FAR.search(line) if line not in old else None
        if found is not None:
            return FarText(number, len(found[0]))
    return None


def folded_blanks(text: str) -> str:
    """The text with very many blanks before other text written as `<400 blanks>`."""
    return _FAR.sub(lambda found: f"<{len(found[0])} blanks>", text)


def plain_spaces(text: str) -> str:
    """The text with every odd space as a blank: for what is read, and neither approved nor run."""
    return text if text.isascii() else _SPACE.sub(" ", text)


def in_message(text: str) -> str:
    """A text for a message that an editor shows: hidden characters written out, and no link that hides its target.

    Editors make links of `[words](target)` in messages, and some run `command:` targets.
    """
    return visible(text, keep="\n\t").replace("](", "] (")


def _takes_selector(char: str) -> bool:
    return char in _OTHER_EMOJI or (char != "" and unicodedata.category(char) in _SYMBOLS)
