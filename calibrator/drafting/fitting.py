"""What the embedded drafter knows of rated items: their criteria, and the fitted values of a full model on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrator.criteria import Measured
from calibrator.drafting.terms import term_values
from calibrator.records import Item
from calibrator.stats.correlation import normal_scores
from calibrator.stats.linear import center_and_spread, ridge, standardise
from calibrator.stats.smoothing import CHOICES, Smoothing, centred_columns, smoothed, smoothing_by_cv
from calibrator.stats.transfer import share_by_leaving_out

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """Rated items, measured: standardised criteria `z` (n, p) with `center` and `spread` (p,), and ratings (n,).

    `target` is what a fit aims at; `systems` are empty where the fit takes nothing of them out.
    """

    z: Array
    center: Array
    spread: Array
    human: Array
    target: Array
    groups: tuple[str, ...]
    systems: tuple[str, ...]


@dataclass(frozen=True)
class Fit:
    """The full model on known items: its fitted values (n,), and how much each item counted (n,)."""

    known: Known
    fitted: Array
    importance: Array

    @cached_property
    def terms(self) -> Array:
        """The terms (see `terms.TERMS`) of the items, shape (n, t)."""
        return term_values(self.known.z)

    def weights(self, places: list[int]) -> tuple[Array, float]:
        """Return weights and base with which the terms at some places reproduce the fitted values."""
        return ridge(self.terms[:, places], self.fitted, 1.0, self.importance)

    def weakest(self, places: list[int]) -> int:
        """Return the place whose term moves the fitted values least; products spread wider than single criteria."""
        moved = np.abs(self.weights(places)[0]) * self.terms[:, places].std(axis=0)
        return places[int(np.argmin(moved))]


def known_of(items: Sequence[Item], measured: Measured, by_rank: bool) -> Known:
    """Return what is known of rated items; `by_rank` says that a fit is to find their order, not their ratings."""
    x = measured(tuple(items))
    center, spread = (np.array([float(f"{v:.6g}") for v in part]) for part in center_and_spread(x))
    human = np.array([i.human for i in items], dtype=float)
    systems = tuple(i.system or "" for i in items)
    z, target = standardise(x, center, spread), _rank_target(human) if by_rank else human
    return Known(z, center, spread, human, target, tuple(i.group for i in items), systems)


def share_for_new_systems(items: Sequence[Item], measured: Measured, by_rank: bool) -> float:
    """Return how much of the systems to take out of a fit that is to hold for new ones; see `stats.transfer`."""
    known = known_of(items, measured, by_rank)
    return share_by_leaving_out(known.z, known.target, known.systems)


def smoothing_of(known: Known, share: float, *, products: bool) -> Smoothing:
    """Return how a fit to these items is regularised, with products or without; the same for the same items."""
    z, target = _centred(known, share)
    choices = [c for c in CHOICES if products or not c.products]
    return smoothing_by_cv(z, target, known.groups, np.random.default_rng(0), choices)


def fit(known: Known, importance: Array, smoothing: Smoothing, share: float) -> Fit:
    """Return the full model, fitted with a share of each system's mean taken off criteria and ratings."""
    z, target = _centred(known, share)
    return Fit(known, smoothed(z, target, smoothing, importance, known.z), importance)


def _centred(known: Known, share: float) -> tuple[Array, Array]:
    if not share:
        return known.z, known.target
    both = centred_columns(np.column_stack([known.z, known.target]), known.systems, share)
    return both[:, :-1], both[:, -1]


def _rank_target(human: Array) -> Array:
    """Return what is fitted where the order counts: half the ratings, half their normal scores, both standardised.

    Normal scores alone aim at the order, but make much of small differences where ratings crowd; the ratings alone let
    a few extreme items lead.
    """
    parts = [(v - v.mean()) / spread for v in (human, normal_scores(human)) if (spread := v.std()) > 0]
    target: Array = np.mean(parts, axis=0) if parts else human
    return target
