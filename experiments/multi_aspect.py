"""Five aspects or one overall score? After Jones et al. (2024), and what of their tables the data at hand can speak to.

    python experiments/multi_aspect.py [--resamples 2000]
    python experiments/multi_aspect.py --model local/smollm2 --limit 4 [--rubrics own|model|none] [--out feedback.csv]

1. Aspects against overall on Topical-Chat, whose items have human ratings of five aspects and of the whole: how well a
   rater's overall is met by the mean of that rater's own aspects, by another rater, by the embedded judge and by a
   recorded one; the mean of the aspects, a fit of them (made on train and dev), and a single overall score, on the test
   side of the default split, paired. Beside it the gain of the aspects in the paper's Table 2.
2. The 180 pairs of LLM-CN-Eval: what the example ratings are. The published file has one number for each generator.
3. Without a model, the frozen CSEval judges on these pairs, by generator, beside the paper's Table A.1. With --model,
   the model's five aspects and its overall score, by generator, beside the paper's Table I.1 (--rubrics model lets the
   model describe the points of each scale first; --out keeps every score with its feedback); --limit is the number of
   hateful messages, three pairs each.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from assessing import (
    GENERATORS,
    Array,
    assessed,
    failures,
    rows_of,
    scores_of,
    shown,
    suite,
    table,
    with_rubrics,
    write_feedback,
)
from multi_aspect_topical import print_topical
from scipy import stats

from calibrator.evaluation.unified import unified
from calibrator.judges.build import load_judge
from calibrator.models.build import Access, Connections
from calibrator.models.replies import cache_folder
from calibrator.records import Item, Judgment
from calibrator.texts import normalise

FIVE = ("opposition", "relatedness", "specificity", "toxicity", "fluency")
OVERALL = "overall"
CSEVAL = ("relevance", "coherence", "aggressiveness", "suitableness")
# Table I.1 of the paper: mean scores by generator of its humans (Table A.1) and of its evaluators, the aspects in the
# order of FIVE, then the overall score.
TABLE_I1 = {
    "DialoGPT": {
        "humans": (2.76, 3.22, 1.88, 3.58, 3.81, 2.04),
        "GPT-4": (2.35, 2.88, 1.68, 4.33, 2.88, 1.82),
        "Vicuna": (2.40, 2.47, 1.58, 3.48, 3.15, 1.42),
    },
    "ChatGPT": {
        "humans": (4.78, 4.71, 4.18, 4.64, 4.77, 4.36),
        "GPT-4": (4.95, 4.95, 3.70, 5.00, 5.00, 4.85),
        "Vicuna": (5.00, 4.78, 3.95, 5.00, 5.00, 4.63),
    },
    "Vicuna": {
        "humans": (4.44, 4.54, 3.98, 4.86, 4.34, 4.02),
        "GPT-4": (3.90, 4.03, 3.13, 4.05, 3.72, 3.55),
        "Vicuna": (4.95, 4.48, 3.32, 4.72, 4.60, 3.92),
    },
}


def example_pairs(data_dir: Path | None) -> tuple[list[Item], list[float], list[float]]:
    """Return the 180 pairs with their systems, and the two example ratings of each.

    The file names no generator; it is found by the text in `candidates.csv`, and for the few that differ there by the
    place among the three pairs of a message.
    """
    known = {
        (normalise(row["HATE_SPEECH"]), normalise(row[column])): name
        for row in rows_of("candidates.csv", data_dir)
        for column, name in GENERATORS.items()
    }
    rows = rows_of("amt_scores_example.csv", data_dir)
    found = [known.get((normalise(r["hate_speech"]), normalise(r["counter_narrative"]))) for r in rows]
    by_place = [max(GENERATORS.values(), key=found[k::3].count) for k in range(3)]
    items = [
        Item(
            id=str(k),
            output=r["counter_narrative"],
            source=r["hate_speech"],
            group=normalise(r["hate_speech"]),
            system=found[k] or by_place[k % 3],
        )
        for k, r in enumerate(rows)
    ]
    return items, [float(r["amt_avg"]) for r in rows], [float(r["amt_ovr"]) for r in rows]


def print_example(items: Sequence[Item], average: Sequence[float], overall: Sequence[float]) -> None:
    lines = []
    for name in GENERATORS.values():
        mine = [k for k, i in enumerate(items) if i.system == name]
        values = [", ".join(sorted({f"{x[k]:g}" for k in mine})) for x in (average, overall)]
        human = TABLE_I1[name]["humans"]
        lines.append([name, str(len(mine)), *values, f"{np.mean(human[:5]):.2f}", f"{human[5]:.2f}"])
    table(["generator", "pairs", "amt_avg in the file", "amt_ovr in the file", "paper, mean", "paper, overall"], lines)
    print(
        "\nEvery pair of a generator has the same number: these are placeholders and no ratings of texts. What\n"
        "correlates with them knows who wrote a text; the paper's Tables 2 and G.1-G.4 cannot be had from this file."
    )


def by_generator(items: Sequence[Item], scores: Mapping[str, Array], names: Sequence[str]) -> dict[str, list[float]]:
    """Return the mean scores of each generator, in the order of `names`."""
    found = {}
    for system in GENERATORS.values():
        mine = np.array([i.system == system for i in items])
        given = [scores[n][mine] for n in names]
        found[system] = [float(x[np.isfinite(x)].mean()) if np.isfinite(x).any() else float("nan") for x in given]
    return found


def embedded(items: Sequence[Item]) -> None:
    """Print what the frozen CSEval judges say of the pairs."""
    scores, aspects = {}, {}
    for name in CSEVAL:
        judge = load_judge(f"cseval/{name}")
        aspects[name] = judge.aspect
        verdicts = judge.judge(items)
        scores[name] = np.array([v.score if isinstance(v, Judgment) else np.nan for v in verdicts])
    scores["unified"] = unified(scores, aspects)
    means = by_generator(items, scores, [*CSEVAL, "unified"])
    lines = [
        [s, *(shown(v) for v in means[s]), *(f"{TABLE_I1[s]['humans'][k]:.2f}" for k in (1, 3, 5))]
        for s in GENERATORS.values()
    ]
    table(["generator", *CSEVAL, "unified", "paper: relatedness", "non-toxicity", "overall"], lines)
    print(
        "\nOther aspects than the paper's, fitted to other texts: what can be compared is the order of the generators."
    )


def with_model(model: str, items: Sequence[Item], rubrics: str, out: Path | None) -> None:
    """Print what a model says of the pairs, aspect by aspect and overall."""
    with Connections(Access(cache=cache_folder())) as connections:
        client = connections.client(model)
        aspects = with_rubrics(client, suite("multi-aspect", (*FIVE, OVERALL)), rubrics)
        given = assessed(client, aspects, items)
    if out is not None:
        write_feedback(out, items, given)
    scores = scores_of(given)
    print(f"\n{model}, {len(items)} pairs: {failures(given)}")
    means = by_generator(items, scores, (*FIVE, OVERALL))
    lines = []
    for system in GENERATORS.values():
        lines.append([system, model, *(shown(v) for v in means[system])])
        lines += [["", f"paper: {who}", *(f"{v:.2f}" for v in row)] for who, row in TABLE_I1[system].items()]
    table(["generator", "evaluator", *FIVE, OVERALL], lines)
    mean = unified({n: scores[n] for n in FIVE}, {n: aspects[n] for n in FIVE}, aspects[OVERALL].scale)
    both = np.isfinite(mean) & np.isfinite(scores[OVERALL])
    spread = both.sum() > 2 and len(set(mean[both])) > 1 and len(set(scores[OVERALL][both])) > 1
    rho = float(stats.spearmanr(mean[both], scores[OVERALL][both]).statistic) if spread else float("nan")
    print(f"\nSpearman of the mean of its aspects with its overall score: {shown(rho)} over {both.sum()} pairs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--limit", type=int, help="hateful messages, three pairs each")
    parser.add_argument("--rubrics", choices=("own", "model", "none"), default="own")
    parser.add_argument("--out", type=Path, help="a CSV file for scores and feedback")
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    items, average, overall = example_pairs(arguments.data_dir)
    if arguments.model is None:
        print_topical(arguments.resamples, arguments.data_dir)
        print("\nLLM-CN-Eval, the example file")
        print_example(items, average, overall)
        embedded(items)
        return
    chosen = list(dict.fromkeys(i.group for i in items))[: arguments.limit]
    with_model(arguments.model, [i for i in items if i.group in set(chosen)], arguments.rubrics, arguments.out)


if __name__ == "__main__":
    main()
