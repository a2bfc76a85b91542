"""Texts as the fuzzer keeps them, and what it changes in them."""

from __future__ import annotations

import random
import traceback
import zlib
from pathlib import Path


def decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def chance_of(text: str) -> random.Random:
    """The same division into chunks whenever the same text is checked."""
    return random.Random(zlib.crc32(encoded(text)))


def signature_of(error: BaseException) -> str:
    """What tells one finding from another: the kind of error, its place, and what it says of it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = str(error).partition("\n")[0][:60] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} {Path(place.filename).name}:{place.lineno} {said}".strip()


def changed(text: str, seeds: tuple[str, ...], words: tuple[str, ...], chance: random.Random) -> str:
    """The text after one or a few changes that keep its structure: words, lines and pieces of other texts."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        a, b = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        b = min(b, a + 80) if chance.random() < 0.7 else b
        match chance.randrange(7):
            case 0 | 1:
                text = text[:a] + chance.choice(words) + text[a:]
            case 2:
                text = text[:a] + chance.choice(words) + text[b:]
            case 3:
                text = text[:a] + text[b:]
            case 4:
                text = text[:a] + text[a:b] * chance.choice((2, 3, 20, 300)) + text[b:]
            case 5:
                other = chance.choice(seeds)
                c, d = sorted(chance.randrange(len(other) + 1) for _ in range(2))
                text = text[:a] + other[c:d] + text[b:]
            case _:
                lines = text.split("\n")
                chance.shuffle(lines)
                text = "\n".join(lines)
    return text
