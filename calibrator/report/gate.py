"""The verdict of the gate on a finished run."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from calibrator.calibration.result import RunResult, interval, trusted_rho
from calibrator.errors import RunError
from calibrator.evaluation.gate import Verdict, gate
from calibrator.report.lines import cell
from calibrator.report.probe import reasons_for
from calibrator.store import Run


def show_gate(run: Run, min_gain: float, min_rho: float, probe: Path | None = None, *, as_json: bool) -> bool:
    """Print whether the judge of a run passes, with the figures it was decided by, and return it.

    With `probe`, the file of a probe of the same judge, the thresholds that it missed count too. Raises RunError if the
    run is not finished, its result is of another version, or the probe is of another judge.
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
        min_gain,
        min_rho,
        result.data.faults,
        where,
    )
    missed = reasons_for(probe, result.content_hash) if probe is not None else ()
    found = Verdict(found.passed and not missed, (*found.reasons, *missed))
    if as_json:
        figures = {"gain": gain.model_dump(), "spearman": rho.model_dump(), "over": over}
        about = {"run": run.id, "passed": found.passed, "reasons": found.reasons, **figures}
        print(json.dumps(about, ensure_ascii=False, indent=1))
        return found.passed
    print(f"{run.id}: {'passed' if found.passed else 'not passed'}")
    print(f"  gain over '{over}' ({result.objective}) {cell(gain, signed=True)}, wanted: lower end above {min_gain:g}")
    print(f"  spearman with the humans{where} {cell(rho)}, wanted: at least {min_rho:g}")
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
