"""Win rates of systems that humans rated more or less often: by the labels, and corrected with a judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibrator.errors import ConfigError
from calibrator.stats.systems import share_score, win_score
from calibrator.studies.ranking.field import Field
from calibrator.studies.ranking.powered import BOTH, labelled_rows, powered_scores
from calibrator.studies.ranking.study import About, Terms, study
from calibrator.studies.ranking.win_rates import never_met

ABOUT = About("x/quality", "made up", "all rated items", "scores")
QUICK = Terms(resamples=100, repeats=50)


def field_of(shares: tuple[float, ...] = (0.1, 0.5, 0.9), sources: int = 300, seed: int = 1) -> tuple[Field, Field]:
    """Systems A, B, … each worse than the one before, rated at random so often; a judge that relabels the true rating.

    And the same field with every true rating known.
    """
    rng = np.random.default_rng(seed)
    systems = len(shares)
    member = np.tile(np.arange(systems), sources)
    usual = (5.0 - 4 * np.arange(systems) / (systems - 1))[member]
    true = np.where(rng.random(len(member)) < 0.9, usual, rng.integers(1, 6, len(member)))
    names = tuple(f"s{k:03d}" for k in np.repeat(np.arange(sources), systems))
    rated = np.where(rng.random(len(member)) < np.array(shares)[member], true, np.nan)
    score = win_score(member, names)
    letters = tuple("ABCDEF"[:systems])
    part = Field(letters, member, names, rated, {"same": 2 * true - 1}, score, rated[None], ("1",))
    return part, replace(part, human=true, annotators=true[None])


def test_rivals_that_are_rated_seldom_count_as_much_as_others() -> None:
    field, whole = field_of()
    truth = whole.plain_scores(whole.human)
    found = powered_scores(field, "same", labelled_rows(field, "same", None, 0))
    assert found is not None
    for k, s in enumerate(found.systems):
        assert s.powered.classical_value == pytest.approx(float(field.plain_scores(field.human)[k]))
        assert s.powered.value == pytest.approx(truth[k], abs=0.03)
        assert s.powered.low <= truth[k] <= s.powered.high
        assert s.judge_only == pytest.approx(truth[k])
        assert s.powered.high - s.powered.low < s.powered.classical_high - s.powered.classical_low
    assert abs(truth[1] - 0.5) < 0.03, "B beats C and loses to A"


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    truth, held = np.array([0.25, 0.5, 0.75]), []
    big = rng.normal(size=(200_000, 3)) + 0.5 * np.arange(3)
    truth = np.array([np.mean([(big[:, k] > big[:, j]).mean() for j in range(3) if j != k]) for k in range(3)])
    field, _ = field_of(sources=150)
    for _ in range(60):
        quality = rng.normal(size=(150, 3)) + 0.5 * np.arange(3)
        judged = quality + 0.6 * rng.normal(size=(150, 3)) + np.array([0.8, 0.0, 0.0])
        human = np.where(rng.random((150, 3)) < np.array([0.2, 0.5, 0.9]), quality, np.nan).ravel()
        drawn = replace(field, human=human, annotators=human[None], judges={"kind": judged.ravel()})
        found = powered_scores(drawn, "kind", labelled_rows(drawn, "kind", None, 0))
        assert found is not None
        for k, s in enumerate(found.systems):
            held += [s.powered.low <= truth[k] <= s.powered.high]
        ends = [(d.powered.low, d.powered.high, d.first, d.second) for d in found.differences]
        held += [lo <= truth["ABC".index(a)] - truth["ABC".index(b)] <= hi for lo, hi, a, b in ends]
    assert len(held) == 300
    assert np.mean(held) > 0.92


def test_so_many_labels_are_so_many_sources_of_every_system() -> None:
    field, whole = field_of((0.4, 0.6, 0.9))
    rows = labelled_rows(field, "same", 10, 0)
    assert len(rows) == 30
    assert len({field.sources[k] for k in rows}) == 10
    found = powered_scores(field, "same", rows)
    assert found is not None
    assert {(s.labelled, s.unlabelled) for s in found.systems} == {(10, 290)}
    assert found.taus[BOTH] == 1.0
    every = powered_scores(whole, "same", labelled_rows(whole, "same", 10, 0))
    assert every is not None
    truth = whole.plain_scores(whole.human)
    assert [s.truth for s in every.systems] == pytest.approx(truth.tolist())
    with pytest.raises(ConfigError, match=r"--labelled 250: only \d+ sources have a rating and a score by same"):
        labelled_rows(field, "same", 250, 0)


def test_nothing_is_shown_beyond_what_there_can_be() -> None:
    field, _ = field_of((0.4, 0.4, 0.4))
    found = powered_scores(field, "same", labelled_rows(field, "same", 10, 4))
    assert found is not None
    ends = [getattr(s.powered, e) for s in found.systems for e in ("low", "high", "classical_low", "classical_high")]
    assert 0 <= min(ends) < max(ends) <= 1
    assert {0.0, 1.0} & set(ends), "one at least was cut off"
    gaps = [end for d in found.differences for end in (d.powered.low, d.powered.high)]
    assert gaps
    assert max(map(abs, gaps)) <= 1
    rare = replace(field, score=share_score(5.0))
    shares = powered_scores(rare, "same", labelled_rows(rare, "same", 12, 0))
    assert shares is not None
    assert all(s.powered.low >= 0 for s in shares.systems if np.isfinite(s.powered.low))


def test_systems_that_never_met_are_told_of() -> None:
    field, _ = field_of((0.9, 0.9, 0.9, 0.9))
    odd = np.array([int(s[1:]) % 2 == 1 for s in field.sources])
    apart = np.where((field.member == 0) & odd | (field.member == 3) & ~odd, np.nan, field.human)
    field = replace(field, human=apart, annotators=apart[None])
    told = never_met(field, field.common())
    assert told == [
        "no win rate by the humans for A, D: no source with ratings of both of two systems (A and D)",
    ]
    table = study(field, QUICK, ABOUT)
    assert told[0] in table.cautions
    assert {s.system: s.human is None for s in table.systems} == {"A": True, "B": False, "C": False, "D": True}
    assert table.judges[0].systems == 2
    (part,) = table.powered
    assert {r.system: r.powered.value is None for r in part.rows} == {"A": True, "B": False, "C": False, "D": True}
    assert [(d.first, d.second) for d in part.differences] == [("B", "C")]


def test_without_a_source_in_common_there_is_no_win_rate() -> None:
    field, _ = field_of((0.5, 0.5))
    alone = replace(field, sources=tuple(str(k) for k in range(len(field.sources))))
    alone = replace(alone, score=win_score(alone.member, alone.sources))
    table = study(alone, QUICK, ABOUT)
    assert table.powered == ()
    assert any(c.startswith("no win rate by the humans for A, B") for c in table.cautions)
