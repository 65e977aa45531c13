"""The ranking study on fields that are made up: what it finds is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from calibrator.errors import ConfigError
from calibrator.stats.systems import mean_score
from calibrator.studies.ranking.agree import (
    NOT_TRUSTED,
    TOO_FEW,
    TRUSTED,
    UNDEFINED,
    annotators_agreement,
    rank_agreement,
    verdict_of,
)
from calibrator.studies.ranking.among import Among, choose
from calibrator.studies.ranking.field import Field, members
from calibrator.studies.ranking.powered import BOTH, JUDGE_ONLY, LABELS_ONLY, labelled_rows, powered_scores
from calibrator.studies.ranking.sentences import sentence
from calibrator.studies.ranking.sizes import PUBLISHED, SizeLine, needed, size_lines, sizes_there
from calibrator.studies.ranking.study import About, Terms, study

ABOUT = About("x/quality", "made up", "all rated items", "scores")
QUICK = Terms(resamples=200, repeats=100)


def field_of(systems: int = 6, sources: int = 40, seed: int = 0, gap: float = 0.4, noise: float = 0.5) -> Field:
    """Systems A, B, C … each better than the one before by `gap`: a good judge, one upside down, one that knows none.

    The good one is too kind to the first system by two gaps in the judge called kind.
    """
    rng = np.random.default_rng(seed)
    member = np.tile(np.arange(systems), sources)
    quality = member * gap + rng.normal(size=len(member))
    human = quality + rng.normal(size=len(member)) * noise
    judges = {
        "good": quality + rng.normal(size=len(member)) * noise,
        "inverse": -quality,
        "constant": np.ones(len(member)),
        "kind": quality + 3.5 * gap * (member == 0),
    }
    people = np.stack([human + rng.normal(size=len(member)) * noise for _ in range(3)])
    names, place = members([chr(65 + k) for k in member])
    names_of = tuple(f"s{k:03d}" for k in np.repeat(np.arange(sources), systems))
    return Field(names, place, names_of, human, judges, mean_score(), people, ("1", "2", "3"))


def with_judges(field: Field, judges: Mapping[str, np.ndarray]) -> Field:
    return replace(field, judges=dict(judges))


def test_a_good_judge_is_trusted_and_one_upside_down_is_not() -> None:
    field = field_of(gap=0.8)
    good, inverse = (rank_agreement(field, name, 300, 0) for name in ("good", "inverse"))
    assert good.tau.value == 1.0
    assert good.tau.low > 0.5
    assert (good.alike, good.top) == (1.0, 1.0)
    assert verdict_of(good, 0.0) == TRUSTED
    assert inverse.tau.value == -1.0
    assert inverse.p < 0.05, "significant, the wrong way round"
    assert verdict_of(inverse, 0.0) == NOT_TRUSTED
    assert verdict_of(good, 0.999) == NOT_TRUSTED, "a threshold of one's own"


def test_one_score_for_all_has_no_order() -> None:
    found = rank_agreement(field_of(), "constant", 100, 0)
    assert verdict_of(found, 0.0) == UNDEFINED
    assert "cannot be trusted" in sentence(found, UNDEFINED, 0.0)


def test_with_four_systems_nothing_can_be_said() -> None:
    found = rank_agreement(field_of(systems=4), "good", 100, 0)
    assert found.tau.value == 1.0
    assert verdict_of(found, 0.0) == TOO_FEW
    assert "p cannot be below 0.08" in sentence(found, TOO_FEW, 0.0)


def test_where_less_is_better_the_lowest_is_the_top() -> None:
    field = field_of()
    human = dict(zip(field.systems, field.plain_scores(field.human), strict=True))
    ends = np.array([human["A"], human["F"]])
    assert ends[0] < ends[1]
    kind = replace(field, sign=-1.0)
    assert rank_agreement(kind, "kind", 100, 0).top == 0.0, "it has A, the humans' lowest, in the middle"
    assert rank_agreement(field, "kind", 100, 0).top == 1.0


def test_a_judge_of_a_part_stands_on_its_own_items() -> None:
    field = field_of()
    half = np.where(np.arange(len(field.human)) < 120, field.judges["good"], np.nan)
    gaps = np.where(np.arange(len(field.human)) == 0, np.nan, field.judges["kind"])
    field = with_judges(field, {"good": field.judges["good"], "gaps": gaps, "half": half})
    found = {name: rank_agreement(field, name, 100, 0) for name in field.judges}
    assert [found[n].items for n in ("good", "gaps", "half")] == [239, 239, 120]
    assert [found[n].partial for n in ("good", "gaps", "half")] == [False, False, True]


def test_the_order_of_the_rows_does_not_matter() -> None:
    field = field_of(noise=1.5)
    turned = np.random.default_rng(3).permutation(len(field.human))
    other = Field(
        field.systems,
        field.member[turned],
        tuple(field.sources[k] for k in turned),
        field.human[turned],
        {n: v[turned] for n, v in field.judges.items()},
        field.score,
        field.annotators[:, turned],
        field.raters,
    )
    one, two = (rank_agreement(f, "good", 200, 5) for f in (field, other))
    assert (one.tau, one.p, one.top_share) == (two.tau, two.p, two.top_share)


def test_annotators_among_each_other() -> None:
    field = field_of()
    assert annotators_agreement(field) > 0.8
    assert np.isnan(annotators_agreement(replace(field, annotators=field.annotators[:1])))


def test_the_spread_shrinks_with_more_labels_and_ends_in_the_verdicts_tau() -> None:
    field = field_of(sources=60, gap=0.2, noise=1.0)
    sizes = sizes_there(field, field.common(), PUBLISHED)
    assert sizes == (10, 25, 50, 60)
    lines = size_lines(field, "good", sizes, 300, 0)
    spread = [line.subsets[5] - line.subsets[1] for line in lines]
    assert spread == sorted(spread, reverse=True)
    tau = rank_agreement(field, "good", 100, 0).tau.value
    assert lines[-1].subsets == pytest.approx((tau,) * 7), "a subset of all labels is all labels"
    assert lines[-1].anew[0] < lines[-1].anew[2], "and other items would give other figures"


def test_labels_that_are_needed() -> None:
    def line(size: int, low: float) -> SizeLine:
        return SizeLine(size, (0.0,) * 7, (low, 0.5, 1.0), 0.0)

    assert needed([line(10, -0.1), line(25, 0.1), line(50, 0.2)], 0.0) == 25
    assert needed([line(10, 0.1), line(25, -0.1), line(50, 0.2)], 0.0) == 50, "it must stay above"
    assert needed([line(10, 0.1)], 0.3) is None
    assert needed([line(10, float("nan"))], 0.0) is None


def test_which_judge_to_choose() -> None:
    weighted = np.array([[1.0, 0.5, 0.6, 0.9], [0.5, 1.0, 0.8, 0.1], [0.6, 0.8, 1.0, 0.2], [0.9, 0.1, 0.2, 1.0]])
    found = Among(("all", "one", "two", "three"), 6, weighted)

    def verdicts(*trusted: str) -> dict[str, str]:
        return {name: TRUSTED if name in trusted else NOT_TRUSTED for name in found.judges}

    assert choose(found, verdicts("all", "two"), "all").judge == "all"
    assert choose(found, verdicts("one", "two", "three"), "all").judge == "two", "mean 0.53 beside 0.47 and 0.40"
    assert choose(found, verdicts("three"), "all").judge == "three"
    assert choose(found, verdicts(), "all").judge is None


def test_both_together_mend_a_judge_that_is_kind_to_one_system() -> None:
    field = field_of(sources=200, noise=0.3)
    rows = labelled_rows(field, "kind", 40, 0)
    assert len(rows) == 240
    found = powered_scores(field, "kind", rows)
    assert found is not None
    first = found.systems[0]
    assert first.judge_only - first.truth > 1.0
    assert abs(first.powered.value - first.truth) < 0.3
    assert first.powered.effective > 60, "worth more than its 40 labels"
    assert found.taus[BOTH] > found.taus[JUDGE_ONLY]
    assert set(found.taus) == {JUDGE_ONLY, LABELS_ONLY, BOTH}
    assert [d.first for d in found.differences] == ["F", "E", "D", "C", "B"]
    assert found.differences[0].powered.low > 0
    assert powered_scores(field, "kind", labelled_rows(field, "kind", None, 0)) is None, "nothing is unlabelled"


def test_unrated_rows_are_the_unlabelled_part() -> None:
    field = field_of(sources=50)
    human = np.where(np.arange(len(field.human)) < 120, field.human, np.nan)
    table = study(replace(with_judges(field, {"good": field.judges["good"]}), human=human), QUICK, ABOUT)
    assert (table.items, table.unrated) == (120, 180)
    (part,) = table.powered
    assert part.taus is None
    assert {(r.labelled, r.unlabelled, r.truth) for r in part.rows} == {(20, 30, None)}


def test_the_whole_study() -> None:
    table = study(field_of(), QUICK, ABOUT)
    verdicts = {j.name: j.verdict for j in table.judges}
    assert verdicts == {"good": TRUSTED, "inverse": NOT_TRUSTED, "constant": UNDEFINED, "kind": NOT_TRUSTED}
    assert table.choice.judge == "good"
    assert table.among is not None
    assert table.among.weighted[0][1] == -1.0
    assert table.among.weighted[0][2] is None
    assert table.kappas is not None
    assert table.kappas.names == ("1", "2", "3")
    assert study(field_of(), QUICK, ABOUT) == table


@pytest.mark.parametrize(("kept", "said"), [("A", "one system only"), ("", "have items that humans rated")])
def test_one_system_is_no_ranking(kept: str, said: str) -> None:
    field = field_of()
    if kept:
        own = np.flatnonzero(field.member == 0)
        field = Field(("A",), field.member[own], tuple(field.sources[k] for k in own), field.human[own],
                      {"good": field.judges["good"][own]}, field.score, field.annotators[:, own])  # fmt: skip
    else:
        field = replace(field, human=np.where(field.member == 0, field.human, np.nan))
    with pytest.raises(ConfigError, match=said):
        study(field, QUICK, ABOUT)


def test_a_system_that_nobody_rated_is_told_of() -> None:
    field = field_of()
    table = study(replace(field, human=np.where(field.member == 2, np.nan, field.human)), QUICK, ABOUT)
    assert any("humans rated no item of C" in c for c in table.cautions)
    row = next(s for s in table.systems if s.system == "C")
    assert (row.human, row.items) == (None, 0)
    assert row.everything["good"] is not None
    assert table.judges[0].systems == 5
