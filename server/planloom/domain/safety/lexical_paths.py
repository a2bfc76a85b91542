"""Judges paths by their text alone: whether one leads out of its folder, and whether two are the same."""

from __future__ import annotations

import unicodedata


def escapes(path: str) -> bool:
    """Whether the text of a path leads out of the folder that it is relative to."""
    text = path.strip().replace("\\", "/")
    if text.startswith(("/", "~")) or text[1:2] == ":" or "://" in text or "\0" in text:
        return True
    depth = 0
    for part in text.split("/"):
        if part == "..":
            depth -= 1
            if depth < 0:
                return True
        elif part not in ("", "."):
            depth += 1
    return False


def normal_path(path: str) -> str:
    """The path in normal form, so that spellings of the same path are equal."""
    parts: list[str] = []
    for part in unicodedata.normalize("NFC", path.strip().replace("\\", "/")).split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
