"""May a judge replace a human annotator? The alternative annotator test and the human-likeness z of many judges.

    python experiments/replacement.py [--seeds 0] [--sets cseval,topical-chat,dialsummeval] [--epsilon 0.2]

For every aspect of each set, on the test side of the default split:

- constant: the mean rating of train and dev for every item. What a judge must do better than, to have judged at all;
- criteria: the embedded judge, one fit to train and dev without any search;
- every judge recorded in the data on the aspect's scale, as it is. A score outside the scale is a failure; a judge
  with more than 5 % of them rates on a scale of its own and is left out, as are those known to (OTHER_SCALES);
- mapped: the recorded judge that correlates best with the humans on train and dev, on the straight line (never
  falling) through the mean ratings there;
- criteria + mapped: the plain average of these two;
- panel, mean: the plain average of criteria and of all recorded judges that scored every item of train, dev and test;
- panel, ranks: the mean of the same judges' ranks among their own scores on train and dev, on the straight line
  through the mean ratings there.

Nothing is fitted or chosen on the test side, but for who is a member of the panels (a judge with gaps there is none).
Prints Markdown tables ready for LOG.md, means over the seeds: omega at the epsilon given, with items taken as
independent, by group, and with scores as given instead of at points of the scale; `pass`, in how many seeds omega is
0.5 or more, plainly and by group; omega at 0.1, 0.15 and 0.2; rho, which needs no epsilon, and as given; z with Cohen's
kappa and with quadratic weights (the median over the seeds: z is wild where three pairs agree alike); Pearson's r with
the mean of the annotators. Then the cautions. Needs the data sets in $CALIBRATOR_DATA.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from agreement import ASPECTS, columns
from numpy.typing import NDArray

from calibrator.aspects import Scale
from calibrator.calibration.config import make_config
from calibrator.calibration.method import embedded
from calibrator.calibration.prepare import Prepared, prepare
from calibrator.evaluation.agreement import scores_of
from calibrator.evaluation.replacement import NoReplacement, Replacement, replacement
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.stats.correlation import spearman

Array = NDArray[np.float64]
OFF_SCALE = 0.05
OTHER_SCALES = ("gpt-4o-mini/keyroog-4dims", "gpt-4o-mini/keyroog-overall1-3")  # 1-5 for 1-3 and 0-1; 1-3 for 1-5
COVERED = 0.95  # of train and dev: a judge with fewer scores is none to be called the best
MARGINS = (0.1, 0.15, 0.2)


@dataclass(frozen=True, slots=True)
class Scored:
    """A judge's scores on train and dev, and on the test side; nan for a failure."""

    known: Array
    test: Array

    @property
    def whole(self) -> bool:
        return bool(np.isfinite(self.known).all() and np.isfinite(self.test).all())


@dataclass(frozen=True, slots=True)
class Line:
    """One judge on one split: the answer at the epsilon asked for, and omega at each of `MARGINS`."""

    answer: Replacement
    at: tuple[float, ...]


def recorded(prepared: Prepared, data: str, known: Sequence[Item], data_dir: Path | None) -> dict[str, Scored]:
    """Return the recorded judges that rate on the aspect's scale; what lies outside it is a failure."""
    scale, test = prepared.aspect.scale, prepared.split.test.unseal(1)
    found = {}
    for column in columns(data, prepared.aspect.name, data_dir):
        given = scores_of(column.judge((*known, *test)))
        there = given[np.isfinite(given)]
        outside = np.mean([not scale.holds(s) for s in there]) if len(there) else 1.0
        if outside <= OFF_SCALE and column.id not in OTHER_SCALES:
            kept = np.array([s if scale.holds(s) else np.nan for s in given])
            found[column.id] = Scored(kept[: len(known)], kept[len(known) :])
    return found


def on_line(scores: Scored, human: Array, scale: Scale) -> Scored:
    """Return scores on the straight line, never falling, through the ratings of train and dev."""
    there = np.isfinite(scores.known)
    x, y = scores.known[there], human[there]
    spread = float(x.var())
    slope = max(0.0, float(np.cov(x, y, bias=True)[0, 1] / spread)) if spread > 0 else 0.0
    base = float(y.mean()) - slope * float(x.mean())
    return Scored(*(np.clip(base + slope * s, scale.low, scale.high) for s in (scores.known, scores.test)))


def rank_share(scores: Scored) -> Scored:
    """Return where each score stands among the judge's own of train and dev, 0 to 1, ties half."""
    there = np.sort(scores.known[np.isfinite(scores.known)])
    places = [
        (np.searchsorted(there, s, "left") + np.searchsorted(there, s, "right")) / (2 * len(there))
        for s in (scores.known, scores.test)
    ]
    return Scored(*places)


def mean_of(members: Sequence[Scored]) -> Scored:
    return Scored(np.mean([m.known for m in members], axis=0), np.mean([m.test for m in members], axis=0))


def judges(prepared: Prepared, data: str, data_dir: Path | None) -> dict[str, Array]:
    """Return every judge's scores on the test side by its name."""
    aspect = prepared.aspect
    known = (*prepared.split.train, *prepared.split.dev)
    test = prepared.split.test.unseal(1)
    human = np.array([i.human for i in known], dtype=float)
    method = embedded(aspect, "spearman")
    assert method.fresh is not None
    judge = method.judge(method.fresh(known))
    criteria = Scored(scores_of(judge.judge(known)), scores_of(judge.judge(test)))
    others = recorded(prepared, data, known, data_dir)
    found = {"constant": Scored(human, np.full(len(test), human.mean())), "criteria": criteria, **others}
    covering = {n: s for n, s in others.items() if np.isfinite(s.known).mean() >= COVERED}
    if covering:
        there = {n: np.isfinite(s.known) for n, s in covering.items()}
        best = max(covering, key=lambda n: float(spearman(covering[n].known[there[n]], human[there[n]])))
        found[f"mapped: {best}"] = mapped = on_line(covering[best], human, aspect.scale)
        found["criteria + mapped"] = mean_of([criteria, mapped])
    members = [criteria, *(s for s in others.values() if s.whole)]
    if len(members) > 1:
        found[f"panel of {len(members)}, mean"] = mean_of(members)
        found[f"panel of {len(members)}, ranks"] = on_line(
            mean_of([rank_share(m) for m in members]), human, aspect.scale
        )
    return {name: scores.test for name, scores in found.items()}


def verdicts(scores: Array, items: Sequence[Item]) -> list[Verdict]:
    return [
        Judgment(i.id, float(s), "recorded") if np.isfinite(s) else Failure(i.id, "no score on the scale")
        for i, s in zip(items, scores, strict=True)
    ]


def look(data: str, aspect: str, seed: int, epsilon: float, data_dir: Path | None) -> dict[str, Line] | str:
    """Return each judge's line, or why there is none."""
    prepared = prepare(make_config(data=data, aspect=aspect, seed=seed, data_dir=data_dir))
    test, scale = prepared.split.test.unseal(1), prepared.aspect.scale
    found = {}
    for name, scores in judges(prepared, data, data_dir).items():
        given = verdicts(scores, test)
        answer = replacement(given, test, scale, epsilon, seed=seed)
        if isinstance(answer, NoReplacement):
            if name == "constant":  # which fails on nothing: it is the data
                return answer.reason
            continue
        several = [replacement(given, test, scale, margin, seed=seed) for margin in MARGINS]
        # A panel may have fewer members in another split; the name without its number joins the seeds.
        key = re.sub(r" of \d+|: .*", "", name) if name.startswith(("panel", "mapped")) else name
        found[key] = Line(answer, tuple(a.omega for a in several if isinstance(a, Replacement)))
    return found


def row(task: str, name: str, lines: Sequence[Line]) -> str:
    answers = [line.answer for line in lines]
    as_given = [a.as_given or a.test for a in answers]
    mean = {
        "omega": np.mean([a.omega for a in answers]),
        "grouped": np.mean([a.test.omega_grouped for a in answers]),
        "given": np.mean([t.omega for t in as_given]),
        "rho": np.mean([a.rho for a in answers]),
        "rho_given": np.mean([t.rho for t in as_given]),
    }
    passes = f"{sum(a.passed for a in answers)}, {sum(a.test.passed_grouped for a in answers)} of {len(answers)}"
    margins = " / ".join(f"{v:.2f}" for v in np.mean([line.at for line in lines], axis=0))
    z, weighted, r = (
        np.median([getattr(part, what) for part in parts])
        for parts, what in (
            ([a.likeness for a in answers], "z"),
            ([a.weighted for a in answers], "z"),
            ([a.likeness for a in answers], "r"),
        )
    )
    items, groups, failed = (np.mean([getattr(a, p) for a in answers]) for p in ("items", "groups", "failed"))
    told = [f"{v:+.1f}" if np.isfinite(v) else "–" for v in (z, weighted)]
    return (
        f"| {task} | {name} | {items:.0f} / {groups:.0f} | {failed:.0f} | {mean['omega']:.2f} | {mean['grouped']:.2f} "
        f"| {mean['given']:.2f} | {passes} | {margins} | {mean['rho']:.2f} | {mean['rho_given']:.2f} "
        f"| {told[0]} | {told[1]} | {f'{r:.2f}' if np.isfinite(r) else '–'} |"
    )


def tell(found: Mapping[str, Sequence[dict[str, Line] | str]]) -> None:
    print("| aspect | judge | n / groups | failed | omega | by group | as given | pass | at 0.1 / 0.15 / 0.2 | rho "
          "| as given | z | z quadratic | r |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    cautions: Counter[str] = Counter()
    for task, seeds in found.items():
        told = [s for s in seeds if isinstance(s, str)]
        if told:
            print(f"| {task} | none: {told[0]} |" + " |" * 12)
        there = [s for s in seeds if not isinstance(s, str)]
        for name in dict.fromkeys(n for s in there for n in s):
            lines = [s[name] for s in there if name in s]
            print(row(task, name, lines))
            cautions.update(re.sub(r"\d[\d.,%/]*", "#", c) for line in lines for c in line.answer.cautions)
    print("\nCautions, numbers left out, by how often:\n")
    for caution, count in cautions.most_common():
        print(f"- {count}: {caution}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--sets", default=",".join(ASPECTS))
    parser.add_argument("--epsilon", type=float, default=0.2)
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    began = time.perf_counter()
    seeds = [int(s) for s in arguments.seeds.split(",")]
    tell(
        {
            f"{data}/{aspect}": [look(data, aspect, s, arguments.epsilon, arguments.data_dir) for s in seeds]
            for data in arguments.sets.split(",")
            for aspect in ASPECTS[data]
        }
    )
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
