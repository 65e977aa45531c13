"""The verdict on a judge's ranking, in a sentence with the figures it was made by."""

from __future__ import annotations

import numpy as np

from calibrator.stats.orders import significant_tau, smallest_p
from calibrator.studies.ranking.agree import (
    MAYBE_SEEN,
    SIGNIFICANT,
    TOO_FEW,
    TRUSTED,
    UNDEFINED,
    OnNewSystems,
    RankAgreement,
)


def sentence(found: RankAgreement, verdict: str, threshold: float, new: OnNewSystems | None = None) -> str:
    """Return the verdict in a sentence with the figures it was made by.

    `new` is how a judge that was fitted to texts of these systems ranks new ones.
    """
    who = found.judge
    if verdict == UNDEFINED:
        return f"{who} cannot be trusted to rank these systems: tau is not defined, it or the humans tell none apart."
    told = _figures(found)
    if verdict == TOO_FEW:
        least = f"with {found.systems} systems p cannot be below {smallest_p(found.systems):.2f}"
        return f"Whether {who} ranks as humans do cannot be said: {least} ({told}); five systems are needed."
    if verdict == MAYBE_SEEN:
        why = "it may have been calibrated on some of these items"
        return f"Whether {who} ranks as humans do cannot be said: {why} ({told}); --unseen says that it was not."
    if verdict == TRUSTED:
        return f"{who} can be trusted to rank these systems: {told}, above {threshold:g} throughout{_further(new)}."
    why_not = []
    if not found.tau.low > threshold:
        why_not.append(f"the interval reaches down to {_end(found.tau.low)}, threshold {threshold:g}")
    if not found.p < SIGNIFICANT:
        wanted = f"a tau of {significant_tau(found.systems, SIGNIFICANT):.2f} with {found.systems} systems"
        why_not.append(f"p is not below {SIGNIFICANT:g}, which takes {wanted}")
    return f"{who} cannot be trusted to rank these systems: {told}; {' and '.join(why_not)}."


def _further(new: OnNewSystems | None) -> str:
    """Return whether trust reaches as far as new systems; "" for a judge that was fitted to none."""
    if new is None:
        return ""
    if new.found is None:
        return f". For these systems: new ones could not be checked, {new.why}"
    if new.trusted:
        return f"; also to rank new systems ({_figures(new.found)})"
    return f". For these systems only, not for new ones ({_figures(new.found)})"


def _figures(found: RankAgreement) -> str:
    if not np.isfinite(found.tau.value):
        return "tau is not defined"
    interval = f"90 % interval {_end(found.tau.low)} to {_end(found.tau.high)}"
    return f"tau {found.tau.value:.2f}, {interval}, p {p_in_words(found.p)}"


def _end(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "–"


def p_in_words(value: float) -> str:
    """Return a p-value with three decimals, "< 0.001" below that, a dash where it is not defined."""
    return "–" if not np.isfinite(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"
