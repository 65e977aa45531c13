"""The verdict of the gate on a finished run, or on a frozen panel."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from calibrator.calibration.result import RunResult, interval, trusted_rho
from calibrator.errors import RunError
from calibrator.evaluation.gate import Verdict, gate
from calibrator.judges.frozen import read_frozen
from calibrator.judges.frozen_parts import Figure
from calibrator.report.lines import cell
from calibrator.report.probe import reasons_for
from calibrator.store import Run


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a judge must reach (see `evaluation.gate`); `probe` is the file of a probe, whose thresholds count too."""

    min_gain: float
    min_rho: float
    probe: Path | None = None


def show_gate(run: Run, wanted: Wanted, *, as_json: bool) -> bool:
    """Print whether the judge of a run passes, with the figures it was decided by, and return it.

    Raises RunError if the run is not finished, its result is of another version, or the probe is of another judge.
    """
    result = result_of(run)
    over = result.best_baseline
    gain = result.test.gains[over][result.objective]
    rho, where = trusted_rho(result.test, result.systems)
    found = gate(
        interval(gain),
        interval(rho),
        result.test.groups,
        over,
        result.rejected is not None,
        wanted.min_gain,
        wanted.min_rho,
        result.data.faults,
        where,
    )
    return _tell(run.id, result.content_hash, found, (over, gain, rho), (result.objective, where), wanted, as_json)


def show_panel_gate(path: Path, wanted: Wanted, *, as_json: bool) -> bool:
    """Print whether a frozen panel passes, by the figures in its file, and return it.

    Raises RunError for a file of another judge, which is gated by its run, and RubricError if it is none, or changed.
    """
    frozen = read_frozen(path)
    groups = re.search(r"groups:(\d+)", frozen.test.signature)
    if frozen.panel is None or frozen.verdict is None or groups is None:
        raise RunError(f"{path} is no panel; name the run that made it: calibrate gate last")
    over, gain, rho = frozen.verdict.over, frozen.verdict.gain, frozen.test.figures["spearman"]
    limits = (wanted.min_gain, wanted.min_rho)
    found = gate(interval(gain), interval(rho), int(groups[1]), over, False, *limits, coverage=frozen.panel.coverage)
    figures = (over, gain, rho)
    return _tell(str(path), frozen.content_hash, found, figures, (frozen.origin.objective, ""), wanted, as_json)


def _tell(
    name: str,
    content_hash: str,
    found: Verdict,
    figures: tuple[str, Figure, Figure],
    about: tuple[str, str],
    wanted: Wanted,
    as_json: bool,
) -> bool:
    """Print the verdict, with what a probe found, and return it; `about`: the objective, and where rho was measured."""
    (over, gain, rho), (objective, where) = figures, about
    missed = reasons_for(wanted.probe, content_hash) if wanted.probe is not None else ()
    found = Verdict(found.passed and not missed, (*found.reasons, *missed))
    if as_json:
        numbers = {"gain": gain.model_dump(), "spearman": rho.model_dump(), "over": over}
        told = {"run": name, "passed": found.passed, "reasons": found.reasons, **numbers}
        print(json.dumps(told, ensure_ascii=False, indent=1))
        return found.passed
    print(f"{name}: {'passed' if found.passed else 'not passed'}")
    print(f"  gain over '{over}' ({objective}) {cell(gain, signed=True)}, wanted: lower end above {wanted.min_gain:g}")
    print(f"  spearman with the humans{where} {cell(rho)}, wanted: at least {wanted.min_rho:g}")
    print(*(f"  {reason}" for reason in found.reasons), sep="\n", end="\n" if found.reasons else "")
    return found.passed


def result_of(run: Run) -> RunResult:
    """Return the result of a finished run. Raises RunError if there is none, or it is of another version."""
    stored = run.result()
    if stored is None:
        raise RunError(f"{run.id} is not finished; go on with: calibrate resume {run.id}")
    try:
        return RunResult.model_validate(stored)
    except ValidationError:
        raise RunError(f"{run.id}: its result is of another version of calibrator; start a new run") from None
