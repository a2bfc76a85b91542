"""Paths as texts alone, as plans hold them: what leads out of its folder, and which are one place."""

from __future__ import annotations

import unicodedata


def escapes(path: str) -> bool:
    """Whether a path, looked at as text only, leads out of the folder that it is relative to."""
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
    """One spelling for the paths that lead to one place, as far as the text alone tells."""
    parts: list[str] = []
    for part in unicodedata.normalize("NFC", path.strip().replace("\\", "/")).split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
