"""From a table of labels to the field that is ranked, and labels that occur together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from calibrator.errors import ConfigError, DataError
from calibrator.studies.ranking.labelling import LabelColumns, labelled_field, labels_digest, occurring_together
from calibrator.tables import Table

ASKED = LabelColumns(("h1", "h2", "h3"), ("c",), "intended")


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    return Table(Path("x.csv"), tuple(rows[0]), tuple(rows), tuple(rows), tuple(range(2, len(rows) + 2)))


def rows(count: int = 30) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    made = []
    for k in range(count):
        labels = rng.choice(["Fact", "joke"], 5)
        made.append(
            dict(zip(("intended", "h1", "h2", "h3", "c"), labels.tolist(), strict=True))
            | {"model": "PQ"[k % 2], "prompt": f"p{k // 2}"}
        )
    return made


def test_systems_are_scored_by_the_macro_f1_against_what_was_intended() -> None:
    made = rows()
    field, told = labelled_field(table(made), ASKED)
    assert (field.systems, field.score.name, told) == (("P", "Q"), "macro-F1", ())
    for k, system in enumerate(field.systems):
        own = [r for r in made if r["model"] == system]
        vote = ["Fact" if sum(r[h] == "Fact" for h in ("h1", "h2", "h3")) > 1 else "joke" for r in own]
        meant = [r["intended"] for r in own]
        assert field.plain_scores(field.human)[k] == pytest.approx(f1_score(meant, vote, average="macro"))
        judged = f1_score(meant, [r["c"] for r in own], average="macro")
        assert field.plain_scores(field.judges["c"])[k] == pytest.approx(judged)


def test_the_share_of_a_label_and_gaps() -> None:
    made = rows()
    made[0]["h1"] = made[0]["h2"] = made[0]["h3"] = ""
    field, _ = labelled_field(table(made), replace(ASKED, intended="", label="fact"))
    assert field.score.name == "share"
    assert np.isnan(field.human[0])
    own = [r["c"] for r in made if r["model"] == "P"]
    assert field.plain_scores(field.judges["c"])[0] == pytest.approx(np.mean([v == "Fact" for v in own]))


def test_yes_and_no_need_no_label_to_be_named() -> None:
    with pytest.raises(ConfigError, match="--label: it is not said"):
        labelled_field(table(rows()), LabelColumns(("h1", "h2"), ("c",)))
    binary = [r | {"c": k % 2, "h1": float(k % 3 == 0)} for k, r in enumerate(rows())]
    field, _ = labelled_field(table(binary), LabelColumns(("h1",), ("c",)))
    assert field.plain_scores(field.judges["c"]).tolist() == [0.0, 1.0]


def test_items_without_a_majority_are_told_of() -> None:
    field, told = labelled_field(table(rows()), replace(ASKED, human=("h1", "h2")))
    assert any("no majority" in t for t in told)
    assert np.isnan(field.human).sum() == int(told[0].split()[0])


def test_a_row_without_an_intended_label_counts_nowhere() -> None:
    made = rows()
    made[3]["intended"] = None
    field, _ = labelled_field(table(made), ASKED)
    assert np.isnan([field.human[3], field.judges["c"][3]]).all()


@pytest.mark.parametrize(
    ("change", "asked", "said"),
    [
        ({}, {"judges": ()}, "takes both"),
        ({}, {"system": "none"}, "names no systems"),
        ({}, {"label": "fact"}, "leave one of the two out"),
        ({}, {"intended": "", "label": "nothing"}, "no column holds 'nothing'"),
        ({"intended": ""}, {}, "holds no labels"),
        ({}, {"human": ("h9",)}, "there is no such column"),
    ],
)
def test_what_cannot_be_ranked_is_said(change: dict[str, Any], asked: dict[str, Any], said: str) -> None:
    with pytest.raises((ConfigError, DataError), match=said):
        labelled_field(table([r | change for r in rows()]), replace(ASKED, **asked))


def test_a_text_column_holds_no_labels() -> None:
    made = [r | {"c": f"text number {k}"} for k, r in enumerate(rows(120))]
    with pytest.raises(DataError, match="which are no labels"):
        labelled_field(table(made), ASKED)


def test_labels_that_occur_together_in_columns_of_every_kind() -> None:
    made = [
        {"fact": "1", "joke": "0", "mood": "warm", "types": ["a", "b"]},
        {"fact": "1", "joke": "1", "mood": "cool", "types": ["a"]},
        {"fact": "0", "joke": "1", "mood": "cool", "types": []},
    ]
    found = occurring_together(table(made), ["fact", "joke", "mood", "types"])
    assert found.labels == ("fact", "joke", "a", "b", "mood=cool", "mood=warm")
    counts = {(x, y): found.counts[i][j] for i, x in enumerate(found.labels) for j, y in enumerate(found.labels)}
    assert counts["fact", "fact"] == 2
    assert counts["fact", "joke"] == counts["joke", "fact"] == 1
    assert counts["a", "b"] == 1
    assert counts["joke", "mood=cool"] == 2
    assert found.items == 3


NUMBER = {"Fact": "0", "joke": "1"}


def test_whole_numbers_with_and_without_decimals_are_one_label() -> None:
    made = rows()
    mixed = [
        {name: NUMBER[str(v)] + (".0" if name in ("h1", "c") else "") if v in NUMBER else v for name, v in r.items()}
        for r in made
    ]
    plain, _ = labelled_field(table(made), ASKED)
    found, told = labelled_field(table(mixed), ASKED)
    assert told == ()
    assert found.human.tolist() == plain.human.tolist()
    assert found.plain_scores(found.judges["c"]).tolist() == plain.plain_scores(plain.judges["c"]).tolist()
    share, _ = labelled_field(table(mixed), replace(ASKED, intended="", label="1.0"))
    assert share.score.name == "share"


def test_a_list_of_one_label_is_that_label_and_of_several_is_refused() -> None:
    made = rows()
    ways = [lambda v: [v], lambda v: f'["{v}"]', lambda v: f"['{v}']", lambda v: [v, v], lambda v: v]
    lists = [r | {"h1": ways[k % 5](r["h1"]), "c": ways[(k + 2) % 5](r["c"])} for k, r in enumerate(made)]
    plain, _ = labelled_field(table(made), ASKED)
    found, _ = labelled_field(table(lists), ASKED)
    assert found.human.tolist() == plain.human.tolist()
    assert found.judges["c"].tolist() == plain.judges["c"].tolist()
    lists[4]["h2"] = []
    assert np.isnan(labelled_field(table(lists), ASKED)[0].annotators[1][4])
    lists[7]["c"] = ["Fact", "joke"]
    with pytest.raises(DataError, match=r"row 9, column 'c': a list of 2 labels \('fact', 'joke'\)"):
        labelled_field(table(lists), ASKED)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("c", "column 'c' shares no label with columns h1, h2, h3, intended"),
        ("h2", "column 'h2' shares no label with columns h1, h3, intended"),
        ("intended", "column 'intended' shares no label with columns h1, h2, h3"),
    ],
)
def test_a_column_of_other_labels_is_refused(column: str, said: str) -> None:
    made = [r | {column: f"x {r[column]}"} for r in rows()]
    with pytest.raises(ConfigError, match=f"{said}.*'x fact', 'x joke' here, 'fact', 'joke' there"):
        labelled_field(table(made), ASKED)


def test_a_column_with_many_other_labels_is_told_of_and_with_a_few_is_not() -> None:
    def told(strange: int) -> tuple[str, ...]:
        made = [r | ({"c": "other"} if k < strange else {}) for k, r in enumerate(rows(30))]
        return labelled_field(table(made), ASKED)[1]

    assert told(6) == ()
    assert told(7) == ("'c': 7 of its 30 labels stand nowhere in h1, h2, h3, intended ('other')",)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"human": ("h1",), "judges": ("h1",)}, "column 'h1' stands in --human-labels and in --judge-labels"),
        ({"human": ("h1", "H1")}, "column 'h1' stands in --human-labels twice"),
        ({"intended": "c"}, "column 'c' stands in --judge-labels and in --intended"),
    ],
)
def test_a_column_is_not_compared_with_itself(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        labelled_field(table(rows()), replace(ASKED, **asked))


def test_rows_are_known_by_what_humans_labelled_in_any_order() -> None:
    made = rows()
    known = labels_digest(table(made), ASKED)
    assert labels_digest(table(made[::-1]), ASKED) == known
    assert labels_digest(table([r | {"c": "fact"} for r in made]), ASKED) == known
    unrated = {"intended": "fact", "h1": "", "h2": None, "h3": "", "c": "fact", "model": "P", "prompt": "new"}
    assert labels_digest(table([*made, unrated]), ASKED) == known
    for change in ({"h2": "other"}, {"prompt": "other"}, {"model": "Q"}, {"intended": "other"}):
        assert labels_digest(table([made[0] | change, *made[1:]]), ASKED) != known
