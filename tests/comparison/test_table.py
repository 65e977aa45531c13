"""The table: figures beside scipy's and statsmodels', and who is compared with whom on what."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from calibrator.comparison.result import FAMILIES, JudgeRow, PairLine
from calibrator.comparison.table import FULL, LEVEL, Compared, Entry, Side, compared
from calibrator.evaluation.agreement import compare
from calibrator.judges.recorded import RecordedJudge
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.stats.correlation import MEASURES
from tests.comparison.making import Array, noisy, rating
from tests.conftest import make_items

QUICK = 200
SCIPY = {
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "mae": lambda x, y: np.abs(x - y).mean(),
}
ITEMS = make_items(120, 40)
HUMAN = np.array([rating(i) for i in ITEMS])


def scored(noise: float, name: str = "judge", digits: int | None = None, slope: float = 1.0) -> list[float | None]:
    """Return scores of all items, the better the less noise."""
    given = [noisy(i, name, noise, slope) for i in ITEMS]
    return [round(s, digits) for s in given] if digits is not None else list(given)


def entry(name: str, scores: Sequence[float | None], family: str = "recorded", **more: object) -> Entry:
    verdicts: list[Verdict] = [
        Failure(i.id, "no score") if s is None else Judgment(i.id, float(s), "said")
        for i, s in zip(ITEMS, scores, strict=True)
    ]
    return Entry(name, family, "said", tuple(verdicts), **more)  # type: ignore[arg-type]


def table(entries: Sequence[Entry], measure: str = "spearman", items: Sequence[Item] = ITEMS) -> Compared:
    return compared(entries, Side(items, 0, QUICK), measure)


def row(found: Compared, name: str) -> JudgeRow:
    return next(r for r in found.rows if r.name == name)


def pair(found: Compared, first: str, second: str) -> PairLine:
    return next(p for p in found.pairs if (p.first, p.second) == (first, second))


def without(scores: Sequence[float | None], gone: Sequence[int]) -> list[float | None]:
    return [None if k in set(gone) else s for k, s in enumerate(scores)]


def at(scores: Sequence[float | None], places: Sequence[int]) -> Array:
    return np.array([scores[k] for k in places], dtype=float)


# -- figures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [None, 0], ids=["no ties", "ties"])
@pytest.mark.parametrize("measure", MEASURES)
def test_figures_are_those_of_scipy(measure: str, digits: int | None) -> None:
    a, b = scored(0.7, digits=digits), scored(1.5, "b", digits)
    found = table([entry("a", a), entry("b", b)], measure)
    for name, scores in (("a", a), ("b", b)):
        figure = row(found, name).figures[measure]
        assert figure.value == pytest.approx(SCIPY[measure](np.array(scores), HUMAN), abs=1e-6)
        assert figure.low is not None and figure.high is not None
        assert figure.low < figure.value < figure.high
    assert found.common == tuple(range(120))


@pytest.mark.parametrize("measure", MEASURES)
def test_figures_gains_and_p_are_those_that_a_run_reports(measure: str) -> None:
    """The same two judges in `calibrate run`: `evaluation.agreement.compare` on the same items, seed and resamples."""
    a, b = scored(0.7), scored(1.0, "b")
    items = [replace(i, recorded={"a": x, "b": y}) for i, x, y in zip(ITEMS, a, b, strict=True)]
    run = compare({n: RecordedJudge(n, None) for n in "ab"}, items, 0, QUICK, measure)
    found = table([entry("a", a), entry("b", b)], measure)
    for agreement in run.agreements:
        for name, interval in agreement.figures.items():
            mine = row(found, agreement.judge).figures[name]
            assert (mine.value, mine.low, mine.high) == pytest.approx(
                (interval.value, interval.low, interval.high), abs=1e-6
            )
    line = pair(found, "a", "b")
    gain = run.gains["b"][measure]
    assert (line.gain.value, line.gain.low, line.gain.high) == pytest.approx(
        (gain.value, gain.low, gain.high), abs=1e-6
    )
    assert line.p == line.adjusted == pytest.approx(run.p["b"], abs=1e-6)  # one test needs no adjustment


@pytest.mark.parametrize("measure", MEASURES)
def test_the_better_judge_has_the_gain_in_every_measure(measure: str) -> None:
    """For mae less is more, and the gain is positive all the same."""
    found = table([entry("bad", scored(3.0, "b")), entry("good", scored(0.2))], measure)
    line = pair(found, "bad", "good")
    assert line.gain.value is not None and line.gain.value < 0
    assert line.gain.high is not None and line.gain.high < 0
    assert row(found, "good").better_than == ("bad",)
    assert row(found, "bad").better_than == ()
    values = {n: row(found, n).figures[measure].value for n in ("good", "bad")}
    assert (values["good"] < values["bad"]) == (measure == "mae")
    sign = -1 if measure == "mae" else 1
    assert line.gain.value == pytest.approx(sign * (values["bad"] - values["good"]), abs=2e-6)


def test_a_judge_that_runs_against_the_humans_is_below_one_that_says_nothing_of_them() -> None:
    against, noise = scored(0.3, slope=-1.0), scored(1.0, "n", slope=0.0)
    found = table([entry("against", against), entry("noise", noise), entry("good", scored(0.3, "g"))])
    value = row(found, "against").figures["spearman"].value
    assert value is not None and value < -0.8
    assert row(found, "noise").better_than == ("against",)
    assert set(row(found, "good").better_than) == {"against", "noise"}
    assert row(found, "against").better_than == ()


# -- ties and constants ------------------------------------------------------------------------------------------------


def test_a_constant_judge_has_no_correlation_but_an_error() -> None:
    found = table([entry("constant", [3.0] * 120, "baseline"), entry("good", scored(0.3))])
    figures = row(found, "constant").figures
    assert all(figures[m].value is figures[m].low is None for m in ("spearman", "kendall", "pearson"))
    assert figures["mae"].value == pytest.approx(np.abs(HUMAN - 3).mean(), abs=1e-6)
    line = pair(found, "constant", "good")
    assert line.gain.value is line.p is line.adjusted is None
    assert row(found, "good").better_than == row(found, "constant").better_than == ()
    by_error = table([entry("constant", [3.0] * 120, "baseline"), entry("good", scored(0.3))], "mae")
    assert row(by_error, "good").better_than == ("constant",)


def test_two_judges_that_say_the_same_are_equal() -> None:
    scores = scored(0.5)
    found = table([entry("a", scores), entry("b", scores)])
    line = pair(found, "a", "b")
    assert (line.gain.value, line.gain.low, line.gain.high) == (0.0, 0.0, 0.0)
    assert line.p == line.adjusted == 1.0
    assert [r.better_than for r in found.rows] == [(), ()]


def test_off_the_scale_there_is_no_error() -> None:
    metric = entry("metric", [40 * (s or 0) for s in scored(0.5)], "metric", on_scale=False)
    others = [entry("a", scored(0.4)), entry("b", scored(2.0, "b"))]
    found = table([metric, *others], "mae")
    assert set(row(found, "metric").figures) == set(MEASURES) - {"mae"}
    assert [(p.first, p.second) for p in found.pairs] == [("a", "b")]
    assert len(table([metric, *others]).pairs) == 3


# -- many judges -------------------------------------------------------------------------------------------------------


def test_p_values_are_adjusted_for_all_pairs_as_statsmodels_does() -> None:
    entries = [entry(n, scored(noise, n)) for n, noise in zip("abcde", (0.5, 0.6, 0.8, 1.0, 1.2), strict=True)]
    found = table([*entries, entry("constant", [2.0] * 120)])
    tested = [line for line in found.pairs if line.p is not None]
    assert len(found.pairs) == 15
    assert len(tested) == 10  # those with the constant are no tests
    expected = multipletests([line.p for line in tested], method="holm")[1]
    assert [line.adjusted for line in tested] == pytest.approx(expected, abs=2e-6)
    assert len({line.adjusted for line in tested}) > 2


@settings(deadline=None, max_examples=20)
@given(st.lists(st.sampled_from([0.1, 0.5, 1.0, 3.0]), min_size=2, max_size=5), st.sampled_from(list(MEASURES)))
def test_better_than_says_what_the_pairs_say_and_never_a_judge_itself(noises: list[float], measure: str) -> None:
    entries = [entry(f"j{k}", scored(noise, f"j{k}")) for k, noise in enumerate(noises)]
    found = table(entries, measure)
    for r in found.rows:
        assert r.name not in r.better_than
        assert len(set(r.better_than)) == len(r.better_than)
        for other in (o.name for o in found.rows if o.name != r.name):
            (line,) = [p for p in found.pairs if {p.first, p.second} == {r.name, other}]
            assert line.adjusted is not None and line.gain.value is not None
            ahead = line.gain.value > 0 if line.first == r.name else line.gain.value < 0
            assert (other in r.better_than) == (ahead and line.adjusted < LEVEL)


def test_among_many_pairs_a_clear_difference_is_still_seen() -> None:
    """Of 45 pairs even the smallest p that 200 permutations can show, 1 / 201, would be adjusted to 0.22."""
    names = "bcdefghij"
    entries = [entry("good", scored(0.1)), *(entry(n, scored(1.5, n)) for n in names)]
    found = table(entries)
    assert len(found.pairs) == 45
    assert set(row(found, "good").better_than) == set(names)
    clear = [line for line in found.pairs if line.first == "good"]
    assert all(line.p is not None and 0 < line.p < 1 / 201 for line in clear)
    expected = multipletests([line.p for line in found.pairs], method="holm")[1]
    assert [line.adjusted for line in found.pairs] == pytest.approx(expected, abs=1e-4)
    close = [line for line in found.pairs if line.first != "good" and line.p is not None and line.p > 0.2]
    again = table([e for e in entries if e.name in (close[0].first, close[0].second)])
    assert again.pairs[0].p == close[0].p  # a p that is not small is what few permutations say


def test_rows_stand_by_family_and_within_one_as_they_came() -> None:
    families = ["recorded", "baseline", "panel", "criteria", "recorded", "metric", "baseline"]
    entries = [entry(f"j{k}", scored(0.5, str(k)), f) for k, f in enumerate(families)]
    found = table(entries)
    assert [r.name for r in found.rows] == ["j1", "j6", "j5", "j3", "j0", "j4", "j2"]
    assert sorted(families, key=FAMILIES.index) == [r.family for r in found.rows]


def test_what_is_known_of_an_entry_stands_in_its_row() -> None:
    made = entry("a", scored(0.5), model="a/b", known=40, cost=0.25, seconds=1.5, notes=("a note",))
    found = row(table([made, entry("b", scored(0.6, "b"))]), "a")
    assert (found.mode, found.model, found.known, found.cost, found.seconds) == ("said", "a/b", 40, 0.25, 1.5)
    assert (found.notes, found.judgments, found.coverage, found.partial) == (("a note",), 120, 1.0, False)


# -- judges that scored a part -----------------------------------------------------------------------------------------

HALF = list(range(0, 120, 2))


def test_a_judge_of_half_of_the_items_is_compared_on_its_own_part() -> None:
    a, b, part = scored(0.5), scored(0.55, "b"), without(scored(0.7, "p"), range(1, 120, 2))
    full = table([entry("a", a), entry("b", b)])
    found = table([entry("a", a), entry("part", part), entry("b", b)])
    for name in "ab":  # the others stay what they are
        assert row(found, name).figures == row(full, name).figures
        assert (row(found, name).items, row(found, name).partial, row(found, name).beside) == (120, False, {})
    line, alone = pair(found, "a", "b"), pair(full, "a", "b")
    assert (line.items, line.gain, line.p) == (alone.items, alone.gain, alone.p)
    assert found.common == full.common == tuple(range(120))
    mine = row(found, "part")
    assert (mine.items, mine.partial, mine.coverage, mine.failures) == (60, True, 0.5, {"no score": 60})
    for measure in MEASURES:
        assert mine.figures[measure].value == pytest.approx(SCIPY[measure](at(part, HALF), HUMAN[HALF]), abs=1e-6)
    assert set(mine.beside) == {"a", "b"}  # the full judges on the same part
    for name, scores in (("a", a), ("b", b)):
        assert mine.beside[name].value == pytest.approx(SCIPY["spearman"](at(scores, HALF), HUMAN[HALF]), abs=1e-6)
        line = next(p for p in found.pairs if {p.first, p.second} == {"part", name})
        assert line.items == 60
        ahead = (mine.beside[name].value or 0) - (mine.figures["spearman"].value or 0)
        assert line.gain.value == pytest.approx(ahead if line.first == name else -ahead, abs=2e-6)


def test_two_partial_judges_are_compared_on_what_both_scored() -> None:
    p, q = without(scored(0.5, "p"), range(70, 120)), without(scored(0.5, "q"), range(50))
    found = table([entry("full", scored(0.5)), entry("p", p), entry("q", q)])
    assert {line.items for line in found.pairs} == {70, 20}
    assert pair(found, "p", "q").items == 20
    assert set(row(found, "p").beside) == {"full"}


@pytest.mark.parametrize(("share", "partial"), [(FULL, False), (FULL - 1 / 120, True)])
def test_from_what_share_on_a_judge_is_full(share: float, partial: bool) -> None:
    failing = 120 - round(share * 120)
    few = without(scored(0.6, "f"), range(failing))
    found = table([entry("a", scored(0.5)), entry("few", few)])
    assert row(found, "few").partial is partial
    assert row(found, "a").items == (120 if partial else 120 - failing)
    assert row(found, "few").items == 120 - failing
    if not partial:  # the other is measured without them too
        assert found.common == tuple(range(failing, 120))
        left = list(found.common)
        expected = SCIPY["spearman"](at(scored(0.5), left), HUMAN[left])
        assert row(found, "a").figures["spearman"].value == pytest.approx(expected, abs=1e-6)
        assert row(found, "a").coverage == 1.0


def test_a_partial_judge_is_not_compared_where_a_full_one_failed() -> None:
    full = without(scored(0.5), [0, 1])
    part = without(scored(0.5, "p"), range(60, 120))
    found = table([entry("full", full), entry("part", part)])
    assert row(found, "part").items == 58
    assert row(found, "part").coverage == 0.5
    assert pair(found, "full", "part").items == 58


def test_where_nobody_is_full_each_stands_on_its_own_part() -> None:
    p, q = without(scored(0.5, "p"), range(60, 120)), without(scored(0.5, "q"), range(30))
    found = table([entry("p", p), entry("q", q)])
    assert [(r.items, r.partial, r.beside) for r in found.rows] == [(60, True, {}), (90, True, {})]
    assert pair(found, "p", "q").items == 30


@pytest.mark.parametrize("there", [0, 1, 2])
def test_a_judge_that_scored_next_to_nothing_breaks_nothing(there: int) -> None:
    found = table([entry("full", scored(0.5)), entry("none", without(scored(0.5, "n"), range(there, 120)))])
    mine = row(found, "none")
    assert (mine.items, mine.failures) == (there, {"no score": 120 - there})
    assert mine.figures["spearman"].low is None
    assert (mine.figures["mae"].value is None) == (there == 0)
    assert found.pairs == ()
    assert mine.better_than == ()


def test_on_one_group_there_is_a_figure_without_an_interval() -> None:
    group = [k for k, i in enumerate(ITEMS) if i.group == "g3"]
    part = [s if k in group else None for k, s in enumerate(scored(0.5))]
    found = row(table([entry("full", scored(0.4, "f")), entry("part", part)]), "part")
    assert found.items == 3
    assert found.figures["mae"].value is not None
    assert found.figures["mae"].low is None


def test_the_order_of_items_and_judges_changes_no_figure() -> None:
    a, b, c = scored(0.5), scored(0.9, "b"), without(scored(0.6, "c"), range(40))
    entries = [entry("a", a), entry("b", b), entry("c", c)]
    order = list(range(120))
    random.Random(1).shuffle(order)
    moved = [replace(e, verdicts=tuple(e.verdicts[k] for k in order)) for e in entries]
    first, other = table(entries), table(moved, items=[ITEMS[k] for k in order])
    for r in first.rows:
        there = row(other, r.name)
        for measure, figure in r.figures.items():
            mine = there.figures[measure]
            assert (mine.value, mine.low, mine.high) == pytest.approx((figure.value, figure.low, figure.high), abs=2e-6)
    backwards = table(entries[::-1])
    for line in first.pairs:
        turned = pair(backwards, line.second, line.first)
        assert turned.gain.value == pytest.approx(-(line.gain.value or 0), abs=1e-9)
        assert turned.p == line.p
