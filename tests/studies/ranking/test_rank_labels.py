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
from calibrator.studies.ranking.labelling import LabelColumns, labelled_field, occurring_together
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
    made = [r | {"h1": k % 3 == 0, "c": "yes" if k % 2 else "no"} for k, r in enumerate(rows())]
    with pytest.raises(ConfigError, match="--label: it is not said"):
        labelled_field(table(made), LabelColumns(("h1", "h2"), ("c",)))
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
