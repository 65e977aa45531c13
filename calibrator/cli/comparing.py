"""What `compare` and `panel` do: read what was asked, show the plan, compare, write down and print."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from calibrator.aspects import AspectFile
from calibrator.calibration.config import RunConfig, make_config, read_settings
from calibrator.calibration.prepare import prepare, rated_aspects
from calibrator.calibration.progress import Silent
from calibrator.catalog import open_source
from calibrator.cells import number
from calibrator.cli.options import INTERRUPTED
from calibrator.comparison.compare import Wishes
from calibrator.comparison.names import JudgeName, parse_judges, with_models
from calibrator.comparison.planning import ASKING, EMBEDDED, calls, check_metrics, judges_for, needed, tokens_a_call
from calibrator.comparison.whole import AspectWork, Done, Further, Work, compare_all
from calibrator.errors import BudgetSpent, ConfigError, ModelError, ModelUnfit
from calibrator.evaluation.replacement import margin_of
from calibrator.files import write_whole
from calibrator.journal import Journal
from calibrator.judges.places import check_folder, check_place
from calibrator.models.build import Access, Connections, check_price
from calibrator.models.names import check_name, check_ready
from calibrator.models.prices import price_for
from calibrator.models.replies import cache_folder
from calibrator.records import Usage
from calibrator.report.compare import comparison_markdown, show_comparison
from calibrator.report.compare_files import to_csv, to_json
from calibrator.report.compare_outcome import outcome_lines
from calibrator.report.console import make_console, say, tell_aside
from calibrator.report.panel import panel_json, show_panel, verdict_of
from calibrator.report.terminal import LiveProgress
from calibrator.store import Ledger, Run
from calibrator.texts import digest

KEPT = "nothing is lost: the same command goes on where it stopped"
AFRESH = ("budget", "concurrency", "rpm", "tpm", "timeout", "price", "batch", "cache")  # do not change what is found


@dataclass(frozen=True, slots=True)
class Request:
    """A comparison as it was asked for; `said` are settings of a run."""

    judges: str | None
    models: tuple[str, ...]
    said: Mapping[str, Any]
    score_map: str = "identity"
    epsilon: str = "expert"
    negative: bool = False
    most: float | None = None
    costs: Mapping[str, str] = field(default_factory=dict)
    trials: bool = False
    by_system: bool = False
    unified: bool = False
    overall: str = ""
    preference: str | None = None
    rank_best: str = "lowest"

    def wishes(self) -> Wishes:
        """Return how judges are compared. Raises ConfigError for an option that makes no sense."""
        margin = number(self.epsilon)
        try:
            epsilon = margin_of(self.epsilon if margin is None else margin)
        except ValueError as error:
            raise ConfigError(f"--epsilon: {error}") from None
        kinds = ("identity", "linear", "isotonic", "ordinal", "auto")
        if self.score_map not in kinds:
            raise ConfigError(f"--map: '{self.score_map}' is none; those there are: {', '.join(kinds)}")
        costs = {name: _dollars(name, text) for name, text in self.costs.items()}
        return Wishes(self.most, costs, self.negative, epsilon, self.score_map)


def start(request: Request, out: Path | None, runs: Path, *, quiet: bool, as_json: bool) -> None:
    """Compare the judges, write the files and print the tables. Ctrl-C exits with 130."""
    if request.preference is not None:
        from calibrator.cli.preferring import start_preference

        start_preference(request, out, runs, quiet=quiet, as_json=as_json)
        return
    if out is not None:
        check_folder(out)
    aspects, wishes = aspects_of(request), request.wishes()
    parts = tuple(_aspect_work(request, aspect, several=len(aspects) > 1) for aspect in aspects)
    work = Work(parts, wishes, Further(request.trials, request.by_system, request.unified, request.overall))
    _check(work)
    done, place = _see_through(request, work, runs, quiet=quiet or as_json)
    folder = out or place.folder
    files = {
        "comparison.md": comparison_markdown(done.result, done.looks),
        "comparison.csv": to_csv(done.result),
        "comparison.json": to_json(done.result),
    }
    for name, text in files.items():
        write_whole(folder / name, text)
    if as_json:
        print(files["comparison.json"])
    elif quiet:
        print(*outcome_lines(done.result), folder / "comparison.md", sep="\n")
    else:
        show_comparison(make_console(), done.result, done.looks)
        for line in ("", *outcome_lines(done.result)):
            say(make_console(), line, "bold")
        say(make_console(), f"\nwritten   {folder}: {', '.join(files)}")


def start_panel(request: Request, join: str, out: Path | None, runs: Path, *, quiet: bool, as_json: bool) -> None:
    """Join judges, hold the panel against each of them, freeze it and print what it is worth."""
    if join not in ("fit", "ranks"):
        raise ConfigError(f"--join: '{join}' is none; fit or ranks")
    aspects = aspects_of(request)
    if len(aspects) != 1:
        raise ConfigError("--aspect: a panel is for one aspect")
    if len(request.models) > 1:
        problem = "a panel's members name their own models where there are several"
        raise ConfigError(f"--models: {problem}: zero-shot@{request.models[0]}+zero-shot@{request.models[1]}")
    name = parse_judges(f"panel:{'ranks=' if join == 'ranks' else ''}{request.judges}")[0]
    work = Work((_aspect_work(request, aspects[0], several=False, names=(*name.members, name)),), request.wishes())
    _check(work)
    aspect = work.aspects[0].prepared.aspect
    target = out or Path("rubrics") / "frozen" / f"{aspect.name}-panel.yaml"
    replaced = check_place(target)
    done, _ = _see_through(request, work, runs, quiet=quiet or as_json)
    frozen = done.frozen[aspect.ref]
    if replaced:
        tell_aside([f"{target} replaces {replaced}"])
    frozen.save(target)
    if as_json:
        print(panel_json(done.result, frozen, target, done.looks[0]))
    elif quiet:
        print(verdict_of(frozen), target, sep="\n")
    else:
        show_comparison(make_console(), done.result, done.looks)
        show_panel(make_console(), frozen, target)


def _check(work: Work) -> None:
    """Raise ConfigError for what would be found out only after the look: it is better before the work."""
    names = [name for part in work.aspects for name in part.names]
    judges = {str(n) for name in names for n in (name, *name.members)}
    for cost in work.wishes.costs:
        if cost not in judges and not cost.startswith("top:"):
            raise ConfigError(f"--cost: no judge is called '{cost}'; those compared: {', '.join(sorted(judges))}")
    if not any(name.members for name in names) and (work.wishes.most is not None or work.wishes.negative):
        option = "negative" if work.wishes.negative else "max-cost-per-item"
        raise ConfigError(f"--{option}: it is for panels; name one: --judges panel:criteria+recorded:P")
    aspects = [part.prepared.aspect for part in work.aspects]
    if work.further.one_split and len(aspects) < 2:
        option = "unified" if work.further.unified else "overall"
        raise ConfigError(f"--{option}: it takes several aspects; name them: --aspect relevance,coherence")
    overall = work.further.overall
    if overall and not any(overall in (a.name, a.ref) for a in aspects):
        raise ConfigError(f"--overall: '{overall}' is not compared; aspects: {', '.join(a.name for a in aspects)}")


def aspects_of(request: Request) -> tuple[str, ...]:
    """Return the aspects that were asked for; `all` are those that the data has ratings for."""
    said = settings_of(request).get("aspect")
    if said is None:
        raise ConfigError("say what to judge: --aspect relevance, several by comma, or all")
    if said == "all":
        return rated_aspects(make_config(**{**settings_of(request), "aspect": "all"}))
    return tuple(dict.fromkeys(part.strip() for part in said.split(",") if part.strip()))


def settings_of(request: Request) -> dict[str, Any]:
    """Return the settings of a run: those of `calibrate.yaml`, and over them what was said."""
    stored = read_settings(None)
    columns = {**stored.get("columns", {}), **request.said.get("columns", {})}
    return {**stored, **request.said, "columns": columns}


def _aspect_work(
    request: Request, aspect: str, *, several: bool, names: tuple[JudgeName, ...] | None = None
) -> AspectWork:
    """Return one aspect with its judges, its configuration and its data; what is left out is told aside."""
    settings = {k: v for k, v in settings_of(request).items() if k not in ("model", "drafter")}
    config = make_config(**{**settings, "aspect": aspect})
    source = open_source(config.data, config.data_dir, config.encoding)
    if names is None:
        usual = [*EMBEDDED, "recorded", *(ASKING if request.models else ())]
        names = parse_judges(request.judges or ",".join(usual))
    for model in request.models:
        check_name(model)
    chosen, missing = judges_for(
        with_models(names, request.models),
        source,
        aspect.rpartition("/")[2],
        several=several,
        said=bool(request.judges),
    )
    tell_aside(missing)
    recorded = tuple(dict.fromkeys(r for name in chosen for r in needed(name)))
    config = make_config(**{**settings, "aspect": aspect, "columns": {**settings["columns"], "recorded": recorded}})
    prepared = prepare(config)
    check_metrics(chosen, prepared, source.table.columns)
    return AspectWork(config, prepared, chosen)


def _see_through(request: Request, work: Work, runs: Path, *, quiet: bool) -> tuple[Done, Run]:
    """Compare, showing plan and progress; a comparison that was begun in the same place goes on there."""
    console = make_console(quiet)
    live: Silent | LiveProgress = Silent() if quiet else LiveProgress(console, "judges")
    config = work.aspects[0].config
    access = config.access(cache_folder())
    check_asked([name for part in work.aspects for name in part.names], config, access)
    Ledger(runs).check()
    with working_in(runs / f"compare-{_label(request, work)}", access, live) as (place, journal, connections):
        _show_plan(work, access, connections, console)
        with live:
            return compare_all(work, place, journal, Ledger(runs), connections, live), place


def check_asked(names: Sequence[JudgeName], config: RunConfig, access: Access) -> None:
    """Raise what is absent for a model that is named, or its unknown price: before there is a folder, and a look."""
    for model in dict.fromkeys(m for name in names for m in name.models):
        check_ready(model, config.model_arg)
        check_price(model, access)


@contextmanager
def working_in(folder: Path, access: Access, live: Silent | LiveProgress) -> Iterator[tuple[Run, Journal, Connections]]:
    """Hold the folder of a comparison with its journal and its models; what stops it is told with how to go on.

    Ctrl-C exits with 130.
    """
    place = Run(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with place.held():
            journal = place.journal()
            with Connections(access, journal, live.spent, place.calls(), live.news) as connections:
                yield place, journal, connections
    except KeyboardInterrupt:
        print(f"\nStopped; {KEPT}.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except ModelUnfit:
        raise  # going on would not help
    except (BudgetSpent, ModelError) as error:
        higher = ", with a higher --budget" if isinstance(error, BudgetSpent) else ""
        error.args = (f"{str(error).rstrip('.')}; {KEPT}{higher}",)
        raise


def _label(request: Request, work: Work) -> str:
    """Return a name that the same comparison has again, and no other."""
    asked = {k: v for k, v in asdict(request).items() if k != "said"}
    parts = [
        [
            a.config.model_dump(mode="json", exclude=set(AFRESH)),
            AspectFile.of(a.prepared.aspect).model_dump(mode="json"),
            a.prepared.split.digest,
        ]
        for a in work.aspects
    ]
    names = [str(n) for a in work.aspects for n in a.names]
    aspects = "-".join(a.prepared.aspect.name for a in work.aspects)
    return f"{aspects[:60]}-{digest([asked, parts, names])[:10]}"


def _show_plan(work: Work, access: Access, connections: Connections, console: Any) -> None:
    """Say on what will be compared, and how many calls that takes; before the first of them."""
    for part in work.aspects:
        prepared, config = part.prepared, part.config
        say(console, f"{prepared.aspect.label} ({prepared.aspect.ref}, {prepared.chosen})", "bold")
        split = prepared.split
        sizes = f"train {len(split.train)} / dev {len(split.dev)} / test {len(split.test)} (sealed), seed {split.seed}"
        say(console, f"data      {prepared.dataset.name}: {len(prepared.dataset.items)} rated items; {sizes}")
        say(console, f"columns   {prepared.dataset.mapped.described()}")
        for warning in prepared.warnings:
            say(console, f"warning   {warning}", "yellow")
        asked = calls(part.names, config, prepared, connections, mapped=work.wishes.map != "identity")
        for model, count in asked.items():
            tokens, price = count * tokens_a_call(prepared), price_for(model, access.price)
            cost = "its price is not known (--price gives it)"
            if price is not None:
                replies = price.cost(Usage(0, count * config.max_tokens))
                cost = f"{price.cost(Usage(round(tokens))):.4g} US dollars for these, at most {replies:.4g} for replies"
            say(console, f"plan      up to {count:,} calls of {model}, about {tokens:,.0f} prompt tokens; {cost}")
        if not asked:
            say(console, f"plan      {len(part.names)} judges; no call to any model")


def _dollars(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ConfigError(f"--cost: '{name}={text}' is not NAME=0.002 (US dollars an item)")
    return value
