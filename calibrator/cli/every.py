"""`calibrate run --aspect all`: a run for every rated aspect, and one table."""

from __future__ import annotations

import json
from pathlib import Path

from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import rated_aspects
from calibrator.cli.work import start, tell
from calibrator.errors import ConfigError, DataError
from calibrator.report.console import make_console, say, tell_aside
from calibrator.report.every import show_every


def start_every(config: RunConfig, runs: Path, *, as_json: bool) -> None:
    """Calibrate a judge for every aspect that the data is rated for; one that cannot be is told and passed over."""
    named = (("--out", config.out), ("--aspect-file", config.aspect_file), ("--score", config.columns.score))
    if given := [option for option, value in named if value]:
        raise ConfigError(f"{given[0]}: it is for one aspect; with --aspect all each has its own")
    console, finished, skipped = make_console(quiet=as_json), [], list[str]()
    for aspect in rated_aspects(config):
        say(console, f"{aspect}", "bold")
        try:
            done = start(config.model_copy(update={"aspect": aspect}), runs, quiet=True)
        except DataError as error:
            skipped.append(f"{aspect} is left out: {error}")
            continue
        finished.append(done)
        if not as_json:
            tell(done, quiet=True, as_json=False)
    tell_aside(skipped)
    if not finished:
        raise ConfigError("--aspect all: no aspect could be calibrated")
    if as_json:
        print(json.dumps([done.summary() for done in finished], ensure_ascii=False, indent=1))
    else:
        show_every(console, [done.outcome.result for done in finished])
