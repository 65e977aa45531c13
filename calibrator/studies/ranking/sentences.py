"""The verdict on a judge's ranking, in a sentence with the figures it was made by."""

from __future__ import annotations

import numpy as np

from calibrator.stats.orders import significant_tau, smallest_p
from calibrator.studies.ranking.agree import SIGNIFICANT, TOO_FEW, TRUSTED, UNDEFINED, RankAgreement


def sentence(found: RankAgreement, verdict: str, threshold: float) -> str:
    """Return the verdict in a sentence with the figures it was made by."""
    who, tau = found.judge, found.tau
    if verdict == UNDEFINED:
        return f"{who} cannot be trusted to rank these systems: tau is not defined, it or the humans tell none apart."
    told = f"tau {tau.value:.2f}, 90 % interval {_end(tau.low)} to {_end(tau.high)}, p {_p(found.p)}"
    if verdict == TOO_FEW:
        least = f"with {found.systems} systems p cannot be below {smallest_p(found.systems):.2f}"
        return f"Whether {who} ranks as humans do cannot be said: {least} ({told}); five systems are needed."
    if verdict == TRUSTED:
        return f"{who} can be trusted to rank these systems: {told}, above {threshold:g} throughout."
    why = []
    if not tau.low > threshold:
        why.append(f"the interval reaches down to {_end(tau.low)}, threshold {threshold:g}")
    if not found.p < SIGNIFICANT:
        wanted = significant_tau(found.systems, SIGNIFICANT)
        why.append(f"p is not below {SIGNIFICANT:g}, which takes a tau of {wanted:.2f} with {found.systems} systems")
    return f"{who} cannot be trusted to rank these systems: {told}; {' and '.join(why)}."


def _end(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "–"


def _p(value: float) -> str:
    return "–" if not np.isfinite(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"
