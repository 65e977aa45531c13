"""Judges against human rankings, the whole way from the file to the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from calibrator.aspects import Aspect, Scale, find_aspect
from calibrator.audit.subject import numbers_of
from calibrator.calibration.config import make_config
from calibrator.calibration.progress import Silent
from calibrator.catalog import open_source
from calibrator.comparison.further_parts import spanned
from calibrator.comparison.names import JudgeName, parse_judges
from calibrator.comparison.preferring import Preferring, prefer
from calibrator.comparison.preferring_tables import Ranked, parse_ranked
from calibrator.comparison.result import Extra
from calibrator.errors import ConfigError, DataError, RubricError
from calibrator.evaluation.preference import by_preference
from calibrator.evaluation.rank_directions import Best, rankings_of
from calibrator.evaluation.unified import unified
from calibrator.models.build import Access, Connections
from calibrator.store import Run
from calibrator.tables import read_table
from calibrator.texts import normalise
from tests.doubles.server import serving

RELEVANCE = find_aspect("neutral/relevance")[0]
HARM = Aspect("made", "harm", "Harm", "Harm is what hurts.", Scale(1, 3), "lower")
CSEVAL = tuple(find_aspect(f"cseval/{n}")[0] for n in ("relevance", "aggressiveness", "coherence", "suitableness"))
Write = Callable[..., Path]
Rows = list[dict[str, object]]


def rankings(count: int = 4, size: int = 3) -> Rows:
    """Outputs of so many groups, each a ranking from 1, the best, down; the better the longer."""
    return [
        {
            "input": f"a post about the garden number {g}",
            "output": f"reply {g} " + "with a plain word " * (size - place),
            "system": f"s{place}",
            "rank": place + 1,
        }
        for g in range(count)
        for place in range(size)
    ]


def tables(
    path: Path,
    folder: Path,
    judges: str | Sequence[JudgeName],
    aspects: Sequence[Aspect] = (RELEVANCE,),
    best: Best = "lowest",
    column: str = "rank",
    **columns: object,
) -> dict[str, Extra]:
    """What `prefer` gives, by the name of the table."""
    place = Run(folder / "place")
    place.folder.mkdir(exist_ok=True)
    journal = place.journal()
    config = make_config(aspect="relevance", resamples=100, columns=columns)
    names = parse_judges(judges) if isinstance(judges, str) else tuple(judges)
    task = Preferring(open_source(str(path)), tuple(aspects), names, Ranked(column, best), config)
    with Connections(Access(), journal) as connections:
        found = prefer(task, place, journal, connections, Silent())
    assert all(len(row) == len(extra.columns) for extra in found for row in extra.rows)
    return {extra.name: extra for extra in found}


def cells(extra: Extra, row: str) -> dict[str, str | float | int | None]:
    (found,) = [r for r in extra.rows if r[0] == row]
    return dict(zip(extra.columns, found, strict=True))


def first(cell: object) -> float:
    """The figure before an interval."""
    return float(str(cell).split(" ", maxsplit=1)[0])


def test_three_outputs_by_hand(write_csv: Write, tmp_path: Path) -> None:
    table = rankings()
    for row, score in zip(table, [2, 3, 1] * 4, strict=True):
        row["j/relevance"] = score
    found = tables(write_csv(table), tmp_path, "recorded:j")
    # Relevance 2, 1, 0; the judge puts the second first: see test_preference for the same by hand.
    judge = cells(found["preference"], "recorded:j")
    assert first(judge["NDCG, as stated"]) == pytest.approx(0.860, abs=5e-4)
    assert judge["failures"] == 0
    assert cells(found["preference"], "random order")["NDCG, as stated"] == pytest.approx(0.80995, abs=1e-5)
    assert cells(found["preference"], "worst order")["NDCG, as stated"] == pytest.approx(0.61991, abs=1e-5)
    # The number of the rank as the relevance: (2 + 1 / log2 3 + 3 / 2) / (3 + 2 / log2 3 + 1 / 2).
    assert first(judge["NDCG, the published way"]) == pytest.approx(4.13093 / 4.76186, abs=5e-4)
    order = cells(found["preference-order"], "recorded:j")
    assert (first(order["tau, as stated"]), first(order["top right, as stated"])) == (0.333, 0)
    assert cells(found["preference-order"], "random order")["top right, as stated"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["preference-systems"].rows == (("s0", 1.0), ("s1", 2.0), ("s2", 3.0))
    told = " ".join(found["preference"].notes)
    assert "12 outputs in 4 rankings" in told and "No ranking is marked" in told


@pytest.mark.parametrize("best", ["lowest", "highest"])
def test_the_end_that_is_preferred_is_the_users_word(write_csv: Write, tmp_path: Path, best: Best) -> None:
    table = rankings()
    for row in table:
        row["j/relevance"] = 5 - int(str(row["rank"]))  # more for the lower number
    found = tables(write_csv(table), tmp_path, "recorded:j", best=best)
    judge, worst = cells(found["preference"], "recorded:j"), cells(found["preference"], "worst order")
    order = cells(found["preference-order"], "recorded:j")
    assert first(judge["NDCG, as stated"]) == (
        1 if best == "lowest" else round(float(str(worst["NDCG, as stated"])), 3)
    )
    assert first(order["tau, as stated"]) == (1 if best == "lowest" else -1)
    published = "rewards who puts the worst first" in " ".join(found["preference"].notes)
    assert published == (best == "lowest")


def test_a_scores_direction_comes_from_the_aspect(write_csv: Write, tmp_path: Path) -> None:
    table = rankings()
    for row in table:
        row["j/harm"] = row["rank"]  # the preferred output harms least
        row["j/relevance"] = 3
    path = write_csv(table)
    alone = tables(path, tmp_path, "recorded:j", [HARM])
    both = tables(path, tmp_path, "recorded:j", [HARM, RELEVANCE])
    for found in (alone, both):
        assert first(cells(found["preference-order"], "recorded:j")["tau, as stated"]) == 1
    assert "lower is better" in " ".join(alone["preference"].notes)
    assert "turned round, as less is better: harm" in " ".join(both["preference"].notes)


def test_a_group_whose_ranks_come_again_holds_several_rankings(write_csv: Write, tmp_path: Path) -> None:
    table = rankings(6)
    for k, row in enumerate(table):
        row["input"] = f"the same {k // 6}"
        row["j/relevance"] = 1 + k % 5
    assert "18 outputs in 6 rankings" in tables(write_csv(table), tmp_path, "recorded:j")["preference"].notes[0]


def test_rows_without_a_rank_are_not_scored(write_csv: Write, tmp_path: Path) -> None:
    table = rankings()
    for row in table:
        row["j/relevance"] = 5 - int(str(row["rank"]))
    table[2]["rank"], table[2]["j/relevance"] = "", ""
    found = tables(write_csv(table), tmp_path, "recorded:j")
    assert cells(found["preference"], "recorded:j")["failures"] == 0
    assert "11 outputs in 4 rankings" in found["preference"].notes[0]


def test_a_judge_of_a_part_has_tables_of_its_own_with_the_others_beside_it(write_csv: Write, tmp_path: Path) -> None:
    table = rankings(10)
    for k, row in enumerate(table):
        row["full/relevance"] = 1 + (k * 7) % 5
        row["part/relevance"] = 5 - int(str(row["rank"])) if k < 12 else ""
    found = tables(write_csv(table), tmp_path, "recorded:full,recorded:part")
    assert [r[0] for r in found["preference"].rows] == ["recorded:full", "random order", "worst order"]
    own = found["preference/recorded:part"]
    assert [r[0] for r in own.rows] == ["recorded:part", "recorded:full", "random order", "worst order"]
    assert "12 outputs in 4 rankings" in own.notes[0]
    assert cells(own, "recorded:part")["failures"] == 18
    only = tables(write_csv(table), tmp_path, "recorded:part")
    assert set(only) == {"preference/recorded:part", "preference-order/recorded:part", "preference-systems"}


def test_all_tables_go_by_the_same_marks(write_csv: Write, tmp_path: Path) -> None:
    table, noise = rankings(30, 5), np.random.default_rng(0)
    for k, row in enumerate(table):
        merit = 6 - int(str(row["rank"]))
        row["rank"] = merit if k >= 75 else 6 - merit  # the second half runs the other way
        row["full/relevance"] = int(noise.integers(1, 6))
        for judge, last in (("a", 140), ("b", 135)):
            row[f"{judge}/relevance"] = merit if k < last else ""
    found = tables(write_csv(table), tmp_path, "recorded:full,recorded:a,recorded:b")
    # The full judge knows nothing of the order, and by itself would mark none; those of a part know it.
    for name in ("preference", "preference/recorded:a", "preference/recorded:b"):
        assert " of 30 rankings are marked as running the other way" in " ".join(found[name].notes)
        assert "NDCG, the marked turned" in found[name].columns
    assert len({note for extra in found.values() for note in extra.notes if "are marked" in note}) == 1
    own = cells(found["preference/recorded:a"], "recorded:a")
    assert first(own["NDCG, without the marked"]) > first(own["NDCG, as stated"])


@pytest.mark.parametrize(
    "judge",
    ["criteria", "calibrated", "constant", "length", "panel:criteria+recorded:j", "top:2", "calibrated@local/m"],
)
def test_who_must_be_fitted_is_refused_in_one_line(write_csv: Write, tmp_path: Path, judge: str) -> None:
    with pytest.raises(ConfigError, match=r"ranks only, and nothing to fit .* recorded:P") as refused:
        tables(write_csv(rankings()), tmp_path, judge)
    assert "\n" not in str(refused.value)


def test_nobody_is_refused(write_csv: Write, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nobody is named"):
        tables(write_csv(rankings()), tmp_path, "human")
    with pytest.raises(ConfigError, match="name an aspect"):
        tables(write_csv(rankings()), tmp_path, "uncalibrated", [])


@pytest.mark.parametrize("cell", ["first", "inf", "1st"])
def test_a_rank_that_is_no_number_is_refused_with_its_row(write_csv: Write, tmp_path: Path, cell: str) -> None:
    table = rankings()
    table[4]["rank"] = cell
    with pytest.raises(DataError, match=r"row 6, column 'rank': this rank is no number"):
        tables(write_csv(table), tmp_path, "uncalibrated")


def test_a_file_without_rankings_is_refused(write_csv: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"column 'ranks': .*nearest: rank"):
        tables(write_csv(rankings()), tmp_path, "uncalibrated", column="ranks")
    with pytest.raises(DataError, match="no group holds two outputs of different rank"):
        tables(write_csv(rankings(size=1)), tmp_path, "uncalibrated")
    with pytest.raises(DataError, match="no row has a rank"):
        tables(write_csv([row | {"rank": ""} for row in rankings()]), tmp_path, "uncalibrated")
    with pytest.raises(DataError, match="no column holds the scores of a judge 'j' for relevance"):
        tables(write_csv(rankings()), tmp_path, "recorded:j")


def test_scores_that_are_on_no_aspects_scale_are_refused(write_csv: Write, tmp_path: Path) -> None:
    table = [row | {"metric/bleu": 0.1 * int(str(row["rank"]))} for row in rankings()]
    with pytest.raises(ConfigError, match="not on the scale 1-5 of neutral/relevance"):
        tables(write_csv(table), tmp_path, "recorded:metric/bleu")


def test_recorded_alone_means_all_that_every_aspect_has(write_csv: Write, tmp_path: Path) -> None:
    scores = {"a/relevance": 1, "a/harm": 2, "b/relevance": 3, "metric/bleu": 0.5}
    table = [row | scores for row in rankings()]
    path = write_csv(table)
    two = tables(path, tmp_path, "recorded", [RELEVANCE, HARM])["preference"]
    one = tables(path, tmp_path, "recorded")["preference"]
    assert [r[0] for r in two.rows[:-2]] == ["recorded:a"]
    assert [r[0] for r in one.rows[:-2]] == ["recorded:a", "recorded:b"]
    with pytest.raises(ConfigError, match="no recorded judge is found for every aspect"):
        tables(write_csv(rankings()), tmp_path, "recorded")


def test_frozen_judges_of_all_aspects_are_one_judge(write_csv: Write, tmp_path: Path) -> None:
    path, named = write_csv(rankings(8)), ",".join(f"calibrated:cseval/{a.name}" for a in CSEVAL)
    together = tables(path, tmp_path, f"{named},uncalibrated", CSEVAL)["preference"]
    names = [r[0] for r in together.rows[:-2]]
    joined = "calibrated:" + "+".join(a.ref for a in CSEVAL)
    assert sorted(map(str, names)) == [joined, "uncalibrated"]
    assert f"'{joined}': calibrated on cseval; whether it has seen these outputs is not known." in together.notes
    alone = tables(path, tmp_path, "calibrated:cseval/relevance", CSEVAL[:1])["preference"]
    assert alone.rows[0][0] == "calibrated:cseval/relevance"
    with pytest.raises(ConfigError, match="0 frozen judges score cseval/aggressiveness"):
        tables(path, tmp_path, "calibrated:cseval/relevance", CSEVAL)
    with pytest.raises(ConfigError, match="scores cseval/coherence, which is not among cseval/relevance"):
        tables(path, tmp_path, "calibrated:cseval/coherence", CSEVAL[:1])
    with pytest.raises(RubricError, match="no frozen judge 'nobody'"):
        tables(path, tmp_path, "calibrated:nobody")


def test_a_model_is_asked_once_about_each_ranked_output(write_csv: Write, tmp_path: Path) -> None:
    table = rankings()
    table[5]["rank"] = ""
    path = write_csv(table)
    with serving(tmp_path / "log") as double:
        judges = f"zero-shot@{double.url}#double,g-eval:text@{double.url}#double"
        found = tables(path, tmp_path, judges, [RELEVANCE])
        asked = len(double.asked())
        again = tables(path, tmp_path, judges, [RELEVANCE])
        assert len(double.asked()) == asked == 11 + 11 + 1  # both judges, and the steps of the one
    assert again == found
    # The double rates longer texts higher, and the longest stand first.
    for name, *_ in found["preference"].rows[:-2]:
        assert first(cells(found["preference-order"], str(name))["tau, as stated"]) > 0.2


def test_a_model_that_writes_no_steps_is_left_out_with_the_reason(write_csv: Write, tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--answers", "echo") as double:
        judge = f"g-eval:text@{double.url}#double"
        found = tables(write_csv(rankings()), tmp_path, f"{judge},uncalibrated")["preference"]
        assert [r[0] for r in found.rows[:-2]] == ["uncalibrated"]
        assert any(note.startswith(f"'{judge}' was left out: ") for note in found.notes)
        with pytest.raises(ConfigError, match="no judge is left"):
            tables(write_csv(rankings()), tmp_path, judge)


@pytest.mark.parametrize("best", ["lowest", "highest"])
def test_the_end_is_read(best: Best) -> None:
    assert parse_ranked("rank", best) == Ranked("rank", best)
    with pytest.raises(ConfigError, match=r"--rank-best: 'first' is none; .*lowest or highest"):
        parse_ranked("rank", "first")


def paper(real_data: Path, judges: Sequence[str]) -> Mapping[str, object]:
    """What the experiment prints as Table 2 comes from."""
    table = read_table(real_data / "cseval" / "rankings.csv")
    numbers, rank = numbers_of(table), numbers_of(table)["rank_human_annotation"]
    groups = [normalise(str(row["hatespeech"])) for row in table.rows]
    aspects = {a.name: a for a in CSEVAL}
    scores = {j: unified({n: numbers[f"prediction_{j}_{n}"] for n in aspects}, aspects) for j in judges}
    found = by_preference(scores, rank, rankings_of(rank, groups), groups, 0, resamples=100)
    return {
        "marked": len(found.marks.reversed),
        **{
            f"recorded:prediction_{j}": [
                *(spanned(f.ndcg) for f in (s.all, s.kept, s.turned, s.published)),
                found.failures[j],
                *(spanned(f.kendall) for f in (s.all, s.kept, s.turned)),
                *(spanned(f.top) for f in (s.all, s.kept, s.turned)),
            ]
            for j, s in found.judges.items()
        },
    }


def test_the_rankings_of_cseval_give_what_the_experiment_gives(real_data: Path, tmp_path: Path) -> None:
    models = ("gpt-4o", "meta-llama-Llama-3-8b-chat-hf", "mistralai-Mistral-7B-Instruct-v0.3")
    judges = [f"{m}{way}" for m in models for way in ("", "_zeroshot")]
    named = ",".join(f"recorded:prediction_{j}" for j in judges)
    path = real_data / "cseval" / "rankings.csv"
    found = tables(path, tmp_path, named, CSEVAL, column="rank_human_annotation")
    expected = paper(real_data, judges)
    ours = {r[0]: list(r[1:]) for r in found["preference"].rows[:-2]}
    order = {r[0]: list(r[1:]) for r in found["preference-order"].rows}
    for name, own in ours.items():
        assert [*own, *order[name]] == expected[str(name)]
    told = " ".join(found["preference"].notes)
    assert expected["marked"] == 26
    assert "26 of 44 rankings are marked" in told and "favours them" in told and "Spearman is -1.00" in told
    systems = found["preference-systems"].rows
    assert [r[0] for r in systems] == ["GPT3.5_FS", "GPT3.5_ZS", "dialoGPT", "QUARC", "GPS"]
    assert np.allclose(systems[0][1:], [1.778, 4.308], atol=1e-3)
