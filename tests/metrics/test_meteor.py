"""METEOR on hand-worked cases with a tiny WordNet, and on nltk's published example with the real one where it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.metrics.base import ItemScorer, Settings, Unscored
from calibrator.metrics.meteor import METRICS, make_meteor
from calibrator.metrics.wordnet import DEBIAN, FILES, install
from calibrator.records import Item
from tests.doubles.wordnet import write_wordnet


def _made(folder: Path, origin: Path) -> ItemScorer:
    """Return the scorer with the WordNet that is made of `origin`; NLTK's own search path is as before afterwards."""
    import nltk.data

    install(folder, lambda _: None, origin=origin)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nltk.data, "path", [str(folder)])
        scorer = make_meteor(Settings(nltk_data=folder))
        scorer([Item("i", "car help big well", reference="a b c d")], lambda _: None)  # opens the files it reads
    return scorer


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> ItemScorer:
    folder = tmp_path_factory.mktemp("wordnet")
    return _made(folder / "nltk_data", write_wordnet(folder / "debian"))


def score(scorer: ItemScorer, output: str, reference: str) -> float:
    (value,) = scorer([Item("i", output, reference=reference)], lambda _: None)["meteor"]
    assert isinstance(value, float)
    return value


def formula(matches: int, chunks: int, words: int, reference: int) -> float:
    """Banerjee and Lavie 2005: Fmean = 10 P R / (R + 9 P), penalty = 0.5 (chunks / matches)^3."""
    precision, recall = matches / words, matches / reference
    return 10 * precision * recall / (recall + 9 * precision) * (1 - 0.5 * (chunks / matches) ** 3)


def test_a_synonym_counts_as_a_match(scorer: ItemScorer) -> None:
    assert score(scorer, "the auto is big", "the car is big") == pytest.approx(formula(4, 1, 4, 4))
    assert score(scorer, "the auto is big", "the car is big") == pytest.approx(0.9921875)
    # The same with a word that WordNet does not have: three matches in two chunks.
    assert score(scorer, "the boat is big", "the car is big") == pytest.approx(formula(3, 2, 4, 4))
    assert score(scorer, "the boat is big", "the car is big") == pytest.approx(0.75 * (1 - 0.5 * 8 / 27))


def test_words_match_whatever_their_case_and_by_stem(scorer: ItemScorer) -> None:
    assert score(scorer, "FRIENDS helped", "friend helping") == pytest.approx(formula(2, 1, 2, 2))


def test_wordnet_is_asked_for_stems_as_nltk_does(scorer: ItemScorer) -> None:
    """`automobile` is a synonym of `car` here, but its stem is `automobil`."""
    assert score(scorer, "an automobile", "one car") == 0.0
    assert score(scorer, "an auto", "one car") == pytest.approx(formula(1, 1, 2, 2))


def test_recall_weighs_nine_times_as_much_as_precision(scorer: ItemScorer) -> None:
    short, long = "a b", "a b c d e f g h"
    assert score(scorer, short, long) == pytest.approx(formula(2, 1, 2, 8))
    assert score(scorer, long, short) == pytest.approx(formula(2, 1, 8, 2))
    assert score(scorer, long, short) > score(scorer, short, long)


def test_another_order_is_penalised(scorer: ItemScorer) -> None:
    assert score(scorer, "c d a b", "a b c d") == pytest.approx(formula(4, 2, 4, 4))
    assert score(scorer, "a c b d", "a b c d") == pytest.approx(formula(4, 4, 4, 4))


def test_marks_are_tokens_of_their_own_at_the_end_of_every_sentence(scorer: ItemScorer) -> None:
    assert score(scorer, "We help. You stay!", "we help . you stay !") == pytest.approx(formula(6, 1, 6, 6))
    assert score(scorer, "we don't know", "we do n't know") == pytest.approx(formula(4, 1, 4, 4))


def test_nothing_in_common_is_0_and_no_text_raises(scorer: ItemScorer) -> None:
    assert score(scorer, "yes", "no") == 0.0
    (value,) = scorer([Item("i", "y" * 2000, reference="ab" * 1000)], lambda _: None)["meteor"]
    assert value == 0.0 or isinstance(value, Unscored)  # nltk before 3.10 cannot stem it


def test_a_reference_without_a_token_gives_no_value(scorer: ItemScorer) -> None:
    (value,) = scorer([Item("i", "a word", reference=" \n")], lambda _: None)["meteor"]
    assert isinstance(value, Unscored)


@settings(deadline=None, max_examples=100)
@given(pairs=st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), min_size=1, max_size=4))
def test_any_text_has_a_value_within_the_bounds_that_does_not_depend_on_others(
    scorer: ItemScorer, pairs: list[tuple[str, str]]
) -> None:
    items = [Item(str(k), output, reference=reference) for k, (output, reference) in enumerate(pairs)]
    ticks: list[int] = []
    together = scorer(items, ticks.append)["meteor"]
    assert sum(ticks) == len(items)
    assert together == tuple(scorer([item], ticks.append)["meteor"][0] for item in items)
    low, high = METRICS[0].low, METRICS[0].high
    assert low is not None
    assert high is not None
    assert all(isinstance(v, Unscored) or low <= v < high for v in together)


def test_nltks_published_example_with_the_real_wordnet(tmp_path: Path) -> None:
    if not all((DEBIAN / name).is_file() for name in FILES):
        pytest.skip(f"WordNet is not in {DEBIAN}: apt-get install wordnet-base wordnet-sense-index")
    real = _made(tmp_path / "nltk_data", DEBIAN)
    output = "It is a guide to action which ensures that the military always obeys the commands of the party"
    reference = "It is a guide to action that ensures that the military will forever heed Party commands"
    assert score(real, output, reference) == pytest.approx(0.6944, abs=5e-5)
    assert score(real, "they aid us", "they help us") > score(real, "they hit us", "they help us") > 0
