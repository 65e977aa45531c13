"""A judge with the score map that its scores of train and dev ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from calibrator.aspects import Scale
from calibrator.comparison.making import OFF_SCALE, Made
from calibrator.comparison.panels import Seat
from calibrator.evaluation.mapping import Wanted, choose_map
from calibrator.judges.mapped import MappedJudge
from calibrator.records import Item
from calibrator.stats.mapping import IdentityMap


def with_map(seat: Seat, items: Sequence[Item], scale: Scale, wanted: str, seed: int) -> Made:
    """Return the judge of a seat with a score map, fitted to its scores of train and dev (cross-fitted ones if fitted).

    Its scores are on the human scale then, whatever scale they were on. Where no map can be fitted, one of a judge that
    runs against the ratings above all, the judge stays as it is, and a note says why: a map never turns a judge round.
    """
    if seat.made.family == "baseline":
        return seat.made  # it is fitted to the ratings' own scale
    human = np.array([i.human for i in items], dtype=float)
    choice = choose_map(seat.scores, human, [i.group for i in items], scale, cast(Wanted, wanted), seed)
    if isinstance(choice.map, IdentityMap):
        note = f"no score map: {choice.reason}" if choice.reason else "no score map is better than none"
        return replace(seat.made, notes=(*seat.made.notes, note))
    judge = MappedJudge(seat.made.judge, choice.map)
    note = f"{choice.map.kind} score map, fitted to {choice.items} items of train and dev"
    if seat.made.seen:
        note += ", by whose ratings the judge itself was made, or may have been"
    kept = (n for n in seat.made.notes if not n.startswith(OFF_SCALE))
    return replace(seat.made, judge=judge, on_scale=True, notes=(*kept, note))
