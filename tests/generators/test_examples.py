"""The nearest examples, and those that may never be shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrator.columns import Wanted
from calibrator.errors import ConfigError, DataError
from calibrator.generators.examples import Pool, named_there, nearest, read_examples
from calibrator.generators.sources import Source
from calibrator.generators.wording import Example
from calibrator.tables import Table


def clock(texts: Sequence[str]) -> Any:
    """Embed the number in a text as an angle of so many degrees."""
    angles = np.radians([float("".join(c for c in t if c.isdigit()) or 0) for t in texts])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def pool(*examples: Example, **groups: str) -> Pool:
    """Examples, and the groups of further rows by `at_<number>`."""
    bound: dict[str, set[str]] = {e.source: {e.group} if e.group else set() for e in examples}
    for place, names in groups.items():
        bound.setdefault(place.replace("_", " "), set()).update(names)
    return Pool(examples, {key: frozenset(names) for key, names in bound.items()})


def example(number: int, group: str | None = None) -> Example:
    return Example(f"at {number}", f"answer {number}", group)


def test_the_nearest_stand_last() -> None:
    examples = pool(*(example(n) for n in (10, 50, 20, 90)))
    assert nearest([Source("a", "at 12"), Source("b", "at 80")], examples, 2, clock) == [[2, 0], [1, 3]]


def test_the_same_source_and_the_same_group_are_never_shown() -> None:
    examples = pool(example(10), example(11, "g"), example(12, "h"), example(40), example(13))
    source = Source("a", "AT  10!", group="g")
    assert nearest([source], examples, 2, clock) == [[4, 2]]
    assert nearest([Source("a", "at 10")], examples, 1, clock) == [[1]]  # without a group none is barred by it


def test_a_source_is_of_every_group_that_it_stands_in() -> None:
    """Whichever row is told: that of the data or a repeat of it there, the example or a repeat of it."""
    examples = (example(10, "g"), example(11, "h"), example(20), example(21, "k"))
    assert nearest([Source("a", "at 12")], pool(*examples), 1, clock) == [[1]]
    assert nearest([Source("a", "at 12", groups=frozenset({"h", "g"}))], pool(*examples), 1, clock) == [[2]]
    # A further row of the second example is of the group of the source.
    assert nearest([Source("a", "at 12", group="x")], pool(*examples, at_11="x"), 1, clock) == [[0]]
    # The source itself stands among the examples: once as the first of them, of which a repeat is in the group h ...
    assert nearest([Source("a", "at 10")], pool(*examples, at_10="h"), 1, clock) == [[2]]
    # ... and once in a row without an answer, which is no example.
    assert nearest([Source("a", "at 12")], pool(*examples, at_12="h"), 1, clock) == [[0]]


def test_what_is_nearly_the_same_is_not_shown_and_nor_is_its_group() -> None:
    words = "the bus to the old town was late again on monday"
    examples = pool(
        Example(f"{words} 5", "one", "g"), Example("it was late 6", "two", "g"), Example("it was late 9", "three")
    )
    assert nearest([Source("a", f"{words} 4")], examples, 1, clock) == [[2]]
    assert nearest([Source("a", "the bus was late 4")], examples, 1, clock) == [[0]]


def test_a_source_must_have_enough_examples_left() -> None:
    examples = pool(example(10), example(20))
    assert nearest([Source("a", "at 14")], examples, 2, clock) == [[1, 0]]
    with pytest.raises(ConfigError, match="1 examples are left for a, and 2 are wanted"):
        nearest([Source("a", "at 10")], examples, 2, clock)
    with pytest.raises(ConfigError, match="0 is no number of examples"):
        nearest([], examples, 0, clock)


def test_many_sources_are_the_same_as_few() -> None:
    draw = np.random.default_rng(0)
    examples = pool(*(example(int(n)) for n in draw.choice(360, 40, replace=False)))
    sources = [Source(str(k), f"at {k % 360}.") for k in range(1100)]
    whole = nearest(sources, examples, 3, clock)
    for k in (0, 511, 512, 1099):
        assert [whole[k]] == nearest([sources[k]], examples, 3, clock)


def table(*rows: dict[str, Any]) -> Table:
    return Table(Path("t.csv"), tuple(rows[0]), rows, rows, tuple(range(2, len(rows) + 2)))


def test_examples_are_read_with_their_references() -> None:
    rows = table(
        {"prompt": "One?", "reference": "Yes.", "output": "No.", "group": "g"},
        {"prompt": "one", "reference": "Again.", "output": "No.", "group": "h"},
        {"prompt": "Two?", "reference": " ", "output": "No.", "group": "i"},
        {"prompt": "Three?", "reference": "Three.", "output": "No.", "group": ""},
    )
    read = read_examples(rows, Wanted())
    assert read.examples == (Example("One?", "Yes.", "g"), Example("Three?", "Three."))
    assert read.groups == {"one": {"g", "h"}, "two": {"i"}, "three": frozenset()}
    assert read.told() == "source=prompt (guessed); answer=reference (guessed); group=group (guessed)"
    assert read_examples(rows, Wanted(), "output").examples[1] == Example("Two?", "No.", "i")
    assert read_examples(rows, Wanted(), "output").told().count("(guessed)") == 2
    assert read_examples(rows, Wanted(group="none")).groups["one"] == frozenset()
    with pytest.raises(DataError, match="no row has both"):
        read_examples(table({"prompt": "One?", "reference": ""}), Wanted())
    with pytest.raises(DataError, match="name it with --answers"):
        read_examples(table({"prompt": "One?", "kind": "x"}), Wanted())
    with pytest.raises(DataError, match="column 'prompt': is the source of the examples and their answer"):
        read_examples(rows, Wanted(), "prompt")


def test_the_source_is_no_answer() -> None:
    rows = table({"text": "One?", "reply": "Yes."})
    assert read_examples(rows, Wanted(source="text")).columns == {"source": "text", "answer": "reply"}


def test_columns_that_are_named_are_those_of_the_examples_where_they_have_them() -> None:
    rows = table({"conversation": "no", "post": "One?", "reply": "Yes.", "thread": "t", "gold": "Right."})
    assert read_examples(rows, Wanted()).columns["source"] == "conversation"
    named = named_there(rows, Wanted(group="none"), {"source": "Post", "group": "thread", "identifier": "post"})
    assert named == Wanted(source="Post", group="thread")
    read = read_examples(rows, named)
    assert read.columns == {"source": "post", "answer": "gold", "group": "thread"}
    assert read.told() == "source=post; answer=gold (guessed); group=thread"
    known = Wanted(source="conversation", group="thread")
    elsewhere = named_there(rows, known, {"source": "letter", "group": "none", "reference": "reply"})
    assert elsewhere == Wanted(source="conversation", group="none", reference="reply")
    assert read_examples(rows, elsewhere).columns == {"source": "conversation", "answer": "reply"}
