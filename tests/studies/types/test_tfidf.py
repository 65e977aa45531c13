"""The default classifier: against scikit-learn's own pipeline, its choices, and its file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from calibrator.errors import ConfigError, DataError
from calibrator.stats.multilabel import MEASURES, accuracy
from calibrator.studies.types.base import Assigned, Example, indicators
from calibrator.studies.types.data import true_labels
from calibrator.studies.types.features import KINDS, Kind, listed, terms
from calibrator.studies.types.linear import decide, load, save
from calibrator.studies.types.majority import MajorityLearner
from calibrator.studies.types.scheme import Scheme, scheme_of
from calibrator.studies.types.tfidf import OBJECTIVES, TfidfLearner, choose_bars
from tests.studies.types.making import SCHEME, make_examples

QUICK = TfidfLearner(kinds=("words",), strengths=(3.0,))


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_those_of_scikit_learn(kind: Kind) -> None:
    train, test = make_examples(60), make_examples(20, seed=9)
    ours = replace(QUICK, kinds=(kind,)).fit(train, SCHEME)
    vectoriser = TfidfVectorizer(analyzer=lambda text: listed(text, kind), min_df=2, sublinear_tf=True)
    matrix = vectoriser.fit_transform([e.text for e in train])
    assert ours.vocabulary == tuple(vectoriser.get_feature_names_out())
    truth = indicators(true_labels(train), SCHEME.names)
    for k in range(len(SCHEME.names)):
        model = LogisticRegression(C=3.0, solver="liblinear", random_state=0, max_iter=1000).fit(matrix, truth[:, k])
        theirs = model.predict_proba(vectoriser.transform([e.text for e in test]))[:, 1]
        assert [ours.probabilities(e.text)[k] for e in test] == pytest.approx(theirs.tolist(), abs=1e-6)


def test_terms_are_words_signs_pairs_and_pieces() -> None:
    assert terms("Why? why", "words") == {"why": 2, "?": 1, "why ?": 1, "? why": 1}
    pieces = {t for t in terms("ab ?", "words+pieces") if t.startswith("\n")}
    assert pieces == {"\n\tab", "\nab\t", "\n\tab\t"}
    assert not terms("", "words+pieces")


def test_it_learns_what_the_baseline_cannot() -> None:
    train, test = make_examples(120), make_examples(60, seed=5)
    truth = indicators(true_labels(test), SCHEME.names)
    reached = []
    for learner in (QUICK, MajorityLearner()):
        answers = learner.fit(train, SCHEME).predict(test)
        said = [a.labels for a in answers if isinstance(a, Assigned)]
        reached.append(float(accuracy(truth, indicators(said, SCHEME.names))))
    assert reached[0] > 0.75 > reached[1] + 0.2


def test_the_same_texts_and_seed_give_the_same_classifier_in_any_order_of_the_answers() -> None:
    train = make_examples(60)
    one, two = QUICK.fit(train, SCHEME), QUICK.fit(list(train), SCHEME)
    assert (one.weights == two.weights).all() and (one.thresholds == two.thresholds).all()


def test_a_text_gets_out_of_fold_what_a_fit_without_its_group_gives() -> None:
    """A label that follows from the group alone is learnt by heart, and of no use for a group that is new."""
    texts = [
        Example(f"i{k}", f"word{k // 4} word{k // 4}", frozenset({"ab"[k // 4 % 2]}), "", f"g{k // 4}")
        for k in range(64)
    ]
    fitted = QUICK.fit(texts, scheme_of("ab"))
    assert fitted.notes["which in cross-validation is"] <= 0.75
    learnt = [fitted.scheme.names[int(fitted.probabilities(e.text).argmax())] in (e.labels or ()) for e in texts]
    assert all(learnt)


def test_thresholds_are_those_that_reach_the_most() -> None:
    truth = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    found = np.array([[0.3, 0.6], [0.35, 0.65], [0.1, 0.8], [0.2, 0.9]])
    bars, value = choose_bars(truth, found, always_one=False)
    assert value == 1.0
    assert 0.2 < bars[0] <= 0.3 and 0.65 < bars[1] <= 0.8


def test_the_objective_decides_how_many_labels_are_given() -> None:
    """Each objective is best served by what was chosen for it."""
    draw = np.random.default_rng(0)
    found = draw.uniform(0.2, 0.5, size=(400, 6))
    truth = (draw.uniform(size=found.shape) < found).astype(float)
    given = {}
    for name in OBJECTIVES:
        bars, value = choose_bars(truth, found, MEASURES[name], always_one=True)
        said = decide(found, bars, always_one=True)
        assert value == pytest.approx(float(MEASURES[name](truth, said, None)))
        given[name] = {"labels": said.sum(), **{n: float(MEASURES[n](truth, said, None)) for n in OBJECTIVES}}
    for name in OBJECTIVES:
        assert all(given[name][name] >= other[name] - 0.01 for other in given.values()), name


def test_where_no_label_reaches_its_threshold_the_nearest_is_given_or_none() -> None:
    found, bars = np.array([[0.3, 0.45], [0.1, 0.2]]), np.array([0.35, 0.9])
    assert decide(found, bars, always_one=True).tolist() == [[1, 0], [1, 0]]
    assert decide(found, bars, always_one=False).tolist() == [[0, 0], [0, 0]]


def test_a_text_may_bear_no_label_where_the_scheme_says_so() -> None:
    train = [*make_examples(60), *(Example(f"n{k}", "paper paper", frozenset(), "", f"n{k}") for k in range(20))]
    fitted = QUICK.fit(train, SCHEME.allowing_none())
    answer = fitted.predict([Example("x", "paper paper")])[0]
    assert isinstance(answer, Assigned) and answer.labels == frozenset()


def test_a_label_that_all_or_none_bear_needs_no_fit() -> None:
    scheme = scheme_of(["asking", "calm", "never", "always"])
    train = [replace(e, labels=(e.labels or frozenset()) - {"sharp"} | {"always"}) for e in make_examples(40)]
    answers = QUICK.fit(train, scheme).predict(make_examples(10, seed=3))
    for answer in answers:
        assert isinstance(answer, Assigned) and "always" in answer.labels and "never" not in answer.labels


@pytest.mark.parametrize(
    ("train", "said"),
    [
        (make_examples(3, 3), "too few to be parted"),
        ([replace(e, labels=frozenset()) for e in make_examples(20)], "no text to learn from bears a label"),
        ([Example(f"i{k}", f"only{k}", frozenset({"calm"}), "", f"g{k}") for k in range(8)], "no term in common"),
    ],
)
def test_too_little_to_learn_from_is_said(train: list[Example], said: str) -> None:
    with pytest.raises(DataError, match=said):
        QUICK.fit(train, SCHEME)


def test_a_kept_classifier_classifies_alike(tmp_path: Path) -> None:
    fitted = QUICK.fit(make_examples(60), SCHEME)
    save(fitted, tmp_path / "kept.json")
    kept, texts = load(tmp_path / "kept.json"), make_examples(40, seed=4)
    assert kept.predict(texts) == fitted.predict(texts)
    assert all((kept.probabilities(e.text) == fitted.probabilities(e.text)).all() for e in texts)
    assert not any(e.text in (tmp_path / "kept.json").read_text() for e in make_examples(60))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda v: v | {"thresholds": [0.1, 0.1, 0.1]}, "was changed after it was written"),
        (lambda v: v | {"idf": v["idf"][1:]}, "idf and weights are not one for each term"),
        (lambda v: v | {"version": 2}, "version"),
        (lambda v: {k: x for k, x in v.items() if k != "kind"}, "kind: is missing"),
        (lambda v: [1, 2], "the file"),
    ],
)
def test_a_file_that_is_none_or_was_changed_is_refused(tmp_path: Path, change: object, said: str) -> None:
    path = tmp_path / "kept.json"
    save(QUICK.fit(make_examples(40), SCHEME), path)
    path.write_text(json.dumps(change(json.loads(path.read_text()))))  # type: ignore[operator]
    with pytest.raises(ConfigError, match=said):
        load(path)


def test_a_file_that_is_not_there_or_not_json_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load(tmp_path / "absent.json")
    (tmp_path / "x.json").write_text("no json")
    with pytest.raises(ConfigError, match="not a classifier"):
        load(tmp_path / "x.json")


def test_the_majority_is_the_most_frequent_label_or_set() -> None:
    sets = ["ab", "ab", "a", "c", "c", "c"]
    train = [Example(f"i{k}", "word", frozenset(s)) for k, s in enumerate(sets)]
    scheme: Scheme = scheme_of("abc")
    assert MajorityLearner().fit(train, scheme).labels == {"a"}  # a and c occur three times each: the first
    assert MajorityLearner("set").fit(train, scheme).labels == {"c"}
    none = [*train, *(Example(f"n{k}", "word", frozenset()) for k in range(4))]
    assert MajorityLearner("set").fit(none, scheme.allowing_none()).labels == frozenset()
    assert MajorityLearner("set").fit(none, scheme).labels == {"c"}
