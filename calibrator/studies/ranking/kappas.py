"""How far the annotators agree, and a judge with each of them: kappas of pairs, Fleiss's, Krippendorff's alpha."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrator.stats.agreement import krippendorff_alpha
from calibrator.stats.labels import fleiss_of, kappa_matrix
from calibrator.studies.ranking.field import Array, Field

MOST = 12  # raters whose pairs are listed: more are a crowd, of whom only the common figures are given
Kind = Literal["labels", "scores"]


@dataclass(frozen=True, slots=True)
class Kappas:
    """Agreement of raters: `pairs` (r, r) between those in `names`, annotators first and the judges behind.

    For labels `pairs` are Cohen's kappa, `fleiss` that of all annotators on the `whole` items that all labelled, and
    `alpha` Krippendorff's at level "nominal"; for scores kappa with quadratic weights, no Fleiss, and alpha at level
    "interval". `cut` says that there were more annotators than are listed.
    """

    kind: Kind
    names: tuple[str, ...]
    pairs: Array
    fleiss: float
    whole: int
    alpha: float
    cut: bool = False


def kappas(field: Field, kind: Kind, judges: tuple[str, ...]) -> Kappas | None:
    """Return the agreement among annotators, and of `judges` with them; None with fewer than two annotators."""
    people = field.annotators
    if len(people) < 2 or (np.isfinite(people).sum(axis=0) > 1).sum() == 0:
        return None
    cut = len(people) > MOST
    listed = [] if cut else list(people)
    names = (*(() if cut else field.raters), *judges)
    rows = [*listed, *(field.judges[name] for name in judges)]
    pairs = kappa_matrix(np.array(rows), None if kind == "labels" else "quadratic") if not cut else np.zeros((0, 0))
    fleiss, whole = fleiss_of(people) if kind == "labels" else (float("nan"), 0)
    alpha = krippendorff_alpha(people, "nominal" if kind == "labels" else "interval")
    return Kappas(kind, () if cut else names, pairs, fleiss, whole, alpha, cut)
