"""`calibrate compare` and `calibrate panel`, through the installed command."""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calibrator.comparison.result import ComparisonResult
from calibrator.judges.build import load_judge
from calibrator.judges.frozen import read_frozen
from calibrator.records import Judgment
from tests.cli.test_llm import DATA, command, write_data
from tests.cli.test_score_llm import begun, replies_in, wait_until
from tests.conftest import Calibrate, rated_rows
from tests.doubles.server import serving

QUICK = ("--resamples", 200)
Write = Callable[..., Path]


def recorded_rows(count: int = 120, groups: int = 40) -> list[dict[str, object]]:
    """Return rated rows with two recorded judges: a good one, and one that is there for a third of the rows only."""
    rows = rated_rows(count, groups)
    for k, row in enumerate(rows):
        human = float(str(row["human_score"]))
        row["good/relevance"] = min(5.0, max(1.0, human + ((k * 7) % 3 - 1)))
        row["rare/relevance"] = 6 - human if k % 3 == 0 else ""
        row["metric/length (a, b)"] = len(str(row["output"])) / 100
    return rows


def comparison(text: str) -> ComparisonResult:
    return ComparisonResult.model_validate_json(text)


def test_the_demonstration_compares_what_can_be_had(calibrate: Calibrate, tmp_path: Path) -> None:
    done = calibrate("compare", "-a", "relevance", *QUICK)
    assert done.returncode == 0, done.stderr
    for name in ("constant", "length", "uncalibrated", "criteria"):
        assert name in done.stdout
    assert "look 1 at this test side" in done.stdout
    folder = next((tmp_path / "runs").glob("compare-*"))
    assert {"comparison.md", "comparison.csv", "comparison.json"} <= {p.name for p in folder.iterdir()}
    again = calibrate("compare", "-a", "relevance", *QUICK, "--json")
    assert comparison(again.stdout) == comparison((folder / "comparison.json").read_text())
    assert len((tmp_path / "runs" / "ledger.jsonl").read_text().splitlines()) == 1, "the same comparison, the same look"
    other = calibrate("compare", "-a", "relevance", *QUICK, "-j", "criteria")
    assert "look 2 at this test side" in other.stdout, "another comparison is another look"


def test_the_criteria_row_is_that_of_run(calibrate: Calibrate) -> None:
    """Same split, same constant baseline: the two commands speak of the same test side."""
    run = json.loads(calibrate("run", "-a", "relevance", "--trials", 2, "--rounds", 0, *QUICK, "--json").stdout)
    found = comparison(calibrate("compare", "-a", "relevance", *QUICK, "--json").stdout).tables[0]
    rows = {row.name: row for row in found.rows}
    of_run = {j["name"]: j for j in run["test"]["judges"]}
    assert rows["constant"].figures["mae"].value == of_run["constant"]["figures"]["mae"]["value"]
    assert rows["length"].figures["spearman"].value == of_run["length only"]["figures"]["spearman"]["value"]
    assert run["split"]["digest"][:12] in found.signature


def test_recorded_judges_full_and_partial_and_a_metric(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    path = write_csv(recorded_rows())
    wanted = "recorded:good,recorded:rare,recorded:metric/length (a, b),panel:criteria+recorded:good"
    done = calibrate("compare", "-a", "neutral/relevance", "-d", path, "-j", wanted, *QUICK, "--out", "cmp", "--json")
    assert done.returncode == 0, done.stderr
    table = comparison(done.stdout).tables[0]
    rows = {row.name: row for row in table.rows}
    good, rare, metric = (rows[f"recorded:{n}"] for n in ("good", "rare", "metric/length (a, b)"))
    assert (good.partial, good.items) == (False, table.items)
    assert rare.partial and rare.items < table.items / 2
    assert rare.failures == {"no recorded score": table.size - rare.items}
    assert set(rare.beside) == {row.name for row in table.rows if not row.partial}
    assert rare.figures["spearman"].value == pytest.approx(-1.0), "one that runs the other way is shown as it is"
    assert (metric.family, "mae" in metric.figures) == ("metric", False)
    assert any("scored" in c and "recorded:rare" in c for c in table.cautions)
    assert rows["panel:criteria+recorded:good"].family == "panel"
    with (tmp_path / "cmp" / "comparison.csv").open(encoding="utf-8", newline="") as file:
        read = {row["judge"]: row for row in csv.DictReader(file)}
    assert float(read["recorded:good"]["spearman"]) == good.figures["spearman"].value


def test_several_aspects_with_their_mean(calibrate: Calibrate, tmp_path: Path) -> None:
    done = calibrate(
        "compare", "-a", "relevance,coherence", "-j", "criteria", *QUICK, "--unified", "--trials", "--json"
    )
    assert done.returncode == 0, done.stderr
    found = comparison(done.stdout)
    assert [t.aspect.name for t in found.tables] == ["relevance", "coherence"]
    mean = next(m for m in found.means if m.name == "criteria")
    each = [next(r for r in t.rows if r.name == "criteria").figures["spearman"].value or 0.0 for t in found.tables]
    assert mean.figures["spearman"] == pytest.approx(sum(each) / 2, abs=1e-6)
    assert len(found.extras) == 3, "a table of trials for each aspect, and the unified score"
    digests = [t.signature.split("split:")[1][:12] for t in found.tables]
    assert len(found.tables) == len(digests)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say what to judge"),
        (("-a", "relevance", "-j", "foo"), "'foo' is no judge"),
        (("-a", "relevance", "-j", "zero-shot"), "zero-shot asks a model; name one"),
        (("-a", "relevance", "-j", "recorded:nobody"), "no column holds the scores of a judge 'nobody'"),
        (("-a", "relevance", "--map", "cubic"), "--map: 'cubic' is none"),
        (("-a", "relevance", "--cost", "criteria"), "--cost: 'criteria' is not NAME=0.002"),
        (("-a", "relevance", "--cost", "criteria=-1"), "is not NAME=0.002"),
        (("-a", "relevance", "--epsilon", "novice"), "--epsilon: 'novice'"),
        (("-a", "relevance", "--overall", "relevance"), "--overall: it takes several aspects"),
        (("-a", "relevance,coherence", "--overall", "nope"), "--overall: 'nope' is not compared"),
        (("-a", "relevance", "--unified"), "--unified: it takes several aspects"),
        (("-a", "relevance", "--negative"), "--negative: it is for panels"),
        (("-a", "relevance", "--max-cost-per-item", "1"), "--max-cost-per-item: it is for panels"),
        (("-a", "relevance", "--cost", "nobody=1"), "--cost: no judge is called 'nobody'"),
        (("-a", "relevance", "--preference", "x", "--max-cost-per-item", "1"), "--max-cost-per-item: not with"),
        (("-a", "relevance", "--preference", "x", "--test", "y.csv"), "--test: not with --preference"),
        (("-a", "relevance", "-j", "calibrated:nothing"), "there is no frozen judge 'nothing'"),
        (("-a", "relevance", "--models", "foo"), "'foo' is no model"),
        (("-a", "relevance", "--preference", "nothing", "-j", "recorded:x"), "nothing"),
        (("-a", "relevance", "-j", "criteria,criteria"), "named twice"),
    ],
)
def test_a_mistake_is_one_line(calibrate: Calibrate, arguments: tuple[str, ...], said: str) -> None:
    done = calibrate("compare", *arguments)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_mistake_is_found_before_the_look(calibrate: Calibrate, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for wrong in (("--overall", "nope"), ("--unified",), ("--out", "file/below")):
        assert calibrate("compare", "-a", "relevance", *wrong).returncode == 2
    assert not (tmp_path / "runs" / "ledger.jsonl").exists()


def test_a_frozen_judge_that_was_replaced_is_another_one(calibrate: Calibrate, tmp_path: Path) -> None:
    """The figures of a comparison are those of the judge that lies in the file now, under the same name."""
    frozen, quick = tmp_path / "rubrics" / "frozen" / "relevance.yaml", ("--trials", 2, "--rounds", 0, *QUICK, "-q")
    found = []
    for seed in (0, 1):
        assert calibrate("run", "-a", "relevance", *quick, "--keep", "--seed", seed).returncode == 0
        assert frozen.exists()
        done = calibrate("compare", "-a", "relevance", "-j", "calibrated:relevance", *QUICK, "--json")
        rows = {row.name: row for row in comparison(done.stdout).tables[0].rows}
        found.append(rows["calibrated:relevance"])
    assert found[0].figures != found[1].figures
    assert found[0].notes == () and "has seen items of this test side" in found[1].notes[0]


def test_methods_and_models_are_crossed(tmp_path: Path) -> None:
    """The double gives no log-probabilities, so that G-Eval takes 20 samples, and says so."""
    folder = tmp_path / "work"
    write_data(folder)
    with serving(tmp_path / "log") as double:
        models = f"{double.url}#one,{double.url}#two"
        doing = ("compare", *DATA, "-j", "zero-shot,g-eval", "--models", models, *QUICK, "--json")
        done = command(folder, *doing)
        assert done.returncode == 0, done.stderr
        asked = len(double.asked())
        again = command(folder, *doing)
        assert len(double.asked()) == asked, "a second time nothing is asked"
    found = comparison(done.stdout)
    assert comparison(again.stdout).tables == found.tables
    names = [row.name for row in found.tables[0].rows if "@" in row.name]
    assert names == [f"{m}@{double.url}#{n}" for m in ("zero-shot", "g-eval") for n in ("one", "two")]
    told = " ".join(found.tables[0].cautions)
    assert "the mean of 20 samples instead" in told
    rows = {row.name: row for row in found.tables[0].rows}
    assert rows[names[0]].judgments == found.tables[0].size and rows[names[0]].cost is None


def test_a_killed_comparison_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    write_data(folder)
    with serving(tmp_path / "log", "--delay", "0.05") as double:
        doing = (
            "compare",
            *DATA,
            "-j",
            "panel:criteria+zero-shot",
            "-m",
            f"{double.url}#m",
            "--no-cache",
            "--resamples",
        )
        with begun(folder, *doing, "200", "--concurrency", "2") as process:
            wait_until(lambda: any(len(replies_in(p)) > 5 for p in (folder / "runs").glob("compare-*")))
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
        done = command(folder, *doing, "200", "--concurrency", "2", "--json")
        assert done.returncode == 0, done.stderr
        keys = [e["key"] for e in map(json.loads, (tmp_path / "log").read_text().splitlines()) if e["event"] == "asked"]
    found = comparison(done.stdout)
    panel = next(r for r in found.tables[0].rows if r.family == "panel")
    assert panel.known > 0 and panel.judgments == found.tables[0].size
    assert len(keys) - len(set(keys)) <= 2, "only those under way when it was killed are asked again"


def test_a_budget_stops_it_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    write_data(folder)
    with serving(tmp_path / "log") as double:
        doing = ("compare", *DATA, "-j", "zero-shot", "-m", f"{double.url}#m", "--no-cache", *QUICK)
        done = command(folder, *doing, "--budget", "5calls")
        assert done.returncode == 3 and "higher --budget" in done.stderr.splitlines()[-1]
        assert len(double.asked()) <= 5
        more = command(folder, *doing, "--budget", "500calls")
        assert more.returncode == 0, more.stderr


def frozen_panel(calibrate: Calibrate, path: Path, *more: object) -> dict[str, Any]:
    done = calibrate("panel", "criteria+recorded:good", "-a", "neutral/relevance", "-d", path, *QUICK, *more, "--json")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("join", ["fit", "ranks"])
def test_a_frozen_panel_scores_as_it_did(calibrate: Calibrate, write_csv: Write, tmp_path: Path, join: str) -> None:
    path = write_csv(recorded_rows())
    told = frozen_panel(calibrate, path, "--join", join)
    frozen = read_frozen(tmp_path / told["frozen"])
    assert frozen.judge.method == "panel" and frozen.panel is not None and frozen.panel.join == join
    assert all(m.weight >= 0 for m in frozen.panel.members)
    done = calibrate("score", path, "--rubric", told["frozen"], "--out", "scored.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "scored.csv").open(encoding="utf-8", newline="") as file:
        scores = [float(row["judge_relevance"]) for row in csv.DictReader(file)]
    assert len(scores) == 120 and all(1 <= s <= 5 for s in scores) and len(set(scores)) > 10
    name = f"panel:{'ranks=' if join == 'ranks' else ''}criteria+recorded:good"
    loaded = calibrate(
        "compare", "-a", "neutral/relevance", "-d", path, "-j", f"calibrated:{told['frozen']}", *QUICK, "--json"
    )
    assert loaded.returncode == 0, loaded.stderr
    row = next(r for r in comparison(loaded.stdout).tables[0].rows if r.name.startswith("calibrated:"))
    fresh = next(r for r in told["comparison"]["tables"][0]["rows"] if r["name"] == name)
    assert row.figures["spearman"].value == fresh["figures"]["spearman"]["value"]
    assert row.family == "panel"
    shown = calibrate("export", told["frozen"], "--to", "markdown")
    assert shown.returncode == 0 and "recorded:good" in shown.stdout


def test_a_file_without_the_columns_of_a_panel_is_refused(
    calibrate: Calibrate, write_csv: Write, tmp_path: Path
) -> None:
    told = frozen_panel(calibrate, write_csv(recorded_rows()))
    write_csv([{k: v for k, v in row.items() if k != "good/relevance"} for row in recorded_rows()], "other.csv")
    done = calibrate("score", "other.csv", "--rubric", told["frozen"])
    assert done.returncode == 2 and "no column holds the scores of a judge 'good'" in done.stderr


def test_the_best_panel_under_a_cost(calibrate: Calibrate, write_csv: Write) -> None:
    path = write_csv(recorded_rows())
    doing = ("panel", "criteria+recorded:good", "-a", "neutral/relevance", "-d", path, *QUICK)
    unknown = calibrate(*doing, "--max-cost-per-item", 0.01)
    assert unknown.returncode == 2 and "the cost of recorded:good is not known" in unknown.stderr
    costs = ("--cost", "recorded:good=0.002")
    cheap = json.loads(calibrate(*doing, *costs, "--max-cost-per-item", 0.001, "--json").stdout)
    rich = json.loads(calibrate(*doing, *costs, "--max-cost-per-item", 0.01, "--json").stdout)
    assert cheap["members"] == [] and [m["name"] for m in rich["members"]] == ["recorded:good"]
    notes = next(r for r in rich["comparison"]["tables"][0]["rows"] if r["family"] == "panel")["notes"]
    assert "chosen on dev among 3 panels" in notes[0]


def test_the_panel_with_gpt4_on_real_items(real_data: Path, tmp_path: Path) -> None:
    """The finding that panels come from: criteria and a recorded judge together agree better than either alone."""
    done = command(
        tmp_path,
        "panel",
        "criteria+recorded:gpt-4/zero-shot",
        "-a",
        "relevance",
        "-d",
        "cseval",
        *QUICK,
        "--json",
        CALIBRATOR_DATA=str(real_data),
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rows = {r["name"]: r["figures"]["spearman"]["value"] for r in told["comparison"]["tables"][0]["rows"]}
    panel = rows["panel:criteria+recorded:gpt-4/zero-shot"]
    assert panel > rows["criteria"] and panel > rows["recorded:gpt-4/zero-shot"]
    assert told["verdict"]["passed"] and told["verdict"]["gain"]["low"] > 0
    with load_judge(tmp_path / told["frozen"]) as judge:
        assert not isinstance(judge, Judgment)


def test_preference_on_real_rankings(real_data: Path, tmp_path: Path) -> None:
    aspects = ",".join(f"cseval/{a}" for a in ("relevance", "coherence", "aggressiveness", "suitableness"))
    done = command(
        tmp_path,
        "compare",
        "-d",
        real_data / "cseval" / "rankings.csv",
        "--preference",
        "rank_human_annotation",
        "-a",
        aspects,
        "-j",
        "recorded:prediction_gpt-4o",
        "--json",
        *QUICK,
    )
    assert done.returncode == 0, done.stderr
    found = comparison(done.stdout)
    assert found.tables == () and "NDCG" in found.extras[0].title
    assert any("marked as running the other way" in note for note in found.extras[0].notes)


def test_a_panel_of_all_recorded_judges(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    path = write_csv(recorded_rows())
    done = calibrate("panel", "criteria+recorded", "-a", "neutral/relevance", "-d", path, *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [m["name"] for m in told["members"]] == [
        "recorded:good",
        "recorded:rare",
        "recorded:metric/length (a, b)",
    ]
    assert calibrate("score", path, "--rubric", told["frozen"], "--out", "s.csv").returncode == 0


def test_a_panel_is_exported_whole_or_not_at_all(calibrate: Calibrate, write_csv: Write) -> None:
    told = frozen_panel(calibrate, write_csv(recorded_rows()))
    refused = calibrate("export", told["frozen"], "--to", "prompt")
    assert refused.returncode == 2 and "no one prompt does what a panel does" in refused.stderr
    assert "| `recorded:good` | +" in calibrate("export", told["frozen"], "--to", "markdown").stdout


def test_a_panel_takes_one_model(calibrate: Calibrate) -> None:
    done = calibrate("panel", "criteria+zero-shot", "-a", "relevance", "--models", "vllm/a,vllm/b")
    assert done.returncode == 2 and "zero-shot@vllm/a+zero-shot@vllm/b" in done.stderr


def test_the_gate_on_a_frozen_panel(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    told = frozen_panel(calibrate, write_csv(recorded_rows()))
    rho = read_frozen(tmp_path / told["frozen"]).test.figures["spearman"].value or 0.0
    for low, code in ((rho - 1e-4, 0), (rho + 1e-4, 1)):
        done = calibrate("gate", told["frozen"], "--min-rho", low, "--min-gain", -1, "--json")
        assert (done.returncode, json.loads(done.stdout)["passed"]) == (code, code == 0)
    probe = calibrate(
        *("probe", told["frozen"], "-d", "data.csv", "--probes", "verbosity", "--out", "p.json", "--resamples", 200),
        *("--threshold", "max_length_partial=0"),
    )
    assert probe.returncode == 0, probe.stderr
    done = calibrate("gate", told["frozen"], "--min-rho", 0, "--min-gain", -1, "--probe", "p.json")
    assert done.returncode == 1 and "verbosity" in done.stdout


def test_quiet_is_the_outcome(calibrate: Calibrate) -> None:
    done = calibrate("compare", "-a", "relevance", *QUICK, "-q")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("relevance: highest is criteria, spearman 0.")
    assert "better than length (p " in lines[0]
    assert lines[-1].endswith("comparison.md")


def test_settings_may_stand_in_the_file(calibrate: Calibrate, tmp_path: Path) -> None:
    (tmp_path / "calibrate.yaml").write_text("aspect: relevance\nresamples: 200\n")
    done = calibrate("compare", "-j", "criteria", "-q")
    assert done.returncode == 0 and done.stdout.startswith("relevance: highest is")


def test_recorded_judges_that_are_not_found_are_told(calibrate: Calibrate, write_csv: Write) -> None:
    rows = [
        {("bot" if k == "good/relevance" else k): v for k, v in r.items() if "/" not in k or k == "good/relevance"}
        for r in recorded_rows()
    ]
    done = calibrate(
        "compare", "-a", "neutral/relevance", "-d", write_csv(rows), "-j", "criteria,recorded", *QUICK, "-q"
    )
    assert done.returncode == 0 and "name recorded judges by their columns" in done.stderr


def test_a_panel_that_leaves_items_out_does_not_pass(calibrate: Calibrate, write_csv: Write) -> None:
    """With half of the judges' weight missing there is no score; the gate says so, here and on the file."""
    rows = recorded_rows()
    for k, row in enumerate(rows):
        row["half/relevance"] = max(1.0, float(str(row["human_score"])) - (k % 5 == 0)) if k % 2 else ""
    told = json.loads(
        calibrate(
            *(
                "panel",
                "recorded:half+recorded:rare",
                "-a",
                "neutral/relevance",
                "-d",
                write_csv(rows),
                *QUICK,
                "--json",
            )
        ).stdout
    )
    assert any("of the test side only" in reason for reason in told["verdict"]["reasons"])
    gated = calibrate("gate", told["frozen"], "--min-gain", -2, "--min-rho", -1)
    assert gated.returncode == 1 and "of the test side only" in gated.stdout
    scored = calibrate("score", "data.csv", "--rubric", told["frozen"], "--out", "s.csv")
    assert "recorded:half has no score in 60 rows" in scored.stdout
