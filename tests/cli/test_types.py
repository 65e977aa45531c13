"""`calibrate types` as users meet it: files in, tables and files out, mistakes in one line."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from calibrator.cli.main import main
from calibrator.studies.types.tfidf import TfidfLearner
from tests.cli.test_llm import command
from tests.cli.test_smollm2 import ABSENT
from tests.conftest import Calibrate
from tests.doubles.server import serving
from tests.studies.types.making import encoder_in, make_examples

Write = Callable[..., Path]


def rows(count: int, seed: int = 0, groups: int = 30, **more: Sequence[object]) -> list[dict[str, object]]:
    examples = make_examples(count, groups, seed)
    said = [
        {"prompt": f"{e.source} {seed}", "response": e.text, "labels": "|".join(sorted(e.labels or ()))}
        for e in examples
    ]
    return [row | {name: values[k] for name, values in more.items()} for k, row in enumerate(said)]


@pytest.fixture
def calibrate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Calibrate:
    """Run the command's own `main` in the test's folder: a process for each would import everything each time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        given = list(map(str, arguments))
        monkeypatch.setattr("sys.argv", ["calibrate", *given])
        capsys.readouterr()
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        told = capsys.readouterr()
        return subprocess.CompletedProcess(given, code, told.out, told.err)

    return run


@pytest.fixture
def files(write_csv: Write) -> tuple[Path, Path]:
    other = ["calm"] * 38 + ["irony", ""]
    return write_csv(rows(80), "train.csv"), write_csv(rows(40, 1, other=other), "test.csv")


def test_classifiers_are_compared_and_written_down(files: tuple[Path, Path], tmp_path: Path) -> None:
    done = command(
        tmp_path, "types", "--train", files[0], "--test", files[1], "-c", "tfidf,majority,recorded:other", "-o", "out"
    )
    assert done.returncode == 0, done.stderr
    assert "text=response (guessed); labels=labels (guessed); source=prompt (guessed)" in done.stdout
    for word in ("tfidf", "majority", "recorded:other", "Hamming loss", "macro-F1", "precision (paper)", "asking"):
        assert word in done.stdout
    assert "recorded:other: 1 × a label that is none of the scheme" in done.stdout
    result = json.loads((tmp_path / "out" / "types.json").read_text())
    by_name = {row["name"]: row for row in result["rows"]}
    assert by_name["tfidf"]["figures"]["accuracy"]["value"] > by_name["majority"]["figures"]["accuracy"]["value"]
    assert by_name["recorded:other"]["items"] == 38 and by_name["recorded:other"]["common"] == 38
    assert by_name["tfidf"]["gains"] == {} and by_name["majority"]["gains"]["f1"]["high"] < 0
    with (tmp_path / "out" / "answers.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 40
    assert "# Classifiers" in (tmp_path / "out" / "types.md").read_text()


def test_the_result_as_json_and_in_a_few_lines(calibrate: Calibrate, files: tuple[Path, Path]) -> None:
    asked = ("types", "--train", files[0], "--test", files[1], "-c", "majority", "--resamples", 50)
    assert json.loads(calibrate(*asked, "--json").stdout)["rows"][0]["name"] == "majority"
    lines = calibrate(*asked, "--quiet").stdout.splitlines()
    assert len(lines) == 1 and lines[0].startswith("majority: accuracy 0.")


def test_without_a_test_file_sources_are_parted(calibrate: Calibrate, files: tuple[Path, Path]) -> None:
    done = calibrate("types", "--train", files[0], "-c", "majority")
    assert done.returncode == 0, done.stderr
    assert "by source, stratified over labels" in done.stdout
    assert "source that stands in train too" not in done.stderr


def test_what_stands_on_both_sides_is_told(calibrate: Calibrate, files: tuple[Path, Path]) -> None:
    done = calibrate("types", "--train", files[0], "--test", files[0], "-c", "majority", "--resamples", 20)
    assert "80 of 80 test texts stand in train too" in done.stderr
    assert "80 of 80 test rows have a source that stands in train too" in done.stderr


def test_rows_without_labels_are_told_and_may_mean_none(calibrate: Calibrate, write_csv: Write) -> None:
    data = write_csv([*rows(40), {"prompt": "p", "response": "a walk", "labels": ""}])
    asked = ("types", "--train", data, "--test", data, "-c", "majority,majority:set", "--json", "--resamples", 20)
    done = calibrate(*asked)
    assert "1 rows without labels are left out" in done.stderr and json.loads(done.stdout)["test"] == 40
    done = calibrate(*asked, "--none")
    assert "left out" not in done.stderr and json.loads(done.stdout)["test"] == 41


def test_a_classifier_is_kept_and_classifies_elsewhere(
    calibrate: Calibrate, files: tuple[Path, Path], write_csv: Write, tmp_path: Path
) -> None:
    done = calibrate("types", "--train", files[0], "--test", files[1], "-c", "tfidf", "--save", "kept.json", "-q")
    assert done.returncode == 0, done.stderr
    new = write_csv([{"id": 7, "text": "river why ?"}, {"id": 8, "text": "…"}], "new.csv")
    done = calibrate("types", "--model", "kept.json", "--predict", new)
    assert done.returncode == 0, done.stderr
    assert "1 texts classified, 1 failures in column 'predicted_types'" in done.stdout
    with (tmp_path / "new.types.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert [r["id"] for r in found] == ["7", "8"] and "asking" in json.loads(found[0]["predicted_types"])
    assert (found[1]["predicted_types"], found[1]["predicted_types_failure"]) == ("", "the text has no word")
    again = calibrate("types", "--model", "kept.json", "--predict", "new.types.csv", "--out", "x.csv")
    assert again.returncode == 2 and "has a column 'predicted_types' already" in again.stderr


def test_a_file_of_predictions_is_replaced_only_if_that_is_said(
    calibrate: Calibrate, files: tuple[Path, Path], write_csv: Write, tmp_path: Path
) -> None:
    calibrate("types", "--train", files[0], "--test", files[1], "-c", "tfidf", "--save", "kept.json", "-q")
    new = write_csv([{"id": 7, "text": "river why ?"}], "new.csv")
    for target, asked in (("new.types.csv", ()), ("own.csv", ("--out", "own.csv"))):
        (tmp_path / target).write_text("mine\n")
        done = calibrate("types", "--model", "kept.json", "--predict", new, *asked)
        assert done.returncode == 2 and f"{target} is there already" in done.stderr
        assert (tmp_path / target).read_text() == "mine\n"
        done = calibrate("types", "--model", "kept.json", "--predict", new, *asked, "--overwrite")
        assert done.returncode == 0 and (tmp_path / target).read_text().startswith("id,text,predicted_types")


def test_a_kept_classifier_is_held_against_labels(
    calibrate: Calibrate, files: tuple[Path, Path], tmp_path: Path
) -> None:
    asked = ("--resamples", 50, "--json")
    fitted = calibrate(
        "types", "--train", files[0], "--test", files[1], "-c", "tfidf", "--save", "kept.json", "-o", "out", *asked
    )
    kept = calibrate("types", "--model", "kept.json", "--test", files[1], "-c", "tfidf,recorded:other", *asked)
    assert kept.returncode == 0, kept.stderr
    assert "texts that it saw count as if it had not" in kept.stderr
    before, after = json.loads(fitted.stdout), json.loads(kept.stdout)
    assert after["rows"][0]["figures"] == before["rows"][0]["figures"]
    assert (after["train"], after["test"], after["rows"][1]["common"]) == (0, 40, 38)
    assert (before["look"], after["look"]) == (1, 2)
    alone = calibrate("types", "--model", "kept.json", "--test", files[1], "-q", "--resamples", 50)
    assert alone.stdout.startswith("tfidf: accuracy 0.") and len(alone.stdout.splitlines()) == 1
    assert "learnt elsewhere, 40 to report on" in calibrate("types", "--model", "kept.json", "--test", files[1]).stdout


def looks(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / "runs" / "ledger.jsonl").read_text().splitlines()]


def test_every_look_at_a_test_side_is_entered_and_told(
    calibrate: Calibrate, files: tuple[Path, Path], tmp_path: Path, write_csv: Write
) -> None:
    train, test = files
    asked = ("types", "--train", train, "--test", test, "--resamples", 20, "-o", "out")
    assert "look 1 at this test side" in calibrate(*asked, "-c", "majority").stdout
    assert "look 1 at this test side" in (tmp_path / "out" / "types.md").read_text()
    assert json.loads((tmp_path / "out" / "types.json").read_text())["look"] == 1
    assert "look 1 at" in calibrate(*asked, "-c", "majority").stdout  # the same command
    assert "look 2 at" in calibrate(*asked, "-c", "majority,recorded:other").stdout
    assert "look 2 at" in calibrate(*asked, "-c", "recorded:other,majority").stdout
    assert len(looks(tmp_path)) == 2 and len({entry["test"] for entry in looks(tmp_path)}) == 1
    changed = rows(40, 1, other=["calm"] * 40)  # other labels are recorded, of the same test side
    assert (
        "look 3 at"
        in calibrate(*asked[:4], write_csv(changed, "test.csv"), *asked[5:], "-c", "majority,recorded:other").stdout
    )
    other = write_csv(rows(40, 2), "other.csv")
    assert "look 1 at" in calibrate(*asked[:4], other, *asked[5:], "-c", "majority").stdout


def test_no_look_is_entered_for_work_that_fails(calibrate: Calibrate, files: tuple[Path, Path], tmp_path: Path) -> None:
    done = calibrate("types", "--train", files[0], "--test", files[1], "-c", "majority,recorded:absent.csv")
    assert done.returncode == 2 and not (tmp_path / "runs" / "ledger.jsonl").read_text()


def test_what_is_missing_is_found_before_anything_is_fitted(
    calibrate: Calibrate, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fitted(*_: object) -> None:
        raise AssertionError("a classifier was fitted first")

    monkeypatch.setattr(TfidfLearner, "fit", fitted)
    nested = [{"text": "a walk", "one": ["calm"], "two": ["sharp"]}]
    (tmp_path / "several.json").write_text(json.dumps(nested))
    (tmp_path / "empty").mkdir()
    for name, said in (
        ("recorded:absent.csv", "absent.csv: there is no such file"),
        ("recorded:several.json", "several entries are lists; name the labels"),
        ("transformer@nobody/nothing", "nobody/nothing is not on this machine"),
        ("transformer@empty", "empty is no checkpoint: there is no config.json"),
    ):
        done = calibrate("types", "--train", files[0], "--test", files[1], "-c", f"tfidf,{name}")
        assert done.returncode == 2 and said in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = calibrate("types", "--train", "absent.csv", "-c", "transformer@nobody/nothing")
    assert "nobody/nothing is not on this machine" in done.stderr  # before the data is read


def test_labels_with_a_comma_are_quoted_and_few_sources_told(calibrate: Calibrate, write_csv: Write) -> None:
    said = [row | {"labels": str(row["labels"]).replace("asking", "asking, mild")} for row in rows(30, groups=5)]
    data = write_csv(said)
    done = calibrate("types", "--train", data, "--test", data, "-c", "majority:set", "--resamples", 20)
    assert 'labels    "asking, mild", calm, sharp (' in done.stdout
    assert 'majority:set: labels "asking, mild"' in done.stdout
    assert "only 5 sources on the test side: intervals over so few are rough" in done.stderr
    single = write_csv(said[:1], "single.csv")
    done = calibrate("types", "--train", data, "--test", single, "-c", "majority", "--resamples", 20)
    assert "only 1 source on the test side: there is no interval" in done.stderr and "[–, –]" in done.stdout


def test_a_transformer_is_fine_tuned(calibrate: Calibrate, files: tuple[Path, Path], tmp_path: Path) -> None:
    model = encoder_in(tmp_path / "tiny")
    asked = ("--epochs", 2, "--device", "cpu", "--resamples", 20, "-o", "out")
    done = calibrate("types", "--train", files[0], "--test", files[1], "-c", f"majority,transformer@{model}", *asked)
    assert done.returncode == 0, done.stderr
    assert "epoch 2 of 2" in done.stdout and "transformer@tiny" in done.stdout
    assert done.stderr == ""
    row = json.loads((tmp_path / "out" / "types.json").read_text())["rows"][1]
    assert row["name"] == "transformer@tiny" and len(row["notes"]["validation losses"]) == 2
    assert str(tmp_path) not in (tmp_path / "out" / "types.md").read_text()


def test_replies_that_are_no_list_are_failures_and_none_is_paid_for_twice(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    with serving(tmp_path / "log") as double:
        asked = (
            "types",
            "--train",
            files[0],
            "--test",
            files[1],
            "-c",
            f"majority,llm@{double.url}#double",
            "--no-cache",
        )
        done = command(tmp_path, *asked, "--budget", "10calls")
        assert done.returncode == 3 and "nothing is lost" in done.stderr
        assert len(double.asked()) == 10
        done = command(tmp_path, *asked)
        assert done.returncode == 0, done.stderr
        assert len(double.asked()) == 40
        again = command(tmp_path, *asked)
        assert len(double.asked()) == 40
    assert "plan      40 calls of http" in done.stdout and "40 × the reply is no list of labels" in done.stdout
    assert "failed on 40 of 40 texts" in done.stderr
    assert "40 replies" in done.stdout and again.returncode == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "say what to learn from: --train labelled.csv"),
        (["--model", "x.json"], "--model: say what for: --predict texts.csv, or --test labelled.csv"),
        (["--predict", "y.csv"], "--predict: say what with: --model kept.json"),
        (["--model", "x.json", "--test", "y.csv", "--train", "z.csv"], "leave --train and --save out"),
        (["--model", "x.json", "--test", "y.csv", "-c", "tfidf,majority"], "majority learns from --train"),
        (["--model", "x.json", "--test", "y.csv", "-c", "recorded:other"], "is called tfidf; name it too"),
        (["--model", "x.json", "--test", "y.csv", "--scheme", "crowdcounter"], "--scheme: a kept classifier has"),
        (["--train", "train.csv", "--overwrite"], "--overwrite: it is for --predict"),
        (
            ["--model", "x.json", "--predict", "y.csv", "--train", "z.csv"],
            "leave --train, --test, --classifiers and --save",
        ),
        (["--model", "x.json", "--predict", "y.csv"], "x.json: there is no such file"),
        (["--train", "absent.csv"], "absent.csv: there is no such file"),
        (
            ["--train", "train.csv", "--objective", "speed"],
            "--objective: 'speed' is none; one of f1, accuracy, macro_f1",
        ),
        (["--train", "train.csv", "-c", "svm"], "'svm' is none"),
        (["--train", "train.csv", "-c", "majority", "--save", "k.json"], "--save: it keeps the tfidf classifier"),
        (["--train", "train.csv", "-c", "majority", "--budget", "3calls"], "no classifier asks a model"),
        (["--train", "train.csv", "--labels", "lable"], "--labels: there is no column 'lable'; did you mean labels"),
        (["--train", "train.csv", "--scheme", "crowdcounter"], "labels that are not in the scheme crowdcounter"),
        (["--train", "train.csv", "-c", "transformer@nobody/nothing"], "nobody/nothing is not on this machine"),
        (["--train", "train.csv", "-c", "recorded:absent.json"], "absent.json: there is no such file"),
        (["--train", "train.csv", "-c", "llm@openai/gpt-4o-mini"], "OPENAI_API_KEY"),
    ],
)
def test_a_mistake_is_one_line(calibrate: Calibrate, files: tuple[Path, Path], options: list[str], said: str) -> None:
    done = calibrate("types", *options)
    assert done.returncode == 2 and said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)} (`make setup-dev` does)")
def test_the_small_model_gives_labels(files: tuple[Path, Path], tmp_path: Path) -> None:
    scheme = tmp_path / "own.yaml"
    scheme.write_text("labels: [{name: asking, definition: It asks.}, {name: calm}, {name: sharp}]\nsubject: note\n")
    small = tmp_path / "small.csv"
    small.write_text("\n".join(files[1].read_text().splitlines()[:9]))
    asked = ("-c", "llm@local/smollm2", "--scheme", scheme, "--json", "--no-cache")
    done = command(tmp_path, "types", "--train", files[0], "--test", small, *asked)
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)["rows"][0]
    assert row["items"] + sum(row["failures"].values()) == 8 and row["items"] >= 4
