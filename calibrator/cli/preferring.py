"""What `compare --preference` does: judges against the ranks that people gave the outputs of each group."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from calibrator import __version__
from calibrator.aspects import find_aspect, parse_scale, read_aspect
from calibrator.calibration.config import make_config
from calibrator.calibration.progress import Silent
from calibrator.catalog import open_source
from calibrator.cli.comparing import AFRESH, Request, aspects_of, check_asked, settings_of, working_in
from calibrator.comparison.names import parse_judges, with_models
from calibrator.comparison.preferring import Preferring, prefer
from calibrator.comparison.preferring_tables import parse_ranked
from calibrator.comparison.result import ComparisonResult
from calibrator.errors import ConfigError
from calibrator.files import write_whole
from calibrator.judges.places import check_folder
from calibrator.models.replies import cache_folder
from calibrator.report.compare import comparison_markdown, show_comparison
from calibrator.report.compare_files import to_json
from calibrator.report.console import make_console, say
from calibrator.report.terminal import LiveProgress
from calibrator.texts import digest

# Options that are about ratings, by the field of the request or of the settings.
FORBIDDEN = {
    "trials": "--trials",
    "by_system": "--by-system",
    "unified": "--unified",
    "overall": "--overall",
    "most": "--max-cost-per-item",
    "negative": "--negative",
    "costs": "--cost",
}
FORBIDDEN_SETTINGS = {"test": "--test", "objective": "--objective"}


def start_preference(request: Request, out: Path | None, runs: Path, *, quiet: bool, as_json: bool) -> None:
    """Hold the judges against the ranks, write the tables down and print them. Ctrl-C exits with 130."""
    given = [option for name, option in FORBIDDEN.items() if getattr(request, name)]
    given += [option for name, option in FORBIDDEN_SETTINGS.items() if name in request.said]
    given += ["--score"] if request.said.get("columns", {}).get("score") else []
    given += ["--map"] if request.score_map != "identity" else []
    given += ["--epsilon"] if request.epsilon != "expert" else []
    if given:
        raise ConfigError(f"{given[0]}: not with --preference, where there are ranks and no ratings")
    if out is not None:
        check_folder(out)
    settings = {k: v for k, v in settings_of(request).items() if k not in ("model", "drafter")}
    refs = aspects_of(request)
    config = make_config(**{**settings, "aspect": refs[0]})
    source = open_source(config.data, config.data_dir, config.encoding)
    file = config.aspect_file
    found = [read_aspect(file) if file else find_aspect(ref, source.suite)[0] for ref in refs]
    scale = parse_scale(config.scale) if config.scale else None
    aspects = tuple(replace(a, scale=scale, anchors={}) if scale else a for a in found)
    usual = ",".join(["recorded", *(("zero-shot", "g-eval") if request.models else ())])
    names = with_models(parse_judges(request.judges or usual), request.models)
    ranks = parse_ranked(request.preference or "", request.rank_best)
    task = Preferring(source, aspects, names, ranks, config)
    access = config.access(cache_folder())
    check_asked(names, config, access)
    live: Silent | LiveProgress = Silent() if quiet or as_json else LiveProgress(make_console(), "judges")
    said = {k: v for k, v in asdict(request).items() if k != "said"}
    label = digest([said, config.model_dump(mode="json", exclude=set(AFRESH)), refs])[:10]
    with (
        working_in(runs / f"preference-{label}", access, live) as (place, journal, connections),
        live,
    ):
        extras = prefer(task, place, journal, connections, live)
    result = ComparisonResult(calibrator=__version__, tables=(), extras=extras)
    folder = out or place.folder
    write_whole(folder / "preference.md", comparison_markdown(result))
    write_whole(folder / "preference.json", to_json(result))
    if as_json:
        print(to_json(result))
    elif quiet:
        print(folder / "preference.md")
    else:
        show_comparison(make_console(), result)
        say(make_console(), f"\nwritten   {folder}: preference.md, preference.json")
