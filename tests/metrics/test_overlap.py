"""Overlap metrics by hand, and against sacrebleu and plain re-computations of the published formulas."""

from __future__ import annotations

import math
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.errors import ModelMissing
from calibrator.metrics.base import ItemScorer, Metric, Settings, Unscored
from calibrator.metrics.overlap import METRICS
from calibrator.records import Item

BY_NAME = {metric.name: metric for metric in METRICS}
WORDS = "we you they help stay read the a good long book river town and , . ? don't New-York U.S. 3.5".split()
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=15).map(" ".join)


@pytest.fixture(scope="module")
def scorers() -> dict[str, ItemScorer]:
    made = {metric.make: metric.make(Settings()) for metric in METRICS}
    return {metric.name: made[metric.make] for metric in METRICS}  # type: ignore[misc]


Scorers = dict[str, ItemScorer]


def score(scorers: Scorers, name: str, output: str, reference: str) -> float:
    (value,) = scorers[name]([Item("i", output, reference=reference)], lambda _: None)[name]
    assert isinstance(value, float)
    return value


def test_the_names_and_what_is_made_together() -> None:
    assert len(BY_NAME) == len(METRICS)
    assert {"bleu-1", "bleu-2", "bleu-3", "bleu-4", "gleu", "chrf", "rouge-1", "rouge-2", "rouge-l"} <= set(BY_NAME)
    assert len({BY_NAME[f"bleu-{n}"].make for n in (1, 2, 3, 4)} | {BY_NAME["gleu"].make}) == 1
    assert len({m.make for m in METRICS if m.name.startswith("rouge")}) == 1
    assert all(m.needs == ("output", "reference") and m.reference and m.better == "higher" for m in METRICS)


def test_bleu_by_hand(scorers: Scorers) -> None:
    # 5 of 6 words, 3 of 5 pairs, 1 of 4 triples, no four: counted as 1/2 of 3. As long as the reference.
    output, reference = "we read a good book today", "we read the good book today"
    parts = [5 / 6, 3 / 5, 1 / 4, 0.5 / 3]
    for n in (1, 2, 3, 4):
        wanted = math.prod(parts[:n]) ** (1 / n)
        assert score(scorers, f"bleu-{n}", output, reference) == pytest.approx(wanted)


def test_bleu_counts_a_word_no_more_often_than_the_reference_has_it(scorers: Scorers) -> None:
    # Papineni et al. 2002, example 2, with one reference: "the" seven times against two.
    assert score(scorers, "bleu-1", "the the the the the the the", "the cat is on the mat") == pytest.approx(2 / 7)


def test_bleu_of_a_short_text_is_brought_down_by_the_brevity_penalty(scorers: Scorers) -> None:
    assert score(scorers, "bleu-1", "a good book", "a good book to read") == pytest.approx(math.exp(1 - 5 / 3))
    assert score(scorers, "bleu-1", "a good book to read", "a good book") == pytest.approx(3 / 5)


def test_second_missing_order_counts_a_quarter_match(scorers: Scorers) -> None:
    # One word of four in common, nothing longer: 1/4, then 1/2 of 3, 1/4 of 2, 1/8 of 1.
    wanted = (1 / 4 * 0.5 / 3 * 0.25 / 2 * 0.125 / 1) ** (1 / 4)
    assert score(scorers, "bleu-4", "we stay at home", "you stay in town") == pytest.approx(wanted)


def test_tokens_of_bleu_are_those_of_mteval(scorers: Scorers) -> None:
    assert score(scorers, "bleu-4", "Good, isn't it? Yes.", "Good , isn't it ? Yes .") == 1.0
    assert score(scorers, "bleu-1", "we stay. you go", "we stay . you go") == 1.0  # marks within the text too
    assert score(scorers, "bleu-1", "Good book", "good book") == pytest.approx(1 / 2)  # case counts


@settings(deadline=None, max_examples=200)
@given(output=sentences, reference=sentences)
def test_bleu_equals_sacrebleus_without_effective_order(scorers: Scorers, output: str, reference: str) -> None:
    from sacrebleu.metrics import BLEU

    for n in (1, 2, 3, 4):
        if len(output.split()) >= n:  # what is too short for an order has 0 there
            wanted = BLEU(max_ngram_order=n, effective_order=False).sentence_score(output, [reference]).score
            assert score(scorers, f"bleu-{n}", output, reference) == pytest.approx(wanted / 100, abs=1e-12)


def test_gleu_is_the_lower_of_precision_and_recall(scorers: Scorers) -> None:
    # Output: 3 + 2 + 1 n-grams; reference: 5 + 4 + 3 + 2. In common: 3 + 2 + 1.
    assert score(scorers, "gleu", "a good book", "a good book to read") == pytest.approx(6 / 14)
    assert score(scorers, "gleu", "a good book to read", "a good book") == pytest.approx(6 / 14)
    # nltk's published example; its tokens have no marks.
    output = "It is a guide to action which ensures that the military always obeys the commands of the party"
    reference = "It is a guide to action that ensures that the military will forever heed Party commands"
    assert score(scorers, "gleu", output, reference) == pytest.approx(29 / 66)


def test_sacrebleu_leaves_out_orders_that_a_text_is_too_short_for(scorers: Scorers) -> None:
    assert score(scorers, "sacrebleu", "good book", "good book") == pytest.approx(100)
    assert score(scorers, "bleu-2", "good book", "good book") == 1.0
    assert score(scorers, "bleu-4", "good book", "good book") == pytest.approx((0.5 * 0.25) ** (1 / 4))


def plain_chrf(output: str, reference: str, words: int, beta: float = 2.0) -> float:
    """F of the mean precision and mean recall over the orders that both texts are long enough for (Popović 2015)."""
    texts = [[list("".join(t.split())) for t in (output, reference)], [t.split() for t in (output, reference)]]
    pairs = []
    for (candidate, target), longest in zip(texts, (6, words), strict=True):
        for n in range(1, longest + 1):
            a, b = ([tuple(t[k : k + n]) for k in range(len(t) - n + 1)] for t in (candidate, target))
            if a and b:
                common = sum((Counter(a) & Counter(b)).values())
                pairs.append((common / len(a), common / len(b)))
    precision = sum(p for p, _ in pairs) / len(pairs)
    recall = sum(r for _, r in pairs) / len(pairs)
    if not precision + recall:
        return 0.0
    return 100 * (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


@settings(deadline=None, max_examples=200)
@given(output=st.text("abc de", min_size=1, max_size=30), reference=st.text("abc de", min_size=1, max_size=30))
def test_chrf_is_as_published(scorers: Scorers, output: str, reference: str) -> None:
    if output.split() and reference.split():
        for name, words in (("chrf", 0), ("chrf++", 2)):
            assert score(scorers, name, output, reference) == pytest.approx(plain_chrf(output, reference, words))


def test_rouge_by_hand(scorers: Scorers) -> None:
    output, reference = "we read the book at home", "at home we read the old book"
    # 6 of 6 and of 7 words; pairs in common: we read, read the, at home; in order: we read the book.
    wanted = {"rouge-1": (6 / 6, 6 / 7), "rouge-2": (3 / 5, 3 / 6), "rouge-l": (4 / 6, 4 / 7)}
    for name, (precision, recall) in wanted.items():
        assert score(scorers, f"{name}-precision", output, reference) == pytest.approx(precision)
        assert score(scorers, f"{name}-recall", output, reference) == pytest.approx(recall)
        f1 = 2 * precision * recall / (precision + recall)
        assert score(scorers, name, output, reference) == pytest.approx(f1)


def test_rouge_knows_no_case_no_marks_and_no_stems(scorers: Scorers) -> None:
    assert score(scorers, "rouge-1", "The BOOK, today!", "the book today") == 1.0
    assert score(scorers, "rouge-1", "reading books", "read book") == 0.0


def test_rouge_has_no_value_for_another_script(scorers: Scorers) -> None:
    items = [Item("a", "слово", reference="слово"), Item("b", "word", reference="слово"), Item("c", "x", reference="x")]
    first, second, third = scorers["rouge-l"](items, lambda _: None)["rouge-l"]
    assert isinstance(first, Unscored)
    assert isinstance(second, Unscored)
    assert third == 1.0
    assert score(scorers, "bleu-1", "слово", "слово") == 1.0


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_a_text_that_equals_its_reference_has_the_highest_value(scorers: Scorers, metric: Metric) -> None:
    assert metric.high is not None
    text = "we read a good long book."
    assert score(scorers, metric.name, text, text) == pytest.approx(metric.high)
    assert score(scorers, metric.name, text, "zzz") == 0.0


@settings(deadline=None, max_examples=100)
@given(pairs=st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1) | sentences), min_size=1, max_size=4))
def test_any_text_has_a_value_within_the_bounds_that_does_not_depend_on_others(
    scorers: Scorers, pairs: list[tuple[str, str]]
) -> None:
    items = [Item(str(k), output, reference=reference) for k, (output, reference) in enumerate(pairs)]
    for scorer in {id(s): s for s in scorers.values()}.values():
        ticks: list[int] = []
        together = scorer(items, ticks.append)
        assert sum(ticks) == len(items)
        alone = [scorer([item], ticks.append) for item in items]
        for name, values in together.items():
            assert values == tuple(one[name][0] for one in alone)
            low, high = BY_NAME[name].low, BY_NAME[name].high
            assert low is not None
            assert high is not None
            assert all(isinstance(v, Unscored) or low <= v <= high + 1e-9 for v in values)


def test_a_missing_package_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.partition(".")[0] == "rouge_score"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "rouge_score", None)
    with pytest.raises(ModelMissing, match=r"ROUGE needs rouge_score.*pip install 'calibrator\[metrics\]'"):
        BY_NAME["rouge-1"].make(Settings())
