"""What `rank` was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calibrator.errors import ConfigError
from calibrator.studies.ranking.sizes import PUBLISHED
from calibrator.studies.ranking.study import RESAMPLES, Terms

BY = ("mean", "win-rate")
# Options of the one way that make no sense in the other.
OF_LABELS = {"human_labels": "--human-labels", "judge_labels": "--judge-labels", "intended": "--intended"}
OF_LABELS |= {"label": "--label"}
OF_SCORES = {"judges": "--judges", "models": "--models", "by": "--by", "unseen": "--unseen"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A ranking study as it was asked for; `said` are settings of a run."""

    judges: str | None
    models: tuple[str, ...]
    said: Mapping[str, Any]
    by: str | None = None
    threshold: float = 0.0
    labelled: int | None = None
    sizes: tuple[float, ...] | None = None
    repeats: int = 1000
    human_labels: tuple[str, ...] = ()
    judge_labels: tuple[str, ...] = ()
    intended: str = ""
    label: str = ""
    co_occurrence: tuple[str, ...] = ()
    unseen: bool = False

    def terms(self) -> Terms:
        """Return how systems are ranked. Raises ConfigError for sizes that are none."""
        sizes: tuple[int, ...] = PUBLISHED
        if self.sizes is not None:
            if not all(s == int(s) and s >= 2 for s in self.sizes):
                raise ConfigError("--sizes: give whole numbers of labels from 2 up, such as 10,25,50")
            sizes = tuple(sorted({int(s) for s in self.sizes}))
        resamples, seed = int(self.said.get("resamples", RESAMPLES)), int(self.said.get("seed", 0))
        return Terms(self.threshold, sizes, self.repeats, self.labelled, resamples, seed)

    @property
    def of_labels(self) -> bool:
        """Whether labels are ranked by. Raises ConfigError where options of both ways are given."""
        labels = [option for name, option in OF_LABELS.items() if getattr(self, name)]
        scores = [option for name, option in OF_SCORES.items() if getattr(self, name)]
        if labels and scores:
            raise ConfigError(f"{scores[0]}: not with {labels[0]}, where labels are compared and no scores")
        return bool(labels)
