"""Which columns are audited, what a run is told before it starts, and the real data: real faults, no false alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrator.aspects import find_aspect
from calibrator.audit.whole import Audit, audit, quick_findings
from calibrator.catalog import open_source
from calibrator.columns import Wanted, map_columns
from tests.audit.tables import agreeing, annotated, rated, relevance, rows_of, severities, subject, table_of
from tests.audit.test_ranks import ranking


def whole(*data: object, folder: Path | None = None) -> Audit:
    sources = [open_source(str(d), folder) for d in data]
    return audit([(s, s.wanted) for s in sources])


def test_all_rated_columns_are_found_with_the_scales_of_the_suite_that_fits() -> None:
    names = "understandability naturalness coherence engagingness groundedness overall".split()
    row = {f"human.{n}": 1 for n in names}
    seen = subject([{"input": f"question {k}", "output": f"answer {k}", **row} for k in range(20)])
    assert {r.aspect: str(r.scale) for r in seen.rated} == {
        "coherence": "1-3",
        "engagingness": "1-3",
        "groundedness": "0-1",
        "naturalness": "1-3",
        "overall": "1-5",
        "understandability": "0-1",
    }


def test_ratings_of_no_known_aspect_are_audited_by_themselves() -> None:
    seen = subject(rated([0, 7, 10] * 20, "human.charm"))
    assert [(r.aspect, r.known) for r in seen.rated] == [("charm", "data")]
    overall = subject(rated([0, 7, 10] * 20, "human_score"))
    assert [r.mapped.score for r in overall.rated] == ["human_score"]


def test_a_file_without_ratings_has_none() -> None:
    rows = [{"input": r["input"], "output": r["output"], "bleu_score": 0.1} for r in rows_of()]
    assert subject(rows).rated == ()


def test_references_alone_are_audited_as_texts() -> None:
    rows = [{"prompt": r["input"], "reference": r["output"]} for r in rows_of()]
    assert subject(rows).mapped.output == "reference"


def test_what_a_run_is_told() -> None:
    rows = annotated(agreeing())
    for row in rows:
        row["some-model/score"] = row["relevance_a1"]
    table = table_of(rows)
    found = quick_findings(table, map_columns(table, Wanted(), relevance()), relevance())
    assert severities(found) == ["grave"]


def test_a_rank_that_is_not_the_rating_does_not_concern_a_run() -> None:
    rows = ranking(13)
    table = table_of(rows)
    for score, expected in (("human_rank", ["grave"]), ("judge1/overall", [])):
        seen = subject(rows, score=(score,))
        found = quick_findings(table, seen.mapped, relevance())
        assert [f.severity for f in found if f.check == "ranks"] == expected


@pytest.mark.parametrize(
    ("name", "grave"),
    [
        ("demo", False),
        ("cseval", False),
        ("cseval-dev", False),
        ("topical-chat", False),
        ("dialsummeval", False),
        ("cseval/recorded_judges.csv", False),
        ("cseval/annotators.csv", False),
        ("cseval/responses.jsonl", False),
        ("conan/multitarget_conan.csv", False),
        ("crowdcounter/Train.jsonl", False),
        ("llm-cn-eval/amt_scores_example.csv", False),
        ("llm-cn-eval/candidates.csv", False),
        ("cseval/rankings.csv", True),
        ("cseval/suspect_labels.csv", True),
    ],
)
def test_real_data_is_grave_only_where_it_is(real_data: Path, name: str, grave: bool) -> None:
    found = whole(real_data / name if "." in name else name, folder=real_data)
    assert found.grave is grave, found.findings


def test_suspect_labels_are_named_for_what_they_are(real_data: Path) -> None:
    found = whole(real_data / "cseval" / "suspect_labels.csv").findings
    copies = {f.column: f.message for f in found if f.check == "copies"}
    assert set(copies) == {"relevance_score", "aggressiveness_score"}
    assert all("'gpt-4/auto-cseval/" in m for m in copies.values())
    off = [f for f in found if f.check == "ratings"]
    assert len(off) == 4
    assert all(f.count == 4 and f.rows == (2, 3, 4) for f in off)


def test_recorded_judges_raise_no_alarm(real_data: Path) -> None:
    found = whole(real_data / "cseval" / "recorded_judges.csv").findings
    assert set(severities(found)) <= {"note"}
    assert {f.check for f in found} == {"duplicates"}


def test_the_ranks_that_run_both_ways_are_found(real_data: Path) -> None:
    found = [f for f in whole(real_data / "cseval" / "rankings.csv").findings if f.severity == "grave"]
    assert [f.column for f in found] == ["rank_human_annotation"]
    assert found[0].count == 17


def test_the_development_set_stands_in_the_test_side(real_data: Path) -> None:
    found = whole("cseval-dev", "cseval", folder=real_data).findings
    assert [f.count for f in found if f.severity == "grave"] == [110, 318]
    assert any("nearly the same" in f.message and f.severity == "warning" for f in found)


def test_an_annotator_who_stands_there_twice_is_found(real_data: Path) -> None:
    found = whole("dialsummeval", folder=real_data).findings
    assert [f.column for f in found if f.severity == "warning"] == ["annotators.coherence[1]"]


def test_what_a_run_is_told_of_good_data_is_nothing_grave(real_data: Path) -> None:
    for name, aspect in (("cseval", "relevance"), ("dialsummeval", "coherence")):
        source = open_source(name, real_data)
        found, _ = find_aspect(aspect, source.suite)
        mapped = map_columns(source.table, source.wanted, found)
        assert "grave" not in severities(quick_findings(source.table, mapped, found, name))


def test_the_agreement_is_that_of_the_annotators(real_data: Path) -> None:
    agreements = whole("cseval", folder=real_data).files[0].agreements
    pairs = {a.aspect: round(a.spearman, 2) for a in agreements}
    assert pairs == {"relevance": 0.7, "coherence": 0.69, "aggressiveness": 0.53, "suitableness": 0.63}
