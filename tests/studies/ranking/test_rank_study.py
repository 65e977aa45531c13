"""The ranking study on fields that are made up: what it finds is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from calibrator.errors import ConfigError
from calibrator.stats.systems import mean_score
from calibrator.studies.ranking.agree import (
    MAYBE_SEEN,
    NOT_TRUSTED,
    TOO_FEW,
    TRUSTED,
    UNDEFINED,
    annotators_agreement,
    rank_agreement,
    verdict_of,
)
from calibrator.studies.ranking.among import Among, Choice, choose
from calibrator.studies.ranking.field import Field, members
from calibrator.studies.ranking.new_systems import Afresh
from calibrator.studies.ranking.powered import BOTH, JUDGE_ONLY, LABELS_ONLY, labelled_rows, powered_scores
from calibrator.studies.ranking.result import JudgeRank
from calibrator.studies.ranking.sentences import sentence
from calibrator.studies.ranking.sizes import HOLDS, PUBLISHED, SizeLine, fewest, needed, size_lines, sizes_tried
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
    assert fewest(field, field.common()).labels == 60
    sizes = sizes_tried(60, PUBLISHED)[:4]
    assert sizes == (10, 25, 50, 60)
    lines = size_lines(field, "good", sizes, 300, 0)
    spread = [line.subsets[5] - line.subsets[1] for line in lines]
    assert spread == sorted(spread, reverse=True)
    tau = rank_agreement(field, "good", 100, 0).tau.value
    assert lines[-1].subsets == pytest.approx((tau,) * 7), "a subset of all labels is all labels"
    assert lines[-1].anew[0] < lines[-1].anew[2], "and other items would give other figures"


def test_labels_that_are_needed() -> None:
    def enough(*trusted: float) -> int | None:
        lines = [SizeLine(10 * k, (0.0,) * 7, (0.1, 0.5, 1.0), 0.9, t) for k, t in enumerate(trusted, 1)]
        found = needed(lines)
        return None if found is None else found.size

    assert enough(0.7, 0.8, 0.9) == 20
    assert enough(0.9, 0.7, 0.9) == 30, "it must stay so"
    assert enough(0.9, 0.7) is None
    assert enough(float("nan")) is None, "p alone is small enough too rarely"


def test_labels_answer_what_the_verdict_asks() -> None:
    """Fewer labels leave the interval above 0 than make p small enough: both together are the verdict."""
    field = field_of(sources=80, gap=0.5, noise=0.6)
    lines = size_lines(field, "good", (5, 20, 60), 300, 0)
    first, _, last = lines
    assert first.anew[0] > 0, "what the interval alone would take for enough"
    assert first.significant < HOLDS
    assert np.isnan(first.trusted)
    assert last.trusted >= HOLDS
    assert all(line.trusted <= line.significant for line in lines if np.isfinite(line.trusted))
    strict = size_lines(field, "good", (60,), 300, 0, threshold=0.85)
    assert strict[0].significant == last.significant
    assert strict[0].trusted < HOLDS, "and the interval has to lie above the threshold"


def test_trusted_is_how_often_a_new_study_comes_to_trust() -> None:
    """Held against whole studies of as many items drawn anew, each with its own bootstrap."""
    field = field_of(sources=80, gap=0.5, noise=0.6)
    (line,) = size_lines(field, "good", (30,), 300, 0, threshold=0.6)
    rng = np.random.default_rng(7)
    trusted = []
    for _ in range(60):
        drawn = np.concatenate([6 * s + np.arange(6) for s in rng.integers(80, size=30)])
        names = tuple(f"n{k // 6:02d}" for k in range(len(drawn)))
        anew = Field(field.systems, field.member[drawn], names, field.human[drawn],
                     {"good": field.judges["good"][drawn]}, field.score, field.annotators[:, drawn])  # fmt: skip
        trusted.append(verdict_of(rank_agreement(anew, "good", 200, 0), 0.6) == TRUSTED)
    assert 0.1 < line.trusted < line.significant - 0.1, "a threshold at which the interval decides"
    assert line.trusted == pytest.approx(np.mean(trusted), abs=0.17), "both are shares of a few draws"


def test_more_labels_than_there_are_is_said_to_be_extrapolated() -> None:
    field = field_of(sources=20, gap=0.8)
    few = replace(with_judges(field, {"good": field.judges["good"]}),
                  human=np.where((field.member == 5) & (np.arange(120) > 12), np.nan, field.human))  # fmt: skip
    table = study(few, replace(QUICK, sizes=(2, 200)), ABOUT)
    (judge,) = table.judges
    assert (judge.labels, judge.limiting) == (3, ("F",)) or judge.labels == 2
    assert [(s.size, s.extrapolated) for s in judge.sizes] == [(2, False), (200, True)]
    assert judge.sizes[1].subsets == (None,) * 7
    assert judge.sizes[1].anew.value is not None
    assert any("(F) to 20 rated items" in c for c in table.cautions)


def test_which_judge_to_choose() -> None:
    weighted = np.array([[1.0, 0.5, 0.6, 0.9], [0.5, 1.0, 0.8, 0.1], [0.6, 0.8, 1.0, 0.2], [0.9, 0.1, 0.2, 1.0]])
    found = Among(("all", "one", "two", "three"), 6, weighted)

    small = dict.fromkeys(found.judges, 0.01)

    def chosen(*trusted: str, adjusted: Mapping[str, float] = small) -> Choice:
        verdicts = {name: TRUSTED if name in trusted else NOT_TRUSTED for name in found.judges}
        return choose(found, verdicts, adjusted, "all")

    assert chosen("all", "two").judge == "all"
    assert chosen("one", "two", "three").judge == "two", "mean 0.53 beside 0.47 and 0.40"
    assert "4 judges were tried; p by Holm 0.010; it was chosen on these very items" in chosen("one", "two").why
    assert chosen("three").judge == "three"
    assert chosen().judge is None
    left = chosen("one", "two", adjusted=small | {"two": 0.08})
    assert (left.judge, "the only one that is left of 2 by Holm's correction" in left.why) == ("one", True)
    many = chosen("one", "two", adjusted=dict.fromkeys(found.judges, 0.2))
    assert (many.judge, "none has p below 0.05 by Holm" in many.why) == (None, True)
    assert chosen("all", adjusted=dict.fromkeys(found.judges, 0.2)).judge == "all", "it was named beforehand"


def test_of_forty_judges_that_rank_by_chance_none_is_chosen() -> None:
    field = field_of(sources=30, gap=1.5, noise=0.3)
    rng = np.random.default_rng(4)
    judges = {f"j{k:02d}": rng.permutation(6)[field.member] + rng.normal(size=180) * 0.1 for k in range(39)}
    judges["lucky"] = field.human
    table = study(with_judges(field, {"first": -field.human, **judges}), replace(QUICK, sizes=(10,)), ABOUT)
    lucky = table.judges[-1]
    assert (lucky.verdict, table.choice.judge, table.choice.tried) == (TRUSTED, None, 41)
    assert lucky.adjusted == pytest.approx(min(1.0, 41 * 2 / 720), abs=1e-6)
    assert "41 judges were tried" in table.choice.why


def test_a_judge_that_may_have_seen_the_items_is_not_trusted() -> None:
    field = field_of(gap=0.8)
    table = study(field, QUICK, replace(ABOUT, maybe_seen=("good", "inverse")))
    verdicts = {j.name: j.verdict for j in table.judges}
    assert (verdicts["good"], verdicts["inverse"]) == (MAYBE_SEEN, NOT_TRUSTED)
    assert "cannot be said: it may have been calibrated on some of these items" in table.judges[0].sentence
    assert table.choice.judge != "good"


def test_trust_says_how_far_it_reaches() -> None:
    field = with_judges(field_of(gap=0.8), {"good": field_of(gap=0.8).judges["good"]})

    def judge(new: Afresh) -> JudgeRank:
        return study(field, replace(QUICK, sizes=(10,)), replace(ABOUT, new=new)).judges[0]

    here, also = judge(Afresh({"good": -field.human})), judge(Afresh({"good": field.human}))
    assert "For these systems only, not for new ones (tau -1.00" in here.sentence
    assert "also to rank new systems (tau 1.00" in also.sentence
    assert here.new_systems is not None
    assert (here.verdict, here.new_systems.verdict) == (TRUSTED, NOT_TRUSTED)
    unchecked = judge(Afresh({}, {"good": "it is frozen"}))
    assert "new ones could not be checked, it is frozen" in unchecked.sentence
    assert judge(Afresh()).new_systems is None, "what was fitted to nothing knows no system"


def test_a_judge_of_a_part_has_its_own_items_beside_it() -> None:
    field = field_of()
    half = np.where(np.arange(len(field.human)) < 120, field.judges["good"], np.nan)
    table = study(with_judges(field, {"good": field.judges["good"], "half": half}), QUICK, ABOUT)
    row = table.systems[0]
    own = field.human[:120][field.member[:120] == 0]
    assert set(row.own) == {"half"}
    assert row.own["half"].items == 20
    assert row.own["half"].human == pytest.approx(own.mean(), abs=1e-6)
    assert row.items == 40


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
    people = np.where(np.isfinite(human), field.annotators, np.nan)
    unrated = replace(with_judges(field, {"good": field.judges["good"]}), human=human, annotators=people)
    table = study(unrated, QUICK, ABOUT)
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
