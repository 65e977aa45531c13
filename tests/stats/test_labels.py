"""Labels of several annotators against sklearn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from calibrator.stats.labels import co_occurrence, fleiss_of, kappa_matrix, majority

nan = np.nan


def test_majority_and_its_ties() -> None:
    labels = np.array([[1.0, 0, 0, nan, 2], [1.0, 1, nan, nan, 2], [0.0, 1, 1, nan, nan]])
    assert majority(labels).tolist()[:2] == [1.0, 1.0]
    assert np.isnan(majority(labels)[2:4]).all(), "equally frequent, and nobody"
    assert majority(labels)[4] == 2.0
    assert np.isnan(majority(np.full((2, 3), nan))).all()


def test_kappas_of_pairs_are_sklearns() -> None:
    labels = np.random.default_rng(0).integers(0, 3, (4, 60)).astype(float)
    found = kappa_matrix(labels)
    for i in range(4):
        for j in range(4):
            assert found[i, j] == pytest.approx(cohen_kappa_score(labels[i], labels[j]))


def test_fleiss_over_the_items_that_all_labelled() -> None:
    """Four items, three annotators: agreed 1, 1/3, 1/3 on those that all labelled; by hand."""
    labels = np.array([[0.0, 0, 1, 1], [0.0, 0, 0, nan], [0.0, 1, 1, 1]])
    kappa, whole = fleiss_of(labels)
    observed = (1 + 1 / 3 + 1 / 3) / 3
    by_chance = (6 / 9) ** 2 + (3 / 9) ** 2
    assert (kappa, whole) == (pytest.approx((observed - by_chance) / (1 - by_chance)), 3)
    assert np.isnan(fleiss_of(np.array([[0.0, nan], [nan, 1.0]]))[0])


def test_labels_that_occur_together() -> None:
    sets = [frozenset("ab"), frozenset("a"), frozenset("abc"), frozenset()]
    assert co_occurrence(sets, ["a", "b", "x"]).tolist() == [[3, 2, 0], [2, 2, 0], [0, 0, 0]]
