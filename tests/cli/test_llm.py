"""The command with a model that judges, as users meet it: against a server in another process that counts."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from calibrator.calibration.result import RunResult
from calibrator.judges.build import load_judge
from calibrator.judges.frozen import read_frozen
from calibrator.models.build import Access
from calibrator.report.markdown import report as show
from tests.conftest import rated_rows
from tests.doubles.server import Double, serving

PROGRAM = str(Path(sys.executable).parent / "calibrate")
DATA = ("--aspect", "neutral/relevance", "--data", "data.csv")
SMALL = ("--trials", "2", "--rounds", "1", "--refinements", "2", "--resamples", "100")
SEARCH = (*DATA, *SMALL, "--top-k", "2", "--shots", "3,5", "--keep")  # the rubric is handed over, whatever it gains
UNWANTED = ("CALIBRATOR_DATA", "CALIBRATOR_API_KEY", "VLLM_BASE_URL")
NO_SCORE = "the reply states no score clearly"


def command(folder: Path, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a folder, with a cache of its own there."""
    environment = {k: v for k, v in os.environ.items() if k not in UNWANTED}
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        cwd=folder,
        env=environment | {"CALIBRATOR_CACHE": str(folder / "cache")} | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def write_data(folder: Path, count: int = 40, name: str = "data.csv") -> list[dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    rows = rated_rows(count)
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


def newest_run(folder: Path) -> Path:
    return max(p.parent for p in (folder / "runs").glob("*/config.json"))


def result_of(run: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((run / "result.json").read_text())
    return result


def replies_of(run: Path) -> list[dict[str, Any]]:
    records = map(json.loads, (run / "journal.jsonl").read_text().splitlines())
    return [r["value"]["reply"] for r in records if r["key"].startswith("reply/")]


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    with serving(tmp_path_factory.mktemp("double") / "log.jsonl") as running:
        yield running


@pytest.fixture(scope="module")
def model(double: Double) -> str:
    return f"{double.url}#double"


@dataclass(frozen=True, slots=True)
class First:
    """A finished run, what it printed and how many requests it took."""

    folder: Path
    run: Path
    rows: list[dict[str, Any]]
    told: str
    asked: int


@pytest.fixture(scope="module")
def first(double: Double, model: str, tmp_path_factory: pytest.TempPathFactory) -> First:
    folder = tmp_path_factory.mktemp("first")
    rows, before = write_data(folder), len(double.asked())
    done = command(folder, "run", *SEARCH, "--model", model)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return First(folder, newest_run(folder), rows, done.stdout, len(double.asked()) - before)


def test_a_run_says_what_it_will_take_and_what_it_took(first: First, model: str) -> None:
    plan = re.search(r"protocol default: (\d+) drafts, up to (\d+) refinements, up to (\d+) judgments", first.told)
    assert plan
    assert (plan[1], plan[2]) == ("4", "4")
    assert 0 < first.asked <= sum(map(int, plan.groups()))
    estimate = re.search(r"about ([\d,]+) prompt tokens", first.told)
    assert estimate
    assert f"models    judge {model}, drafter {model}, scores text\n" in first.told
    assert f"cost      up to {sum(map(int, plan.groups()))} calls, {estimate[0]}" in first.told
    paid = result_of(first.run)["spent"][model]
    assert paid["prompt_tokens"] / 2 < int(estimate[1].replace(",", "")) < 2 * paid["prompt_tokens"]

    assert re.search(r"^drafting: 4 of 4 candidates, 0 judgments, [\d,]+ tokens, 0 failures$", first.told, re.M)
    assert re.search(
        r"^scoring \(refining, round 1\), 12 of 12 items: .* tokens, 0 failures, best 0\.\d{3}$", first.told, re.M
    )
    for judge in ("calibrated", "zero-shot", "length only", "constant"):
        assert re.search(rf"^│ {judge} +│", first.told, re.M)
    assert "frozen judge  rubrics/frozen/relevance.yaml" in first.told
    assert "look 1 at this test side" in first.told


def test_the_report_has_the_rubric_its_ancestry_and_the_cost(first: First, model: str) -> None:
    report, result = (first.run / "report.md").read_text(), result_of(first.run)
    steps = "\n".join(f"{k}. {s['text']}" for k, s in enumerate(result["rubric"]["steps"], 1))
    assert f"## The rubric\n\n{steps}\n" in report

    # Whichever won in this run: the line of a refinement is shown with its gain.
    by_name = {c["name"]: c for c in result["candidates"]}
    child = next(c for c in result["candidates"] if c["parent"] and c["value"] is not None)
    parent = by_name[child["parent"]]
    line = f"{parent['name']} (draft by llm@{model}, {parent['value']:.3f}) → "
    line += f"{child['name']} ({child['origin']} by llm@{model}, {child['value']:.3f}, "
    line += f"gain {child['value'] - parent['value']:+.3f})"
    as_if = RunResult.model_validate({**result, "winner": child["name"]})
    assert f"- the winner's line: {line}; handed over as it was chosen" in show(as_if, 1, "judge.yaml", {})
    assert re.search(rf"- the winner's line: .*{result['winner']} .*; handed over as it was chosen", report)

    replies = replies_of(first.run)
    assert len(replies) == first.asked
    prompt, written = (sum(r["usage"][kind] for r in replies) for kind in (0, 1))
    assert f"| {model} | {first.asked} | {prompt:,} | {written:,} | not known |" in report
    assert f"\n{first.asked} calls were made" in report


def test_the_report_names_disagreements_by_id_and_holds_no_text(first: First) -> None:
    report = (first.run / "report.md").read_text()
    table = report.split("## Worst remaining disagreements")[1].split("##")[0]
    shown = re.findall(r"^\| (\w+) \| (\d\.\d\d) \| (\d\.\d\d) \| ([+-]\d\.\d\d) \|$", table, re.M)
    assert len(shown) == 10
    worst = result_of(first.run)["disagreements"]
    listed = [(d["item"], f"{d['judged']:.2f}", f"{d['human']:.2f}", f"{d['gap']:+.2f}") for d in worst]
    assert shown == listed
    kept = "".join((first.run / name).read_text() for name in ("report.md", "result.json", "frozen.yaml"))
    kept += first.told
    for row in first.rows:
        assert str(row["input"]) not in kept
        assert len(str(row["output"]).split()) < 3 or str(row["output"]) not in kept


def test_the_frozen_judge_holds_the_very_prompt(first: First, model: str) -> None:
    frozen = read_frozen(first.folder / "rubrics" / "frozen" / "relevance.yaml")
    asked = frozen.judge.asked
    assert asked is not None
    assert (frozen.judge.method, frozen.judge.score_mode, asked.model) == ("llm", "text", model)
    text = "".join(part.text or f"<{part.item}>" for part in asked.messages[0].parts)
    for step in frozen.steps:
        assert step.text in text
    assert text.index("<source>") < text.index("<output>")


def test_a_second_run_asks_nothing(first: First, double: Double, model: str) -> None:
    before = len(double.asked())
    done = command(first.folder, "run", *SEARCH, "--model", model, "--runs-dir", "again", "--out", "again.yaml")
    assert done.returncode == 0, done.stderr
    (again,) = (first.folder / "again").glob("*-relevance-*")
    assert len(double.asked()) == before
    assert (again / "result.json").read_bytes() == (first.run / "result.json").read_bytes()
    assert (again / "frozen.yaml").read_bytes() == (first.run / "frozen.yaml").read_bytes()
    report = (again / "report.md").read_text()
    assert f"| {model} | {first.asked} |" in report and "\n0 calls were made" in report


def test_json_and_quiet_print_nothing_else(first: First, model: str) -> None:
    done = command(first.folder, "run", *SEARCH, "--model", model, "--json", "--runs-dir", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {k: v for k, v in told.items() if k in (stored := result_of(first.run))} == stored
    assert told["test"]["judges"][1]["name"] == "zero-shot"
    assert told["spent"][model]["replies"] == first.asked

    done = command(first.folder, "run", *SEARCH, "--model", model, "-q", "--runs-dir", "quiet")
    verdict, gate, place = done.stdout.splitlines()
    assert verdict.startswith("On unseen data the calibrated judge is")
    assert gate.startswith("Gate: ")
    assert place == "rubrics/frozen/relevance.yaml"
    assert "Traceback" not in done.stderr


def test_a_rubric_that_does_not_beat_length_on_dev_gives_way_to_it(model: str, tmp_path: Path) -> None:
    """The double's scores follow the length with noise, so that its length alone tells more of a text."""
    write_data(tmp_path)
    done = command(tmp_path, "run", *DATA, "--trials", 2, "--rounds", 0, "--resamples", 100, "--shots", 3, "-m", model)
    assert done.returncode == 0, done.stderr
    assert "The rubric did not beat 'length only' on dev, so 'length only' is handed over" in done.stdout
    result = result_of(newest_run(tmp_path))
    mine, length = (
        next(j["figures"]["spearman"]["value"] for j in result["dev"]["judges"] if j["name"] == name)
        for name in ("calibrated", "length only")
    )
    assert mine <= length
    assert (result["method"], result["judge"]) == ("llm", f"llm@{model}")
    assert result["rejected"]["kind"] == "llm" and len(result["rejected"]["steps"]) >= 3
    frozen = read_frozen(tmp_path / "rubrics" / "frozen" / "relevance.yaml")
    assert frozen.verdict is not None
    assert (frozen.judge.method, frozen.judge.asked) == ("criteria", None)
    assert (frozen.verdict.handed_over, frozen.verdict.passed) == ("length only", False)
    with load_judge(tmp_path / "rubrics" / "frozen" / "relevance.yaml") as judge:  # asks no model any more
        assert judge.score(output="A word.", source="x") < judge.score(output="A word " * 20, source="x")


def test_a_finished_run_is_shown_again_and_handed_over_elsewhere(first: First, double: Double) -> None:
    before, result = len(double.asked()), (first.run / "result.json").read_bytes()
    done = command(first.folder, "resume", first.run.name, "--no-cache", "--out", "other.yaml")
    assert done.returncode == 0, done.stderr
    assert len(double.asked()) == before
    assert (first.folder / "other.yaml").read_bytes() == (first.run / "frozen.yaml").read_bytes()
    assert (first.run / "result.json").read_bytes() == result
    assert "look 1 at this test side" in done.stdout
    assert "frozen judge  other.yaml" in done.stdout


def test_criteria_write_the_rubric_and_a_model_judges(double: Double, model: str, tmp_path: Path) -> None:
    write_data(tmp_path)
    before = len(double.asked())
    done = command(
        tmp_path, "run", *DATA, *SMALL, "--model", model, "--drafter", "criteria", "--shots", "0.5,1", "--keep"
    )
    assert done.returncode == 0, done.stderr
    run = newest_run(tmp_path)
    result, replies = result_of(run), replies_of(run)
    assert re.fullmatch(r"criteria/\d+", result["drafter"])
    # Every request was a judgment: the candidates and the zero-shot judge on dev, it and the winner on test.
    dev, test = result["split"]["dev"][0], result["split"]["test"][0]
    assert len(double.asked()) - before == len(replies) == result["judgments"] + dev + 2 * test
    assert all('"score"' in r["text"] and '"steps"' not in r["text"] for r in replies)
    assert all(s["text"].startswith("Look at ") and s["measures"] for s in result["rubric"]["steps"])
    prompt = command(tmp_path, "export", "relevance", "--to", "prompt").stdout
    assert f"1. {result['rubric']['steps'][0]['text']} (Decisive.)" in prompt


def test_criteria_and_a_model_draft_side_by_side(model: str, tmp_path: Path) -> None:
    write_data(tmp_path)
    both = ("--model", model, "--drafter", f"criteria,{model}", "--shots", "1,3")
    done = command(tmp_path, "run", *DATA, *SMALL, *both)
    assert done.returncode == 0, done.stderr
    assert f"drafter criteria + {model}" in done.stdout
    result = result_of(newest_run(tmp_path))
    drafts = {c["by"] for c in result["candidates"] if c["origin"] == "draft"}
    refined = {c["by"] for c in result["candidates"] if c["origin"] != "draft"}
    assert len(drafts) == 2
    assert refined == {f"llm@{model}"}  # the model betters what either of them wrote
    assert result["drafter"] == " + ".join(sorted(drafts))


def test_the_papers_protocol(model: str, tmp_path: Path) -> None:
    write_data(tmp_path)
    done = command(tmp_path, "run", *SEARCH, "--model", model, "--protocol", "paper")
    assert done.returncode == 0, done.stderr
    assert re.search(r"protocol paper: 4 drafts, up to 4 refinements", done.stdout)
    run = newest_run(tmp_path)
    result = result_of(run)
    assert result["protocol"] == "paper"
    assert "- protocol paper, " in (run / "report.md").read_text()
    both = result["split"]["train"][0] + result["split"]["dev"][0]
    assert result["judgments"] == both * len(result["candidates"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--drafter", "http://127.0.0.1:1/v1#m"], "writes free text, which the embedded judge cannot measure"),
        (["--model", "gpt-4o"], "'gpt-4o' is no model; write openai/gpt-4o-mini"),
        (["--model", "http://127.0.0.1:1/v1"], "names no model; write it behind the address"),
        (["--model", "http://me:secret@127.0.0.1:1/v1#m"], "may hold no user, password or query"),
        (["--model", "vllm/some"], "export VLLM_BASE_URL=http://localhost:8000/v1"),
        (["--model", "local/none.gguf"], "local/none.gguf: there is no such file"),
        (["--model", "local/data.csv"], "local/data.csv: not a GGUF file"),
        (["--model", "replay/some"], "replay/some: there is no journal at some"),
        (["--model", "http://127.0.0.1:1/v1#m", "--shots", "0.5"], "a model is shown a number of exemplars"),
        (["--model", "http://127.0.0.1:1/v1#m", "--drafter", "criteria,criteria"], "names one twice"),
        (["--model", "http://127.0.0.1:1/v1#m", "--budget", "many"], "is no cap like 2000calls, 100ktok or 5usd"),
        (["--budget", "20calls"], "the embedded judge asks no model"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_there_is_a_run(tmp_path: Path, options: list[str], told: str) -> None:
    write_data(tmp_path)
    done = command(tmp_path, "run", *DATA, *options)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("calibrate: ")
    assert told in line
    assert "secret" not in line
    assert not (tmp_path / "runs").exists()


def test_a_server_that_is_not_there_is_not_waited_for(tmp_path: Path) -> None:
    write_data(tmp_path)
    done = command(tmp_path, "run", *SEARCH, "--model", "http://127.0.0.1:1/v1#double", "-q")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "nothing answers at http://127.0.0.1:1/v1 (Connection refused)" in line
    assert f"calibrate resume {newest_run(tmp_path).name}" in line
    assert not (tmp_path / "runs" / "ledger.jsonl").exists() or not (tmp_path / "runs" / "ledger.jsonl").read_text()


def test_a_key_is_sent_and_appears_nowhere(tmp_path: Path) -> None:
    key, wrong = "sk-the-marker-of-this-test", "sk-a-wrong-marker"
    folder = tmp_path / "work"
    write_data(folder)
    with serving(tmp_path / "log.jsonl", "--require-key", key) as double:
        search = ("run", *SEARCH, "--model", f"{double.url}#double")
        without = command(folder, *search)
        refused = command(folder, *search, CALIBRATOR_API_KEY=wrong)
        done = command(folder, *search, CALIBRATOR_API_KEY=key)
        scored = command(folder, "score", "data.csv", "-r", "relevance", CALIBRATOR_API_KEY=key)
    for one in (without, refused):
        assert one.returncode == 1
        (line,) = one.stderr.splitlines()
        assert "HTTP 401: Incorrect API key provided" in line
        assert "the key is taken from $CALIBRATOR_API_KEY" in line
        assert "calibrate resume" in line
    assert done.returncode == 0, done.stderr
    assert scored.returncode == 0, scored.stderr
    printed = "".join(d.stdout + d.stderr for d in (without, refused, done, scored))
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" for path in files)  # the cache is among them
    for secret in (key, wrong):
        assert secret not in printed
        assert not [path for path in files if secret.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("drafter", "told"),
    [
        ((), "no rubric was written (4 × the reply holds no steps)"),
        (("--drafter", "criteria", "--shots", "1"), f"more than 5 % of its judgments failed (12 × {NO_SCORE})"),
    ],
)
def test_a_model_that_refuses_everything(tmp_path: Path, drafter: tuple[str, ...], told: str) -> None:
    write_data(tmp_path)
    with serving(tmp_path / "log.jsonl", "--fail", "refusal:1") as double:
        done = command(tmp_path, "run", *SEARCH, "--model", f"{double.url}#double", *drafter, "-q")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert told in line
    assert not (tmp_path / "rubrics").exists()
    assert not (newest_run(tmp_path) / "result.json").exists()


def test_failures_are_counted_and_shown(tmp_path: Path) -> None:
    write_data(tmp_path, 120)
    with serving(tmp_path / "log.jsonl", "--fail", "refusal:0.03") as double:
        done = command(tmp_path, "run", *DATA, *SMALL, "--shots", "3", "--model", f"{double.url}#double")
    assert done.returncode == 0, done.stderr
    run = newest_run(tmp_path)
    result = result_of(run)
    searched = sum(c["failures"] for c in result["candidates"])
    assert searched > 0
    assert re.search(
        rf"^scoring \(refining, round 1\), \d+ of 36 items: .* tokens, {searched} failures, best", done.stdout, re.M
    )
    at_test = {j["name"]: sum(j["failures"].values()) for j in result["test"]["judges"]}
    refused = sum("rather not" in r["text"] for r in replies_of(run)) - sum(result["no_rubric"].values())
    assert searched + at_test["calibrated"] + at_test["zero-shot"] <= refused  # zero-shot is asked on dev too
    assert result["test"]["items"] == result["split"]["test"][0] - max(at_test.values())
    assert f"1 × {NO_SCORE}" in (run / "report.md").read_text()
    assert f"failures on the test side (calibrated {at_test['calibrated']})" in done.stdout


def test_scoring_a_file_with_the_frozen_judge(first: First, double: Double, model: str) -> None:
    folder = first.folder
    mine = [{"input": f"a walk number {k}", "output": f"We walk by the river {k} times."} for k in range(4)]
    with (folder / "texts.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["input", "output"])
        writer.writeheader()
        writer.writerows([*mine, {"input": "nothing", "output": " "}])
    before = len(double.asked())
    limited = command(folder, "score", "texts.csv", "--rubric", "relevance", "--budget", "3calls")
    assert limited.returncode == 3
    goes_on = "nothing is lost: the same command goes on with the replies that came, with a higher --budget"
    assert f"the budget of 3 calls is spent; {goes_on}" in limited.stderr
    assert not (folder / "texts.scored.csv").exists()
    assert len((folder / "texts.scored.csv.part" / "journal.jsonl").read_text().splitlines()) == 3

    done = command(folder, "score", "texts.csv", "--rubric", "relevance")
    assert done.returncode == 0, done.stderr
    assert len(double.asked()) - before == 4
    assert not (folder / "texts.scored.csv.part").exists()
    assert "4 scores, 1 failures (1 × empty text) in column 'judge_relevance' of texts.scored.csv" in done.stdout
    scored = read_rows(folder / "texts.scored.csv")
    assert list(scored[0]) == ["input", "output", "judge_relevance", "judge_relevance_failure"]
    assert all(1 <= float(r["judge_relevance"]) <= 5 and not r["judge_relevance_failure"] for r in scored[:4])
    assert (scored[4]["judge_relevance"], scored[4]["judge_relevance_failure"]) == ("", "empty text")

    again = command(folder, "score", "texts.csv", "--rubric", "relevance", "--out", "again.csv")
    assert again.returncode == 0
    assert len(double.asked()) - before == 4
    assert (folder / "again.csv").read_bytes() == (folder / "texts.scored.csv").read_bytes()


def test_scoring_with_a_model_at_another_address_warns(first: First, model: str, tmp_path: Path) -> None:
    write_data(tmp_path, 6, "texts.csv")
    judge = first.run / "frozen.yaml"
    with serving(tmp_path / "log.jsonl", "--fail", "refusal:1") as other:
        address = f"{other.url}#double"
        done = command(tmp_path, "score", "texts.csv", "-r", judge, "--model", address, "-o", "scored.csv")
    assert done.returncode == 0, done.stderr
    assert done.stderr == (f"warning: the figures of neutral/relevance were measured with {model}, not {address}\n")
    assert f"0 scores, 6 failures (6 × {NO_SCORE})" in done.stdout
    for row in read_rows(tmp_path / "scored.csv"):
        assert (row["judge_relevance"], row["judge_relevance_failure"]) == ("", NO_SCORE)


def test_scoring_with_the_server_gone_writes_nothing(first: First, tmp_path: Path) -> None:
    write_data(tmp_path, 6, "texts.csv")
    gone = ("--model", "http://127.0.0.1:1/v1#double")
    done = command(tmp_path, "score", "texts.csv", "-r", first.run / "frozen.yaml", *gone)
    assert done.returncode == 1
    assert "nothing answers at http://127.0.0.1:1/v1" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "texts.scored.csv").exists()


def test_the_prompt_is_text_to_paste(first: First) -> None:
    prompt = command(first.folder, "export", "relevance", "--to", "prompt").stdout
    steps = [s.text for s in read_frozen(first.run / "frozen.yaml").steps]
    for number, step in enumerate(steps, 1):
        assert f"\n{number}. {step}\n" in prompt
    assert "\n> <paste the input here>\n" in prompt
    assert "\n> <paste the output here>\n" in prompt
    assert prompt.count("<paste") == 2
    for machinery in ("schema", '"type"', "properties", "max_tokens", "{{", "{%"):
        assert machinery not in prompt


def test_the_other_exports(first: First) -> None:
    frozen = read_frozen(first.run / "frozen.yaml")
    markdown = command(first.folder, "export", "relevance", "--to", "markdown").stdout
    assert "## Steps\n\n" + "\n".join(f"{k}. {s.text}" for k, s in enumerate(frozen.steps, 1)) in markdown
    assert "| spearman |" in markdown
    as_json = json.loads(command(first.folder, "export", "relevance", "--to", "json").stdout)
    assert as_json == frozen.model_dump(mode="json")
    assert command(first.folder, "export", "relevance", "--to", "yaml", "--out", "copy.yaml").returncode == 0
    assert read_frozen(first.folder / "copy.yaml") == frozen


def test_the_judge_scores_from_python_also_inside_a_running_loop(first: First, tmp_path: Path) -> None:
    text: dict[str, Any] = {"output": "We walk by the river and through the garden.", "source": "a walk by the river"}
    access = Access(cache=tmp_path / "cache")

    async def in_a_notebook() -> float:
        with load_judge(first.run / "frozen.yaml", access=access) as judge:
            return judge.score(**text)

    with load_judge(first.run / "frozen.yaml", access=access) as judge:
        score = judge.score(**text)
        assert judge.mode == "text"
    assert isinstance(score, float)
    assert 1 <= score <= 5
    assert asyncio.run(in_a_notebook()) == score
