"""Before the loop: the aspect, the items and the split that a configuration means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calibrator.aspects import Aspect, AspectFile, find_aspect, parse_scale, read_aspect
from calibrator.audit.rated import shipped_ratings
from calibrator.audit.whole import quick_findings
from calibrator.calibration.config import RunConfig
from calibrator.calibration.method import Method
from calibrator.calibration.races.blocks import block_ends
from calibrator.calibration.races.halving import most_judgments
from calibrator.catalog import Source, open_source
from calibrator.columns import map_columns
from calibrator.criteria import VERSION
from calibrator.dataset import Dataset, rated_items
from calibrator.drafting.llm import LLMDrafter
from calibrator.errors import ConfigError, DataError, RunError
from calibrator.judges.frozen_parts import Origin
from calibrator.models.rate import LETTERS_A_TOKEN
from calibrator.prompts import draft_prompt, item_texts, prompts_digest, score_prompt
from calibrator.split import Split, refuse_overlap, split_items
from calibrator.texts import digest

STEPS_TAKEN = ("x" * 150,) * 6  # steps of an average rubric


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a run works on. `chosen` says in words why the aspect is the one it is.

    `faults` are grave faults of the data that the audit found and the configuration says to go on in spite of.
    """

    aspect: Aspect
    chosen: str
    dataset: Dataset
    test: Dataset | None
    split: Split
    faults: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """All that was counted and let pass."""
        return self.dataset.warnings + (self.test.warnings if self.test else ())

    @property
    def roles(self) -> tuple[str, ...]:
        """The texts of an item that a judge is given, the rated one last."""
        mapped = self.dataset.mapped
        return (*(("source",) if mapped.source else ()), *sorted(mapped.inputs), "output")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much work a run is, at most.

    `tokens` are those of all prompts by an estimate, None if no model is asked; `calls` are those to models and
    `reply_tokens` the most that they may write.
    """

    drafts: int
    refinements: int
    judgments: int
    tokens: int | None
    calls: int = 0
    reply_tokens: int = 0


def prepare(config: RunConfig) -> Prepared:
    """Return what the configuration means. Raises the InputError that names what is wrong with it.

    Raises RunError if the data is not what it was when the run was started.
    """
    source = open_source(config.data, config.data_dir, config.encoding)
    aspect, chosen = _aspect(config, source)
    dataset, faults = _dataset(config, source, aspect)
    test = None
    if config.test is not None:
        test, more = _dataset(config, open_source(config.test, config.data_dir, config.encoding), aspect)
        faults += more
        refuse_overlap(dataset.items, test.items, config.test)
    split = split_items(dataset.items, config.seed, test.items if test else None, str(dataset.path))
    prepared = Prepared(aspect, chosen, dataset, test, split, faults)
    for part, now in inputs_of(prepared, config).items():
        if config.inputs and config.inputs[part] != now:
            raise RunError(f"{dataset.path}: the {part} has changed since this run was started; start a new run")
    return prepared


def inputs_of(prepared: Prepared, config: RunConfig) -> dict[str, str]:
    """Return the digests of what a run depends on beside its configuration: data, aspect, measurements, prompts."""
    test = prepared.test.digest if prepared.test else ""
    return {
        "data": f"{prepared.dataset.digest}{test}",
        "aspect": digest(AspectFile.of(prepared.aspect).model_dump(mode="json")),
        "version of the criteria": str(VERSION),
        **({"prompts": prompts_digest()} if config.model else {}),
    }


def _aspect(config: RunConfig, source: Source) -> tuple[Aspect, str]:
    if config.aspect_file is not None:
        aspect, chosen = read_aspect(config.aspect_file), f"from {config.aspect_file.name}"
        if config.aspect not in (aspect.name, aspect.ref, config.aspect_file.stem):
            raise ConfigError(
                f"{config.aspect_file} is about '{aspect.name}', not '{config.aspect}'; leave out --aspect"
            )
    else:
        aspect, chosen = find_aspect(config.aspect, source.suite)
    if config.scale is not None:
        aspect = replace(aspect, scale=parse_scale(config.scale), anchors={})
        chosen = f"{chosen}; scale {aspect.scale} as given"
    return aspect, chosen


def _dataset(config: RunConfig, source: Source, aspect: Aspect) -> tuple[Dataset, tuple[str, ...]]:
    """Return the rated items, the cheap checks of the audit done, and the grave faults that were let pass.

    Raises DataError for a grave finding, unless the configuration says to go on in spite of it.
    """
    mapped = map_columns(source.table, config.columns.over(source.wanted), aspect)
    dataset = rated_items(source.table, mapped, aspect.scale, source.name, lenient=config.force)
    findings = quick_findings(source.table, mapped, aspect, source.name)
    grave = [f.message for f in findings if f.severity == "grave"]
    if grave and not config.force:
        more = f" (and {len(grave) - 1} more: `calibrate data audit` lists them)" if len(grave) > 1 else ""
        raise DataError(f"{grave[0]}{more}; --force goes on in spite of it")
    told = tuple(f.message for f in findings if f.severity == "warning")
    return replace(dataset, warnings=dataset.warnings + told), tuple(grave)


def rated_aspects(config: RunConfig) -> tuple[str, ...]:
    """Return the aspects that the data of a configuration has ratings for, as suite/name.

    Raises ConfigError if there is none.
    """
    source = open_source(config.data, config.data_dir, config.encoding)
    found = shipped_ratings(source.table, config.columns.over(source.wanted), source.suite)
    if not found:
        raise ConfigError(f"{source.table.path}: no column is named as the ratings of an aspect; name one: --aspect")
    return tuple(aspect.ref for aspect, _ in found)


def plan(config: RunConfig, prepared: Prepared, method: Method) -> Plan:
    """Return the most drafts, refinements, judgments and prompt tokens that the run will take."""
    drafts, refinements, judgments = search_plan(config, prepared, method)
    if not method.worded:
        return Plan(drafts, refinements, judgments, None)
    # The zero-shot judge on dev; it and the calibrated one on test, and those chosen without a system.
    systems = len({i.system for i in prepared.dataset.items if i.system}) > 1
    judgments += development_size(config, prepared) + (3 if systems else 2) * len(prepared.split.test)
    asked = judgments * config.mode.draws
    written = drafts + refinements if any(isinstance(d, LLMDrafter) for d, _ in method.drafters) else 0
    return Plan(
        drafts,
        refinements,
        judgments,
        prompt_tokens(prepared, method, config.trials, refinements, asked),
        asked + written,
        asked * config.max_tokens + written * config.draft_tokens,
    )


def search_plan(config: RunConfig, prepared: Prepared, method: Method) -> tuple[int, int, int]:
    """Return the most drafts, refinements and judgments that the search alone takes."""
    drafts = sum(len(sizes) for _, sizes in method.drafters) * config.trials
    rounds = 1 if config.protocol == "paper" else config.rounds
    each = config.trials if config.protocol == "paper" else config.refinements
    refinements = rounds * config.top_k * each if method.refiner.moves else 0
    return drafts, refinements, _search_judgments(config, prepared, drafts, rounds, refinements)


def _search_judgments(config: RunConfig, prepared: Prepared, drafts: int, rounds: int, refinements: int) -> int:
    """Return the most judgments that drafts and refinements take on dev, raced or not."""
    size = development_size(config, prepared)
    if config.protocol == "paper" or config.select == "full":
        return (drafts + refinements) * size
    ends = block_ends(size)
    a_round = most_judgments(refinements // max(1, rounds), ends, config.top_k)
    return most_judgments(drafts, ends, config.top_k) + rounds * a_round


def prompt_tokens(prepared: Prepared, method: Method, trials: int, refinements: int, judgments: int) -> int:
    """Return an estimate of the tokens of all prompts, for `LETTERS_A_TOKEN` letters each.

    Items are taken to be as long as those of train and dev on average, and rubrics to have `STEPS_TAKEN`.
    """
    items, aspect, roles = prepared.split.train + prepared.split.dev, prepared.aspect, prepared.roles
    texts = sum(len(t) for i in items for t in item_texts(i).values()) / max(1, len(items))
    score = sum(len(p.text) for p in score_prompt(aspect, STEPS_TAKEN, roles).parts) + texts
    frame = len(draft_prompt(aspect, roles, ())[0].content)
    models = [sizes for drafter, sizes in method.drafters if isinstance(drafter, LLMDrafter)]
    written = sum(trials * (frame + min(size, len(items)) * (texts + 40)) for sizes in models for size in sizes)
    refined = refinements * (frame + sum(map(len, STEPS_TAKEN)) + 3 * (texts + 100)) if models else 0
    return round((judgments * score + written + refined) / LETTERS_A_TOKEN)


def development_size(config: RunConfig, prepared: Prepared) -> int:
    """Return how many items every candidate is scored on: dev, or in the paper's protocol train and dev."""
    both: Sequence[object] = prepared.split.train if config.protocol == "paper" else ()
    return len(prepared.split.dev) + len(both)


def origin_of(prepared: Prepared, config: RunConfig, protocol: str, drafter: str, winner: str) -> Origin:
    """Return what a judge was made on and how."""
    dataset, split = prepared.dataset, prepared.split
    return Origin(
        data=dataset.name,
        data_digest=dataset.digest,
        items=len(dataset.items),
        groups=dataset.groups,
        split_digest=split.digest,
        test_digest=split.test.digest,
        seed=split.seed,
        protocol=protocol,
        objective=config.objective,
        drafter=drafter,
        winner=winner,
    )
