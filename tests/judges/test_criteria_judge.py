"""The embedded judge's arithmetic, by hand, and its rubrics in files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from calibrator.aspects import Scale
from calibrator.codec import rubric_from_json, rubric_to_json, written_from_json, written_to_json
from calibrator.criteria import CRITERIA, Measured
from calibrator.errors import RubricError
from calibrator.judges.base import Judge
from calibrator.judges.build import load_judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.frozen import FrozenJudge, read_frozen, step_files
from calibrator.records import Factor, Item, Judgment, Measure, Rubric, Step
from calibrator.resources import folder
from tests.conftest import make_items
from tests.judges.contract import JudgeContract


def _score(output: str, *measures: Measure, base: float = 3.0) -> float:
    rubric = Rubric("neutral/relevance", (Step("Look.", measures),), base)
    verdict = CriteriaJudge(rubric, Scale(1, 5)).judge([Item(id="a", output=output, source="A bridge over a river.")])[
        0
    ]
    assert isinstance(verdict, Judgment)
    return verdict.score


def test_a_weighted_sum_of_standardised_criteria() -> None:
    # length = log(1 + 7 words) = log 8; question = 1
    by_hand = 3.0 + 0.5 * (math.log(8) - 1.0) / 2.0 + (-0.25) * (1.0 - 0.5) / 0.5
    measures = Measure("length", 0.5, 1.0, 2.0), Measure("question", -0.25, 0.5, 0.5)
    assert _score("Is there a bridge over the river?", *measures) == pytest.approx(by_hand, abs=1e-12)


def test_a_criterion_counts_no_further_than_three_standard_deviations() -> None:
    assert _score("one two three", Measure("length", 0.5, 0.0, 1e-3)) == pytest.approx(3.0 + 0.5 * 3)


def test_the_score_is_clipped_to_the_scale() -> None:
    assert _score("one two three", Measure("length", 9.0, 0.0, 0.1)) == 5.0
    assert _score("one two three", Measure("length", -9.0, 0.0, 0.1)) == 1.0


def test_a_rubric_in_free_text_is_refused_with_the_way_out() -> None:
    with pytest.raises(RubricError, match="needs an LLM judge"):
        CriteriaJudge(Rubric("neutral/relevance", (Step("Is it clear?"),)), Scale(1, 5))


def test_an_unknown_criterion_is_refused_by_name() -> None:
    with pytest.raises(RubricError, match="'sparkle'"):
        CriteriaJudge(Rubric("a", (Step("Look.", (Measure("sparkle", 1, 0, 1),)),)), Scale(1, 5))


QUESTION = "Is there a bridge over the river?"  # length = log(1 + 7 words) = log 8; question = 1; numbers = 0
LENGTH, ASKS = (math.log(8) - 1.0) / 2.0, (1.0 - 0.5) / 0.25


def test_a_product_counts_by_its_weight_times_both_standardised_criteria() -> None:
    measure = Measure("length", 0.5, 1.0, 2.0, Factor("question", 0.5, 0.25))
    assert _score(QUESTION, measure) == pytest.approx(3.0 + 0.5 * LENGTH * ASKS, abs=1e-12)
    turned = Measure("question", 0.5, 0.5, 0.25, Factor("length", 1.0, 2.0))
    assert _score(QUESTION, turned) == _score(QUESTION, measure)
    assert _score("There is a bridge over the river.", measure) == pytest.approx(3.0 - 0.5 * LENGTH * ASKS, abs=1e-12)


def test_both_below_average_count_as_both_above() -> None:
    measure = Measure("numbers", 0.2, 1.0, 1.0, Factor("question", 2.0, 1.0))
    assert _score(QUESTION, measure) == pytest.approx(3.0 + 0.2 * (0 - 1) * (1 - 2), abs=1e-12)


def test_products_and_plain_criteria_stand_side_by_side_in_any_order() -> None:
    plain, other = Measure("length", 0.25, 1.0, 2.0), Measure("question", -0.125, 0.5, 0.25)
    product = Measure("length", 0.5, 1.0, 2.0, Factor("question", 0.5, 0.25))
    square = Measure("question", 0.0625, 0.5, 0.25, Factor("question", 0.5, 0.25))
    by_hand = 3.0 + 0.25 * LENGTH - 0.125 * ASKS + 0.5 * LENGTH * ASKS + 0.0625 * ASKS**2
    for measures in ((plain, product, other, square), (product, square, plain, other), (square, other, plain, product)):
        assert _score(QUESTION, *measures) == pytest.approx(by_hand, abs=1e-12)


def test_each_factor_counts_no_further_than_three_standard_deviations() -> None:
    measure = Measure("length", 0.1, 0.0, 1e-3, Factor("question", 2.0, 1e-3))
    assert _score(QUESTION, measure) == pytest.approx(3.0 + 0.1 * 3 * -3)


@pytest.mark.parametrize("times", ["sparkle", "Length", ""])
def test_an_unknown_criterion_to_multiply_with_is_refused_by_name(times: str) -> None:
    steps = (Step("Look.", (Measure("length", 1, 0, 1, Factor(times, 0, 1)),)),)
    with pytest.raises(RubricError, match=f"'{times}'"):
        CriteriaJudge(Rubric("a", steps), Scale(1, 5))


NAMES = [c.name for c in CRITERIA]
PLAIN = Rubric("neutral/relevance", (Step("Look.", (Measure("length", 0.1, 2.7, 0.1 + 0.2),)),), 3.25)
PRODUCTS = Rubric(
    "neutral/relevance",
    (
        Step("Look.", (Measure("length", 0.1, 2.7, 1 / 3), Measure("on-topic", -0.2, 0.5, 0.25))),
        Step("Look at both.", (Measure("length", 0.7, 2.7, 1 / 3, Factor("question", 0.1, 0.3)),)),
    ),
    3.25,
)


@pytest.mark.parametrize("rubric", [PLAIN, PRODUCTS])
def test_a_rubric_goes_through_json_and_comes_back_the_same(rubric: Rubric) -> None:
    assert rubric_from_json(json.loads(json.dumps(rubric_to_json(rubric)))) == rubric
    assert written_from_json(json.loads(json.dumps(written_to_json(rubric)))) == rubric


def test_a_rubric_written_before_there_were_products_is_read() -> None:
    written = rubric_to_json(PLAIN)
    del written["steps"][0]["measures"][0]["times"]
    assert rubric_from_json(written) == PLAIN


def frozen_with(rubric: Rubric) -> FrozenJudge:
    """Return a shipped judge with other steps."""
    there = read_frozen(folder("rubrics") / "frozen" / "cseval" / "relevance.yaml")
    return there.model_copy(update={"steps": step_files(rubric), "base": rubric.base}).hashed()


@pytest.mark.parametrize("rubric", [PLAIN, PRODUCTS])
def test_a_frozen_rubric_is_read_back_and_scores_as_before(rubric: Rubric, tmp_path: Path) -> None:
    frozen = frozen_with(rubric)
    frozen.save(tmp_path / "mine.yaml")
    back = read_frozen(tmp_path / "mine.yaml")
    assert back == frozen
    assert (back.rubric().steps, back.rubric().base) == (rubric.steps, rubric.base)
    items = make_items(20)
    loaded = load_judge(tmp_path / "mine.yaml").judge(items)
    assert loaded == CriteriaJudge(rubric, Scale(1, 5)).judge(items)


def test_only_a_product_has_the_key_times_in_the_file(tmp_path: Path) -> None:
    frozen_with(PLAIN).save(tmp_path / "plain.yaml")
    assert "times" not in (tmp_path / "plain.yaml").read_text(encoding="utf-8")
    frozen_with(PRODUCTS).save(tmp_path / "products.yaml")
    text = (tmp_path / "products.yaml").read_text(encoding="utf-8")
    assert text.count("times:") == 1
    assert "null" not in text[text.index("steps:") : text.index("origin:")]


@pytest.mark.parametrize("old, new", [("criterion: question", "criterion: numbers"), ("center: 0.1", "center: 0.2")])
def test_a_changed_factor_is_noticed(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "mine.yaml"
    frozen_with(PRODUCTS).save(path)
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RubricError, match="changed after it was frozen"):
        read_frozen(path)


class TestProducts(JudgeContract):
    """The contract of all judges, on a rubric in which every criterion stands alone and in a product."""

    def judge(self) -> Judge:
        return CriteriaJudge(self.rubric(), Scale(1, 5))

    def rubric(self) -> Rubric:
        alone = [Measure(name, 0.013, 0.37, 1.1) for name in NAMES]
        together = [Measure(a, -0.017, 0.37, 1.1, Factor(b, 0.41, 0.9)) for a, b in zip(NAMES, NAMES[5:], strict=False)]
        return Rubric("neutral/relevance", (Step("Look.", tuple(alone)), Step("Look again.", tuple(together))), 2.9)


class TestProductsRemembering(TestProducts):
    """The same with measurements that are remembered."""

    def judge(self) -> Judge:
        return CriteriaJudge(self.rubric(), Scale(1, 5), Measured())

    def test_it_scores_as_without_a_memory(self) -> None:
        items = make_items(30)
        assert self.judge().judge(items) == super().judge().judge(items)
