"""The default classifier: TF-IDF and a logistic regression for each label, by scikit-learn.

What is left open (which terms, how strongly it is regularised, from which probability on a label is given) is chosen
by cross-validation within the training side: folds share no group and are stratified over the labels (`folds`). Each
text is classified by a fit that has not seen its group, and the choice is the one that does best on these.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from calibrator.errors import DataError
from calibrator.hub import required
from calibrator.stats.multilabel import MEASURES, Measure, f1
from calibrator.studies.types.base import Array, Example, indicators
from calibrator.studies.types.data import true_labels
from calibrator.studies.types.features import KINDS, Kind, listed
from calibrator.studies.types.folds import EXTRA, Places, folds
from calibrator.studies.types.linear import DIGITS, METHOD, LinearClassifier, decide
from calibrator.studies.types.scheme import Scheme
from calibrator.texts import unusable

OBJECTIVES = ("f1", "accuracy", "macro_f1")
STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0)  # scikit-learn's C: the inverse of the regularisation
FOLDS = 5
BARS = np.round(np.arange(0.1, 0.91, 0.05), 2)
SWEEPS = 2
RAREST = 2  # texts that a term must stand in
ITERATIONS = 1000
WANTS = "the classifier tfidf"


@dataclass(frozen=True, slots=True)
class TfidfLearner:
    """Fits the default classifier; the same `seed` and texts give the same one.

    What is chosen is what has the best figure in cross-validation: `objective`, one of `OBJECTIVES`. For accuracy it
    may pay to name one label and stop, as an unsure second costs more than it brings; F1 asks for as many as there are.
    """

    kinds: tuple[Kind, ...] = KINDS
    strengths: tuple[float, ...] = STRENGTHS
    count: int = FOLDS
    seed: int = 0
    objective: str = OBJECTIVES[0]

    def fit(self, train: Sequence[Example], scheme: Scheme) -> LinearClassifier:
        """Return a classifier. Raises DataError if there is too little to learn from."""
        texts = [e for e in train if not unusable(e.text)]
        truth = indicators(true_labels(texts), scheme.names)
        if not truth.any():
            raise DataError("no text to learn from bears a label of the scheme")
        measure = MEASURES[self.objective]
        parts = folds(texts, scheme.names, self.count, self.seed)
        said = [e.text for e in texts]
        tried = {}
        for kind in self.kinds:
            for strength, guesses in self._out_of_fold(said, truth, parts, kind).items():
                bars, value = choose_bars(truth, guesses, measure, always_one=not scheme.empty)
                tried[kind, strength] = (value, bars)
        (kind, strength), (value, bars) = max(tried.items(), key=lambda pair: pair[1][0])
        fitted = _Fit.of(said, truth, kind, self.seed)
        weights, intercepts, unfinished = fitted.weights(strength)
        notes = {
            "train": len(texts),
            "terms": kind,
            "C": strength,
            "folds": len(parts),
            "chosen for": self.objective,
            "which in cross-validation is": round(value, 4),
            "labels whose fit did not converge": unfinished,
        }
        return LinearClassifier(
            scheme,
            kind,
            fitted.vocabulary,
            fitted.idf.round(DIGITS),
            weights.round(DIGITS),
            intercepts.round(DIGITS),
            bars,
            notes,
        )

    def _out_of_fold(
        self, texts: Sequence[str], truth: Array, parts: Sequence[tuple[Places, Places]], kind: Kind
    ) -> dict[float, Array]:
        """Return by strength the probabilities (n, L) that each text gets from a fit without its group."""
        found = {strength: np.zeros_like(truth) for strength in self.strengths}
        for learnt, held in parts:
            fit = _Fit.of([texts[k] for k in learnt], truth[learnt], kind, self.seed)
            matrix = fit.vectoriser.transform([texts[k] for k in held])
            for strength in self.strengths:
                weights, intercepts, _ = fit.weights(strength)
                found[strength][held] = 1 / (1 + np.exp(-(matrix @ weights.T + intercepts)))
        return found


def choose_bars(truth: Array, probabilities: Array, measure: Measure = f1, *, always_one: bool) -> tuple[Array, float]:
    """Return thresholds (L,) and the figure they give: the best common one, then label by label while that helps.

    `truth` and `probabilities` are (n, L). Greedy, so not the best there are; the grid is that of `BARS`.
    """

    def value(bars: Array) -> float:
        return float(measure(truth, decide(probabilities, bars, always_one=always_one), None))

    common = [np.full(truth.shape[1], bar) for bar in BARS]
    best = max(common, key=value)
    top = value(best)
    for _, label in product(range(SWEEPS), range(truth.shape[1])):
        for bar in BARS:
            bars = best.copy()
            bars[label] = bar
            if (reached := value(bars)) > top:
                best, top = bars, reached
    return best, top


@dataclass(frozen=True, slots=True)
class _Fit:
    """A vectoriser fitted to texts, their matrix and their labels."""

    vectoriser: Any
    matrix: Any
    truth: Array
    seed: int

    @classmethod
    def of(cls, texts: Sequence[str], truth: Array, kind: Kind, seed: int) -> _Fit:
        text: Any = required("sklearn.feature_extraction.text", EXTRA, WANTS)
        rarest = RAREST if len(texts) > 2 * RAREST else 1
        vectoriser = text.TfidfVectorizer(analyzer=lambda said: listed(said, kind), min_df=rarest, sublinear_tf=True)
        try:
            matrix = vectoriser.fit_transform(texts)
        except ValueError:  # of scikit-learn, for a vocabulary that is empty
            raise DataError("the texts to learn from have no term in common") from None
        return cls(vectoriser, matrix, truth, seed)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return tuple(self.vectoriser.get_feature_names_out().tolist())

    @property
    def idf(self) -> Array:
        return np.asarray(self.vectoriser.idf_)

    def weights(self, strength: float) -> tuple[Array, Array, list[int]]:
        """Return weights (L, t), intercepts (L,) and the labels whose fit came to no end.

        A label that all texts bear, or none, has nothing to be told by: its weights are 0, and its intercept is that of
        the rate (n + 1/2) / (N + 1).
        """
        linear: Any = required("sklearn.linear_model", EXTRA, WANTS)
        converge: Any = required("sklearn.exceptions", EXTRA, WANTS).ConvergenceWarning
        weights = np.zeros((self.truth.shape[1], self.matrix.shape[1]))
        intercepts, unfinished = np.zeros(len(weights)), []
        for label, column in enumerate(self.truth.T):
            if column.min() == column.max():
                borne = column.sum()
                intercepts[label] = np.log((borne + 0.5) / (len(column) - borne + 0.5))
                continue
            model = linear.LogisticRegression(
                C=strength, solver="liblinear", max_iter=ITERATIONS, random_state=self.seed
            )
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", converge)
                model.fit(self.matrix, column)
            unfinished += [label] if any(issubclass(w.category, converge) for w in told) else []
            weights[label], intercepts[label] = model.coef_[0], model.intercept_[0]
        return weights, intercepts, unfinished


__all__ = ["METHOD", "TfidfLearner", "choose_bars"]
