"""What a calibration works with: who drafts, how a rubric becomes a judge, and where it starts from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from calibrator.aspects import Aspect
from calibrator.calibration.config import CRITERIA, RunConfig
from calibrator.criteria import Measured
from calibrator.drafting.base import Drafter
from calibrator.drafting.criteria import TERMS_AT_MOST, CriteriaDrafter, uncalibrated
from calibrator.drafting.llm import LLMDrafter
from calibrator.judges.base import Judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.llm import METHOD, LLMJudge
from calibrator.judges.wording import in_words
from calibrator.models.base import Sampling
from calibrator.models.build import Connections
from calibrator.prompts import score_prompt
from calibrator.records import Item, Rubric, Verdict

UNCALIBRATED, ZERO_SHOT = "uncalibrated", "zero-shot"
FRACTIONS, COUNTS = (0.5, 0.75, 1.0), (3.0, 5.0, 8.0)

Refit = Callable[[Aspect, Sequence[Rubric], Sequence[Item], int], Rubric]


@dataclass(frozen=True, slots=True)
class Method:
    """A way of calibrating.

    `drafters` come with their few-shot sizes; `refiner` betters what any of them drafted. `start` gives the rubric to
    begin with from the texts of items, never their ratings, and `start_name` what its judge is called. `refit` is
    there where a rubric can be fitted to more items after the choice; `worded` says that the judge reads the sentences
    of a rubric rather than its measures.
    """

    name: str
    drafters: tuple[tuple[Drafter, tuple[float, ...]], ...]
    refiner: Drafter
    judge: Callable[[Rubric], Judge]
    start: Callable[[Sequence[Item]], Rubric]
    start_name: str = UNCALIBRATED
    refit: Refit | None = None
    worded: bool = False

    @property
    def drafter(self) -> str:
        """Who drafts, as it stands in signatures."""
        return " + ".join(drafter.id for drafter, _ in self.drafters)


def embedded(
    aspect: Aspect, objective: str, shots: tuple[float, ...] | None = None, size: int = TERMS_AT_MOST
) -> Method:
    """Return the embedded method: criteria judge and criteria drafter, sharing what they measured.

    `size` is how many criteria and products a rubric may hold.
    """
    measured = Measured()
    drafter = CriteriaDrafter(objective, measured, size)
    return Method(
        name="criteria",
        drafters=((drafter, shots or FRACTIONS),),
        refiner=drafter,
        judge=lambda rubric: CriteriaJudge(rubric, aspect.scale, measured),
        start=lambda items: uncalibrated(aspect, items, measured),
        refit=drafter.refit,
    )


def with_model(
    config: RunConfig,
    aspect: Aspect,
    roles: Sequence[str],
    connections: Connections,
    told: Callable[[Verdict], None] | None = None,
) -> Method:
    """Return the method of the papers: a model judges, and a model or the criteria drafter (or both) writes rubrics.

    The start is the zero-shot judge: the same model with the aspect's definition and no steps. Where several draft, a
    model refines. Raises what `Connections.client` raises.
    """
    if config.model is None:
        raise ValueError("the configuration names no model")
    client = connections.client(config.model)
    sampling = Sampling(max_tokens=config.max_tokens)
    drafters: list[tuple[Drafter, tuple[float, ...]]] = []
    for name in config.drafters:
        made = (
            CriteriaDrafter(config.objective)
            if name == CRITERIA
            else LLMDrafter(connections.client(name), roles, config.draft_tokens)
        )
        drafters.append((made, _sizes(config, name)))

    def judge(rubric: Rubric) -> Judge:
        return LLMJudge(client, score_prompt(aspect, in_words(rubric), roles), aspect, sampling, told)

    models = [d for d, _ in drafters if isinstance(d, LLMDrafter)]
    return Method(
        name=METHOD,
        drafters=tuple(drafters),
        refiner=models[0] if models else drafters[0][0],
        judge=judge,
        start=lambda items: Rubric(aspect.ref, ()),
        start_name=ZERO_SHOT,
        worded=True,
    )


def _sizes(config: RunConfig, name: str) -> tuple[float, ...]:
    """Return the few-shot sizes of a drafter: a model is shown a number of items, the criteria drafter fits a share.

    Where both draft, each takes the sizes of its kind.
    """
    usual = FRACTIONS if name == CRITERIA else COUNTS
    if config.shots is None:
        return usual
    if len(config.drafters) == 1:
        return config.shots
    return tuple(s for s in config.shots if (s <= 1) == (name == CRITERIA)) or usual
