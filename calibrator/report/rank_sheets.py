"""The tables of a ranking study: judges, systems, sizes, judges among each other, raters, corrected scores."""

from __future__ import annotations

from collections.abc import Iterator

from calibrator.report.console import told_p
from calibrator.report.lines import cell
from calibrator.report.rank_cells import EXTRAPOLATED, NONE, PARTIAL, number, share
from calibrator.report.rank_sizes import needed_cell
from calibrator.report.sheet import Column, Sheet
from calibrator.stats.systems import WIN_RATE
from calibrator.studies.ranking.among import KAPPA_CLASSES, TAU_CLASSES, class_of
from calibrator.studies.ranking.result import CoOccurrence, JudgeRank, KappaPart, NewSystemsPart, PoweredPart, RankTable

MARKS = {"trusted": "yes", "not trusted": "no", "too few systems": "too few", "not defined": NONE}
MARKS |= {"may have seen these items": "seen?"}


def judges_sheet(table: RankTable) -> Sheet:
    """Return the judges beside the humans: tau with its interval and p, and what stands beside it."""
    fitted = any(judge.new_systems is not None for judge in table.judges)
    new = ("new systems",) if fitted else ()
    heads = (
        "#",
        "judge",
        "tau [90 %]",
        "p",
        "trusted",
        *new,
        "labels",
        "pairs alike",
        "same best",
        "rho",
        "r",
        "items",
    )
    rows: list[tuple[str, ...]] = [
        (
            str(k),
            f"{judge.name}{f' {PARTIAL}' if judge.partial else ''}",
            cell(judge.tau, digits=2),
            told_p(judge.p),
            _mark(judge),
            *((_new_systems(judge.new_systems),) if fitted else ()),
            needed_cell(judge),
            share(judge.alike),
            _top(judge),
            number(judge.spearman),
            number(judge.pearson),
            str(judge.items),
        )
        for k, judge in enumerate(table.judges, 1)
    ]
    if table.annotators is not None:
        rows.append(("", "one annotator and the others", number(table.annotators), *[""] * (len(heads) - 3)))
    left = {1}
    columns = tuple(Column(head, right=k not in left) for k, head in enumerate(heads))
    return Sheet(_title(table), columns, tuple(rows), 2, tuple(_judges_notes(table, fitted=fitted)))


def _judges_notes(table: RankTable, *, fitted: bool) -> Iterator[str]:
    yield (
        f"tau: Kendall's tau-b of {len(table.systems)} systems by the {table.score}; its interval is over sources, for "
        "these systems. Same best: in all, and in resamples."
    )
    if fitted:
        yield (
            "new systems: of judges that were fitted to ratings, tau where every system's texts are scored by a fit "
            "without that system."
        )
    sizes = [s.size for judge in table.judges for s in judge.sizes]
    beyond = (
        f"; {NONE}: not within {max(sizes)} labels" if sizes and any(j.needed is None for j in table.judges) else ""
    )
    marked = any(EXTRAPOLATED in needed_cell(judge) for judge in table.judges)
    yield (
        f"labels: of each system, the fewest with which four of five verdicts would be trust{beyond}."
        f"{f' {EXTRAPOLATED} more than there are: extrapolated.' if marked else ''}"
    )
    if any(judge.partial for judge in table.judges):
        yield f"{PARTIAL} scored too little to be held against the humans on the same items as the others."


def for_these_only(judge: JudgeRank) -> bool:
    """Whether a judge that was fitted is trusted to rank the systems it was fitted to, and no new ones."""
    new = judge.new_systems
    return judge.verdict == "trusted" and new is not None and new.verdict != "trusted"


def _mark(judge: JudgeRank) -> str:
    return "these only" if for_these_only(judge) else MARKS[judge.verdict]


def _new_systems(part: NewSystemsPart | None) -> str:
    if part is None:
        return ""
    return "not checked" if part.tau is None else cell(part.tau, digits=2)


def _title(table: RankTable) -> str:
    rated = sum(s.human is not None for s in table.systems)
    return f"{table.name} on {table.data}: {rated} systems, {table.side}, {table.sources} sources"


def _top(judge: JudgeRank) -> str:
    if judge.top is None:
        return NONE
    said = "yes" if judge.top == 1 else "no" if judge.top == 0 else "tied"
    return said if judge.top_share is None else f"{said} ({share(judge.top_share)})"


def systems_sheet(table: RankTable) -> Sheet:
    """Return the systems, the humans' best first, with scores and places."""
    sign = -1 if table.better == "lower" else 1
    human = {s.system: s.human for s in table.systems}
    judged = {j.name: {s.system: s.judges.get(j.name) for s in table.systems} for j in table.judges}
    places = {name: _places(scores, sign) for name, scores in judged.items()}
    of_humans = _places(human, sign)
    ordered = sorted(table.systems, key=lambda s: (of_humans.get(s.system, len(human) + 1), s.system))
    columns = [Column("system", right=False), Column("items"), Column("score", "humans"), Column("place", "humans")]
    for k, judge in enumerate(table.judges, 1):
        own = ("items", "humans") if judge.partial else ()
        columns += [Column(head, str(k)) for head in (*own, "score", "place")]
    rows = []
    for s in ordered:
        cells = [s.system, str(s.items), number(s.human), _place(of_humans, s.system)]
        for judge in table.judges:
            part = s.own.get(judge.name)
            cells += [] if part is None else [str(part.items), number(part.human)]
            cells += [number(judged[judge.name][s.system]), _place(places[judge.name], s.system)]
        rows.append(tuple(cells))
    about = f"{table.score}, {table.better} is better; judges by their number above"
    notes = [f"A judge with {PARTIAL} has the items that its tau is on, and the humans' score on these."]
    partial = any(judge.partial for judge in table.judges)
    return Sheet(f"Systems ({about})", tuple(columns), tuple(rows), notes=tuple(notes) if partial else ())


def _places(scores: dict[str, float | None], sign: int) -> dict[str, float]:
    """Return the place of each system that has a score, 1 for the best, those of ties averaged."""
    known = {name: sign * v for name, v in scores.items() if v is not None}
    return {
        name: sum(other > v for other in known.values()) + (sum(other == v for other in known.values()) + 1) / 2
        for name, v in known.items()
    }


def _place(places: dict[str, float], system: str) -> str:
    return f"{places[system]:g}" if system in places else NONE


def among_sheet(table: RankTable) -> Sheet | None:
    """Return the weighted tau between judges' rankings with its class; None for a single judge."""
    found = table.among
    if found is None:
        return None
    size = len(found.judges)
    columns = [Column("#"), Column("judge", right=False), *(Column(str(k)) for k in range(1, size)), Column("mean")]
    rows = []
    for i, name in enumerate(found.judges):
        cells = [_weighted(found.weighted[i][j]) if j < i else "" for j in range(size - 1)]
        rows.append((str(i + 1), name, *cells, number(table.judges[i].with_others)))
    notes = (
        f"Weighted Kendall (Vigna 2015) of {found.systems} systems on all items that a judge scored; mean: with all "
        "others. Classes after Wicklin: very strong from 0.71, strong from 0.49, moderate from 0.26.",
    )
    return Sheet("Rankings of the judges among each other", tuple(columns), tuple(rows), 2, notes)


def _weighted(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f} {class_of(value, TAU_CLASSES)}"


def kappa_sheet(table: RankTable) -> Sheet | None:
    """Return the kappas of the raters; None where there are fewer than two."""
    part = table.kappas
    if part is None:
        return None
    names = part.names
    columns = [Column("", right=False), *(Column(name) for name in names[:-1])]
    rows = tuple(
        (name, *(_kappa(part.pairs[i][j]) if j < i else "" for j in range(len(names) - 1)))
        for i, name in enumerate(names)
    )
    return Sheet(
        f"Agreement of raters ({'Cohen kappa' if part.kind == 'labels' else 'quadratic weighted kappa'})",
        tuple(columns),
        rows,
        1,
        (_alpha_note(part),),
    )


def _kappa(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f} {class_of(value, KAPPA_CLASSES)}"


def _alpha_note(part: KappaPart) -> str:
    level = "nominal" if part.kind == "labels" else "interval"
    told = f"Krippendorff's alpha ({level}) {number(part.alpha)}"
    if part.kind == "labels":
        told += f"; Fleiss' kappa {number(part.fleiss)} over the {part.whole} items that all annotators labelled"
    if part.cut:
        told += "; too many annotators to list their pairs"
    return f"{told}. Classes of kappa: substantial from 0.6, moderate from 0.4, fair from 0.2."


def powered_sheets(table: RankTable, *, differences: bool) -> Iterator[Sheet]:
    """Yield for each judge the corrected scores of the systems, and if wanted the differences along their order."""
    sign = -1 if table.better == "lower" else 1
    for part in table.powered:
        yield _powered_sheet(part, sign, table.score)
        if differences and part.differences:
            columns = (Column("system", right=False), Column("less the next", right=False), Column("judge and labels"))
            rows = tuple(
                (d.first, d.second, cell(d.powered, signed=True), cell(d.labels_only, signed=True))
                for d in part.differences
            )
            heads = (*columns, Column("labels only"))
            yield Sheet(f"Differences along the corrected order: {part.judge}", heads, rows, 2)


def _powered_sheet(part: PoweredPart, sign: int, score: str) -> Sheet:
    some = part.taus is not None
    heads = ["labelled", "unlabelled", "judge only", "labels only [95 %]", "judge and labels [95 %]", "weight", "worth"]
    columns = [Column("system", right=False), *map(Column, [*heads, *(["all labels"] if some else [])])]
    ordered = sorted(part.rows, key=lambda r: (-sign * (r.powered.value or 0.0), r.system))
    rows = []
    for r in ordered:
        worth = NONE if r.effective is None else f"{r.effective:.0f}"
        cells = [r.system, str(r.labelled), str(r.unlabelled), number(r.judge_only), cell(r.labels_only)]
        cells += [cell(r.powered), number(r.weight, 2), worth]
        rows.append((*cells, *([number(r.truth)] if some else [])))
    notes = ["Weight: how far the judge counts, 0 to 1; worth: the labels that would be as exact alone."]
    if score == WIN_RATE:
        notes.append("Labelled: sources with ratings of a system and the rival with which it has fewest.")
    notes.append("It is assumed that the labelled rows are a random part of each system's.")
    if part.taus is not None:
        told = ", ".join(f"{name} {number(tau)}" for name, tau in part.taus.items())
        notes.append(f"Kendall's tau with the ranking by all human labels: {told}.")
    return Sheet(
        f"Systems' scores with prediction-powered inference: {part.judge}", tuple(columns), tuple(rows), 1, tuple(notes)
    )


def co_occurrence_sheet(part: CoOccurrence) -> Sheet:
    """Return how often labels occur together: counts, and the share of the row's label that has the column's too."""
    columns = [Column("", right=False), Column("total"), *(Column(label) for label in part.labels)]
    rows = []
    for i, label in enumerate(part.labels):
        total = part.counts[i][i]
        cells = [
            "" if i == j else f"{part.counts[i][j]} ({share(part.counts[i][j] / total)})"
            for j in range(len(part.labels))
        ]
        rows.append((label, str(total), *cells))
    notes = (f"Of {part.items} items; in brackets, of those with the row's label the share that has the column's too.",)
    return Sheet("Labels that occur together", tuple(columns), tuple(rows), 1, notes)
