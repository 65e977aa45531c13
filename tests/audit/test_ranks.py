"""Columns of ranks: those that run both ways are found, well-behaved ones are not."""

from __future__ import annotations

import numpy as np
import pytest

from calibrator.audit.ranks import rank_findings
from calibrator.stats.correlation import ranks
from tests.audit.tables import Row, subject


def ranking(turned: int, groups: int = 40, noise: float = 0.4, name: str = "human_rank", seed: int = 0) -> list[Row]:
    """Rows of groups of five with a rank (1 best, in the first `turned` groups 1 worst) and two recorded scores."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for k in range(groups):
        merit = rng.normal(size=5)
        rank = ranks((-merit if k >= turned else merit) + noise * rng.normal(size=5))
        for j in range(5):
            scores = {f"judge{n}/overall": round(float(merit[j] + rng.normal() / 3), 3) for n in (1, 2)}
            rows.append({"input": f"question {k}", "output": f"answer {k} {j}", name: int(rank[j]), **scores})
    return rows


@pytest.mark.parametrize("name", ["human_rank", "preference"])
def test_a_rank_that_runs_both_ways_is_found(name: str) -> None:
    found = rank_findings(subject(ranking(13, name=name)))
    assert [(f.severity, f.column) for f in found] == [("grave", name)]
    assert found[0].count in (12, 13, 14)
    assert found[0].rows == (2, 7, 12)


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0, 1e6])
@pytest.mark.parametrize("seed", range(5))
def test_a_rank_that_runs_one_way_is_not(noise: float, seed: int) -> None:
    assert rank_findings(subject(ranking(0, noise=noise, seed=seed))) == []


def test_several_rankings_of_one_source_are_taken_one_by_one() -> None:
    rows = ranking(13)
    for row in rows[:20]:
        row["input"] = "one question"
    found = rank_findings(subject(rows))
    assert "in 12 " in found[0].message or "in 13 " in found[0].message


def test_ties_in_a_column_that_is_called_a_rank() -> None:
    rows = ranking(13)
    for row in rows[::5]:
        row["human_rank"] = max(2, int(str(row["human_rank"])))
    assert len(rank_findings(subject(rows))) == 1


def test_a_position_is_a_rank_without_fault() -> None:
    rows = ranking(0)
    for k, row in enumerate(rows):
        row["position"] = k % 5 + 1
    assert rank_findings(subject(rows)) == []


def test_without_other_scores_or_with_few_groups_nothing_is_said() -> None:
    bare = [{k: v for k, v in r.items() if "judge" not in k} for r in ranking(13)]
    assert rank_findings(subject(bare)) == []
    assert rank_findings(subject(ranking(3, groups=8))) == []
