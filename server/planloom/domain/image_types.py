"""The kinds of images that models take, by the name of a file and by its bytes."""

from __future__ import annotations

from typing import Final

KINDS: Final = "PNG, JPEG, GIF, WebP or BMP"

_BY_SUFFIX: Final = {
    "bmp": "image/bmp",
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
}
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)


def named_image_type(path: str) -> str | None:
    """The media type of an image file by its name; None for other files."""
    return _BY_SUFFIX.get(path.rpartition(".")[2].lower()) if "." in path else None


def image_type(data: bytes) -> str | None:
    """The media type of an image by its first bytes; None if they begin none of the kinds that models take."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in _SIGNATURES if data.startswith(start)), None)
