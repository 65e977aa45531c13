"""May this judge stand in for a human annotator? From items with per-annotator ratings and a judge's verdicts.

The numbers are those of `stats.replacement`: the alternative annotator test (Calderon, Reichart and Dror 2025) and the
human-likeness z (Judge's Verdict 2025). Here is what comes before them: which ratings are a person's own, which
verdicts count; and what a reader must know before believing the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Scale
from calibrator.evaluation.agreement import scores_of
from calibrator.evaluation.ceiling import ceiling
from calibrator.records import Item, Verdict
from calibrator.stats.correlation import pearson
from calibrator.stats.replacement import (
    ANNOTATORS,
    EPSILONS,
    FEW,
    Aligned,
    AltTest,
    HumanLikeness,
    alternative_annotator_test,
    human_likeness,
    on_points,
)

Array = NDArray[np.float64]
MANY_FAILURES = 0.05  # of the items: above it what is left may be the easy ones
MANY_TIES = 0.5  # of the comparisons


@dataclass(frozen=True, slots=True)
class Replacement:
    """A judge's answer to "may it replace a human?", with what it rests on.

    `test` is the alternative annotator test with the judge's scores at the nearest points of the scale, where the
    annotators had to answer too; `as_given` that with the scores as they are (None where they stand on points anyway).
    A score of 3.98 ties with nobody and loses to every annotator who says 4 where the others do, so that `rho` of
    judges that answer on points and between them can only be compared on points. `constant` is the test of the judge
    that says one point of every item, the best there is for these very ratings: where it passes, or comes near, passing
    says little (the weakness that the paper names in appendix C.1). Both are ours. `likeness` is the human-likeness z
    with Cohen's kappa, `weighted` with quadratic weights. `items` and `groups` count what was compared, `failed` the
    items with two or more ratings that the judge gave no score on the scale for, `unshared` those that fewer than two
    annotators rated. `annotators` holds the numbers of the raters: `annotator` of a line of a test is a place in it;
    `copies` and `shuffled` are those of `evaluation.ceiling`. `cautions` are sentences for a reader, in a fixed order.
    """

    test: AltTest
    as_given: AltTest | None
    constant: AltTest
    likeness: HumanLikeness
    weighted: HumanLikeness
    aligned: Aligned
    items: int
    groups: int
    failed: int
    unshared: int
    annotators: tuple[int, ...]
    copies: tuple[tuple[int, int], ...]
    shuffled: bool
    cautions: tuple[str, ...]

    @property
    def omega(self) -> float:
        """The winning rate, 0 to 1."""
        return self.test.omega

    @property
    def rho(self) -> float:
        """The average advantage probability, 0 to 1."""
        return self.test.rho

    @property
    def passed(self) -> bool:
        """Whether the judge beats at least half of the annotators (omega >= 0.5), by the plain test of the paper."""
        return self.test.passed

    @property
    def z(self) -> float:
        """The human-likeness z with Cohen's kappa; nan where it is not defined."""
        return self.likeness.z


@dataclass(frozen=True, slots=True)
class NoReplacement:
    """The question cannot be put, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Table:
    """The ratings by person, (n, k), nan for gaps, and what was found out about them."""

    ratings: Array
    annotators: tuple[int, ...]
    copies: tuple[tuple[int, int], ...]
    shuffled: bool
    named: bool


def replacement(
    verdicts: Sequence[Verdict | None],
    items: Sequence[Item],
    scale: Scale,
    epsilon: float | str = "expert",
    aligned: Aligned | None = None,
    seed: int = 0,
) -> Replacement | NoReplacement:
    """Return whether the judge that gave `verdicts` may replace one of the annotators of `items`.

    One verdict an item, in their order; a failure, none, or a score outside `scale` (the aspect's) does not count and
    is counted. `epsilon` is a number from 0 to 1 or a name of `stats.replacement.EPSILONS` ("expert" 0.2, "skilled"
    0.15, "crowd" 0.1); it belongs to the annotators, never to the judge. `aligned`: "rmse" for ordered scores,
    "accuracy" for labels, where ratings are taken at points too; None is accuracy on a scale of two points, else rmse.
    `seed` matters only where the ratings were sorted within the items and are put in an order by lot. Neither the order
    of the items nor that of the annotators matters.

    Annotators whose ratings are alike in every item count as one (the columns that `ceiling` finds). Fewer than three
    annotators are refused: the reason comes back in a `NoReplacement`. Raises ValueError if there are not as many
    verdicts as items, or for an epsilon that is no name and not from 0 to 1.
    """
    if len(verdicts) != len(items):
        raise ValueError(f"{len(verdicts)} verdicts for {len(items)} items")
    margin = margin_of(epsilon)
    table = _table(items, seed)
    if isinstance(table, NoReplacement):
        return table
    scores = np.array([s if scale.holds(s) else np.nan for s in map(float, scores_of(verdicts))])
    shared = (~np.isnan(table.ratings)).sum(axis=1) > 1
    used = shared & ~np.isnan(scores)
    here = int((~np.isnan(table.ratings[used])).any(axis=0).sum())
    if here < ANNOTATORS:
        return NoReplacement(f"{here} annotators are left on the {used.sum()} of {shared.sum()} items that it scored")
    how: Aligned = aligned or ("accuracy" if _points(scale) == 2 else "rmse")
    return _tested(table, scores, used, [i.group for i in items], scale, margin, how)


def _tested(
    table: _Table,
    scores: Array,
    used: NDArray[np.bool_],
    groups: Sequence[str],
    scale: Scale,
    margin: float,
    how: Aligned,
) -> Replacement:
    """Return all figures on the items `used` (n,), with their cautions."""
    judged, ratings = scores[used], table.ratings[used]
    own = [groups[int(k)] for k in np.flatnonzero(used)]
    labels, points = (on_points(v, scale.low, scale.high, scale.step) for v in (judged, ratings))
    rated = points if how == "accuracy" else ratings
    test = alternative_annotator_test(labels, rated, own, margin, how)
    between = how == "rmse" and not np.allclose(labels, judged)
    as_given = alternative_annotator_test(judged, rated, own, margin, how) if between else None
    said = np.unique(points[~np.isnan(points)])
    constants = [alternative_annotator_test(np.full(len(own), v), rated, own, margin, how) for v in said]
    r = float(pearson(judged, np.nanmean(ratings, axis=1)))
    shared = int(((~np.isnan(table.ratings)).sum(axis=1) > 1).sum())
    found = Replacement(
        test=test,
        as_given=as_given,
        constant=max(constants, key=lambda t: (t.rho, t.omega)),
        likeness=human_likeness(labels, points, r),
        weighted=human_likeness(labels, points, r, "quadratic"),
        aligned=how,
        items=len(own),
        groups=len(set(own)),
        failed=shared - len(own),
        unshared=len(scores) - shared,
        annotators=table.annotators,
        copies=table.copies,
        shuffled=table.shuffled,
        cautions=(),
    )
    return replace(found, cautions=tuple(_cautions(found, table.named, labels)))


def margin_of(epsilon: float | str) -> float:
    """Return epsilon as a number; raises ValueError for an unknown name or one outside 0 to 1."""
    if isinstance(epsilon, str):
        if epsilon not in EPSILONS:
            raise ValueError(f"'{epsilon}' is no kind of annotator; those there are: {', '.join(EPSILONS)}")
        return EPSILONS[epsilon]
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon must be from 0 to 1, not {epsilon}")
    return float(epsilon)


def _points(scale: Scale) -> int:
    return round((scale.high - scale.low) / scale.step) + 1


def _table(items: Sequence[Item], seed: int) -> _Table | NoReplacement:
    """Return the ratings by annotator, copies left out, or why there are none to test against."""
    several = [i for i in items if len(i.ratings) > 1]
    if not several:
        return NoReplacement("no item has ratings of two or more annotators")
    known = ceiling(items, seed, resamples=1)
    copies = known.copies if known else _all_alike(several)
    people = sorted({r for i in several for r in _raters(i)} - {again for _, again in copies})
    if len(people) < ANNOTATORS:
        alike = "; ".join(f"{a} and {b} rated every item alike and count as one" for a, b in copies)
        told = f" ({alike})" if alike else ""
        return NoReplacement(f"the test needs {ANNOTATORS} annotators or more, there are {len(people)}{told}")
    place: Mapping[int, int] = {person: k for k, person in enumerate(people)}
    ratings = np.full((len(items), len(people)), np.nan)
    shuffled = bool(known and known.shuffled)
    rng = np.random.default_rng(seed)
    # By key, not by place, so that the order of the rows does not matter to what is drawn.
    for k in sorted(range(len(items)), key=lambda n: (items[n].key, items[n].id)):
        own = np.array([place.get(r, -1) for r in _raters(items[k])], dtype=int)
        values = np.array(items[k].ratings, dtype=float)
        values = rng.permutation(values) if shuffled else values
        ratings[k, own[own >= 0]] = values[own >= 0]
    return _Table(ratings, tuple(people), copies, shuffled, all(i.raters for i in several))


def _raters(item: Item) -> tuple[int, ...]:
    """Return who rated an item: as `ceiling` does, the k-th annotator where it does not say."""
    return item.raters or tuple(range(len(item.ratings)))


def _all_alike(items: Sequence[Item]) -> tuple[tuple[int, int], ...]:
    """Return the copies where `ceiling` gave nothing: all annotators of its items are one, or there was one item."""
    sets = {_raters(i) for i in items}
    if len(items) < 2 or len(sets) > 1 or any(len(set(i.ratings)) > 1 for i in items):
        return ()
    first, *others = next(iter(sets))
    return tuple((first, other) for other in others)


def _cautions(found: Replacement, named: bool, labels: Array) -> list[str]:
    return [*_of_people(found, named), *_of_judge(found, labels), *_of_verdict(found)]


def _of_people(found: Replacement, named: bool) -> list[str]:
    """Return what is to be said of the ratings."""
    said = []
    if found.shuffled:
        said.append(
            "the ratings are sorted within the items, so that a column is no person; they were put in an order by lot"
        )
    elif not named:
        said.append("the data does not say who rated what; the k-th rating was taken for that of the k-th annotator")
    for a, b in found.copies:
        said.append(f"annotators {a} and {b} rated every item alike and count as one")
    pairs, people = found.likeness.pairs, len(found.test.lines)
    if people == ANNOTATORS:
        said.append(
            f"with three annotators z rests on the spread of {pairs} pairs, and omega can only be 0, 1/3, 2/3 or 1"
        )
    few = sum(line.items < FEW for line in found.test.lines)
    if few:
        said.append(
            f"{few} of {people} annotators shared fewer than {FEW} items: the signed-rank test, which stands in for "
            "the t test, rejects far too often where many tie; take the answer as a hint"
        )
    return said


def _of_judge(found: Replacement, labels: Array) -> list[str]:
    said = []
    whole = found.items + found.failed
    if found.failed > MANY_FAILURES * whole:
        said.append(
            f"the judge gave no score on the scale for {found.failed} of {whole} items; it was tested on the others"
        )
    if len(np.unique(labels)) == 1:
        said.append("at the points of the scale the judge says the same of every item")
    ties = float(np.mean([line.ties for line in found.test.lines]))
    if ties > MANY_TIES:
        said.append(f"judge and annotator tie in {ties:.0%} of the comparisons, and a tie counts for the judge")
    return said


def _of_verdict(found: Replacement) -> list[str]:
    """Return on what the verdict hangs."""
    test, said = found.test, []
    if test.passed != test.passed_grouped:
        said.append(
            f"the verdict hangs on taking items of one group for independent: omega {test.omega:.2f}, with "
            f"{found.groups} groups instead of {found.items} items {test.omega_grouped:.2f}"
        )
    if found.as_given and found.as_given.passed != test.passed:
        said.append(
            f"the verdict hangs on taking scores at the points of the scale (omega {test.omega:.2f}); as they were "
            f"given, omega is {found.as_given.omega:.2f}"
        )
    if found.constant.passed:
        said.append(
            f"the ratings are so much alike that one and the same score for every item passes too (omega "
            f"{found.constant.omega:.2f}, advantage {found.constant.rho:.2f}): passing says little here"
        )
    return said
