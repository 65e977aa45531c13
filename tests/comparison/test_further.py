"""The papers' own tests as tables: what stands in them is what the functions behind them give, on the right items."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from calibrator.aspects import Aspect, AspectFile, Scale, find_aspect
from calibrator.calibration.config import make_config
from calibrator.calibration.prepare import prepare
from calibrator.comparison.compare import Looked
from calibrator.comparison.further import overall_extra, systems_extras, trials_extra, unified_extra
from calibrator.comparison.further_parts import spanned
from calibrator.comparison.result import AspectTable, Extra
from calibrator.comparison.shared import shared_split
from calibrator.comparison.table import Entry, Side, compared
from calibrator.errors import ConfigError, DataError
from calibrator.evaluation.overall import MEAN, SINGLE, mean_against_overall
from calibrator.evaluation.system_errors import system_errors
from calibrator.evaluation.systems import by_system
from calibrator.evaluation.trials import run_trials
from calibrator.judges.recorded import RecordedJudge
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.stats.resampling import Interval
from tests.conftest import make_items

Array = NDArray[np.float64]
DRAWS = 100
RELEVANCE = find_aspect("neutral/relevance")[0]
HARM = Aspect("made", "harm", "Harm", "…", Scale(1, 3), "lower")
OVERALL = Aspect("made", "overall", "Overall", "…", Scale(1, 5))


def looked(
    items: Sequence[Item],
    scores: Mapping[str, Array],
    aspect: Aspect = RELEVANCE,
    off_scale: Sequence[str] = (),
) -> Looked:
    """What a look at these items gives, where judges gave `scores`; nan is a failure."""
    entries = [
        Entry(name, "recorded", "as given", _verdicts(items, s), on_scale=name not in off_scale)
        for name, s in scores.items()
    ]
    found = compared(entries, Side(items, 0, DRAWS), "spearman")
    common = [items[k] for k in found.common]
    table = AspectTable(
        aspect=AspectFile.of(aspect),
        chosen="by the test",
        data="made.csv",
        size=len(items),
        items=len(common),
        groups=len({i.group for i in common}),
        annotators=0,
        measure="spearman",
        rows=found.rows,
        pairs=found.pairs,
        signature="",
    )
    return Looked(table, tuple(items), {e.name: e.verdicts for e in entries}, ())


def _verdicts(items: Sequence[Item], scores: Array) -> tuple[Verdict, ...]:
    pairs = zip(items, scores.tolist(), strict=True)
    return tuple(Failure(i.id, "none") if np.isnan(s) else Judgment(i.id, s, "as given") for i, s in pairs)


def human_of(items: Sequence[Item]) -> Array:
    return np.array([i.human for i in items], dtype=float)


def cells(extra: Extra, row: str) -> dict[str, str | float | int | None]:
    """The cells of a row by the head of their column."""
    assert all(len(r) == len(extra.columns) for r in extra.rows)
    (found,) = [r for r in extra.rows if r[0] == row]
    return dict(zip(extra.columns, found, strict=True))


def noisy(items: Sequence[Item], noise: float, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    drawn: Array = np.clip(human_of(items) + noise * rng.standard_normal(len(items)), 1, 5)
    return drawn


ITEMS = make_items(240, 60)
SCORES = {"good": noisy(ITEMS, 0.5), "poor": noisy(ITEMS, 3, 1)}


def with_gaps(scores: Array, *places: int) -> Array:
    gappy = scores.copy()
    gappy[list(places)] = np.nan
    return gappy


def test_the_text_of_a_figure() -> None:
    assert spanned(Interval(0.5, 0.25, 0.75)) == "0.500 [0.250, 0.750]"
    assert spanned(Interval(0.5, -0.25, 0.75), "+") == "+0.500 [-0.250, +0.750]"
    assert spanned(Interval(0.5, np.nan, np.nan)) == "0.500 [–, –]"
    assert spanned(Interval(np.nan, np.nan, np.nan)) is None


def test_trials_are_those_of_the_full_judges_on_the_items_that_all_of_them_scored() -> None:
    part = with_gaps(SCORES["good"], *range(100))
    gaps = {"good": with_gaps(SCORES["good"], 3), "poor": with_gaps(SCORES["poor"], 7, 9), "part": part}
    extra = trials_extra(looked(ITEMS, gaps), "kendall", 5, DRAWS)
    kept = [k for k in range(240) if k not in (3, 7, 9)]
    groups = [ITEMS[k].group for k in kept]
    human = human_of(ITEMS)[kept]
    direct = run_trials({n: SCORES[n][kept] for n in SCORES}, human, groups, 5, "kendall", resamples=DRAWS)
    for name, own in direct.judges.items():
        found = cells(extra, name)
        assert found["mean tau"] == pytest.approx(own.mean, abs=1e-6)
        assert found["deviation"] == pytest.approx(own.deviation, abs=1e-6)
        assert found["trials where defined"] == 39
        assert found["tau on all items"] == spanned(own.whole)
    whole = float(stats.kendalltau(SCORES["good"][kept], human).statistic)
    assert str(cells(extra, "good")["tau on all items"]).startswith(f"{whole:.3f} [")
    assert [r[0] for r in extra.rows] == ["good", "poor"]
    told = " ".join(extra.notes)
    assert "samples of 100, 111, 123, " in told and "all of 237 items in 60 groups" in told
    assert "no standard error" in told and "'part'" in told


def test_what_is_not_defined_is_no_number() -> None:
    right = {"right": human_of(ITEMS), "constant": np.full(240, 3.0)}
    extra = trials_extra(looked(ITEMS, right), "spearman", 0, DRAWS)
    assert cells(extra, "right")["mean rho"] == 1
    assert cells(extra, "right")["deviation"] == 0
    constant = cells(extra, "constant")
    assert [constant[c] for c in extra.columns[1:]] == [None, None, 0, None]


def test_scores_on_a_scale_of_their_own_have_no_mae() -> None:
    both = {**SCORES, "metric": SCORES["good"] / 5}
    seen = looked(ITEMS, both, off_scale=["metric"])
    assert [r[0] for r in trials_extra(seen, "mae", 0, DRAWS).rows] == ["good", "poor"]
    assert "'metric'" in " ".join(trials_extra(seen, "mae", 0, DRAWS).notes)
    rho = trials_extra(seen, "spearman", 0, DRAWS)
    assert cells(rho, "metric")["mean rho"] == cells(rho, "good")["mean rho"]


def test_without_a_full_judge_there_is_no_row_and_the_table_says_so() -> None:
    seen = looked(ITEMS, {"part": with_gaps(SCORES["good"], *range(100))})
    extra = trials_extra(seen, "spearman", 0, DRAWS)
    assert extra.rows == ()
    assert "No judge scored enough" in " ".join(extra.notes)
    nothing = {"a": with_gaps(SCORES["good"], *range(10)), "b": with_gaps(SCORES["poor"], *range(120, 130))}
    assert len(trials_extra(looked(ITEMS, nothing), "spearman", 0, DRAWS).rows) == 2


def of_systems(items: Sequence[Item], names: Sequence[str | None]) -> list[Item]:
    return [replace(i, system=names[k % len(names)]) for k, i in enumerate(items)]


def test_a_judge_that_only_knows_systems_apart_has_nothing_within() -> None:
    # Two systems; the first is rated 4 and 5, the second 1 and 2, and the judge says 5 and 1 without looking further.
    items = [
        replace(i, system="ab"[k % 2], human=(4.0, 1.0)[k % 2] + (k // 2) % 2) for k, i in enumerate(make_items(40, 10))
    ]
    judge = np.array([5.0, 1.0] * 20)
    table, each = systems_extras(looked(items, {"knows systems": judge}), "spearman", 0, DRAWS)
    found = cells(table, "knows systems")
    assert found["rho within systems"] is None
    assert found["systems where defined"] == 0
    assert str(found["rho between systems"]).startswith("1.000 [")
    assert str(found["rho over all"]).startswith(f"{stats.spearmanr(judge, human_of(items)).statistic:.3f} [")
    # The systems' means are 4.5 and 1.5: off by 0.5 each, and every item by 0 or 1, 0.5 in the mean.
    assert str(found["error of a system's mean"]).startswith("0.500 [")
    assert str(found["error of an item"]).startswith("0.500 [")
    assert each.rows == (("a", 20, 4.5, 5.0, None), ("b", 20, 1.5, 1.0, None))


def test_systems_are_told_as_by_the_functions_behind_the_tables() -> None:
    items = of_systems(ITEMS, ["one", "two", "three", None])
    gappy = {"good": with_gaps(SCORES["good"], 4), "metric": SCORES["poor"]}
    table, each = systems_extras(looked(items, gappy, off_scale=["metric"]), "pearson", 3, DRAWS)
    kept = [k for k in range(240) if k % 4 != 3 and k != 4]
    names, groups = [str(items[k].system) for k in kept], [items[k].group for k in kept]
    human = human_of(items)[kept]
    direct = by_system(SCORES["good"][kept], human, names, groups, 3, "pearson", DRAWS)
    off = system_errors(SCORES["good"][kept], human, names, groups, 3, DRAWS)
    expected = [*map(spanned, (direct.pooled, direct.within, direct.between)), 3]
    assert table.rows[0] == ("good", *expected, spanned(off.mean_error), spanned(off.item_error))
    assert table.rows[1][-2:] == (None, None)  # not on the scale
    assert [r[:2] for r in each.rows] == [(s.system, s.items) for s in direct.systems]
    for row, line in zip(each.rows, direct.systems, strict=True):
        assert row[2:4] == pytest.approx((line.human_mean, line.judge_mean), abs=1e-6)
        assert row[4] == spanned(line.figure)
    assert each.columns[3:] == ("good: mean", "good: r", "metric: mean", "metric: r")
    assert "name no system: 60 items" in " ".join(table.notes)
    assert "'metric'" in " ".join(each.notes)


@pytest.mark.parametrize("names", [[None], ["one"], ["one", None]])
def test_fewer_than_two_systems_have_no_table(names: list[str | None]) -> None:
    assert systems_extras(looked(of_systems(ITEMS, names), SCORES), "spearman", 0, DRAWS) == ()


def two_aspects(count: int = 120) -> tuple[list[Item], list[Item]]:
    """The same items rated for relevance and, in another order, for harm from 1 to 3, where less is better."""
    rng = np.random.default_rng(3)
    first = [replace(i, row=k) for k, i in enumerate(make_items(count, 30))]
    harm = np.clip(np.round(3.5 - human_of(first) / 2 + 0.5 * rng.standard_normal(count)), 1, 3)
    second = [replace(i, human=float(h)) for i, h in zip(first, harm, strict=True)]
    return first, second[::-1]


def on_harm(items: Sequence[Item], noise: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    drawn: Array = np.clip(human_of(items) + noise * rng.standard_normal(len(items)), 1, 3)
    return drawn


def test_the_unified_score_joins_items_by_row_and_turns_what_is_better_below() -> None:
    first, second = two_aspects()
    given = noisy(first, 0.7), on_harm(second, 0.4, 1)
    sides = [
        looked(first, {"judge": with_gaps(given[0], 5), "other": noisy(first, 2)}),
        looked(second, {"judge": given[1], "other": with_gaps(on_harm(second, 1, 2), 119 - 8)}, HARM),
    ]
    extra = unified_extra(sides, 0, DRAWS)
    kept = [k for k in range(120) if k not in (5, 8)]
    # relevance is on 1-5 already; harm is turned, 4 - h, and moved by 2h - 1
    judged = (given[0] + 2 * (4 - given[1][::-1]) - 1) / 2
    human = (human_of(first) + 2 * (4 - human_of(second)[::-1]) - 1) / 2
    found = cells(extra, "judge")
    assert str(found["rho"]).startswith(f"{stats.spearmanr(judged[kept], human[kept]).statistic:.3f} [")
    assert str(found["tau"]).startswith(f"{stats.kendalltau(judged[kept], human[kept]).statistic:.3f} [")
    assert str(found["r"]).startswith(f"{stats.pearsonr(judged[kept], human[kept]).statistic:.3f} [")
    assert str(found["MAE"]).startswith(f"{np.abs(judged[kept] - human[kept]).mean():.3f} [")
    told = " ".join(extra.notes)
    assert "118 items in 30 groups" in told and "120 stand on every test side" in told
    assert "turned round, as less is better: harm" in told


def test_a_judge_without_all_aspects_in_full_has_no_unified_score() -> None:
    first, second = two_aspects()
    harm = on_harm(second, 0.4, 1)
    sides = [
        looked(first, {n: noisy(first, 1) for n in ("both", "one", "part", "metric")}),
        looked(
            second,
            {"both": harm, "part": with_gaps(harm, *range(40)), "metric": harm / 9},
            HARM,
            off_scale=["metric"],
        ),
    ]
    extra = unified_extra(sides, 0, DRAWS)
    assert [r[0] for r in extra.rows] == ["both"]
    assert all(f"'{name}'" in extra.notes[-1] for name in ("one", "part", "metric"))
    assert "120 items" in extra.notes[0]


def test_resamples_draw_what_is_one_group_under_any_aspect() -> None:
    first, second = two_aspects()
    merged = [replace(i, group="all") for i in second]
    scores = [{"judge": noisy(first, 0.7)}, {"judge": on_harm(second, 0.4, 1)}]
    extra = unified_extra([looked(first, scores[0]), looked(merged, scores[1], HARM)], 0, DRAWS)
    assert "120 items in 1 groups" in extra.notes[0]
    assert str(cells(extra, "judge")["rho"]).endswith("[–, –]")


def test_aspects_without_an_item_in_common_and_a_single_aspect_are_refused() -> None:
    first, second = two_aspects()
    one, other = looked(first, {"judge": noisy(first, 1)}), [replace(i, row=(i.row or 0) + 500) for i in second]
    with pytest.raises(DataError, match="--unified: no item stands on the test side of every aspect"):
        unified_extra([one, looked(other, {"judge": on_harm(other, 1, 1)}, HARM)], 0, DRAWS)
    with pytest.raises(ConfigError, match="--unified: it takes several aspects"):
        unified_extra([one], 0, DRAWS)
    with pytest.raises(ConfigError, match="--overall: it takes several aspects"):
        overall_extra([one], "relevance", 0, DRAWS)


def three_aspects() -> tuple[list[Looked], dict[str, dict[str, Array]]]:
    first, second = two_aspects()
    rated = (human_of(first) + 2 * (4 - human_of(second)[::-1]) - 1) / 2
    whole = [replace(i, human=float(np.round(h))) for i, h in zip(first, rated, strict=True)]
    full = {"relevance": noisy(first, 0.6), "harm": on_harm(second, 0.3, 1), "overall": noisy(whole, 1.5, 2)}
    part = {
        "relevance": noisy(first, 2),
        "harm": on_harm(second, 1, 5),
        "overall": with_gaps(full["overall"], *range(60)),
    }
    sides = [
        looked(first, {"full": full["relevance"], "part": part["relevance"], "no overall": full["relevance"]}),
        looked(second, {"full": full["harm"], "part": part["harm"], "no overall": full["harm"]}, HARM),
        looked(whole, {"full": full["overall"], "part": part["overall"]}, OVERALL),
    ]
    return sides, {"full": full, "part": part}


@pytest.mark.parametrize("name", ["overall", "made/overall"])
def test_the_mean_of_aspects_against_the_overall_score(name: str) -> None:
    sides, given = three_aspects()
    extra = overall_extra(sides, name, 4, DRAWS)
    aspects = {"relevance": RELEVANCE, "harm": HARM}
    human, groups = human_of(sides[2].items), [i.group for i in sides[2].items]
    for judge, scores in given.items():
        in_order = {"relevance": scores["relevance"], "harm": scores["harm"][::-1]}
        direct = mean_against_overall(aspects, in_order, OVERALL, scores["overall"], human, groups, 4, DRAWS)
        rho = {a.judge: a.figures["spearman"] for a in direct.agreements}
        found = cells(extra, judge)
        assert (found["items"], found["groups"]) == (direct.items, direct.groups)
        # Group names differ from those of the items, and so do the draws; the figures themselves do not.
        for head, value in ((f"rho, {MEAN}", rho[MEAN]), (f"rho, {SINGLE}", rho[SINGLE])):
            assert str(found[head]).startswith(f"{value.value:.3f} [")
        assert str(found["gain"]).startswith(f"{direct.gains[SINGLE]['spearman'].value:+.3f} [")
    assert [cells(extra, j)["items"] for j in given] == [120, 60]
    assert float(cells(extra, "full")["p"] or 0) < 0.05  # two aspects with little noise against one with much
    assert "'no overall'" in extra.notes[-1]
    assert any("different prompts" in note for note in extra.notes)


@pytest.mark.parametrize("name", ["fluency", "neutral/overall", ""])
def test_an_overall_aspect_that_is_not_compared_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="neutral/relevance, made/harm, made/overall"):
        overall_extra(three_aspects()[0], name, 0, DRAWS)


def test_recorded_judges_on_all_of_cseval(real_data: Path) -> None:
    names = ("relevance", "coherence", "aggressiveness", "suitableness")
    judges = ("gpt-4/zero-shot", "mistral-7b/auto-cseval")
    settings = {"data": "cseval", "data_dir": real_data, "force": True, "columns": {"recorded": judges}}
    sides = []
    for one in shared_split([prepare(make_config(aspect=a, **settings)) for a in names]):
        items = one.split.test.unseal(1)
        given = {j: RecordedJudge(j, one.aspect.scale).judge(items) for j in judges}
        scores = {j: np.array([v.score if isinstance(v, Judgment) else np.nan for v in vs]) for j, vs in given.items()}
        sides.append(looked(items, scores, one.aspect))
    extra = unified_extra(sides, 0, DRAWS)
    assert [r[0] for r in extra.rows] == list(judges)
    with (real_data / "cseval" / "recorded_judges.csv").open(encoding="utf-8", newline="") as file:
        rows = dict(enumerate(csv.DictReader(file), 2))
    here = [rows[i.row or 0] for i in sides[0].items]

    def equation_2(pattern: str) -> Array:
        r, c, a, s = (np.array([float(row[pattern.format(n)]) for row in here]) for n in names)
        joined: Array = (r + c + (6 - a) + ((s - 1) / 2 * 4 + 1)) / 4
        return joined

    rho = stats.spearmanr(equation_2("gpt-4/zero-shot/{}").round(9), equation_2("{}_score").round(9)).statistic
    assert str(cells(extra, "gpt-4/zero-shot")["rho"]).startswith(f"{rho:.3f} [")
    assert rho > 0.55
    whole = overall_extra(sides, "suitableness", 0, DRAWS)
    assert str(cells(whole, "gpt-4/zero-shot")["gain"]).startswith("+0.2")  # three aspects tell it better than its own
    assert systems_extras(sides[0], "spearman", 0, DRAWS) == ()  # the set names no systems
