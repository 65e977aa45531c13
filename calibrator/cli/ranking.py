"""What `rank` does: read what was asked, score what is ranked, study it, write down and print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from calibrator import __version__
from calibrator.aspects import AspectFile
from calibrator.calibration.config import RunConfig, make_config
from calibrator.calibration.prepare import Prepared, prepare
from calibrator.calibration.progress import Progress, Silent
from calibrator.catalog import Source, open_source
from calibrator.cli.comparing import AFRESH, Request, aspects_of, check_asked, settings_of, working_in
from calibrator.cli.ranking_asked import BY, Asked
from calibrator.cli.ranking_labels import co_occurring, study_labels
from calibrator.comparison.bench import Bench
from calibrator.comparison.making import Maker
from calibrator.comparison.names import JudgeName, parse_judges, with_models
from calibrator.comparison.planning import FIRST, calls, check_metrics, judges_for, needed, tokens_a_call
from calibrator.errors import ConfigError, DataError
from calibrator.files import write_whole
from calibrator.journal import Journal
from calibrator.judges.places import check_folder
from calibrator.models.build import Connections
from calibrator.models.replies import cache_folder
from calibrator.report.console import make_console, say, tell_aside
from calibrator.report.rank import rank_csv, rank_json, rank_markdown, rank_svg, show_rank, verdict_lines
from calibrator.report.terminal import LiveProgress
from calibrator.store import Ledger, Run
from calibrator.studies.ranking.parts import overall
from calibrator.studies.ranking.result import RankResult, RankTable
from calibrator.studies.ranking.scoring import (
    about_scores,
    check_frozen,
    check_systems,
    fitted_here,
    ground,
    made_judges,
    maybe_seen,
    scored_field,
)
from calibrator.studies.ranking.study import study
from calibrator.texts import digest


def start(asked: Asked, out: Path | None, runs: Path, *, quiet: bool, as_json: bool) -> None:
    """Study the rankings, write the files and print the tables. Ctrl-C exits with 130."""
    if out is not None:
        check_folder(out)
    asked.terms()
    if asked.of_labels or (asked.co_occurrence and asked.said.get("aspect") is None):
        result, looks = study_labels(asked, runs, quiet=quiet or as_json)
        folder = runs / f"rank-{_label(asked)}"
    else:
        result, folder, looks = _scores(asked, runs, quiet=quiet or as_json)
    folder = out or folder
    files = {"rank.md": rank_markdown(result, looks), "rank.json": rank_json(result)}
    if result.tables:
        files |= {"rank.csv": rank_csv(result), "rank.svg": rank_svg(result)}
    for name, text in files.items():
        write_whole(folder / name, text)
    if as_json:
        print(files["rank.json"])
    elif quiet:
        print(*(line for table in result.tables for line in verdict_lines(table)), folder / "rank.md", sep="\n")
    else:
        show_rank(make_console(), result, looks)
        say(make_console(), f"\nwritten   {folder}: {', '.join(files)}")


def _scores(asked: Asked, runs: Path, *, quiet: bool) -> tuple[RankResult, Path, tuple[int, ...]]:
    """Return the study of scores, the folder in which its judges' replies are kept, and the looks at test sides."""
    if asked.by not in (None, *BY):
        raise ConfigError(f"--by: '{asked.by}' is none; those there are: {', '.join(BY)}")
    request = Request(asked.judges, asked.models, asked.said)
    aspects = aspects_of(request)
    work = [_work(request, aspect, several=len(aspects) > 1) for aspect in aspects]
    config = work[0][0]
    for _, prepared, names, _ in work:
        check_systems(prepared)
        check_frozen(names, prepared)
    together = co_occurring(asked, work[0][3])
    access = config.access(cache_folder())
    check_asked([name for _, _, names, _ in work for name in names], config, access)
    Ledger(runs).check()
    live: Silent | LiveProgress = Silent() if quiet else LiveProgress(make_console(), "judges")
    with working_in(runs / f"rank-{_judged_label(work)}", access, live) as (place, journal, connections):
        _show_plan(work, connections, make_console(quiet))
        with live:
            tables = tuple(_table(asked, part, (place, journal, connections), Ledger(runs), live) for part in work)
        looks = tuple(_look(prepared, Ledger(runs), place) for _, prepared, _, _ in work)  # the same, entered once
    result = RankResult(calibrator=__version__, tables=tables, overall=overall(tables), co_occurrence=together)
    return result, place.folder, looks


def _look(prepared: Prepared, ledger: Ledger, place: Run) -> int:
    """Enter the look at the test side of an aspect and return its number."""
    return ledger.look(prepared.split.test.digest, prepared.split.digest, place.id)


Work = tuple[RunConfig, Prepared, tuple[JudgeName, ...], Source]


def _work(request: Request, aspect: str, *, several: bool) -> Work:
    """Return one aspect: its configuration, its data and its judges."""
    settings = {k: v for k, v in settings_of(request).items() if k not in ("model", "drafter")}
    config = make_config(**{**settings, "aspect": aspect})
    source = open_source(config.data, config.data_dir, config.encoding)
    names = parse_judges(request.judges or ",".join(["recorded", *(("zero-shot",) if request.models else ())]))
    named = with_models(names, request.models)
    found, missing = judges_for(named, source, aspect.rpartition("/")[2], several=several, said=bool(request.judges))
    tell_aside(missing)
    # The first judge is the one to be trusted: they stay as they were named, baselines only where they were.
    order = {name: k for k, name in enumerate(named)}
    every = order.get(JudgeName("recorded"), 0)
    chosen = tuple(sorted((n for n in found if str(n) not in FIRST or n in order), key=lambda n: order.get(n, every)))
    if not chosen:
        raise ConfigError("no judge is named, and the data has none recorded; name one: --judges criteria")
    recorded = tuple(dict.fromkeys(r for name in chosen for r in needed(name)))
    config = make_config(**{**settings, "aspect": aspect, "columns": {**settings["columns"], "recorded": recorded}})
    prepared = _prepared(config)
    check_metrics(chosen, prepared, source.table.columns)
    return config, prepared, chosen, source


def _prepared(config: RunConfig) -> Prepared:
    """Return what is ranked. Raises what `prepare` does, in words that fit where nothing may be calibrated."""
    try:
        return prepare(config)
    except DataError as error:
        problem = error.problem.replace("too few to calibrate on", "too few to rank systems by")
        raise DataError(problem, file=error.file, row=error.row, column=error.column) from None


def _table(
    asked: Asked, work: Work, at: tuple[Run, Journal, Connections], ledger: Ledger, progress: Progress
) -> RankTable:
    """Return the study of one aspect; the look at its test side is entered first."""
    config, prepared, names, source = work
    place, journal, connections = at
    tell_aside(_warnings(prepared))
    aspect = prepared.aspect
    maker = Maker(prepared, config, connections, place.folder / aspect.name, progress)
    bench = Bench(journal, connections, f"rank/{aspect.name}")
    made, left_out = made_judges(maker, bench, names)
    fitted = [str(name) for name in names if fitted_here(name, made, prepared)]
    where = ground(prepared, source.table, fitted, partial(_look, prepared, ledger, place))
    field, failures, new = scored_field(prepared, where, made, bench, progress, wins=asked.by == "win-rate")
    frozen = {str(name): asked.unseen for name in names if maybe_seen(name, prepared)}
    return study(field, asked.terms(), about_scores(prepared, where, made, left_out, failures, new, frozen))


def _warnings(prepared: Prepared) -> list[str]:
    """Return the warnings of the data; rows without a rating are not left out here, unless they are of a test file."""
    used = "have no rating: what judges give them counts in the corrected scores and between the judges alone"
    told = [w.replace("have no rating and are left out", used) for w in prepared.dataset.warnings]
    return told + list(prepared.test.warnings if prepared.test else ())


def _judged_label(work: Sequence[Work]) -> str:
    """Return a name that the same judges on the same data have again, whatever is made of their scores."""
    parts = [
        [
            config.model_dump(mode="json", exclude=set(AFRESH)),
            AspectFile.of(prepared.aspect).model_dump(mode="json"),
            prepared.split.digest,
            [str(name) for name in names],
        ]
        for config, prepared, names, _ in work
    ]
    return f"{'-'.join(p.aspect.name for _, p, _, _ in work)[:60]}-{digest(parts)[:10]}"


def _label(asked: Asked) -> str:
    """Return a name that the same study of labels has again, and no other."""
    return digest([{k: str(v) for k, v in asdict(asked).items()}])[:10]


def _show_plan(work: Sequence[Work], connections: Connections, console: Any) -> None:
    """Say which columns are read, and how many calls it takes at most; before the first of them."""
    for config, prepared, names, source in work:
        of = f"{prepared.aspect.ref}: " if len(work) > 1 else ""
        say(console, f"columns   {of}{prepared.dataset.mapped.described()}")
        asked = calls(names, config, prepared, connections, mapped=True)
        rated = len(prepared.dataset.items)
        more = len(source.table.rows) - rated
        beside = f", and as many an item for up to {more} unrated rows" if more else ""
        for model, count in asked.items():
            tokens = count * tokens_a_call(prepared)
            what = f"up to {count:,} calls of {model} for {rated} rated items{beside}"
            say(console, f"plan      {prepared.aspect.ref}: {what}; about {tokens:,.0f} prompt tokens")
