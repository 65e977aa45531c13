"""May a judge replace an annotator: which ratings and verdicts count, what is refused, and what a reader is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrator.aspects import Scale
from calibrator.calibration.config import make_config
from calibrator.calibration.prepare import prepare
from calibrator.evaluation.replacement import NoReplacement, Replacement, margin_of, replacement
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.stats.replacement import alternative_annotator_test, human_likeness
from tests.conftest import make_items

Array = NDArray[np.float64]
FIVE = Scale(1, 5)


def rated(values: Array, raters: Sequence[tuple[int, ...]] | None = None) -> list[Item]:
    """Items with these ratings (n, k), nan where there is none, two items in each group."""
    base = make_items(len(values), groups=max(1, len(values) // 2))
    given_ = [tuple(float(v) for v in row if np.isfinite(v)) for row in values]
    who = raters or [tuple(int(k) for k in np.flatnonzero(np.isfinite(row))) for row in values]
    return [replace(i, ratings=r, raters=w) for i, r, w in zip(base, given_, who, strict=True)]


def verdicts(scores: Sequence[float]) -> list[Verdict]:
    return [
        Judgment(f"i{k}", float(s), "test") if np.isfinite(s) else Failure(f"i{k}", "refused")
        for k, s in enumerate(scores)
    ]


def made(seed: int = 0, n: int = 60, k: int = 3) -> tuple[Array, Array]:
    """A judge's scores (n,), points of 1-5, and ratings (n, k) of annotators who err as much as it does."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1.2, size=n)
    noisy = truth[:, None] + rng.normal(scale=0.7, size=(n, k + 1))
    points = np.clip(np.rint(noisy), 1, 5)
    return points[:, 0], points[:, 1:]


def answered(*arguments: object, **named: object) -> Replacement:
    found = replacement(*arguments, **named)  # type: ignore[arg-type]
    assert isinstance(found, Replacement), found
    return found


def refused(*arguments: object) -> str:
    found = replacement(*arguments)  # type: ignore[arg-type]
    assert isinstance(found, NoReplacement)
    return found.reason


def test_a_judge_that_is_the_mean_of_all_may_replace_anybody() -> None:
    _, ratings = made()
    mean = np.floor(ratings.mean(axis=1) + 0.5)
    found = answered(verdicts(mean), rated(ratings), FIVE)
    assert found.test == alternative_annotator_test(mean, ratings, [i.group for i in rated(ratings)], 0.2)
    assert (found.passed, found.omega, found.aligned) == (True, 1, "rmse")
    r = found.likeness.r
    assert r == pytest.approx(np.corrcoef(mean, ratings.mean(axis=1))[0, 1])
    assert found.likeness == human_likeness(mean, ratings, r)
    assert found.weighted == human_likeness(mean, ratings, r, "quadratic")
    assert (found.z > 1, found.likeness.verdict) == (True, "super-consistent")
    assert (found.items, found.groups, found.failed, found.unshared) == (60, 30, 0, 0)
    assert (found.annotators, found.copies, found.shuffled, found.as_given) == ((0, 1, 2), (), False, None)


def test_a_judge_by_lot_may_not() -> None:
    _, ratings = made()
    found = answered(verdicts(np.random.default_rng(1).integers(1, 6, size=60)), rated(ratings), FIVE)
    assert (found.passed, found.omega, found.likeness.verdict) == (False, 0, "low correlation")


def test_what_failed_counts_for_nothing_and_is_counted() -> None:
    scores, ratings = made()
    ratings[5, 1:] = np.nan  # rated by one only
    several = verdicts(scores)
    several[0] = Failure("i0", "refused")
    several[1] = None  # type: ignore[call-overload]
    several[2] = Judgment("i2", 6.0, "test")  # outside the scale
    several[3] = Judgment("i3", -1.0, "test")
    found = answered(several, rated(ratings), FIVE)
    kept = [k for k in range(60) if k not in (0, 1, 2, 3, 5)]
    items = rated(ratings)
    assert found.test == alternative_annotator_test(scores[kept], ratings[kept], [items[k].group for k in kept], 0.2)
    assert (found.items, found.failed, found.unshared) == (55, 4, 1)
    assert any("no score on the scale for 4 of 59 items" in c for c in found.cautions)
    few = answered(verdicts(np.where(np.arange(60) < 2, np.nan, scores)), rated(made()[1]), FIVE)
    assert few.failed == 2
    assert not any("no score" in c for c in few.cautions)  # two of sixty are no twentieth


def test_who_rated_what_is_kept_apart() -> None:
    scores, ratings = made(k=4)
    gaps = np.random.default_rng(2).random(ratings.shape) < 0.3
    ratings[gaps] = np.nan
    numbers = (7, 2, 9, 4)  # any numbers: the columns of somebody's file
    raters = [tuple(numbers[k] for k in np.flatnonzero(np.isfinite(row))) for row in ratings]
    found = answered(verdicts(scores), rated(ratings, raters), FIVE)
    shared = np.isfinite(ratings).sum(axis=1) > 1
    order = np.argsort(numbers)
    groups = [i.group for i, s in zip(rated(ratings), shared, strict=True) if s]
    assert found.annotators == (2, 4, 7, 9)
    assert found.test == alternative_annotator_test(scores[shared], ratings[shared][:, order], groups, 0.2)


def test_scores_between_points_are_taken_to_points() -> None:
    scores, ratings = made()
    finer = np.clip(scores + np.linspace(-0.4, 0.4, 60), 1, 5)
    found = answered(verdicts(finer), rated(ratings), FIVE)
    groups = [i.group for i in rated(ratings)]
    assert found.test == answered(verdicts(scores), rated(ratings), FIVE).test
    assert found.as_given == alternative_annotator_test(finer, ratings, groups, 0.2)
    assert found.as_given.rho < found.test.rho  # what lies between points ties with nobody


def test_two_points_are_labels() -> None:
    rng = np.random.default_rng(3)
    ratings = rng.integers(0, 2, size=(40, 3)).astype(float)
    scores = np.clip(ratings.mean(axis=1) + rng.normal(scale=0.2, size=40), 0, 1)
    found = answered(verdicts(scores), rated(ratings), Scale(0, 1))
    labels, groups = np.floor(scores + 0.5), [i.group for i in rated(ratings)]
    assert (found.aligned, found.as_given) == ("accuracy", None)
    assert found.test == alternative_annotator_test(labels, ratings, groups, 0.2, "accuracy")
    asked = answered(verdicts(scores), rated(ratings), Scale(0, 1), aligned="rmse")
    assert (asked.aligned, asked.as_given is None) == ("rmse", False)


def test_epsilon_is_a_number_or_a_kind_of_annotator() -> None:
    scores, ratings = made()
    crowd, number = (answered(verdicts(scores), rated(ratings), FIVE, e) for e in ("crowd", 0.1))
    assert crowd == number
    assert crowd.test.epsilon == 0.1
    assert answered(verdicts(scores), rated(ratings), FIVE).test.epsilon == margin_of("expert") == 0.2
    with pytest.raises(ValueError, match="'experts' is no kind of annotator; those there are: expert, skilled, crowd"):
        replacement(verdicts(scores), rated(ratings), FIVE, "experts")
    with pytest.raises(ValueError, match=r"from 0 to 1, not -0\.1"):
        replacement(verdicts(scores), rated(ratings), FIVE, -0.1)
    with pytest.raises(ValueError, match="59 verdicts for 60 items"):
        replacement(verdicts(scores)[1:], rated(ratings), FIVE)


def test_without_three_annotators_the_question_is_refused() -> None:
    scores, ratings = made()
    assert refused(verdicts(scores), make_items(60), FIVE) == "no item has ratings of two or more annotators"
    assert refused([], [], FIVE) == "no item has ratings of two or more annotators"
    two = refused(verdicts(scores), rated(ratings[:, :2]), FIVE)
    assert two == "the test needs 3 annotators or more, there are 2"
    twice = refused(verdicts(scores), rated(ratings[:, [0, 1, 1]]), FIVE)
    assert twice.endswith("there are 2 (1 and 2 rated every item alike and count as one)")
    one = refused(verdicts(scores), rated(ratings[:, [0, 0, 0]]), FIVE)
    assert "there are 1 (0 and 1 rated every item alike" in one
    assert refused(verdicts(np.full(60, np.nan)), rated(ratings), FIVE).startswith(
        "0 annotators are left on the 0 of 60"
    )


def test_a_copied_column_is_no_annotator_of_its_own() -> None:
    scores, ratings = made()
    found = answered(verdicts(scores), rated(ratings[:, [0, 1, 1, 2]]), FIVE)
    assert found.test == answered(verdicts(scores), rated(ratings), FIVE).test
    assert (found.copies, found.annotators) == (((1, 2),), (0, 1, 3))
    assert "annotators 1 and 2 rated every item alike and count as one" in found.cautions


def test_sorted_ratings_are_put_in_an_order_by_lot() -> None:
    scores, ratings = made(n=200)
    items = rated(np.sort(ratings, axis=1))
    found = answered(verdicts(scores), items, FIVE)
    assert found.shuffled
    assert "sorted within the items" in found.cautions[0]
    # The highest of three is nobody: taken for a person, it would be beaten by most judges.
    taken = alternative_annotator_test(scores, np.sort(ratings, axis=1), [i.group for i in items], 0.2)
    assert max(line.rho for line in taken.lines) > max(line.rho for line in found.test.lines)
    backwards = answered(verdicts(scores)[::-1], items[::-1], FIVE)
    assert (backwards.omega, backwards.rho) == pytest.approx((found.omega, found.rho))


def test_what_a_reader_must_know() -> None:
    scores, ratings = made()
    several = answered(verdicts(scores), rated(ratings), FIVE)
    assert several.cautions[0].startswith("with three annotators z rests on the spread of 3 pairs")
    nameless = [replace(i, raters=()) for i in rated(ratings)]
    told = answered(verdicts(scores), nameless, FIVE)
    assert told.test == several.test
    assert "the k-th rating was taken for that of the k-th annotator" in told.cautions[0]
    four = answered(verdicts(made(k=4)[0]), rated(made(k=4)[1]), FIVE)
    assert not any("three annotators" in c for c in four.cautions)
    few = answered(verdicts(scores[:20]), rated(ratings[:20]), FIVE)
    assert any(c.startswith("3 of 3 annotators shared fewer than 30 items") for c in few.cautions)
    flat = answered(verdicts(np.full(60, 3.2)), rated(ratings), FIVE)
    assert "at the points of the scale the judge says the same of every item" in flat.cautions


def test_where_everybody_says_the_same_passing_says_little() -> None:
    rng = np.random.default_rng(5)
    ratings = np.where(rng.random((120, 3)) < 0.06, 2.0, 1.0)
    found = answered(verdicts(np.ones(120)), rated(ratings), FIVE)
    assert found.passed
    assert found.constant == found.test
    assert any("one and the same score for every item passes too" in c for c in found.cautions)
    assert any("tie in" in c for c in found.cautions)
    spread, other = made()
    assert not any("passes too" in c for c in answered(verdicts(spread), rated(other), FIVE).cautions)


def test_a_verdict_that_hangs_on_the_groups_is_told() -> None:
    # Good on one of two sources, as good as an annotator on the other: 120 items, but two groups are little evidence.
    scores, ratings = made(seed=4, n=120)
    mean = np.floor(ratings.mean(axis=1) + 0.5)
    two = [replace(i, group=f"g{k % 2}") for k, i in enumerate(rated(ratings))]
    found = answered(verdicts(np.where(np.arange(120) % 2, mean, scores)), two, FIVE)
    assert found.passed
    assert not found.test.passed_grouped
    assert any("with 2 groups instead of 120 items" in c for c in found.cautions)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), shuffle=st.integers(0, 10**6), order=st.permutations(range(3)))
def test_neither_the_order_of_items_nor_of_annotators_matters(seed: int, shuffle: int, order: list[int]) -> None:
    scores, ratings = made(seed, n=35)
    items, several = rated(ratings), verdicts(scores)
    found = replacement(several, items, FIVE)
    places = np.random.default_rng(shuffle).permutation(35)
    turned = [replace(items[k], ratings=tuple(items[k].ratings[j] for j in order), raters=tuple(order)) for k in places]
    again = replacement([several[k] for k in places], turned, FIVE)
    if isinstance(found, NoReplacement):
        assert again == found
        return
    assert isinstance(again, Replacement)
    assert (again.omega, again.rho) == pytest.approx((found.omega, found.rho))
    assert again.z == pytest.approx(found.z, nan_ok=True)
    assert 0 <= found.omega <= 1


def test_the_published_ratings(real_data: Path) -> None:
    """Two columns of DialSummEval's coherence are one; on CSEval three persons rated."""
    prepared = prepare(make_config(data="dialsummeval", aspect="coherence", data_dir=real_data))
    items = prepared.split.train
    found = replacement(verdicts([i.human or 0.0 for i in items]), items, prepared.aspect.scale)
    assert isinstance(found, NoReplacement)
    assert "1 and 2 rated every item alike" in found.reason
    prepared = prepare(make_config(data="cseval", aspect="relevance", data_dir=real_data))
    items, scale = prepared.split.train, prepared.aspect.scale
    best = answered(verdicts([i.human or 0.0 for i in items]), items, scale)
    middle = answered(verdicts([3.0] * len(items)), items, scale)
    # The mean of all three beats each, as theorem 1 has it, and the middle of the scale none.
    assert (best.omega, best.as_given and best.as_given.rho) == (1, 1)
    assert (middle.omega, middle.passed) == (0, False)
