"""Several judges' rankings beside each other, and which judge to choose (Zheng et al., section 4.3 and Table 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibrator.stats.ranking import weighted_kendall
from calibrator.studies.ranking.agree import SIGNIFICANT, TRUSTED
from calibrator.studies.ranking.field import Array, Field
from calibrator.studies.ranking.sentences import p_in_words

# The paper's reading of a weighted tau, after Wicklin (2023); Landis and Koch (1977) of a kappa.
TAU_CLASSES = ((0.71, "very strong"), (0.49, "strong"), (0.26, "moderate"), (-np.inf, "below moderate"))
KAPPA_CLASSES = ((0.6, "substantial"), (0.4, "moderate"), (0.2, "fair"), (-np.inf, "slight or none"))


@dataclass(frozen=True, slots=True)
class Among:
    """The weighted tau (Vigna 2015) of each two judges' rankings, shape (j, j), on all items that each scored.

    `systems` are those that all judges scored, rated by humans or not.
    """

    judges: tuple[str, ...]
    systems: int
    weighted: Array

    def mean_with_others(self, judge: str) -> float:
        """Return the mean weighted tau of a judge with the others, of those that are defined; nan if none is."""
        k = self.judges.index(judge)
        others = np.delete(self.weighted[k], k)
        return float(np.nanmean(others)) if np.isfinite(others).any() else float("nan")


@dataclass(frozen=True, slots=True)
class Choice:
    """The judge to rank systems with, None where none is to be trusted, and why."""

    judge: str | None
    why: str


def among(field: Field) -> Among:
    """Return the weighted tau between the rankings of all judges; the best system counts most."""
    names = tuple(field.judges)
    scores = np.array([field.sign * field.plain_scores(field.judges[name]) for name in names])
    there = np.isfinite(scores).all(axis=0) if len(scores) else np.zeros(0, dtype=bool)
    found = np.eye(len(names))
    for i in range(len(names)):
        for j in range(i):
            found[i, j] = found[j, i] = weighted_kendall(scores[i, there], scores[j, there])
    return Among(names, int(there.sum()), found)


def choose(found: Among, verdicts: Mapping[str, str], adjusted: Mapping[str, float], first: str) -> Choice:
    """Return the judge to choose: the first where it is trusted, else of those trusted the one closest to the others.

    The first was named beforehand. Any other is found among all that were tried, so its p must be below 0.05 after
    Holm's correction for their number too (`adjusted`). Closeness is the mean weighted tau with all other judges,
    trusted or not, as published.
    """
    tried = f"{len(found.judges)} judges were tried" if len(found.judges) > 1 else "one judge was tried"
    if verdicts[first] == TRUSTED:
        return Choice(first, f"it is the first that was named, and is trusted ({tried})")
    alone = [name for name in found.judges if verdicts[name] == TRUSTED]
    trusted = [name for name in alone if adjusted[name] < SIGNIFICANT]
    if not trusted:
        why = f"of {len(alone)} trusted by themselves none has p below {SIGNIFICANT:g} by Holm" if alone else ""
        return Choice(None, f"{why or 'no judge is trusted to rank these systems'} ({tried})")
    closeness = {name: found.mean_with_others(name) for name in trusted}
    best = max(trusted, key=lambda name: (np.nan_to_num(closeness[name], nan=-2.0), -found.judges.index(name)))
    verdict = "is not trusted" if verdicts[first] != "not defined" else "has no order of its own"
    where = f"{tried}; p by Holm {p_in_words(adjusted[best])}; it was chosen on these very items"
    left = "" if len(trusted) == len(alone) else f" left of {len(alone)} by Holm's correction"
    if len(trusted) == 1:
        return Choice(best, f"{first} {verdict}, and it is the only one that is{left} ({where})")
    mean = f"{closeness[best]:.3f}"
    rule = f"of the {len(trusted)} trusted judges{left} its ranking is closest to the others'"
    alike = [name for name in trusted if name != best and f"{closeness[name]:.3f}" == mean]
    tied = f", as has {', '.join(alike)}: the first named of them" if alike else ""
    return Choice(best, f"{first} {verdict}; {rule} (mean weighted tau {mean}{tied}; {where})")


def class_of(value: float, classes: Sequence[tuple[float, str]]) -> str:
    """Return the word for a figure: the first class whose lower end it reaches; "" where it is not defined."""
    return next((word for least, word in classes if value >= least), "")
