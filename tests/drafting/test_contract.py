"""The contract of all drafters, on every drafter there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace

import pytest

from calibrator.aspects import find_aspect
from calibrator.drafting.base import Drafter, DraftRequest, RefineRequest
from calibrator.drafting.criteria import CriteriaDrafter
from calibrator.drafting.llm import LLMDrafter
from calibrator.models.base import ChatRequest, request_key
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import ScriptedModel
from calibrator.records import Disagreement, Rubric
from tests.conftest import make_items
from tests.doubles.server import reply_to

ASPECT = find_aspect("neutral/relevance")[0]


def draft(drafter: Drafter, request: DraftRequest) -> Rubric:
    (rubric,) = drafter.draft([request])
    assert isinstance(rubric, Rubric)
    return rubric


def refine(drafter: Drafter, request: RefineRequest) -> Rubric:
    (rubric,) = drafter.refine([request])
    assert isinstance(rubric, Rubric)
    return rubric


class DrafterContract:
    """Inherit, and give `drafter()`."""

    def drafter(self) -> Drafter:
        raise NotImplementedError

    def request(self, seed: int = 1, temperature: float = 0.3) -> DraftRequest:
        return DraftRequest(ASPECT, tuple(make_items(60)), temperature, seed)

    def refinement(self, rubric: Rubric, move: str, seed: int = 1) -> RefineRequest:
        items = make_items(60)
        worst = tuple(Disagreement(i, 5.0, 1.0, 4.0) for i in make_items(63, seed=9)[-3:])
        return RefineRequest(ASPECT, rubric, move, worst, tuple(items), 0.3, seed)

    def test_a_draft_is_a_rubric_for_the_aspect_with_readable_steps(self) -> None:
        rubric = draft(self.drafter(), self.request())
        assert rubric.aspect == ASPECT.ref
        assert 1 <= len(rubric.steps) <= 12
        assert all(len(s.text.split()) >= 5 and s.text.endswith(".") for s in rubric.steps)

    def test_the_same_request_gives_the_same_rubric(self) -> None:
        assert draft(self.drafter(), self.request()) == draft(self.drafter(), self.request())

    def test_temperature_and_seed_vary_the_drafts(self) -> None:
        drafts = {draft(self.drafter(), self.request(seed, 0.5)) for seed in range(6)}
        assert len(drafts) > 1

    def test_every_move_gives_a_rubric_for_the_aspect(self) -> None:
        drafter = self.drafter()
        assert len(drafter.moves) == len(set(drafter.moves)) >= 1
        rubric = draft(drafter, self.request())
        for move in drafter.moves:
            changed = refine(drafter, self.refinement(rubric, move))
            assert changed.aspect == ASPECT.ref
            assert 1 <= len(changed.steps) <= 12
            assert changed != rubric

    def test_the_same_refinement_gives_the_same_rubric(self) -> None:
        drafter = self.drafter()
        rubric = draft(drafter, self.request())
        for move in drafter.moves:
            request = self.refinement(rubric, move)
            assert refine(drafter, request) == refine(self.drafter(), request)

    def test_each_request_has_its_answer_whatever_stands_beside_it(self) -> None:
        requests = [self.request(seed) for seed in range(4)]
        together = list(self.drafter().draft(requests))
        assert together == [draft(self.drafter(), r) for r in requests]
        refinements = [self.refinement(draft(self.drafter(), requests[0]), m) for m in self.drafter().moves]
        assert list(self.drafter().refine(refinements)) == [refine(self.drafter(), r) for r in refinements]
        assert list(self.drafter().draft([])) == []


class TestCriteria(DrafterContract):
    def drafter(self) -> Drafter:
        return CriteriaDrafter()


class TestCriteriaByRatings(DrafterContract):
    def drafter(self) -> Drafter:
        return CriteriaDrafter("mae")


class TestLLM(DrafterContract):
    """What the double writes depends on messages, temperature and seed, as it does with a model."""

    @pytest.fixture(autouse=True)
    def _open(self) -> Iterator[None]:
        self.portal = Portal()
        yield
        self.portal.close()

    def drafter(self) -> Drafter:
        def steps(request: ChatRequest) -> str:
            return reply_to([asdict(m) for m in request.messages], request_key("double", request))

        return LLMDrafter(Client(ScriptedModel(steps), self.portal, 4), ("source", "output"))


def test_a_lower_is_better_aspect_is_fitted_to_its_ratings_like_any_other() -> None:
    lower = replace(ASPECT, better="lower")
    request = DraftRequest(ASPECT, tuple(make_items(60)), 0.0, 1)
    assert draft(CriteriaDrafter(), request).steps == draft(CriteriaDrafter(), replace(request, aspect=lower)).steps


def test_a_refit_is_a_rubric_for_the_aspect() -> None:
    drafter, items = CriteriaDrafter(), tuple(make_items(60))
    rubrics = list(drafter.draft([DraftRequest(ASPECT, items, 0.3, seed) for seed in range(3)]))
    refitted = drafter.refit(ASPECT, rubrics, make_items(100), 5)
    assert refitted.aspect == ASPECT.ref
    assert 1 <= len(refitted.steps) <= 12
    assert refitted == drafter.refit(ASPECT, rubrics, make_items(100), 5)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_few_exemplars_still_give_a_rubric(count: int) -> None:
    rubric = draft(CriteriaDrafter(), DraftRequest(ASPECT, tuple(make_items(count)), 0.5, 1))
    assert rubric.aspect == ASPECT.ref


def test_exemplars_all_rated_alike_give_the_constant() -> None:
    alike = tuple(replace(i, human=4.0) for i in make_items(20))
    assert draft(CriteriaDrafter(), DraftRequest(ASPECT, alike, 0.5, 1)).base == pytest.approx(4.0)
