"""What a calibration works with: who drafts, how a rubric becomes a judge, and what it has to beat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from calibrator.aspects import Aspect
from calibrator.calibration.config import CRITERIA, RunConfig
from calibrator.calibration.optimizers.base import Optimizer
from calibrator.calibration.optimizers.dspy_search import DspyOptimizer
from calibrator.criteria import Measured
from calibrator.drafting.base import Drafter
from calibrator.drafting.baselines import constant, length_only, uncalibrated
from calibrator.drafting.criteria import PAIRS_AT_MOST, TERMS_AT_MOST, CriteriaDrafter
from calibrator.drafting.fitting import share_for_new_systems
from calibrator.drafting.llm import LLMDrafter
from calibrator.judges.base import Judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.llm import METHOD, LLMJudge
from calibrator.judges.modes import SAMPLE_TEMPERATURE
from calibrator.judges.wording import in_words
from calibrator.models.base import Sampling
from calibrator.models.build import Connections
from calibrator.models.names import levels
from calibrator.prompts import score_prompt
from calibrator.records import Item, Rubric, Verdict

UNCALIBRATED, ZERO_SHOT, LENGTH, CONSTANT = "uncalibrated", "zero-shot", "length only", "constant"
FRACTIONS, COUNTS = (0.5, 0.75, 1.0), (3.0, 5.0, 8.0)
THREADS = 32  # of DSPy, which judges an item in each

Refit = Callable[[Aspect, Sequence[Rubric], Sequence[Item], int], Rubric]


@dataclass(frozen=True, slots=True)
class Contender:
    """A judge that may be handed over: the name of its kind (as it stands in a frozen file), its rubric, itself."""

    kind: str
    rubric: Rubric
    judge: Judge


@dataclass(frozen=True, slots=True)
class Method:
    """A way of calibrating.

    `drafters` come with their few-shot sizes; `refiner` betters what any of them drafted. `baselines` gives the judges
    to beat by name, those that are fitted on the items it is given; the first, `start`, has seen no rating. Where a
    rubric is fitted, `refit` fits the best of a search to more items after the choice, and `fresh` repeats the fit
    without any search, on other items. `worded` says that the judge reads the sentences of a rubric, not its measures.
    An `optimizer` searches in place of drafters and refiner, which then only say how much it may spend.
    """

    name: str
    drafters: tuple[tuple[Drafter, tuple[float, ...]], ...]
    refiner: Drafter
    judge: Callable[[Rubric], Judge]
    start: str
    baselines: Callable[[Sequence[Item]], Mapping[str, Contender]]
    refit: Refit | None = None
    fresh: Callable[[Sequence[Item]], Rubric] | None = None
    worded: bool = False
    optimizer: Optimizer | None = None

    @property
    def drafter(self) -> str:
        """Who drafts, as it stands in signatures."""
        return self.optimizer.id if self.optimizer else " + ".join(drafter.id for drafter, _ in self.drafters)


def embedded(
    aspect: Aspect,
    objective: str,
    shots: tuple[float, ...] | None = None,
    size: int = TERMS_AT_MOST,
    share: float = 0.0,
    *,
    new_systems: bool = False,
) -> Method:
    """Return the embedded method: criteria judge and criteria drafter, sharing what they measured.

    `size` is how many criteria and products a rubric may hold; `share` how much of the systems its fit leaves out (see
    `purpose`), which a fresh fit for `new_systems` chooses anew on its own items. Products of criteria, which
    tell systems apart better than single ones do, have no part in a judge for new systems.
    """
    measured = Measured()
    pairs = 0 if new_systems else PAIRS_AT_MOST
    drafter = CriteriaDrafter(objective, measured, size, share, pairs)

    def judge(rubric: Rubric) -> Judge:
        return CriteriaJudge(rubric, aspect.scale, measured)

    def fresh(items: Sequence[Item]) -> Rubric:
        by_rank = objective in ("spearman", "kendall")
        own = share_for_new_systems(items, measured, by_rank) if new_systems else share
        return CriteriaDrafter(objective, measured, size, own, pairs).refit(aspect, (), items, 0)

    def baselines(known: Sequence[Item]) -> dict[str, Contender]:
        start = uncalibrated(aspect, known, measured)
        return {UNCALIBRATED: Contender(CRITERIA, start, judge(start)), **_fitted(aspect, known, measured)}

    sized = ((drafter, shots or FRACTIONS),)
    return Method(CRITERIA, sized, drafter, judge, UNCALIBRATED, baselines, drafter.refit, fresh)


def _fitted(aspect: Aspect, known: Sequence[Item], measured: Measured) -> dict[str, Contender]:
    """Return the baselines that every method has to beat, fitted on `known`."""
    rubrics = {LENGTH: length_only(aspect, known, measured), CONSTANT: constant(aspect, known)}
    return {
        name: Contender(CRITERIA, rubric, CriteriaJudge(rubric, aspect.scale, measured))
        for name, rubric in rubrics.items()
    }


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
    mode = config.mode
    sampling = Sampling(SAMPLE_TEMPERATURE if mode.draws > 1 else 0.0, config.max_tokens)
    drafters: list[tuple[Drafter, tuple[float, ...]]] = []
    for name in config.drafters:
        made = (
            CriteriaDrafter(config.objective)
            if name == CRITERIA
            else LLMDrafter(connections.client(name), roles, config.draft_tokens)
        )
        drafters.append((made, _sizes(config, name)))

    def judge(rubric: Rubric) -> Judge:
        return LLMJudge(client, score_prompt(aspect, in_words(rubric), roles), aspect, sampling, told, mode)

    def baselines(known: Sequence[Item]) -> dict[str, Contender]:
        start = Rubric(aspect.ref, ())
        return {ZERO_SHOT: Contender(METHOD, start, judge(start)), **_fitted(aspect, known, Measured())}

    models = [d for d, _ in drafters if isinstance(d, LLMDrafter)]
    refiner = models[0] if models else drafters[0][0]
    optimizer = _optimizer(config, aspect, roles, judge, connections)
    return Method(METHOD, tuple(drafters), refiner, judge, ZERO_SHOT, baselines, worded=True, optimizer=optimizer)


def _optimizer(
    config: RunConfig,
    aspect: Aspect,
    roles: Sequence[str],
    judge: Callable[[Rubric], Judge],
    connections: Connections,
) -> Optimizer | None:
    """Return the optimizer that the configuration wants in place of our search."""
    if config.optimizer is None or config.model is None:
        return None
    threads = min(THREADS, levels(config.model, config.concurrency)[0])
    client = connections.client(config.drafters[0])
    return DspyOptimizer(config.optimizer, aspect, tuple(roles), judge, client, config.draft_tokens, threads)


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
