"""Before the loop: the aspect, the items and the split that a configuration means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calibrator.aspects import Aspect, AspectFile, find_aspect, parse_scale, read_aspect
from calibrator.calibration.config import RunConfig
from calibrator.catalog import Source, open_source
from calibrator.columns import map_columns
from calibrator.criteria import VERSION
from calibrator.dataset import Dataset, rated_items
from calibrator.drafting.base import Drafter
from calibrator.errors import ConfigError, RunError
from calibrator.split import Split, refuse_overlap, split_items
from calibrator.texts import digest


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a run works on. `chosen` says in words why the aspect is the one it is."""

    aspect: Aspect
    chosen: str
    dataset: Dataset
    test: Dataset | None
    split: Split

    @property
    def warnings(self) -> tuple[str, ...]:
        """All that was counted and let pass."""
        return self.dataset.warnings + (self.test.warnings if self.test else ())


@dataclass(frozen=True, slots=True)
class Plan:
    """How much work a run is, at most."""

    drafts: int
    refinements: int
    judgments: int


def prepare(config: RunConfig) -> Prepared:
    """Return what the configuration means. Raises the InputError that names what is wrong with it.

    Raises RunError if the data is not what it was when the run was started.
    """
    source = open_source(config.data, config.data_dir, config.encoding)
    aspect, chosen = _aspect(config, source)
    dataset = _dataset(config, source, aspect)
    test = None
    if config.test is not None:
        test = _dataset(config, open_source(config.test, config.data_dir, config.encoding), aspect)
        refuse_overlap(dataset.items, test.items, config.test)
    split = split_items(dataset.items, config.seed, test.items if test else None, str(dataset.path))
    prepared = Prepared(aspect, chosen, dataset, test, split)
    for part, now in inputs_of(prepared).items():
        if config.inputs and config.inputs[part] != now:
            raise RunError(f"{dataset.path}: the {part} has changed since this run was started; start a new run")
    return prepared


def inputs_of(prepared: Prepared) -> dict[str, str]:
    """Return the digests of what a run depends on beside its configuration: the data, the aspect, the measurements."""
    test = prepared.test.digest if prepared.test else ""
    return {
        "data": f"{prepared.dataset.digest}{test}",
        "aspect": digest(AspectFile.of(prepared.aspect).model_dump(mode="json")),
        "version of the criteria": str(VERSION),
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


def _dataset(config: RunConfig, source: Source, aspect: Aspect) -> Dataset:
    mapped = map_columns(source.table, config.columns.over(source.wanted), aspect)
    return rated_items(source.table, mapped, aspect.scale, source.name)


def plan(config: RunConfig, prepared: Prepared, drafter: Drafter) -> Plan:
    """Return the most drafts, refinements and judgments that the run will take."""
    drafts = len(config.shots) * config.trials
    rounds = 1 if config.protocol == "paper" else config.rounds
    each = config.trials if config.protocol == "paper" else config.refinements
    refinements = rounds * config.top_k * each if drafter.moves else 0
    return Plan(drafts, refinements, (drafts + refinements) * development_size(config, prepared))


def development_size(config: RunConfig, prepared: Prepared) -> int:
    """Return how many items every candidate is scored on: dev, or in the paper's protocol train and dev."""
    both: Sequence[object] = prepared.split.train if config.protocol == "paper" else ()
    return len(prepared.split.dev) + len(both)
