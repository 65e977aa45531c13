"""Aspects against overall on Topical-Chat; see `multi_aspect.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from assessing import Array, shown, suite, table

from calibrator.aspects import Aspect, Scale
from calibrator.calibration.config import make_config
from calibrator.calibration.method import embedded
from calibrator.calibration.prepare import prepare
from calibrator.catalog import SETS, is_there, open_source
from calibrator.evaluation.overall import MEAN, SINGLE, mean_against_overall
from calibrator.evaluation.unified import on_scale
from calibrator.records import Item, Judgment
from calibrator.stats.correlation import spearman

SET, WHOLE = "topical-chat", "overall"
PARTS = ("understandability", "naturalness", "coherence", "engagingness", "groundedness")
FOUR = PARTS[1:]  # what the recorded judges scored
FIT = "fit of aspects"
# Table 2 of the paper, Spearman with its humans' overall score: five aspects, one overall score.
PAPER = {
    "ChatGPT": (0.609, 0.624),
    "Vicuna-33b": (0.771, 0.687),
    "GPT-4": (0.694, 0.721),
    "Prometheus-13b": (0.643, 0.570),
}


@dataclass(frozen=True, slots=True)
class Given:
    """A judge's scores of aspects and of the whole on all items; `target` is what it is compared with.

    `aspects` hold the scales that the scores are on; `single` is on the scale of the overall rating.
    """

    name: str
    aspects: Mapping[str, Aspect]
    scores: Mapping[str, Array]
    single: Array
    target: Array


@dataclass(frozen=True, slots=True)
class Sides:
    """Which items are of train and dev, which of the test side, and the sources of all."""

    known: Array
    test: Array
    groups: Sequence[str]


def fitted(given: Given, sides: Sides, whole: Aspect) -> Array:
    """Return least squares of the target on the aspects' scores, made on train and dev, on the overall scale."""
    columns = np.column_stack([*given.scores.values(), np.ones(len(given.target))])
    use = sides.known.astype(bool) & np.isfinite(columns).all(axis=1) & np.isfinite(given.target)
    weights, *_ = np.linalg.lstsq(columns[use], given.target[use], rcond=None)
    return np.asarray(np.clip(columns @ weights, whole.scale.low, whole.scale.high))


def line(given: Given, sides: Sides, whole: Aspect, resamples: int) -> list[str]:
    test = sides.test.astype(bool)
    groups = [g for g, t in zip(sides.groups, test, strict=True) if t]

    def against(aspects: Mapping[str, Aspect], scores: Mapping[str, Array]) -> list[str]:
        there = {n: s[test] for n, s in scores.items()}
        args = whole, given.single[test], given.target[test], groups, 0, resamples
        found = mean_against_overall(aspects, there, *args)
        figures = {a.judge: a.figures["spearman"].value for a in found.agreements}
        gain = found.gains[SINGLE]["spearman"]
        cells = [f"{figures[MEAN]:.3f}", f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"]
        return [f"{found.items} / {found.groups}", f"{figures[SINGLE]:.3f}", *cells]

    items, single, mean, gain = against(given.aspects, given.scores)
    *_, fit, fit_gain = against({FIT: whole}, {FIT: fitted(given, sides, whole)})
    return [given.name, items, single, mean, gain, fit, fit_gain]


def raters(rows: Sequence[Mapping[str, object]], name: str) -> Array:
    """Return the annotators' ratings of an aspect, shape (items, annotators)."""
    cells = [r[f"annotators.{name}"] for r in rows]
    return np.array([json.loads(c) if isinstance(c, str) else c for c in cells], dtype=float)


def column(rows: Sequence[Mapping[str, object]], name: str) -> Array:
    def number(value: object) -> float:
        try:
            return float(str(value))
        except ValueError:
            return float("nan")

    return np.array([number(r.get(name)) for r in rows])


def criteria(data_dir: Path | None) -> tuple[dict[str, Array], Sides]:
    """Return the embedded judge's scores of the aspects and of the whole, one fit each, and the sides of the split.

    In the order of the file's rows.
    """
    scores: dict[str, Array] = {}
    sides = Sides(np.zeros(0), np.zeros(0), ())
    for name in (*PARTS, WHOLE):
        prepared = prepare(make_config(data=SET, aspect=f"{SET}/{name}", data_dir=data_dir))
        known = (*prepared.split.train, *prepared.split.dev)
        items: Sequence[Item] = sorted(prepared.dataset.items, key=lambda i: i.row or 0)
        test = {i.id for i in prepared.split.test.unseal(1)}
        method = embedded(prepared.aspect, "spearman")
        assert method.fresh is not None
        verdicts = method.judge(method.fresh(known)).judge(items)
        scores[name] = np.array([v.score if isinstance(v, Judgment) else np.nan for v in verdicts])
        mine = {i.id for i in known}
        places = [np.array([float(i.id in side) for i in items]) for side in (mine, test)]
        sides = Sides(places[0], places[1], [i.group for i in items])
    return scores, sides


def judges(data_dir: Path | None) -> tuple[list[Given], Sides, Aspect]:
    rows = open_source(SET, data_dir).table.rows
    aspects = suite(SET, PARTS)
    whole = suite(SET, (WHOLE,))[WHOLE]
    human = column(rows, f"human.{WHOLE}")
    own, sides = criteria(data_dir)
    if len(sides.groups) != len(rows):
        raise SystemExit(
            f"{len(rows) - len(sides.groups)} rows of Topical-Chat are no items; the others cannot be joined"
        )
    found = []
    by_rater = {name: raters(rows, name) for name in (*PARTS, WHOLE)}
    for k in range(by_rater[WHOLE].shape[1]):
        others = np.delete(by_rater[WHOLE], k, axis=1).mean(axis=1)
        parts = {n: by_rater[n][:, k] for n in PARTS}
        found.append(Given(f"annotator {k + 1}, beside the others", aspects, parts, by_rater[WHOLE][:, k], others))
    found.append(Given("criteria", aspects, {n: own[n] for n in PARTS}, own[WHOLE], human))
    # As it was asked: from 1 to 5, but for groundedness, where it often gave 0.
    five = {n: replace(aspects[n], scale=Scale(0 if n == "groundedness" else 1, 5)) for n in FOUR}
    recorded = {n: column(rows, f"recorded.gpt-4o-mini/keyroog-4dims.{n}") for n in FOUR}
    three = replace(whole, scale=Scale(1, 3))
    single = on_scale(column(rows, f"recorded.gpt-4o-mini/keyroog-overall1-3.{WHOLE}"), three, whole.scale)
    found.append(Given("GPT-4o-mini, four aspects", five, recorded, single, human))
    haiku = column(rows, f"recorded.claude-3-haiku/overall1-5.{WHOLE}")
    found.append(Given("GPT-4o-mini's aspects, Claude 3 Haiku's overall", five, recorded, haiku, human))
    return found, sides, whole


def print_topical(resamples: int, data_dir: Path | None) -> None:
    if not is_there(SETS[SET], data_dir):
        print("Topical-Chat is not here; see `calibrate data list`")
        return
    found, sides, whole = judges(data_dir)
    print("Topical-Chat, test side: Spearman with the humans' overall rating; gains over the single overall score")
    head = ["judge", "items / groups", "single overall", "mean of aspects", "gain", FIT, "gain"]
    table(head, [line(given, sides, whole, resamples) for given in found])
    print("\nThe paper's Table 2, on its own 180 pairs and ratings")
    lines = [[n, f"{o:.3f}", f"{a:.3f}", f"{a - o:+.3f}"] for n, (a, o) in PAPER.items()]
    table(["judge", "single overall", "mean of aspects", "gain"], lines)
    first = found[0]
    each = ", ".join(f"{n} {shown(float(spearman(first.scores[n], first.single)))}" for n in PARTS)
    print(f"\nSpearman of each aspect with the overall rating of the same annotator, the first: {each}")
