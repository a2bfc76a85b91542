"""Makes one moving picture of the single ones that a window was recorded in."""

from __future__ import annotations

import json
from pathlib import Path

from PIL import Image

COLOURS = 96
"""A window has few: text and icons keep their edges with these."""


def encode(recorded: Path, picture: Path) -> None:
    """Write the moving picture of a folder with single ones and `film.json`, which lists them with milliseconds."""
    listed = json.loads((recorded / "film.json").read_text(encoding="utf-8"))
    paths = [recorded / each["file"] for each in listed]
    palette = _palette(paths[:: max(1, len(paths) // 12)])
    frames = [_read(path).quantize(palette=palette, dither=Image.Dither.NONE) for path in paths]
    frames[0].save(
        picture,
        save_all=True,
        append_images=frames[1:],
        duration=[each["ms"] for each in listed],
        loop=0,
        lossless=True,
        method=3,
        # Only the first frame is a whole one; each other holds what has changed.
        kmin=len(frames),
        kmax=len(frames) + 1,
    )


def _palette(paths: list[Path]) -> Image.Image:
    """The colours of these pictures together: with colours of its own each frame would differ everywhere."""
    images = [_read(path) for path in paths]
    width, height = images[0].size
    together = Image.new("RGB", (width, height * len(images)))
    for row, image in enumerate(images):
        together.paste(image, (0, row * height))
    return together.quantize(COLOURS, dither=Image.Dither.NONE)


def _read(path: Path) -> Image.Image:
    with Image.open(path) as image:
        return image.convert("RGB")
