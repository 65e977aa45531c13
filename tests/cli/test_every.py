"""`calibrate run --aspect all`, and the audit's cheap checks before a run, through the installed command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from calibrator.calibration.config import RunConfig, make_config
from calibrator.cli import every
from calibrator.cli.work import Done
from calibrator.errors import CalibrationError, ConfigError
from calibrator.stats.permutation import holm
from tests.conftest import Calibrate, make_items, rated_rows
from tests.doubles.server import serving

QUICK = ("--trials", 2, "--rounds", 0, "--resamples", 100)
Write = Callable[..., Path]


def _two_aspects() -> list[dict[str, object]]:
    return [
        {"input": i.source, "output": i.output, "human.relevance": i.human, "human.fluency": 6 - (i.human or 0)}
        for i in make_items(80, 30)
    ]


def test_every_rated_aspect_has_its_run_and_its_judge(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    path = write_csv(_two_aspects())
    done = calibrate("run", "-a", "all", "-d", path, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "all rated aspects" in done.stdout and "p Holm" in done.stdout
    assert {p.stem for p in (tmp_path / "rubrics" / "frozen").glob("*.yaml")} == {"relevance", "fluency"}
    assert len(list((tmp_path / "runs").glob("*/result.json"))) == 2


def test_holm_is_over_the_aspects_of_one_call(calibrate: Calibrate, write_csv: Write) -> None:
    path = write_csv(_two_aspects())
    results = json.loads(calibrate("run", "-a", "all", "-d", path, *QUICK, "--json").stdout)
    p = [r["test"]["p"][r["best_baseline"]] for r in results]
    table = calibrate("run", "-a", "all", "-d", path, *QUICK).stdout
    for value in holm(p):
        assert ("< 0.001" if value < 0.001 else f"{value:.3f}") in table


def test_an_aspect_that_cannot_be_calibrated_is_told_and_passed_over(calibrate: Calibrate, write_csv: Write) -> None:
    rows = [r | {"human.coherence": 3} for r in _two_aspects()]
    done = calibrate("run", "-a", "all", "-d", write_csv(rows), *QUICK)
    assert done.returncode == 0
    assert "coherence is left out" in done.stderr and "coherence" not in done.stdout.split("all rated aspects")[1]


def test_quiet_is_a_line_for_each_aspect(calibrate: Calibrate, write_csv: Write) -> None:
    done = calibrate("run", "-a", "all", "-d", write_csv(_two_aspects()), *QUICK, "-q")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sorted(line.split(":")[0] for line in lines) == ["fluency", "relevance"]
    assert all("p Holm" in line and line.endswith(".yaml") for line in lines)


def test_an_aspect_without_a_fit_judge_is_passed_over(
    write_csv: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(config: RunConfig, runs: Path, *, quiet: bool) -> Done:
        raise CalibrationError(f"nothing is fit for {config.aspect}")

    monkeypatch.setattr(every, "start", fails)
    config = make_config(aspect="all", data=str(write_csv(_two_aspects())))
    with pytest.raises(ConfigError, match="no aspect"):
        every.start_every(config, tmp_path, quiet=True, as_json=False)
    assert capsys.readouterr().err.count("is left out: nothing is fit for") == 2


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(130)])
def test_after_an_interrupt_it_is_said_what_is_not_done(
    stop: BaseException,
    write_csv: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stopped(config: RunConfig, runs: Path, *, quiet: bool) -> Done:
        seen.append(config.aspect)
        if len(seen) == 1:
            raise CalibrationError("nothing is fit")
        raise stop

    seen: list[str] = []
    monkeypatch.setattr(every, "start", stopped)
    config = make_config(aspect="all", data=str(write_csv(_two_aspects())))
    with pytest.raises(SystemExit) as left:
        every.start_every(config, tmp_path, quiet=False, as_json=False)
    assert left.value.code == 130
    told = capsys.readouterr().err
    assert f"{seen[0]} is left out" in told and told.endswith(f"Not done yet: {seen[1]}\n")


@pytest.mark.parametrize("option", [("--out", "x.yaml"), ("--score", "human.relevance")])
def test_what_is_for_one_aspect_is_refused_with_all(
    calibrate: Calibrate, write_csv: Write, option: tuple[str, str]
) -> None:
    done = calibrate("run", "-a", "all", "-d", write_csv(_two_aspects()), *option)
    assert done.returncode == 2 and option[0] in done.stderr


def test_data_without_a_rated_aspect_is_said(calibrate: Calibrate, write_csv: Write) -> None:
    path = write_csv([{"input": "a b", "output": "c d", "stars": 3}] * 20)
    done = calibrate("run", "-a", "all", "-d", path)
    assert done.returncode == 2 and "no column" in done.stderr and "Traceback" not in done.stderr


def test_a_human_column_that_is_a_judges_stops_a_run(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    rows = [r | {"gpt/zero-shot/relevance": r["human_score"]} for r in rated_rows(60, 30)]
    path = write_csv(rows)
    stopped = calibrate("run", "-a", "neutral/relevance", "-d", path, *QUICK)
    assert stopped.returncode == 2
    assert "gpt/zero-shot/relevance" in stopped.stderr and "--force" in stopped.stderr
    assert not (tmp_path / "runs").exists(), "nothing was begun"
    forced = calibrate("run", "-a", "neutral/relevance", "-d", path, *QUICK, "--force")
    assert forced.returncode == 0, forced.stderr


def test_real_labels_that_are_a_judges_stop_a_run(calibrate: Calibrate, real_data: Path, tmp_path: Path) -> None:
    text = (real_data / "cseval" / "suspect_labels.csv").read_text(encoding="utf-8")
    copy = tmp_path / "suspect.csv"
    copy.write_text(text, encoding="utf-8")
    done = calibrate("run", "-a", "cseval/relevance", "-d", copy, "--scale", "0-5", *QUICK)
    assert done.returncode == 2 and "--force" in done.stderr and "auto-cseval" in done.stderr.casefold()


def test_one_budget_is_for_all_aspects(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    path = write_csv(_two_aspects())
    with serving(tmp_path / "log") as double:
        asked = ("--model", f"{double.url}#double", "--no-cache", "--shots", 3, "--keep")
        done = calibrate("run", "-a", "all", "-d", path, *QUICK, *asked, "--budget", "10000calls")
        assert done.returncode == 0, done.stderr
        needed = len(double.asked())
        budget = needed - 20
        done = calibrate("run", "-a", "all", "-d", path, *QUICK, *asked, "--budget", f"{budget}calls")
        assert len(double.asked()) == needed + budget
    assert done.returncode == 3
    assert "Not done yet: " in done.stderr and "is spent; nothing is lost" in done.stderr
