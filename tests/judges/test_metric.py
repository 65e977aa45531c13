"""The metric judge: what it may be made of, and what it is told apart by."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrator.errors import ConfigError
from calibrator.judges.identity import identity
from calibrator.judges.metric import MetricJudge, metric_that_judges, weights_of
from calibrator.metrics.named import parse_metric
from calibrator.records import Failure, Judgment
from tests.conftest import make_items
from tests.metrics import tiny


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bert(tmp_path_factory.mktemp("bert"))


def test_it_gives_what_the_metric_gives_and_a_failure_where_a_text_is_lacking() -> None:
    verdicts = MetricJudge("rouge-l").judge(make_items(3))
    assert verdicts == tuple(Failure(f"i{k}", "no reference") for k in range(3))
    assert all(isinstance(v, Judgment) and v.mode == "metric" for v in MetricJudge("dale-chall").judge(make_items(3)))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("distinct-1", "a figure of a set of texts"),
        ("moverscore", "moverscore-even judges"),
        ("novelty", "measure it first"),
        ("rougel", "did you mean rouge-l"),
    ],
)
def test_what_is_no_figure_of_one_text_judges_nothing(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        metric_that_judges(name)


def test_weights_at_the_same_place_are_told_apart(bert: Path) -> None:
    name = f"bertscore-source@{bert}#1"
    before, seen = weights_of(parse_metric(name)), identity(MetricJudge(name))
    assert before
    assert (weights_of(parse_metric(name)), identity(MetricJudge(name))) == (before, seen)
    tiny.bert(bert, seed=1)
    assert weights_of(parse_metric(name)) != before
    assert identity(MetricJudge(name)) != seen


def test_a_folder_is_named_by_its_whole_path(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bert.parent)
    assert MetricJudge(f"bertscore-source@{bert.name}#1").id == f"metric:bertscore-source@{bert.resolve()}#1"


def test_a_metric_without_weights_has_none() -> None:
    assert weights_of(parse_metric("rouge-l")) == ""
