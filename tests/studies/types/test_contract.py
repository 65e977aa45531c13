"""Every classifier under the one suite."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from calibrator.models.base import ChatRequest
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import ScriptedModel
from calibrator.studies.types.base import Classifier
from calibrator.studies.types.linear import LinearClassifier, load, save
from calibrator.studies.types.llm import LLMClassifier
from calibrator.studies.types.majority import MajorityLearner
from calibrator.studies.types.recipe import Recipe
from calibrator.studies.types.recorded import RecordedClassifier
from calibrator.studies.types.scheme import Scheme
from calibrator.studies.types.tfidf import TfidfLearner
from calibrator.studies.types.transformer import TransformerLearner
from tests.studies.types.contract import ClassifierContract
from tests.studies.types.making import SCHEME, encoder_in, make_examples, writer_in

FAST = {"epochs": 12, "batch": 16, "accumulate": 1}


@cache
def fitted(scheme: Scheme) -> LinearClassifier:
    return TfidfLearner(kinds=("words",), strengths=(1.0,)).fit(make_examples(80, seed=1), scheme)


class TestTfidf(ClassifierContract):
    def classifier(self, scheme: Scheme = SCHEME) -> Classifier:
        return fitted(scheme)


class TestTfidfThatWasKept(ClassifierContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "kept.json"

    def classifier(self, scheme: Scheme = SCHEME) -> Classifier:
        save(fitted(scheme), self.path)
        return load(self.path)


class TestMajority(ClassifierContract):
    def classifier(self, scheme: Scheme = SCHEME) -> Classifier:
        return MajorityLearner("set").fit(make_examples(30), scheme)


class TestRecorded(ClassifierContract):
    unknown_texts = False

    def classifier(self, scheme: Scheme = SCHEME) -> Classifier:
        recorded = {e.id: sorted(e.labels or ()) for e in make_examples(60)}
        return RecordedClassifier("recorded:test", scheme, recorded | {"i3": [], "i4": ["quite another"]})


class TestLLM(ClassifierContract):
    @pytest.fixture(autouse=True)
    def _model(self) -> Iterator[None]:
        portal = Portal()
        self.client = Client(ScriptedModel(reply), portal, 4)
        yield
        portal.close()

    def classifier(self, scheme: Scheme = SCHEME) -> Classifier:
        return LLMClassifier(self.client, scheme)


def reply(request: ChatRequest) -> str:
    """Answer from the quoted text: well, as prose, or with a label that there is not."""
    text = next(line for line in request.messages[-1].content.splitlines() if line.startswith("> "))
    if "river" in text:
        return '{"types": ["asking", "calm"]}'
    return "I think it might be asking something." if "garden" in text else '["sharp", "ironic"]'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield tmp_path_factory.mktemp("checkpoints")
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def head(folder: Path) -> Classifier:
    learner = TransformerLearner(str(encoder_in(folder / "bert")), device="cpu", head=Recipe(rate=5e-3, **FAST))
    return learner.fit(make_examples(60, seed=1), SCHEME)


@pytest.fixture(scope="module")
def writer(folder: Path) -> Classifier:
    recipe = Recipe(rate=1e-2, **FAST)
    learner = TransformerLearner(str(writer_in(folder / "t5")), device="cpu", text_to_text=recipe)
    return learner.fit(make_examples(60, seed=1), SCHEME)


class TestHead(ClassifierContract):
    @pytest.fixture(autouse=True)
    def _fitted(self, head: Classifier) -> None:
        self.made = head

    def classifier(self, scheme: Scheme = SCHEME) -> Classifier:
        return self.made


class TestListWriter(ClassifierContract):
    @pytest.fixture(autouse=True)
    def _fitted(self, writer: Classifier) -> None:
        self.made = writer

    def classifier(self, scheme: Scheme = SCHEME) -> Classifier:
        return self.made
