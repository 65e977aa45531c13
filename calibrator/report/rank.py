"""A ranking study for people: on the terminal, as Markdown, as a drawing; and as CSV and JSON for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from rich.console import Console

from calibrator.report.boxplot import svg
from calibrator.report.console import say
from calibrator.report.rank_cells import number
from calibrator.report.rank_sheets import (
    among_sheet,
    co_occurrence_sheet,
    for_these_only,
    judges_sheet,
    kappa_sheet,
    powered_sheets,
    systems_sheet,
)
from calibrator.report.rank_sizes import box_lines, interval_boxes, size_boxes, sizes_sheet
from calibrator.report.sheet import Sheet, code, escaped, markdown_sheet, show_sheet
from calibrator.studies.ranking.agree import SIGNIFICANT, TRUSTED
from calibrator.studies.ranking.result import RankResult, RankTable

OF_LABELS = ("macro-F1", "share")  # scores that are made of labels
CSV_COLUMNS = (
    *("aspect", "data", "score", "system", "judge", "items", "human", "judged", "judged_everything"),
    *("tau", "tau_low", "tau_high", "p", "verdict", "tau_new_systems", "signature"),
)


def show_rank(console: Console, result: RankResult, looks: Sequence[int] = ()) -> None:
    """Print a ranking study; `looks` says for each aspect which look at its test side this was, and may be empty."""
    for k, table in enumerate(result.tables):
        show_sheet(console, judges_sheet(table))
        for line in verdict_lines(table):
            say(console, line, "bold")
        show_sheet(console, systems_sheet(table))
        _show_sizes(console, table)
        for sheet in _further(table, differences=False):
            show_sheet(console, sheet)
        for caution in caution_lines(table):
            say(console, f"caution   {caution}", "yellow")
        say(console, f"{table.signature}{_look(looks, k, table)}", "dim")
    if result.co_occurrence is not None:
        show_sheet(console, co_occurrence_sheet(result.co_occurrence))
    for line in overall_lines(result):
        say(console, line)


def _show_sizes(console: Console, table: RankTable) -> None:
    """Print the box plots of tau by the number of labels."""
    for judge in table.judges:
        for k, line in enumerate(box_lines(judge, table.threshold)):
            if not k:
                say(console, f"\nKendall's tau by the human labels of each system: {judge.name}", "bold")
            say(console, line)
    if any(judge.sizes for judge in table.judges):
        told = "Boxes: subsets of the labels there are, quartiles, whiskers at 5 and 95 %, dots to the ends."
        told += " Behind: 90 % of tau with so many other items, "
        told += "how often its p is below 0.05, and how often the verdict is trust."
        say(console, told, "dim")


def _further(table: RankTable, *, differences: bool) -> Iterator[Sheet]:
    yield from (sheet for sheet in (among_sheet(table), kappa_sheet(table)) if sheet is not None)
    yield from powered_sheets(table, differences=differences)


def verdict_lines(table: RankTable) -> list[str]:
    """Return for each judge whether it may be trusted to rank, and which judge to choose where there are several."""
    lines = [judge.sentence for judge in table.judges]
    if len(table.judges) > 1:
        lines += _tried_lines(table)
        chosen = next((j for j in table.judges if j.name == table.choice.judge), None)
        only = ", for these systems only" if chosen is not None and for_these_only(chosen) else ""
        lines.append(f"To choose: {table.choice.judge or 'none'}{only}; {table.choice.why}.")
    return lines


def _tried_lines(table: RankTable) -> list[str]:
    """Return how many of the judges that are trusted by themselves are so for all that were tried; none without any."""
    trusted = [judge for judge in table.judges if judge.verdict == TRUSTED]
    if not trusted:
        return []
    left = [judge.name for judge in trusted if judge.adjusted is not None and judge.adjusted < SIGNIFICANT]
    told = f"{table.choice.tried} judges were tried, each tested at 5 % by itself: {len(trusted)} trusted"
    return [f"{told}, with p corrected for their number (Holm) {len(left)}."]


def overall_lines(result: RankResult) -> list[str]:
    """Return how well each judge ranks over all aspects; nothing for a single one."""
    if len(result.tables) < 2:
        return []
    return [
        f"{one.judge}: mean tau {number(one.tau)} over {one.aspects} aspects, trusted in {one.trusted}"
        + ("" if one.new_systems is None else f"; new systems: mean tau {number(one.new_systems)}")
        for one in result.overall
    ]


def caution_lines(table: RankTable) -> list[str]:
    """Return what a reader must know before trusting the figures, a line each."""
    told = list(table.cautions)
    for judge in table.judges:
        told += [f"'{judge.name}': {note}" for note in judge.notes]
        if judge.failures:
            reasons = ", ".join(f"{count} × {reason}" for reason, count in judge.failures.items())
            told.append(f"'{judge.name}' gave {sum(judge.failures.values())} items no score ({reasons})")
        if judge.tau.value is not None and judge.defined < 1:
            told.append(f"'{judge.name}': tau is defined in {100 * judge.defined:.0f} % of the resamples only")
    if table.sources < 20:
        told.append(f"only {table.sources} sources: intervals over so few are rough")
    return told


def _look(looks: Sequence[int], place: int, table: RankTable) -> str:
    what = "these labels" if table.score in OF_LABELS else "this test side"
    return f" · look {looks[place]} at {what}" if place < len(looks) else ""


def rank_markdown(result: RankResult, looks: Sequence[int] = ()) -> str:
    """Return the report; `looks` as in `show_rank`. All names are escaped."""
    names = ", ".join(dict.fromkeys(t.data for t in result.tables))
    lines = [f"# Systems ranked by judges and humans{f' on {escaped(names)}' if names else ''}", ""]
    for k, table in enumerate(result.tables):
        lines += [*markdown_sheet(judges_sheet(table), 2), *(f"- {escaped(line)}" for line in verdict_lines(table)), ""]
        sizes = [sizes_sheet(judge) for judge in table.judges]
        sheets = [systems_sheet(table), *(s for s in sizes if s is not None), *_further(table, differences=True)]
        for sheet in sheets:
            lines += markdown_sheet(sheet)
        for caution in caution_lines(table):
            lines += [f"**Caution**: {escaped(caution)}.", ""]
        lines += [f"{code(table.signature)}{_look(looks, k, table)}", ""]
    if result.co_occurrence is not None:
        lines += markdown_sheet(co_occurrence_sheet(result.co_occurrence), 2)
    lines += [f"- {escaped(line)}" for line in overall_lines(result)]
    return "\n".join([*lines, "", f"calibrator {escaped(result.calibrator)}"]) + "\n"


def rank_svg(result: RankResult) -> str:
    """Return the drawing: each aspect's intervals of tau by judge, and tau by the number of labels."""
    parts = []
    for table in result.tables:
        if boxes := interval_boxes(table):
            parts.append((f"{table.name}: tau with its 90 % interval", boxes))
        sizes = [(f"{table.name}, {j.name}: tau by labels of each system", size_boxes(j)) for j in table.judges]
        parts += [(heading, boxes) for heading, boxes in sizes if boxes]
    threshold = result.tables[0].threshold if result.tables else 0.0
    return svg("Kendall's tau between the rankings of systems by judge and humans", parts, threshold)


def rank_csv(result: RankResult) -> str:
    """Return one row for each system and judge, with the judge's tau beside; what is not defined is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for table in result.tables:
        for system in table.systems:
            for judge in table.judges:
                own, new = system.own.get(judge.name), judge.new_systems
                writer.writerow(
                    {
                        "aspect": table.name,
                        "data": table.data,
                        "score": table.score,
                        "system": system.system,
                        "judge": judge.name,
                        "items": system.items if own is None else own.items,
                        "human": system.human if own is None else own.human,
                        "judged": system.judges[judge.name],
                        "judged_everything": system.everything[judge.name],
                        "tau": judge.tau.value,
                        "tau_low": judge.tau.low,
                        "tau_high": judge.tau.high,
                        "p": judge.p,
                        "verdict": judge.verdict,
                        "tau_new_systems": None if new is None or new.tau is None else new.tau.value,
                        "signature": table.signature,
                    }
                )
    return text.getvalue()


def rank_json(result: RankResult) -> str:
    """Return the whole study as JSON, which `RankResult.model_validate_json` reads again."""
    return result.model_dump_json(indent=1) + "\n"
