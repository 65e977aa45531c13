"""What each text is asked to be."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.errors import ConfigError
from calibrator.generators.design import Asked, asked_for, balanced, named_attributes
from calibrator.generators.scheme import load_scheme

CONTROLLED, TYPED = load_scheme(None, "controlled"), load_scheme(None, "typed")


def test_types_by_name_label_or_all() -> None:
    assert [a.type for a in asked_for(TYPED, "typed", "all", "all")] == list(TYPED.types)
    assert asked_for(TYPED, "typed", "Humour, questions,humor", "all") == (Asked("humour"), Asked("questions"))
    for method in ("zero-shot", "few-shot", "vanilla"):
        assert asked_for(TYPED, method, "all", "all") == (Asked(),)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="nothing is named"):
        asked_for(TYPED, "typed", " , ", "all")


def test_attributes_one_by_one_or_together() -> None:
    single = asked_for(CONTROLLED, "controlled", "all", "all")
    assert [a.name for a in single] == list(CONTROLLED.kinds())
    joined = asked_for(CONTROLLED, "controlled", "all", "tone-positive+factual,empathy")
    assert [a.name for a in joined] == ["factual+tone-positive", "empathy"]
    assert named_attributes(CONTROLLED, ["empathy", "Empathy"]) == ("empathy",)


@given(count=st.integers(1, 60), seed=st.integers(0, 5))
def test_every_attribute_is_balanced_by_itself(count: int, seed: int) -> None:
    design = balanced(CONTROLLED, "all", count, seed)
    assert len(design) == count and design == balanced(CONTROLLED, "all", count, seed)
    for name in CONTROLLED.attributes:
        with_it = sum(name in a.attributes for a in design)
        assert abs(2 * with_it - count) <= 1
    tones = Counter(n for a in design for n in a.attributes if n.startswith("tone-"))
    assert sum(tones.values()) == count
    assert max(tones.values()) - min(tones.get(f"tone-{o}", 0) for o in CONTROLLED.choices["tone"]) <= 1


def test_attributes_are_drawn_apart_from_each_other_and_by_the_seed() -> None:
    design = balanced(CONTROLLED, "all", 400, 0)
    both = sum({"factual", "empathy"} <= set(a.attributes) for a in design)
    assert 70 <= both <= 130  # 100 are to be expected, with a standard deviation of 5
    assert design != balanced(CONTROLLED, "all", 400, 1)
    some = balanced(CONTROLLED, "factual,tone", 400, 0)
    assert [set(a.attributes) & {"factual"} for a in some] == [set(a.attributes) & {"factual"} for a in design]
    assert not any("empathy" in a.attributes for a in some)
