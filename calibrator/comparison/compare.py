"""The comparison of judges on one aspect: made on train and dev, looked at once on the sealed test side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from calibrator import __version__
from calibrator.aspects import AspectFile
from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.progress import Progress
from calibrator.comparison.bench import KNOWN, TEST, Bench, Outcome, total_cost
from calibrator.comparison.humans import human_lines, one_figure, replacement_part
from calibrator.comparison.joining import Join
from calibrator.comparison.making import LeftOut, Made, Maker
from calibrator.comparison.mapping import with_map
from calibrator.comparison.names import JudgeName
from calibrator.comparison.panels import Panel, Seat, Terms, chosen_under, cross_fitted, join
from calibrator.comparison.result import AspectTable, JudgeRow
from calibrator.comparison.table import Compared, Entry, Side, compared
from calibrator.criteria import Measured
from calibrator.errors import ConfigError
from calibrator.evaluation.agreement import scores_of
from calibrator.judges.mapped import MappedJudge
from calibrator.judges.panel import PanelJudge
from calibrator.judges.recorded import METHOD as RECORDED
from calibrator.records import Item, Judgment, Verdict
from calibrator.texts import digest

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a comparison is to do besides.

    `most` is what the judges of a panel may cost an item at most, in US dollars (None: all are on it), `costs` what the
    user says that some cost; `negative`: judges may count downwards on a panel; `epsilon` is the margin of the
    alternative annotator test; `map` the kind of score map that single judges are given (see `stats.mapping`).
    """

    most: float | None = None
    costs: Mapping[str, float] = field(default_factory=dict)
    negative: bool = False
    epsilon: float = 0.2
    map: str = "identity"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A judge that is ready for the test side, with what it took to make it."""

    made: Made
    known: int
    cost: float | None
    panel: Panel | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """What one look at the test side of an aspect gave: the table, and what further tables are made from."""

    table: AspectTable
    items: tuple[Item, ...]
    verdicts: Mapping[str, tuple[Verdict, ...]]
    panels: tuple[Panel, ...]


class Comparison:
    """Compares judges on one aspect. Steps in order: `make`, then `look`."""

    def __init__(self, maker: Maker, bench: Bench, config: RunConfig, wishes: Wishes) -> None:
        self._maker, self._bench, self._config, self._wishes = maker, bench, config, wishes
        self._made: dict[JudgeName, tuple[Made | LeftOut, ...]] = {}
        self._paid: dict[str, float | None] = {}
        self._measured = Measured()

    @property
    def prepared(self) -> Prepared:
        """What is compared on."""
        return self._maker.prepared

    def make(self, names: Sequence[JudgeName], progress: Progress) -> tuple[list[Contestant], list[LeftOut]]:
        """Return the judges, made on train and dev, and those that could not be made; `progress` hears of work.

        Raises what is wrong with a name, and what models raise.
        """
        ready: list[Contestant] = []
        left_out: list[LeftOut] = []
        for name in (n for n in names if n.method != "human"):
            told = name.models and not name.searches  # a search tells of itself, and the others take no time
            if told:
                progress.phase(f"{self.prepared.aspect.ref}: making {name}", 1, len(self._maker.known))
            found = (
                [self._panel(name)] if name.method == "panel" else [self._single(name, m) for m in self._judges(name)]
            )
            ready += [f for f in found if isinstance(f, Contestant)]
            left_out += [f for f in found if isinstance(f, LeftOut)]
            if told:
                progress.advance(0)
        return ready, left_out

    def look(
        self,
        contestants: Sequence[Contestant],
        left_out: Sequence[LeftOut],
        enter_look: Callable[[], int],
        progress: Progress,
    ) -> Looked:
        """Unseal the test side and measure on it; `enter_look` enters the look and is called before."""
        if not contestants:
            why = "; ".join(f"{lo.name}: {lo.reason}" for lo in left_out)
            raise ConfigError(f"no judge is left to compare ({why})")
        items = self.prepared.split.test.unseal(enter_look())
        entries = []
        for contestant in contestants:
            entries.append(self._entry(contestant, items))
            progress.advance(len(items))
        found = compared(entries, Side(items, self._config.seed, self._config.resamples), self._config.objective)
        common = [items[k] for k in found.common]
        rows, told = self._with_humans(found, entries, common)
        people = human_lines(common, self._config.seed, self._config.resamples)
        groups = len({i.group for i in common})
        table = AspectTable(
            aspect=AspectFile.of(self.prepared.aspect),
            chosen=self.prepared.chosen,
            data=self.prepared.dataset.name,
            size=len(items),
            items=len(common),
            groups=groups,
            annotators=people.annotators,
            measure=self._config.objective,
            rows=(*rows, *people.rows),
            pairs=found.pairs,
            signature=self._signature(entries, len(common), groups),
            cautions=(*self._cautions(rows, left_out, items), *told),
        )
        panels = tuple(c.panel for c in contestants if c.panel is not None)
        return Looked(table, items, {e.name: e.verdicts for e in entries}, panels)

    def baselines(self, contestants: Sequence[Contestant]) -> list[Seat]:
        """Return the baselines among the judges with their cross-fitted scores of train and dev."""
        known = self._maker.known
        made = [c.made for c in contestants if c.made.family == "baseline" and c.made.fit is not None]
        return [Seat(m, cross_fitted(m, known, self._config.seed), 0.0) for m in made]

    def terms(self, how: str) -> Terms:
        """Return how panels are fitted that are joined by "fit" or by "ranks"."""
        joined: Join = "ranks" if how == "ranks" else "fit"
        config = self._config
        return Terms(self.prepared.aspect, joined, config.objective, self._measured, self._wishes.negative, config.seed)

    def _judges(self, name: JudgeName) -> tuple[Made | LeftOut, ...]:
        if name not in self._made:
            made, cost = self._bench.made(str(name), lambda: self._maker.made(name))
            self._made[name], self._paid[str(name)] = made, cost
        return self._made[name]

    def _single(self, name: JudgeName, made: Made | LeftOut) -> Contestant | LeftOut:
        """Return a judge that stands for itself, with the score map that its scores of train and dev ask for."""
        if isinstance(made, LeftOut):
            return made
        paid = self._paid[str(name)]
        if self._wishes.map == "identity" or isinstance(made.judge, MappedJudge):  # it has a map of its own
            return Contestant(made, 0, paid)
        seat, more = self._seat(made)
        mapped = with_map(seat, self._maker.known, self.prepared.aspect.scale, self._wishes.map, self._config.seed)
        return Contestant(mapped, len(self._maker.known) if made.model else 0, total_cost([paid, more]))

    def _panel(self, name: JudgeName) -> Contestant | LeftOut:
        """Return a panel, fitted to train and dev; without a member that could not be made there is none."""
        seats: list[Seat] = []
        known: float | None = 0.0
        for member in name.members:
            for made in self._judges(member):
                if isinstance(made, LeftOut):
                    return LeftOut(str(name), "panel", f"without its member {made.name}: {made.reason}")
                if isinstance(made.judge, PanelJudge | MappedJudge):
                    what = "a panel itself" if isinstance(made.judge, PanelJudge) else "a judge with a score map"
                    raise ConfigError(f"--judges: {made.name} is {what} and cannot be a member; name other judges")
                seat, paid = self._seat(made)
                seats.append(seat)
                known = total_cost([known, paid])
            known = total_cost([known, self._paid[str(member)]])
        split, items, terms = self.prepared.split, self._maker.known, self.terms(name.join)
        train, dev = range(len(split.train)), range(len(split.train), len(items))
        if self._wishes.most is None:
            panel = join(str(name), seats, items, terms, [*train, *dev])
        else:
            panel = chosen_under(str(name), seats, items, terms, train, dev, self._wishes.most)
        models = sorted({s.made.model for s in panel.seats if s.made.model})
        made = Made(
            str(name),
            "panel",
            panel.judge,
            "panel",
            panel.joined.measured,
            model=", ".join(models) or None,
            notes=(*panel.notes, *_flattered(panel.seats)),
        )
        return Contestant(made, len(items) * sum(s.made.model is not None for s in seats), known, panel)

    def _seat(self, made: Made) -> tuple[Seat, float | None]:
        """Return a seat for a judge, and what its scores of train and dev cost."""
        items = self._maker.known
        if made.fit is not None:
            scores = cross_fitted(made, items, self._config.seed)
            return Seat(made, scores, self._wishes.costs.get(made.name, 0.0)), 0.0
        outcome = self._bench.judged(made.name, made.judge, KNOWN, items)
        cost = None if outcome.cost is None else outcome.cost / len(items)
        if made.kind == RECORDED:
            cost = None
        return Seat(made, scores_of(outcome.verdicts), self._wishes.costs.get(made.name, cost)), outcome.cost

    def _entry(self, contestant: Contestant, items: Sequence[Item]) -> Entry:
        made, panel = contestant.made, contestant.panel
        if panel is None:
            outcome = self._on_test(made, items)
        else:
            parts = [self._on_test(seat.made, items) for seat in panel.seats]
            verdicts = panel.judge.joined(items, [p.verdicts for p in parts], panel.judge.measure(items))
            outcome = Outcome(verdicts, total_cost([p.cost for p in parts]), sum(p.seconds for p in parts))
        return Entry(
            name=made.name,
            family=made.family,
            mode=made.judge.mode,
            verdicts=outcome.verdicts,
            on_scale=made.on_scale,
            model=made.model,
            known=contestant.known,
            cost=total_cost([contestant.cost, outcome.cost]),
            seconds=None if made.kind == RECORDED else outcome.seconds,
            notes=made.notes,
        )

    def _on_test(self, made: Made, items: Sequence[Item]) -> Outcome:
        """Return what a judge gives on the test side; what a recorded one cost then is known only if the user said."""
        outcome = self._bench.judged(made.name, made.judge, TEST, items)
        if made.kind != RECORDED:
            return outcome
        each = self._wishes.costs.get(made.name)
        return replace(outcome, cost=None if each is None else each * len(items))

    def _with_humans(
        self, found: Compared, entries: Sequence[Entry], common: Sequence[Item]
    ) -> tuple[list[JudgeRow], tuple[str, ...]]:
        """Return the rows with what only single annotators can tell, and what a reader must know of that."""
        by_name, config = {e.name: e for e in entries}, self._config
        rows: list[JudgeRow] = []
        told: dict[str, list[str]] = {}
        for row in found.rows:
            entry = by_name[row.name]
            verdicts = [entry.verdicts[k] for k in found.common]
            one = one_figure(scores_of(verdicts), common, config.seed, config.resamples)
            part = None
            if entry.on_scale and not row.partial:
                scale = self.prepared.aspect.scale
                part, cautions = replacement_part(verdicts, common, scale, self._wishes.epsilon, config.seed)
                for caution in cautions:
                    told.setdefault(caution, []).append(row.name)
            rows.append(row.model_copy(update={"one": one, "replacement": part}))
        whose = {c: "" if len(names) == len(rows) else f"'{', '.join(names)}': " for c, names in told.items()}
        return rows, tuple(f"{whose[caution]}{caution}" for caution in told)

    def _cautions(
        self, rows: Sequence[JudgeRow], left_out: Sequence[LeftOut], items: Sequence[Item]
    ) -> tuple[str, ...]:
        told = [f"'{lo.name}' was left out: {lo.reason}" for lo in left_out]
        told += [f"'{row.name}': {note}" for row in rows for note in row.notes]
        for row in rows:
            if row.partial:
                told.append(f"'{row.name}' scored {row.items} of {len(items)} items; its figures are on those alone")
        if failing := {r.name: sum(r.failures.values()) for r in rows if r.failures and not r.partial}:
            listed = ", ".join(f"{name} {count}" for name, count in failing.items())
            told.append(f"items that a full judge failed on are left out for all full judges ({listed})")
        if any(r.name == "constant" and r.replacement is not None and r.replacement.passed for r in rows):
            told.append("one score for all passes the annotator test too: to pass it says little here")
        fitted = any(row.family in ("criteria", "calibrated", "panel") for row in rows)
        if fitted and len({i.system for i in items if i.system}) > 1:
            told.append(
                "judges that were fitted have seen outputs of the same systems: the figures are for new sources"
            )
        told += [f"a grave fault of the data, passed over by --force: {fault}" for fault in self.prepared.faults]
        return tuple(told)

    def _signature(self, entries: Sequence[Entry], items: int, groups: int) -> str:
        config, split = self._config, self.prepared.split
        judges = digest([[e.name, e.mode, [_told(v) for v in e.verdicts]] for e in entries])[:12]
        return (
            f"n:{items}|groups:{groups}|split:{split.digest[:12]}|seed:{config.seed}|resamples:{config.resamples}"
            f"|side:test|judges:{judges}|calibrator:{__version__}"
        )


def _told(verdict: Verdict) -> object:
    return round(verdict.score, 9) if isinstance(verdict, Judgment) else verdict.reason


def _flattered(seats: Sequence[Seat]) -> tuple[str, ...]:
    """Return a note where members' scores of train and dev are better than they are elsewhere."""
    names = [s.made.name for s in seats if s.made.seen]
    how = "was made by the ratings of train and dev, or may have been, and counts for more than it is worth elsewhere"
    return (f"{', '.join(names)} {how}",) if names else ()
