"""Our neural metrics beside the `metric/` columns that stand recorded with CSEval (Hengle et al. 2025).

    python experiments/metrics_neural.py [--encoder roberta-large] [--download]

On the rows of `cseval/recorded_judges.csv` that have the columns: rank agreement and means of each metric that can be
had here with the recorded one. The record was made with roberta-large; another encoder shows no more than that the
columns say what their names say. What cannot be had is told with the command that provides it. Needs the data sets in
$CALIBRATOR_DATA.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from cseval_parts import table

from calibrator.audit.subject import numbers_of
from calibrator.catalog import data_folder
from calibrator.columns import Wanted, map_columns
from calibrator.dataset import plain_items
from calibrator.errors import CalibratorError
from calibrator.metrics.base import Settings, Unscored
from calibrator.metrics.measure import make_ready, measured
from calibrator.metrics.named import parse_metric
from calibrator.stats.correlation import spearman
from calibrator.tables import read_table

ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
LAYER = "#6"  # its last one; none is published for BERTScore
COLUMNS = (  # our metric, whether it takes the encoder, and what is recorded
    ("bertscore", True, "bert_score_(pred_cs, cs)"),
    ("bertscore-source", True, "bert_score_(hs, pred_cs)"),
    ("moverscore", True, "bert_score_(pred_cs, cs)"),
    ("moverscore-even", True, "bert_score_(pred_cs, cs)"),
    ("toxicity", False, "toxicity_(pred_cs)"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--encoder", default=ENCODER)
    parser.add_argument("--download", action="store_true")
    arguments = parser.parse_args()
    read = read_table(data_folder(arguments.data_dir) / "cseval" / "recorded_judges.csv")
    numbers = numbers_of(read)
    rows = np.flatnonzero(np.isfinite(numbers[f"metric/{COLUMNS[0][2]}"]))
    items = plain_items(read, map_columns(read, Wanted(), None))
    chosen = [replace(items[k], recorded={}) for k in rows.tolist()]
    lines = []
    for name, encodes, column in COLUMNS:
        layer = LAYER if arguments.encoder == ENCODER and name.startswith("bertscore") else ""
        asked = parse_metric(f"{name}@{arguments.encoder}{layer}" if encodes else name)
        try:
            ready = make_ready([asked], Settings(download=arguments.download, tell=print))
        except CalibratorError as error:
            print(f"without {asked}: {error}")
            continue
        (values,) = measured(ready, chosen, lambda *_: None).items.values()
        ours = np.array([np.nan if isinstance(v, Unscored) else v for v in values])
        there = numbers[f"metric/{column}"][rows]
        both = np.isfinite(ours)
        rho = float(spearman(ours[both], there[both]))
        means = f"{ours[both].mean():.3f} / {there[both].mean():.3f}"
        lines.append([str(asked), f"`{column}`", str(int(both.sum())), f"{rho:.3f}", means])
    table(["metric", "recorded", "rows", "rho", "means, ours / recorded"], lines)


if __name__ == "__main__":
    main()
