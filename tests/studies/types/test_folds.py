"""Parts share no group, hold every text once, and have the labels in like proportion."""

from __future__ import annotations

import numpy as np
import pytest

from calibrator.errors import DataError
from calibrator.studies.types.base import Example, indicators
from calibrator.studies.types.data import true_labels
from calibrator.studies.types.folds import folds, holdout
from tests.studies.types.making import SCHEME, make_examples

EXAMPLES = make_examples(300, groups=110)


def rates(examples: list[Example] | tuple[Example, ...]) -> np.ndarray:
    return indicators(true_labels(examples), SCHEME.names).mean(axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_a_holdout_shares_no_group_and_has_labels_in_proportion(seed: int) -> None:
    first, second = holdout(EXAMPLES, SCHEME.names, 0.3, seed)
    assert not {e.group for e in first} & {e.group for e in second}
    assert sorted(e.id for e in (*first, *second)) == sorted(e.id for e in EXAMPLES)
    assert len(second) / len(EXAMPLES) == pytest.approx(0.3, abs=0.04)
    assert rates(second) == pytest.approx(rates(first), abs=0.1)


def test_folds_hold_every_text_once_and_share_no_group() -> None:
    parts = folds(EXAMPLES, SCHEME.names, 5, seed=0)
    assert len(parts) == 5
    assert sorted(np.concatenate([held for _, held in parts])) == list(range(len(EXAMPLES)))
    for learnt, held in parts:
        assert not {EXAMPLES[k].group for k in learnt} & {EXAMPLES[k].group for k in held}
        assert rates([EXAMPLES[k] for k in held]) == pytest.approx(rates(EXAMPLES), abs=0.1)


def test_a_rare_label_is_dealt_out_to_every_fold() -> None:
    """What stratification is for: by lot, five of 300 texts are seldom in five parts."""
    rare = [
        Example(f"r{k}", "x", frozenset({"asking", "calm"} if k < 5 else {"calm"}), "", f"g{k}") for k in range(300)
    ]
    for seed in range(3):
        held = [sum("asking" in (rare[k].labels or ()) for k in part) for _, part in folds(rare, SCHEME.names, 5, seed)]
        assert held == [1] * 5


def test_the_same_seed_gives_the_same_parts_and_another_others() -> None:
    assert holdout(EXAMPLES, SCHEME.names, 0.3, 1) == holdout(EXAMPLES, SCHEME.names, 0.3, 1)
    assert holdout(EXAMPLES, SCHEME.names, 0.3, 1) != holdout(EXAMPLES, SCHEME.names, 0.3, 2)


def test_one_label_and_few_groups_are_enough() -> None:
    one = [Example(f"i{k}", "x", frozenset({"calm"}), "", f"g{k}") for k in range(6)]
    assert len(folds(one, ("calm",), 5, 0)) == 3
    first, second = holdout(one, ("calm",), 0.3, 0)
    assert first and second


def test_too_few_groups_are_said() -> None:
    with pytest.raises(DataError, match="3 groups"):
        folds(make_examples(30, groups=3), SCHEME.names, 5, 0)
