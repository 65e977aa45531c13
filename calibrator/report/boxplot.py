"""Box plots of figures from -1 to 1, in letters and as SVG: the spread of Kendall's tau by the number of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from calibrator.texts import visible

WIDTH = 61  # letters from -1 to 1
LINE, PLOT, LEFT, TOP = 22, 420, 250, 24  # pixels
INK, BOX, MIDDLE = "#333", "#9db8d9", "#b22"


@dataclass(frozen=True, slots=True)
class Box:
    """One box: `label`, and the ends of the range, of the whiskers and of the box with the middle between them.

    Seven numbers in rising order: smallest, lower whisker, lower quartile, middle, upper quartile, upper whisker,
    largest. One that is only an interval has no box: its quartiles are those of the middle.
    """

    label: str
    at: tuple[float, float, float, float, float, float, float]


def axis_line() -> str:
    """Return the axis below boxes in letters, from -1 to 1."""
    line = [" "] * (WIDTH + 2)
    for value, text in ((-1.0, "-1"), (-0.5, "-0.5"), (0.0, "0"), (0.5, "0.5"), (1.0, "1")):
        start = min(_place(value), len(line) - len(text))
        line[start : start + len(text)] = text
    return "".join(line).rstrip()


def box_line(box: Box, mark: float | None = None) -> str:
    """Return a box in letters: dots to the ends, lines to the whiskers; `mark` is where a threshold stands."""
    line = [" "] * WIDTH
    places = [_place(v) for v in box.at]
    for first, last, letter in ((0, 6, "·"), (1, 5, "─"), (2, 4, "█")):
        for k in range(places[first], places[last] + 1):
            line[k] = letter
    for k, letter in ((places[1], "├"), (places[5], "┤")):
        if line[k] == "─":
            line[k] = letter
    line[places[3]] = "┃"
    if mark is not None and line[_place(mark)] == " ":
        line[_place(mark)] = "¦"
    return "".join(line).rstrip()


def _place(value: float) -> int:
    return round((max(-1.0, min(1.0, value)) + 1) / 2 * (WIDTH - 1))


def svg(title: str, parts: Sequence[tuple[str, Sequence[Box]]], mark: float) -> str:
    """Return a drawing of several plots below each other, each with its heading; `mark` is the threshold."""
    lines: list[str] = []
    y = TOP + LINE
    for heading, boxes in parts:
        lines.append(_text(8, y, heading, bold=True))
        y += LINE // 2
        begin = y
        for box in boxes:
            y += LINE
            lines += _drawn(box, y)
        lines += _axis(begin + 4, y + LINE // 2, mark)
        y += 3 * LINE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + PLOT + 40}" height="{y}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, _text(8, TOP, title, bold=True), *lines, "</svg>"]) + "\n"


def _drawn(box: Box, y: int) -> list[str]:
    smallest, low, first, middle, third, high, largest = (_x(v) for v in box.at)
    parts = [_text(LEFT - 12, y + 4, box.label, end=True), _line(low, y, high, y)]
    parts += [_line(x, y - 4, x, y + 4) for x in (low, high)]
    if third > first:
        parts.append(
            f'<rect x="{first:.1f}" y="{y - 7}" width="{third - first:.1f}" height="14" fill="{BOX}" stroke="{INK}"/>'
        )
    parts += [f'<circle cx="{x:.1f}" cy="{y}" r="1.5" fill="{INK}"/>' for x in (smallest, largest)]
    return [*parts, _line(middle, y - 7, middle, y + 7, MIDDLE, 2)]


def _axis(top: int, bottom: int, mark: float) -> list[str]:
    lines = [_line(_x(-1), bottom, _x(1), bottom), _line(_x(mark), top, _x(mark), bottom, MIDDLE, 1, dashed=True)]
    for value in (-1.0, -0.5, 0.0, 0.5, 1.0):
        lines += [_line(_x(value), bottom, _x(value), bottom + 4), _text(_x(value) - 8, bottom + 18, f"{value:g}")]
    return lines


def _x(value: float) -> float:
    return LEFT + (max(-1.0, min(1.0, value)) + 1) / 2 * PLOT


def _line(x1: float, y1: float, x2: float, y2: float, ink: str = INK, width: int = 1, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{ink}" stroke-width="{width}"{dash}/>'


def _text(x: float, y: float, text: str, *, bold: bool = False, end: bool = False) -> str:
    style = (' font-weight="bold"' if bold else "") + (' text-anchor="end"' if end else "")
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}>{escape(visible(text))}</text>'
