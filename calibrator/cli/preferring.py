"""What `compare --preference` does: judges against the ranks that people gave the outputs of each group."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from calibrator import __version__
from calibrator.aspects import find_aspect, read_aspect
from calibrator.calibration.config import make_config
from calibrator.calibration.progress import Silent
from calibrator.catalog import open_source
from calibrator.cli.comparing import AFRESH, Request, aspects_of, settings_of, working_in
from calibrator.comparison.names import parse_judges, with_models
from calibrator.comparison.preferring import Preferring, prefer
from calibrator.comparison.preferring_tables import parse_ranked
from calibrator.comparison.result import ComparisonResult
from calibrator.errors import ConfigError
from calibrator.files import write_whole
from calibrator.models.replies import cache_folder
from calibrator.report.compare import comparison_markdown, show_comparison
from calibrator.report.compare_files import to_json
from calibrator.report.console import make_console, say
from calibrator.report.terminal import LiveProgress
from calibrator.texts import digest

FORBIDDEN = ("trials", "by_system", "unified", "overall", "most", "negative")


def start_preference(request: Request, out: Path | None, runs: Path, *, quiet: bool, as_json: bool) -> None:
    """Hold the judges against the ranks, write the tables down and print them. Ctrl-C exits with 130."""
    given = [name for name in FORBIDDEN if getattr(request, name)]
    if given or request.score_map != "identity":
        option = (given or ["map"])[0].replace("_", "-")
        raise ConfigError(f"--{option}: not with --preference, where there are ranks and no ratings")
    settings = {k: v for k, v in settings_of(request).items() if k not in ("model", "drafter")}
    refs = aspects_of(request)
    config = make_config(**{**settings, "aspect": refs[0]})
    source = open_source(config.data, config.data_dir, config.encoding)
    file = config.aspect_file
    aspects = tuple(read_aspect(file) if file else find_aspect(ref, source.suite)[0] for ref in refs)
    usual = ",".join(["recorded", *(("zero-shot", "g-eval") if request.models else ())])
    names = with_models(parse_judges(request.judges or usual), request.models)
    ranks = parse_ranked(request.preference or "", request.rank_best)
    task = Preferring(source, aspects, names, ranks, config)
    live: Silent | LiveProgress = Silent() if quiet or as_json else LiveProgress(make_console(), "judges")
    said = {k: v for k, v in asdict(request).items() if k != "said"}
    label = digest([said, config.model_dump(mode="json", exclude=set(AFRESH)), refs])[:10]
    with (
        working_in(runs / f"preference-{label}", config.access(cache_folder()), live) as (place, journal, connections),
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
