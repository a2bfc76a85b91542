"""Draws recorded terminals as one SVG that moves: pages show it as a picture, so it holds neither scripts nor fonts."""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import TypeVar

from rich.ansi import AnsiDecoder
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from pictures.recorder import Frame, Screen

CELL = 9.0
LINE = 19
SIZE = 15
MARGIN = 14
BAR = 30
"""The height of a terminal's title, and of the caption."""
BACKGROUND = (24, 26, 31)
THEME = TerminalTheme(
    BACKGROUND,
    (204, 208, 218),
    [
        *((90, 96, 110), (240, 113, 120), (137, 201, 122), (229, 192, 110)),
        *((97, 160, 239), (198, 140, 224), (86, 190, 200), (204, 208, 218)),
    ],
)
_CONSOLE = Console(file=io.StringIO())
T = TypeVar("T", bound=Hashable)
_STYLE = """
text { font: %dpx ui-monospace, "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
.title, .caption { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
.title { font-size: 13px; fill: #8b93a7 } .caption { font-size: 17px; font-weight: 600; fill: #f0f2f6 }
.b { font-weight: bold } .i { font-style: italic } .u { text-decoration: underline }
"""


@dataclass(frozen=True)
class Pane:
    """A terminal of the recording: its name in the frames, its title and its lines."""

    name: str
    title: str
    lines: int


@dataclass
class _Strip:
    """All that one place of the picture shows, drawn below each other, and moved behind a window."""

    name: str
    height: float
    seconds: float
    drawn: list[str] = field(default_factory=list)
    steps: list[tuple[float, int]] = field(default_factory=list)

    def add(self, shown: Iterable[tuple[float, T]], draw: Callable[[T], str]) -> None:
        """Add what is shown at these moments, in seconds."""
        places: dict[T, int] = {}
        for what, moments in groupby(shown, key=lambda each: each[1]):
            if what not in places:
                places[what] = len(places)
                self.drawn.append(
                    f'<g transform="translate(0 {places[what] * self.height:g})">{draw(what)}</g>'
                )
            self.steps.append((next(moments)[0], places[what]))

    def css(self) -> str:
        """The keyframes. Who wants no motion sees the last moment."""
        frames = "".join(
            f"{100 * moment / self.seconds:.3f}%{{transform:translateY({-place * self.height:g}px)}}"
            for moment, place in self.steps
        )
        last = -self.steps[-1][1] * self.height
        return (
            f"@keyframes {self.name}{{{frames}}}\n#{self.name}{{transform:translateY({last:g}px)}}\n"
            f"@media not (prefers-reduced-motion: reduce)"
            f"{{#{self.name}{{animation:{self.name} {self.seconds:g}s step-end infinite}}}}\n"
        )

    def at(self, x: float, y: float, width: float) -> str:
        """The strip behind its window."""
        return (
            f'<svg x="{x:g}" y="{y:g}" width="{width:g}" height="{self.height:g}">'
            f'<g id="{self.name}">{"".join(self.drawn)}</g></svg>'
        )


@dataclass
class _Rows:
    """The lines that any screen shows, each drawn once."""

    _names: dict[tuple[Segment, ...], str] = field(default_factory=dict)
    _drawn: list[str] = field(default_factory=list)

    def use(self, row: int, line: Text) -> str:
        segments = tuple(Segment.simplify(line.render(_CONSOLE)))
        if segments not in self._names:
            self._names[segments] = f"r{len(self._names)}"
            self._drawn.append(f'<g id="{self._names[segments]}">{_line(segments)}</g>')
        return f'<use href="#{self._names[segments]}" y="{row * LINE}"/>'

    def definitions(self) -> str:
        return f"<defs>{''.join(self._drawn)}</defs>"


def animated(frames: Sequence[Frame], panes: Sequence[Pane], columns: int) -> str:
    """The SVG of a recording."""
    frames = [frame for frame in frames if frame.seconds > 0]
    moments = [sum(frame.seconds for frame in frames[:at]) for at in range(len(frames))]
    seconds = sum(frame.seconds for frame in frames)
    rows = _Rows()
    inner = columns * CELL
    width = inner + 2 * MARGIN

    caption = _Strip("caption", BAR, seconds)
    said = [frame.caption for frame in frames]
    caption.add(zip(moments, said, strict=True), lambda text: _label(text, "caption", width))
    strips, body, y = [caption], [caption.at(0, 4, width)], BAR + 8.0
    for pane in panes:
        strip = _Strip(pane.name, pane.lines * LINE, seconds)
        shown = [frame.screens[pane.name] for frame in frames]
        strip.add(zip(moments, shown, strict=True), lambda screen: _screen(screen, rows))
        strips.append(strip)
        height = BAR + strip.height + MARGIN
        body += [
            f'<rect x="1" y="{y:g}" width="{width - 2:g}" height="{height:g}" rx="8" fill="{_hex(BACKGROUND)}"'
            ' stroke="#3a3f4b"/>',
            f'<svg y="{y:g}" width="{width:g}" height="{BAR}">{_label(pane.title, "title", width)}</svg>',
            strip.at(MARGIN, y + BAR, inner),
        ]
        y += height + 8
    css = _STYLE % SIZE + "".join(strip.css() for strip in strips)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {y:g}" width="{width:g}" height="{y:g}">'
        f'<style>{css}</style>{rows.definitions()}<rect width="100%" height="100%" rx="10" fill="#0f1115"/>'
        f"{''.join(body)}</svg>\n"
    )


def _screen(screen: Screen, rows: _Rows) -> str:
    # A style holds from line to line.
    decoded = AnsiDecoder().decode("\n".join(screen.lines))
    drawn = [rows.use(row, line) for row, line in enumerate(decoded) if line.plain.strip()]
    if screen.caret is not None:
        column, row = screen.caret
        drawn.append(_box(column, 1, _hex(THEME.foreground_color), row))
    return "".join(drawn)


def _line(segments: Iterable[Segment]) -> str:
    column, drawn = 0, []
    for text, style, _ in segments:
        cells = cell_len(text)
        if style is not None and style.bgcolor is not None and not style.bgcolor.is_default:
            drawn.append(_box(column, cells, _hex(style.bgcolor.get_truecolor(THEME, foreground=False))))
        if text.strip():
            drawn.append(_text(text, style or Style.null(), column, cells))
        column += cells
    return "".join(drawn)


def _box(column: int, cells: int, colour: str, row: int = 0) -> str:
    place = f'x="{column * CELL:g}" y="{row * LINE + 1}"'
    return f'<rect {place} width="{cells * CELL:g}" height="{LINE - 2}" fill="{colour}"/>'


def _label(text: str, kind: str, width: float) -> str:
    return f'<text class="{kind}" x="{width / 2:g}" y="20" text-anchor="middle">{escape(text)}</text>'


def _text(text: str, style: Style, column: int, cells: int) -> str:
    classes = "".join(
        letter for letter, is_on in (("b", style.bold), ("i", style.italic), ("u", style.underline)) if is_on
    )
    colour = style.color.get_truecolor(THEME) if style.color is not None else THEME.foreground_color
    return (
        f'<text x="{column * CELL:g}" y="{LINE - 5}" textLength="{cells * CELL:g}" fill="{_hex(colour)}"'
        + (f' class="{" ".join(classes)}"' if classes else "")
        + (' opacity=".65"' if style.dim else "")
        + f">{escape(text)}</text>"
    )


def _hex(colour: tuple[int, int, int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)
