"""What every judge must do; a test class inherits this and names its judge."""

from __future__ import annotations

from dataclasses import replace

from calibrator.judges.base import Judge
from calibrator.records import Failure, Item, Judgment
from calibrator.texts import digest
from tests.conftest import make_items


def with_texts(**texts: str) -> Item:
    """Return an item with these texts; its key follows from its content, as that of every item does."""
    item = replace(make_items(1)[0], **texts)
    return replace(item, key=digest([item.source, item.output, {}]))


class JudgeContract:
    """Inherit, and give `judge()` and the ends of its scale."""

    low, high = 1.0, 5.0

    def judge(self) -> Judge:
        raise NotImplementedError

    def test_answers_for_every_item_in_order(self) -> None:
        items = make_items(25)
        verdicts = self.judge().judge(items)
        assert [v.item for v in verdicts] == [i.id for i in items]

    def test_no_items_no_verdicts(self) -> None:
        assert self.judge().judge([]) == ()

    def test_scores_lie_on_the_scale(self) -> None:
        odd = [with_texts(output=o) for o in ("word " * 5000, "!" * 50 + "x", "x", "ÄÖ 中文 🙂 ok")]
        for verdict in self.judge().judge([*make_items(40), *odd]):
            assert isinstance(verdict, Judgment)
            assert self.low <= verdict.score <= self.high

    def test_every_judgment_says_how_it_was_obtained(self) -> None:
        judge = self.judge()
        assert judge.mode
        assert judge.id
        assert all(isinstance(v, Judgment) and v.mode == judge.mode for v in judge.judge(make_items(5)))

    def test_an_unusable_text_is_a_failure_with_a_reason_and_no_number(self) -> None:
        for text in ("", "   \n", "?!…"):
            verdict = self.judge().judge([with_texts(output=text)])[0]
            assert isinstance(verdict, Failure)
            assert verdict.reason
            assert not hasattr(verdict, "score")

    def test_the_neighbours_of_an_item_do_not_matter(self) -> None:
        items = make_items(30)
        together = self.judge().judge(items)
        alone = tuple(self.judge().judge([i])[0] for i in items)
        backwards = tuple(reversed(self.judge().judge(items[::-1])))
        assert together == alone == backwards

    def test_ratings_are_not_looked_at(self) -> None:
        items = make_items(20)
        blind = [replace(i, human=None, ratings=()) for i in items]
        assert self.judge().judge(items) == self.judge().judge(blind)

    def test_an_empty_source_is_no_reason_to_fail(self) -> None:
        assert isinstance(self.judge().judge([with_texts(source="")])[0], Judgment)
