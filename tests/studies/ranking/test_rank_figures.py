"""Corrected macro-F1: what a judge and a few labels say of systems whose labels are all known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score

from calibrator.stats.prediction_powered_bootstrap import powered_statistic
from calibrator.stats.systems import macro_f1_score, share_score
from calibrator.studies.ranking.field import Field, members, only
from calibrator.studies.ranking.powered import labelled_rows, powered_scores
from calibrator.studies.ranking.study import About, Terms, study

ABOUT = About("labels", "made up", "all labelled rows", "labels")
CLASSES = np.arange(3.0)


def field_of(sources: int = 100, systems: int = 3, slips: float = 0.1, seed: int = 0) -> tuple[Field, np.ndarray]:
    """Systems A, B, … each follows what was intended less often, and a judge that slips so often; and the intended."""
    rng = np.random.default_rng(seed)
    size = sources * systems
    member = np.tile(np.arange(systems), sources)
    meant = rng.integers(3, size=size).astype(float)
    human = np.where(rng.random(size) < 0.9 - 0.25 * member, meant, rng.integers(3, size=size))
    judged = np.where(rng.random(size) < slips, rng.integers(3, size=size), human).astype(float)
    names, place = members([chr(65 + k) for k in member])
    named = tuple(f"s{k:03d}" for k in np.repeat(np.arange(sources), systems))
    score = macro_f1_score(meant, CLASSES)
    return Field(names, place, named, human, {"close": judged}, score, human[None], ("1",)), meant


def f1(labels: np.ndarray, meant: np.ndarray) -> float:
    return float(f1_score(meant, labels, average="macro"))


def test_the_corrected_score_is_the_formula_with_sklearns_macro_f1() -> None:
    field, meant = field_of()
    labels = labelled_rows(field, "close", 40, 1)
    found = powered_scores(field, "close", labels)
    assert found is not None
    judged = field.judges["close"]
    for k, system in enumerate(found.systems):
        own = field.member == k
        known = np.isin(np.arange(len(meant)), labels) & own
        rest = own & ~known
        assert (system.labelled, system.unlabelled) == (40, 60)
        human, same, more = (f1(v[w], meant[w]) for v, w in ((field.human, known), (judged, known), (judged, rest)))
        assert system.powered.classical_value == pytest.approx(human)
        assert system.powered.value == pytest.approx(human + system.powered.weight * (more - same))
        assert 0 < system.powered.weight < 1
        assert system.judge_only == pytest.approx(f1(judged[own], meant[own]))
        assert system.truth == pytest.approx(f1(field.human[own], meant[own]))
        assert system.powered.high - system.powered.low < system.powered.classical_high - system.powered.classical_low


def test_the_interval_is_that_of_the_bootstrap_it_goes_through() -> None:
    field, meant = field_of(systems=2)
    labels = labelled_rows(field, "close", 50, 0)
    found = powered_scores(field, "close", labels, 0, 400)
    assert found is not None
    own = field.member == 1
    known, judged = np.isin(np.arange(len(meant)), labels) & own, field.judges["close"]
    rest = own & ~known
    again = powered_statistic(
        f1, field.human[known], judged[known], judged[rest], np.random.default_rng(5), along=[meant[known]],
        unlabelled_along=[meant[rest]], resamples=200,
    )  # fmt: skip
    powered = found.systems[1].powered
    assert powered.value == pytest.approx(again.value, abs=0.03)
    assert powered.high - powered.low == pytest.approx(again.high - again.low, rel=0.2)
    assert powered.classical_high - powered.classical_low == pytest.approx(
        again.classical_high - again.classical_low, rel=0.2
    )


def test_differences_are_of_systems_on_the_same_sources() -> None:
    field, meant = field_of()
    labels = labelled_rows(field, "close", 60, 2)
    found = powered_scores(field, "close", labels)
    assert found is not None
    by_name = {s.system: s.powered for s in found.systems}
    assert [(d.first, d.second) for d in found.differences] == [("A", "B"), ("B", "C")]
    for d in found.differences:
        gap = by_name[d.first].classical_value - by_name[d.second].classical_value
        assert d.powered.classical_value == pytest.approx(gap)
        assert d.powered.low < d.powered.value < d.powered.high
    truth = [f1(field.human[field.member == k], meant[field.member == k]) for k in range(3)]
    assert found.differences[0].powered.low < truth[0] - truth[1] < found.differences[0].powered.high


def test_neither_the_order_of_the_rows_nor_chance_changes_anything() -> None:
    field, meant = field_of()
    human = only(field.human, labelled_rows(field, "close", 30, 0))
    field = replace(field, human=human, annotators=human[None])
    turned = np.random.default_rng(3).permutation(len(meant))
    other = Field(
        field.systems,
        field.member[turned],
        tuple(field.sources[k] for k in turned),
        field.human[turned],
        {n: v[turned] for n, v in field.judges.items()},
        macro_f1_score(meant[turned], CLASSES),
        field.human[None, turned],
        field.raters,
    )
    one, two, three = (
        powered_scores(f, "close", np.flatnonzero(np.isfinite(f.human)), 4) for f in (field, other, other)
    )
    assert one is not None
    assert two == three
    assert two is not None
    assert [s.powered for s in one.systems] == [s.powered for s in two.systems]
    assert one.differences == two.differences
    other_seed = powered_scores(field, "close", np.flatnonzero(np.isfinite(field.human)), 5)
    assert other_seed is not None
    assert [s.powered for s in other_seed.systems] != [s.powered for s in one.systems]


def test_items_of_one_source_are_drawn_together() -> None:
    field, meant = field_of(sources=120, systems=2)
    labels = labelled_rows(field, "close", 60, 0)
    single = powered_scores(field, "close", labels)
    four = Field(
        field.systems,
        np.tile(field.member, 4),
        field.sources * 4,
        np.tile(field.human, 4),
        {"close": np.tile(field.judges["close"], 4)},
        macro_f1_score(np.tile(meant, 4), CLASSES),
        np.tile(field.human, 4)[None],
    )
    fourfold = powered_scores(four, "close", np.concatenate([labels + k * len(meant) for k in range(4)]))
    assert single is not None
    assert fourfold is not None
    for a, b in zip(single.systems, fourfold.systems, strict=True):
        assert b.powered.value == pytest.approx(a.powered.value, abs=0.02)
        assert b.powered.high - b.powered.low == pytest.approx(a.powered.high - a.powered.low, rel=0.15), "no narrower"
        assert b.powered.effective < 2 * a.powered.effective, "in sources, not in items"


def test_a_tie_of_the_annotators_is_no_item_that_nobody_labelled() -> None:
    field, meant = field_of()
    tied = np.arange(len(meant)) % 10 == 0
    people = np.stack([field.human, np.where(tied, (field.human + 1) % 3, field.human)])
    field = replace(field, human=np.where(tied, np.nan, field.human), annotators=people)
    rows = labelled_rows(field, "close", None, 0)
    assert powered_scores(field, "close", rows) is None, "everything is labelled"
    shares = replace(field, score=share_score(1.0))
    assert powered_scores(shares, "close", rows) is None
    half = powered_scores(field, "close", labelled_rows(field, "close", 40, 0))
    assert half is not None
    assert sum(s.labelled + s.unlabelled for s in half.systems) == int((~tied).sum())


def test_few_labels_are_told_of() -> None:
    field, _ = field_of()
    terms = Terms(resamples=100, repeats=100, labelled=25)
    few, many = (study(field, replace(terms, labelled=count), ABOUT) for count in (25, 50))
    assert [len(t.powered) for t in (few, many)] == [1, 1]
    assert [sum("from only 25 labelled items" in c for c in t.cautions) for t in (few, many)] == [1, 0]
    assert study(field, replace(terms, labelled=None), ABOUT).powered == ()
    shares = study(replace(field, score=share_score(1.0)), terms, ABOUT)
    assert shares.powered
    assert not any("labelled items of a system" in c for c in shares.cautions)
    assert study(field, terms, ABOUT) == few
