"""The contract suite on every judge there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from calibrator.aspects import find_aspect
from calibrator.criteria import Measured
from calibrator.drafting.base import DraftRequest
from calibrator.drafting.baselines import constant, length_only, uncalibrated
from calibrator.drafting.criteria import CriteriaDrafter
from calibrator.judges.base import Judge
from calibrator.judges.build import load_judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.llm import LLMJudge
from calibrator.judges.metric import MetricJudge
from calibrator.judges.panel import BOUNDLESS, Member, PanelJudge
from calibrator.judges.recorded import RecordedJudge
from calibrator.models.base import ChatRequest
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import ScriptedModel
from calibrator.prompts import score_prompt
from calibrator.records import Item, Verdict
from tests.conftest import make_items
from tests.doubles.server import chance, reply_to
from tests.judges.contract import JudgeContract

ASPECT = find_aspect("neutral/relevance")[0]


class TestCriteria(JudgeContract):
    def judge(self) -> Judge:
        rubric = next(CriteriaDrafter().draft([DraftRequest(ASPECT, tuple(make_items(80)), 0.2, 1)]))
        return CriteriaJudge(rubric, ASPECT.scale)


class TestCriteriaRemembering(JudgeContract):
    def judge(self) -> Judge:
        measured = Measured()
        rubric = next(CriteriaDrafter(measured=measured).draft([DraftRequest(ASPECT, tuple(make_items(80)), 0.2, 1)]))
        return CriteriaJudge(rubric, ASPECT.scale, measured)


class TestUncalibrated(JudgeContract):
    def judge(self) -> Judge:
        return CriteriaJudge(uncalibrated(ASPECT, make_items(40), Measured()), ASPECT.scale)


class TestConstant(JudgeContract):
    def judge(self) -> Judge:
        return CriteriaJudge(constant(ASPECT, make_items(50)), ASPECT.scale)


class TestLength(JudgeContract):
    def judge(self) -> Judge:
        return CriteriaJudge(length_only(ASPECT, make_items(50), Measured()), ASPECT.scale)


class TestMetric(JudgeContract):
    low, high = -4.0, 4000.0  # of the grade of a sentence of five thousand words

    def judge(self) -> Judge:
        return MetricJudge("flesch-kincaid")


class TestLLM(JudgeContract):
    """The scores follow from the words of the quoted text and from the whole prompt."""

    steps: tuple[str, ...] = ("Look at the words.", "Weigh the tone.")
    width = 8

    @pytest.fixture(autouse=True)
    def _open(self) -> Iterator[None]:
        self.portal = Portal()
        yield
        self.portal.close()

    def judge(self) -> Judge:
        def by_words(request: ChatRequest) -> str:
            return reply_to([asdict(m) for m in request.messages], "key")

        prompt = score_prompt(ASPECT, self.steps, ("source", "output"))
        return LLMJudge(Client(ScriptedModel(by_words), self.portal, self.width), prompt, ASPECT)


class TestZeroShot(TestLLM):
    steps = ()
    width = 1


class Remembered:
    """A judge to whose items, before it judges, what other judges gave is added, as a column of the data would."""

    def __init__(self, judge: Judge) -> None:
        self.inner, self.id, self.mode = judge, judge.id, judge.mode

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        given = [{name: 1 + 4 * chance(name, i.key) for name in ("P", "Q", "metric/R")} for i in items]
        return self.inner.judge([replace(i, recorded=g) for i, g in zip(items, given, strict=True)])


class TestRecorded(JudgeContract):
    def judge(self) -> Judge:
        return Remembered(RecordedJudge("P", ASPECT.scale))


class TestPanelOfRecorded(JudgeContract):
    def judge(self) -> Judge:
        seats = [
            (Member("recorded:P", 1.5, 3.0, 0.8), RecordedJudge("P", ASPECT.scale)),
            (Member("recorded:Q", -2.5, 3.0, 0.5), RecordedJudge("Q", ASPECT.scale)),
            (Member("recorded:metric/R", 0.0, 3.0, 0.5), RecordedJudge("metric/R", None)),
        ]
        return Remembered(PanelJudge("panel", seats, ASPECT.scale, 3.1))


class TestPanelByRanks(JudgeContract):
    def judge(self) -> Judge:
        knots = tuple(1 + k / 25 for k in range(100))
        seats = [(Member(f"recorded:{n}", 3.0, knots=knots), RecordedJudge(n, ASPECT.scale)) for n in "PQ"]
        return Remembered(PanelJudge("panel", seats, ASPECT.scale, 3.1))


class TestPanelWithCriteria(JudgeContract):
    def judge(self) -> Judge:
        rubric = next(CriteriaDrafter().draft([DraftRequest(ASPECT, tuple(make_items(80)), 0.2, 1)]))
        seats = [(Member("recorded:P", 1.5, 3.0, 0.8), RecordedJudge("P", ASPECT.scale))]
        return Remembered(PanelJudge("panel", seats, ASPECT.scale, rubric.base, CriteriaJudge(rubric, BOUNDLESS)))


class TestPanelOfModels(TestLLM):
    """An LLM judge beside a criteria judge that is a member like any other."""

    def judge(self) -> Judge:
        rubric = next(CriteriaDrafter().draft([DraftRequest(ASPECT, tuple(make_items(80)), 0.2, 1)]))
        seats = [
            (Member("zero-shot", 0.7, 3.0, 1.0), super().judge()),
            (Member("criteria", 0.6, 3.0, 1.0), CriteriaJudge(rubric, ASPECT.scale)),
        ]
        return PanelJudge("panel", seats, ASPECT.scale, 3.0)


@pytest.mark.parametrize("name", ["relevance", "aggressiveness", "coherence", "suitableness"])
class TestShipped:
    """The judges that are shipped keep the same contract."""

    def test_contract(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)  # no frozen judge of a working folder stands before the shipped one
        loaded = load_judge(name)
        assert loaded.aspect.ref == f"cseval/{name}"

        class Shipped(JudgeContract):
            low, high = loaded.aspect.scale.low, loaded.aspect.scale.high

            def judge(self) -> Judge:
                return loaded

        contract = Shipped()
        for test in (t for t in dir(contract) if t.startswith("test_")):
            getattr(contract, test)()
