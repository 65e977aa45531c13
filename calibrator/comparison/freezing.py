"""A panel as a frozen judge: one file with its members, their weights and what is known of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrator import __version__
from calibrator.aspects import AspectFile
from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import Prepared, origin_of
from calibrator.calibration.result import interval
from calibrator.comparison.making import Made
from calibrator.comparison.panels import Panel, Seat, Terms, join, on_known
from calibrator.comparison.result import AspectTable, JudgeRow
from calibrator.comparison.table import Side
from calibrator.evaluation.agreement import MOST_FAILURES
from calibrator.evaluation.gate import gate
from calibrator.judges.frozen import FrozenJudge, judge_file, step_files
from calibrator.judges.frozen_parts import Figure, Figures, JudgeFile, MemberFile, PanelFile, VerdictFile
from calibrator.judges.panel import METHOD, Member
from calibrator.stats.correlation import MEASURES, objective


def frozen_panel(
    prepared: Prepared,
    config: RunConfig,
    panel: Panel,
    terms: Terms,
    table: AspectTable,
    baselines: Sequence[Seat] = (),
) -> FrozenJudge:
    """Return the frozen judge of a panel that stands in `table`; it holds no item text, no time and no path.

    Its figures on dev are those of the same panel fitted to train alone; it is held against the best on dev of its
    members and the `baselines`, whom it must exceed to be of use.
    """
    row = _row(table, panel.name)
    over, dev = best_rival(prepared, config, [*panel.bench, *baselines]), _on_dev(prepared, config, panel, terms)
    gain = _gain(table, panel.name, over)
    rho = row.figures["spearman"]
    found = gate(interval(gain), interval(rho), table.groups, over, faults=prepared.faults, coverage=row.coverage)
    return FrozenJudge(
        calibrator=__version__,
        aspect=AspectFile.of(prepared.aspect),
        judge=JudgeFile(method=METHOD, id=panel.name, score_mode=METHOD, texts=tuple(prepared.roles)),
        base=panel.joined.measured.base,
        steps=step_files(panel.joined.measured),
        origin=origin_of(prepared, config, "panel", terms.join, panel.name),
        dev=dev,
        test=Figures(figures=row.figures, signature=table.signature),
        verdict=VerdictFile(handed_over=panel.name, over=over, gain=gain, passed=found.passed, reasons=found.reasons),
        panel=PanelFile(
            join=panel.joined.join,
            coverage=row.coverage,
            members=tuple(_member(m, s, prepared) for m, s in zip(panel.joined.members, panel.seats, strict=True)),
        ),
    ).hashed()


def best_rival(prepared: Prepared, config: RunConfig, seats: Sequence[Seat]) -> str:
    """Return the judge that is best on dev: the one to use if there were no panel.

    Judges that scored nearly all of dev are compared on the items that all of them scored; only where there is none,
    each on its own.
    """
    start = len(prepared.split.train)
    human = np.array([i.human for i in prepared.split.dev], dtype=float)
    there = {s.made.name: np.isfinite(s.scores[start:]) for s in seats}
    full = [s for s in seats if there[s.made.name].mean() >= 1 - MOST_FAILURES]
    common = np.all([there[s.made.name] for s in full], axis=0) if full else None

    def merit(seat: Seat) -> float:
        places = there[seat.made.name] if common is None else common
        if places.sum() < 2 or (config.objective == "mae" and not seat.made.on_scale):
            return -np.inf
        return objective(config.objective, seat.scores[start:][places], human[places])

    return max(full or seats, key=merit).made.name


def _on_dev(prepared: Prepared, config: RunConfig, panel: Panel, terms: Terms) -> Figures:
    items = prepared.split.train + prepared.split.dev
    start = len(prepared.split.train)
    fitted = join(panel.name, panel.bench, items, terms, range(start))
    rows = range(start, len(items))
    scores = on_known(fitted, items, rows)
    side = Side([items[k] for k in rows], config.seed, config.resamples)
    places = np.flatnonzero(np.isfinite(scores))
    signature = (
        f"n:{len(places)}|groups:{len({side.groups[p] for p in places})}|split:{prepared.split.digest[:12]}"
        f"|seed:{config.seed}|resamples:{config.resamples}|side:dev|judge:{panel.name}|calibrator:{__version__}"
    )
    return Figures(figures={m: side.figure(m, scores, places) for m in MEASURES}, signature=signature)


def _member(member: Member, seat: Seat, prepared: Prepared) -> MemberFile:
    made: Made = seat.made
    return MemberFile(
        name=member.name,
        weight=member.weight,
        center=member.center,
        spread=member.spread,
        knots=member.knots,
        cost=seat.cost,
        judge=judge_file(made.kind, made.judge, prepared.roles),
        base=made.rubric.base,
        steps=step_files(made.rubric),
        on_scale=made.on_scale,
    )


def _row(table: AspectTable, name: str) -> JudgeRow:
    return next(row for row in table.rows if row.name == name)


def _gain(table: AspectTable, name: str, over: str) -> Figure:
    """Return the paired gain of one judge over another on the test side."""
    for line in table.pairs:
        if (line.first, line.second) == (name, over):
            return line.gain
        if (line.first, line.second) == (over, name):
            value, low, high = line.gain.value, line.gain.low, line.gain.high
            turned = [None if v is None else -v for v in (value, high, low)]
            return Figure(value=turned[0], low=turned[1], high=turned[2])
    return Figure(value=None)
