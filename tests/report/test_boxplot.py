"""Box plots in letters and as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from calibrator.report.boxplot import WIDTH, Box, axis_line, box_line, svg

WIDE = Box("10 labels", (-1.0, -0.5, 0.0, 0.2, 0.4, 0.8, 1.0))


def test_a_box_stands_where_its_numbers_are() -> None:
    line = box_line(WIDE)
    assert len(line) == WIDTH
    middle = (WIDTH - 1) // 2
    assert line[0] == "·"
    assert line[middle] == "█", "the lower quartile is 0"
    assert line[round(1.2 * middle)] == "┃"
    assert line[round(0.5 * middle)] == "├"


def test_a_point_is_its_middle_and_the_threshold_is_marked() -> None:
    line = box_line(Box("all", (0.5,) * 7), 0.0)
    assert line.strip() == line[(WIDTH - 1) // 2 :]
    assert line.replace(" ", "") == "¦┃"
    assert axis_line().split() == ["-1", "-0.5", "0", "0.5", "1"]


def test_the_drawing_is_valid_and_holds_no_name_as_markup() -> None:
    text = svg("tau", [("<b>judge & co</b>", [WIDE])], 0.0)
    root = ET.fromstring(text)
    words = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert "<b>judge & co</b>" in words
    assert "10 labels" in words
