"""The contract suite on every judge there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
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
from calibrator.models.base import ChatRequest
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import ScriptedModel
from calibrator.prompts import score_prompt
from tests.conftest import make_items
from tests.doubles.server import reply_to
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
