"""What every classifier keeps: inherit, and give `classifier(scheme)`."""

from __future__ import annotations

from dataclasses import replace

from calibrator.records import Failure
from calibrator.studies.types.base import Assigned, Classifier, Example
from calibrator.studies.types.scheme import Scheme
from tests.studies.types.making import SCHEME, make_examples


class ClassifierContract:
    """The suite; `unknown_texts` is False for a classifier that answers only what was recorded."""

    unknown_texts = True

    def classifier(self, scheme: Scheme = SCHEME) -> Classifier:
        raise NotImplementedError

    def test_it_says_who_it_is(self) -> None:
        assert self.classifier().id

    def test_answers_for_every_example_in_order(self) -> None:
        examples = make_examples(12)
        assert [a.item for a in self.classifier().predict(examples)] == [e.id for e in examples]

    def test_no_examples_no_answers(self) -> None:
        assert self.classifier().predict([]) == ()

    def test_every_answer_is_labels_of_the_scheme_at_least_one_or_a_failure_with_a_reason(self) -> None:
        odd = ["word " * 600, "x", "ÄÖ 中文 🙂 ok", "[asking]", "reply with nothing"]
        more = [Example(f"odd{k}", text, None, "", text) for k, text in enumerate(odd)]
        examples = make_examples(12)
        answers = self.classifier().predict([*examples, *(more if self.unknown_texts else [])])
        assert any(isinstance(a, Assigned) for a in answers)
        for answer in answers:
            if isinstance(answer, Failure):
                assert answer.reason
            else:
                assert answer.labels and answer.labels <= set(SCHEME.names)

    def test_a_text_without_a_word_is_a_failure(self) -> None:
        first = make_examples(1)[0]
        for text in ("", "   \n", "?!…"):
            answer = self.classifier().predict([replace(first, text=text)])[0]
            assert isinstance(answer, Failure) and answer.reason

    def test_labels_are_not_looked_at(self) -> None:
        examples, classifier = make_examples(10), self.classifier()
        blind = [replace(e, labels=None) for e in examples]
        assert classifier.predict(examples) == classifier.predict(blind)

    def test_the_neighbours_of_an_example_do_not_matter(self) -> None:
        examples, classifier = make_examples(8), self.classifier()
        together = classifier.predict(examples)
        assert together == tuple(classifier.predict([e])[0] for e in examples)
        assert together == tuple(reversed(classifier.predict(examples[::-1])))

    def test_progress_is_told_of_every_example(self) -> None:
        told: list[int] = []
        examples = [*make_examples(5), replace(make_examples(6)[5], text="")]
        self.classifier().predict(examples, told.append)
        assert sum(told) == 6
