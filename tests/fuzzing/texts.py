"""Texts that were changed a little, the same for the same seed."""

from __future__ import annotations

import random
import zlib


def chance_of(text: str) -> random.Random:
    """A generator seeded by the text, so that a check of the same text cuts the same chunks."""
    return random.Random(zlib.crc32(text.encode("utf-8", "surrogatepass")))


def changed(text: str, seeds: tuple[str, ...], words: tuple[str, ...], chance: random.Random) -> str:
    """The text after one to four mutations with words, lines and pieces of other texts."""
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
