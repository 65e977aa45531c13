"""DSPy's optimizers in place of our search: the same bounds, the same journal, and nothing left behind."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import Scale
from calibrator.calibration.config import check_models, make_config
from calibrator.calibration.loop import calibrate
from calibrator.calibration.method import with_model
from calibrator.calibration.optimizers.base import INSTALL, Caps
from calibrator.calibration.optimizers.dspy_search import SPENT, start_of
from calibrator.calibration.optimizers.gepa import MINIBATCH, Gepa
from calibrator.calibration.optimizers.metric import closeness, feedback
from calibrator.calibration.optimizers.mipro import Mipro, judgments_of
from calibrator.calibration.prepare import search_plan
from calibrator.calibration.purpose import purpose_of
from calibrator.errors import BudgetSpent, ConfigError, ModelError
from calibrator.judges.wording import in_words
from calibrator.models.base import ChatRequest
from calibrator.models.budget import Cap
from calibrator.models.build import Access, Connections
from calibrator.prompts import MARK, item_texts, quoted, score_prompt
from calibrator.store import Ledger, Run, create_run
from tests.calibration.test_llm_loop import ASPECT, NAME, ROLES, Done, Scripted, prepared, scripted, usual  # noqa: F401
from tests.cli.test_llm import command, newest_run, replies_of, result_of, write_data
from tests.doubles.server import STEPS, serving

ABSENT = [name for name in ("dspy", "gepa", "optuna") if importlib.util.find_spec(name) is None]
needs_dspy = pytest.mark.skipif(bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)}")
BOTH = ["dspy-gepa", "dspy-mipro"]
SMALL: dict[str, Any] = {
    "aspect": "relevance", "shots": (2, 4), "trials": 4, "top_k": 2, "rounds": 1, "refinements": 4, "resamples": 100,
}  # fmt: skip
SCALE = Scale(1, 5)


def optimized(folder: Path, name: str, run: Run | None = None, access: Access | None = None, **settings: Any) -> Done:
    config = make_config(**(SMALL | {"model": NAME, "optimizer": name, "keep": True} | settings))
    run = run or create_run(folder, "test", config.model_dump(mode="json"))
    journal, ready = run.journal(), prepared(seed=config.seed)
    with Connections(access or Access(width=8), journal, tally=run.calls()) as connections:
        method = with_model(config, ASPECT, ready.roles, connections)
        purpose = purpose_of(config, ready)
        return Done(calibrate(ready, config, method, purpose, run, Ledger(folder), journal=journal), run)


def judges(request: ChatRequest) -> bool:
    return request.messages[0].content.startswith("You rate one text")


def caps(**settings: Any) -> Caps:
    config = make_config(**(SMALL | {"model": NAME} | settings))
    with Connections(Access()) as connections:
        drafts, refinements, most = search_plan(config, prepared(), with_model(config, ASPECT, ROLES, connections))
    return Caps(most, drafts + refinements)


@needs_dspy
@pytest.mark.parametrize("name", BOTH)
def test_its_choice_is_frozen_and_reported_like_ours(tmp_path: Path, scripted: Scripted, name: str) -> None:  # noqa: F811
    models = scripted(usual)
    done = optimized(tmp_path, name)
    result, frozen = done.outcome.result, done.outcome.frozen
    (line,) = result.candidates
    assert (line.origin, line.by, result.drafter) == ("optimized", f"{name}@{NAME}", f"{name}@{NAME}")
    assert (result.winner, frozen.origin.drafter, frozen.origin.winner) == (line.name, f"{name}@{NAME}", line.name)
    assert [j.name for j in result.test.judges] == ["calibrated", "zero-shot", "length only", "constant"]
    assert frozen.prompt() == score_prompt(ASPECT, in_words(frozen.rubric()), ROLES)
    assert {s.text for s in frozen.steps} <= {*STEPS, start_of(ASPECT)}
    # What DSPy had judged on dev is what we judge the winner by: it is asked once.
    asked = models[0].asked
    assert len({(r.messages, r.sampling, r.sample) for r in asked}) == len(asked)
    mine = frozen.prompt().messages(item_texts(prepared().split.dev[0]))
    assert sum(r.messages == mine for r in asked) == 1
    # Its budget is that of our search.
    most = caps()
    found = done.journal.get("optimized")
    assert 0 < found["judgments"] == result.judgments <= most.judgments
    assert 0 < found["proposals"] == sum(not judges(r) for r in asked) <= most.proposals
    guided = {r.messages for r in asked if judges(r) and "\nSTEPS\n" in r.messages[0].content}
    sealed = sum(any(quoted(i.output) in m[0].content for i in prepared().split.test.unseal(1)) for m in guided)
    assert found["judgments"] == len(guided) - sealed
    assert not any(SPENT in key for key in result.no_rubric)


@needs_dspy
@pytest.mark.parametrize("name", BOTH)
def test_the_test_side_is_not_seen_and_no_text_is_frozen(tmp_path: Path, scripted: Scripted, name: str) -> None:  # noqa: F811
    split = prepared().split
    sealed = {quoted(i.output) for i in split.test.unseal(1)} | {i.output for i in split.test.unseal(1)}
    early: list[str] = []

    def watching(request: ChatRequest) -> str:
        if not (tmp_path / "ledger.jsonl").exists():
            early.extend(m.content for m in request.messages)
        return usual(request)

    scripted(watching)
    done = optimized(tmp_path, name)
    assert early and not any(text in content for text in sealed if len(text.split()) > 2 for content in early)
    kept = "".join(done.bytes)
    assert not any(i.output in kept for i in split.train + split.dev if len(i.output.split()) > 2)
    assert MARK.strip() not in "".join(s.text for s in done.outcome.frozen.steps)


@needs_dspy
@pytest.mark.parametrize("name", BOTH)
def test_two_runs_give_the_same_whatever_is_in_flight(tmp_path: Path, scripted: Scripted, name: str) -> None:  # noqa: F811
    scripted(usual)
    one = optimized(tmp_path / "a", name, concurrency=1)
    two = optimized(tmp_path / "b", name, concurrency=16)
    assert one.bytes == two.bytes
    assert one.journal.get("optimized") == two.journal.get("optimized")


@needs_dspy
@pytest.mark.parametrize("name", BOTH)
def test_a_search_that_broke_off_goes_on_and_pays_nothing_twice(tmp_path: Path, scripted: Scripted, name: str) -> None:  # noqa: F811
    whole_models = scripted(usual)
    whole = optimized(tmp_path / "whole", name)
    total = len(whole_models[0].asked)
    run = create_run(tmp_path / "parts", "test", {})
    answered: list[ChatRequest] = []
    sittings = 0
    while sittings < 20:
        left = iter(range(total // 4))

        def breaking(request: ChatRequest) -> str | Exception:
            if next(left, None) is None:  # noqa: B023
                return ModelError("HTTP 401")
            answered.append(request)
            return usual(request)

        scripted(breaking)
        sittings += 1
        try:
            done = optimized(tmp_path / "parts", name, run=run)
            break
        except ModelError as error:
            assert "HTTP 401" in str(error) or "another request had failed" in str(error)
    assert sittings >= 4
    assert done.bytes == whole.bytes
    assert len(answered) == total == len({(r.messages, r.sampling) for r in answered})

    scripted(lambda r: None)  # a finished one is replayed, and DSPy need not be there any more
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calibrator.calibration.optimizers.dspy_search.require_dspy", _fail)
        assert optimized(tmp_path / "parts", name, run=run).bytes == whole.bytes


def _fail() -> None:
    raise AssertionError("not wanted")


@needs_dspy
@pytest.mark.parametrize("name", BOTH)
def test_a_budget_stops_it_and_a_higher_one_lets_it_go_on(tmp_path: Path, scripted: Scripted, name: str) -> None:  # noqa: F811
    models = scripted(usual)
    run = create_run(tmp_path, "test", {})
    with pytest.raises(BudgetSpent, match="40 calls"):
        optimized(tmp_path, name, run=run, access=Access(width=4, cap=Cap("calls", 40)))
    assert len(models[-1].asked) == 40
    assert not (tmp_path / "ledger.jsonl").exists()
    done = optimized(tmp_path, name, run=run)
    assert done.bytes == optimized(tmp_path / "whole", name).bytes
    assert len(models[1].asked) + 40 == len(models[2].asked)


@needs_dspy
@pytest.mark.parametrize("name", BOTH)
def test_guides_that_may_not_be_are_refused_and_nobody_is_asked_with_them(
    tmp_path: Path,
    scripted: Scripted,  # noqa: F811
    name: str,
) -> None:
    split = prepared().split
    quote = next(i.source + " " + i.output for i in split.train if len(i.output.split()) > 8)
    bad = (f"1. Look for texts such as {quote}", "1. Look at the text as a whole.\n2. Give it a score from 0 to 100.")

    def proposing(request: ChatRequest) -> str:
        if judges(request):
            assert "from 0 to 100" not in request.messages[0].content
            return usual(request)
        (field, *_) = json.loads(usual(request))
        return json.dumps({field: bad[(request.sampling.seed or 0) % 2]})

    scripted(proposing)
    result = optimized(tmp_path, name).outcome.result
    assert set(result.no_rubric) <= {"a step quotes an example", "a step asks for another scale than 1-5"}
    assert result.no_rubric
    assert [s.text for s in result.rubric.steps] == [start_of(ASPECT)]


@needs_dspy
def test_a_proposal_that_cannot_be_read_is_told_and_no_text_with_it(
    tmp_path: Path,
    scripted: Scripted,  # noqa: F811
    capfd: pytest.CaptureFixture[str],
) -> None:
    scripted(lambda r: usual(r) if judges(r) else "Well.")
    run = create_run(tmp_path, "test", {})
    with pytest.raises(Exception, match=r"no rubric was written \(1 × dspy-mipro gave up \(AdapterParseError\)\)"):
        optimized(tmp_path, "dspy-mipro", run=run)
    assert capfd.readouterr() == ("", "")


@needs_dspy
@pytest.mark.parametrize("name", BOTH)
def test_nothing_is_left_behind(
    tmp_path: Path,
    scripted: Scripted,  # noqa: F811
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    import dspy
    import optuna
    import tqdm
    from dspy.clients import base_lm, model_metadata

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(model_metadata, "_load", _fail)  # it would fetch a price list
    told = (sys.stdout, sys.stderr, logging.getLogger("dspy").level, optuna.logging.get_verbosity())
    threads, watched, before = set(threading.enumerate()), tqdm.tqdm.monitor_interval, len(base_lm.GLOBAL_HISTORY)
    scripted(usual)
    optimized(tmp_path / "runs", name)
    assert capfd.readouterr() == ("", "")
    assert told == (sys.stdout, sys.stderr, logging.getLogger("dspy").level, optuna.logging.get_verbosity())
    assert (set(threading.enumerate()) - threads, tqdm.tqdm.monitor_interval) == (set(), watched)
    assert (dspy.settings.lm, dspy.settings.adapter, len(base_lm.GLOBAL_HISTORY)) == (None, None, before)
    assert [p.name for p in tmp_path.iterdir()] == ["runs"]
    assert {p.name for p in (tmp_path / "runs").rglob("*") if p.is_file()} <= {
        "config.json", "journal.jsonl", "calls", "ledger.jsonl",
    }  # fmt: skip


@needs_dspy
@pytest.mark.parametrize("name", BOTH)
def test_the_command_stops_at_its_budget_and_goes_on_in_another_process(tmp_path: Path, name: str) -> None:
    """Each process hashes texts in its own way, which may not change what DSPy finds."""
    write_data(tmp_path)
    with serving(tmp_path / "log") as server:
        search = ["--aspect", "neutral/relevance", "--data", "data.csv", "--trials", "4", "--rounds", "1", "--keep"]
        search += ["--resamples", "100", "--shots", "3", "--model", f"{server.url}#double", "--optimizer", name]
        stopped = command(tmp_path, "run", *search, "--budget", "30calls", PYTHONHASHSEED="1")
        assert stopped.returncode != 0
        (last,) = stopped.stderr.splitlines()
        run = newest_run(tmp_path)
        assert f"calibrate resume {run.name} --budget" in last and "nothing is lost" in last
        assert len(server.asked()) == 30
        assert f"optimizer {name}: at most " in stopped.stdout and "proposals, as the search above" in stopped.stdout

        done = command(tmp_path, "resume", "last", "--budget", "5000calls", PYTHONHASHSEED="2")
        assert done.returncode == 0, done.stderr
        assert len(server.asked()) == len(set(server.asked())) == len(replies_of(run))
        result = result_of(run)
        assert result["drafter"] == f"{name}@{server.url}#double"
        report = (run / "report.md").read_text()
        assert f"o01 (optimized by {name}@" in report
        assert f"{result['judgments']} judgments: all that the optimizer asked for on train and dev" in report

        again = command(tmp_path, "run", *search, "--runs-dir", "again", "--json", "--no-cache", PYTHONHASHSEED="3")
        assert again.returncode == 0, again.stderr
        told = json.loads(again.stdout)
        assert {k: told[k] for k in result} == result
    assert not (tmp_path / ".dspy_cache").exists()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"optimizer": "dspy-gepa"}, "--optimizer: it betters what a model is told; name one: --model"),
        ({"optimizer": "dspy-gepa", "model": NAME, "protocol": "paper"}, "--protocol paper has a search of its own"),
        ({"optimizer": "dspy-mipro", "model": NAME, "drafter": "criteria"}, "DSPy asks one model for instructions"),
        ({"optimizer": "dspy-mipro", "model": NAME, "drafter": f"criteria,{NAME}"}, "asks one model for instructions"),
        ({"optimizer": "dspy", "model": NAME}, "--optimizer: .*dspy-gepa"),
    ],
)
def test_what_does_not_go_together_is_said(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        check_models(make_config(aspect="relevance", **settings))


def test_missing_packages_are_said_with_the_command_that_provides_them(tmp_path: Path) -> None:
    write_data(tmp_path)
    (tmp_path / "without").mkdir()
    for package in ("dspy", "optuna"):  # what cannot be found is not installed
        (tmp_path / "without" / "sitecustomize.py").write_text(
            "import importlib.util as u\nfind = u.find_spec\n"
            f"u.find_spec = lambda n, *a: None if n == {package!r} else find(n, *a)\n"
        )
        options = ["--aspect", "neutral/relevance", "--data", "data.csv", "--model", "http://127.0.0.1:1/v1#m"]
        done = command(tmp_path, "run", *options, "--optimizer", "dspy-gepa", PYTHONPATH=str(tmp_path / "without"))
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.endswith(f"must be installed for this: {INSTALL}")
    assert not list((tmp_path / "runs").glob("*/config.json"))


def test_a_search_too_small_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for way, least in ((Gepa(), 18 + 18 + 2 * MINIBATCH), (Mipro(), 6 + judgments_of(2, 0, 18))):
        way.settings(Caps(least, 2), 20, 18)
        with pytest.raises(ConfigError, match=r"--optimizer: a search of \d+ judgments is too small .*--trials"):
            way.settings(Caps(least - 1, 2), 20, 18)


@given(st.integers(50, 5000), st.integers(2, 100), st.integers(1, 400), st.integers(5, 300))
def test_the_settings_stay_within_the_budget(judgments: int, proposals: int, train: int, dev: int) -> None:
    most = Caps(judgments, proposals)
    try:
        gepa = Gepa().settings(most, train, dev)
        # The last round begins one short of what GEPA is told, and takes two minibatches and all of dev.
        assert gepa["max_metric_calls"] - 1 + 2 * MINIBATCH + dev <= judgments
        assert gepa["max_metric_calls"] > dev
    except ConfigError:
        assert judgments < 2 * (dev + MINIBATCH)
    try:
        mipro = Mipro().settings(most, train, dev)
    except ConfigError:
        return
    assert judgments_of(mipro["num_trials"], mipro["minibatch_size"], dev) <= judgments
    assert mipro["minibatch_size"] <= dev and mipro["num_candidates"] >= 2
    views = -(-train // mipro["view_data_batch_size"])
    assert views <= 10 and mipro["num_candidates"] + views + 1 <= max(proposals, 4)


@pytest.mark.parametrize(
    ("score", "human", "near", "told"),
    [
        (5.0, 2.0, 0.25, "gave 5, which is 3 too high. The guide should lead to a lower rating"),
        (2.0, 3.0, 0.75, "gave 2, which is 1 too low. The guide should lead to a higher rating"),
        (4.0, 4.0, 1.0, "gave 4 on the scale 1-5, and so did the assessor"),
        (4.0, 4.4, 0.9, "and so did the assessor"),
        (None, 1.0, 0.0, "There is no score: the reply is empty."),
    ],
)
def test_what_an_optimizer_is_told_of_a_score(score: float | None, human: float, near: float, told: str) -> None:
    assert closeness(score, human, SCALE) == pytest.approx(near)
    assert told in feedback(score, "the reply is empty", human, SCALE)
