"""The nearest examples, and those that may never be shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrator.columns import Wanted
from calibrator.errors import ConfigError, DataError
from calibrator.generators.examples import nearest, read_examples
from calibrator.generators.sources import Source
from calibrator.generators.wording import Example
from calibrator.tables import Table


def clock(texts: Sequence[str]) -> Any:
    """Embed the number in a text as an angle of so many degrees."""
    angles = np.radians([float("".join(c for c in t if c.isdigit()) or 0) for t in texts])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def example(number: int, group: str | None = None) -> Example:
    return Example(f"at {number}", f"answer {number}", group)


def test_the_nearest_stand_last() -> None:
    examples = [example(n) for n in (10, 50, 20, 90)]
    assert nearest([Source("a", "at 12"), Source("b", "at 80")], examples, 2, clock) == [[2, 0], [1, 3]]


def test_the_same_source_and_the_same_group_are_never_shown() -> None:
    examples = [example(10), example(11, "g"), example(12, "h"), example(40), example(13)]
    source = Source("a", "AT  10!", group="g")
    assert nearest([source], examples, 2, clock) == [[4, 2]]
    assert nearest([Source("a", "at 10")], examples, 1, clock) == [[1]]  # without a group none is barred by it


def test_a_source_must_have_enough_examples_left() -> None:
    examples = [example(10), example(20)]
    assert nearest([Source("a", "at 14")], examples, 2, clock) == [[1, 0]]
    with pytest.raises(ConfigError, match="1 examples are left for a, and 2 are wanted"):
        nearest([Source("a", "at 10")], examples, 2, clock)
    with pytest.raises(ConfigError, match="0 is no number of examples"):
        nearest([], examples, 0, clock)


def test_many_sources_are_the_same_as_few() -> None:
    draw = np.random.default_rng(0)
    examples = [example(int(n)) for n in draw.choice(360, 40, replace=False)]
    sources = [Source(str(k), f"at {k % 360}.") for k in range(1100)]
    whole = nearest(sources, examples, 3, clock)
    for k in (0, 511, 512, 1099):
        assert [whole[k]] == nearest([sources[k]], examples, 3, clock)


def test_examples_are_read_with_their_references() -> None:
    def table(*rows: dict[str, Any]) -> Table:
        return Table(Path("t.csv"), tuple(rows[0]), rows, rows, tuple(range(2, len(rows) + 2)))

    rows = table(
        {"prompt": "One?", "reference": "Yes.", "output": "No.", "group": "g"},
        {"prompt": "one", "reference": "Again.", "output": "No.", "group": ""},
        {"prompt": "Two?", "reference": " ", "output": "No.", "group": ""},
        {"prompt": "Three?", "reference": "Three.", "output": "No.", "group": ""},
    )
    assert read_examples(rows, Wanted()) == (Example("One?", "Yes.", "g"), Example("Three?", "Three."))
    assert read_examples(rows, Wanted(), "output")[1] == Example("Two?", "No.")
    with pytest.raises(DataError, match="no row has both"):
        read_examples(table({"prompt": "One?", "reference": ""}), Wanted())
    with pytest.raises(DataError, match="name it with --answers"):
        read_examples(table({"prompt": "One?", "kind": "x"}), Wanted())
