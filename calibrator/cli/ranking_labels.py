"""What `rank` does with labels in place of scores."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from calibrator import __version__
from calibrator.catalog import Source, open_source
from calibrator.cli.ranking_asked import Asked
from calibrator.report.console import make_console, say
from calibrator.store import Ledger
from calibrator.studies.ranking.field import Field
from calibrator.studies.ranking.labelling import (
    LabelColumns,
    about_labels,
    described,
    labelled_field,
    labels_digest,
    occurring_together,
)
from calibrator.studies.ranking.parts import overall
from calibrator.studies.ranking.result import CoOccurrence, RankResult, RankTable
from calibrator.studies.ranking.study import rated_systems, study
from calibrator.texts import digest, digest_set


def study_labels(asked: Asked, runs: Path, *, quiet: bool) -> tuple[RankResult, tuple[int, ...]]:
    """Return the study of labels, with the look at them; of co-occurrence alone, where only that was asked for."""
    said = asked.said
    source = open_source(said.get("data") or "", said.get("data_dir"), said.get("encoding"))
    together = co_occurring(asked, source)
    tables: tuple[RankTable, ...] = ()
    looks: tuple[int, ...] = ()
    if asked.of_labels:
        named = said.get("columns", {})
        columns = LabelColumns(
            asked.human_labels,
            asked.judge_labels,
            asked.intended,
            asked.label.lower(),
            named.get("system"),
            named.get("source") or named.get("group"),
        )
        field, told = labelled_field(source.table, columns)
        about = replace(
            about_labels(source.table, columns, source.name, told), columns=described(source.table, columns)
        )
        rated_systems(field, about)  # better before the look than after it
        say(make_console(quiet), f"columns   {about.columns}")
        looks = (_look_at_labels(source, columns, field, runs),)
        tables = (study(field, asked.terms(), about),)
    return RankResult(calibrator=__version__, tables=tables, overall=overall(tables), co_occurrence=together), looks


def _look_at_labels(source: Source, columns: LabelColumns, field: Field, runs: Path) -> int:
    """Enter the look at what humans labelled and return its number; the same judges' labels are the same look."""
    seen = labels_digest(source.table, columns)
    given = np.nan_to_num(np.array([field.member, *field.judges.values()]), nan=-1.0).T.tolist()
    judged = digest_set(digest([of, *row]) for of, row in zip(field.sources, given, strict=True))
    Ledger(runs).check()
    return Ledger(runs).look(seen, seen, f"rank-labels-{digest([asdict(columns), seen, judged])[:10]}")


def co_occurring(asked: Asked, source: Source) -> CoOccurrence | None:
    """Return the labels that occur together, None where nobody asked for them."""
    return occurring_together(source.table, asked.co_occurrence) if asked.co_occurrence else None
