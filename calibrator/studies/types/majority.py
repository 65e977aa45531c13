"""The baseline that does not read: what was most frequent in training, for every text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from calibrator.errors import DataError
from calibrator.records import Failure
from calibrator.studies.types.base import Answer, Assigned, Example, Labels, Tick, ignored
from calibrator.studies.types.data import true_labels
from calibrator.studies.types.scheme import Scheme
from calibrator.texts import unusable

Of = Literal["label", "set"]


@dataclass(frozen=True, slots=True)
class MajorityClassifier:
    """Gives every text the same labels."""

    id: str
    labels: Labels

    def predict(self, examples: Sequence[Example], tick: Tick = ignored) -> tuple[Answer, ...]:
        """Return one answer for each example."""
        tick(len(examples))
        return tuple(
            Failure(e.id, reason) if (reason := unusable(e.text)) else Assigned(e.id, self.labels) for e in examples
        )


@dataclass(frozen=True, slots=True)
class MajorityLearner:
    """Finds the most frequent `label`, or the most frequent label `set`; of equals, the first of the scheme."""

    of: Of = "label"

    def fit(self, train: Sequence[Example], scheme: Scheme) -> MajorityClassifier:
        """Return the baseline. Raises DataError if no text bears a label of the scheme."""
        names = scheme.names
        sets = [s & set(names) for s in true_labels(train)]
        sets = [s for s in sets if s or (scheme.empty and self.of == "set")]
        if not sets:
            raise DataError("no text to learn from bears a label of the scheme")
        place = {name: k for k, name in enumerate(names)}
        said = [frozenset({label}) for s in sets for label in s] if self.of == "label" else list(map(frozenset, sets))
        counts = Counter(said)
        best = min(counts, key=lambda s: (-counts[s], len(s), sorted(place[label] for label in s)))
        return MajorityClassifier("majority" if self.of == "label" else "majority:set", best)
