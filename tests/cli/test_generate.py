"""`calibrate generate` as users meet it: against a server in another process that counts, and on small real models."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrator.cli.main import app
from calibrator.errors import BudgetSpent, ConfigError, InputError, ModelError
from tests.cli.test_llm import command, read_rows
from tests.cli.test_score_llm import begun, replies_in, wait_until
from tests.doubles.server import Double, serving
from tests.models import tiny

SOURCES = 20
SCHEME = """
name: letters
source: letter
output: answer
purpose: An answer says thanks.
types: {warm: {label: Warm, definition: is friendly}, dry: {label: Dry, definition: is brief}}
attributes: {joke: {label: Joke, definition: it has a joke}}
choices: {tone: {kind: {label: Kind, definition: it is kind}, cool: {label: Cool, definition: it is cool}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table of which two rows in three repeat a source."""
    folder = tmp_path / "work"
    folder.mkdir()
    with (folder / "letters.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["letter", "reference", "kind"])
        for n in range(SOURCES * 3):
            writer.writerow([f"Dear town, walk number {n % SOURCES} was fine.", f"Thanks {n}.", ["warm", "dry"][n % 2]])
        writer.writerow(["...", "Nothing.", "warm"])
    (folder / "scheme.yaml").write_text(SCHEME, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    with serving(tmp_path_factory.mktemp("double") / "log.jsonl", "--answers", "echo") as running:
        yield running


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.gpt2(tmp_path_factory.mktemp("small"))


Generate = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def generate(folder: Path, double: Double) -> Generate:
    """Run `calibrate generate letters.csv` on a model that answers with what it was sent."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        base = ("letters.csv", "--model", f"{double.url}#double", "--source", "letter", "--scheme", "scheme.yaml")
        asked = ("generate", *base, "--no-cache", "--max-tokens", 2000, *arguments)
        return command(folder, *asked, OMP_NUM_THREADS="1")

    return run


def sent(row: dict[str, Any]) -> dict[str, Any]:
    """Return the request that a row's output repeats."""
    body: dict[str, Any] = json.loads(row["output"])
    return body


def test_the_rows_are_what_other_commands_read(folder: Path, generate: Generate, double: Double) -> None:
    before = len(double.asked())
    done = generate("--out", "texts.csv")
    assert done.returncode == 0, done.stderr
    rows = read_rows(folder / "texts.csv")
    assert list(rows[0]) == "id source output reference system method model sample seed failure".split()
    assert len(rows) == SOURCES == len({r["id"] for r in rows}) == len(double.asked()) - before
    assert [r["source"] for r in rows] == [f"Dear town, walk number {n} was fine." for n in range(SOURCES)]
    assert [r["reference"] for r in rows] == [f"Thanks {n}." for n in range(SOURCES)]
    name = f"{double.url}#double"
    assert {(r["system"], r["method"], r["model"]) for r in rows} == {(f"{name} zero-shot", "zero-shot", name)}
    for row in rows:
        body = sent(row)
        assert f"> {row['source']}\n" in body["messages"][-1]["content"]
        assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.7, 2000, int(row["seed"]))
    assert "rows repeat a source" in done.stdout and "1 rows have no word to answer" in done.stdout
    assert f"{SOURCES} texts, up to {SOURCES} calls" in done.stdout
    scored = command(folder, "score", "texts.csv", "--rubric", "cseval/relevance")
    assert scored.returncode == 0, scored.stderr
    for role in ("source", "output", "reference", "system", "id"):
        assert f"{role}={role} (guessed)" in scored.stdout
    assert f"{SOURCES} scores, 0 failures" in scored.stdout


def test_every_format_has_the_same_rows(folder: Path, generate: Generate) -> None:
    found = []
    for ending in ("csv", "jsonl", "parquet"):
        done = generate("--out", f"texts.{ending}", "--limit", "3", "-q")
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
    found.append(read_rows(folder / "texts.csv"))
    lines = (folder / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    found += [[json.loads(line) for line in lines], pq.read_table(folder / "texts.parquet").to_pylist()]
    assert [{k: str(v if v is not None else "") for k, v in r.items()} for r in found[1]] == found[0]
    assert found[1] == found[2]
    assert len(found[0]) == 3
    assert not [p for p in folder.iterdir() if p.name.endswith(".part")]


def test_samples_have_seeds_of_their_own(folder: Path, generate: Generate) -> None:
    done = generate("--out", "texts.jsonl", "--limit", "2", "--samples", "3", "--seed", "7", "--temperature", "1")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (folder / "texts.jsonl").read_text().splitlines()]
    assert [(r["sample"], r["seed"]) for r in rows] == [(k, 7 + k) for k in range(3)] * 2
    assert [sent(r)["seed"] for r in rows] == [r["seed"] for r in rows]
    assert len({r["id"] for r in rows}) == 6


def test_rows_that_repeat_a_source_get_texts_of_their_own_if_asked(
    folder: Path, generate: Generate, double: Double
) -> None:
    before = len(double.asked())
    done = generate("--out", "texts.csv", "--each-row")
    assert done.returncode == 0, done.stderr
    rows = read_rows(folder / "texts.csv")
    assert len(rows) == len(double.asked()) - before == 3 * SOURCES
    assert Counter(r["sample"] for r in rows) == {"0": SOURCES, "1": SOURCES, "2": SOURCES}
    assert [r["reference"] for r in rows] == [f"Thanks {n}." for n in range(3 * SOURCES)]


def test_a_limit_draws_by_the_seed(folder: Path, generate: Generate) -> None:
    chosen = {}
    for seed in (1, 2):
        done = generate("--out", "texts.csv", "--overwrite", "--limit", "5", "--seed", seed)
        assert done.returncode == 0, done.stderr
        chosen[seed] = [r["source"] for r in read_rows(folder / "texts.csv")]
    assert len(chosen[1]) == len(chosen[2]) == 5
    assert chosen[1] != chosen[2]


def test_types_are_asked_for_one_by_one_or_by_row(folder: Path, generate: Generate) -> None:
    done = generate("--out", "all.csv", "--method", "typed", "--limit", "2")
    assert done.returncode == 0, done.stderr
    rows = read_rows(folder / "all.csv")
    assert [r["type"] for r in rows] == ["warm", "dry"] * 2
    for row in rows:
        system, user = (m["content"] for m in sent(row)["messages"])
        assert f"of one type: {row['type'].title()}." in system
        assert "- Warm: is friendly." in system and "- Dry: is brief." in system
        assert user == row["source"]
        assert row["system"].endswith(f" typed:{row['type']}")
    done = generate("--out", "rows.csv", "--method", "typed", "--required", "kind")
    assert done.returncode == 0, done.stderr
    pairs = Counter((r["source"], r["type"]) for r in read_rows(folder / "rows.csv"))
    assert set(pairs.values()) == {1} and len(pairs) == SOURCES  # here every source has one and the same kind


def test_a_balanced_design_asks_for_each_attribute_in_half_of_the_texts(folder: Path, generate: Generate) -> None:
    done = generate("--out", "texts.csv", "--method", "controlled", "--balanced", "--words", "30")
    assert done.returncode == 0, done.stderr
    rows = read_rows(folder / "texts.csv")
    assert Counter(r["required_joke"] for r in rows) == {"1": SOURCES / 2, "0": SOURCES / 2}
    assert Counter(r["required_tone"] for r in rows) == {"kind": SOURCES / 2, "cool": SOURCES / 2}
    assert len({r["system"] for r in rows}) == 1 and rows[0]["system"].endswith("controlled:balanced")
    for row in rows:
        asked = sent(row)["messages"][-1]["content"]
        assert ("- Joke: it has a joke." in asked) == (row["required_joke"] == "1")
        assert ("- Kind: it is kind." in asked) == (row["required_tone"] == "kind")
        assert "Fewer than 30 words" in asked
        assert row["attributes"].split("+")[-1] == f"tone-{row['required_tone']}"


def test_examples_are_the_nearest_and_never_the_answer(folder: Path, generate: Generate) -> None:
    with (folder / "examples.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "output"])
        writer.writerows([f"Dear town, walk number {n} was fine.", f"Answer {n}."] for n in range(SOURCES))
        writer.writerow(["Photosynthesis turns light into sugar.", "Answer plants."])
    options = ("--method", "few-shot", "--examples", "examples.csv", "--shots", "2", "--limit", "4")
    done = generate("--out", "texts.csv", *options)
    assert done.returncode == 0, done.stderr
    for row in read_rows(folder / "texts.csv"):
        asked = sent(row)["messages"][-1]["content"]
        assert asked.count(row["source"]) == 1
        assert asked.count("> Answer ") == 2 and "plants" not in asked
        assert asked.index("Example 2") < asked.index(row["source"])
    assert "examples  columns source=source (guessed); answer=output (guessed)\n" in done.stdout
    done = generate("--out", "more.csv", *options, "--shots", str(SOURCES + 1))
    assert done.returncode == 2
    assert "give more --examples or fewer --shots" in done.stderr


def test_the_columns_that_are_named_are_those_of_the_examples_too(folder: Path, generate: Generate) -> None:
    """The same file gives both; a column `conversation` beside them would be guessed, and `thread` would not."""
    with (folder / "posts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["conversation", "post", "thread", "reply"])
        for n in range(12):
            writer.writerow([f"Talk {n % 2}.", f"Walk number {n} was fine.", f"t{n % 4}", f"Answer {n}."])
    options = ("--method", "few-shot", "--examples", "posts.csv", "--shots", "9", "--no-cache", "--max-tokens", "2000")
    with serving(folder.parent / "log", "--answers", "echo") as server:
        base = ("generate", "posts.csv", "--model", f"{server.url}#double", "--source", "post", "--out", "texts.csv")
        done = command(folder, *base, "--group", "thread", *options)
    assert done.returncode == 0, done.stderr
    assert "columns   source=post; group=thread\n" in done.stdout
    assert "examples  columns source=post; answer=reply (guessed); group=thread\n" in done.stdout
    rows = read_rows(folder / "texts.csv")
    assert len(rows) == 12
    for n, row in enumerate(rows):
        asked = sent(row)["messages"][-1]["content"]
        shown = {k for k in range(12) if f"> Answer {k}." in asked}
        assert shown == {k for k in range(12) if k % 4 != n % 4}  # its own thread is left out, and itself with it
        assert "Talk" not in asked


def test_what_is_no_text_is_a_row_with_a_reason(folder: Path) -> None:
    strikes = ("--fail", "length:0.4", "--fail", "toolong:0.3")
    with serving(folder.parent / "log", *strikes) as server:
        base = ("letters.csv", "--model", f"{server.url}#double", "--source", "letter")
        done = command(folder, "generate", *base, "--out", "texts.csv", "--no-cache", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    rows = read_rows(folder / "texts.csv")
    reasons = Counter(r["failure"] for r in rows if r["failure"])
    assert reasons == summary["failures"]
    assert set(reasons) == {"the reply was cut off", "the prompt is too long for the model's context"}
    assert all(bool(r["output"]) != bool(r["failure"]) for r in rows)
    assert summary["texts"] + reasons.total() == len(rows) == SOURCES


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT])
def test_one_that_was_stopped_goes_on_and_asks_nothing_twice(folder: Path, way: signal.Signals) -> None:
    part = folder / "texts.csv.part"
    with serving(folder.parent / "log", "--delay", "0.05") as server:
        doing = (
            "generate", "letters.csv", "--model", f"{server.url}#double", "--source", "letter", "--out", "texts.csv",
            "--no-cache", "--samples", "2", "--concurrency", "2",
        )  # fmt: skip
        for wanted in (3, 12):
            with begun(folder, *doing) as process:
                wait_until(lambda wanted=wanted: len(replies_in(part)) >= wanted)
                process.send_signal(way)
                _, errors = process.communicate(timeout=60)
            assert not (folder / "texts.csv").exists()
            if way == signal.SIGINT:
                assert process.returncode == 130
                assert "nothing is lost: the same command goes on" in errors
        kept = sum(key.startswith("reply/") for key in replies_in(part))
        done = command(folder, *doing)
        assert done.returncode == 0, done.stderr
        assert f"up to {2 * SOURCES - kept} calls ({kept} replies are there already)" in done.stdout
        asked = server.asked()
    assert len(set(asked)) == 2 * SOURCES
    assert len(asked) <= 2 * SOURCES + (4 if way == signal.SIGKILL else 0)  # those under way when it was killed
    assert not part.exists()
    before = (folder / "texts.csv").read_bytes()
    with serving(folder.parent / "another") as server:
        whole = [server.url.join(("", "#double")) if "#double" in part else part for part in doing]
        assert command(folder, *whole, "--overwrite").returncode == 0
    same = [{k: v for k, v in r.items() if k not in ("id", "system", "model")} for r in read_rows(folder / "texts.csv")]
    (folder / "before.csv").write_bytes(before)
    assert [{k: r[k] for k in same[0]} for r in read_rows(folder / "before.csv")] == same


def test_a_budget_stops_it_and_a_higher_one_goes_on(folder: Path, generate: Generate, double: Double) -> None:
    before = len(double.asked())
    done = generate("--out", "texts.csv", "--budget", "5calls")
    assert done.returncode == 3
    assert "the same command goes on with the replies that came, with a higher --budget" in done.stderr
    assert len(double.asked()) == before + 5 and not (folder / "texts.csv").exists()
    looked = generate("--out", "texts.csv", "--dry-run")
    assert f"up to {SOURCES - 5} calls (5 replies are there already)" in looked.stdout
    assert generate("--out", "texts.csv").returncode == 0
    assert len(double.asked()) == before + SOURCES


def test_where_no_text_came_the_command_fails(folder: Path) -> None:
    with serving(folder.parent / "log", "--fail", "toolong:1") as server:
        base = ("letters.csv", "--model", f"{server.url}#double", "--source", "letter", "--limit", "3")
        done = command(folder, "generate", *base, "--out", "texts.csv", "--no-cache", "--max-tokens", "9000")
    assert done.returncode == 1
    assert (
        done.stderr.startswith("calibrate: not one text came: 3 × the prompt is too long")
        and "\n" not in done.stderr[:-1]
    )
    assert "--max-tokens 9000 is room for the reply" in done.stdout
    assert [bool(r["failure"]) for r in read_rows(folder / "texts.csv")] == [True] * 3


def test_where_no_reply_came_nothing_is_kept_and_nothing_is_said_of_it(folder: Path) -> None:
    with serving(folder.parent / "log", "--require-key", "sk-other") as server:
        base = ("letters.csv", "--model", f"{server.url}#double", "--source", "letter", "--limit", "3")
        done = command(folder, "generate", *base, "--out", "texts.csv", "--no-cache")
    assert done.returncode != 0 and done.stderr.count("\n") == 1
    assert "nothing is lost" not in done.stderr
    assert {p.name for p in folder.iterdir()} == {"letters.csv", "scheme.yaml"}


def test_what_a_spent_budget_paid_for_counts_though_no_reply_came(folder: Path) -> None:
    with serving(folder.parent / "log", "--fail", "500:1") as server:
        base = ("letters.csv", "--model", f"{server.url}#double", "--source", "letter", "--limit", "3")
        asked = ("generate", *base, "--out", "texts.csv", "--no-cache", "--budget", "2calls")
        done = command(folder, *asked)
        assert done.returncode == 3
        assert "no reply came: the same command goes on, with a higher --budget" in done.stderr
        assert command(folder, *asked).returncode == 3
        assert len(server.asked()) == 2


def test_the_cache_serves_another_file(folder: Path, double: Double) -> None:
    before = len(double.asked())
    base = ("generate", "letters.csv", "--model", f"{double.url}#double", "--source", "letter", "--limit", "3")
    for name in ("one.csv", "two.csv"):
        assert command(folder, *base, "--out", name).returncode == 0
    assert len(double.asked()) == before + 3
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()


def test_a_dry_run_asks_nothing_and_leaves_nothing(folder: Path, generate: Generate, double: Double) -> None:
    before = len(double.asked())
    done = generate("--out", "texts.csv", "--dry-run", "--price", "100/200", "--samples", "2")
    assert done.returncode == 0, done.stderr
    assert f"{2 * SOURCES} texts, up to {2 * SOURCES} calls" in done.stdout and "US dollars" in done.stdout
    assert len(double.asked()) == before
    assert {p.name for p in folder.iterdir()} <= {"letters.csv", "scheme.yaml", "cache"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--out", "texts.xls"), "unknown kind of file"),
        (("--out", "letters.csv"), "letters.csv is there already"),
        (("--out", "letters.csv", "--overwrite"), "is the file to be answered"),
        (("--method", "free"), "--method: 'free' is none of zero-shot"),
        (("--method", "typed", "--types", "warm,grey"), "'grey' is no type of the scheme letters; it has warm, dry"),
        (("--method", "controlled", "--attributes", "tone-kind+tone-cool"), "asks for two of one choice"),
        (("--method", "controlled", "--attributes", "grey"), "'grey' is no attribute of the scheme letters"),
        (("--method", "controlled", "--balanced", "--attributes", "tone-kind"), "is none of joke, tone"),
        (("--types", "warm"), "--types is for --method typed"),
        (("--form", "plain"), "--form is for --method vanilla or typed, not zero-shot"),
        (("--method", "controlled", "--form", "chat"), "--form is for --method vanilla or typed, not controlled"),
        (("--method", "typed", "--required", "letter"), "letters.csv, row 2, column 'letter': 'Dear town' is no type"),
        (
            ("--method", "controlled", "--required", "kind"),
            "letters.csv, row 2, column 'kind': 'warm' is no attribute of the scheme letters",
        ),
        (("--balanced",), "--balanced is for --method controlled"),
        (("--method", "few-shot"), "--examples are for --method few-shot, which needs them"),
        (("--examples", "letters.csv"), "--examples are for --method few-shot"),
        (("--required", "kind"), "--required is for --method typed or controlled"),
        (("--method", "typed", "--required", "knd"), "nearest: kind"),
        (("--samples", "0"), "--samples: 0 is no number above 0"),
        (("--temperature", "3"), "--temperature: 3 is not between 0 and 2"),
        (("--limit", "0"), "--limit: 0 is no number of sources above 0"),
        (("--source", "lettr"), "nearest: letter"),
        (("--scheme", "nowhere.yaml"), "nowhere.yaml: there is no such file"),
        (("--scheme", "unheard-of"), "is neither a YAML file nor one of attributes, crowdcounter"),
        (("--model-arg", "top_p=0.9"), "--model-arg is for vllm-local/<model> and transformers/<model>"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], problem: str
) -> None:
    monkeypatch.chdir(folder)
    named = () if "--out" in options else ("--out", "texts.csv")
    base = ("generate", "letters.csv", "--model", "http://127.0.0.1:9/v1#m", "--source", "letter")
    done = CliRunner().invoke(app, [*base, "--scheme", "scheme.yaml", "--no-cache", *named, *options])
    assert isinstance(done.exception, InputError), done.output
    assert problem in str(done.exception)
    assert {p.name for p in folder.iterdir()} == {"letters.csv", "scheme.yaml"}


def test_such_a_mistake_is_one_line_at_the_terminal(generate: Generate) -> None:
    done = generate("--out", "texts.csv", "--method", "free")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("calibrate: --method: 'free' is none of zero-shot, few-shot, ")


def test_a_model_of_transformers_writes_too(folder: Path, small: Path) -> None:
    """Without a chat template the plain form is taken; the second time the same texts come without a call."""
    model = f"transformers/{small}"
    said = ("--source", "letter", "--scheme", "scheme.yaml", "--method", "vanilla")
    base = ("generate", "letters.csv", "--model", model, *said, "--limit", "3", "--max-tokens", "60")
    once = {"OMP_NUM_THREADS": "1"}  # several would wait for each other, on matrices so small
    done = command(folder, *base, "--out", "one.csv", "--model-arg", "top_p=0.9", **once)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "3 replies, 3 calls made" in done.stdout
    again = command(folder, *base, "--out", "two.csv", "--model-arg", "top_p=0.9", **once)
    assert "3 replies, 0 calls made" in again.stdout
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()
    other = command(folder, *base, "--out", "three.csv", "--model-arg", "top_p=0.8", **once)
    assert "3 replies, 3 calls made" in other.stdout  # another distribution is another model to the cache


Generates = Callable[..., Any]


@pytest.fixture
def in_process(folder: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> Generates:
    """Run `calibrate generate letters.csv` on a small model of transformers, without another process."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CALIBRATOR_CACHE", str(folder / "cache"))
    shutil.copytree(small, folder / "model")
    model = f"transformers/{folder / 'model'}"

    def run(*arguments: object) -> Any:
        said = ("--source", "letter", "--scheme", "scheme.yaml", "--method", "vanilla", "--max-tokens", "60")
        base = ("generate", "letters.csv", "--model", model, *said, "--no-cache")
        return CliRunner().invoke(app, [*base, *map(str, arguments)])

    return run


def test_a_half_done_file_is_completed_by_the_model_that_began_it(folder: Path, in_process: Generates) -> None:
    options = ("--out", "texts.csv", "--limit", "4")
    narrow = (*options, "--model-arg", "top_p=0.5")
    began = in_process(*options, "--budget", "2calls")
    assert isinstance(began.exception, BudgetSpent)
    journal = folder / "texts.csv.part" / "journal.jsonl"
    before = journal.read_bytes()
    for refused in (in_process(*narrow), in_process(*narrow, "--dry-run")):
        assert isinstance(refused.exception, ConfigError)
        told = str(refused.exception)
        assert told.startswith("texts.csv.part: the replies in it were written without top_p (--model-arg); go on with")
        assert "--overwrite" in told and "\n" not in told
        assert journal.read_bytes() == before
    looked = in_process(*narrow, "--overwrite", "--dry-run")
    assert "4 texts, up to 4 calls," in looked.stdout and journal.read_bytes() == before
    went_on = in_process(*options)
    assert "up to 2 calls (2 replies are there already)" in went_on.stdout and went_on.exit_code == 0
    assert not journal.parent.exists()
    assert {r["model"] for r in read_rows(folder / "texts.csv")} == {f"transformers/{folder / 'model'}"}


def test_overwriting_begins_anew_with_another_model(folder: Path, in_process: Generates) -> None:
    options = ("--out", "texts.csv", "--limit", "4")
    assert isinstance(in_process(*options, "--budget", "2calls").exception, BudgetSpent)
    narrow = (*options, "--model-arg", "top_p=0.5", "--overwrite")
    began = in_process(*narrow, "--budget", "1calls")  # what the other took does not count
    assert isinstance(began.exception, BudgetSpent)
    assert "the replies in it were written without top_p" in began.stderr and "they are removed" in began.stderr
    done = in_process(*narrow)
    assert "3 calls (1 replies are there already)" in done.stdout and done.exit_code == 0
    assert {r["model"] for r in read_rows(folder / "texts.csv")} == {f"transformers/{folder / 'model'}[top_p=0.5]"}


def test_other_arguments_are_another_system(folder: Path, in_process: Generates) -> None:
    found = {}
    for name, arguments in {"base": (), "narrow": ("--model-arg", "top_p=0.5", "--model-arg", "device=cpu")}.items():
        assert in_process("--out", f"{name}.csv", "--limit", "2", *arguments).exit_code == 0
        found[name] = read_rows(folder / f"{name}.csv")
    assert [r["source"] for r in found["base"]] == [r["source"] for r in found["narrow"]]
    for column in ("id", "system", "model"):
        assert not {r[column] for r in found["base"]} & {r[column] for r in found["narrow"]}
    name = f"transformers/{folder / 'model'}"
    assert {r["system"] for r in found["narrow"]} == {f"{name}[top_p=0.5] vanilla"}


def test_what_is_said_of_the_template_decides_the_form(folder: Path, in_process: Generates) -> None:
    """Counted by the tokens of the prompts: the plain form of vanilla is another text than the two messages."""
    (folder / "model" / "chat_template.jinja").write_text(tiny.TURNS, encoding="utf-8")
    options = ("--limit", "1", "--dry-run")
    chat, plain = in_process("--out", "a.csv", *options), in_process("--out", "a.csv", *options, "--form", "plain")
    said = {
        t: in_process("--out", "a.csv", *options, "--model-arg", f"template={t}") for t in ("chat", "plain", "turns")
    }
    assert said["chat"].stdout == chat.stdout != plain.stdout
    assert said["plain"].stdout == said["turns"].stdout == plain.stdout


def test_a_folder_is_no_file(folder: Path, in_process: Generates) -> None:
    (folder / "texts.csv").mkdir()
    done = in_process("--out", "texts.csv", "--overwrite")
    assert isinstance(done.exception, ConfigError) and "texts.csv is a folder; name a file" in str(done.exception)


def test_too_much_room_for_the_reply_is_named(folder: Path, in_process: Generates) -> None:
    done = in_process("--out", "texts.csv", "--limit", "2", "--max-tokens", "4000")
    assert isinstance(done.exception, ModelError) and done.exception.exit_code == 1
    assert "2 × the prompt is too long for the model's context, of 512 tokens, with --max-tokens 4000" in done.stdout


def test_what_is_generated_is_held_against_a_classifier(folder: Path) -> None:
    """A classifier that learnt from the data set's labels knows the types under which the texts were asked for."""
    names = "shaming questions humour empathy_affiliation contradiction warning-of-consequences".split()
    with (folder / "train.jsonl").open("w", encoding="utf-8") as file:
        for n in range(60):
            kind = names[n % 6]
            post = f"Walk number {n} was dull."
            row = {"hatespeech": post, "counterspeech": f"{kind} it was, {n} times {kind}", "total_types": [kind]}
            file.write(json.dumps(row) + "\n")
    with serving(folder.parent / "log") as server:
        base = ("generate", "letters.csv", "--model", f"{server.url}#double", "--source", "letter", "--method", "typed")
        done = command(folder, *base, "--types", "humor,warning,empathy", "--limit", "6", "--out", "texts.csv")
    assert done.returncode == 0, done.stderr
    assert {r["type"] for r in read_rows(folder / "texts.csv")} == {names[2], names[3], names[5]}
    done = command(folder, "types", "--train", "train.jsonl", "--test", "texts.csv", "-c", "tfidf", "--resamples", "50")
    assert done.returncode == 0, done.stderr
    assert "type" in done.stdout and "not in the scheme" not in done.stdout + done.stderr


def test_smollm2_answers_the_demonstration(folder: Path) -> None:
    pytest.importorskip("xllamacpp")
    base = ("generate", "demo", "--model", "local/smollm2", "--limit", "2", "--max-tokens", "120")
    done = command(folder, *base, "--out", "texts.jsonl", "--method", "vanilla", "--words", "20")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (folder / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 2
    assert all((r["output"] is None) != (r["failure"] is None) for r in rows)
    assert all(r["reference"] and r["model"] == "local/smollm2" for r in rows)
