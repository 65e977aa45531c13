"""`calibrate run --map` through the installed command."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Calibrate

QUICK = ("--trials", 2, "--rounds", 1, "--resamples", 100)


def test_a_run_with_a_map_tells_it_freezes_it_and_scores_by_it(calibrate: Calibrate, tmp_path: Path) -> None:
    plain = calibrate("run", "--aspect", "relevance", *QUICK, "--out", "plain.yaml", "--json")
    assert plain.returncode == 0, plain.stderr
    assert "map" not in json.loads(plain.stdout)
    done = calibrate("run", "--aspect", "relevance", *QUICK, "--map", "linear", "--out", "mapped.yaml")
    assert done.returncode == 0, done.stderr
    assert "Score map of 'calibrated': linear; mae " in done.stdout
    run = max((tmp_path / "runs").glob("*-relevance-*"), key=lambda p: (p / "report.md").stat().st_mtime)
    assert "## Score map" in (run / "report.md").read_text()
    assert json.loads((run / "config.json").read_text())["map"] == "linear"
    rows = [{"source": "A question about the river.", "output": text} for text in ("A river.", "The river " * 9)]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    scores = {}
    for name in ("plain", "mapped"):
        scored = calibrate("score", "new.jsonl", "--rubric", f"{name}.yaml", "--out", f"{name}.jsonl")
        assert scored.returncode == 0, scored.stderr
        scores[name] = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
    assert scores["plain"] != scores["mapped"]
    again = calibrate("resume", run.name)
    assert again.returncode == 0, again.stderr
    assert "Score map of 'calibrated': linear; mae " in again.stdout


def test_a_map_that_there_is_not_is_told_in_a_line(calibrate: Calibrate) -> None:
    for arguments, told in (
        (("--map", "cubic"), "--map: "),
        (("--map", "auto", "--protocol", "paper"), "--map: under the paper's protocol"),
    ):
        done = calibrate("run", "--aspect", "relevance", *QUICK, *arguments)
        assert done.returncode == 2, done.stderr
        assert told in done.stderr and "Traceback" not in done.stderr
