"""The noise ceiling on the test side, and what of it the judge reaches."""

from __future__ import annotations

from collections.abc import Sequence

from calibrator.calibration.result import CeilingPart, figure
from calibrator.evaluation.agreement import scores_of
from calibrator.evaluation.ceiling import Ceiling, ceiling, share
from calibrator.records import Item, Verdict

APART = 0.1  # by which pairs of annotators may differ in agreement without a word of caution


def ceiling_part(verdicts: Sequence[Verdict], items: Sequence[Item], seed: int, resamples: int) -> CeilingPart | None:
    """Return how far the annotators of `items` agree and how a judge compares; None without two annotators."""
    found, judged = ceiling(items, seed, resamples), share(items, scores_of(verdicts), seed, resamples)
    if found is None or judged is None:
        return None
    return CeilingPart(
        annotators=found.annotators,
        items=found.items,
        pairwise=figure(found.pairwise),
        against_rest=figure(found.against_rest),
        reachable=figure(found.reachable),
        one=figure(judged.one),
        one_share=figure(judged.one_share),
        cautions=tuple(_cautions(found)),
    )


def _cautions(found: Ceiling) -> list[str]:
    told = [
        f"annotators {a + 1} and {b + 1} gave the same rating to every item and count as one" for a, b in found.copies
    ]
    if found.left_out:
        told.append(f"{found.left_out} items were rated by another set of annotators and are left out")
    if found.shuffled:
        told.append(
            "the ratings of an item were sorted by size, so that no annotator can be followed from item to item"
        )
    pairs = sorted(found.pairs.values())
    if len(pairs) > 1 and pairs[-1] - pairs[0] > APART:
        listed = ", ".join(f"{a + 1} and {b + 1}: {rho:.2f}" for (a, b), rho in sorted(found.pairs.items()))
        told.append(
            f"pairs of annotators agree unequally ({listed}); "
            "where one saw the others' ratings, the ceiling is too high"
        )
    return told
