"""Panels: no fit judges what it saw, and what is chosen under a cost is chosen on dev."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from calibrator.calibration.config import ColumnNames, make_config
from calibrator.calibration.prepare import prepare
from calibrator.calibration.progress import Silent
from calibrator.comparison import panels
from calibrator.comparison.joining import Join
from calibrator.comparison.making import Made, Maker
from calibrator.comparison.names import parse_judge
from calibrator.comparison.panels import (
    ALL_PANELS,
    Panel,
    Seat,
    Terms,
    chosen_under,
    cross_fitted,
    join,
    on_known,
    shares,
)
from calibrator.criteria import Measured
from calibrator.errors import ConfigError
from calibrator.evaluation.agreement import scores_of
from calibrator.judges.base import Judge
from calibrator.judges.recorded import RecordedJudge
from calibrator.models.build import Access, Connections
from calibrator.records import Item, Judgment, Rubric, Verdict
from calibrator.stats.correlation import spearman
from tests.comparison.making import ASPECT, matrix, noisy, rated, rating, seat

NOTHING = Rubric(ASPECT.ref, ())


def terms(how: Join = "fit", **more: object) -> Terms:
    return replace(Terms(ASPECT, how, "spearman", Measured()), **more)  # type: ignore[arg-type]


def human(items: Sequence[Item], rows: Sequence[int]) -> np.ndarray:
    return np.array([rating(items[p]) for p in rows])


# -- cross-fitting -----------------------------------------------------------------------------------------------------


@dataclass
class Memory:
    """A judge that knows by heart the ratings of the groups that it was fitted to, and of others knows nothing."""

    known: dict[str, float]
    id: str = "memory"
    mode: str = "memory"

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        return tuple(Judgment(i.id, rating(i) if i.group in self.known else 3.0, self.mode) for i in items)


@dataclass
class Fits:
    """Fits such judges, and remembers to what."""

    seen: list[set[str]] = field(default_factory=list)
    judges: list[Memory] = field(default_factory=list)

    def fit(self, items: Sequence[Item]) -> Judge:
        self.seen.append({i.group for i in items})
        self.judges.append(Memory({i.group: rating(i) for i in items}))
        return self.judges[-1]

    def made(self, items: Sequence[Item]) -> Made:
        return Made("memory", "calibrated", self.fit(items), "criteria", NOTHING, fit=self.fit)


def test_no_item_is_scored_by_a_fit_that_saw_its_group() -> None:
    items, fits = rated(100, 25), Fits()
    made = fits.made(items)
    assert (scores_of(made.judge.judge(items)) == human(items, range(100))).all()  # by heart
    fits.seen.clear()
    assert cross_fitted(made, items, 0).tolist() == [3.0] * 100  # of what it has not seen it knows nothing
    assert len(fits.seen) == panels.FOLDS
    everybody = {i.group for i in items}
    left_out = [everybody - seen for seen in fits.seen]
    assert set.union(*left_out) == everybody
    assert all(a.isdisjoint(b) for a, b in combinations(left_out, 2))


def test_one_seed_gives_one_cross_fit_and_the_order_of_the_items_does_not_matter() -> None:
    items = rated(60, 20)
    first, other, back = Fits(), Fits(), Fits()
    for fits, some in ((first, items), (other, items), (back, items[::-1])):
        cross_fitted(fits.made(some), some, 4)
    assert first.seen == other.seen == back.seen


def test_a_failure_of_a_cross_fitted_judge_stays_one() -> None:
    items = rated(40, 20, P=0.1)
    gappy = [replace(i, recorded={"P": None if k % 4 == 0 else 2.0}) for k, i in enumerate(items)]
    made = Made(
        "m", "calibrated", RecordedJudge("P", None), "criteria", NOTHING, fit=lambda _: RecordedJudge("P", None)
    )
    assert np.isnan(cross_fitted(made, gappy, 0)).tolist() == [k % 4 == 0 for k in range(40)]


@pytest.mark.parametrize("how", ["fit", "ranks"])
def test_a_member_that_memorises_is_given_no_weight_by_what_it_knows_by_heart(how: Join) -> None:
    items = rated(120, 30, P=0.8)
    made = Fits().made(items)
    by_heart = Seat(made, scores_of(made.judge.judge(items)), 0.0)
    honest = Seat(made, cross_fitted(made, items, 0), 0.0)
    rows = range(120)
    if how == "fit":
        trusted = join("p", [by_heart, seat(items, "P")], items, terms(), rows)
        fair = join("p", [honest, seat(items, "P")], items, terms(), rows)
        assert dict(shares(trusted))["memory"] > 0.5
        assert dict(shares(fair)) == {"memory": 0.0, "recorded:P": pytest.approx(dict(shares(fair))["recorded:P"])}
        assert fair.joined.members[1].weight > 0.5
    panel = join("p", [honest, seat(items, "P")], items, terms(how), rows)
    seen = on_known(panel, items, rows)  # what it would come to on unseen items, not what it knows by heart
    assert spearman(seen, human(items, rows)) < spearman(scores_of(panel.judge.judge(items)), human(items, rows)) + 1e-9


# -- joining seats -----------------------------------------------------------------------------------------------------


def test_a_panel_is_fitted_to_the_rows_it_is_given_and_to_no_other() -> None:
    items = rated(120, 30, P=0.5, Q=1.0)
    rows = [k for k in range(120) if k % 2]
    seats = [seat(items, "P"), seat(items, "Q")]
    panel = join("p", seats, items, terms(), rows)
    spoilt = [i if k % 2 else replace(i, human=6 - rating(i)) for k, i in enumerate(items)]
    assert join("p", seats, spoilt, terms(), rows).joined == panel.joined
    some = [items[k] for k in rows]
    assert join("p", [seat(some, "P"), seat(some, "Q")], some, terms(), range(60)).joined == panel.joined
    assert [m.name for m in panel.joined.members] == ["recorded:P", "recorded:Q"]
    assert panel.judge.id == panel.name == "p"


@pytest.mark.parametrize("how", ["fit", "ranks"])
def test_what_a_panel_gives_known_items_is_what_its_judge_gives_them(how: Join) -> None:
    items = [
        replace(i, recorded={**i.recorded, "Q": None if k % 3 == 0 else i.recorded["Q"]})
        for k, i in enumerate(rated(90, 30, P=0.5, Q=1.0))
    ]
    panel = join("p", [seat(items, "P"), seat(items, "Q")], items, terms(how), range(60))
    rows = list(range(50, 90))
    assert on_known(panel, items, rows).tolist() == scores_of(panel.judge.judge([items[p] for p in rows])).tolist()


def criteria_seat(items: Sequence[Item], cost: float = 0.0) -> Seat:
    made = Made("criteria", "criteria", RecordedJudge("C", None), "criteria", NOTHING)
    return Seat(made, np.full(len(items), np.nan), cost)


def test_in_a_fit_the_embedded_judge_takes_part_with_its_criteria_and_by_ranks_with_its_score() -> None:
    items = rated(120, 30, P=1.0, C=0.5)
    own = replace(criteria_seat(items), scores=matrix(items, "C")[:, 0])
    fit = join("p", [own, seat(items, "P")], items, terms(), range(120))
    assert [m.name for m in fit.joined.members] == ["recorded:P"]
    assert [s.made.name for s in fit.seats] == ["recorded:P"]
    assert fit.joined.measured.steps
    ranks = join("p", [own, seat(items, "P")], items, terms("ranks"), range(120))
    assert [m.name for m in ranks.joined.members] == ["criteria", "recorded:P"]
    assert ranks.joined.measured.steps == ()
    alone = join("p", [own], items, terms(), range(120))
    assert alone.joined.members == ()
    assert spearman(on_known(alone, items, range(120)), human(items, range(120))) > 0.5


def test_shares_tell_members_and_steps_the_weightiest_first() -> None:
    items = rated(120, 30, P=1.0, Q=5.0)
    panel = join("p", [criteria_seat(items), seat(items, "P"), seat(items, "Q")], items, terms(), range(120))
    told = shares(panel)
    assert [abs(w) for _, w in told] == sorted((abs(w) for _, w in told), reverse=True)
    steps = {s.text: sum(m.weight for m in s.measures) for s in panel.joined.measured.steps}
    assert dict(told) == {m.name: m.weight for m in panel.joined.members} | steps
    assert dict(told)["recorded:P"] > dict(told)["recorded:Q"] >= 0


def test_a_judge_may_count_downwards_where_that_is_wanted() -> None:
    items = [replace(i, recorded={**i.recorded, "A": noisy(i, "A", 0.5, -1.0)}) for i in rated(120, 30, P=1.5)]
    seats = [seat(items, "P"), seat(items, "A")]
    assert join("p", seats, items, terms(), range(120)).joined.members[1].weight == 0.0
    assert join("p", seats, items, terms(negative=True), range(120)).joined.members[1].weight < 0


# -- the best under a cost ---------------------------------------------------------------------------------------------

TRAIN, DEV = list(range(60)), list(range(60, 120))


def chosen(seats: Sequence[Seat], items: Sequence[Item], most: float, how: Join = "fit") -> Panel:
    return chosen_under("p", seats, items, terms(how), TRAIN, DEV, most)


def members(panel: Panel) -> list[str]:
    return [s.made.name.removeprefix("recorded:") for s in panel.seats]


COSTS = {"P": 0.01, "Q": 0.003, "R": 0.002}


def priced(items: Sequence[Item], costs: dict[str, float] = COSTS) -> list[Seat]:
    return [seat(items, name, cost) for name, cost in costs.items()]


@pytest.mark.parametrize(
    ("most", "allowed"), [(1.0, "PQR"), (0.0129, "PR Q"), (0.005, "QR"), (0.0049, "Q R"), (0.002, "R")]
)
def test_no_panel_costs_more_than_it_may(most: float, allowed: str) -> None:
    items = rated(120, 40, P=0.4, Q=0.7, R=0.7)
    panel = chosen(priced(items), items, most)
    assert any(set(members(panel)) <= set(some) for some in allowed.split())
    assert sum(COSTS[m] for m in members(panel)) <= most


def test_the_choice_is_the_best_on_dev_of_all_panels_and_it_is_fitted_again_on_both() -> None:
    items = rated(120, 40, P=0.9, Q=0.9, R=1.2)
    seats = priced(items)
    merits = {}
    for size in (1, 2, 3):
        for some in combinations(range(3), size):
            panel = join("p", [seats[k] for k in some], items, terms(), TRAIN)
            merits[some] = float(spearman(on_known(panel, items, DEV), human(items, DEV)))
    best = max(merits, key=lambda some: merits[some])
    found = chosen(seats, items, 1.0)
    assert members(found) == ["PQR"[k] for k in best]
    assert found.joined == join("p", [seats[k] for k in best], items, terms(), [*TRAIN, *DEV]).joined
    names = ", ".join(f"recorded:{'PQR'[k]}" for k in best)
    cost = sum(list(COSTS.values())[k] for k in best)
    assert found.notes == (f"chosen on dev among 7 panels of at most 1 US dollars an item: {names} ({cost:g})",)


def test_panels_that_are_compared_on_dev_have_not_seen_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[tuple[int, ...]] = []

    def spy(name: str, seats: Sequence[Seat], items: Sequence[Item], how: Terms, rows: Sequence[int]) -> Panel:
        fitted.append(tuple(rows))
        return join(name, seats, items, how, rows)

    monkeypatch.setattr(panels, "join", spy)
    items = rated(120, 40, P=0.9, Q=0.9, R=1.2)
    chosen(priced(items), items, 1.0)
    assert fitted == [tuple(TRAIN)] * 7 + [(*TRAIN, *DEV)]


def test_what_is_best_on_train_is_not_chosen_for_it() -> None:
    """P knows train by heart and dev not at all; Q is fair on both."""
    items = rated(120, 40, Q=0.8)
    items = [
        replace(i, recorded={**i.recorded, "P": rating(i) if k < 60 else noisy(i, "P", 1.0, 0.0)})
        for k, i in enumerate(items)
    ]
    assert members(chosen(priced(items, {"P": 0.0, "Q": 0.0}), items, 1.0)) == ["Q"]


def test_of_equals_the_cheaper_and_then_the_smaller_is_chosen() -> None:
    twins = [replace(i, recorded={"P": rating(i), "Q": rating(i)}) for i in rated(120, 40)]
    assert members(chosen(priced(twins, {"P": 0.2, "Q": 0.1}), twins, 1.0)) == ["Q"]
    assert len(members(chosen(priced(twins, {"P": 0.0, "Q": 0.0}), twins, 1.0))) == 1


def test_a_cost_that_is_not_known_is_asked_for() -> None:
    items = rated(120, 40, P=0.5, Q=0.5)
    seats = [seat(items, "P", 0.01), seat(items, "Q", None)]
    with pytest.raises(ConfigError) as caught:
        chosen(seats, items, 1.0)
    said = "--max-cost-per-item: the cost of recorded:Q is not known; give it: --cost 'recorded:Q=0.002'"
    assert str(caught.value) == said


def test_where_nobody_is_cheap_enough_it_is_said() -> None:
    items = rated(120, 40, P=0.5)
    with pytest.raises(ConfigError, match=r"--max-cost-per-item: nobody scores an item for 0\.001 US dollars"):
        chosen([seat(items, "P", 0.01)], items, 0.001)


def test_a_failure_or_two_do_not_keep_the_best_from_being_chosen() -> None:
    """P is the best by far, though it failed on two of the sixty items of dev; all are compared on the other 58."""
    items = rated(120, 40, P=0.3, Q=3.0)
    gappy = [
        replace(i, recorded={**i.recorded, "P": None if k in (70, 90) else i.recorded["P"]})
        for k, i in enumerate(items)
    ]
    assert "P" in members(chosen(priced(gappy, {"P": 0.0, "Q": 0.0}), gappy, 1.0))
    # Where P has no score nothing is compared: what Q has there does not matter.
    moved = [
        replace(i, recorded={**i.recorded, "Q": noisy(i, "another", 3.0)}) if k in (70, 90) else i
        for k, i in enumerate(gappy)
    ]
    rows = [k for k in range(120) if k not in (70, 90)]
    for some in (gappy, moved):
        seats = priced(some, {"P": 0.0, "Q": 0.0})
        found = chosen_under("p", seats, some, terms(), TRAIN, DEV, 1.0)
        left = chosen_under("p", seats, some, terms(), TRAIN, [k for k in DEV if k in rows], 1.0)
        assert members(found) == members(left)


def test_who_fails_on_more_than_a_twentieth_of_dev_is_not_chosen_alone() -> None:
    items = rated(120, 40, P=0.1, Q=2.0)
    gappy = [
        replace(i, recorded={**i.recorded, "P": None if k % 10 == 0 else i.recorded["P"]}) for k, i in enumerate(items)
    ]
    assert members(chosen(priced(gappy, {"P": 0.0, "Q": 0.0}), gappy, 1.0)) == ["Q"]
    with pytest.raises(
        ConfigError, match=r"--max-cost-per-item: no panel of at most 1 US dollars .* scores 95% of dev"
    ):
        chosen(priced(gappy, {"P": 0.0}), gappy, 1.0)
    with pytest.raises(ConfigError, match="scores 95% of dev"):
        chosen_under("p", priced(gappy, {"P": 0.0}), gappy, terms(objective="mae"), TRAIN, DEV, 1.0)


@pytest.mark.parametrize("objective", ["spearman", "mae"])
def test_panels_are_compared_on_the_same_items(objective: str) -> None:
    """P and Q together fail on two items only, but on these F, which is noise, has scores: it is not left out there."""
    gaps = {"P": {60, 61, 62, 63, 64, 65}, "Q": {64, 65, 66, 67, 68, 69}}
    items = [
        replace(i, recorded={n: None if k in gaps.get(n, ()) else v for n, v in i.recorded.items()})
        for k, i in enumerate(rated(120, 40, P=0.3, Q=0.3, F=3.0))
    ]
    seats = priced(items, {"P": 0.0, "Q": 0.0, "F": 0.0})
    assert members(chosen_under("p", seats, items, terms(objective=objective), TRAIN, DEV, 1.0)) == ["F"]
    together = chosen_under("p", seats[:2], items, terms(objective=objective), TRAIN, [*range(70, 120)], 1.0)
    assert members(together) == ["P", "Q"]


def test_what_costs_nothing_is_always_cheap_enough() -> None:
    items = rated(120, 40, P=0.1, Q=0.8)
    assert members(chosen(priced(items, {"P": 0.01, "Q": 0.0}), items, 0.0)) == ["Q"]


def test_of_many_members_a_search_finds_the_good_ones_and_counts_what_it_tried() -> None:
    names = "ABCDEFGHI"
    assert len(names) > ALL_PANELS
    items = rated(120, 40, **(dict.fromkeys(names, 30.0) | {"C": 0.6, "G": 0.6}))
    found = chosen(priced(items, dict.fromkeys(names, 0.001)), items, 0.0035)
    assert {"C", "G"} <= set(members(found))
    assert len(members(found)) <= 3
    tried = int(found.notes[0].split("among ")[1].split()[0])
    assert tried in (9 + 8 + 7, 9 + 8 + 7 + 6)
    dear = priced(items, dict.fromkeys(names, 0.001) | {"C": 0.5})
    assert "C" not in members(chosen(dear, items, 0.0035))


def test_nothing_that_fits_or_chooses_is_ever_given_a_test_side() -> None:
    """They are given items and places among them; whatever stands nowhere in the places does not count."""
    items = rated(160, 40, P=0.5, Q=0.8)
    spoilt = [
        i if k < 120 else replace(i, human=6 - rating(i), recorded={"P": 1.0, "Q": 5.0}) for k, i in enumerate(items)
    ]
    first, other = (chosen(priced(some, {"P": 0.0, "Q": 0.0}), some, 1.0) for some in (items, spoilt))
    assert (first.joined, first.notes) == (other.joined, other.notes)
    for function in (cross_fitted, join, chosen_under, on_known):
        assert not [p for p in inspect.signature(function).parameters if "test" in p or "split" in p]


# -- real data ---------------------------------------------------------------------------------------------------------


def test_criteria_and_a_recorded_judge_are_better_together_than_either_alone(real_data: Path, tmp_path: Path) -> None:
    zero_shot = "gpt-4/zero-shot"
    config = make_config(
        aspect="relevance", data="cseval", data_dir=real_data, seed=0, columns=ColumnNames(recorded=(zero_shot,))
    )
    prepared = prepare(config)
    with Connections(Access()) as connections:
        maker = Maker(prepared, config, connections, tmp_path, Silent())
        (criteria,), (recorded,) = (maker.made(parse_judge(n)) for n in ("criteria", f"recorded:{zero_shot}"))
    assert isinstance(criteria, Made) and isinstance(recorded, Made)
    known = maker.known
    seats = [
        Seat(criteria, np.full(len(known), np.nan), 0.0),
        Seat(recorded, scores_of(recorded.judge.judge(known)), 0.01),
    ]
    how = Terms(prepared.aspect, "fit", "spearman", Measured())
    panel = join("p", seats, known, how, range(len(known)))
    assert all(m.weight >= 0 for m in panel.joined.members)
    assert panel.joined.members[0].weight > 0.1
    items = prepared.split.test.unseal(1)
    figures = [
        float(spearman(scores_of(j.judge(items)), human(items, range(len(items)))))
        for j in (panel.judge, criteria.judge, recorded.judge)
    ]
    assert figures[0] > max(figures[1:])
