"""Does a judge rank systems as humans do, and with how many human labels can that be told?

    python experiments/ranking.py [--parts real,corrected,synthetic,coverage] [--resamples 2000]

real: `calibrate rank` on Topical-Chat (six systems, every recorded judge of each aspect, all items; the criteria judge
on the test side of seeds 0-4) and DialSummEval (fourteen systems, no recorded judge: the criteria judge on the test
sides of seeds 0-4). New systems: tau where every system's texts are scored by a fit without them, the mean over the
splits, and in how many it is trusted. Labels: of each system, the fewest with which four of five verdicts are trust,
for criteria by split; with ‡ more than there are. Needs the data sets in $CALIBRATOR_DATA.

corrected: the systems' order by a judge alone, by few human labels alone, and by both (prediction-powered inference),
against that of all human labels: Kendall's tau, mean of 20 draws of the labels.

synthetic: Zheng et al.'s annotator-specific classifiers and their choice. Their data is not public here, and SYNTHETIC
texts stand in: words from lists, six made-up systems that put marker words in as asked more or less well, five made-up
annotators who weigh the markers differently. Classifiers are TF-IDF with logistic regression, one for all annotators'
labels and one for each annotator's, trained on texts of none of the systems. Nothing here is a result about texts.

coverage: how often the bootstrap's 90 % interval of tau holds the tau of a population of sources that was made up, and
how often a judge is trusted.
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrator.calibration.config import make_config
from calibrator.calibration.method import embedded
from calibrator.calibration.prepare import prepare
from calibrator.calibration.progress import Silent
from calibrator.catalog import open_source
from calibrator.columns import recorded_names
from calibrator.comparison.making import Made
from calibrator.evaluation.agreement import scores_of
from calibrator.evaluation.raters import most_items, ratings_by
from calibrator.judges.base import Judge
from calibrator.records import Item, Rubric
from calibrator.stats.orders import kendall_test, tau_draws
from calibrator.stats.resampling import percentile_interval
from calibrator.stats.systems import mean_score, resample_weights, system_scores
from calibrator.studies.ranking.agree import (
    LEVEL,
    SIGNIFICANT,
    annotators_agreement,
    rank_agreement,
    verdict_of,
)
from calibrator.studies.ranking.field import Field, members
from calibrator.studies.ranking.labelling import LabelColumns, about_labels, labelled_field
from calibrator.studies.ranking.new_systems import Afresh, afresh
from calibrator.studies.ranking.powered import BOTH, JUDGE_ONLY, LABELS_ONLY, labelled_rows, powered_scores
from calibrator.studies.ranking.sizes import PUBLISHED, fewest, needed, size_lines, sizes_tried
from calibrator.studies.ranking.study import Terms, study
from calibrator.tables import read_table

Array = NDArray[np.float64]
SETS = {
    "topical-chat": ("overall", "engagingness", "naturalness", "coherence", "groundedness"),
    "dialsummeval": ("relevance", "coherence", "consistency", "fluency"),
}
SEEDS = range(5)
DRAWS = 20
PARTS = ("real", "corrected", "synthetic", "coverage")


def field_of(items: Sequence[Item], judges: dict[str, Array]) -> Field:
    """Return the field of rated items and what judges gave them; a system's score is its mean."""
    systems, member = members([i.system or "" for i in items])
    people = ratings_by(items, most_items(items), 0)
    annotators = np.full((0 if people is None else len(people.columns), len(items)), np.nan)
    if people is not None:
        annotators[:, people.places] = people.values.T
    human = np.array([i.human for i in items], dtype=float)
    return Field(systems, member, tuple(i.group for i in items), human, judges, mean_score(), annotators)


def recorded_field(name: str, aspect: str) -> Field:
    """Return a set's items with every recorded judge of an aspect."""
    names = recorded_names(open_source(name).table, aspect)
    prepared = prepare(make_config(aspect=aspect, data=name, columns={"recorded": names}))
    items = prepared.dataset.items
    scores = {n: np.array([np.nan if (s := i.recorded[n]) is None else s for i in items]) for n in names}
    return field_of(items, scores)


def criteria_field(name: str, aspect: str, seed: int) -> Field:
    """Return a test side with what the criteria judge, fitted to train and dev, gives it."""
    return criteria_fields(name, aspect, seed, new=False)[0]


def criteria_fields(name: str, aspect: str, seed: int, *, new: bool = True) -> tuple[Field, Afresh]:
    """Return the same, and what fits to the other systems give each system's texts."""
    prepared = prepare(make_config(aspect=aspect, data=name, seed=seed))
    method, split = embedded(prepared.aspect, "spearman"), prepared.split
    known, test = split.train + split.dev, split.test.unseal(1)

    def fit(items: Sequence[Item]) -> Judge:
        assert method.fresh is not None
        return method.judge(method.fresh(items))

    judge = fit(known)
    made = Made("criteria", "criteria", judge, "criteria", Rubric(prepared.aspect.ref, ()), fit=fit)
    left_out = afresh([made], known, test, Silent()) if new else Afresh()
    return field_of(test, {"criteria": scores_of(judge.judge(test))}), left_out


def real(resamples: int) -> Iterator[str]:
    people = "one annotator and the others"
    yield f"| data, aspect | judge | systems, items | tau [90 %] | p | trusted | new systems | labels | {people} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, aspects in SETS.items():
        for aspect in aspects:
            if name == "topical-chat":
                field = recorded_field(name, aspect)
                for judge in field.judges:
                    yield _line(f"{name} {aspect}", judge, field, resamples)
            yield _over_seeds(f"{name} {aspect}", [criteria_fields(name, aspect, s) for s in SEEDS], resamples)


def _line(what: str, judge: str, field: Field, resamples: int) -> str:
    found = rank_agreement(field, judge, resamples, 0)
    tau = found.tau
    figures = f"{tau.value:.2f} [{tau.low:.2f}, {tau.high:.2f}] | {found.p:.3f} | {verdict_of(found, 0.0)}"
    more = f"{_needed(field, judge)} | {annotators_agreement(field):.2f}"
    return f"| {what} | {judge} | {found.systems}, {found.items} | {figures} | | {more} |"


def _needed(field: Field, judge: str) -> str:
    """Return the fewest labels with which four of five verdicts are trust, marked where the data has fewer."""
    there = fewest(field, field.rows_of(field.judges[judge])).labels
    enough = needed(size_lines(field, judge, sizes_tried(there, PUBLISHED), 1000, 0))
    return "–" if enough is None else f"{enough.size}{' ‡' if enough.extrapolated else ''}"


def _over_seeds(what: str, drawn: Sequence[tuple[Field, Afresh]], resamples: int) -> str:
    fields = [field for field, _ in drawn]
    anew = [new for field, left_out in drawn if (new := left_out.of(field, "criteria", resamples, 0, 0.0)) is not None]
    taus = [new.found.tau.value for new in anew if new.found is not None]
    new_systems = f"{float(np.mean(taus)):.2f}, in {sum(new.trusted for new in anew)} of {len(anew)}"
    found = [rank_agreement(field, "criteria", resamples, 0) for field in fields]
    tau, low, high = (float(np.mean([getattr(f.tau, end) for f in found])) for end in ("value", "low", "high"))
    trusted = sum(verdict_of(f, 0.0) == "trusted" for f in found)
    highest = max(f.p for f in found)
    people = float(np.mean([annotators_agreement(field) for field in fields]))
    figures = f"{tau:.2f} [{low:.2f}, {high:.2f}] | at most {max(highest, 0.001):.3f} | in {trusted} of {len(found)}"
    items = round(float(np.mean([f.items for f in found])))
    more = f"{new_systems} | {', '.join(_needed(field, 'criteria') for field in fields)} | {people:.2f}"
    return f"| {what} | criteria, test sides | {found[0].systems}, {items} | {figures} | {more} |"


def corrected() -> Iterator[str]:
    yield "| data, aspect | judge | labels of each system | judge only | labels only | both | labels worth |"
    yield "|---|---|---|---|---|---|---|"
    fields = [("topical-chat overall", recorded_field("topical-chat", "overall"))]
    fields.append(("topical-chat engagingness", recorded_field("topical-chat", "engagingness")))
    fields += [(f"dialsummeval {a}", criteria_field("dialsummeval", a, 0)) for a in SETS["dialsummeval"]]
    for what, field in fields:
        for judge in field.judges:
            for count in (10, 20):
                draws = [powered_scores(field, judge, labelled_rows(field, judge, count, s)) for s in range(DRAWS)]
                parts = [d for d in draws if d is not None]
                taus = (float(np.mean([d.taus[way] for d in parts])) for way in (JUDGE_ONLY, LABELS_ONLY, BOTH))
                worth = float(np.mean([s.powered.effective for d in parts for s in d.systems]))
                yield f"| {what} | {judge} | {count} | {' | '.join(f'{t:.2f}' for t in taus)} | {worth:.1f} |"


# Synthetic annotators. Mild words that mean nothing together; markers are what an annotator counts.
PLAIN = "river garden window market street teacher music paper bridge winter coffee letter summer doctor".split()
MARKERS = {
    "thanks": "thanks grateful kindly glad welcome pleased".split(),
    "care": "care gentle patient listen support understand".split(),
    "loud": "really truly surely always very indeed".split(),  # looks like the attribute, and is not meant by it
}
GROUPS = tuple(MARKERS)
YES, NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class Annotator:
    """How much each group of markers counts, how much is enough, and how often the answer is by chance."""

    name: str
    weights: tuple[float, float, float]
    enough: float
    slips: float


@dataclass(frozen=True, slots=True)
class System:
    """Markers of each group in a text, on average, where the attribute was asked for, and where it was not."""

    name: str
    asked: tuple[float, float, float]
    unasked: tuple[float, float, float]


ANNOTATORS = (
    Annotator("A1", (1.0, 1.0, 0.0), 2.0, 0.05),
    Annotator("A2", (1.0, 0.4, 0.0), 2.0, 0.15),
    Annotator("A3", (0.3, 1.0, 0.3), 2.0, 0.10),
    Annotator("A4", (0.6, 0.6, 1.2), 3.0, 0.10),  # takes loud texts for what is meant
    Annotator("A5", (0.2, 0.2, 1.5), 3.0, 0.25),
)
EXPERTS = (Annotator("E1", (1.0, 1.0, 0.0), 2.0, 0.03), Annotator("E2", (1.0, 0.9, 0.1), 2.0, 0.05))
SYSTEMS = (
    System("S1", (2.4, 2.2, 0.4), (0.1, 0.1, 0.4)),
    System("S2", (2.0, 1.9, 0.8), (0.2, 0.2, 0.6)),
    System("S3", (1.6, 1.5, 1.2), (0.3, 0.3, 0.8)),
    System("S4", (1.2, 1.2, 2.4), (0.4, 0.4, 0.4)),
    System("S5", (0.9, 0.8, 2.8), (0.5, 0.5, 0.6)),
    System("S6", (0.6, 0.5, 3.2), (0.6, 0.6, 0.6)),
)
TRAINING = System("people", (1.3, 1.2, 1.6), (0.4, 0.4, 0.8))


def written(system: System, asked: bool, draw: random.Random) -> str:
    """Return a text of a system: plain words, and markers as often as it puts them in."""
    words = draw.choices(PLAIN, k=8)
    for group, rate in zip(GROUPS, system.asked if asked else system.unasked, strict=True):
        words += draw.choices(MARKERS[group], k=sum(draw.random() < rate / 4 for _ in range(4)))
    draw.shuffle(words)
    return " ".join(words)


def labelled(text: str, who: Annotator, draw: random.Random) -> str:
    """Return what an annotator says of a text."""
    if draw.random() < who.slips:
        return draw.choice((YES, NO))
    words = text.split()
    counts = [sum(w in MARKERS[group] for w in words) for group in GROUPS]
    return YES if float(np.dot(counts, who.weights)) >= who.enough else NO


def classifiers(draw: random.Random) -> dict[str, object]:
    """Return a classifier of all annotators' labels and one of each annotator's, of texts of none of the systems."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts = [written(TRAINING, k % 2 == 0, draw) for k in range(1500)]
    own = {a.name: [labelled(t, a, draw) for t in texts] for a in ANNOTATORS}
    of_whom = [ANNOTATORS[k % len(ANNOTATORS)].name for k in range(len(texts))]
    labels = {"C_All": [own[name][k] for k, name in enumerate(of_whom)]}
    for a in ANNOTATORS:
        labels[f"C_{a.name}"] = [own[a.name][k] if name == a.name else "" for k, name in enumerate(of_whom)]
    made = {}
    for name, given in labels.items():
        kept = [(t, g) for t, g in zip(texts, given, strict=True) if g]
        model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10.0, max_iter=1000))
        made[name] = model.fit([t for t, _ in kept], [g for _, g in kept])
    return made


def synthetic(resamples: int, seed: int = 0) -> Iterator[str]:
    draw = random.Random(seed)
    made = classifiers(draw)
    rows: list[dict[str, str]] = []
    for system in SYSTEMS:
        texts = [written(system, k % 2 == 0, draw) for k in range(1000)]
        given = {name: model.predict(texts) for name, model in made.items()}  # type: ignore[attr-defined]
        for k, text in enumerate(texts):
            # A hundred texts of each system were read by the experts, as published.
            people = {e.name: labelled(text, e, draw) if k < 100 else "" for e in EXPERTS}
            row = {"source": f"source {k}", "system": system.name, "intended": YES if k % 2 == 0 else NO, **people}
            rows.append(row | {name: str(labels[k]) for name, labels in given.items()})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "synthetic.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        table = read_table(path)
    columns = LabelColumns(tuple(e.name for e in EXPERTS), tuple(made), "intended")
    field, told = labelled_field(table, columns)
    found = study(field, replace(Terms(), resamples=resamples), about_labels(table, columns, "SYNTHETIC", told))
    yield "SYNTHETIC annotators, systems and texts (macro-F1 against the intended label):"
    yield ""
    yield "| classifier | tau [90 %] | p | verdict | labels | mean weighted tau with the others |"
    yield "|---|---|---|---|---|---|"
    for judge in found.judges:
        tau = judge.tau
        figures = f"{tau.value:.2f} [{tau.low:.2f}, {tau.high:.2f}] | {judge.p:.3f} | {judge.verdict}"
        yield f"| {judge.name} | {figures} | {judge.needed or '–'} | {judge.with_others:.3f} |"
    yield ""
    yield f"To choose: {found.choice.judge}; {found.choice.why}."
    assert found.kappas is not None
    yield f"The two experts: Cohen's kappa {found.kappas.pairs[0][1]:.2f}."


def coverage(resamples: int = 500, worlds: int = 400) -> Iterator[str]:
    yield "| systems | sources | gap of neighbours | tau of the population | holds it | low end above 0 | trusted |"
    yield "|---|---|---|---|---|---|---|"
    rng = np.random.default_rng(0)
    for systems, swaps in ((6, ()), (6, ((0, 1), (3, 4))), (6, ((0, 4),)), (14, ((0, 2), (5, 8)))):
        for sources, gap in ((25, 0.2), (60, 0.2), (60, 0.5), (100, 0.2)):
            human: Array = np.arange(systems, dtype=float) * gap
            judge = human.copy()
            for a, b in swaps:
                judge[[a, b]] = judge[[b, a]]
            truth = kendall_test(judge, human)[0]
            held = low = trusted = 0
            for _ in range(worlds):
                interval, p = _world(judge, human, sources, resamples, rng)
                held += interval[0] - 1e-9 <= truth <= interval[1] + 1e-9
                low += interval[0] > 0
                trusted += interval[0] > 0 and p < SIGNIFICANT
            shares = " | ".join(f"{100 * n / worlds:.0f} %" for n in (held, low, trusted))
            yield f"| {systems} | {sources} | {gap:g} sd | {truth:.2f} | {shares} |"


def _world(
    judge: Array, human: Array, sources: int, resamples: int, rng: np.random.Generator
) -> tuple[tuple[float, float], float]:
    """Return the interval and the p of one sample of sources: each easy or hard for all, and noise on every item."""
    systems = len(human)
    member = np.tile(np.arange(systems), sources)
    names = [f"{k:03d}" for k in np.repeat(np.arange(sources), systems)]
    shared = np.repeat(rng.normal(size=sources), systems) * 0.5
    quality = rng.normal(size=len(member))
    rated = human[member] + shared + quality
    judged = judge[member] + shared + 0.5 * quality + 0.87 * rng.normal(size=len(member))
    weights = np.vstack([np.ones((1, len(member))), resample_weights(member, names, resamples, rng)])
    scores = [system_scores(mean_score(), values, member, systems, weights) for values in (judged, rated)]
    tau, p = kendall_test(scores[0][0], scores[1][0])
    found = percentile_interval(tau, tau_draws(scores[0][1:], scores[1][1:]), LEVEL)
    return (found.low, found.high), p


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--resamples", type=int, default=2000)
    asked = parser.parse_args()
    ways: dict[str, Callable[[], Iterator[str]]] = {
        "real": lambda: real(asked.resamples),
        "corrected": corrected,
        "synthetic": lambda: synthetic(asked.resamples),
        "coverage": coverage,
    }
    for part in asked.parts.split(","):
        print(f"\n## {part}\n")
        for line in ways[part]():
            print(line, flush=True)


if __name__ == "__main__":
    main()
