"""What a calibration works with; models are opened and never asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from calibrator.aspects import find_aspect
from calibrator.calibration.config import make_config
from calibrator.calibration.method import (
    CONSTANT,
    COUNTS,
    FRACTIONS,
    LENGTH,
    UNCALIBRATED,
    ZERO_SHOT,
    Method,
    embedded,
    with_model,
)
from calibrator.drafting.criteria import CriteriaDrafter
from calibrator.drafting.llm import LLMDrafter
from calibrator.errors import ConfigError
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.llm import LLMJudge
from calibrator.models.base import Sampling
from calibrator.models.build import Access, Connections
from calibrator.prompts import score_prompt
from calibrator.records import Measure, Rubric, Step, Verdict
from tests.conftest import make_items

ASPECT = find_aspect("neutral/relevance")[0]
ROLES = ("source", "output")
ONE, TWO = "http://127.0.0.1:9/v1#m", "http://127.0.0.1:9/v1#n"  # nothing listens there


@pytest.fixture
def connections() -> Iterator[Connections]:
    with Connections(Access()) as opened:
        yield opened
        assert opened.outlay.calls == 0


def method(connections: Connections, **settings: Any) -> Method:
    config = make_config(aspect="relevance", **{"model": ONE, **settings})
    return with_model(config, ASPECT, ROLES, connections)


@pytest.mark.parametrize(
    "drafter, shots, sizes",
    [
        (None, None, (COUNTS,)),
        (None, (2, 9), ((2, 9),)),
        ("criteria", None, (FRACTIONS,)),
        ("criteria", (0.5, 20), ((0.5, 20),)),
        (f"{ONE},{TWO}", (3,), ((3,), (3,))),
        (f"criteria,{ONE}", None, (FRACTIONS, COUNTS)),
        (f"{ONE},criteria", None, (COUNTS, FRACTIONS)),
        (f"criteria,{ONE}", (0.5, 1, 2, 6), ((0.5, 1), (2, 6))),
        (f"criteria,{ONE}", (0.5,), ((0.5,), COUNTS)),
        (f"criteria,{ONE}", (4,), (FRACTIONS, (4,))),
        (f"criteria,{ONE},{TWO}", (0.25, 4), ((0.25,), (4,), (4,))),
    ],
)
def test_each_drafter_has_the_sizes_of_its_kind(
    connections: Connections, drafter: str | None, shots: tuple[float, ...] | None, sizes: tuple[tuple[float, ...], ...]
) -> None:
    assert tuple(s for _, s in method(connections, drafter=drafter, shots=shots).drafters) == sizes


@pytest.mark.parametrize(
    "drafter, ids, refiner",
    [
        (None, (f"llm@{ONE}",), f"llm@{ONE}"),
        (TWO, (f"llm@{TWO}",), f"llm@{TWO}"),
        (f"{TWO},{ONE}", (f"llm@{TWO}", f"llm@{ONE}"), f"llm@{TWO}"),
        (f"criteria,{TWO}", ("", f"llm@{TWO}"), f"llm@{TWO}"),
        ("criteria", ("",), ""),
    ],
)
def test_a_model_refines_wherever_one_drafts(
    connections: Connections, drafter: str | None, ids: tuple[str, ...], refiner: str
) -> None:
    made = method(connections, drafter=drafter)
    criteria = CriteriaDrafter().id
    assert tuple(d.id for d, _ in made.drafters) == tuple(i or criteria for i in ids)
    assert made.refiner.id == (refiner or criteria)
    assert any(made.refiner is d for d, _ in made.drafters)
    assert made.drafter == " + ".join(i or criteria for i in ids)


def test_the_start_is_the_model_without_a_guide(connections: Connections) -> None:
    made = method(connections)
    baselines = made.baselines(make_items(20))
    assert list(baselines) == [ZERO_SHOT, LENGTH, CONSTANT]
    start, judge = baselines[ZERO_SHOT].rubric, baselines[ZERO_SHOT].judge
    assert (baselines[ZERO_SHOT].kind, start) == ("llm", Rubric(ASPECT.ref, ()))
    assert (made.name, made.start, made.refit, made.fresh, made.worded) == ("llm", ZERO_SHOT, None, None, True)
    assert isinstance(judge, LLMJudge)
    assert judge.prompt == score_prompt(ASPECT, (), ROLES)


def test_the_judge_reads_the_words_of_a_rubric(connections: Connections) -> None:
    made = method(connections, drafter=TWO, max_tokens=99)
    rubric = Rubric(ASPECT.ref, (Step("Look."), Step("Count the words.", (Measure("length", 1.0, 0.0, 1.0),))))
    judge = made.judge(rubric)
    assert isinstance(judge, LLMJudge)
    assert judge.id == f"llm@{ONE}"  # whoever drafts, this one judges
    assert judge.prompt == score_prompt(ASPECT, ("Look.", "Count the words. (Decisive.)"), ROLES)
    assert judge.sampling == Sampling(0.0, 99, None)


def test_judge_and_drafter_of_one_name_share_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from calibrator.models.scripted import ScriptedModel

    opened: list[str] = []

    def scripted(name: str, width: int, arguments: object) -> ScriptedModel:
        opened.append(name)
        return ScriptedModel(lambda r: '{"score": 2}', name)

    monkeypatch.setattr("calibrator.models.build.open_model", scripted)
    told: list[Verdict] = []
    with Connections(Access()) as connections:
        config = make_config(aspect="relevance", model=ONE, drafter=f"{ONE},{TWO}")
        made = with_model(config, ASPECT, ROLES, connections, told.append)
        assert opened == [ONE, TWO]
        start = made.baselines(make_items(20))[ZERO_SHOT].judge
        assert tuple(told) == () != start.judge(make_items(2)) == tuple(told)


def test_a_name_that_is_no_model_is_refused(connections: Connections) -> None:
    with pytest.raises(ConfigError, match="'gpt4' is no model"):
        method(connections, model="gpt4")
    with pytest.raises(ConfigError, match="'gpt4' is no model"):
        method(connections, drafter="criteria,gpt4")


def test_without_a_model_there_is_no_such_method(connections: Connections) -> None:
    with pytest.raises(ValueError, match="names no model"):
        with_model(make_config(aspect="relevance"), ASPECT, ROLES, connections)


def test_the_embedded_method_is_as_it_was() -> None:
    made = embedded(ASPECT, "spearman")
    ((drafter, sizes),) = made.drafters
    assert sizes == FRACTIONS
    assert made.refiner is drafter and isinstance(drafter, CriteriaDrafter) and not isinstance(drafter, LLMDrafter)
    assert (made.name, made.start, made.worded) == ("criteria", UNCALIBRATED, False)
    assert made.refit is not None
    baselines = made.baselines(make_items(20))
    assert list(baselines) == [UNCALIBRATED, LENGTH, CONSTANT]
    assert all(c.kind == "criteria" and isinstance(c.judge, CriteriaJudge) for c in baselines.values())
    assert embedded(ASPECT, "spearman", (0.3,)).drafters[0][1] == (0.3,)


def test_a_fresh_fit_searches_nothing_and_follows_from_its_items() -> None:
    items, made = make_items(80, 20), embedded(ASPECT, "spearman")
    assert made.fresh is not None
    assert made.fresh(items) == made.fresh(items) != made.fresh(items[:40])


def test_a_fresh_fit_for_new_systems_takes_them_out_as_its_own_items_have_it() -> None:
    """Of two methods with another share, that for new systems chooses the share anew, the other keeps its own."""
    items = [replace(i, system="abcd"[k % 4], human=float(k % 4 + 1)) for k, i in enumerate(make_items(120, 30))]
    fresh = [embedded(ASPECT, "spearman", share=s, new_systems=n).fresh for n in (True, False) for s in (0.0, 1.0)]
    new_plain, new_centred, plain, centred = (f(items) for f in fresh if f is not None)
    assert new_plain == new_centred
    assert plain != centred
